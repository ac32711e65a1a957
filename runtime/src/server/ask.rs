//! Asking the client, in either era.

use std::ops::Deref;
use std::sync::Arc;

use mcpgen_types::v2026_07_28::{
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, InputRequest, InputRequests, InputRequiredResult, ListRootsRequest, ListRootsResult,
};
use mcpgen_types::{ErrorObject, JsonObject, RawJson, Request, Value};

use super::older_revisions;
use super::tools::ToolError;
use crate::protocol::input_requests::parts;
use crate::server::request_state::{RequestState, RequestStateCodec};
use crate::service::context::Context;
use crate::util::lock::Mutex;

/// What a function of a server knows besides its arguments: all that a [`Context`] does, and how to ask the client.
///
/// In the older revisions the client is asked while the function waits. In 2026-07-28 the function ends with what it asks,
/// by the `?` behind the question, and is called again from the beginning when there is an answer; the answers of earlier
/// rounds are there then. So a function should ask before it does what may be done only once.
#[derive(Clone, Debug)]
pub struct Call {
    context: Context,
    /// `None` where nothing is asked in rounds: in the older revisions, and by a server that keeps no state.
    rounds: Option<Arc<Rounds>>,
}

/// How a call goes on from one round to the next.
#[derive(Debug)]
struct Rounds {
    seal: RequestStateCodec,
    /// Whoever goes on, goes on with the same.
    who: String,
    what: String,
    /// Those so far, once they were looked at.
    dialog: Mutex<Option<RequestState<JsonObject>>>,
}

impl Call {
    pub(super) fn new(context: Context) -> Self {
        Self { context, rounds: None }
    }

    /// One that can ask by its answer.
    pub(super) fn in_rounds(context: Context, seal: RequestStateCodec, who: String, what: String) -> Self {
        Self { context, rounds: Some(Arc::new(Rounds { seal, who, what, dialog: Mutex::default() })) }
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
        let params =
            params.map(|params| older_revisions::params(&method, self.context.revision(), params)).transpose()?;
        let answer = self.context.peer().raw_request(&method, params.map(|params| RawJson::from(&params))).await?;
        answer.decode().map_err(|error| error.with_type_name(format!("{method} result")).into())
    }

    /// By the answer to the request.
    fn ask_next<R: Request>(&self, key: &str, request: InputRequest) -> Result<R::Result, ToolError> {
        let rounds = self.rounds.as_ref().ok_or_else(|| ToolError::failed("this server keeps no state"))?;
        let mut dialog = rounds.dialog.lock();
        let dialog = rounds.so_far(&self.context, &mut dialog)?;
        let answers = dialog.state.get_or_insert_default();
        if let Some(answer) = answers.get(key) {
            return Ok(mcpgen_types::from_value(answer.clone())?);
        }
        if let Some(answer) = self.context.input::<R>(key)? {
            // As it will be kept for the next round.
            answers.insert(key.to_owned(), mcpgen_types::to_value(&answer).unwrap_or(Value::Null));
            return Ok(answer);
        }
        let state = rounds.seal.seal(dialog, answers_of(dialog))?;
        let asks = InputRequests::from([(key.to_owned(), request)]);
        Err(ToolError::asks(InputRequiredResult::new().with_input_requests(asks).with_request_state(state)))
    }
}

impl Rounds {
    fn so_far<'d>(
        &self,
        context: &Context,
        dialog: &'d mut Option<RequestState<JsonObject>>,
    ) -> Result<&'d mut RequestState<JsonObject>, ErrorObject> {
        match dialog {
            Some(dialog) => Ok(dialog),
            None => {
                // Members may come in another order in the next round.
                let what = mcpgen_types::from_str::<JsonObject>(&self.what);
                let what = what.map_or_else(|_| self.what.clone(), |what| mcpgen_types::to_string(&what));
                let whom = format!("{}:{}{what}", self.who.len(), self.who);
                Ok(dialog.insert(self.seal.dialog(context, &whom)?))
            }
        }
    }
}

fn answers_of(dialog: &RequestState<JsonObject>) -> &JsonObject {
    static NONE: std::sync::LazyLock<JsonObject> = std::sync::LazyLock::new(JsonObject::new);
    dialog.state.as_ref().unwrap_or(&NONE)
}

impl Deref for Call {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.context
    }
}
