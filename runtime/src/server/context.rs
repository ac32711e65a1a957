//! The context of tools, prompts and resources, with requests for input from the client.

use std::ops::Deref;
#[cfg(feature = "request-state")]
use std::sync::Arc;

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
    /// Set in a task of 2026-07-28.
    #[cfg(feature = "tasks")]
    task_input: Option<TaskInput>,
}

impl RequestContext {
    pub(super) fn new(context: Context) -> Self {
        Self {
            context,
            #[cfg(feature = "request-state")]
            rounds: None,
            #[cfg(feature = "tasks")]
            task_input: None,
        }
    }

    /// Creates the context of a call that requests input in its result (2026-07-28).
    #[cfg(feature = "request-state")]
    pub(super) fn in_rounds(context: Context, rounds: Rounds) -> Self {
        Self { rounds: Some(Arc::new(rounds)), ..Self::new(context) }
    }

    /// Creates the context of a call that runs as a task (2026-07-28).
    #[cfg(feature = "tasks")]
    pub(super) fn in_task(context: Context, task_input: TaskInput) -> Self {
        Self { task_input: Some(task_input), ..Self::new(context) }
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
        if let Some(task_input) = &self.task_input {
            return self.ask_in_task::<R>(task_input, key, request).await;
        }
        match self.context.revision().is_legacy() {
            true => self.ask_now::<R>(&request).await,
            false => self.ask_next::<R>(key, request),
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
    fn ask_next<R: Request>(&self, key: &str, request: InputRequest) -> Result<R::Result, ToolError> {
        let rounds = self.rounds.as_ref().ok_or_else(|| ToolError::failed("the server cannot keep request state"))?;
        rounds.ask::<R>(&self.context, key, request)
    }

    #[cfg(not(feature = "request-state"))]
    #[expect(clippy::unused_self, reason = "the same signature with and without the feature")]
    fn ask_next<R: Request>(&self, _: &str, _: InputRequest) -> Result<R::Result, ToolError> {
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
