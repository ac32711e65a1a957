//! Handles a server's input requests (2026-07-28).

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::router::{AnyRequest, RequestService};
use mcpgen_types::Json;
use mcpgen_types::v2026_07_28::InputRequest;
use tower::ServiceExt;

use crate::protocol::input_requests::{InputNotProvided, method_and_params};
use crate::protocol::{PeerExt, RequestScope, TYPES, context::without_peer, peer::check_input_request};

pub(super) async fn handle_input_request(
    peer: &Peer,
    requests: impl RequestService,
    input_request: &InputRequest,
) -> Result<Json, CallError> {
    let (method, params) = method_and_params(input_request);
    check_input_request(peer, &method, params.as_ref())?;
    let params = params.map(|params| Json::from(&params));
    let scope = RequestScope { revision: TYPES, peer_info: peer.peer_info(), level: None };
    let context = without_peer(&method, scope, params.as_ref());
    let result = requests.oneshot(AnyRequest { method: method.clone().into(), params, context }).await;
    result.map_err(|error| InputNotProvided { method, error: errors::of(error.into()) }.into())
}

pub(super) type AnswerInput = Box<dyn Fn(InputRequest) -> BoxFuture<'static, Result<Json, CallError>> + Send>;

pub(super) fn answer_with(peer: Peer, requests: impl RequestService) -> AnswerInput {
    Box::new(move |input_request| {
        let (peer, requests) = (peer.clone(), requests.clone());
        async move { handle_input_request(&peer, requests, &input_request).await }.boxed()
    })
}
