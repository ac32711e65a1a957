//! The scenarios, without the suite: with a server that has what they ask for.

use mcpgen_runtime::server::{RequestContext, ToolError};
use mcpgen_runtime::{Server, serve, transport};
use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::{ElicitRequestParams, Prompt, Resource, Tool, ToolInputSchema};
use serde_json::json;

use super::*;

/// Tools that give back their arguments, and one that asks.
fn server() -> Server {
    let tools = [
        "add_numbers",
        "test_reconnection",
        "test_mrtr_echo_state",
        "test_mrtr_no_state",
        "test_mrtr_unrelated",
        "test_mrtr_no_result_type",
        "json_schema_2020_12_tool",
        "json_schema_echo",
    ];
    let tool = |name| Tool::new(ToolInputSchema::new(), name);
    let server = Server::builder("server", "1")
        .tool_with_schema(tool("test_client_elicitation_defaults"), |context, _| asking(context))
        .resource(Resource::new("a", "file:///a"), |_| async { "a" })
        .prompt(Prompt::new("greet"), |_, _| async { "hello" });
    let server = tools.into_iter().fold(server, |server, name| {
        server.tool_with_schema(tool(name), |_, arguments| async move { mcpgen_types::to_string(&arguments) })
    });
    server.build()
}

async fn asking(context: RequestContext) -> Result<String, ToolError> {
    let answer = context.elicit("form", form()).await?;
    match mcpgen_types::to_value(&answer)? == filled_in() {
        true => Ok("as expected".to_owned()),
        false => Err(ToolError::failed(mcpgen_types::to_string(&answer))),
    }
}

fn form() -> ElicitRequestParams {
    let fields = json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": { "type": "string", "enum": ["active", "inactive"], "default": "active" },
        "colors": { "type": "array", "items": { "type": "string", "enum": ["red", "blue"] }, "default": ["blue"] },
        "verified": { "type": "boolean", "default": true },
        "comment": { "type": "string" },
    });
    let schema = json!({ "type": "object", "properties": fields });
    mcpgen_types::from_value(json!({ "message": "?", "requestedSchema": schema })).expect("params")
}

fn filled_in() -> serde_json::Value {
    let content = json!({
        "name": "John Doe",
        "age": 30,
        "score": 95.5,
        "status": "active",
        "colors": ["blue"],
        "verified": true,
    });
    json!({ "action": "accept", "content": content })
}

async fn visiting(server: Server, given: &str, revision: Revision) -> Visit {
    let (here, there) = transport::duplex();
    tokio::spawn(async move { serve(server, there).await });
    let client = visitor(Some(revision)).connect(here.0, here.1).await.expect("a connection");
    assert_eq!(client.revision(), revision);
    Visit { client, given: Given::from_json(given).expect("JSON") }
}

const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

#[tokio::test]
async fn every_scenario_is_played_in_both_eras() {
    let given = r#"{ "name": "any", "toolCalls": [{ "name": "add_numbers", "arguments": {} }] }"#;
    for revision in ERAS {
        for (name, play) in scenarios::SCENARIOS {
            let visit = visiting(server(), given, revision).await;
            play(&visit).await.unwrap_or_else(|error| panic!("{revision} {name}: {error:#}"));
        }
    }
}

#[tokio::test]
async fn a_tool_that_fails_is_told_of() {
    let fails = Tool::new(ToolInputSchema::new(), "add_numbers");
    let server = Server::builder("server", "1")
        .tool_with_schema(fails, |_, _: JsonObject| async { Err::<(), _>(ToolError::failed("it is not to be had")) })
        .build();
    for revision in ERAS {
        let visit = visiting(server.clone(), "{}", revision).await;
        let error = scenarios::find("tools_call").expect("it is there")(&visit).await.expect_err("no success");
        assert!(error.to_string().contains("not to be had"), "{error:#}");
    }
}

#[test]
fn others_are_refused() {
    for name in ["auth/metadata-default", "", "tools-call"] {
        let error = scenarios::find(name).expect_err("none");
        assert!(error.to_string().contains(name), "{error:#}");
    }
}

#[test]
fn links_are_declined() {
    let asked = json!({ "mode": "url", "message": "?", "url": "https://example.com", "elicitationId": "1" });
    let answer = answers::filled_in(&mcpgen_types::from_value(asked).expect("params"));
    assert_eq!(mcpgen_types::to_value(&answer).expect("JSON"), json!({ "action": "decline" }));
}
