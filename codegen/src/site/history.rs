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

    /// Returns the first revision that has a method.
    pub(super) fn method_since(&self, method: &str) -> Option<&'p str> {
        self.first(|protocol| methods(protocol).contains(method))
    }

    /// Returns the first revision that has a type.
    pub(super) fn type_since(&self, name: &str) -> Option<&'p str> {
        self.first(|protocol| protocol.find(name).is_some())
    }

    /// Returns the first revision in which a type has a member.
    pub(super) fn member_since(&self, name: &str, member: &str) -> Option<&'p str> {
        self.first(|protocol| match protocol.find(name).map(|def| &def.shape) {
            Some(Shape::Struct(body)) => body.members.iter().any(|it| it.wire == member),
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
    let requests = protocol.requests.iter().map(|it| it.method.as_str());
    requests.chain(protocol.notifications.iter().map(|it| it.method.as_str())).collect()
}

fn types(protocol: &Protocol) -> BTreeSet<&str> {
    let defined = protocol.types.iter().filter(|def| def.origin == Origin::Definition);
    defined.map(|def| def.name.as_str()).collect()
}
