//! Asking the client, in either era.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, InputRequest, InputRequests, InputRequiredResult, ListRootsRequest, ListRootsResult,
};
use mcpgen_types::{JsonObject, RawJson, Request, Value};

use super::adapt;
use super::tools::ToolError;
use crate::context::Context;
use crate::input::parts;
use crate::seal::{Dialog, Seal};

/// What a function of a server knows besides its arguments: all that a [`Context`] does, and how to ask the client.
///
/// In the older revisions the client is asked while the function waits. In 2026-07-28 the function ends with what it asks,
/// by the `?` behind the question, and is called again from the beginning when there is an answer; the answers of earlier
/// rounds are there then. So a function should ask before it does what may be done only once.
#[derive(Clone, Debug)]
pub struct Call {
    context: Context,
    /// For whom, and for what, the state is.
    whom: Arc<str>,
    seal: Option<Seal>,
    rounds: Arc<Mutex<Rounds>>,
}

/// The rounds so far, once they were looked at.
#[derive(Debug, Default)]
struct Rounds(Option<Dialog<JsonObject>>);

impl Call {
    pub(super) fn new(context: Context, seal: Option<Seal>, who: &str, arguments: &JsonObject) -> Self {
        // Whoever goes on, goes on with the same. In the older revisions the client is asked at once.
        let whom = match context.revision().is_legacy() {
            true => Arc::default(),
            false => format!("{}:{who}{}", who.len(), mcpgen_types::to_string(arguments)).into(),
        };
        Self { context, whom, seal, rounds: Arc::default() }
    }

    /// Asks the user. The key is any name that the function has for the question.
    ///
    /// # Errors
    ///
    /// Give them on with `?`: there is no answer yet, or there will be none.
    pub async fn elicit(&self, key: &str, params: impl Into<ElicitRequestParams>) -> Result<ElicitResult, ToolError> {
        self.ask::<ElicitRequest>(key, ElicitRequest::new(params.into())).await
    }

    /// Asks the client's model.
    ///
    /// # Errors
    ///
    /// As [`elicit`](Self::elicit).
    pub async fn sample(
        &self,
        key: &str,
        params: CreateMessageRequestParams,
    ) -> Result<CreateMessageResult, ToolError> {
        self.ask::<CreateMessageRequest>(key, CreateMessageRequest::new(params)).await
    }

    /// Asks for the folders that the client lets the server see.
    ///
    /// # Errors
    ///
    /// As [`elicit`](Self::elicit).
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

    /// While the client waits.
    async fn ask_now<R: Request>(&self, request: &InputRequest) -> Result<R::Result, ToolError> {
        let (method, params) = parts(request);
        let params = params.map(|params| adapt::params(&method, self.context.revision(), params)).transpose()?;
        let answer = self.context.peer().raw_request(&method, params.map(|params| RawJson::from(&params))).await?;
        answer.decode().map_err(|error| error.with_type_name(format!("{method} result")).into())
    }

    /// By the answer to the request.
    fn ask_next<R: Request>(&self, key: &str, request: InputRequest) -> Result<R::Result, ToolError> {
        let mut rounds = self.rounds()?;
        let dialog = rounds.0.as_mut().ok_or_else(|| ToolError::failed("this server keeps no state"))?;
        let answers = dialog.state.get_or_insert_default();
        if let Some(answer) = answers.get(key) {
            return Ok(mcpgen_types::from_value(answer.clone())?);
        }
        if let Some(answer) = self.context.input::<R>(key)? {
            // As it will be kept for the next round.
            answers.insert(key.to_owned(), mcpgen_types::to_value(&answer).unwrap_or(Value::Null));
            return Ok(answer);
        }
        let seal = self.seal.as_ref().ok_or_else(|| ToolError::failed("this server keeps no state"))?;
        let state = seal.seal(dialog, answers_of(dialog))?;
        let asks = InputRequests::from([(key.to_owned(), request)]);
        Err(ToolError::asks(InputRequiredResult::new().with_input_requests(asks).with_request_state(state)))
    }

    /// Whether this goes on with a call that has begun, by the state that it brings.
    pub(super) fn is_resumed(&self) -> bool {
        let brings = self.context.request_state().is_some();
        brings && self.rounds().is_ok_and(|rounds| rounds.0.as_ref().is_some_and(|dialog| dialog.state.is_some()))
    }

    fn rounds(&self) -> Result<MutexGuard<'_, Rounds>, ToolError> {
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        if let (None, Some(seal)) = (&rounds.0, &self.seal) {
            rounds.0 = Some(seal.dialog(&self.context, &self.whom)?);
        }
        Ok(rounds)
    }
}

fn answers_of(dialog: &Dialog<JsonObject>) -> &JsonObject {
    static NONE: std::sync::LazyLock<JsonObject> = std::sync::LazyLock::new(JsonObject::new);
    dialog.state.as_ref().unwrap_or(&NONE)
}

impl Deref for Call {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
