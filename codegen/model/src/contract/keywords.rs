//! JSON schemas that mark messages with the keywords `x-method` and `x-side`, such as that of the Agent Client Protocol
//! (ACP).

use std::collections::{BTreeMap, BTreeSet};

use mcpgen_schema::{Document, Error, Json};

use super::mapping::Direction;
use super::origins::Origins;
use super::reader::{Contents, ErrorCode, Message, Problems, Reader};
use crate::text::names::type_name;

pub(super) const METHOD_KEYWORDS: Reader = Reader { name: "JSON Schema with x-method", reads, read };

fn reads(document: &Document) -> bool {
    document.definitions().values().any(|definition| definition.get("x-method").is_some())
}

fn read(document: Document) -> Result<Contents, Error> {
    let mut problems = Problems::of(&document, "add the definition, or correct its `x-method` or `x-side`");
    let (mut params, mut results) = (Vec::new(), BTreeMap::new());
    for (name, definition) in document.definitions() {
        let Some(method) = definition.get("x-method") else { continue };
        let pointer = document.pointer(name);
        let (Some(method), Some(direction)) = (method.as_str(), direction(definition)) else {
            let expected = "expected the name of a method, and \"agent\", \"client\" or \"both\" as `x-side`";
            problems.add_with(&pointer, expected, "write `x-method` and `x-side`");
            continue;
        };
        if !name.ends_with("Response") {
            params.push((name, pointer, method, direction, definition));
        } else if let Some(other) = results.insert((method, direction), name) {
            problems.add(&pointer, format!("{other} is the result of {method:?} too"));
        }
    }
    let mut messages = Vec::new();
    let mut answered = BTreeSet::new();
    for (name, pointer, method, direction, definition) in params {
        // The same method can be a request and a notification.
        let result = results.get(&(method, direction)).filter(|_| !name.ends_with("Notification"));
        if result.is_none() && name.ends_with("Request") {
            problems.add(&pointer, format!("no definition `…Response` has the method {method:?} of this request"));
        }
        answered.extend(result.map(|_| (method, direction)));
        messages.push(Message {
            pointer,
            name: format!("{name}Message"),
            method: method.to_owned(),
            direction,
            params: Some((name.clone(), true)),
            result: result.map(|result| (*result).clone()),
            description: definition.get("description").and_then(Json::as_str).map(str::to_owned),
        });
    }
    for (key, name) in results.iter().filter(|(key, _)| !answered.contains(key)) {
        problems.add(&document.pointer(name), format!("no definition `…Request` has the method {:?}", key.0));
    }
    problems.into_result()?;
    let errors = error_codes(&document);
    Ok(Contents { schema: document, messages, errors, origins: Origins::default() })
}

/// Returns who sends the params. `x-side` names the receiving side, which answers with the result.
fn direction(definition: &Json) -> Option<Direction> {
    match definition.get("x-side")?.as_str()? {
        "agent" | "server" => Some(Direction::ClientToServer),
        "client" => Some(Direction::ServerToClient),
        "protocol" | "both" => Some(Direction::Both),
        _ => None,
    }
}

/// Returns the errors listed in the definition `ErrorCode`: constants with a title.
fn error_codes(document: &Document) -> Vec<ErrorCode> {
    let alternatives = document.definitions().get("ErrorCode").and_then(|it| it.get("anyOf").or(it.get("oneOf")));
    let Some(Json::Array(alternatives)) = alternatives else { return Vec::new() };
    let errors = alternatives.iter().filter_map(|alternative| {
        let code = alternative.get("const")?.as_i64()?;
        let description = alternative.get("description").and_then(Json::as_str).map(str::to_owned);
        Some(ErrorCode { name: type_name(alternative.get("title")?.as_str()?), code, description })
    });
    errors.collect()
}
