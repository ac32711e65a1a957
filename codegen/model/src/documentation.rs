//! The documentation of a revision, from `schema/docs`.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use serde::Deserialize;

/// The documentation of a revision.
#[derive(Clone, Debug, Default)]
pub struct Docs {
    /// The entries.
    pub entries: HashMap<DocTarget, DocEntry>,
    /// The revision that introduced an item.
    pub since: HashMap<DocTarget, String>,
    /// The last revision that has an item, if a later one lacks it.
    pub until: HashMap<DocTarget, String>,
    /// Rust examples, by type name.
    pub examples: HashMap<String, String>,
    /// JSON examples, by type name.
    pub json: HashMap<String, String>,
    /// Types whose constructors take members by position although callers could swap them, because a mistake would show
    /// up elsewhere.
    pub positional: BTreeSet<String>,
}

/// The documentation of one item.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "TextOrTable")]
pub struct DocEntry {
    /// Markdown, with intra-doc links to Rust names.
    pub doc: String,
    /// The revision that deprecates it.
    pub deprecated_since: Option<String>,
    /// What to use instead, if it is deprecated.
    pub replacement: Option<String>,
}

/// An item that can be documented.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DocTarget {
    /// A type, by its schema name.
    Type(String),
    /// A member of a type, by its wire name.
    Member(String, String),
    /// A value of an enum, as JSON.
    Value(String, String),
    /// An inline variant of a union, by its Rust name.
    Variant(String, String),
    /// A method.
    Method(String),
    /// An extension's module.
    Module,
}

impl Docs {
    /// Returns the entry for an item.
    pub fn of(&self, target: &DocTarget) -> Option<&DocEntry> {
        self.entries.get(target)
    }

    /// Returns a Rust example for a type.
    pub fn example(&self, name: &str) -> Option<&str> {
        self.examples.get(name).map(String::as_str)
    }

    /// Returns a JSON example of a type.
    pub fn json(&self, name: &str) -> Option<&str> {
        self.json.get(name).map(String::as_str)
    }

    /// Returns the revision that introduced an item.
    pub fn since(&self, target: &DocTarget) -> Option<&str> {
        self.since.get(target).map(String::as_str)
    }

    /// Returns the last revision that has an item, if a later one lacks it.
    pub fn until(&self, target: &DocTarget) -> Option<&str> {
        self.until.get(target).map(String::as_str)
    }
}

impl fmt::Display for DocTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DocTarget::Type(name) => write!(f, "{name}"),
            DocTarget::Member(name, member) => write!(f, "{name}.{member}"),
            DocTarget::Value(name, value) => write!(f, "{name} = {value}"),
            DocTarget::Variant(name, variant) => write!(f, "{name}::{variant}"),
            DocTarget::Method(method) => write!(f, "method {method}"),
            DocTarget::Module => write!(f, "module"),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum TextOrTable {
    Text(String),
    Table { doc: String, deprecated_since: Option<String>, replacement: Option<String> },
}

impl From<TextOrTable> for DocEntry {
    fn from(entry: TextOrTable) -> Self {
        let (doc, deprecated_since, replacement) = match entry {
            TextOrTable::Text(doc) => (doc, None, None),
            TextOrTable::Table { doc, deprecated_since, replacement } => (doc, deprecated_since, replacement),
        };
        Self { doc: doc.trim().to_owned(), deprecated_since, replacement }
    }
}
