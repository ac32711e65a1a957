//! Simplifies a witness as long as it remains one.

use indexmap::IndexMap;
use serde_json::Number;

use crate::json::Json;

/// The total size of the candidates to try, in bytes.
const MAX_BYTES: usize = 200_000;

/// Returns a simpler document for which `holds` is still true.
pub(super) fn shrink(mut document: Json, holds: &dyn Fn(&Json) -> bool) -> Json {
    let mut left = MAX_BYTES;
    loop {
        let size = document.to_string().len();
        let mut candidates = simpler(&document).take(left / size);
        let found = candidates.find(|it| {
            left = left.saturating_sub(size);
            holds(it)
        });
        drop(candidates);
        match found {
            Some(simpler) => document = simpler,
            None => return document,
        }
    }
}

/// Returns documents simplified in one place, simplest first.
fn simpler(document: &Json) -> Box<dyn Iterator<Item = Json> + '_> {
    let simple = simple(document).into_iter();
    match document {
        Json::Array(items) => {
            let fewer = (0..items.len()).map(|index| {
                let mut fewer = items.clone();
                fewer.remove(index);
                Json::Array(fewer)
            });
            let inside = items.iter().enumerate().flat_map(move |(index, item)| {
                simpler(item).map(move |item| {
                    let mut items = items.clone();
                    items[index] = item;
                    Json::Array(items)
                })
            });
            Box::new(simple.chain(fewer).chain(inside))
        }
        Json::Object(members) => {
            let fewer = members.keys().map(|name| {
                let mut fewer = members.clone();
                fewer.shift_remove(name);
                Json::Object(fewer)
            });
            let inside = members.iter().flat_map(move |(name, value)| {
                simpler(value).map(move |value| {
                    let mut members = members.clone();
                    members.insert(name.clone(), value);
                    Json::Object(members)
                })
            });
            Box::new(simple.chain(fewer).chain(inside))
        }
        _ => Box::new(simple),
    }
}

/// Returns the trivial values that are simpler than this one.
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
