//! Calls bindings on a server in memory that returns valid and invalid results.

use mcpgen_bindings_test::shapes::{self, SearchArguments, search_arguments};
use mcpgen_sdk::client::ToolFailed;
use mcpgen_sdk::{CallError, Client, LocalInfo, Router, serve, transport};
use mcpgen_types::v2026_07_28::{CallToolRequest, CallToolResult, InputRequiredOrCallToolResult, TextContent};
use mcpgen_types::{ErrorObject, JsonObject, Value};
use serde_json::json;

/// Connects to a server whose tools answer as `result` says, with their arguments as text.
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

const ARGUMENTS: &str = r#"{"query":"mcp"}"#;

fn search() -> SearchArguments {
    SearchArguments::new(search_arguments::SearchArgumentsQuery::try_from("mcp".to_owned()).expect("not empty"))
}

#[tokio::test]
async fn returns_structured_results() -> Result<(), CallError> {
    let client = client(json!({ "structured": { "hits": [{ "title": "a" }] } })).await;
    let result = shapes::search(&client, &search()).await?;
    assert_eq!(result.hits[0].title, "a");
    let result = shapes::dynamic(&client, &JsonObject::new()).await?;
    assert_eq!(result, json!({ "hits": [{ "title": "a" }] }), "a schema that mcpgen cannot read is JSON");
    Ok(())
}

#[tokio::test]
async fn errors_tell_what_failed() {
    type Expected = fn(&CallError) -> bool;
    let cases: [(Value, Expected, &str); 4] = [
        (json!("unknown tool"), |it| matches!(it, CallError::ErrorResponse(_)), "unknown tool"),
        (
            json!({ "failed": true }),
            |it| it.downcast_ref::<ToolFailed>().is_some_and(|it| (&*it.name, &*it.message) == ("search", ARGUMENTS)),
            "search",
        ),
        (json!({}), |it| matches!(it, CallError::Invalid(_)), "search: structured content: SearchResult"),
        (
            json!({ "structured": { "hits": [{}] } }),
            |it| matches!(it, CallError::Invalid(_)),
            "search: structured content: SearchResult: hits",
        ),
    ];
    for (result, is_expected, message) in cases {
        let error = shapes::search(&client(result.clone()).await, &search()).await.expect_err("an error");
        assert!(is_expected(&error), "{result}: {error:?}");
        assert!(error.to_string().contains(message), "{result}: {error}");
    }
}
