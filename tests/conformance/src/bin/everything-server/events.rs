//! Tools that send notifications before their results.

use std::time::Duration;

use mcpgen_sdk::protocol::{ContextExt, Level};
use mcpgen_sdk::server::{DefinitionError, RequestContext};
use mcpgen_sdk::{Server, ServerBuilder};
use mcpgen_types::v2026_07_28::Prompt;
use tokio::time::sleep;

use crate::content::tool_info;

const PAUSE: Duration = Duration::from_millis(50);

pub(crate) fn tools(server: ServerBuilder) -> ServerBuilder {
    server
        .logging()
        .tool(tool_info("test_tool_with_logging", "Logs three events."), logging)
        .tool(tool_info("test_logging_tool", "Logs three events, if the request enables logging."), logging)
        .tool(tool_info("test_tool_with_progress", "Reports its progress three times."), |context: RequestContext| {
            progress(context)
        })
        .tool(
            tool_info(
                "test_reconnection",
                "Closes the event stream, and returns a result after the client reconnects.",
            ),
            reconnection,
        )
}

/// Adds the tools whose handlers change the server.
pub(crate) fn add_changing_tools(server: &Server) -> Result<(), DefinitionError> {
    let (tools, prompts) = (server.clone(), server.clone());
    server.add_tool(tool_info("test_trigger_tool_change", "Adds a tool, or removes it."), move || {
        let changed = change_tools(&tools);
        async move { changed.map(|()| "The list of tools has changed.") }
    })?;
    server.add_tool(tool_info("test_trigger_prompt_change", "Adds a prompt, or removes it."), move || {
        let changed = change_prompts(&prompts);
        async move { changed.map(|()| "The list of prompts has changed.") }
    })
}

async fn logging(context: RequestContext) -> &'static str {
    context.log(Level::Info, None, "Tool execution started").await;
    sleep(PAUSE).await;
    context.log(Level::Info, None, "Tool processing data").await;
    sleep(PAUSE).await;
    context.log(Level::Info, None, "Tool execution completed").await;
    "Three events were logged."
}

async fn progress(context: RequestContext) -> &'static str {
    context.progress(0.0, Some(100.0), None).await;
    sleep(PAUSE).await;
    context.progress(50.0, Some(100.0), None).await;
    sleep(PAUSE).await;
    context.progress(100.0, Some(100.0), None).await;
    "The work is done."
}

async fn reconnection(context: RequestContext) -> &'static str {
    context.close_sse_stream(10 * PAUSE);
    sleep(2 * PAUSE).await;
    "The client has reconnected."
}

fn change_tools(server: &Server) -> Result<(), DefinitionError> {
    const NAME: &str = "test_dynamic";
    match server.remove_tool(NAME) {
        true => Ok(()),
        false => {
            server.add_tool(tool_info(NAME, "A tool that is added at run time."), || async { "The dynamic tool." })
        }
    }
}

fn change_prompts(server: &Server) -> Result<(), DefinitionError> {
    const NAME: &str = "test_dynamic";
    match server.remove_prompt(NAME) {
        true => Ok(()),
        false => server
            .add_prompt(Prompt::new(NAME).with_description("A prompt that is added at run time."), || async {
                "Say hello."
            }),
    }
}
