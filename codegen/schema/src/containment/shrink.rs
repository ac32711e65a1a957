//! Makes a document shorter while it stays a witness.

use indexmap::IndexMap;
use serde_json::Number;

use crate::json::Json;

/// The maximum number of documents that are tried.
const MAX_TRIES: usize = 2_000;

/// Returns a document that is at most as long, and for which the condition holds too.
pub(super) fn shrink(mut document: Json, holds: &dyn Fn(&Json) -> bool) -> Json {
    let mut tries = 0;
    while let Some(simpler) = simpler(&document).into_iter().take(MAX_TRIES - tries).find(|it| {
        tries += 1;
        holds(it)
    }) {
        document = simpler;
    }
    document
}

/// Returns documents that are simpler in one place, the simplest first.
fn simpler(document: &Json) -> Vec<Json> {
    let mut all = simple(document);
    match document {
        Json::Array(items) => {
            for index in 0..items.len() {
                let mut fewer = items.clone();
                fewer.remove(index);
                all.push(Json::Array(fewer));
            }
            for (index, item) in items.iter().enumerate() {
                all.extend(simpler(item).into_iter().map(|item| {
                    let mut items = items.clone();
                    items[index] = item;
                    Json::Array(items)
                }));
            }
        }
        Json::Object(members) => {
            let without = |name: &String| {
                let rest = members.iter().filter(|(other, _)| *other != name);
                Json::Object(rest.map(|(name, value)| (name.clone(), value.clone())).collect())
            };
            all.extend(members.keys().map(without));
            for (name, value) in members {
                all.extend(simpler(value).into_iter().map(|value| {
                    let mut members = members.clone();
                    members.insert(name.clone(), value);
                    Json::Object(members)
                }));
            }
        }
        _ => {}
    }
    all
}

/// Returns the simplest values that are simpler than this one.
fn simple(document: &Json) -> Vec<Json> {
    let number = |value: i64| Json::Number(Number::from(value));
    let text = |value: &str| Json::String(value.to_owned());
    let all = [
        Json::Null,
        Json::Bool(false),
        number(0),
        text(""),
        number(1),
        text("a"),
        Json::Array(Vec::new()),
        Json::Object(IndexMap::new()),
    ];
    let rank = rank(document);
    all.into_iter().filter(|simple| self::rank(simple) < rank).collect()
}

/// Returns how complicated a document is.
fn rank(document: &Json) -> (usize, usize) {
    let kind = match document {
        Json::Null => 0,
        Json::Bool(false) => 1,
        Json::Bool(true) => 2,
        Json::Number(_) => 3,
        Json::String(_) => 4,
        Json::Array(_) => 5,
        Json::Object(_) => 6,
    };
    let text = document.to_string();
    (kind, if text == "0" { 0 } else { text.len() })
}
