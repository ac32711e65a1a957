//! Applies the documentation to revisions.

use std::collections::HashMap;

use crate::docs::book::DocBook;
use crate::docs::targets::targets;
use crate::{DocEntry, DocTarget, Docs, Protocol, Shape, Tag};

impl DocBook {
    /// Applies the documentation to a revision: sorts its members, and marks its deprecated items.
    pub fn apply(&self, protocol: &mut Protocol) {
        self.arrange(protocol);
        let mut docs = Docs::default();
        let mut deprecated = Vec::new();
        for target in targets(protocol) {
            let Some(entry) = self.entry(protocol, &target) else { continue };
            let is_deprecated = entry.deprecated_since.as_ref().is_some_and(|since| *since <= protocol.revision);
            let entry = match is_deprecated {
                true => entry,
                false => DocEntry { deprecated_since: None, replacement: None, ..entry },
            };
            if is_deprecated {
                deprecated.push(target.clone());
            }
            docs.entries.insert(target, entry);
        }
        for def in &mut protocol.types {
            def.deprecated |= deprecated.contains(&DocTarget::Type(def.name.clone()));
            if let Shape::Struct(body) = &mut def.shape {
                for member in &mut body.members {
                    member.deprecated |= deprecated.contains(&DocTarget::Member(def.name.clone(), member.wire.clone()));
                }
            }
        }
        protocol.docs = docs;
    }

    /// Adds the examples to an extension or a revision. Those of revisions are written for the newest one.
    pub fn attach_examples(&self, protocol: &mut Protocol) {
        let book = match &protocol.extends {
            Some(_) => self.extensions.get(&protocol.revision),
            None => Some(self),
        };
        let Some(types) = book.map(|book| &book.types) else { return };
        for def in &protocol.types {
            if let Some(example) = types.get(&def.name).and_then(|entry| entry.example.as_ref()) {
                protocol.docs.examples.insert(def.name.clone(), example.trim().to_owned());
            }
        }
    }
}

/// Records the first revision that has each target, and the last one if later revisions do not have it. The revisions
/// are in order, oldest first.
pub fn stamp_lifetimes(protocols: &mut [Protocol]) {
    let (mut since, mut until) = (HashMap::<DocTarget, String>::new(), HashMap::new());
    for protocol in protocols.iter_mut() {
        for target in targets(protocol).collect::<Vec<_>>() {
            let owner = owner_of_envelope(protocol, &target).and_then(|owner| since.get(&owner).cloned());
            let first =
                since.entry(target.clone()).or_insert_with(|| owner.unwrap_or_else(|| protocol.revision.clone()));
            protocol.docs.since.insert(target.clone(), first.clone());
            until.insert(target, protocol.revision.clone());
        }
    }
    let newest = protocols.last().map(|protocol| protocol.revision.clone());
    until.retain(|_, last| Some(&*last) != newest.as_ref());
    for protocol in protocols {
        let removed = targets(protocol).filter_map(|target| until.get_key_value(&target));
        protocol.docs.until = removed.map(|(target, last)| (target.clone(), last.clone())).collect();
    }
}

/// Returns the message whose `id` a target is. JSON-RPC has always required it, even in revisions whose schema does not
/// state it.
fn owner_of_envelope(protocol: &Protocol, target: &DocTarget) -> Option<DocTarget> {
    let DocTarget::Member(owner, member) = target else { return None };
    let is_message = || protocol.find(owner).is_some_and(|def| Tag::of(def).is_some());
    (member == "id" && is_message()).then(|| DocTarget::Type(owner.clone()))
}
