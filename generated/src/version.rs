//! Versions of protocols.

use std::fmt;

/// The version of a protocol, such as `2026-07-28` for MCP. Two versions with the same name are equal.
///
/// [`Request::VERSION`](crate::Request::VERSION) keeps messages of several versions apart: a router has a handler per
/// method and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(&'static str);

impl Version {
    /// Creates a version with this name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }

    /// Returns the name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}
