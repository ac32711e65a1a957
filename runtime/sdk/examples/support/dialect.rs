//! Compatibility with peers that speak an unofficial dialect of the protocol.
//!
//! The dialect comes from a widely copied description of the protocol. It has the methods `initialized`, `shutdown`,
//! `exit`, `tools/list-changed` and `resources/updated`, capabilities with the value `true`, and error codes from
//! -32000 to -32005.
//!
//! [`incoming`] translates incoming messages to their official form, for servers and clients. [`handlers`] adds
//! handlers for methods that only the dialect has. Outgoing messages stay as they are, because these peers understand
//! the official form.

use futures_util::StreamExt;
use mcpgen_sdk::transport::{Inbound, Incoming};
use mcpgen_sdk::{Context, Router};
use serde_json::{Map, Value, json};

/// The dialect's notifications and their official names.
const NOTIFICATIONS: &[(&str, &str)] = &[
    ("initialized", "notifications/initialized"),
    ("cancelled", "notifications/cancelled"),
    ("progress", "notifications/progress"),
    ("tools/list-changed", "notifications/tools/list_changed"),
    ("prompts/list-changed", "notifications/prompts/list_changed"),
    ("resources/list-changed", "notifications/resources/list_changed"),
    ("resources/updated", "notifications/resources/updated"),
];

/// The dialect's error codes and the official ones.
const CODES: &[(i64, i64)] = &[
    // Tool not found.
    (-32000, -32602),
    // Tool execution error.
    (-32001, -32603),
    // Resource not found: official in older revisions.
    (-32002, -32002),
    // Resource access denied.
    (-32003, -32602),
    // Prompt not found.
    (-32004, -32602),
    // Rate limited.
    (-32005, -32603),
];

/// Translates incoming messages from the dialect to their official form.
pub(crate) fn incoming(from: impl Incoming) -> impl Incoming {
    from.map(|message| message.map(translate_inbound))
}

/// Adds handlers for the request `shutdown`, whose result is empty, and for the notification `exit`, which closes the
/// connection.
#[must_use]
pub(crate) fn handlers(router: Router) -> Router {
    router
        .custom_request("shutdown", |_, _: Value| async { Ok::<_, mcpgen_types::ErrorObject>(json!({})) })
        .custom_notification("exit", |context: Context, _: Value| {
            context.peer().disconnect();
            async {}
        })
}

fn translate_inbound(message: Inbound) -> Inbound {
    let extensions = message.extensions.clone();
    let mut message = match message.clone().into_bytes() {
        Ok(bytes) => Inbound::new(translated(bytes)),
        Err(_) => message,
    };
    message.extensions = extensions;
    message
}

/// Translates a message or batch. Returns the same bytes if there is nothing to translate or they are not JSON.
fn translated(bytes: Vec<u8>) -> Vec<u8> {
    let Ok(mut message) = mcpgen_types::from_slice::<Value>(&bytes) else { return bytes };
    let changed = match &mut message {
        Value::Array(messages) => {
            messages.iter_mut().filter_map(|message| translate(message).then_some(())).count() > 0
        }
        message => translate(message),
    };
    if changed { mcpgen_types::to_vec(&message) } else { bytes }
}

/// Returns whether the message changed.
fn translate(message: &mut Value) -> bool {
    let Some(message) = message.as_object_mut() else { return false };
    let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
    match method {
        Some(method) => {
            let official = NOTIFICATIONS.iter().find(|(known, _)| *known == method && !message.contains_key("id"));
            let renamed = official.map(|(_, official)| message.insert("method".to_owned(), json!(official))).is_some();
            capabilities(message.get_mut("params")) || renamed
        }
        None => {
            let error = message.get_mut("error").and_then(Value::as_object_mut);
            let coded = error.is_some_and(code);
            let read = message.get_mut("result").and_then(Value::as_object_mut).is_some_and(contents);
            capabilities(message.get_mut("result")) || coded || read
        }
    }
}

/// Replaces capabilities that are `true` with empty objects, and removes those that are `false`. Returns whether any
/// changed.
fn capabilities(params_or_result: Option<&mut Value>) -> bool {
    let declared = params_or_result.and_then(|it| it.get_mut("capabilities")).and_then(Value::as_object_mut);
    let Some(declared) = declared else { return false };
    let before = declared.len();
    declared.retain(|name, value| name == "experimental" || *value != false);
    let mut changed = declared.len() < before;
    for (name, value) in declared.iter_mut() {
        match (name.as_str(), value) {
            ("experimental", Value::Object(experimental)) => {
                for value in experimental.values_mut().filter(|value| value.is_boolean()) {
                    *value = json!({});
                    changed = true;
                }
            }
            (_, value) if *value == true => {
                *value = json!({});
                changed = true;
            }
            _ => {}
        }
    }
    changed
}

/// Returns whether the error code changed.
fn code(error: &mut Map<String, Value>) -> bool {
    let official = CODES.iter().find(|(known, _)| error.get("code").and_then(Value::as_i64) == Some(*known));
    official.is_some_and(|(known, official)| {
        error.insert("code".to_owned(), json!(official));
        known != official
    })
}

/// Replaces embedded resources that have neither `text` nor `blob` with resource links. Returns whether any changed.
fn contents(result: &mut Map<String, Value>) -> bool {
    let mut changed = false;
    for content in result.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_resource = content.get("type").is_some_and(|kind| kind == "resource");
        let link = content.get("resource").and_then(Value::as_object).filter(|resource| {
            is_resource
                && resource.contains_key("uri")
                && !resource.contains_key("text")
                && !resource.contains_key("blob")
        });
        if let Some(mut link) = link.cloned() {
            let name = link.get("uri").cloned().unwrap_or_default();
            link.entry("name").or_insert(name);
            link.insert("type".to_owned(), json!("resource_link"));
            *content = Value::Object(link);
            changed = true;
        }
    }
    changed
}
