//! Finds what each revision added and removed.

use std::collections::BTreeSet;

use mcpgen_model::{Origin, Protocol, Shape};

/// What a revision changed, compared with its predecessor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) revision: String,
    pub(crate) methods: Changes,
    pub(crate) types: Changes,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

pub(crate) fn method_since<'p>(revisions: &'p [Protocol], method: &str) -> Option<&'p str> {
    first(revisions, |protocol| methods(protocol).contains(method))
}

pub(crate) fn type_since<'p>(revisions: &'p [Protocol], name: &str) -> Option<&'p str> {
    first(revisions, |protocol| protocol.find(name).is_some())
}

pub(crate) fn member_since<'p>(revisions: &'p [Protocol], name: &str, member: &str) -> Option<&'p str> {
    first(revisions, |protocol| match protocol.find(name).map(|def| &def.shape) {
        Some(Shape::Struct(body)) => body.member(member).is_some(),
        _ => false,
    })
}

/// Returns the oldest revision for which `has` returns `true`. `revisions` must be sorted, oldest first.
fn first(revisions: &[Protocol], has: impl Fn(&Protocol) -> bool) -> Option<&str> {
    revisions.iter().find(|protocol| has(protocol)).map(|protocol| protocol.revision.as_str())
}

pub(crate) fn steps(revisions: &[Protocol]) -> Vec<Step> {
    let mut before = (BTreeSet::new(), BTreeSet::new());
    let steps = revisions.iter().map(|protocol| {
        let now = (methods(protocol), types(protocol));
        let methods = Changes::between(&before.0, &now.0);
        let types = Changes::between(&before.1, &now.1);
        before = now;
        Step { revision: protocol.revision.clone(), methods, types }
    });
    steps.collect()
}

impl Changes {
    fn between(old: &BTreeSet<&str>, new: &BTreeSet<&str>) -> Changes {
        let owned = |names: Vec<&&str>| names.into_iter().map(|name| (*name).to_owned()).collect();
        Changes { added: owned(new.difference(old).collect()), removed: owned(old.difference(new).collect()) }
    }
}

fn methods(protocol: &Protocol) -> BTreeSet<&str> {
    protocol.messages().map(|message| message.method).collect()
}

fn types(protocol: &Protocol) -> BTreeSet<&str> {
    let defined = protocol.types.iter().filter(|def| def.origin == Origin::Definition);
    defined.map(|def| def.name.as_str()).collect()
}
