//! Questions to the client that take several rounds (2026-07-28).

use std::collections::HashSet;

use mcpgen_runtime::context::Context;
use mcpgen_types::v2026_07_28::{InputRequest, InputRequests, InputRequiredResult};
use mcpgen_types::{ErrorObject, Json, Request};
use parking_lot::Mutex;
use tokio::sync::OnceCell;

use super::input_error::{InputError, InputRequired};
use super::request_state::{RequestState, RequestStateCodec};
use crate::protocol::ContextExt;
use crate::protocol::input_requests::InputByKey;

/// A function's questions, and what must stay the same in all rounds of its call.
#[derive(Debug)]
pub(super) struct Questions {
    keys: Mutex<HashSet<String>>,
    /// The arguments as JSON text, which must be the same in all rounds.
    arguments: String,
    /// The request state, decoded once. Contains the responses of earlier rounds by key.
    state: OnceCell<Mutex<RequestState<InputByKey>>>,
}

/// Binds the request state to a server and a caller.
#[derive(Clone, Copy)]
pub(super) struct Binding<'c> {
    pub(super) codec: &'c RequestStateCodec,
    /// The caller, which must be the same in all rounds.
    pub(super) caller: &'c str,
}

impl Questions {
    pub(super) fn new(arguments: String) -> Self {
        Self { keys: Mutex::default(), arguments, state: OnceCell::new() }
    }

    /// Adds a question's key, and returns whether it is new.
    pub(super) fn add(&self, key: &str) -> bool {
        self.keys.lock().insert(key.to_owned())
    }

    /// Returns the inputs in the order of the requests if the client has sent them all. Otherwise fails with an error
    /// that requests the missing ones.
    pub(super) async fn ask<R: Request>(
        &self,
        binding: Binding<'_>,
        context: &Context,
        requests: Vec<(String, InputRequest)>,
    ) -> Result<Vec<R::Result>, InputError> {
        let state = self.state.get_or_try_init(async || self.decode(binding, context).await.map(Mutex::new)).await?;
        let state = &mut *state.lock();
        let responses = state.state.get_or_insert_default();
        let (mut results, mut missing) = (Vec::new(), Vec::new());
        for (key, request) in requests {
            if let Some(response) = responses.get(&key) {
                let invalid =
                    |error: mcpgen_types::Error| InputError::Answer { key: key.clone(), source: error.into() };
                results.push(response.decode().map_err(invalid)?);
            } else if let Some(response) = context.input::<R>(&key)? {
                // Keep the response in the request state, for the next rounds.
                responses.insert(key, Json::from(&response));
                results.push(response);
            } else {
                missing.push((key, request));
            }
        }
        if missing.is_empty() {
            return Ok(results);
        }
        let encoded = binding.codec.encode(state, responses_of(state))?;
        let requests: InputRequests = missing.into_iter().collect();
        let result = InputRequiredResult::new().with_input_requests(requests).with_request_state(encoded);
        Err(InputRequired::new(result).into())
    }

    /// Returns the responses that the client has sent so far, by key.
    pub(super) fn responses(&self) -> InputByKey {
        self.state.get().map(|state| responses_of(&state.lock()).clone()).unwrap_or_default()
    }

    /// Decodes the state of earlier rounds.
    async fn decode(
        &self,
        Binding { codec, caller }: Binding<'_>,
        context: &Context,
    ) -> Result<RequestState<InputByKey>, ErrorObject> {
        // Sort the members, because a client may send them in another order in the next round.
        let arguments = Json::parse(self.arguments.clone()).ok().and_then(|arguments| crate::tree::tree(&arguments));
        let arguments =
            arguments.map_or_else(|| self.arguments.clone(), |arguments| mcpgen_types::to_string(&arguments));
        let bound_to = format!("{}:{caller}{arguments}", caller.len());
        codec.decode(context, &bound_to).await
    }
}

fn responses_of(state: &RequestState<InputByKey>) -> &InputByKey {
    static NONE: InputByKey = InputByKey::new();
    state.state.as_ref().unwrap_or(&NONE)
}
