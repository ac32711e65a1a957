//! Runs the scenarios without the suite, with a server that has the tools they call.

use mcpgen_sdk::server::{RequestContext, ToolError};
use mcpgen_sdk::skills::{ServeSkills, Skills};
use mcpgen_sdk::{Server, serve, transport};
use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::{ElicitRequestParams, Prompt, Resource, Tool, ToolInputSchema};
use serde_json::json;

use super::*;

/// Returns a server with one tool that elicits input and others that return their arguments.
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
    let tool = |name| Tool::new(name, ToolInputSchema::new());
    let server = Server::builder("server", "1")
        .tool(tool("test_client_elicitation_defaults"), |context: RequestContext| elicit_defaults(context))
        .resource(Resource::new("file:///a", "a"), || async { "a" })
        .prompt(Prompt::new("greet"), || async { "hello" });
    let server = tools.into_iter().fold(server, |server, name| {
        server.tool(tool(name), |arguments: JsonObject| async move { mcpgen_types::to_string(&arguments) })
    });
    let skill = "---\nname: greet\ndescription: Greets people.\n---\nRead [the phrases](phrases.txt).\n";
    let skills = Skills::from_files([("greet/SKILL.md", skill), ("greet/phrases.txt", "hello")]);
    server.skills(skills.expect("valid skills")).build()
}

async fn elicit_defaults(context: RequestContext) -> Result<String, ToolError> {
    let result = context.elicit("form", form()).await?;
    match mcpgen_types::to_value(&result)? == accepted_defaults() {
        true => Ok("as expected".to_owned()),
        false => Err(ToolError::failed(mcpgen_types::to_string(&result))),
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
    mcpgen_types::from_value(json!({ "message": "?", "requestedSchema": schema })).expect("valid params")
}

fn accepted_defaults() -> serde_json::Value {
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

async fn connect(server: Server, context: &str, revision: Revision) -> Run {
    let (client, peer) = transport::duplex();
    tokio::spawn(async move { serve(server, peer).await });
    let client = builder(Some(revision)).connect(client.0, client.1).await.expect("the client connects");
    assert_eq!(client.revision(), revision);
    Run { client, context: ScenarioContext::from_json(context).expect("the context is valid JSON") }
}

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

#[tokio::test]
async fn runs_every_scenario_in_legacy_and_modern_revisions() {
    let context = r#"{ "name": "any", "toolCalls": [{ "name": "add_numbers", "arguments": {} }] }"#;
    for revision in REVISIONS {
        for (name, scenario) in scenarios::SCENARIOS {
            let run = connect(server(), context, revision).await;
            scenario(&run).await.unwrap_or_else(|error| panic!("{revision} {name}: {error:#}"));
        }
    }
}

#[tokio::test]
async fn reports_failed_tools() {
    let fails = Tool::new("add_numbers", ToolInputSchema::new());
    let server = Server::builder("server", "1")
        .tool(fails, || async { Err::<(), _>(ToolError::failed("the tool is out of order")) })
        .build();
    for revision in REVISIONS {
        let run = connect(server.clone(), "{}", revision).await;
        let scenario = scenarios::find("tools_call").expect("a known scenario");
        let error = scenario(&run).await.expect_err("the tool fails");
        assert!(error.to_string().contains("out of order"), "{error:#}");
    }
}

#[test]
fn rejects_unknown_scenarios() {
    for name in ["unknown", "", "tools-call"] {
        let error = scenarios::find(name).expect_err("an unknown scenario");
        assert!(error.to_string().contains(name), "{error:#}");
    }
}

#[test]
fn declines_url_elicitation() {
    let params = json!({ "mode": "url", "message": "?", "url": "https://example.com", "elicitationId": "1" });
    let result = responses::elicitation(&mcpgen_types::from_value(params).expect("valid params"));
    assert_eq!(mcpgen_types::to_value(&result).expect("valid JSON"), json!({ "action": "decline" }));
}
