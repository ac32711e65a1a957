//! The rounds of a request that requests input from the client in its results (2026-07-28).

use std::sync::Arc;

use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::{InputRequest, InputRequests, InputRequiredResult};
use mcpgen_types::{ErrorObject, Json, Request};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::request_state::{RequestState, RequestStateCodec};
use super::tool_error::ToolError;
use crate::protocol::ContextExt;
use crate::protocol::input_requests::InputByKey;

/// The state of a multi-round call.
#[derive(Debug)]
pub(super) struct Rounds {
    codec: Arc<RequestStateCodec>,
    /// The caller, which must be the same in all rounds.
    caller: String,
    /// The JSON text of an object that must be the same in all rounds, such as the arguments.
    arguments: String,
    /// The request state, which is decoded once. It has the responses of earlier rounds, by key.
    state: OnceCell<Mutex<RequestState<InputByKey>>>,
}

impl Rounds {
    pub(super) fn new(codec: Arc<RequestStateCodec>, caller: String, arguments: String) -> Self {
        Self { codec, caller, arguments, state: OnceCell::new() }
    }

    /// Returns the inputs, in the order of the requests, if the client has sent all of them. Otherwise requests the
    /// missing ones with an error.
    pub(super) async fn ask<R: Request>(
        &self,
        context: &Context,
        requests: Vec<(String, InputRequest)>,
    ) -> Result<Vec<R::Result>, ToolError> {
        let state = self.state.get_or_try_init(async || self.decode(context).await.map(Mutex::new)).await?;
        let state = &mut *state.lock();
        let responses = state.state.get_or_insert_default();
        let (mut results, mut missing) = (Vec::new(), Vec::new());
        for (key, request) in requests {
            if let Some(response) = responses.get(&key) {
                results.push(response.decode()?);
            } else if let Some(response) = context.input::<R>(&key)? {
                // The request state of the next round contains it.
                responses.insert(key, Json::from(&response));
                results.push(response);
            } else {
                missing.push((key, request));
            }
        }
        if missing.is_empty() {
            return Ok(results);
        }
        let encoded = self.codec.encode(state, responses_of(state))?;
        let requests: InputRequests = missing.into_iter().collect();
        let result = InputRequiredResult::new().with_input_requests(requests).with_request_state(encoded);
        Err(ToolError::input_required(result))
    }

    /// Returns the responses that the client has sent so far, by key, and that were read.
    pub(super) fn responses(&self) -> InputByKey {
        self.state.get().map(|state| responses_of(&state.lock()).clone()).unwrap_or_default()
    }

    /// Decodes the state of earlier rounds.
    async fn decode(&self, context: &Context) -> Result<RequestState<InputByKey>, ErrorObject> {
        // Sorts the members, because a client may send them in another order in the next round.
        let arguments = Json::parse(self.arguments.clone()).ok().and_then(|arguments| crate::tree::tree(&arguments));
        let arguments =
            arguments.map_or_else(|| self.arguments.clone(), |arguments| mcpgen_types::to_string(&arguments));
        let bound_to = format!("{}:{}{arguments}", self.caller.len(), self.caller);
        self.codec.decode(context, &bound_to).await
    }
}

fn responses_of(state: &RequestState<InputByKey>) -> &InputByKey {
    static NONE: InputByKey = InputByKey::new();
    state.state.as_ref().unwrap_or(&NONE)
}
