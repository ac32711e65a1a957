//! Tools whose calls run as tasks.

use std::time::Duration;

use mcpgen_sdk::ServerBuilder;
use mcpgen_sdk::server::{Args, RequestContext, ToolError, ToolInfo};
use mcpgen_sdk::tasks::{ServeTasks, TaskContextExt, TaskLimits, TaskStore, TaskSupport, TaskToolExt, Tasks};
use mcpgen_types::v2026_07_28::BooleanSchema;
use mcpgen_types::{ErrorCode, ErrorObject};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::content::tool_info;
use crate::forms::{confirmation, describe, field, form, name, required};

/// Greets a person.
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// The name of the person.
    name: String,
}

/// Computes for a while.
#[derive(Deserialize, JsonSchema)]
struct SlowCompute {
    /// The duration in seconds.
    seconds: f64,
    /// A text that the result repeats.
    label: String,
}

/// Deletes a file after the user has confirmed it.
#[derive(Deserialize, JsonSchema)]
struct ConfirmDelete {
    /// The name of the file. Without it, there is nothing to delete.
    filename: Option<String>,
}

/// Returns the limits of tasks. The poll interval is short, because replicas notice each other's changes only after it.
fn limits() -> TaskLimits {
    TaskLimits::default().with_poll_interval(Duration::from_millis(100))
}

pub(crate) fn tools(server: ServerBuilder, store: impl TaskStore) -> ServerBuilder {
    let task = |name: &str, description: &str| tool_info(name, description).task(TaskSupport::Optional);
    server
        .tasks(Tasks::new(store, limits()))
        .tool("greet", |Args(Greet { name })| async move { format!("Hello, {name}!") })
        .tool(ToolInfo::new("slow_compute").task(TaskSupport::Optional), compute)
        .tool(tool_info("failing_job", "Always fails.").task(TaskSupport::Required), || async {
            Err::<(), _>(ToolError::failed("The job failed."))
        })
        .tool(task("protocol_error_job", "Responds with a JSON-RPC error."), || async {
            let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, "The job failed with a protocol error.");
            Err::<(), ToolError>(error.into())
        })
        .tool(ToolInfo::new("confirm_delete").task(TaskSupport::Optional), confirm_delete)
        .tool(
            tool_info("test_tool_with_task", "Elicits the user's name, and then runs as a task.")
                .deferred_task(TaskSupport::Required),
            greet_in_task,
        )
        .tool(task("multi_input", "Requests two inputs at once."), multi_input)
}

async fn compute(Args(SlowCompute { seconds, label }): Args<SlowCompute>) -> Result<String, ToolError> {
    let duration = Duration::try_from_secs_f64(seconds)?;
    tokio::time::sleep(duration).await;
    Ok(format!("{label}: computed for {seconds} s"))
}

async fn confirm_delete(context: RequestContext, Args(arguments): Args<ConfirmDelete>) -> Result<String, ToolError> {
    let Some(filename) = arguments.filename else { return Ok("There is nothing to delete.".to_owned()) };
    let confirm = required("confirm", BooleanSchema::new());
    let answer = context.elicit("confirm", form(format!("Delete {filename}?"), [confirm])).await?;
    Ok(format!("{filename}: {}", describe(&answer)))
}

async fn greet_in_task(context: RequestContext) -> Result<String, ToolError> {
    let user = context.elicit("user_name", name("What is your name?")).await?;
    context.start_task()?;
    Ok(format!("Hello, {}!", field(&user, "name")))
}

async fn multi_input(context: RequestContext) -> Result<String, ToolError> {
    let user = context.elicit("user_name", name("What is your name?"));
    let confirmed = context.elicit("confirm", confirmation());
    let (user, confirmed) = tokio::join!(user, confirmed);
    Ok(format!("{}; {}", describe(&user?), describe(&confirmed?)))
}
