//! `check_result` agrees with decoding, for results of all requests and all revisions.
#![cfg(all(
    feature = "convert",
    feature = "v2024_11_05",
    feature = "v2025_03_26",
    feature = "v2025_06_18",
    feature = "v2025_11_25",
    feature = "v2026_07_28"
))]

use mcpgen_types::convert::check_result;
use mcpgen_types::{Error, Json, Request, RequestSet, RequestTypeVisitor, Revision};
use mcpgen_types::{v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28};
use serde_json::{Value, json};

/// Decodes the result of a request.
struct DecodeResult<'a>(&'a Json);

impl RequestTypeVisitor for DecodeResult<'_> {
    type Output = Result<(), Error>;

    fn visit<R: Request>(self) -> Self::Output {
        self.0.decode::<R::Result>().map(drop)
    }
}

fn decoded(method: &str, revision: Revision, result: &Json) -> Option<Result<(), Error>> {
    macro_rules! of {
        ($($name:ident $module:ident),*) => {
            match revision {
                $(Revision::$name => $module::ClientRequest::request_type(method, DecodeResult(result))
                    .or_else(|| $module::ServerRequest::request_type(method, DecodeResult(result))),)*
                _ => None,
            }
        };
    }
    of!(
        V2024_11_05 v2024_11_05,
        V2025_03_26 v2025_03_26,
        V2025_06_18 v2025_06_18,
        V2025_11_25 v2025_11_25,
        V2026_07_28 v2026_07_28
    )
}

/// Results with most of the members that any revision defines.
fn results() -> Vec<(&'static str, Value)> {
    let annotations = json!({ "audience": ["user"], "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z" });
    let icons = json!([{ "src": "https://example.org/a.png", "mimeType": "image/png", "sizes": ["any"] }]);
    let content = json!([
        { "type": "text", "text": "a", "annotations": annotations, "_meta": { "a": 1 } },
        { "type": "image", "data": "YQ==", "mimeType": "image/png" },
        { "type": "audio", "data": "YQ==", "mimeType": "audio/wav" },
        { "type": "resource_link", "uri": "a:b", "name": "b", "size": 5 },
        { "type": "resource", "resource": { "uri": "a:b", "text": "c" } },
        { "type": "resource", "resource": { "uri": "a:b", "blob": "YQ==" } },
    ]);
    let tool = json!({
        "name": "a",
        "title": "A",
        "description": "b",
        "icons": icons,
        "inputSchema": { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] },
        "outputSchema": { "type": "object", "properties": {} },
        "annotations": { "title": "A", "readOnlyHint": true },
        "execution": { "taskSupport": "optional" },
    });
    let resource =
        json!({ "uri": "a:b", "name": "b", "mimeType": "text/plain", "size": 1, "annotations": annotations });
    let prompt = json!({ "name": "a", "arguments": [{ "name": "b", "required": true }], "icons": icons });
    vec![
        ("tools/list", json!({ "tools": [tool], "nextCursor": "a", "_meta": {} })),
        ("tools/call", json!({ "content": content, "structuredContent": { "a": [1] }, "isError": false })),
        ("resources/list", json!({ "resources": [resource], "other": 1 })),
        ("resources/templates/list", json!({ "resourceTemplates": [{ "uriTemplate": "a:{b}", "name": "b" }] })),
        ("resources/read", json!({ "contents": [{ "uri": "a:b", "text": "c" }, { "uri": "a:b", "blob": "YQ==" }] })),
        ("prompts/list", json!({ "prompts": [prompt] })),
        ("prompts/get", json!({ "messages": [{ "role": "user", "content": content[0] }], "description": "a" })),
        ("completion/complete", json!({ "completion": { "values": ["a"], "total": 1, "hasMore": false } })),
        ("roots/list", json!({ "roots": [{ "uri": "file:///a", "name": "a" }] })),
        (
            "sampling/createMessage",
            json!({ "role": "assistant", "content": content[0], "model": "m", "stopReason": "endTurn" }),
        ),
        ("elicitation/create", json!({ "action": "accept", "content": { "a": 1, "b": ["c"], "d": true } })),
        ("tasks/list", json!({ "tasks": [{ "taskId": "a", "status": "working", "createdAt": "a", "ttl": null }] })),
        ("ping", json!({ "_meta": { "a": 1 } })),
        (
            "initialize",
            json!({
                "protocolVersion": "a",
                "capabilities": { "tools": { "listChanged": true }, "experimental": { "a": {} } },
                "serverInfo": { "name": "a", "version": "1", "icons": icons },
            }),
        ),
    ]
}

/// Returns the paths of all values.
fn paths(value: &Value, path: &str, paths: &mut Vec<String>) {
    paths.push(path.to_owned());
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| {
            self::paths(value, &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), paths);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| self::paths(item, &format!("{path}/{index}"), paths));
        }
        _ => {}
    }
}

fn without(value: &Value, path: &str) -> Option<Value> {
    let (parent, member) = path.rsplit_once('/')?;
    let mut value = value.clone();
    value.pointer_mut(parent)?.as_object_mut()?.remove(member)?;
    Some(value)
}

#[test]
fn checks_agree_with_types() {
    let others = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!("x"),
        json!([]),
        json!([1]),
        json!({}),
        json!({ "x": 1 }),
    ];
    let (mut compared, mut invalid) = (0, 0);
    for (method, mut result) in results() {
        for revision in Revision::ALL.iter().copied() {
            if revision == Revision::V2026_07_28 {
                result["resultType"] = json!("complete");
                result["ttlMs"] = json!(1);
                result["cacheScope"] = json!("private");
            }
            let mut all = Vec::new();
            paths(&result, "", &mut all);
            let mut variants = vec![result.clone()];
            for path in &all {
                variants.extend(without(&result, path));
                variants.extend(others.iter().map(|other| {
                    let mut variant = result.clone();
                    *variant.pointer_mut(path).expect("a path of the value") = other.clone();
                    variant
                }));
            }
            for variant in variants {
                let json = Json::from(&variant);
                let Some(decoded) = decoded(method, revision, &json) else { continue };
                let place = |error: Error| (error.path(), error.kind().clone());
                let checked = check_result(method, revision, &json);
                invalid += usize::from(checked.is_err());
                compared += 1;
                assert_eq!(checked.map_err(place), decoded.map_err(place), "{method} in {revision}: {variant}");
            }
        }
    }
    assert!(compared > 5_000 && invalid > 1_000, "{compared} compared, {invalid} invalid");
}
