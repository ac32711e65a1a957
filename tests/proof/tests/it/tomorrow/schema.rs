//! Makes the schema of a revision that does not exist yet from the newest one.

use serde_json::{Value, json};

pub(super) const NEWEST: &str = "2026-07-28";

/// Returns the schema of the new revision. It has every kind of change that revisions have had: new and removed
/// members, a new value, a new variant, a renamed definition, a new request and a new notification.
pub(super) fn tomorrow(newest: &str) -> String {
    let renamed = newest.replace("ToolAnnotations", "ToolHints");
    assert_ne!(renamed, newest, "a definition is renamed");
    let mut schema: Value = serde_json::from_str(&renamed).expect("a schema");
    let definitions = &mut schema["$defs"];
    add_request(definitions);
    add_notification(definitions);
    add_content(definitions);
    insert(definitions, "/Tool/properties", "costs", json!({ "type": "number" }));
    let removed = definitions["Annotations"]["properties"].as_object_mut().expect("members").remove("lastModified");
    assert!(removed.is_some(), "a member is removed");
    push(definitions, "/LoggingLevel/enum", json!("trace"));
    serde_json::to_string_pretty(&schema).expect("JSON")
}

/// `tools/estimate`: a request with params and a result.
fn add_request(definitions: &mut Value) {
    let meta = json!({ "$ref": "#/$defs/RequestMetaObject" });
    let mut params = object(&[("_meta", meta), ("name", json!({ "type": "string" }))]);
    params["required"] = json!(["_meta", "name"]);
    let mut result = object(&[
        ("_meta", json!({ "$ref": "#/$defs/ResultMetaObject" })),
        ("resultType", json!({ "type": "string" })),
        ("seconds", json!({ "type": "integer" })),
    ]);
    result["required"] = json!(["resultType", "seconds"]);
    let mut request = message("tools/estimate", "EstimateToolRequestParams");
    request["properties"]["id"] = json!({ "$ref": "#/$defs/RequestId" });
    request["required"] = json!(["id", "jsonrpc", "method", "params"]);
    insert(definitions, "", "EstimateToolRequestParams", params);
    insert(definitions, "", "EstimateToolResult", result);
    insert(definitions, "", "EstimateToolRequest", request);
    push(definitions, "/ClientRequest/anyOf", json!({ "$ref": "#/$defs/EstimateToolRequest" }));
    push(definitions, "/ServerResult/anyOf", json!({ "$ref": "#/$defs/EstimateToolResult" }));
}

/// `notifications/tools/retired`: a notification that servers send.
fn add_notification(definitions: &mut Value) {
    let mut params = object(&[
        ("_meta", json!({ "$ref": "#/$defs/NotificationMetaObject" })),
        ("name", json!({ "type": "string" })),
    ]);
    params["required"] = json!(["name"]);
    insert(definitions, "", "ToolRetiredNotificationParams", params);
    let notification = message("notifications/tools/retired", "ToolRetiredNotificationParams");
    insert(definitions, "", "ToolRetiredNotification", notification);
    push(definitions, "/ServerNotification/anyOf", json!({ "$ref": "#/$defs/ToolRetiredNotification" }));
}

/// Content of type `video`.
fn add_content(definitions: &mut Value) {
    let audio = definitions["AudioContent"].clone();
    let mut video = audio.clone();
    video["properties"]["type"]["const"] = json!("video");
    assert_ne!(video, audio, "content has a type");
    insert(definitions, "", "VideoContent", video);
    push(definitions, "/ContentBlock/anyOf", json!({ "$ref": "#/$defs/VideoContent" }));
}

fn object(members: &[(&str, Value)]) -> Value {
    let properties: serde_json::Map<_, _> =
        members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "properties": properties })
}

fn message(method: &str, params: &str) -> Value {
    let mut message = object(&[
        ("jsonrpc", json!({ "const": "2.0", "type": "string" })),
        ("method", json!({ "const": method, "type": "string" })),
        ("params", json!({ "$ref": format!("#/$defs/{params}") })),
    ]);
    message["required"] = json!(["jsonrpc", "method", "params"]);
    message
}

fn insert(definitions: &mut Value, object: &str, name: &str, value: Value) {
    let members = definitions.pointer_mut(object).and_then(Value::as_object_mut).expect("an object");
    assert!(members.insert(name.to_owned(), value).is_none(), "{name} exists already");
}

fn push(definitions: &mut Value, array: &str, value: Value) {
    definitions.pointer_mut(array).and_then(Value::as_array_mut).expect("an array").push(value);
}
