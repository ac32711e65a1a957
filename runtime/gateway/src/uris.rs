//! Replaces the URIs of resources in results by those that clients see.

use mcpgen_types::{Json, JsonObject, JsonRef};

/// Replaces the URIs in the result of a call, a prompt or a read. `seen` returns the URI that clients see. Returns the same
/// result if no URI changes.
pub(crate) fn replace_uris(result: Json, seen: &dyn Fn(&str) -> String) -> Json {
    if !result.text().contains("\"uri\"") {
        return result;
    }
    let Ok(mut members) = result.decode::<JsonObject>() else { return result };
    for (member, replace) in [
        ("contents", replace_in_resource as fn(JsonRef<'_>, &dyn Fn(&str) -> String) -> Json),
        ("content", replace_in_block),
        ("messages", replace_in_message),
    ] {
        if let Some(list) = members.get(member).filter(|list| list.is_array()) {
            let list: Json = list.elements().map(|element| replace(element, seen)).collect();
            members.insert(member, list);
        }
    }
    members.into()
}

/// Replaces a member of an object, if it has one.
fn with_member(object: JsonRef<'_>, name: &str, new: impl FnOnce(JsonRef<'_>) -> Json) -> Json {
    let Ok(mut members) = JsonObject::try_from(object) else { return object.to_json() };
    if let Some(new) = members.get(name).map(new) {
        members.insert(name, new);
    }
    members.into()
}

fn replace_in_resource(resource: JsonRef<'_>, seen: &dyn Fn(&str) -> String) -> Json {
    with_member(resource, "uri", |uri| uri.as_str().map_or_else(|| uri.to_json(), |uri| seen(&uri).into()))
}

/// Replaces the URI of an embedded resource or of a link to one.
fn replace_in_block(block: JsonRef<'_>, seen: &dyn Fn(&str) -> String) -> Json {
    match block.get("type").and_then(JsonRef::as_str).as_deref() {
        Some("resource_link") => replace_in_resource(block, seen),
        Some("resource") => with_member(block, "resource", |resource| replace_in_resource(resource, seen)),
        _ => block.to_json(),
    }
}

fn replace_in_message(message: JsonRef<'_>, seen: &dyn Fn(&str) -> String) -> Json {
    with_member(message, "content", |content| replace_in_block(content, seen))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replaces_the_uris_of_resources_only() {
        for (result, expected) in [
            (
                json!({ "contents": [{ "uri": "x:1", "text": "a" }] }),
                json!({ "contents": [{ "uri": "s+x:1", "text": "a" }] }),
            ),
            (
                json!({ "content": [{ "type": "text", "text": "\"uri\"" }, { "type": "resource_link", "uri": "x:1" }] }),
                json!({ "content": [{ "type": "text", "text": "\"uri\"" }, { "type": "resource_link", "uri": "s+x:1" }] }),
            ),
            (
                json!({ "content": [{ "type": "resource", "resource": { "uri": "x:1" } }], "structuredContent": { "uri": "x:1" } }),
                json!({ "content": [{ "type": "resource", "resource": { "uri": "s+x:1" } }], "structuredContent": { "uri": "x:1" } }),
            ),
            (
                json!({ "messages": [{ "role": "user", "content": { "type": "resource", "resource": { "uri": "x:1" } } }] }),
                json!({ "messages": [{ "role": "user", "content": { "type": "resource", "resource": { "uri": "s+x:1" } } }] }),
            ),
        ] {
            let replaced = replace_uris(Json::from(&result), &|uri| format!("s+{uri}"));
            assert_eq!(replaced.to_value(), expected);
        }
    }
}
