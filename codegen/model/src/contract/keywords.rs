//! JSON schemas whose definitions say what they are with the keywords `x-method` and `x-side`, such as that of the Agent
//! Client Protocol (ACP).

use std::collections::BTreeMap;

use mcpgen_schema::{Document, Error, Json, Problem};

use super::mapping::Direction;
use super::reader::{Contents, ErrorCode, Message, Reader};
use crate::text::names::type_name;

/// Reads the keywords `x-method` and `x-side`.
pub(super) struct MethodKeywords;

impl Reader for MethodKeywords {
    fn name(&self) -> &'static str {
        "JSON Schema with x-method"
    }

    fn reads(&self, document: &Document) -> bool {
        document.definitions().values().any(|definition| definition.get("x-method").is_some())
    }

    fn read(&self, document: Document) -> Result<Contents, Error> {
        let mut problems = Vec::new();
        let (mut params, mut results) = (Vec::new(), BTreeMap::new());
        for (name, definition) in document.definitions() {
            let Some(method) = definition.get("x-method") else { continue };
            match (method.as_str(), direction(definition)) {
                (None, _) => problems.push(problem(&document, name, "x-method", method, "the name of a method")),
                (_, None) => {
                    let found = definition.get("x-side").unwrap_or(&Json::Null);
                    problems.push(problem(&document, name, "x-side", found, "\"agent\", \"client\" or \"protocol\""));
                }
                (Some(method), Some(direction)) => {
                    if name.ends_with("Response") || name.ends_with("Result") {
                        results.insert(method, name.clone());
                    } else {
                        params.push((name, method, direction, definition));
                    }
                }
            }
        }
        if !problems.is_empty() {
            return Err(Error::Schema(problems));
        }
        let messages = params.into_iter().map(|(name, method, direction, definition)| Message {
            name: format!("{name}Message"),
            method: method.to_owned(),
            direction,
            params: Some((name.clone(), true)),
            // A method can be that of a request and of a notification.
            result: results.get(method).filter(|_| !name.ends_with("Notification")).cloned(),
            description: definition.get("description").and_then(Json::as_str).map(str::to_owned),
        });
        let (messages, errors) = (messages.collect(), error_codes(&document));
        Ok(Contents { schema: document, messages, errors })
    }
}

/// Returns who sends the params. `x-side` is the side that receives them, and that answers with the result.
fn direction(definition: &Json) -> Option<Direction> {
    match definition.get("x-side")?.as_str()? {
        "agent" | "server" => Some(Direction::ClientToServer),
        "client" => Some(Direction::ServerToClient),
        "protocol" | "both" => Some(Direction::Both),
        _ => None,
    }
}

/// Returns the errors in the definition `ErrorCode`, whose alternatives are constants with a title.
fn error_codes(document: &Document) -> Vec<ErrorCode> {
    let alternatives = document.definitions().get("ErrorCode").and_then(|it| it.get("anyOf").or(it.get("oneOf")));
    let Some(Json::Array(alternatives)) = alternatives else { return Vec::new() };
    let errors = alternatives.iter().filter_map(|alternative| {
        let Json::Number(code) = alternative.get("const")? else { return None };
        let description = alternative.get("description").and_then(Json::as_str).map(str::to_owned);
        Some(ErrorCode { name: type_name(alternative.get("title")?.as_str()?), code: code.clone(), description })
    });
    errors.collect()
}

fn problem(document: &Document, definition: &str, keyword: &str, found: &Json, expected: &str) -> Problem {
    Problem {
        file: document.file.clone(),
        definition: definition.to_owned(),
        pointer: format!("{}/{keyword}", document.pointer(definition)),
        keyword: keyword.to_owned(),
        why: format!("expected {expected}, found {}", found.plain()),
        remedy: format!("write {expected}"),
    }
}
