//! Runs a service that an OpenRPC document defines. A JSON-RPC client in another language calls it.

mod peers;

use std::sync::{Arc, Mutex};

use mcpgen_protocols::sums::{
    AddParams, AddRequest, ListRequest, OverflowNotification, OverflowParams, ResetNotification, Sum, TOO_LARGE_ERROR,
};
use mcpgen_runtime::connection::Connection;
use mcpgen_runtime::protocol::{Admission, Notice, Protocol, Received};
use mcpgen_runtime::transport::content_length;
use mcpgen_runtime::{Context, Router};
use mcpgen_types::{ErrorObject, Number, Request};
use serde_json::json;

/// Plain JSON-RPC, which has no handshake and no cancellation.
struct Sums;

impl Protocol for Sums {
    type Scope = ();

    fn admit(&self, _: &Received<'_>) -> Result<Admission<()>, ErrorObject> {
        Ok(Admission::Handle(AddRequest::VERSION, ()))
    }

    fn classify(&self, _: &Received<'_>) -> Option<Notice<()>> {
        Some(Notice::new(AddRequest::VERSION, ()))
    }
}

fn service() -> Router {
    let sums = Arc::new(Mutex::new(Vec::<Sum>::new()));
    let [added, listed, reset] = [(); 3].map(|()| Arc::clone(&sums));
    Router::new()
        .request::<AddRequest>(move |context: Context, params| {
            let added = Arc::clone(&added);
            async move {
                let (a, b) = match params {
                    AddParams::AddParamsByName(params) => (params.a, params.b),
                    AddParams::AddParamsByPosition(params) => (params.0, params.1),
                };
                let sum = Number::try_from(a.as_f64() + b.as_f64()).ok().filter(|sum| sum.as_f64() < 1e100);
                let Some(sum) = sum else {
                    let _ = context.peer().notify::<OverflowNotification>(OverflowParams::new(a)).await;
                    return Err(ErrorObject::new(TOO_LARGE_ERROR, "The sum is too large"));
                };
                added.lock().expect("no panic").push(Sum::new(sum));
                Ok(Sum::new(sum))
            }
        })
        .request::<ListRequest>(move |_, params| {
            let limit = params.and_then(|params| params.limit).map_or(usize::MAX, |limit| limit.get() as usize);
            let sums = listed.lock().expect("no panic").iter().take(limit).cloned().collect();
            async move { Ok::<Vec<Sum>, ErrorObject>(sums) }
        })
        .notification::<ResetNotification>(move |_, _| {
            reset.lock().expect("no panic").clear();
            async {}
        })
}

#[tokio::test]
async fn a_client_in_another_language_calls_the_service() {
    let Some(mut client) = peers::node("rpc-client.mjs", &[]) else { return };
    let service = service();
    let connection = Connection::new(service, Sums);
    tokio::spawn(connection.run(content_length::receive(client.output, 1 << 20), content_length::send(client.input)));
    let expected = [
        json!({ "step": "by position", "value": { "value": 3.5 } }),
        json!({ "step": "by name", "value": { "value": 7 } }),
        json!({ "step": "wrong params", "value": [-32602, "invalid params: AddParams: params: expected at least 2 items, found 1"] }),
        json!({ "step": "error of the contract", "value": [7, "The sum is too large"] }),
        json!({ "step": "notification", "value": { "a": 1e300 } }),
        json!({ "step": "list", "value": [{ "value": 3.5 }] }),
        json!({ "step": "after the reset", "value": [] }),
    ];
    for expected in expected {
        assert_eq!(client.reports.next().await, expected);
    }
}
