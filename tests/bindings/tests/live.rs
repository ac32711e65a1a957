//! Calls each tool of the published server-everything through its bindings.

#[path = "../../../runtime/probe/tests/support/servers.rs"]
mod servers;

use std::collections::BTreeSet;

use mcpgen_bindings_test::server_everything::{
    self as tools, EchoArguments, GetAnnotatedMessageArguments, GetEnvArguments, GetResourceLinksArguments,
    GetResourceReferenceArguments, GetStructuredContentArguments, GetSumArguments, GetTinyImageArguments,
    GzipFileAsResourceArguments, SimulateResearchQueryArguments, ToggleSimulatedLoggingArguments,
    ToggleSubscriberUpdatesArguments, TriggerLongRunningOperationArguments, get_annotated_message_arguments,
    get_structured_content_arguments,
};
use mcpgen_sdk::client::ToolFailed;
use mcpgen_sdk::tasks::CallTasks;
use mcpgen_sdk::{CallError, Client};
use mcpgen_types::v2026_07_28::{
    CallToolResult, ContentBlock, ElicitRequestParams, ElicitResult, ElicitResultAction, ElicitResultContentValue,
};
use mcpgen_types::{ErrorCode, ErrorObject};

/// The folder with the lock file of the published servers, relative to this package.
const SERVERS: &str = "../../runtime/probe/tests/servers";

fn text(result: &CallToolResult) -> &str {
    match result.content.first() {
        Some(ContentBlock::TextContent(text)) => &text.text,
        other => panic!("expected text, found {other:?}"),
    }
}

#[tokio::test]
async fn calls_each_tool_of_server_everything() -> Result<(), Box<dyn std::error::Error>> {
    let Some(command) = servers::command("everything", &[]) else { return Ok(()) };
    let mut server = tokio::process::Command::new(&command[0]);
    server.args(&command[1..]);
    let client = Client::builder("bindings", "0").tasks().connect_command(server).await?;
    let mut called = BTreeSet::new();
    let mut call = |name: &'static str| assert!(called.insert(name), "{name} is called twice");

    call("echo");
    assert!(text(&tools::echo(&client, &EchoArguments::new("hello")).await?).contains("hello"));
    call("get-annotated-message");
    let kind = get_annotated_message_arguments::GetAnnotatedMessageArgumentsMessageType::Success;
    let message = GetAnnotatedMessageArguments::new(kind).with_include_image(true);
    assert_eq!(tools::get_annotated_message(&client, &message).await?.content.len(), 2);
    call("get-env");
    assert!(text(&tools::get_env(&client, &GetEnvArguments::new()).await?).contains("PATH"));
    call("get-resource-links");
    let count = get_resource_links(2)?;
    assert_eq!(tools::get_resource_links(&client, &count).await?.content.len(), 3);
    call("get-resource-reference");
    assert!(!tools::get_resource_reference(&client, &GetResourceReferenceArguments::new()).await?.content.is_empty());
    call("get-structured-content");
    let location = get_structured_content_arguments::GetStructuredContentArgumentsLocation::NewYork;
    let weather = tools::get_structured_content(&client, &GetStructuredContentArguments::new(location)).await?;
    assert!(!weather.conditions.is_empty());
    call("get-sum");
    assert!(text(&tools::get_sum(&client, &GetSumArguments::new(1).b(2)).await?).contains('3'));
    call("get-tiny-image");
    let image = tools::get_tiny_image(&client, &GetTinyImageArguments::new()).await?;
    assert!(image.content.iter().any(|block| matches!(block, ContentBlock::ImageContent(_))));
    call("gzip-file-as-resource");
    let file = GzipFileAsResourceArguments::new().with_data("data:text/plain,hello").with_name("hello.gz");
    assert!(!tools::gzip_file_as_resource(&client, &file).await?.content.is_empty());
    call("toggle-simulated-logging");
    tools::toggle_simulated_logging(&client, &ToggleSimulatedLoggingArguments::new()).await?;
    call("toggle-subscriber-updates");
    tools::toggle_subscriber_updates(&client, &ToggleSubscriberUpdatesArguments::new()).await?;
    call("trigger-long-running-operation");
    let operation = TriggerLongRunningOperationArguments::new().with_duration(1).with_steps(1);
    tools::trigger_long_running_operation(&client, &operation).await?;
    call("simulate-research-query");
    // The tool requires a task.
    let query = tools::simulate_research_query(&client, &SimulateResearchQueryArguments::new("MCP")).await?;
    assert!(text(&query).starts_with("# Research Report: MCP"), "{query:?}");

    // The test has called every tool in the list.
    let listed = client.tools().await?;
    assert_eq!(listed.iter().map(|tool| tool.name.as_str()).collect::<BTreeSet<_>>(), called);

    // The server rejects a value that the types accept.
    let failed = tools::gzip_file_as_resource(&client, &file.with_data("ftp://example.com/x")).await;
    let failed = failed.expect_err("the server rejects it");
    let is_rejected = failed.downcast_ref::<ToolFailed>().is_some() || matches!(failed, CallError::ErrorResponse(_));
    assert!(is_rejected, "{failed:?}");
    client.close().await?;
    Ok(())
}

/// The task asks the user a question, which the server sends together with the request for the result.
#[tokio::test]
async fn answers_the_question_of_a_task() -> Result<(), Box<dyn std::error::Error>> {
    let Some(command) = servers::command("everything", &[]) else { return Ok(()) };
    let mut server = tokio::process::Command::new(&command[0]);
    server.args(&command[1..]);
    let client = Client::builder("bindings", "0").tasks().on_elicitation(|_, question| async move {
        let ElicitRequestParams::ElicitRequestFormParams(form) = question else {
            return Err(ErrorObject::new(ErrorCode::INVALID_PARAMS, "not a form"));
        };
        assert!(form.message.contains("python"), "{}", form.message);
        let answer = [("interpretation".to_owned(), ElicitResultContentValue::from("snakes"))];
        Ok(ElicitResult::new(ElicitResultAction::Accept).with_content(answer))
    });
    let client = client.connect_command(server).await?;
    let query = SimulateResearchQueryArguments::new("python").with_ambiguous(true);
    let result = tools::simulate_research_query(&client, &query).await?;
    assert!(text(&result).contains("snakes"), "{result:?}");
    client.close().await?;
    Ok(())
}

/// Decodes the arguments, because the schema limits the count.
fn get_resource_links(count: i64) -> Result<GetResourceLinksArguments, mcpgen_types::Error> {
    mcpgen_types::from_value(serde_json::json!({ "count": count }))
}
