//! Finds types that have at least one value.

use crate::protocol::Protocol;
use crate::types::{Bounded, Member, Shape, Type};

impl Protocol {
    /// For each type, returns its position in an order where the types it requires come first. `None` if no value
    /// exists, as for a type that requires a value of itself.
    pub fn inhabited(&self) -> Vec<Option<usize>> {
        let mut order = vec![None; self.types.len()];
        let mut found = 0;
        loop {
            let before = found;
            for (id, def) in self.types.iter().enumerate() {
                if order[id].is_none() && has_value(&def.shape, &order) {
                    order[id] = Some(found);
                    found += 1;
                }
            }
            if found == before {
                return order;
            }
        }
    }
}

fn has_value(shape: &Shape, order: &[Option<usize>]) -> bool {
    let has = |content: &Type| match content {
        Type::Named(id) => order[*id].is_some(),
        Type::Never => false,
        _ => true,
    };
    match shape {
        Shape::Struct(body) => body.members.iter().filter(|it| it.required).filter_map(Member::value).all(has),
        Shape::Union(union) => union.variants.iter().any(|variant| has(&variant.content)),
        Shape::Tuple(tuple) => tuple.first.iter().all(|item| has(&item.content)),
        Shape::Enum(values) => !values.is_empty(),
        Shape::Bounded(Bounded { inner, .. }) | Shape::Alias(inner, _) | Shape::Newtype(inner) => has(inner),
        Shape::OpenEnum(_) | Shape::Core(_) | Shape::Undecided(_) => true,
        Shape::Never => false,
    }
}
