//! Decides which items of servers a caller sees.

use std::collections::{BTreeMap, BTreeSet};

use mcpgen_bridge::catalog::normal_forms;
use mcpgen_types::JsonObject;
use serde::Deserialize;

/// Which items of a list a caller sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Rules {
    /// Patterns of the names of items that callers see. Without it, callers see all. `*` stands for any characters.
    pub allow: Option<Vec<String>>,
    /// Patterns of the names of items that callers do not see, even if `allow` matches them.
    pub deny: Vec<String>,
    /// The annotations that a tool must have.
    pub annotations: Annotations,
    /// The scopes that callers need, by patterns of the names of items.
    pub scopes: BTreeMap<String, Vec<String>>,
}

/// The annotations that a tool must have. A missing annotation has the default of the specification. An untrusted
/// server may lie about its annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Annotations {
    /// Whether the tool does not change its environment.
    pub read_only: Option<bool>,
    /// Whether the tool may destroy something.
    pub destructive: Option<bool>,
    /// Whether calling the tool again changes nothing more.
    pub idempotent: Option<bool>,
    /// Whether the tool interacts with an open world, such as the web.
    pub open_world: Option<bool>,
}

/// The scopes of a caller, if authorization is configured.
pub(crate) type Scopes = Option<BTreeSet<String>>;

impl Rules {
    /// Returns whether one of the names of an item is allowed.
    pub(crate) fn allow(&self, names: &[Subject<'_>]) -> bool {
        self.allow.as_deref().is_none_or(|patterns| names.iter().any(|name| name.surely_matches(patterns)))
    }

    /// Returns whether `deny`, `annotations` and `scopes` let a caller see an item, which is as the server lists it.
    pub(crate) fn permit(&self, names: &[Subject<'_>], item: &JsonObject, scopes: &Scopes) -> bool {
        let may_match = |pattern: &String| names.iter().any(|name| name.may_match(pattern));
        let mut needed = self.scopes.iter().filter(|(pattern, _)| may_match(pattern)).flat_map(|(_, needed)| needed);
        !self.deny.iter().any(may_match)
            && self.annotations.are_those_of(item)
            && needed.all(|scope| scopes.as_ref().is_some_and(|scopes| scopes.contains(scope)))
    }
}

/// The name or URI to which rules are applied.
pub(crate) struct Subject<'n> {
    name: &'n str,
    /// The forms to which a server may normalise a URI. Patterns are normalised before they are matched with these.
    normal: Vec<String>,
}

impl<'n> Subject<'n> {
    pub(crate) fn name(name: &'n str) -> Self {
        Self { name, normal: Vec::new() }
    }

    pub(crate) fn uri(uri: &'n str) -> Self {
        Self { name: uri, normal: normal_forms(uri) }
    }

    /// Returns whether a pattern matches the name, or any form of the URI.
    fn may_match(&self, pattern: &str) -> bool {
        let is_normal = |name: &String| normal_forms(pattern).iter().any(|pattern| matches(pattern, name));
        matches(pattern, self.name) || self.normal.iter().any(is_normal)
    }

    /// Returns whether patterns match the name, and every form of the URI.
    fn surely_matches(&self, patterns: &[String]) -> bool {
        let any_normal = |name: &String| {
            patterns.iter().any(|pattern| normal_forms(pattern).iter().any(|pattern| matches(pattern, name)))
        };
        patterns.iter().any(|pattern| matches(pattern, self.name)) && self.normal.iter().all(any_normal)
    }
}

impl Annotations {
    fn are_those_of(self, tool: &JsonObject) -> bool {
        let annotations = tool.get("annotations");
        let has = |name: &str, default: bool| annotations.and_then(|it| it.get(name)?.as_bool()).unwrap_or(default);
        let is = |wanted: Option<bool>, actual: bool| wanted.is_none_or(|wanted| wanted == actual);
        let read_only = has("readOnlyHint", false);
        is(self.read_only, read_only)
            // The hint is meaningless for a tool that only reads.
            && is(self.destructive, !read_only && has("destructiveHint", true))
            && is(self.idempotent, has("idempotentHint", false))
            && is(self.open_world, has("openWorldHint", true))
    }
}

/// Returns whether a name matches a pattern, in which `*` stands for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let Some((end, middle)) = parts.split_last() else { return true };
    for part in middle {
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn matches_patterns() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "reader", false),
            ("read*", "reader", true),
            ("*", "", true),
            ("*er", "reader", true),
            ("r*d*r", "reader", true),
            ("a*a", "a", false),
            ("*ab*ab", "ab", false),
            ("file:///*.txt", "file:///notes/a.txt", true),
            ("", "x", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn shows_what_the_rules_allow() {
        let reader = json!({ "annotations": { "readOnlyHint": true } });
        let scopes = Some(BTreeSet::from(["files".to_owned()]));
        for (rules, name, tool, scopes, expected) in [
            (json!({}), "read", &reader, &None, true),
            (json!({ "allow": ["read*"] }), "read", &reader, &None, true),
            (json!({ "allow": ["read*"] }), "write", &reader, &None, false),
            (json!({ "allow": [] }), "read", &reader, &None, false),
            (json!({ "allow": ["*"], "deny": ["read"] }), "read", &reader, &None, false),
            (json!({ "annotations": { "read_only": true } }), "read", &reader, &None, true),
            (json!({ "annotations": { "read_only": true } }), "read", &json!({}), &None, false),
            (json!({ "annotations": { "destructive": false } }), "read", &json!({}), &None, false),
            (json!({ "annotations": { "destructive": false } }), "read", &reader, &None, true),
            (json!({ "scopes": { "read": ["files"] } }), "read", &reader, &None, false),
            (json!({ "scopes": { "read": ["files"] } }), "read", &reader, &scopes, true),
            (json!({ "scopes": { "*": ["files", "more"] } }), "read", &reader, &scopes, false),
            (json!({ "scopes": { "other": ["more"] } }), "read", &reader, &None, true),
            // Rules hold for all names of an item.
            (json!({ "deny": ["server__*"] }), "read", &reader, &None, false),
            (json!({ "allow": ["server__read"] }), "read", &reader, &None, true),
            (json!({ "scopes": { "server__read": ["more"] } }), "read", &reader, &scopes, false),
        ] {
            let parsed: Rules = serde_json::from_value(rules.clone()).expect("rules");
            let tool: JsonObject = mcpgen_types::from_value(tool.clone()).expect("an object");
            let names = [name, "server__read"].map(Subject::name);
            assert_eq!(parsed.allow(&names) && parsed.permit(&names, &tool, scopes), expected, "{rules} {name} {tool}");
        }
    }
}
