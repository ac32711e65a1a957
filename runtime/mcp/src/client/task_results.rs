//! The trait for awaiting tool calls that run as tasks.

use std::fmt;

use futures_util::future::BoxFuture;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::router::RequestService;
use mcpgen_types::v2026_07_28::InputRequest;
use mcpgen_types::{Json, Revision};

use super::input::{AnswerInput, answer_with};
use super::limits::RoundLimits;

/// Awaits tool calls that a server runs as tasks. Implemented by `mcpgen-tasks`.
pub trait TaskResults: fmt::Debug + Send + Sync + 'static {
    /// Waits until the task has ended, and returns the call's result in the connection's revision.
    fn result(&self, task: CreatedTask) -> BoxFuture<'static, Result<Json, CallError>>;
}

/// A task that the server created for a tool call.
pub struct CreatedTask {
    /// The server.
    pub peer: Peer,
    /// The revision of the connection.
    pub revision: Revision,
    /// The response to the call, which contains the task.
    pub created: Json,
    /// The limits of the call.
    pub limits: RoundLimits,
    pub(super) answer: AnswerInput,
}

impl CreatedTask {
    /// Wraps the response to a call, for programs that send calls themselves. `requests` handles the task's requests
    /// for input.
    #[must_use]
    pub fn new(
        peer: Peer,
        revision: Revision,
        created: Json,
        limits: RoundLimits,
        requests: impl RequestService,
    ) -> Self {
        let answer = answer_with(peer.clone(), requests);
        Self { peer, revision, created, limits, answer }
    }

    /// Handles an input request of the task, and returns the result for the server.
    ///
    /// # Errors
    ///
    /// Fails if the client has not declared this kind of input, or if its handler fails.
    pub fn answer(&self, request: InputRequest) -> BoxFuture<'static, Result<Json, CallError>> {
        (self.answer)(request)
    }
}

impl fmt::Debug for CreatedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreatedTask").field("created", &self.created).finish_non_exhaustive()
    }
}
