//! The context of tools, prompts and resources, with requests for input from the client.

use std::ops::Deref;
use std::sync::Arc;

use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, InputRequest, InputRequests, InputRequiredResult, ListRootsRequest, ListRootsResult,
};
use mcpgen_types::{ErrorObject, JsonObject, RawJson, Request, Value};

use super::older_revisions;
use super::tool_error::ToolError;
use crate::jsonrpc::errors;
use crate::protocol::input_requests::parts;
use crate::server::request_state::{RequestState, RequestStateCodec};
use crate::service::context::Context;
use crate::util::lock::Mutex;

/// The context of a call to a tool, prompt or resource. Dereferences to [`Context`], and can request input from the client.
///
/// In legacy revisions, the server sends a request to the client and the function waits for the response. In
/// 2026-07-28, the function returns early with the error of [`elicit`](Self::elicit), [`sample`](Self::sample) or
/// [`roots`](Self::roots); use `?`. Once the client has the input, it sends the request again, and the function runs
/// again from the beginning. Input from earlier rounds is then available immediately. So ask for input before you do
/// anything that must happen only once.
#[derive(Clone, Debug)]
pub struct RequestContext {
    context: Context,
    /// `None` in legacy revisions, and if the server has no codec for request state.
    rounds: Option<Arc<Rounds>>,
}

/// The state of a multi-round call.
#[derive(Debug)]
struct Rounds {
    codec: Arc<RequestStateCodec>,
    /// The caller, which must be the same in all rounds.
    caller: String,
    /// The JSON text of an object that must be the same in all rounds, such as the arguments.
    arguments: String,
    /// The request state, once it was decoded.
    state: Mutex<Option<RequestState<JsonObject>>>,
}

impl RequestContext {
    pub(super) fn new(context: Context) -> Self {
        Self { context, rounds: None }
    }

    /// Creates the context of a call that asks for input in its result (2026-07-28).
    pub(super) fn in_rounds(
        context: Context,
        codec: Arc<RequestStateCodec>,
        caller: String,
        arguments: String,
    ) -> Self {
        Self { context, rounds: Some(Arc::new(Rounds { codec, caller, arguments, state: Mutex::default() })) }
    }

    /// Asks the user for input. `key` identifies the question; use a different key for each question of a function.
    ///
    /// # Errors
    ///
    /// Return the error with `?`. The client has not responded yet (2026-07-28), it cannot or does not respond with a
    /// valid result, the revision does not support the request, or the request state is invalid.
    pub async fn elicit(&self, key: &str, params: impl Into<ElicitRequestParams>) -> Result<ElicitResult, ToolError> {
        self.ask::<ElicitRequest>(key, ElicitRequest::new(params.into())).await
    }

    /// Asks the client to sample its model. See [`elicit`](Self::elicit) for `key`.
    ///
    /// # Errors
    ///
    /// The same as [`elicit`](Self::elicit).
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
    /// The same as [`elicit`](Self::elicit).
    pub async fn roots(&self, key: &str) -> Result<ListRootsResult, ToolError> {
        self.ask::<ListRootsRequest>(key, ListRootsRequest::new()).await
    }

    async fn ask<R: Request + Into<InputRequest>>(&self, key: &str, request: R) -> Result<R::Result, ToolError> {
        let request = request.into();
        match self.context.revision().is_legacy() {
            true => self.ask_now::<R>(&request).await,
            false => self.ask_next::<R>(key, request),
        }
    }

    /// Sends a request to the client and waits for the response (legacy revisions).
    async fn ask_now<R: Request>(&self, request: &InputRequest) -> Result<R::Result, ToolError> {
        let (method, params) = parts(request);
        let params =
            params.map(|params| older_revisions::params(&method, self.context.revision(), params)).transpose()?;
        let answer = self.context.peer().raw_request(&method, params.map(|params| RawJson::from(&params))).await?;
        answer.decode().map_err(|error| error.with_type_name(format!("{method} result")).into())
    }

    /// Returns the input if the client has sent it, and otherwise asks for it with an error (2026-07-28).
    fn ask_next<R: Request>(&self, key: &str, request: InputRequest) -> Result<R::Result, ToolError> {
        let rounds = self.rounds.as_ref().ok_or_else(|| ToolError::failed("the server cannot keep request state"))?;
        let mut state = rounds.state.lock();
        let state = rounds.decode(&self.context, &mut state)?;
        let answers = state.state.get_or_insert_default();
        if let Some(answer) = answers.get(key) {
            return Ok(mcpgen_types::from_value(answer.clone())?);
        }
        if let Some(answer) = self.context.input::<R>(key)? {
            // The request state of the next round contains it.
            answers.insert(key.to_owned(), mcpgen_types::to_value(&answer).unwrap_or(Value::Null));
            return Ok(answer);
        }
        let encoded = rounds.codec.seal(state, answers_of(state))?;
        let requests = InputRequests::from([(key.to_owned(), request)]);
        let result = InputRequiredResult::new().with_input_requests(requests).with_request_state(encoded);
        Err(ToolError::input_required(result))
    }
}

impl Rounds {
    /// Decodes the state of earlier rounds, once.
    fn decode<'s>(
        &self,
        context: &Context,
        state: &'s mut Option<RequestState<JsonObject>>,
    ) -> Result<&'s mut RequestState<JsonObject>, ErrorObject> {
        if state.is_none() {
            // Sorts the members, because a client may send them in another order in the next round.
            let arguments = mcpgen_types::from_str::<JsonObject>(&self.arguments);
            let arguments =
                arguments.map_or_else(|_| self.arguments.clone(), |arguments| mcpgen_types::to_string(&arguments));
            let bound_to = format!("{}:{}{arguments}", self.caller.len(), self.caller);
            *state = Some(self.codec.dialog(context, &bound_to)?);
        }
        state.as_mut().ok_or_else(errors::internal)
    }
}

fn answers_of(state: &RequestState<JsonObject>) -> &JsonObject {
    static NONE: std::sync::LazyLock<JsonObject> = std::sync::LazyLock::new(JsonObject::new);
    state.state.as_ref().unwrap_or(&NONE)
}

impl Deref for RequestContext {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
