//! Finds items without documentation, and documentation without an item.

use std::collections::{BTreeMap, BTreeSet};

use crate::docs::book::{DocBook, TypeEntry};
use crate::docs::targets::{is_shared, needs_no_entry, targets};
use crate::text::markdown::links;
use crate::{DocEntry, DocTarget, Protocol};

impl DocBook {
    /// Returns undocumented items, with the revisions that have them.
    pub fn missing<'p>(&self, protocols: &'p [Protocol]) -> BTreeMap<DocTarget, Vec<&'p str>> {
        let mut missing: BTreeMap<DocTarget, Vec<&str>> = BTreeMap::new();
        for protocol in protocols {
            for target in targets(protocol) {
                let needs_entry = !needs_no_entry(protocol, &target) && !is_shared(protocol, &target);
                if needs_entry && self.entry(protocol, &target).is_none() {
                    missing.entry(target).or_default().push(&protocol.revision);
                }
            }
        }
        missing
    }

    /// Returns entries and links whose target exists in no revision.
    pub fn stale(&self, protocols: &[Protocol]) -> Vec<String> {
        let revisions: Vec<&Protocol> = protocols.iter().filter(|protocol| protocol.extends.is_none()).collect();
        let mut stale = self.stale_in(&revisions);
        for (name, book) in &self.extensions {
            let extension: Vec<&Protocol> =
                protocols.iter().filter(|it| it.extends.is_some() && it.revision == *name).collect();
            stale.extend(book.stale_in(&extension).into_iter().map(|what| format!("{name}: {what}")));
        }
        stale
    }

    fn stale_in(&self, protocols: &[&Protocol]) -> Vec<String> {
        let mut audit = Audit::new(protocols);
        self.module.iter().for_each(|entry| audit.entry("module", entry));
        self.types.iter().for_each(|(name, entry)| audit.type_entry(name, entry));
        for (method, entry) in &self.methods {
            let target = DocTarget::Method(method.clone());
            if !audit.targets.contains(&target) {
                audit.stale.push(target.to_string());
            }
            for revision in entry.overrides.keys().filter(|revision| !audit.revisions.contains(revision.as_str())) {
                audit.stale.push(format!("{target} in {revision}"));
            }
            audit.entry(&target.to_string(), &entry.to_entry(None));
        }
        for (member, entry) in &self.members {
            let is_member = |target: &DocTarget| matches!(target, DocTarget::Member(_, known) if known == member);
            if !audit.targets.iter().any(is_member) {
                audit.stale.push(format!("shared member {member}"));
            }
            audit.entry(&format!("shared member {member}"), entry);
        }
        for key in self.samples.keys() {
            let is_member = |target: &DocTarget| match target {
                DocTarget::Member(_, member) if member == key => true,
                target => matches!(target, DocTarget::Member(..)) && target.to_string() == *key,
            };
            if !audit.targets.iter().any(is_member) {
                audit.stale.push(format!("sample {key}"));
            }
        }
        audit.stale
    }
}

struct Audit<'p> {
    protocols: &'p [&'p Protocol],
    targets: BTreeSet<DocTarget>,
    revisions: BTreeSet<&'p str>,
    rust_names: BTreeSet<&'p str>,
    stale: Vec<String>,
}

impl<'p> Audit<'p> {
    fn new(protocols: &'p [&'p Protocol]) -> Self {
        Audit {
            protocols,
            targets: protocols
                .iter()
                .flat_map(|protocol| targets(protocol).filter(|target| !is_shared(protocol, target)))
                .collect(),
            revisions: protocols.iter().map(|protocol| protocol.revision.as_str()).collect(),
            rust_names: protocols.iter().flat_map(|it| it.types.iter()).map(|def| def.rust.as_str()).collect(),
            stale: Vec::new(),
        }
    }

    fn type_entry(&mut self, name: &str, entry: &TypeEntry) {
        let documented = in_type(name, entry.members.keys(), entry.values.keys())
            .chain(entry.variants.keys().map(|variant| DocTarget::Variant(name.to_owned(), variant.clone())));
        for target in documented.filter(|target| !self.targets.contains(target)).collect::<Vec<_>>() {
            self.stale.push(target.to_string());
        }
        self.entry(name, &entry.to_entry(None));
        for (key, inner) in entry.members.iter().chain(&entry.values).chain(&entry.variants) {
            self.entry(&format!("{name}.{key}"), inner);
        }
        for (revision, over) in &entry.overrides {
            let protocol = self.protocols.iter().find(|protocol| protocol.revision == *revision);
            let known: BTreeSet<DocTarget> = protocol.map(|protocol| targets(protocol).collect()).unwrap_or_default();
            let documented = in_type(name, over.members.keys(), over.values.keys());
            let unknown = documented.filter(|target| !known.contains(target));
            self.stale.extend(unknown.map(|target| format!("{target} in {revision}")));
            let doc = over.doc.iter().map(|doc| DocEntry { doc: doc.clone(), ..DocEntry::default() });
            for inner in over.members.values().chain(over.values.values()).cloned().chain(doc) {
                self.entry(&format!("{name} in {revision}"), &inner);
            }
        }
    }

    fn entry(&mut self, name: &str, entry: &DocEntry) {
        let links = links(&entry.doc).chain(entry.replacement.iter().flat_map(|text| links(text)));
        let broken = links.filter(|link| !self.rust_names.contains(link));
        self.stale.extend(broken.map(|link| format!("{name}: links to `{link}`, which no revision has")));
        let since = entry.deprecated_since.as_deref().filter(|since| !self.revisions.contains(since));
        self.stale.extend(since.map(|since| format!("{name}: deprecated since {since}, which is not a revision")));
    }
}

fn in_type<'e>(
    name: &'e str,
    members: impl Iterator<Item = &'e String>,
    values: impl Iterator<Item = &'e String>,
) -> impl Iterator<Item = DocTarget> {
    let members = members.map(move |member| DocTarget::Member(name.to_owned(), member.clone()));
    let values = values.map(move |value| DocTarget::Value(name.to_owned(), value.clone()));
    std::iter::once(DocTarget::Type(name.to_owned())).chain(members).chain(values)
}
