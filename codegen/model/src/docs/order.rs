//! Sorts members and values in the order in which a person would explain them. Official schemas sort alphabetically.

use std::collections::{BTreeMap, BTreeSet};

use crate::docs::book::DocBook;
use crate::docs::targets::is_shared;
use crate::{DocTarget, Protocol, Shape, TypeDef};

/// Stands for all members that the shared order does not name.
const OTHERS: &str = "...";

impl DocBook {
    pub(super) fn ranks_of_types(&self, protocol: &Protocol) -> Vec<Ranks<'_>> {
        protocol.types.iter().map(|def| self.ranks(protocol, def)).collect()
    }

    fn ranks<'a>(&'a self, protocol: &Protocol, def: &TypeDef) -> Ranks<'a> {
        let extension = protocol.extends.as_ref().and_then(|_| self.extensions.get(&protocol.revision));
        let order = |book: &'a DocBook| book.types.get(&def.name).map_or(&[][..], |entry| &entry.order);
        let shared = if matches!(def.shape, Shape::Struct(_)) { self.order.as_slice() } else { &[] };
        let own = Ranks { own: extension.map_or(&[][..], order), shared };
        // An extension may use a revision's type name for something else.
        let revision = Ranks { own: order(self), shared };
        let is_same = extension.is_none() || ordered(def).iter().all(|name| revision.names(name));
        if own.own.is_empty() && is_same { revision } else { own }
    }

    /// Returns problems: types without an order, missing members, and members that no revision has.
    ///
    /// A type needs an order if at least two of its members are not in the shared order and the schema lists them
    /// alphabetically, which means that a tool chose that order, not a person.
    pub fn unordered(&self, protocols: &[Protocol]) -> BTreeSet<String> {
        let mut problems = BTreeSet::new();
        let mut names: BTreeMap<(Option<&str>, &str), BTreeSet<String>> = BTreeMap::new();
        for protocol in protocols {
            for def in protocol.types.iter().filter(|def| !is_shared(protocol, &DocTarget::Type(def.name.clone()))) {
                let extension = protocol.extends.as_ref().map(|_| protocol.revision.as_str());
                let place = extension.map_or_else(|| def.name.clone(), |name| format!("{name}: {}", def.name));
                let (ranks, ordered) = (self.ranks(protocol, def), ordered(def));
                let open: Vec<&str> = ordered.iter().map(String::as_str).filter(|name| !ranks.names(name)).collect();
                if let Some(twice) = ranks.own.iter().enumerate().find(|(at, name)| ranks.own[..*at].contains(name)) {
                    problems.insert(format!("{place}: the order names `{}` twice", twice.1));
                }
                if !ranks.own.is_empty() && !open.is_empty() {
                    problems.insert(format!("{place}: the order lacks {}", open.join(", ")));
                } else if open.len() > 1 && open.is_sorted() {
                    problems.insert(format!("{place}: there is no order for {}", open.join(", ")));
                }
                names.entry((extension, &def.name)).or_default().extend(ordered.into_iter().chain(constants(def)));
            }
        }
        let books = self.extensions.iter().map(|(name, book)| (Some(name.as_str()), book));
        for (extension, book) in books.chain([(None, self)]) {
            for (name, entry) in &book.types {
                let known = names.get(&(extension, name.as_str()));
                let unknown = entry.order.iter().filter(|it| known.is_none_or(|known| !known.contains(it.as_str())));
                problems.extend(unknown.map(|it| format!("{name}: the order names `{it}`, which no revision has")));
            }
        }
        let is_known = |name: &String| name == OTHERS || names.values().any(|names| names.contains(name));
        let unknown = self.order.iter().filter(|name| !is_known(name));
        problems.extend(unknown.map(|name| format!("the shared order names `{name}`, which no type has")));
        problems
    }
}

pub(super) fn sorted(mut def: TypeDef, ranks: &Ranks<'_>) -> TypeDef {
    match &mut def.shape {
        Shape::Struct(body) => {
            body.members.sort_by_key(|member| ranks.of(&member.wire, member.constant().is_some()));
        }
        Shape::Enum(values) | Shape::OpenEnum(values) => {
            values.sort_by_key(|value| ranks.of(&value.json.plain(), false));
        }
        _ => {}
    }
    def
}

/// Returns the fields and values, which an order must list.
fn ordered(def: &TypeDef) -> Vec<String> {
    match &def.shape {
        Shape::Struct(body) => {
            let fields = body.members.iter().filter(|member| member.value().is_some());
            fields.map(|member| member.wire.clone()).collect()
        }
        Shape::Enum(values) | Shape::OpenEnum(values) => values.iter().map(|value| value.json.plain()).collect(),
        _ => Vec::new(),
    }
}

/// Returns the constants. An order may list them; those that it does not list come first.
fn constants(def: &TypeDef) -> Vec<String> {
    let Shape::Struct(body) = &def.shape else { return Vec::new() };
    let constants = body.members.iter().filter(|member| member.constant().is_some());
    constants.map(|member| member.wire.clone()).collect()
}

/// The order of one type. The type's own order replaces `...` in the shared one.
pub(super) struct Ranks<'a> {
    own: &'a [String],
    shared: &'a [String],
}

impl Ranks<'_> {
    /// Returns the sort key of a member. Constants that are not listed precede the type's other members.
    fn of(&self, name: &str, is_constant: bool) -> (usize, usize) {
        let others = self.shared.iter().position(|it| it == OTHERS).unwrap_or(self.shared.len());
        let shared = || self.shared.iter().position(|it| it == name);
        match self.own.iter().position(|it| it == name) {
            Some(index) => (others, index + 1),
            None if is_constant => (shared().unwrap_or(others), 0),
            None => (shared().unwrap_or(others), self.own.len() + 1),
        }
    }

    fn names(&self, name: &str) -> bool {
        self.own.iter().chain(self.shared).any(|it| it == name)
    }
}
