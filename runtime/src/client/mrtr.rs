//! Multi-round requests (2026-07-28). A server that needs input from the client responds with input requests, and the
//! client sends the request again with the input.

use std::time::Duration;

use mcpgen_types::codec::Cursor;
use mcpgen_types::v2026_07_28::{
    CallToolRequest, CallToolResult, GetPromptRequest, GetPromptResult, InputRequest, InputRequiredOrCallToolResult,
    InputRequiredOrGetPromptResult, InputRequiredOrReadResourceResult, InputRequiredResult, ReadResourceRequest,
    ReadResourceResult,
};
use mcpgen_types::{JsonObject, RawJson, Request, Value};
use tower::ServiceExt;

use super::limits::RoundLimits;
use crate::jsonrpc::errors;
use crate::jsonrpc::json::Picked;
use crate::peer::{CallError, Peer, member};
use crate::protocol::RequestScope;
use crate::protocol::input_requests::parts;
use crate::service::context::Context;
use crate::service::router::{AnyRequest, RequestService};

/// A request whose result may ask the client for input.
pub trait MultiRoundTrip: Request<Result: Send + 'static, Params: Send> {
    /// The final result.
    type Complete;

    /// Returns the final result.
    ///
    /// # Errors
    ///
    /// The result asks for input.
    fn outcome(answer: Self::Result) -> Result<Self::Complete, Box<InputRequiredResult>>;
}

macro_rules! interactive {
    ($($request:ident: $answer:ident of $complete:ident;)*) => {$(
        impl MultiRoundTrip for $request {
            type Complete = $complete;

            fn outcome(answer: $answer) -> Result<$complete, Box<InputRequiredResult>> {
                match answer {
                    $answer::$complete(result) => Ok(*result),
                    $answer::InputRequiredResult(asks) => Err(asks),
                }
            }
        }
    )*};
}

interactive! {
    CallToolRequest: InputRequiredOrCallToolResult of CallToolResult;
    GetPromptRequest: InputRequiredOrGetPromptResult of GetPromptResult;
    ReadResourceRequest: InputRequiredOrReadResourceResult of ReadResourceResult;
}

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Creates the params of the next round: the params of the first round, with the input responses and the unchanged
/// request state. `inputResponses` is left out if `asks` has no input requests, `requestState` if it has no state.
///
/// # Errors
///
/// The params are not a JSON object.
pub fn again(
    params: &RawJson,
    asks: &InputRequiredResult,
    answers: JsonObject,
) -> Result<RawJson, mcpgen_types::Error> {
    let mut params: JsonObject = params.decode()?;
    let mut set = |name: &str, value: Option<Value>| match value {
        Some(value) => params.insert(name.to_owned(), value),
        None => params.remove(name),
    };
    set("inputResponses", asks.input_requests.is_some().then_some(Value::Object(answers)));
    set("requestState", asks.request_state.clone().map(Value::String));
    Ok(RawJson::from(&params))
}

/// Sends a request, and sends it again as long as the result asks for input. `requests` handles the input requests.
pub(crate) async fn complete<R: MultiRoundTrip>(
    peer: &Peer,
    requests: impl RequestService,
    limits: RoundLimits,
    params: R::Params,
) -> Result<R::Complete, CallError> {
    let invalid =
        |error: mcpgen_types::Error| CallError::Invalid(error.with_type_name(format!("{} result", R::METHOD)).into());
    let result = rounds::<R>(peer, requests, limits, member(&params)).await?;
    match R::outcome(result.decode().map_err(invalid)?) {
        Ok(complete) => Ok(complete),
        Err(_) => Err(CallError::Invalid("the last round still asks for input".into())),
    }
}

/// Like [`complete`], but takes and returns raw JSON.
pub(crate) async fn rounds<R: MultiRoundTrip>(
    peer: &Peer,
    requests: impl RequestService,
    limits: RoundLimits,
    params: Option<RawJson>,
) -> Result<RawJson, CallError> {
    let invalid = |error: mcpgen_types::Error| CallError::Invalid(error.into());
    let first = params.unwrap_or_else(|| RawJson::from(&JsonObject::new()));
    let (mut params, mut pause) = (first.clone(), limits.pause);
    let without_end = |what: &str| CallError::Invalid(format!("{}: the server {what}", R::METHOD).into());
    for round in 0.. {
        let result = peer.request_as::<RawJson>(R::METHOD, R::REVISION, Some(params)).await?;
        let asks = result.read(|result| {
            let [kind] = Picked::values(result, &["resultType"]);
            kind.and_then(Cursor::as_str).as_deref() == Some("input_required")
        });
        if !asks.unwrap_or(false) {
            return Ok(result);
        }
        let asks: InputRequiredResult = result.decode().map_err(invalid)?;
        if round == limits.rounds {
            break;
        }
        if asks.input_requests.iter().flatten().count() > limits.requests {
            return Err(without_end(&format!(
                "asks for more than {} inputs at a time; raise `Client::round_limits.requests` to allow more",
                limits.requests
            )));
        }
        let mut answers = JsonObject::new();
        for (key, asked) in asks.input_requests.iter().flatten() {
            let answer = answer::<R>(peer, requests.clone(), asked).await?;
            answers.insert(key.clone(), answer.decode().map_err(invalid)?);
        }
        if answers.is_empty() {
            tokio::time::sleep(pause).await;
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
        params = again(&first, &asks, answers).map_err(invalid)?;
    }
    Err(without_end(&format!(
        "still asks for input after {} rounds; raise `Client::round_limits.rounds` to allow more",
        limits.rounds
    )))
}

/// Handles one input request, and returns its result.
async fn answer<R: Request>(
    peer: &Peer,
    requests: impl RequestService,
    asked: &InputRequest,
) -> Result<RawJson, CallError> {
    let (method, params) = parts(asked);
    peer.may_be_asked(&method, params.as_ref())?;
    let params = params.map(|params| RawJson::from(&params));
    let scope = RequestScope { revision: R::REVISION, peer_info: peer.peer_info(), level: None };
    let context = Context::without_peer(&method, scope, params.as_ref());
    let answer = requests.oneshot(AnyRequest { method: method.clone().into(), params, context }).await;
    answer.map_err(|error| CallError::Input { method, error: errors::of(error.into()) })
}
