//! The context of tools, prompts and resources, with requests for input from the client.

use std::ops::Deref;
#[cfg(any(feature = "request-state", feature = "tasks"))]
use std::sync::Arc;
#[cfg(feature = "tasks")]
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(feature = "tasks")]
use mcpgen_types::JsonObject;
use mcpgen_types::Request;
#[cfg(feature = "tasks")]
use mcpgen_types::v2026_07_28::InputRequests;
use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, InputRequest, ListRootsRequest, ListRootsResult,
};

#[cfg(feature = "request-state")]
use super::rounds::Rounds;
use super::tool_error::ToolError;
use crate::protocol::TYPES;
use crate::protocol::conversion::Revisions;
use crate::protocol::input_requests::method_and_params;
use crate::service::context::Context;
#[cfg(feature = "tasks")]
use crate::tasks::TaskInput;

/// The context of a call to a tool, prompt or resource. Dereferences to [`Context`], and can request input from the
/// client.
///
/// In legacy revisions and in tasks, the function waits for the response of the client. In other calls of
/// 2026-07-28, the function returns early with the error of [`elicit`](Self::elicit), [`sample`](Self::sample) or
/// [`roots`](Self::roots); use `?`. Once the client has the input, it sends the request again, and the function runs
/// again from the beginning. Input from earlier rounds is then available immediately. So ask for input before you do
/// anything that must happen only once.
#[derive(Clone, Debug)]
pub struct RequestContext {
    context: Context,
    /// `None` in legacy revisions.
    #[cfg(feature = "request-state")]
    rounds: Option<Arc<Rounds>>,
    #[cfg(feature = "tasks")]
    task: TaskState,
}

/// Whether a call runs as a task (2026-07-28).
#[cfg(feature = "tasks")]
#[derive(Clone, Debug)]
enum TaskState {
    /// The call does not become a task, or the task works differently (2025-11-25).
    None,
    /// The call becomes a task when the function sets the flag.
    Deferred(Arc<AtomicBool>),
    /// The call runs as a task. The object has the input from before the task, by key.
    Running(TaskInput, Arc<JsonObject>),
}

impl RequestContext {
    pub(super) fn new(context: Context) -> Self {
        Self {
            context,
            #[cfg(feature = "request-state")]
            rounds: None,
            #[cfg(feature = "tasks")]
            task: TaskState::None,
        }
    }

    /// Creates the context of a call that requests input in its result (2026-07-28).
    #[cfg(feature = "request-state")]
    pub(super) fn in_rounds(context: Context, rounds: Rounds) -> Self {
        Self { rounds: Some(Arc::new(rounds)), ..Self::new(context) }
    }

    /// Creates the context of a call that runs as a task (2026-07-28).
    #[cfg(feature = "tasks")]
    pub(super) fn in_task(context: Context, task_input: TaskInput, earlier: Arc<JsonObject>) -> Self {
        Self { task: TaskState::Running(task_input, earlier), ..Self::new(context) }
    }

    /// Lets the call become a task when its function asks for it.
    #[cfg(feature = "tasks")]
    pub(super) fn with_deferred_task(self) -> Self {
        Self { task: TaskState::Deferred(Arc::default()), ..self }
    }

    /// Returns the input that the client has sent so far, by key, if the function has asked for a task.
    #[cfg(feature = "tasks")]
    pub(super) fn input_before_task(&self) -> Option<JsonObject> {
        match &self.task {
            TaskState::Deferred(is_started) if is_started.load(Ordering::SeqCst) => {
                #[cfg(feature = "request-state")]
                let input = self.rounds.as_ref().map(|rounds| rounds.responses()).unwrap_or_default();
                #[cfg(not(feature = "request-state"))]
                let input = JsonObject::new();
                Some(input)
            }
            _ => None,
        }
    }

    /// Makes the call a task, if the tool is declared with
    /// [`deferred_task`](super::ToolInfo::deferred_task) and the client supports it (2026-07-28).
    ///
    /// The function returns early with the error; use `?`. It then runs again from the beginning, as a task. Input from
    /// the client is then available immediately, and this returns `Ok`. So start the task before you do anything that must
    /// happen only once. In all other calls, this does nothing.
    ///
    /// # Errors
    ///
    /// Fails if the call becomes a task. Return the error with `?`.
    #[cfg(feature = "tasks")]
    pub fn start_task(&self) -> Result<(), ToolError> {
        match &self.task {
            TaskState::Deferred(is_started) => {
                is_started.store(true, Ordering::SeqCst);
                Err(ToolError::failed("the call becomes a task"))
            }
            TaskState::None | TaskState::Running(..) => Ok(()),
        }
    }

    /// Asks the user for input. `key` identifies the question; use a different key for each question of a function.
    ///
    /// # Errors
    ///
    /// Fails if the client has not responded yet (2026-07-28), if it does not respond with a valid result, if the
    /// revision does not support the request, or if the request state is invalid. Return the error with `?`.
    pub async fn elicit(&self, key: &str, params: impl Into<ElicitRequestParams>) -> Result<ElicitResult, ToolError> {
        self.ask::<ElicitRequest>(key, ElicitRequest::new(params.into())).await
    }

    /// Asks the client to sample its model. See [`elicit`](Self::elicit) for `key`.
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit).
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ToolError> {
        self.ask::<CreateMessageRequest>(key, CreateMessageRequest::new(params)).await
    }

    /// Asks for the client's roots: the directories and files that it exposes to the server. See
    /// [`elicit`](Self::elicit) for `key`.
    ///
    /// # Errors
    ///
    /// Fails like [`elicit`](Self::elicit).
    pub async fn roots(&self, key: &str) -> Result<ListRootsResult, ToolError> {
        self.ask::<ListRootsRequest>(key, ListRootsRequest::new()).await
    }

    async fn ask<R: Request + Into<InputRequest>>(&self, key: &str, request: R) -> Result<R::Result, ToolError> {
        let request = request.into();
        #[cfg(feature = "tasks")]
        if let TaskState::Running(task_input, earlier) = &self.task {
            return match earlier.get(key) {
                Some(response) => Ok(self.context.decode_input::<R>(key, response.clone())?),
                None => self.ask_in_task::<R>(task_input, key, request).await,
            };
        }
        match self.context.revision().is_legacy() {
            true => self.ask_now::<R>(&request).await,
            false => self.ask_next::<R>(key, request).await,
        }
    }

    /// Requests input in the status of the task, and waits for the response (2026-07-28).
    #[cfg(feature = "tasks")]
    async fn ask_in_task<R: Request>(
        &self,
        task_input: &TaskInput,
        key: &str,
        request: InputRequest,
    ) -> Result<R::Result, ToolError> {
        let requests = InputRequests::from([(key.to_owned(), request)]);
        let mut responses = task_input.request(&requests).await?;
        Ok(self.context.decode_input::<R>(key, responses.remove(key).unwrap_or_default())?)
    }

    /// Sends a request to the client and waits for the response (legacy revisions).
    async fn ask_now<R: Request>(&self, request: &InputRequest) -> Result<R::Result, ToolError> {
        let (method, params) = method_and_params(request);
        let revisions = Revisions { from: TYPES, to: self.context.revision() };
        let params = params.map(|params| revisions.params(&method, &params)).transpose()?;
        let response = self.context.peer().raw_request(&method, params).await?;
        let response = revisions.reversed().result(&method, &response)?;
        response.decode().map_err(|error| error.with_type_name(format!("{method} result")).into())
    }

    /// Returns the input if the client has sent it, and otherwise requests it with an error (2026-07-28).
    #[cfg(feature = "request-state")]
    async fn ask_next<R: Request>(&self, key: &str, request: InputRequest) -> Result<R::Result, ToolError> {
        let rounds = self.rounds.as_ref().ok_or_else(|| ToolError::failed("the server cannot keep request state"))?;
        rounds.ask::<R>(&self.context, key, request).await
    }

    #[cfg(not(feature = "request-state"))]
    #[expect(clippy::unused_self, clippy::unused_async, reason = "the same signature with and without the feature")]
    async fn ask_next<R: Request>(&self, _: &str, _: InputRequest) -> Result<R::Result, ToolError> {
        let reason = "the server cannot request input: enable the feature `request-state` of mcpgen-runtime";
        Err(ToolError::failed(reason))
    }
}

impl Deref for RequestContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
