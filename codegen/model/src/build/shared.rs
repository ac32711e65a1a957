//! Finds the types of an extension that are equal to types of the revision that it extends.

use std::collections::BTreeMap;

use mcpgen_schema::check::Check;

use crate::build::builder::used_checks;
use crate::{
    Bounded, Content, Extends, Item, Member, Origin, Params, PatternMembers, Protocol, Rest, Shape, Struct, Tuple,
    Type, TypeId, Undecided, Union, Variant,
};

/// Makes a model of a schema the model of an extension: its definitions that are equal to definitions of `core` with
/// the same name become the types of `core`, together with the inline types in them.
///
/// Definitions are compared by their shapes, which are their normal forms with decided unions, and messages also by what
/// their traits state, such as the result of a request. Prose is not compared.
pub fn extend(protocol: &mut Protocol, core: &Protocol, module: String, version: Option<String>) {
    let mut pairs = Pairs { extension: protocol, core, equal: BTreeMap::new() };
    for (id, def) in protocol.types.iter().enumerate().filter(|(_, def)| def.origin == Origin::Definition) {
        let twin = core.types.iter().position(|other| other.origin == Origin::Definition && other.name == def.name);
        let Some(twin) = twin else { continue };
        let before = pairs.equal.clone();
        // The types in an unequal definition are not proven to be equal.
        if !pairs.types(id, twin) {
            pairs.equal = before;
        }
    }
    let shared: BTreeMap<TypeId, String> =
        pairs.equal.into_iter().map(|(id, twin)| (id, core.types[twin].rust.clone())).collect();
    let own = protocol.types.iter().enumerate().filter(|(id, _)| !shared.contains_key(id)).map(|(_, def)| def);
    protocol.checks = used_checks(own, &protocol.checks);
    let (revision, digest) = (core.revision.clone(), core.digest());
    protocol.extends = Some(Extends { version, revision, module, digest, shared });
}

/// Compares the types of two models. Recursive types are equal if no difference is found.
struct Pairs<'p> {
    extension: &'p Protocol,
    core: &'p Protocol,
    /// The types that are equal, or assumed to be equal while they are compared.
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
        self.shapes(&ours.shape, &theirs.shape) && self.requests(a, b) && self.notifications(a, b)
    }

    /// Compares what `Request` states about two types. A request whose result differs is a different type, because a type
    /// implements the trait once.
    fn requests(&mut self, a: TypeId, b: TypeId) -> bool {
        let of = |protocol: &'_ Protocol, id| protocol.requests.iter().position(|request| request.type_id == id);
        let (a, b) = match (of(self.extension, a), of(self.core, b)) {
            (None, None) => return true,
            (Some(a), Some(b)) => (&self.extension.requests[a], &self.core.requests[b]),
            _ => return false,
        };
        a.method == b.method
            && self.params(a.params.as_ref(), b.params.as_ref())
            && self.content(&a.result, &b.result)
            && match (&a.task_result, &b.task_result) {
                (None, None) => true,
                (Some(a), Some(b)) => self.content(a, b),
                _ => false,
            }
    }

    fn notifications(&mut self, a: TypeId, b: TypeId) -> bool {
        let of = |protocol: &'_ Protocol, id| protocol.notifications.iter().position(|known| known.type_id == id);
        match (of(self.extension, a), of(self.core, b)) {
            (None, None) => true,
            (Some(a), Some(b)) => {
                let (a, b) = (&self.extension.notifications[a], &self.core.notifications[b]);
                a.method == b.method && self.params(a.params.as_ref(), b.params.as_ref())
            }
            _ => false,
        }
    }

    fn params(&mut self, a: Option<&Params>, b: Option<&Params>) -> bool {
        match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => a.required == b.required && self.content(&a.content, &b.content),
            _ => false,
        }
    }

    fn shapes(&mut self, a: &Shape, b: &Shape) -> bool {
        match (a, b) {
            (Shape::Struct(a), Shape::Struct(b)) => self.structs(a, b),
            (Shape::Union(a), Shape::Union(b)) => self.unions(a, b),
            (Shape::Tuple(a), Shape::Tuple(b)) => self.tuples(a, b),
            (Shape::Enum(a), Shape::Enum(b)) | (Shape::OpenEnum(a), Shape::OpenEnum(b)) => {
                a.len() == b.len() && a.iter().all(|value| b.contains(value))
            }
            (Shape::Bounded(a), Shape::Bounded(b)) => self.bounded(a, b),
            (Shape::Undecided(a), Shape::Undecided(b)) => self.undecided(a, b),
            (Shape::Alias(a, rule), Shape::Alias(b, other)) => rule == other && self.content(a, b),
            (Shape::Newtype(a), Shape::Newtype(b)) => self.content(a, b),
            (Shape::Core(a), Shape::Core(b)) => a == b,
            (Shape::Never, Shape::Never) => true,
            _ => false,
        }
    }

    /// Compares objects. The order of members has no meaning.
    fn structs(&mut self, a: &Struct, b: &Struct) -> bool {
        a.members.len() == b.members.len()
            && a.members.iter().all(|member| {
                let twin = b.members.iter().find(|other| other.wire == member.wire);
                twin.is_some_and(|twin| self.members(member, twin))
            })
            && self.patterns(a.pattern.as_ref(), b.pattern.as_ref())
            && match (&a.rest, &b.rest) {
                (Rest::Open, Rest::Open) | (Rest::Closed, Rest::Closed) => true,
                (Rest::Typed(a), Rest::Typed(b)) => self.content(a, b),
                _ => false,
            }
    }

    fn members(&mut self, a: &Member, b: &Member) -> bool {
        a.required == b.required
            && a.default == b.default
            && match (&a.content, &b.content) {
                (Content::Constant(a), Content::Constant(b)) => a == b,
                (Content::Value(a), Content::Value(b)) => self.content(a, b),
                _ => false,
            }
    }

    fn patterns(&mut self, a: Option<&PatternMembers>, b: Option<&PatternMembers>) -> bool {
        match (a, b) {
            (None, None) => true,
            (Some(a), Some(b)) => a.pattern == b.pattern && self.content(&a.content, &b.content),
            _ => false,
        }
    }

    fn unions(&mut self, a: &Union, b: &Union) -> bool {
        a.decision == b.decision
            && a.absorbed == b.absorbed
            && a.messages == b.messages
            && self.variants(&a.variants, &b.variants)
    }

    fn variants(&mut self, a: &[Variant], b: &[Variant]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.content(&a.content, &b.content))
    }

    fn tuples(&mut self, a: &Tuple, b: &Tuple) -> bool {
        let mut items = |a: &[Item], b: &[Item]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.content(&a.content, &b.content))
        };
        items(&a.first, &b.first)
            && match (&a.rest, &b.rest) {
                (None, None) => true,
                (Some(a), Some(b)) => self.content(a, b),
                _ => false,
            }
    }

    fn bounded(&mut self, a: &Bounded, b: &Bounded) -> bool {
        a.limit == b.limit && self.checks(&a.checks, &b.checks) && self.content(&a.inner, &b.inner)
    }

    fn undecided(&mut self, a: &Undecided, b: &Undecided) -> bool {
        self.checks(&a.checks, &b.checks) && self.variants(&a.alternatives, &b.alternatives)
    }

    /// Compares checks, and the definitions that they refer to.
    fn checks(&self, a: &[Check], b: &[Check]) -> bool {
        let mut open: Vec<&str> = Vec::new();
        a.iter().for_each(|check| check.definitions(&mut open));
        let mut seen: Vec<&str> = Vec::new();
        while let Some(name) = open.pop() {
            if seen.contains(&name) {
                continue;
            }
            seen.push(name);
            let (ours, theirs) = (self.extension.checks.get(name), self.core.checks.get(name));
            if ours != theirs {
                return false;
            }
            ours.into_iter().for_each(|check| check.definitions(&mut open));
        }
        a == b
    }

    fn content(&mut self, a: &Type, b: &Type) -> bool {
        match (a, b) {
            (Type::Named(a), Type::Named(b)) => self.types(*a, *b),
            (Type::List(a), Type::List(b)) | (Type::Map(a), Type::Map(b)) | (Type::Nullable(a), Type::Nullable(b)) => {
                self.content(a, b)
            }
            (a, b) => a == b,
        }
    }
}
