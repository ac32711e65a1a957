//! Resources: one with text, one with binary data, one for subscriptions, and a template.

use std::collections::BTreeMap;

use mcpgen_sdk::ServerBuilder;
use mcpgen_types::v2026_07_28::{Resource, ResourceTemplate};
use serde_json::json;

use crate::samples::PNG;

pub(crate) fn resources(server: ServerBuilder) -> ServerBuilder {
    let text = Resource::new("test://static-text", "static-text")
        .with_description("A constant text.")
        .with_mime_type("text/plain");
    let binary = Resource::new("test://static-binary", "static-binary")
        .with_description("A constant image.")
        .with_mime_type("image/png");
    let watched = Resource::new("test://watched-resource", "watched-resource")
        .with_description("A text for subscriptions.")
        .with_mime_type("text/plain");
    let template = ResourceTemplate::new("test://template/{id}/data", "template")
        .with_description("The data for an id.")
        .with_mime_type("application/json");
    server
        .resource(text, || async { "This is the content of the static text resource." })
        .resource(binary, || async { PNG.to_vec() })
        .resource(watched, || async { "The content of the watched resource." })
        .resource_template(template, |variables: BTreeMap<String, String>| async move {
            let id = &variables["id"];
            json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string()
        })
}
