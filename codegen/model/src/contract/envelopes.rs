//! Adds message definitions to a schema that defines only params and results.

use std::collections::HashSet;

use indexmap::IndexMap;
use mcpgen_schema::json::pointer::escape;
use mcpgen_schema::{Document, Error, Json};

use super::mapping::{Entry, MappedMessage};
use super::reader::{Contents, ErrorCode, Message, Problems};
use crate::direction::MessageSet;
use crate::text::names::message_name;

const MAX_MESSAGES: usize = 1_000;

/// The definition for the `id` of requests, which is added if the schema does not have it.
const REQUEST_ID: &str = "RequestId";

pub(super) fn add(contents: &mut Contents) -> Result<Vec<MappedMessage>, Error> {
    let Contents { schema: document, messages, errors, origins } = contents;
    check(document, messages)?;
    let container = document.container();
    let mut definitions = document.definitions().clone();
    if !definitions.contains_key(REQUEST_ID) {
        let id = object([("type", Json::Array(vec![text("string"), text("integer")]))]);
        definitions.insert(REQUEST_ID.to_owned(), id);
    }
    for ErrorCode { name, code, description } in std::mem::take(errors) {
        // For example, `NotFound` and `ParseError` become `NotFoundError` and `ParseError`.
        let name = free_name(&definitions, &format!("{}Error", name.strip_suffix("Error").unwrap_or(&name)));
        let properties = [
            ("code", object([("enum", Json::Array(vec![Json::Number(code.into())]))])),
            ("message", object([("type", text("string"))])),
        ];
        definitions.insert(name, structure(object(properties), &["code", "message"], description.as_deref()));
    }
    let mut entries = Vec::new();
    for message in std::mem::take(messages) {
        let definition = free_name(&definitions, &message.name);
        origins.add(format!("/{container}/{}", escape(&definition)), message.pointer.as_str());
        definitions.insert(definition.clone(), envelope(container, &message));
        let is_request = message.result.is_some();
        let Message { direction, result, .. } = message;
        let entry = Entry { definition, method: None, params: None, result, direction: Some(direction) };
        entries.push(MappedMessage { is_request, entry });
    }
    if let Json::Object(root) = &mut document.root {
        root.insert(container.to_owned(), Json::Object(definitions));
    }
    Ok(entries)
}

fn check(document: &Document, messages: &[Message]) -> Result<(), Error> {
    let mut problems = Problems::of(document, "rename or remove one of them");
    let mut known = HashSet::new();
    for message in messages {
        for &sender in message.direction.senders() {
            if !known.insert((sender, message.result.is_some(), &message.method)) {
                let why = format!("another message of the {} has the method {:?}", sender.as_str(), message.method);
                problems.add(&message.pointer, why);
            }
        }
        let params = message.params.iter().map(|(name, _)| ("params", name));
        let result = message.result.iter().map(|name| ("result", name));
        for (member, name) in params.chain(result).filter(|(_, name)| !document.definitions().contains_key(*name)) {
            let why = format!("there is no definition {name:?}");
            problems.add_with(&format!("{}/{member}", message.pointer), why, "correct the name");
        }
    }
    if messages.len() > MAX_MESSAGES {
        let why = format!("{} messages exceed the limit of {MAX_MESSAGES}", messages.len());
        problems.add_with("", why, "split the contract");
    }
    problems.into_result()
}

/// Returns a name that no definition and no message set has.
pub(super) fn free_name(definitions: &IndexMap<String, Json>, wanted: &str) -> String {
    message_name(wanted, |name| definitions.contains_key(name) || MessageSet::named(name).is_some())
}

fn envelope(container: &str, message: &Message) -> Json {
    let mut properties = IndexMap::from([("jsonrpc".to_owned(), constant("2.0"))]);
    let mut required = vec!["jsonrpc", "method"];
    if message.result.is_some() {
        properties.insert("id".to_owned(), reference(container, REQUEST_ID));
        required.insert(1, "id");
    }
    properties.insert("method".to_owned(), constant(&message.method));
    if let Some((params, is_required)) = &message.params {
        properties.insert("params".to_owned(), reference(container, params));
        required.extend(is_required.then_some("params"));
    }
    structure(Json::Object(properties), &required, message.description.as_deref())
}

pub(super) fn structure(properties: Json, required: &[&str], description: Option<&str>) -> Json {
    let required = required.iter().map(|name| text(name)).collect();
    let shape = [("type", text("object")), ("properties", properties), ("required", Json::Array(required))];
    let all = description.map(|it| ("description", text(it))).into_iter().chain(shape);
    Json::Object(all.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// Returns a schema for one string. Every dialect has `enum`, but not every one has `const`.
fn constant(value: &str) -> Json {
    object([("enum", Json::Array(vec![text(value)]))])
}

pub(super) fn reference(container: &str, definition: &str) -> Json {
    // The fragment of a URI is percent-encoded.
    let definition = escape(definition).replace('%', "%25");
    object([("$ref", text(&format!("#/{container}/{definition}")))])
}

pub(super) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

pub(super) fn text(text: &str) -> Json {
    Json::String(text.to_owned())
}
