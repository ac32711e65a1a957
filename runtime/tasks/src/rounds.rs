//! Runs a request as a task of the extension.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::router::ResponseFuture;
use mcpgen_types::v2026_07_28::InputRequiredResult;
use mcpgen_types::{ErrorObject, Json, Map};
use tokio_util::sync::CancellationToken;

use super::input::TaskInput;
use super::runner::Ending;
use super::state::Tasks;
use super::store::TaskOutcome;
use mcpgen_mcp::protocol::context::in_task;

/// A task that runs in this process, as defined by the tasks extension.
///
/// A handler can wait for input with [`TaskInput`]. If its result asks for input instead, as in an ordinary request,
/// the handler runs again with the responses.
pub(super) struct TaskRounds {
    pub(super) tasks: Tasks,
    pub(super) id: String,
    pub(super) input: TaskInput,
}

impl TaskRounds {
    pub(super) async fn run(
        self,
        context: Context,
        run: impl Fn(Context, TaskInput) -> ResponseFuture,
        stop: CancellationToken,
        ttl: Duration,
    ) {
        let ran = async {
            tokio::select! {
                biased;
                () = stop.cancelled() => Ending::Cancelled,
                () = tokio::time::sleep(ttl) => Ending::Gone,
                () = self.tasks.ended_elsewhere(&self.id) => Ending::Gone,
                outcome = self.rounds(&context, run) => Ending::Outcome(outcome),
            }
        };
        let ending = AssertUnwindSafe(ran).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("a handler panicked");
            match stop.is_cancelled() {
                true => Ending::Cancelled,
                false => Ending::Outcome(Err(errors::internal())),
            }
        });
        self.end(ending, ttl).await;
    }

    pub(super) async fn end(&self, ending: Ending, ttl: Duration) {
        if let Some((status, message, outcome)) = ending.into_change(&self.tasks.0.limits) {
            self.tasks.store_end(&self.id, status, message, outcome, ttl).await;
        }
    }

    /// Runs the request, and runs it again after each input from the client, until there is a result.
    async fn rounds(&self, context: &Context, run: impl Fn(Context, TaskInput) -> ResponseFuture) -> TaskOutcome {
        let (mut responses, mut state) = (Map::new(), None::<String>);
        loop {
            let round = CancelOnDrop(in_task(context, responses.clone(), state.take()));
            let result = run(round.0.clone(), self.input.clone()).await?;
            drop(round);
            let Some(required) = input_required(&result)? else { return Ok(result) };
            match required.input_requests.filter(|requests| !requests.is_empty()) {
                Some(requests) => responses.extend(self.input.request_anew(&requests).await?),
                // The handler wants to be called again later.
                None => tokio::time::sleep(self.tasks.poll_interval()).await,
            }
            state = required.request_state;
        }
    }
}

/// Cancels a round's context when dropped, so that futures spawned by its handler learn that the round is over.
struct CancelOnDrop(Context);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// `None` for results that do not ask for input.
fn input_required(result: &Json) -> Result<Option<InputRequiredResult>, ErrorObject> {
    let is_required = result.read(|result| {
        let [kind] = Picked::values(result, &["resultType"]);
        kind.is_some_and(|kind| kind.text() == "\"input_required\"")
    });
    if !is_required.unwrap_or(false) {
        return Ok(None);
    }
    result.decode().map(Some).map_err(|error| {
        tracing::error!(%error, "a handler returned an invalid input request");
        errors::internal()
    })
}
