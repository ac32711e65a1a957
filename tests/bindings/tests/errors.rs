//! Calls bindings on a server in memory, whose results are right and wrong.

use mcpgen_bindings_test::shapes::{self, SearchArguments, search_arguments};
use mcpgen_sdk::client::TypedCallError;
use mcpgen_sdk::{Client, LocalInfo, Router, peer::CallError, serve, transport};
use mcpgen_types::v2026_07_28::{CallToolRequest, CallToolResult, InputRequiredOrCallToolResult, TextContent};
use mcpgen_types::{ErrorObject, JsonObject, Value};
use serde_json::json;

/// Connects to a server whose tools return this result. The result's text has the arguments.
async fn client(result: Value) -> Client {
    let router = Router::new().request::<CallToolRequest>(move |_, params| {
        let result = result.clone();
        async move {
            if result == json!("unknown tool") {
                return Err(ErrorObject::new(mcpgen_types::ErrorCode::INVALID_PARAMS, "unknown tool"));
            }
            let arguments = params.arguments.map(|arguments| mcpgen_types::to_string(&arguments)).unwrap_or_default();
            let mut answer = CallToolResult::new(vec![TextContent::new(arguments).into()]);
            if let Some(structured) = result.get("structured") {
                answer = answer.with_structured_content(structured.clone());
            }
            if result.get("failed").is_some() {
                answer = answer.with_is_error(true);
            }
            Ok(InputRequiredOrCallToolResult::from(answer))
        }
    });
    let (ours, (incoming, outgoing)) = transport::duplex();
    tokio::spawn(serve((LocalInfo::new("server", "1").capability("tools", json!({})), router), ours));
    Client::builder("client", "1").connect(incoming, outgoing).await.expect("connected")
}

fn search() -> SearchArguments {
    SearchArguments::new(search_arguments::SearchArgumentsQuery::try_from("mcp".to_owned()).expect("not empty"))
}

#[tokio::test]
async fn returns_structured_results() -> Result<(), TypedCallError> {
    let client = client(json!({ "structured": { "hits": [{ "title": "a" }] } })).await;
    let result = shapes::search(&client, &search()).await?;
    assert_eq!(result.structured.hits[0].title, "a");
    assert_eq!(mcpgen_types::to_value(&result.result.content).expect("JSON")[0]["text"], r#"{"query":"mcp"}"#);
    let result = shapes::dynamic(&client, &JsonObject::new()).await?;
    assert_eq!(result.structured, json!({ "hits": [{ "title": "a" }] }), "a schema that mcpgen cannot read is JSON");
    Ok(())
}

#[tokio::test]
async fn errors_tell_what_failed() {
    type Expected = fn(&TypedCallError) -> bool;
    let cases: [(Value, Expected, &str); 4] = [
        (json!("unknown tool"), |it| matches!(it, TypedCallError::Call(CallError::ErrorResponse(_))), "unknown tool"),
        (
            json!({ "failed": true }),
            |it| matches!(it, TypedCallError::Tool { tool, .. } if tool == "search"),
            r#"the tool `search` failed: {"query":"mcp"}"#,
        ),
        (
            json!({}),
            |it| matches!(it, TypedCallError::NoStructuredContent { .. }),
            "the result of the tool `search` has no structured content; read its content instead",
        ),
        (
            json!({ "structured": { "hits": [{}] } }),
            |it| matches!(it, TypedCallError::StructuredContent { .. }),
            "the structured content of the tool `search` is invalid: SearchResult: hits",
        ),
    ];
    for (result, is_expected, message) in cases {
        let error = shapes::search(&client(result.clone()).await, &search()).await.expect_err("an error");
        assert!(is_expected(&error), "{result}: {error:?}");
        assert!(error.to_string().contains(message), "{result}: {error}");
    }
}
