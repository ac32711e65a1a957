//! Makes recursive types valid Rust: newtypes instead of recursive aliases, and boxes.

use mcpgen_schema::graph;

use crate::{Bounded, Content, Shape, Type, TypeDef};

/// Turns recursive aliases into newtypes, because Rust does not allow `type X = Vec<X>`.
pub(super) fn without_recursive_aliases(mut types: Vec<TypeDef>) -> Vec<TypeDef> {
    let edges: Vec<Vec<usize>> = types
        .iter()
        .map(|def| {
            let mut named = Vec::new();
            if let Shape::Alias(content, _) = &def.shape {
                content.visit(&mut |id| named.push(id));
            }
            named
        })
        .collect();
    for (def, cycle) in types.iter_mut().zip(graph::cycles(&edges)) {
        if let (Shape::Alias(content, _), Some(_)) = (&def.shape, cycle) {
            def.shape = Shape::Newtype(content.clone());
        }
    }
    types
}

/// Marks the values to box: those on a cycle without a list or map in between, and large union variants.
pub(super) fn with_boxes(mut types: Vec<TypeDef>) -> Vec<TypeDef> {
    let edges: Vec<Vec<usize>> = types
        .iter()
        .map(|def| {
            let mut held = Vec::new();
            match &def.shape {
                // An undecided union is stored as JSON, not as one of its alternatives.
                Shape::Undecided(_) => {}
                // All later items are in a `Vec`.
                Shape::Tuple(tuple) => held.extend(tuple.first.iter().filter_map(|item| item.content.by_value())),
                shape => shape.visit(&mut |content| held.extend(content.by_value())),
            }
            held
        })
        .collect();
    let cycles = graph::cycles(&edges);
    for (def, here) in types.iter_mut().zip(&cycles) {
        let on_cycle = |content: &Type| here.is_some() && content.by_value().is_some_and(|id| cycles[id] == *here);
        match &mut def.shape {
            Shape::Struct(body) => {
                for member in &mut body.members {
                    member.boxed = member.value().is_some_and(on_cycle);
                }
            }
            Shape::Union(union) => {
                union.variants.iter_mut().for_each(|variant| variant.boxed = on_cycle(&variant.content))
            }
            Shape::Tuple(tuple) => tuple.first.iter_mut().for_each(|item| item.boxed = on_cycle(&item.content)),
            _ => {}
        }
    }
    let mut sizes = Sizes { known: vec![None; types.len()] };
    for id in 0..types.len() {
        let Shape::Union(union) = &types[id].shape else { continue };
        let large: Vec<bool> =
            union.variants.iter().map(|v| v.boxed || sizes.of(&types, &v.content, 0) > LARGE).collect();
        if let Shape::Union(union) = &mut types[id].shape {
            union.variants.iter_mut().zip(large).for_each(|(variant, large)| variant.boxed = large);
        }
        sizes.known[id] = None;
    }
    types
}

/// Union variants that take more bytes are boxed. The threshold is that of clippy's `large_enum_variant`.
const LARGE: usize = 200;

struct Sizes {
    known: Vec<Option<usize>>,
}

impl Sizes {
    fn of(&mut self, types: &[TypeDef], content: &Type, depth: u32) -> usize {
        let Some(id) = content.by_value().filter(|_| depth < 64) else {
            return match content {
                Type::Never | Type::Null => 0,
                Type::Boolean => 1,
                Type::Signed | Type::Unsigned | Type::Number => 16,
                _ => 24,
            };
        };
        if let Some(known) = self.known[id] {
            return known;
        }
        let size = match &types[id].shape {
            Shape::Struct(body) if body.is_json_schema() => 24,
            Shape::Struct(body) => {
                let members = body.members.iter().map(|member| match &member.content {
                    Content::Value(_) if member.boxed => 8,
                    Content::Value(content) => self.of(types, content, depth + 1),
                    Content::Constant(_) => usize::from(!member.required),
                });
                let pattern = if body.pattern.is_some() { 8 } else { 0 };
                members.sum::<usize>().next_multiple_of(8) + 8 + pattern
            }
            Shape::Tuple(tuple) => {
                let first = tuple.first.iter();
                let first = first.map(|it| if it.boxed { 8 } else { self.of(types, &it.content, depth + 1) });
                first.sum::<usize>().next_multiple_of(8) + if tuple.rest.is_some() { 24 } else { 0 }
            }
            Shape::Union(union) => {
                let variants =
                    union.variants.iter().map(|v| if v.boxed { 8 } else { self.of(types, &v.content, depth + 1) });
                variants.max().unwrap_or(0) + 8
            }
            Shape::Bounded(Bounded { inner, .. }) | Shape::Alias(inner, _) | Shape::Newtype(inner) => {
                self.of(types, inner, depth + 1)
            }
            Shape::Enum(_) => 1,
            Shape::OpenEnum(_) | Shape::Core(_) => 24,
            Shape::Undecided(_) => 32,
            Shape::Never => 0,
        };
        self.known[id] = Some(size);
        size
    }
}
