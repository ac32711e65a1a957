//! Multi-round requests (2026-07-28). A server that needs input responds with input requests, and the client sends the
//! request again with the input.

use std::future::Future;
use std::time::Duration;

use mcpgen_runtime::jsonrpc::json::{Picked, member};
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::router::RequestService;
use mcpgen_types::codec::Cursor;
use mcpgen_types::v2026_07_28::{
    CallToolRequest, CallToolResult, GetPromptRequest, GetPromptResult, InputRequiredOrCallToolResult,
    InputRequiredOrGetPromptResult, InputRequiredOrReadResourceResult, InputRequiredResult, ReadResourceRequest,
    ReadResourceResult,
};
use mcpgen_types::{Json, JsonObject, Request, Revision, counted};

use super::input::handle_input_request;
use super::lenient::{self, DecodePolicy};
use super::limits::RoundLimits;
use super::task_results::{CreatedTask, TaskResults};
use crate::protocol::TYPES;
use crate::protocol::conversion::{ConversionError, Revisions};

/// A request whose result may ask the client for input.
pub trait MultiRoundTrip: Request<Result: Send + 'static, Params: Send> {
    /// The final result.
    type Complete;

    /// Returns the final result.
    ///
    /// # Errors
    ///
    /// Returns the input requests if the server asks for input.
    fn outcome(result: Self::Result) -> Result<Self::Complete, Box<InputRequiredResult>>;
}

macro_rules! multi_round_trip {
    ($($request:ident: $result:ident of $complete:ident;)*) => {$(
        impl MultiRoundTrip for $request {
            type Complete = $complete;

            fn outcome(result: $result) -> Result<$complete, Box<InputRequiredResult>> {
                match result {
                    $result::$complete(complete) => Ok(*complete),
                    $result::InputRequiredResult(input_required) => Err(input_required),
                }
            }
        }
    )*};
}

multi_round_trip! {
    CallToolRequest: InputRequiredOrCallToolResult of CallToolResult;
    GetPromptRequest: InputRequiredOrGetPromptResult of GetPromptResult;
    ReadResourceRequest: InputRequiredOrReadResourceResult of ReadResourceResult;
}

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Creates the params of the next round: those of the first round plus the input responses and the unchanged request
/// state. `inputResponses` is left out if `input_required` asks for nothing, and `requestState` if it has no state.
///
/// # Errors
///
/// Fails if the params are not a JSON object.
pub fn next_params(
    params: &Json,
    input_required: &InputRequiredResult,
    input_responses: JsonObject,
) -> Result<Json, mcpgen_types::Error> {
    let mut params: JsonObject = params.decode()?;
    let mut set = |name: &str, value: Option<Json>| match value {
        Some(value) => params.insert(name, value),
        None => params.remove(name),
    };
    set("inputResponses", input_required.input_requests.is_some().then_some(input_responses.into()));
    set("requestState", input_required.request_state.as_ref().map(Json::from));
    Ok(params.into())
}

/// Sends a request, and sends it again as long as the result asks for input, which `requests` provides. The request's
/// type may belong to a revision other than the connection's.
pub(crate) async fn complete<R: MultiRoundTrip>(
    peer: &Peer,
    revision: Revision,
    requests: impl RequestService,
    limits: RoundLimits,
    tasks: Option<&dyn TaskResults>,
    params: R::Params,
) -> Result<R::Complete, CallError> {
    let invalid =
        |error: mcpgen_types::Error| CallError::Invalid(error.with_type_name(format!("{} result", R::METHOD)).into());
    let revisions = Revisions { from: Revision::of(R::VERSION), to: revision };
    let rounds = Rounds { peer, requests, limits, method: R::METHOD, revisions, tasks };
    let result = rounds.run(member(&params), |params| peer.raw_request(R::METHOD, Some(params)).send()).await?;
    let result = revisions.reversed().result(R::METHOD, &result).map_err(|error| CallError::Invalid(error.into()))?;
    // Decoding repairs missing cache hints.
    let (result, _) = lenient::decode(&result, DecodePolicy::Strict).map_err(invalid)?;
    match R::outcome(result) {
        Ok(complete) => Ok(complete),
        Err(_) => Err(CallError::Invalid("the last round still asks for input".into())),
    }
}

/// A request that may take multiple rounds.
#[derive(Debug)]
pub struct Rounds<'r, S> {
    /// The server.
    pub peer: &'r Peer,
    /// Provides the input.
    pub requests: S,
    /// The limits of the request.
    pub limits: RoundLimits,
    /// The method of the request.
    pub method: &'r str,
    /// Conversion from the revision of the params to that of the connection.
    pub revisions: Revisions,
    /// Awaits the result if the server runs the request as a task.
    pub tasks: Option<&'r dyn TaskResults>,
}

impl<S: RequestService> Rounds<'_, S> {
    /// Calls `send` with the params of each round until the result no longer asks for input. Returns that result in the
    /// connection's revision.
    ///
    /// # Errors
    ///
    /// Fails if `send` or an input request fails, or a limit is exceeded.
    pub async fn run<F>(self, params: Option<Json>, send: impl Fn(Json) -> F) -> Result<Json, CallError>
    where
        F: Future<Output = Result<Json, CallError>>,
    {
        let Self { peer, ref requests, limits, method, revisions, tasks } = self;
        let invalid = |error: mcpgen_types::Error| CallError::Invalid(error.into());
        let unsupported = |error: ConversionError| CallError::Invalid(error.into());
        let first = params.unwrap_or_else(|| Json::from(&JsonObject::new()));
        let (mut params, mut pause) = (first.clone(), limits.retry_delay);
        let exceeds = |what: &str| CallError::Invalid(format!("{method}: the server {what}").into());
        for round in 0.. {
            let result = send(revisions.params(method, &params).map_err(unsupported)?).await?;
            let kind = kind(&result);
            if let Some(tasks) = tasks.filter(|_| kind == Kind::Task) {
                if method != CallToolRequest::METHOD {
                    return Err(CallError::Invalid(format!("{method} result: only tool calls run as tasks").into()));
                }
                let task = CreatedTask::new(peer.clone(), revisions.to, result, limits, requests.clone());
                return tasks.result(task).await;
            }
            if kind != Kind::InputRequired {
                return Ok(result);
            }
            let types = Revisions { from: revisions.to, to: TYPES };
            let result = types.result(method, &result).map_err(unsupported)?;
            let input_required: InputRequiredResult = result.decode().map_err(invalid)?;
            if round == limits.rounds {
                break;
            }
            if input_required.input_requests.iter().flatten().count() > limits.requests {
                return Err(exceeds(&format!(
                    "asks for more than {} at a time; raise `requests` with `Client::with_round_limits` to allow more",
                    counted(limits.requests as u64, "inputs")
                )));
            }
            let mut input_responses = Vec::new();
            for (key, input_request) in input_required.input_requests.iter().flatten() {
                input_responses.push((key, handle_input_request(peer, requests.clone(), input_request).await?));
            }
            if input_responses.is_empty() {
                tokio::time::sleep(pause).await;
                pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
            }
            params = next_params(&first, &input_required, input_responses.into_iter().collect()).map_err(invalid)?;
        }
        Err(exceeds(&format!(
            "still asks for input after {}; raise `rounds` with `Client::with_round_limits` to allow more",
            counted(limits.rounds as u64, "rounds")
        )))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Complete,
    InputRequired,
    /// The result names a task (tasks extension).
    Task,
}

fn kind(result: &Json) -> Kind {
    let kind = result.read(|result| {
        let [kind] = Picked::values(result, &["resultType"]);
        match kind.and_then(Cursor::as_str).as_deref() {
            Some("input_required") => Kind::InputRequired,
            Some("task") => Kind::Task,
            _ => Kind::Complete,
        }
    });
    kind.unwrap_or(Kind::Complete)
}
