//! Rewrites URIs: replaces those of resources in results with those that clients see, and normalises URIs for rules.

use mcpgen_types::{Json, JsonObject, JsonRef};

/// Replaces the URIs in the result of a call, a prompt or a read with those that clients see, which `seen` returns.
/// Returns the same result if no URI changes.
#[must_use]
pub fn replace_uris(result: Json, seen: &dyn Fn(&str) -> String) -> Json {
    // The name of the member may be escaped.
    if !["\"uri\"", "\\u"].iter().any(|part| result.text().contains(part)) {
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

/// How many times percent-encoding is decoded. Servers decode it once, or twice by mistake.
const MAX_DECODED: usize = 4;

/// Returns how a server may read a URI: without percent-encoding, dot segments, repeated slashes or backslashes, and
/// with the scheme and host in lower case. There are two forms if it has dot segments after `?` or `#`, which some
/// servers count as part of the path.
#[must_use]
pub fn normal_forms(uri: &str) -> Vec<String> {
    let mut decoded = uri.to_owned();
    for _ in 0..MAX_DECODED {
        decoded = decode(&decoded);
    }
    let decoded = decoded.replace('\\', "/");
    let (scheme, rest) = decoded.split_once(':').unwrap_or(("", &decoded));
    let of_path = |path: &str, query: &str| {
        let (host, path) = match path.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", path),
        };
        let host = Some(host.to_lowercase()).filter(|host| host != "localhost").unwrap_or_default();
        let slashes = if path.starts_with('/') || !host.is_empty() { "//" } else { "" };
        format!("{}:{slashes}{host}{}{query}", scheme.to_lowercase(), without_dot_segments(path))
    };
    let (path, query) = rest.split_at(rest.find(['?', '#']).unwrap_or(rest.len()));
    let mut forms = vec![of_path(path, query), of_path(rest, "")];
    forms.dedup();
    forms
}

fn decode(text: &str) -> String {
    let (mut decoded, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

fn without_dot_segments(path: &str) -> String {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            segment => segments.push(segment),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    let is_folder = !segments.is_empty() && ["/", "/.", "/.."].iter().any(|end| path.ends_with(end));
    start.to_owned() + &segments.join("/") + if is_folder { "/" } else { "" }
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
    fn normalises_uris() {
        for (uri, expected) in [
            ("file:///a/b", vec!["file:///a/b"]),
            ("file:///a/", vec!["file:///a/"]),
            ("file:/a", vec!["file:///a"]),
            ("FILE://LocalHost/a", vec!["file:///a"]),
            ("HTTP://Example.com/A", vec!["http://example.com/A"]),
            ("file:///a/./b/../c/..", vec!["file:///a/"]),
            ("file:///..//../a", vec!["file:///a"]),
            ("file:///%61%2Fb%5cc", vec!["file:///a/b/c"]),
            ("file:///%252e%252e/a", vec!["file:///a"]),
            ("file:///a%2", vec!["file:///a%2"]),
            ("file:///a%é", vec!["file:///a%é"]),
            ("file:///a?b/../c", vec!["file:///a?b/../c", "file:///c"]),
            ("memo:a/../b", vec!["memo:b"]),
            ("nothing", vec![":nothing"]),
        ] {
            assert_eq!(normal_forms(uri), expected, "{uri}");
        }
    }

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
        let escaped = Json::parse(r#"{"contents":[{"\u0075ri":"x:1","text":"a"}]}"#.to_owned()).expect("JSON");
        let replaced = replace_uris(escaped, &|uri| format!("s+{uri}"));
        assert_eq!(replaced.to_value(), json!({ "contents": [{ "uri": "s+x:1", "text": "a" }] }));
    }
}
