//! The scenarios.

use std::future::Future;
use std::pin::Pin;

use anyhow::{Context, ensure};
use mcpgen_sdk::Client;
use mcpgen_sdk::skills::{SkillError, SkillsClient};
use mcpgen_types::JsonObject;
use mcpgen_types::ext::skills::SkillResources;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::auth::AuthContext;

pub(crate) struct Run {
    pub(crate) client: Client,
    pub(crate) context: ScenarioContext,
}

/// The data that the suite passes to some scenarios.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ScenarioContext {
    tool_calls: Vec<ToolCall>,
    #[serde(flatten)]
    pub(crate) auth: AuthContext,
}

#[derive(Clone, Debug, Deserialize)]
struct ToolCall {
    name: String,
    arguments: JsonObject,
}

impl ScenarioContext {
    pub(crate) fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

pub(crate) type Scenario = fn(&Run) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + '_>>;

/// All supported scenarios by their names in the suite.
pub(crate) const SCENARIOS: &[(&str, Scenario)] = &[
    ("initialize", |run| Box::pin(ping(run))),
    ("tools_call", |run| Box::pin(add_numbers(run))),
    ("elicitation-sep1034-client-defaults", |run| Box::pin(accept_form_defaults(run))),
    ("sse-retry", |run| Box::pin(reconnect(run))),
    ("request-metadata", |run| Box::pin(list_tools(run))),
    ("sep-2322-client-request-state", |run| Box::pin(make_multi_round_requests(run))),
    ("http-standard-headers", |run| Box::pin(use_everything(run))),
    ("http-custom-headers", |run| Box::pin(make_calls_of_context(run))),
    ("http-invalid-tool-headers", |run| Box::pin(call_all_tools(run))),
    ("json-schema-ref-no-deref", |run| Box::pin(list_tools(run))),
    ("json-schema-2020-12-preservation", |run| Box::pin(echo_schema(run))),
    ("sep-2640-client-no-prefetch", |run| Box::pin(list_skills(run))),
    ("sep-2640-client-verify-digest", |run| Box::pin(load_skills(run))),
    ("sep-2640-client-verify-size", |run| Box::pin(load_skills(run))),
    ("sep-2640-client-verify-frontmatter", |run| Box::pin(load_skills(run))),
];

/// Returns the scenario with this name. All scenarios about authorization make the same calls.
pub(crate) fn find(name: &str) -> anyhow::Result<Scenario> {
    if name.starts_with("auth/") {
        return Ok(|run| Box::pin(call_protected_tool(run)));
    }
    let entry = SCENARIOS.iter().find(|(known, _)| *known == name);
    entry.map(|(_, scenario)| *scenario).with_context(|| format!("unknown scenario {name:?}"))
}

/// Pings the server. The suite checks the handshake before it.
async fn ping(Run { client, .. }: &Run) -> anyhow::Result<()> {
    Ok(client.ping().await?)
}

async fn list_tools(Run { client, .. }: &Run) -> anyhow::Result<()> {
    client.tools().await?;
    Ok(())
}

async fn add_numbers(Run { client, .. }: &Run) -> anyhow::Result<()> {
    client.tools().await?;
    call(client, "add_numbers", json!({ "a": 5, "b": 3 })).await
}

async fn accept_form_defaults(Run { client, .. }: &Run) -> anyhow::Result<()> {
    client.tools().await?;
    call(client, "test_client_elicitation_defaults", json!({})).await
}

/// Calls a tool whose event stream the server closes. The result arrives after the client reconnects.
async fn reconnect(Run { client, .. }: &Run) -> anyhow::Result<()> {
    client.tools().await?;
    call(client, "test_reconnection", json!({})).await
}

/// Calls tools concurrently. Some of them request input, which the calls of the other tools must not carry.
async fn make_multi_round_requests(Run { client, .. }: &Run) -> anyhow::Result<()> {
    client.tools().await?;
    let no_arguments = || json!({});
    tokio::try_join!(
        call(client, "test_mrtr_echo_state", no_arguments()),
        call(client, "test_mrtr_no_state", no_arguments()),
        call(client, "test_mrtr_unrelated", no_arguments()),
        call(client, "test_mrtr_no_result_type", no_arguments()),
    )?;
    Ok(())
}

async fn use_everything(Run { client, .. }: &Run) -> anyhow::Result<()> {
    for tool in client.tools().await?.iter() {
        call(client, &tool.name, json!({})).await?;
    }
    for resource in client.resources().await? {
        client.read_resource(&resource.uri).await?;
    }
    for prompt in client.prompts().await? {
        client.prompt(&prompt.name, [].into()).await?;
    }
    Ok(())
}

/// Calls all tools that the client lists. It must not list tools with invalid header annotations.
async fn call_all_tools(Run { client, .. }: &Run) -> anyhow::Result<()> {
    for tool in client.tools().await?.iter() {
        call(client, &tool.name, json!({ "region": "us-west1" })).await?;
    }
    Ok(())
}

/// Makes the calls in the context. Lists the tools first, because the list defines which arguments become headers.
async fn make_calls_of_context(Run { client, context }: &Run) -> anyhow::Result<()> {
    client.tools().await?;
    for ToolCall { name, arguments } in &context.tool_calls {
        call(client, name, arguments.to_value()).await?;
    }
    Ok(())
}

/// Lists the tools of a protected server and calls one of them twice.
async fn call_protected_tool(Run { client, .. }: &Run) -> anyhow::Result<()> {
    client.tools().await?;
    for _ in 0..2 {
        call(client, "test-tool", json!({})).await?;
    }
    Ok(())
}

async fn echo_schema(Run { client, .. }: &Run) -> anyhow::Result<()> {
    let tools = client.tools().await?;
    let tool = tools
        .iter()
        .find(|tool| tool.name == "json_schema_2020_12_tool")
        .context("the server has no tool `json_schema_2020_12_tool`")?;
    let schema = mcpgen_types::to_value(&tool.input_schema)?;
    call(client, "json_schema_echo", json!({ "schema": schema })).await
}

async fn list_skills(Run { client, .. }: &Run) -> anyhow::Result<()> {
    let skills = client.skills().await?;
    ensure!(!skills.is_empty(), "the server has no skills");
    Ok(())
}

/// Loads all skills and reads their files. Skips skills that do not match their entries.
async fn load_skills(Run { client, .. }: &Run) -> anyhow::Result<()> {
    for entry in client.skills().await? {
        let skill = match client.load_skill(&entry).await {
            Ok(skill) => skill,
            Err(SkillError::Digest { .. } | SkillError::Size { .. } | SkillError::FrontmatterDiffers { .. }) => {
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let SkillResources::SkillResourceArray(files) = &skill.entry.resources else { continue };
        for file in files.iter().filter(|file| file.uri != entry.uri) {
            client.read_skill_file(&skill, &file.uri).await?;
        }
    }
    Ok(())
}

/// Calls a tool.
///
/// # Errors
///
/// Returns an error if the call fails or its result has `is_error` set.
async fn call(client: &Client, name: &str, arguments: Value) -> anyhow::Result<()> {
    let arguments = JsonObject::try_from(arguments).with_context(|| name.to_owned())?;
    let result = client.call_tool(name, arguments).await.with_context(|| name.to_owned())?;
    ensure!(result.is_error != Some(true), "{name}: {}", mcpgen_types::to_string(&result.content));
    Ok(())
}
