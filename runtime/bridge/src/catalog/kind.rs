//! The kinds of items that servers list.

use mcpgen_mcp::protocol::change::Change;

/// A kind of item that servers list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A resource template.
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
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Tool, Self::Prompt, Self::Resource, Self::Template];

    /// Returns the kind that a method lists.
    #[must_use]
    pub fn listed_by(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// Returns the method that lists items.
    #[must_use]
    pub fn method(self) -> &'static str {
        FACTS[self as usize][0]
    }

    /// Returns the member of its result that has the items.
    #[must_use]
    pub fn member(self) -> &'static str {
        FACTS[self as usize][1]
    }

    /// Returns the capability that a server with such items declares.
    #[must_use]
    pub fn capability(self) -> &'static str {
        FACTS[self as usize][2]
    }

    /// Returns the member that identifies an item.
    #[must_use]
    pub fn key(self) -> &'static str {
        FACTS[self as usize][3]
    }

    /// Returns its name in messages, such as `resource template`.
    #[must_use]
    pub fn noun(self) -> &'static str {
        FACTS[self as usize][4]
    }

    /// Returns the change of a list of this kind.
    #[must_use]
    pub fn change(self) -> Change {
        match self {
            Self::Tool => Change::Tools,
            Self::Prompt => Change::Prompts,
            Self::Resource | Self::Template => Change::Resources,
        }
    }
}
