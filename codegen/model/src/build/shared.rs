//! Finds types that an extension has in common with the revision it extends.

use std::collections::BTreeMap;

use crate::build::builder::used_checks;
use crate::{Extends, Member, Origin, Protocol, Shape, Type, TypeId, Variant};

/// Turns a model into that of an extension of `core`. Definitions with the same name and the same content as in `core`,
/// along with the inline types in them, are then taken from `core`.
///
/// The content is the shape, and for messages also what their traits state, such as the result of a request. Prose does
/// not count.
#[must_use]
pub fn extend(protocol: Protocol, core: &Protocol, module: String, version: Option<String>) -> Protocol {
    let mut pairs = Pairs { extension: &protocol, core, equal: BTreeMap::new() };
    for (id, def) in protocol.types.iter().enumerate().filter(|(_, def)| def.origin == Origin::Definition) {
        let twin = core.types.iter().position(|other| other.origin == Origin::Definition && other.name == def.name);
        let Some(twin) = twin else { continue };
        let before = pairs.equal.clone();
        // After a failed comparison, the equalities that it assumed for nested types are not proven.
        if !pairs.types(id, twin) {
            pairs.equal = before;
        }
    }
    let shared: BTreeMap<TypeId, String> =
        pairs.equal.into_iter().map(|(id, twin)| (id, core.types[twin].rust.clone())).collect();
    let own = protocol.types.iter().enumerate().filter(|(id, _)| !shared.contains_key(id));
    let checks = used_checks(own.flat_map(|(_, def)| def.shape.checks()), &protocol.checks);
    let (revision, digest) = (core.revision.clone(), core.digest());
    let extends = Some(Extends { version, revision, module, digest, shared });
    Protocol { checks, extends, ..protocol }
}

/// Compares types of two models. Recursive types are equal unless a difference is found.
struct Pairs<'p> {
    extension: &'p Protocol,
    core: &'p Protocol,
    /// The equalities that are known, and those that the running comparison assumes.
    equal: BTreeMap<TypeId, TypeId>,
}

impl Pairs<'_> {
    fn types(&mut self, a: TypeId, b: TypeId) -> bool {
        if let Some(known) = self.equal.get(&a) {
            return *known == b;
        }
        let (ours, theirs) = (&self.extension.types[a], &self.core.types[b]);
        let is_pair = match (&ours.origin, &theirs.origin) {
            (Origin::Definition, Origin::Definition) => ours.name == theirs.name,
            (Origin::Inline(_), Origin::Inline(_)) => true,
            _ => false,
        };
        if !is_pair {
            return false;
        }
        self.equal.insert(a, b);
        self.shapes(&ours.shape, &theirs.shape) && self.messages(a, b)
    }

    /// Compares what message traits state about two types. A request with another result is another type, because a
    /// type can implement the trait only once.
    fn messages(&mut self, a: TypeId, b: TypeId) -> bool {
        let stated = |protocol: &Protocol, id| {
            let message = protocol.message(id)?;
            let mut contents: Vec<Type> = message.contents().cloned().collect();
            let mut taken = Vec::new();
            contents.iter_mut().for_each(|content| take_types(content, &mut taken));
            let required = message.params.map(|params| params.required);
            Some(((message.kind(), message.method.to_owned(), required, contents), taken))
        };
        match (stated(self.extension, a), stated(self.core, b)) {
            (None, None) => true,
            (Some((ours, our_types)), Some((theirs, their_types))) => {
                ours == theirs && self.all(our_types, their_types)
            }
            _ => false,
        }
    }

    fn all(&mut self, ours: Vec<TypeId>, theirs: Vec<TypeId>) -> bool {
        ours.len() == theirs.len() && ours.into_iter().zip(theirs).all(|(a, b)| self.types(a, b))
    }

    fn shapes(&mut self, a: &Shape, b: &Shape) -> bool {
        let (mut a, mut b) = (plain(a), plain(b));
        let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
        a.visit_mut(&mut |content| take_types(content, &mut ours));
        b.visit_mut(&mut |content| take_types(content, &mut theirs));
        let [our_checks, their_checks] = [self.extension, self.core].map(|it| used_checks(a.checks(), &it.checks));
        a == b && our_checks == their_checks && self.all(ours, theirs)
    }
}

/// Removes from a shape what does not matter for equality: prose, Rust names, boxes, the order of members and values,
/// and why a union is undecided.
fn plain(shape: &Shape) -> Shape {
    let mut shape = shape.clone();
    match &mut shape {
        Shape::Struct(body) => {
            for member in &mut body.members {
                *member = Member {
                    rust: String::new(),
                    description: None,
                    deprecated: false,
                    boxed: false,
                    ..member.clone()
                };
            }
            body.members.sort_by(|a, b| a.wire.cmp(&b.wire));
            if let Some(pattern) = &mut body.pattern {
                pattern.rust.clear();
            }
        }
        Shape::Union(union) => union.variants.iter_mut().for_each(unname),
        Shape::Undecided(undecided) => {
            undecided.alternatives.iter_mut().for_each(unname);
            (undecided.conflict, undecided.example) = ((0, 0), None);
        }
        Shape::Tuple(tuple) => tuple.first.iter_mut().for_each(|item| item.boxed = false),
        Shape::Enum(values) | Shape::OpenEnum(values) => values.sort_by_key(|value| value.json.key()),
        Shape::Bounded(_) | Shape::Alias(..) | Shape::Newtype(_) | Shape::Core(_) | Shape::Never => {}
    }
    shape
}

fn unname(variant: &mut Variant) {
    variant.rust.clear();
    variant.boxed = false;
}

/// Moves the named types of a type expression to a list.
fn take_types(content: &mut Type, taken: &mut Vec<TypeId>) {
    content.visit_mut(&mut |id| taken.push(std::mem::take(id)));
}
