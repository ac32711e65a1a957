//! Runs a request as a task of the extension: in rounds, each of which can request input from the client.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use mcpgen_types::v2025_11_25::{Task, TaskStatus};
use mcpgen_types::v2026_07_28::InputRequiredResult;
use mcpgen_types::{ErrorObject, JsonObject, RawJson};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::extension::TasksExtension;
use super::runner::{CANCELLED, Ending, MIN_POLL_INTERVAL, cancelled, with_status};
use super::store::TaskOutcome;
use crate::jsonrpc::errors;
use crate::jsonrpc::json::Picked;
use crate::protocol::modern::missing_input_capabilities;
use crate::service::context::Context;
use crate::service::router::ResponseFuture;
use crate::util::lock::Mutex;

/// The open input requests of the tasks that run in this process, by the ID of the task.
#[derive(Debug, Default)]
pub(super) struct OpenInputs(Mutex<HashMap<String, OpenInput>>);

#[derive(Debug)]
struct OpenInput {
    /// The requests without a response.
    requests: JsonObject,
    responses: JsonObject,
    /// Notified when the last response arrives.
    complete: Arc<Notify>,
}

impl OpenInputs {
    /// Returns the input requests of a task that have no response yet, or `None` if there are none.
    pub(super) fn open(&self, id: &str) -> Option<JsonObject> {
        let open = self.0.lock().get(id).map(|input| input.requests.clone());
        open.filter(|requests| !requests.is_empty())
    }

    /// Records the responses to open requests, and ignores others.
    pub(super) fn respond(&self, id: &str, responses: JsonObject) {
        let mut inputs = self.0.lock();
        let Some(input) = inputs.get_mut(id) else { return };
        for (key, response) in responses {
            if input.requests.remove(&key).is_some() {
                input.responses.insert(key, response);
            }
        }
        if input.requests.is_empty() {
            input.complete.notify_one();
        }
    }

    fn begin(&self, id: &str, requests: JsonObject) -> Arc<Notify> {
        let complete = Arc::new(Notify::new());
        let input = OpenInput { requests, responses: JsonObject::new(), complete: Arc::clone(&complete) };
        self.0.lock().insert(id.to_owned(), input);
        complete
    }

    fn end(&self, id: &str) -> JsonObject {
        self.0.lock().remove(id).map(|input| input.responses).unwrap_or_default()
    }
}

/// A task of the extension that runs in this process.
pub(super) struct Rounds {
    extension: TasksExtension,
    /// The task as stored.
    task: Task,
}

impl Rounds {
    pub(super) fn new(extension: TasksExtension, task: Task) -> Self {
        Self { extension, task }
    }

    /// Runs all rounds, and stores the outcome.
    pub(super) async fn run(
        mut self,
        context: Context,
        run: impl Fn(Context) -> ResponseFuture,
        stop: CancellationToken,
        ttl: Duration,
        is_known: bool,
    ) {
        let ending = match is_known {
            true => {
                let ran = async {
                    tokio::select! {
                        biased;
                        () = stop.cancelled() => Ending::Cancelled,
                        () = tokio::time::sleep(ttl) => Ending::Expired,
                        outcome = self.rounds(&context, run) => Ending::Outcome(outcome),
                    }
                };
                AssertUnwindSafe(ran).catch_unwind().await.unwrap_or_else(|_| {
                    tracing::error!("a handler panicked");
                    Ending::Outcome(Err(errors::internal()))
                })
            }
            false => Ending::Unknown,
        };
        self.extension.inputs.end(&self.task.task_id);
        let (status, message, outcome) = match ending {
            Ending::Expired => return,
            Ending::Cancelled | Ending::Unknown => {
                (TaskStatus::Cancelled, Some(CANCELLED.to_owned()), Err(cancelled()))
            }
            Ending::Outcome(Ok(result)) if result.text().len() > self.extension.tasks.0.limits.result_bytes => {
                tracing::error!(bytes = result.text().len(), "a task's result exceeds `TaskLimits::result_bytes`");
                (TaskStatus::Failed, Some("the result is too large".to_owned()), Err(errors::internal()))
            }
            Ending::Outcome(Ok(result)) => (TaskStatus::Completed, None, Ok(result)),
            Ending::Outcome(Err(error)) => (TaskStatus::Failed, Some(error.message.clone()), Err(error)),
        };
        let ended = with_status(self.task, status, message);
        self.extension.tasks.store_end(&ended, &outcome, ttl).await;
    }

    /// Runs the request again after each input of the client, until it has a result.
    async fn rounds(&mut self, context: &Context, run: impl Fn(Context) -> ResponseFuture) -> TaskOutcome {
        let (mut responses, mut state) = (JsonObject::new(), None::<String>);
        loop {
            let result = run(context.in_task(responses.clone(), state.take())).await?;
            let Some(required) = input_required(&result)? else { return Ok(result) };
            state.clone_from(&required.request_state);
            responses.extend(self.input(context, &required).await?);
        }
    }

    /// Requests input from the client, and waits for all responses.
    async fn input(&mut self, context: &Context, required: &InputRequiredResult) -> Result<JsonObject, ErrorObject> {
        let declared = context.peer_info().map(|peer_info| peer_info.capabilities.clone()).unwrap_or_default();
        let missing = missing_input_capabilities(required, &declared);
        if !missing.is_empty() {
            return Err(errors::missing_capabilities(&missing));
        }
        let requests = required.input_requests.as_ref().map(mcpgen_types::to_value).transpose();
        let requests = requests.map_err(|_| errors::internal())?.unwrap_or_default();
        let requests = requests.as_object().cloned().unwrap_or_default();
        if requests.is_empty() {
            // The handler asks to be called again later.
            tokio::time::sleep(self.extension.tasks.0.limits.poll_interval.max(MIN_POLL_INTERVAL)).await;
            return Ok(JsonObject::new());
        }
        let complete = self.extension.inputs.begin(&self.task.task_id, requests);
        self.advance(TaskStatus::InputRequired).await?;
        complete.notified().await;
        self.advance(TaskStatus::Working).await?;
        Ok(self.extension.inputs.end(&self.task.task_id))
    }

    async fn advance(&mut self, status: TaskStatus) -> Result<(), ErrorObject> {
        let next = with_status(self.task.clone(), status, None);
        if self.extension.tasks.0.store.advance(next.clone(), None).await? {
            self.task = next;
        }
        Ok(())
    }
}

/// Decodes a result that requests input. Returns `None` for other results.
fn input_required(result: &RawJson) -> Result<Option<InputRequiredResult>, ErrorObject> {
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
