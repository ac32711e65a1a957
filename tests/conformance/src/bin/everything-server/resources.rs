//! Resources: text, bytes, one that may be watched, and a template.

use mcpgen_runtime::ServerBuilder;
use mcpgen_types::v2026_07_28::{Resource, ResourceTemplate};
use serde_json::json;

use crate::samples::PNG;

pub(crate) fn resources(server: ServerBuilder) -> ServerBuilder {
    let text = Resource::new("static-text", "test://static-text")
        .with_description("A text that stays as it is.")
        .with_mime_type("text/plain");
    let binary = Resource::new("static-binary", "test://static-binary")
        .with_description("An image that stays as it is.")
        .with_mime_type("image/png");
    let watched = Resource::new("watched-resource", "test://watched-resource")
        .with_description("A text that may be subscribed to.")
        .with_mime_type("text/plain");
    let template = ResourceTemplate::new("template", "test://template/{id}/data")
        .with_description("What there is under an id.")
        .with_mime_type("application/json");
    server
        .resource(text, |_| async { "This is the content of the static text resource." })
        .resource(binary, |_| async { PNG.to_vec() })
        .resource(watched, |_| async { "Nothing has happened so far." })
        .resource_template(template, |_, variables| async move {
            let id = &variables["id"];
            json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") }).to_string()
        })
}
