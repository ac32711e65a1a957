//! What each revision added and removed.

use std::collections::BTreeSet;

use mcpgen_model::{Origin, Protocol, Shape};

/// The revisions of a protocol, oldest first.
pub(super) struct History<'p> {
    revisions: &'p [Protocol],
}

/// What a revision added to the one before, and removed from it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) revision: String,
    pub(super) methods: Changes,
    pub(super) types: Changes,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) added: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl<'p> History<'p> {
    pub(super) fn of(revisions: &'p [Protocol]) -> History<'p> {
        History { revisions }
    }

    pub(super) fn method_since(&self, method: &str) -> Option<&'p str> {
        self.first(|protocol| methods(protocol).contains(method))
    }

    pub(super) fn type_since(&self, name: &str) -> Option<&'p str> {
        self.first(|protocol| protocol.find(name).is_some())
    }

    pub(super) fn member_since(&self, name: &str, member: &str) -> Option<&'p str> {
        self.first(|protocol| match protocol.find(name).map(|def| &def.shape) {
            Some(Shape::Struct(body)) => body.member(member).is_some(),
            _ => false,
        })
    }

    /// Compares each revision with the one before.
    pub(super) fn steps(&self) -> Vec<Step> {
        let nothing = BTreeSet::new();
        let mut before = (nothing.clone(), nothing);
        let step = |protocol: &'p Protocol| {
            let now = (methods(protocol), types(protocol));
            let step = Step {
                revision: protocol.revision.clone(),
                methods: Changes::between(&before.0, &now.0),
                types: Changes::between(&before.1, &now.1),
            };
            before = now;
            step
        };
        self.revisions.iter().map(step).collect()
    }

    fn first(&self, has: impl Fn(&Protocol) -> bool) -> Option<&'p str> {
        self.revisions.iter().find(|protocol| has(protocol)).map(|protocol| protocol.revision.as_str())
    }
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
