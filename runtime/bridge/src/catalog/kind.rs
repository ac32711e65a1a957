//! The kinds of items that servers list.

use mcpgen_mcp::protocol::change::Change;

use super::names::{prefixed, prefixed_uri, split_prefix, split_uri_prefix};

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

/// The properties of each kind: the method that lists items, the result's member that has them, the capability, the
/// member that identifies an item, and the kind's name in messages.
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

    /// Returns the member of that method's result that has the items.
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

    /// Returns the kind's name in messages, such as `resource template`.
    #[must_use]
    pub fn noun(self) -> &'static str {
        FACTS[self as usize][4]
    }

    /// Returns a name or URI with its server's name as a prefix.
    #[must_use]
    pub fn with_prefix(self, server: &str, key: &str) -> String {
        match self {
            Self::Tool | Self::Prompt => prefixed(server, key),
            Self::Resource | Self::Template => prefixed_uri(server, key),
        }
    }

    /// Returns the position of the server and the item's own name or URI, if `seen` has a server's name as a prefix.
    #[must_use]
    pub fn split_prefix<'k>(self, servers: &[String], seen: &'k str) -> Option<(usize, &'k str)> {
        match self {
            Self::Tool | Self::Prompt => split_prefix(servers, seen),
            Self::Resource | Self::Template => split_uri_prefix(servers, seen),
        }
    }

    /// Returns the change that is reported when a list of this kind changes.
    #[must_use]
    pub fn change(self) -> Change {
        match self {
            Self::Tool => Change::Tools,
            Self::Prompt => Change::Prompts,
            Self::Resource | Self::Template => Change::Resources,
        }
    }
}
