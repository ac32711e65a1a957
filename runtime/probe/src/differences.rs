//! Shows how two snapshots differ: the item, the place in it, and both values.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use mcpgen_types::{JsonRef, counted};

use crate::cli::Kind;
use crate::output::quoted;

/// How many differences a message shows.
const SHOWN: usize = 10;
/// Maximum number of differences to return.
const FOUND: usize = 1000;
/// How much of two texts to show before their first difference, in characters.
const BEFORE: usize = 20;

/// Returns the differences between lists of these kinds, each as one line.
pub(crate) fn differences(old: JsonRef<'_>, new: JsonRef<'_>, kinds: &[Kind]) -> Vec<String> {
    let mut found = Vec::new();
    for kind in kinds {
        match (old.get(kind.member()), new.get(kind.member())) {
            (Some(old), Some(new)) => items(*kind, old, new, &mut found),
            (None, None) => {}
            (Some(_), None) => found.push(format!("the list of {} is gone", kind.title())),
            (_, Some(_)) => found.push(format!("the list of {} is new", kind.title())),
        }
    }
    found.truncate(FOUND);
    found
}

/// Formats the first differences, one per line, and how many more there are.
pub(crate) fn shown(differences: &[String]) -> String {
    let mut lines = differences.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    if differences.len() > SHOWN {
        lines.push(format!("… and {}", counted((differences.len() - SHOWN) as u64, "other differences")));
    }
    lines.join("\n")
}

/// An item's key, and how many earlier items have the same key.
type Key<'a> = (Cow<'a, str>, usize);

/// Compares two lists by key. Items with the same key are compared in order.
fn items(kind: Kind, old: JsonRef<'_>, new: JsonRef<'_>, found: &mut Vec<String>) {
    let (old, new) = (by_key(kind, old), by_key(kind, new));
    for (key, item) in &old {
        let name = format!("{} {}", kind.item(), quoted(&key.0));
        match new.get(key) {
            Some(new) => values(&name, "", *item, *new, found),
            None => found.push(format!("{name} is gone")),
        }
    }
    for (key, _) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        found.push(format!("{} {} is new", kind.item(), quoted(&key.0)));
    }
}

fn by_key<'a>(kind: Kind, items: JsonRef<'a>) -> BTreeMap<Key<'a>, JsonRef<'a>> {
    let mut counts = HashMap::new();
    let keyed = items.elements().map(|item| {
        let key = item.get(kind.key()).and_then(JsonRef::as_str).unwrap_or("?".into());
        let count: &mut usize = counts.entry(key.clone()).or_default();
        *count += 1;
        ((key, *count), item)
    });
    keyed.collect()
}

/// `pointer` is the JSON pointer within the item.
fn values(name: &str, pointer: &str, old: JsonRef<'_>, new: JsonRef<'_>, found: &mut Vec<String>) {
    if old == new || found.len() >= FOUND {
        return;
    }
    if old.is_object() && new.is_object() {
        let (old, new): (BTreeMap<_, _>, BTreeMap<_, _>) = (old.members().collect(), new.members().collect());
        let keys: BTreeSet<&Cow<'_, str>> = old.keys().chain(new.keys()).collect();
        for key in keys {
            let place = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            member(name, &place, old.get(key).copied(), new.get(key).copied(), found);
        }
    } else if old.is_array() && new.is_array() {
        let (old, new): (Vec<_>, Vec<_>) = (old.elements().collect(), new.elements().collect());
        for at in 0..old.len().max(new.len()) {
            member(name, &format!("{pointer}/{at}"), old.get(at).copied(), new.get(at).copied(), found);
        }
    } else {
        let (old, new) = match (old.as_str(), new.as_str()) {
            (Some(old), Some(new)) => excerpts(&old, &new),
            _ => (json(old), json(new)),
        };
        found.push(format!("{name}: {pointer}: {old} is now {new}"));
    }
}

fn member(name: &str, pointer: &str, old: Option<JsonRef<'_>>, new: Option<JsonRef<'_>>, found: &mut Vec<String>) {
    match (old, new) {
        (Some(old), Some(new)) => values(name, pointer, old, new, found),
        (Some(old), None) => found.push(format!("{name}: {pointer}: {} is gone", json(old))),
        (None, Some(new)) => found.push(format!("{name}: {pointer}: {} is new", json(new))),
        (None, None) => {}
    }
}

/// The start of a value: quoted text, or JSON.
fn json(value: JsonRef<'_>) -> String {
    if let Some(text) = value.as_str() {
        return quoted(&text);
    }
    let mut characters = value.text().chars();
    let shown: String = characters.by_ref().take(80).collect();
    if characters.next().is_some() { format!("{shown}…") } else { shown }
}

/// Quotes two texts from shortly before their first difference.
fn excerpts(old: &str, new: &str) -> (String, String) {
    let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    let begin = same.saturating_sub(BEFORE);
    let excerpt = |text: &str| {
        let rest: String = text.chars().skip(begin).collect();
        format!("{}{}", if begin > 0 { "…" } else { "" }, quoted(&rest))
    };
    (excerpt(old), excerpt(new))
}

#[cfg(test)]
mod tests {
    use mcpgen_types::Json;
    use serde_json::{Value, json};

    use super::*;

    fn compare(old: &Value, new: &Value, kinds: &[Kind]) -> Vec<String> {
        let [old, new] = [old, new].map(Json::from);
        differences(old.as_ref(), new.as_ref(), kinds)
    }

    #[test]
    fn names_the_item_the_place_and_both_values() {
        let long = "x".repeat(500);
        let tool = |name: &str, more: Value| {
            let mut tool = json!({ "name": name, "inputSchema": { "type": "object" } });
            tool.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            tool
        };
        for (old, new, expected) in [
            (json!([]), json!([]), &[][..]),
            // The order of items and members makes no difference.
            (
                json!([tool("a", json!({})), tool("b", json!({}))]),
                json!([tool("b", json!({})), tool("a", json!({}))]),
                &[],
            ),
            (
                json!([tool("a", json!({}))]),
                json!([tool("b", json!({}))]),
                &["tool \"a\" is gone", "tool \"b\" is new"],
            ),
            (
                json!([tool("a", json!({ "description": format!("{long}, red or blue") }))]),
                json!([tool("a", json!({ "description": format!("{long}, blue or red"), "title": "A" }))]),
                &[
                    "tool \"a\": /description: …\"xxxxxxxxxxxxxxxxxx, red or blue\" is now …\"xxxxxxxxxxxxxxxxxx, blue or red\"",
                    "tool \"a\": /title: \"A\" is new",
                ],
            ),
            (
                json!([tool(
                    "a\u{1b}",
                    json!({ "inputSchema": { "required": ["b", "a/~"], "properties": { "a/~": {} } } })
                )]),
                json!([tool("a\u{1b}", json!({ "inputSchema": { "required": ["b"], "properties": { "a/~": 1 } } }))]),
                &[
                    "tool \"a\\u{1b}\": /inputSchema/properties/a~1~0: {} is now 1",
                    "tool \"a\\u{1b}\": /inputSchema/required/1: \"a/~\" is gone",
                ],
            ),
            // Names are not unique.
            (
                json!([tool("a", json!({ "title": "1" })), tool("a", json!({}))]),
                json!([tool("a", json!({ "title": "2" }))]),
                &["tool \"a\": /title: \"1\" is now \"2\"", "tool \"a\" is gone"],
            ),
        ] {
            let (old, new) = (json!({ "tools": old }), json!({ "tools": new }));
            assert_eq!(compare(&old, &new, &Kind::ALL), expected, "{old} {new}");
        }
        let lists = [json!({ "prompts": [] }), json!({ "resources": [] })];
        let expected = ["the list of resources is new", "the list of prompts is gone"];
        assert_eq!(compare(&lists[0], &lists[1], &Kind::ALL), expected);
        assert!(compare(&lists[0], &lists[1], &[Kind::Tools]).is_empty(), "only these lists are known");
    }

    #[test]
    fn shows_a_limited_number() {
        let many: Vec<String> = (0..SHOWN + 1).map(|n| n.to_string()).collect();
        assert_eq!(shown(&many[..SHOWN]).lines().count(), SHOWN);
        assert_eq!(shown(&many).lines().last(), Some("… and 1 other difference"));
    }
}
