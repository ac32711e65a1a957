//! Tools that tell of something besides their results.

use std::time::Duration;

use mcpgen_runtime::protocol::Level;
use mcpgen_runtime::server::{DefinitionError, RequestContext};
use mcpgen_runtime::{Server, ServerBuilder};
use mcpgen_types::v2026_07_28::Prompt;
use tokio::time::sleep;

use crate::content::tool_info;

/// How long a tool works between two events.
const A_WHILE: Duration = Duration::from_millis(50);

pub(crate) fn tools(server: ServerBuilder) -> ServerBuilder {
    server
        .tool(tool_info("test_tool_with_logging", "Logs three events."), |context, ()| logging(context))
        .tool(
            tool_info("test_logging_tool", "Logs three events, if the request wants to hear of them."),
            |context, ()| logging(context),
        )
        .tool(tool_info("test_tool_with_progress", "Reports its progress three times."), |context, ()| {
            progress(context)
        })
        .tool(tool_info("test_reconnection", "Hangs up, and answers whoever comes back."), |context, ()| {
            reconnection(context)
        })
}

/// Adds tools that change the server which they belong to.
pub(crate) fn add_changing_tools(server: &Server) -> Result<(), DefinitionError> {
    let (tools, prompts) = (server.clone(), server.clone());
    server.add_tool(tool_info("test_trigger_tool_change", "Adds or removes a tool."), move |_, ()| {
        let changed = change_tools(&tools);
        async move { changed.map(|()| "The list of tools has changed.") }
    })?;
    server.add_tool(tool_info("test_trigger_prompt_change", "Adds or removes a prompt."), move |_, ()| {
        let changed = change_prompts(&prompts);
        async move { changed.map(|()| "The list of prompts has changed.") }
    })
}

async fn logging(context: RequestContext) -> &'static str {
    context.log(Level::Info, None, "Tool execution started").await;
    sleep(A_WHILE).await;
    context.log(Level::Info, None, "Tool processing data").await;
    sleep(A_WHILE).await;
    context.log(Level::Info, None, "Tool execution completed").await;
    "Three events were logged."
}

async fn progress(context: RequestContext) -> &'static str {
    context.progress(0.0, Some(100.0), None).await;
    sleep(A_WHILE).await;
    context.progress(50.0, Some(100.0), None).await;
    sleep(A_WHILE).await;
    context.progress(100.0, Some(100.0), None).await;
    "All of it is done."
}

async fn reconnection(context: RequestContext) -> &'static str {
    context.close_sse_stream(10 * A_WHILE);
    sleep(2 * A_WHILE).await;
    "Whoever has lost the connection finds this when they are back."
}

fn change_tools(server: &Server) -> Result<(), DefinitionError> {
    const NAME: &str = "test_comes_and_goes";
    match server.remove_tool(NAME) {
        true => Ok(()),
        false => server.add_tool(tool_info(NAME, "Is here now."), |_, ()| async { "I am here." }),
    }
}

fn change_prompts(server: &Server) -> Result<(), DefinitionError> {
    const NAME: &str = "test_comes_and_goes";
    match server.remove_prompt(NAME) {
        true => Ok(()),
        false => server.add_prompt(Prompt::new(NAME).with_description("Is here now."), |_, _| async { "Say hello." }),
    }
}
