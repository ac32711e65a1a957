//! Adds our documentation to the model of a revision.

use std::collections::{BTreeSet, HashMap};

use crate::docs::book::DocBook;
use crate::docs::order::sorted;
use crate::docs::targets::targets;
use crate::{DocEntry, DocTarget, Docs, Protocol, Shape, Tag, TypeDef};

/// In which revisions each type, member and method exists.
#[derive(Clone, Debug, Default)]
pub struct Lifetimes {
    since: HashMap<DocTarget, String>,
    /// The last revision of items that the newest revision lacks.
    until: HashMap<DocTarget, String>,
    newest: Option<String>,
}

impl Lifetimes {
    /// Compares revisions, which must be sorted, oldest first. `newest` is the newest released one.
    pub fn of(revisions: &[Protocol], newest: Option<&str>) -> Self {
        let (mut since, mut until) = (HashMap::<DocTarget, String>::new(), HashMap::new());
        for protocol in revisions {
            for target in targets(protocol) {
                let owner = owner_of_envelope(protocol, &target).and_then(|owner| since.get(&owner).cloned());
                since.entry(target.clone()).or_insert_with(|| owner.unwrap_or_else(|| protocol.revision.clone()));
                until.insert(target, protocol.revision.clone());
            }
        }
        let last = revisions.last().map(|protocol| &protocol.revision);
        until.retain(|_, known| Some(&*known) != last);
        Self { since, until, newest: newest.map(str::to_owned) }
    }
}

impl DocBook {
    /// Documents a model: sorts members, marks deprecated items, and adds our texts.
    #[must_use]
    pub fn document(&self, protocol: Protocol, lifetimes: &Lifetimes) -> Protocol {
        let (examples, positional) = (self.examples(&protocol, lifetimes), self.positional(&protocol));
        let mut docs = Docs { examples, positional, ..Docs::default() };
        let mut deprecated = BTreeSet::new();
        for target in targets(&protocol) {
            if let Some(entry) = self.entry(&protocol, &target) {
                let is_deprecated = entry.deprecated_since.as_ref().is_some_and(|since| *since <= protocol.revision);
                let entry = match is_deprecated {
                    true => entry,
                    false => DocEntry { deprecated_since: None, replacement: None, ..entry },
                };
                deprecated.extend(is_deprecated.then(|| target.clone()));
                docs.entries.insert(target.clone(), entry);
            }
            docs.since
                .extend(lifetimes.since.get_key_value(&target).map(|(target, since)| (target.clone(), since.clone())));
            docs.until.extend(lifetimes.until.get(&target).map(|last| (target, last.clone())));
        }
        let ranks = self.ranks_of_types(&protocol);
        let types = protocol.types.map(|id, def| with_deprecations(sorted(def, &ranks[id]), &deprecated));
        Protocol { types, docs, ..protocol }
    }

    fn positional(&self, protocol: &Protocol) -> BTreeSet<String> {
        let books = [Some(self), self.extensions.get(&protocol.revision)].into_iter().flatten();
        let entries = books.flat_map(|book| &book.types).filter(|(_, entry)| entry.positional.is_some());
        entries.map(|(name, _)| name.clone()).collect()
    }

    /// Returns examples for an extension or for the newest revision. Other revisions have none.
    fn examples(&self, protocol: &Protocol, lifetimes: &Lifetimes) -> HashMap<String, String> {
        let has_examples = protocol.extends.is_some() || lifetimes.newest.as_ref() == Some(&protocol.revision);
        let book = self.of(protocol).filter(|_| has_examples);
        let of = |def: &TypeDef| {
            let example = book?.types.get(&def.name)?.example.as_ref()?;
            Some((def.name.clone(), example.trim().to_owned()))
        };
        protocol.types.iter().filter_map(of).collect()
    }
}

fn with_deprecations(mut def: TypeDef, deprecated: &BTreeSet<DocTarget>) -> TypeDef {
    def.deprecated |= deprecated.contains(&DocTarget::Type(def.name.clone()));
    if let Shape::Struct(body) = &mut def.shape {
        for member in &mut body.members {
            member.deprecated |= deprecated.contains(&DocTarget::Member(def.name.clone(), member.wire.clone()));
        }
    }
    def
}

/// If the target is the `id` of a message, returns the message. JSON-RPC has always required `id`, even where a schema
/// does not say so, so it is as old as its message.
fn owner_of_envelope(protocol: &Protocol, target: &DocTarget) -> Option<DocTarget> {
    let DocTarget::Member(owner, member) = target else { return None };
    let is_message = || protocol.find(owner).is_some_and(|def| Tag::of(def).is_some());
    (member == "id" && is_message()).then(|| DocTarget::Type(owner.clone()))
}
