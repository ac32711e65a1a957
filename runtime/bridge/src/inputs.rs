//! Requests of the server to the client: sampling, elicitation and roots.

use std::sync::Arc;
use std::time::Duration;

use mcpgen_mcp::client::RoundLimits;
use mcpgen_mcp::client::mrtr::Rounds;
use mcpgen_mcp::protocol::conversion::{ConversionError, Revisions};
use mcpgen_mcp::protocol::{ContextExt, TYPES};
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::router::{AnyRequest, Router};
use mcpgen_tasks::TaskPolling;
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, JsonRef, Revision};
use tokio::sync::{mpsc, oneshot};

use super::calls::{Input, InteractiveCall, OpenCall};
use super::relay::{Relay, error_response};

/// The maximum number of input requests that are queued for a call.
const INPUTS: usize = 64;

impl Relay {
    /// Relays a request of a legacy server to the client.
    pub(super) async fn ask_client(&self, request: AnyRequest) -> Result<Json, ErrorObject> {
        let AnyRequest { method, params, context } = request;
        let params = self.name_server(&method, self.seen_params(&method, params));
        let revision = self.client.revision().await.ok_or_else(errors::internal)?;
        match revision {
            revision if revision.is_legacy() => {
                self.check_task_of_client(&method, params.as_ref())?;
                let (client, _) = self.client_peer(params.as_ref()).await.ok_or_else(errors::internal)?;
                let revisions = Revisions { from: context.revision(), to: revision };
                let params = convert(revisions, &method, params)?;
                let result = self.ask(&client, &method, params, &context).await;
                let result = result.map_err(|error| error_response(error, context.revision()))?;
                revisions.reversed().result(&method, &result).map_err(ConversionError::into_response)
            }
            _ => self.ask_in_result(&method, params, context.revision()).await,
        }
    }

    /// Asks a modern client for input, in the result of the newest call.
    async fn ask_in_result(&self, method: &str, params: Option<Json>, revision: Revision) -> Result<Json, ErrorObject> {
        let revisions = Revisions { from: revision, to: TYPES };
        let params = convert(revisions, method, params)?;
        let none = || {
            let why = format!("{method}: the client is not waiting for a result that can ask for input");
            ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, why)
        };
        let inputs = self.calls.interactive().ok_or_else(none)?;
        let (response, result) = oneshot::channel();
        inputs.send(Input { method: method.to_owned(), params, response }).await.map_err(|_| none())?;
        let result = result.await.map_err(|_| none())?;
        revisions.reversed().result(method, &result).map_err(ConversionError::into_response)
    }

    /// Sends a request of a modern client to a legacy server. If the server needs input meanwhile, returns an input
    /// request as the result, and keeps the call open.
    pub(super) async fn call_interactively(
        &self,
        method: &str,
        params: Option<Json>,
        context: &Context,
    ) -> Result<Json, ErrorObject> {
        let mut call = match context.request_state() {
            Some(state) => {
                let call = self.calls.resume(state).filter(|call| call.method == method);
                let mut call = call.ok_or_else(|| {
                    errors::invalid_params_in_words("params.requestState: unknown or expired; send the request again")
                })?;
                call.active.set_context(context);
                answer(&mut call, &responses(method, params, context)?);
                call
            }
            None => {
                let (sender, inputs) = mpsc::channel(INPUTS);
                let params = self.server_params(method, params, context, self.server.revision()).await?;
                let active = self.calls.add(context, Some(sender));
                let again = if self.server.has_tool_tasks() { params.clone() } else { None };
                let open = OpenCall::send(self.server.peer(), method, params, context);
                InteractiveCall { open, again, method: method.to_owned(), inputs, asked: Vec::new(), active }
            }
        };
        while call.asked.is_empty() {
            tokio::select! {
                biased;
                result = call.open.result(context) => {
                    match self.retry_as_task(method, call.again.take().as_ref(), &result, context).await {
                        Some(task) => call.open = task,
                        None => return self.finish(method, result, context).await,
                    }
                }
                Some(input) = call.inputs.recv() => ask(&mut call, input),
            }
        }
        while let Ok(input) = call.inputs.try_recv() {
            ask(&mut call, input);
        }
        let requests: JsonObject = call.asked.iter().map(|(key, input)| (key, input_request(input).into())).collect();
        let state = self.calls.suspend(call).ok_or_else(|| errors::limit_exceeded("too many calls wait for input"))?;
        let result = JsonObject::from([
            ("resultType", "input_required".into()),
            ("inputRequests", requests.into()),
            ("requestState", state.into()),
        ]);
        let revisions = Revisions { from: TYPES, to: context.revision() };
        revisions.result(method, &result).map_err(ConversionError::into_response)
    }

    /// Sends a request of a legacy client to a modern server. Whenever the server asks for input in its result, sends
    /// requests to the client, and repeats the call with the responses.
    pub(super) async fn call_in_rounds(
        self: &Arc<Self>,
        method: &str,
        params: Option<Json>,
        context: &Context,
    ) -> Result<Json, CallError> {
        let (asking, relay) = (context.clone(), Arc::clone(self));
        let requests = Router::new().fallback(move |request| {
            let (context, params) = (asking.clone(), relay.name_server(&request.method, request.params));
            async move { ask_legacy(&request.method, params, &context).await }
        });
        let peer = self.server.peer();
        let revisions = Revisions { from: TYPES, to: self.server.revision() };
        let limits = RoundLimits::default();
        let rounds = Rounds { peer, requests, limits, method, revisions, tasks: Some(&TaskPolling) };
        let send = |params| async move { OpenCall::send(peer, method, Some(params), context).result(context).await };
        rounds.run(params, send).await
    }
}

impl Relay {
    /// Names the server in the text of an elicitation or sampling request that a user sees.
    fn name_server(&self, method: &str, params: Option<Json>) -> Option<Json> {
        let member = match method {
            "elicitation/create" => "message",
            "sampling/createMessage" => "systemPrompt",
            _ => return params,
        };
        let name = self.options.server_name.as_ref().filter(|_| self.client.names_servers());
        let (Some(name), Some(Ok(mut members))) = (name, params.as_ref().map(Json::decode::<JsonObject>)) else {
            return params;
        };
        let text = members.get(member).and_then(JsonRef::as_str).unwrap_or_default();
        let text = format!("[server `{name}`] {text}");
        members.insert(member, text.trim_end());
        Some(members.into())
    }

    /// Like [`name_server`](Self::name_server), for the input requests in a result of a modern server.
    pub(super) fn name_server_in_input_requests(&self, result: Json) -> Json {
        if !self.client.names_servers() {
            return result;
        }
        let Some(Ok(requests)) = result.get("inputRequests").map(JsonObject::try_from) else { return result };
        let named: JsonObject = requests
            .iter()
            .map(|(key, request)| {
                let Ok(mut request) = JsonObject::try_from(request) else {
                    return (key.to_string(), request.to_json());
                };
                let method = request.get("method").and_then(JsonRef::as_str).unwrap_or_default().into_owned();
                if let Some(params) = self.name_server(&method, request.get("params").map(JsonRef::to_json)) {
                    request.insert("params", params);
                }
                (key.to_string(), request.into())
            })
            .collect();
        let Ok(mut members) = result.decode::<JsonObject>() else { return result };
        members.insert("inputRequests", named);
        members.into()
    }
}

/// Sends an input request to a legacy client. The params and the result are in the revision [`TYPES`].
async fn ask_legacy(method: &str, params: Option<Json>, context: &Context) -> Result<Json, ErrorObject> {
    let revisions = Revisions { from: TYPES, to: context.revision() };
    let params = convert(revisions, method, params)?;
    let call =
        context.peer().raw_request(method, params).idle_timeout(None).timeout(None).notification_wait(Duration::ZERO);
    let result = call.send().await.map_err(|error| error_response(error, TYPES))?;
    revisions.reversed().result(method, &result).map_err(ConversionError::into_response)
}

fn convert(revisions: Revisions, method: &str, params: Option<Json>) -> Result<Option<Json>, ErrorObject> {
    let params = params.map(|params| revisions.params(method, &params)).transpose();
    params.map_err(ConversionError::into_response)
}

/// Adds an input request to those that the client must answer.
fn ask(call: &mut InteractiveCall, input: Input) {
    let last = call.asked.last().and_then(|(key, _)| key.parse::<u64>().ok()).unwrap_or_default();
    call.asked.push(((last + 1).to_string(), input));
}

fn input_request(input: &Input) -> JsonObject {
    let mut request = JsonObject::from([("method", (&input.method).into())]);
    if let Some(params) = &input.params {
        request.insert("params", params.clone());
    }
    request
}

/// Returns the input responses in the params of a repeated request, in the revision [`TYPES`].
fn responses(method: &str, params: Option<Json>, context: &Context) -> Result<JsonObject, ErrorObject> {
    let revisions = Revisions { from: context.revision(), to: TYPES };
    let Some(params) = convert(revisions, method, params)? else { return Ok(JsonObject::new()) };
    let responses = params.get("inputResponses").and_then(|responses| JsonObject::try_from(responses).ok());
    Ok(responses.unwrap_or_default())
}

/// Sends the responses to the server's requests.
fn answer(call: &mut InteractiveCall, responses: &JsonObject) {
    let asked = std::mem::take(&mut call.asked);
    for (key, input) in asked {
        match responses.get(&key) {
            // The server may have cancelled its request.
            Some(response) => drop(input.response.send(Json::from(response))),
            None => call.asked.push((key, input)),
        }
    }
}
