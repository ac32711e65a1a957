//! The kinds of items that servers list.

use mcpgen_sdk::protocol::change::Change;

/// A kind of item that servers list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Prompt,
    Resource,
    Template,
}

/// The properties of each kind: the method that lists items, the member of its result, the capability, the member
/// that identifies an item, and its name in messages.
const FACTS: [[&str; 5]; 4] = [
    ["tools/list", "tools", "tools", "name", "tool"],
    ["prompts/list", "prompts", "prompts", "name", "prompt"],
    ["resources/list", "resources", "resources", "uri", "resource"],
    ["resources/templates/list", "resourceTemplates", "resources", "uriTemplate", "resource template"],
];

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Tool, Self::Prompt, Self::Resource, Self::Template];

    /// Returns the kind that a method lists.
    pub(crate) fn listed_by(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    pub(crate) fn method(self) -> &'static str {
        FACTS[self as usize][0]
    }

    pub(crate) fn member(self) -> &'static str {
        FACTS[self as usize][1]
    }

    pub(crate) fn capability(self) -> &'static str {
        FACTS[self as usize][2]
    }

    pub(crate) fn key(self) -> &'static str {
        FACTS[self as usize][3]
    }

    pub(crate) fn noun(self) -> &'static str {
        FACTS[self as usize][4]
    }

    /// Returns the change of a list of this kind.
    pub(crate) fn change(self) -> Change {
        match self {
            Self::Tool => Change::Tools,
            Self::Prompt => Change::Prompts,
            Self::Resource | Self::Template => Change::Resources,
        }
    }
}
