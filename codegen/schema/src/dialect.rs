//! JSON Schema dialects, and the keywords that hold subschemas.

use std::fmt;
use std::str::FromStr;

use crate::json::Json;
use crate::json::pointer::escape;

/// A version of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// draft-04: `id`, boolean `exclusiveMinimum`; keywords next to `$ref` are ignored.
    Draft04,
    /// draft-06: like draft-07, without `if`.
    Draft06,
    /// draft-07: `definitions`; keywords next to `$ref` are ignored.
    Draft07,
    /// 2019-09: `$defs`, `$anchor`; keywords next to `$ref` apply; a list in `items`.
    Draft201909,
    /// 2020-12: `$defs`, `$anchor`; keywords next to `$ref` apply; `prefixItems`.
    Draft202012,
}

impl Dialect {
    /// All dialects, oldest first.
    pub const ALL: [Dialect; 5] =
        [Dialect::Draft04, Dialect::Draft06, Dialect::Draft07, Dialect::Draft201909, Dialect::Draft202012];

    /// Returns the name used on the command line, such as `draft-07`.
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::Draft04 => "draft-04",
            Dialect::Draft06 => "draft-06",
            Dialect::Draft07 => "draft-07",
            Dialect::Draft201909 => "2019-09",
            Dialect::Draft202012 => "2020-12",
        }
    }

    /// Returns the dialect for a `$schema` URI, if mcpgen reads it.
    pub fn of_uri(uri: &str) -> Option<Dialect> {
        let known =
            ["draft-04/schema", "draft-06/schema", "draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema"];
        let host = uri.trim_end_matches('#').split_once("://json-schema.org/")?.1;
        known.iter().position(|path| host == *path).map(|at| Dialect::ALL[at])
    }

    /// Returns the keyword that holds definitions: `definitions` or `$defs`.
    pub fn container(self) -> &'static str {
        if self < Dialect::Draft201909 { "definitions" } else { "$defs" }
    }

    /// Returns whether keywords next to `$ref` are ignored.
    pub fn ignores_beside_ref(self) -> bool {
        self < Dialect::Draft201909
    }

    pub(crate) fn references(self) -> &'static [&'static str] {
        match self {
            Dialect::Draft201909 => &["$ref", "$recursiveRef"],
            Dialect::Draft202012 => &["$ref", "$dynamicRef"],
            _ => &["$ref"],
        }
    }

    /// Returns the keyword that identifies a schema: `id` or `$id`.
    pub fn id(self) -> &'static str {
        if self == Dialect::Draft04 { "id" } else { "$id" }
    }

    /// Returns whether `items` may be a list, with `additionalItems` for the rest.
    pub fn has_item_lists(self) -> bool {
        self < Dialect::Draft202012
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Dialect {
    type Err = String;

    fn from_str(text: &str) -> Result<Dialect, String> {
        Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == text).ok_or_else(|| {
            let known = Dialect::ALL.map(Dialect::as_str).join(", ");
            format!("{text:?} is not a dialect; use one of {known}")
        })
    }
}

pub(crate) const CONTAINERS: [&str; 2] = ["definitions", "$defs"];

const ONE: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const LISTS: &[&str] = &["allOf", "anyOf", "items", "oneOf", "prefixItems"];
const MAPS: &[&str] = &["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/// Returns the direct subschemas, with JSON pointers relative to the schema.
pub(crate) fn subschemas(schema: &Json) -> Vec<(String, &Json)> {
    let mut found = Vec::new();
    let is_schema = |json: &Json| matches!(json, Json::Object(_) | Json::Bool(_));
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let key = keyword.as_str();
        match value {
            Json::Object(members) if MAPS.contains(&key) => {
                let members = members.iter().filter(|(_, json)| is_schema(json));
                found.extend(members.map(|(name, json)| (format!("/{}/{}", escape(key), escape(name)), json)));
            }
            Json::Array(items) if LISTS.contains(&key) => {
                found.extend(items.iter().enumerate().map(|(index, json)| (format!("/{key}/{index}"), json)));
            }
            json if ONE.contains(&key) && is_schema(json) => found.push((format!("/{key}"), json)),
            _ => {}
        }
    }
    found
}
