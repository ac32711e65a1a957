//! What is done in each scenario.

use std::future::Future;
use std::pin::Pin;

use anyhow::{Context, bail, ensure};
use mcpgen_runtime::Client;
use mcpgen_types::JsonObject;
use serde::Deserialize;
use serde_json::{Value, json};

/// A connection, and what the scenario gives.
pub(crate) struct Visit {
    pub(crate) client: Client,
    pub(crate) given: Given,
}

/// What some scenarios tell a client.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Given {
    /// The calls that are to be made.
    tool_calls: Vec<ToolCall>,
}

#[derive(Clone, Debug, Deserialize)]
struct ToolCall {
    name: String,
    arguments: JsonObject,
}

impl Given {
    pub(crate) fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

/// Plays a scenario.
pub(crate) type Play = fn(&Visit) -> Pin<Box<dyn Future<Output = anyhow::Result<()>> + '_>>;

/// All scenarios that are played here, by the suite's names for them.
pub(crate) const SCENARIOS: &[(&str, Play)] = &[
    ("initialize", |visit| Box::pin(say_hello(visit))),
    ("tools_call", |visit| Box::pin(add_numbers(visit))),
    ("elicitation-sep1034-client-defaults", |visit| Box::pin(be_asked(visit))),
    ("sse-retry", |visit| Box::pin(come_back(visit))),
    ("request-metadata", |visit| Box::pin(look_at_tools(visit))),
    ("sep-2322-client-request-state", |visit| Box::pin(take_several_rounds(visit))),
    ("http-standard-headers", |visit| Box::pin(use_everything(visit))),
    ("http-custom-headers", |visit| Box::pin(make_the_calls(visit))),
    ("http-invalid-tool-headers", |visit| Box::pin(call_all_tools(visit))),
    ("json-schema-ref-no-deref", |visit| Box::pin(look_at_tools(visit))),
    ("json-schema-2020-12-preservation", |visit| Box::pin(echo_a_schema(visit))),
];

/// How a scenario is played.
pub(crate) fn find(name: &str) -> anyhow::Result<Play> {
    let found = SCENARIOS.iter().find(|(known, _)| *known == name);
    found.map(|(_, play)| *play).with_context(|| format!("scenario {name:?} is not played here"))
}

/// Connecting is what it is about.
async fn say_hello(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
    Ok(client.ping().await?)
}

async fn look_at_tools(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
    client.tools().await?;
    Ok(())
}

async fn add_numbers(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
    client.tools().await?;
    call(client, "add_numbers", json!({ "a": 5, "b": 3 })).await
}

/// The tool asks with a form that is filled in already.
async fn be_asked(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
    client.tools().await?;
    call(client, "test_client_elicitation_defaults", json!({})).await
}

/// The server hangs up, and answers whoever comes back when it said.
async fn come_back(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
    client.tools().await?;
    call(client, "test_reconnection", json!({})).await
}

/// Some of these tools ask for something before they answer; the others must not hear of that.
async fn take_several_rounds(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
    client.tools().await?;
    let nothing = || json!({});
    tokio::try_join!(
        call(client, "test_mrtr_echo_state", nothing()),
        call(client, "test_mrtr_no_state", nothing()),
        call(client, "test_mrtr_unrelated", nothing()),
        call(client, "test_mrtr_no_result_type", nothing()),
    )?;
    Ok(())
}

/// Calls, reads and gets whatever there is.
async fn use_everything(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
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

/// Tools that no client may call are not listed by one.
async fn call_all_tools(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
    for tool in client.tools().await?.iter() {
        call(client, &tool.name, json!({ "region": "us-west1" })).await?;
    }
    Ok(())
}

/// Which arguments are sent as headers too is known from the list of tools.
async fn make_the_calls(Visit { client, given }: &Visit) -> anyhow::Result<()> {
    client.tools().await?;
    for ToolCall { name, arguments } in &given.tool_calls {
        call(client, name, Value::Object(arguments.clone())).await?;
    }
    Ok(())
}

/// Gives a schema back as it came.
async fn echo_a_schema(Visit { client, .. }: &Visit) -> anyhow::Result<()> {
    let tools = client.tools().await?;
    let tool = tools.iter().find(|tool| tool.name == "json_schema_2020_12_tool").context("the tool is not there")?;
    let schema = mcpgen_types::to_value(&tool.input_schema)?;
    call(client, "json_schema_echo", json!({ "schema": schema })).await
}

/// Calls a tool, which is expected to succeed.
async fn call(client: &Client, name: &str, arguments: Value) -> anyhow::Result<()> {
    let Value::Object(arguments) = arguments else { bail!("{name}: the arguments are no object") };
    let result = client.call_tool(name, arguments).await.with_context(|| name.to_owned())?;
    ensure!(result.is_error != Some(true), "{name}: {}", mcpgen_types::to_string(&result.content));
    Ok(())
}
