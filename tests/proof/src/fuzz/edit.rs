//! Edits valid documents, as chosen by the bytes from the fuzzer.

use serde_json::{Map, Value, json};

use super::{Target, target_of, targets};
use crate::judge::{depth, escaped};

/// Makes an edited document: the first two bytes name a target, the next two choose one of its instances, and every
/// four bytes after them are an edit.
///
/// Returns `None` if there are fewer than four bytes.
#[must_use]
pub fn edited(data: &[u8]) -> Option<(&'static Target, String)> {
    let (target, rest) = target_of(data)?;
    let (&[seed, index], rest) = rest.split_first_chunk()?;
    let mut document = target.instance(seed.into(), index.into());
    let mut duplicated = None;
    for &[kind, at, other, more] in rest.as_chunks().0.iter().take(MAX_EDITS) {
        let places = places(&document);
        if places.len() > MAX_PLACES {
            break;
        }
        let place = |byte: u8| places[usize::from(byte) % places.len()].as_str();
        let (at, from) = (place(at), place(other));
        let source = document.pointer(from).cloned().unwrap_or_default();
        match kind % 9 {
            0 => replace(&mut document, at, source),
            1 => replace(&mut document, at, odd(other)),
            2 => replace(&mut document, at, foreign(other, more)),
            3 => wrap(&mut document, at, other, more),
            4 => drop(delete(&mut document, at)),
            5 => rename(&mut document, at, &name(from, more)),
            6 => insert(&mut document, at, &name(from, more), source),
            7 => insert(&mut document, at, &name(from, more), odd(other)),
            _ => duplicated = Some(at.to_owned()),
        }
    }
    let mut text = String::new();
    write(&document, "", duplicated.as_deref(), &mut text);
    Some((target, text))
}

const MAX_EDITS: usize = 16;
const MAX_PLACES: usize = 2000;

/// Returns the pointers of all values in the document, each before those inside it.
fn places(document: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut next = 0;
    while next < found.len() && found.len() <= MAX_PLACES {
        let at = found[next].clone();
        match document.pointer(&at) {
            Some(Value::Object(members)) => {
                found.extend(members.keys().map(|name| format!("{at}/{}", escaped(name))));
            }
            Some(Value::Array(items)) => found.extend((0..items.len()).map(|index| format!("{at}/{index}"))),
            _ => {}
        }
        next += 1;
    }
    found
}

fn replace(document: &mut Value, at: &str, value: Value) {
    if let Some(place) = document.pointer_mut(at) {
        *place = value;
    }
}

/// Returns a value that decoders may handle incorrectly, such as the limit of a number type.
fn odd(choice: u8) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.0),
        json!(1.5),
        json!(-0.0),
        json!(1e300),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(18_446_744_073_709_551_616.0),
        json!(9_223_372_036_854_775_808.0),
        json!(""),
        json!("object"),
        json!("\u{0}\"\u{1F600}"),
        json!([]),
        json!({}),
        json!([null]),
        json!({ "": null }),
    ];
    values[usize::from(choice) % values.len()].clone()
}

fn foreign(choice: u8, index: u8) -> Value {
    let all = targets();
    // There are more targets than a single byte can select.
    let choice = (usize::from(choice) * 256 + usize::from(index)) % all.len();
    all[choice].instance(0, u64::from(index % 8))
}

fn wrap(document: &mut Value, at: &str, times: u8, kind: u8) {
    let Some(place) = document.pointer_mut(at) else { return };
    let mut value = place.take();
    if depth(&value) < 128 {
        for turn in 0..times % 110 {
            value = match (turn & kind) % 2 {
                0 => Value::Array(vec![value]),
                _ => Value::Object(Map::from_iter([(String::from("a"), value)])),
            };
        }
    }
    *place = value;
}

/// Returns the last step of a pointer, or a name with a special meaning.
fn name(from: &str, choice: u8) -> String {
    const NAMES: &[&str] =
        &["id", "method", "params", "result", "error", "jsonrpc", "type", "_meta", "resultType", "text", "", "~/"];
    match NAMES.get(usize::from(choice) % (2 * NAMES.len())) {
        Some(name) => (*name).to_owned(),
        None => unescaped(from.rsplit('/').next().unwrap_or_default()),
    }
}

fn delete(document: &mut Value, at: &str) -> Option<Value> {
    let (parent, last) = at.rsplit_once('/')?;
    match document.pointer_mut(parent)? {
        Value::Object(members) => members.remove(&unescaped(last)),
        Value::Array(items) => Some(items.remove(last.parse().ok()?)),
        _ => None,
    }
}

fn rename(document: &mut Value, at: &str, name: &str) {
    let Some((parent, _)) = at.rsplit_once('/') else { return };
    if document.pointer(parent).is_some_and(Value::is_object)
        && let Some(value) = delete(document, at)
    {
        insert(document, parent, name, value);
    }
}

/// Inserts a value into an object under this name, or at the end of an array. If the value at `at` is neither, inserts
/// the new one next to it.
fn insert(document: &mut Value, at: &str, name: &str, value: Value) {
    let container = match document.pointer(at) {
        Some(Value::Object(_) | Value::Array(_)) => at,
        _ => at.rsplit_once('/').map_or("", |(parent, _)| parent),
    };
    match document.pointer_mut(container) {
        Some(Value::Object(members)) => drop(members.insert(name.to_owned(), value)),
        Some(Value::Array(items)) => items.push(value),
        _ => {}
    }
}

fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Writes a value as JSON text, with the member at the pointer `duplicated` twice.
fn write(value: &Value, at: &str, duplicated: Option<&str>, text: &mut String) {
    match value {
        Value::Object(members) => {
            text.push('{');
            for (name, member) in members {
                let at = format!("{at}/{}", escaped(name));
                for _ in 0..if duplicated == Some(&at) { 2 } else { 1 } {
                    text.push_str(&format!("{}:", json!(name)));
                    write(member, &at, duplicated, text);
                    text.push(',');
                }
            }
            close(text, '}');
        }
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                write(item, &format!("{at}/{index}"), duplicated, text);
                text.push(',');
            }
            close(text, ']');
        }
        scalar => text.push_str(&scalar.to_string()),
    }
}

fn close(text: &mut String, bracket: char) {
    if text.ends_with(',') {
        text.pop();
    }
    text.push(bracket);
}
