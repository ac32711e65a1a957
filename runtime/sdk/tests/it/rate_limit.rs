//! Rate limits on tool calls, and replays of request state.

use mcpgen_cluster::InMemoryRateLimiter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcpgen_sdk::protocol::{ContextExt, RouterExt};
use mcpgen_sdk::replicas::{Decision, RateLimiter, StoreError};
use mcpgen_sdk::server::request_state::RequestStateCodec;
use mcpgen_sdk::server::{RequestContext, ToolError};
use mcpgen_sdk::{Context, Limits, Router, Server, ServerBuilder};
use mcpgen_types::JsonRef;
use mcpgen_types::v2026_07_28::{ElicitRequestFormParams, Tool, ToolInputSchema};
use serde_json::{Value, json};

use crate::support::{self, RawPeer};

/// The number of completed payments.
type Payments = Arc<AtomicUsize>;

async fn pay(context: RequestContext, payments: Payments) -> Result<&'static str, ToolError> {
    let params = json!({ "message": "sure?", "requestedSchema": { "type": "object", "properties": {} } });
    let params: ElicitRequestFormParams = mcpgen_types::from_value(params)?;
    context.elicit("sure", params).await?;
    payments.fetch_add(1, Ordering::SeqCst);
    Ok("paid")
}

fn server() -> (ServerBuilder, Payments) {
    let payments = Payments::default();
    let count = Arc::clone(&payments);
    let server = Server::builder("shop", "1")
        .tool(Tool::new("pay", ToolInputSchema::new()), move |context: RequestContext| pay(context, Arc::clone(&count)))
        .tool(Tool::new("echo", ToolInputSchema::new()), || async { "echo" })
        .identity(|context: &Context| {
            context.meta().get("user").and_then(JsonRef::as_str).unwrap_or_default().into_owned()
        });
    (server, payments)
}

struct Session(RawPeer);

impl Session {
    fn open(server: &Server) -> Self {
        let protocol = Arc::new(
            server
                .config()
                .expect("a valid server")
                .protocol(&Router::new().handled(mcpgen_sdk::protocol::Role::Server)),
        );
        let router = server.router();
        Self(RawPeer::connect(|pipe| support::run(router, protocol, Limits::default(), pipe)).0)
    }

    async fn call(&mut self, user: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "user": user,
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
        });
        self.0
            .request(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string())
            .await
    }

    /// Calls `echo` as `user`. Returns whether the rate limit allowed the call.
    async fn may_call(&mut self, user: &str) -> bool {
        let response = self.call(user, json!({ "name": "echo" })).await;
        match response["result"]["isError"] == true {
            false => response["result"]["content"][0]["text"] == "echo",
            true => {
                assert!(text(&response).starts_with("rate limit exceeded; try again in "), "{response}");
                false
            }
        }
    }
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Returns the params of the second round of `pay`.
fn resumed(first: &Value) -> Value {
    let state = &first["result"]["requestState"];
    assert!(state.is_string(), "{first}");
    json!({ "name": "pay", "requestState": state, "inputResponses": { "sure": { "action": "accept" } } })
}

#[tokio::test(start_paused = true)]
async fn charges_resumed_rounds() {
    let (server, payments) = server();
    // A shared key without a replay guard: only the rate limit bounds replays.
    let codec = RequestStateCodec::new([7; 32], Duration::from_secs(60)).expect("a key");
    let mut session = Session::open(
        &server.request_state(codec).rate_limiter(InMemoryRateLimiter::new(3, Duration::from_secs(60))).build(),
    );
    let params = resumed(&session.call("ann", json!({ "name": "pay" })).await);
    for attempt in 0..10 {
        let response = session.call("ann", params.clone()).await;
        match attempt {
            0 | 1 => assert_eq!(text(&response), "paid"),
            _ => assert_eq!(text(&response), "rate limit exceeded; try again in 20 s", "attempt {attempt}"),
        }
    }
    assert_eq!(payments.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn charges_calls_whose_state_is_rejected() {
    let (server, _) = server();
    let mut session = Session::open(&server.rate_limiter(InMemoryRateLimiter::new(4, Duration::from_secs(60))).build());
    let params = resumed(&session.call("ann", json!({ "name": "pay" })).await);
    assert_eq!(text(&session.call("ann", params.clone()).await), "paid");
    // A used state and a forged state are both rejected and both charged.
    assert_eq!(session.call("ann", params.clone()).await["error"]["code"], -32602);
    let forged = json!({ "name": "pay", "requestState": "forged" });
    assert_eq!(session.call("ann", forged).await["error"]["code"], -32602);
    assert!(text(&session.call("ann", params).await).starts_with("rate limit exceeded"));
}

#[tokio::test]
async fn accepts_request_state_once_by_default() {
    let (server, payments) = server();
    let mut session = Session::open(&server.build());
    let params = resumed(&session.call("ann", json!({ "name": "pay" })).await);
    assert_eq!(text(&session.call("ann", params.clone()).await), "paid");
    for _ in 0..5 {
        assert_eq!(session.call("ann", params.clone()).await["error"]["code"], -32602, "replayed");
    }
    assert_eq!(payments.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn limits_each_caller() {
    let (server, _) = server();
    let mut session = Session::open(&server.rate_limiter(InMemoryRateLimiter::new(3, Duration::from_secs(3))).build());
    for (user, expected) in [("ann", true), ("ann", true), ("ann", true), ("ann", false), ("bob", true), ("ann", false)]
    {
        assert_eq!(session.may_call(user).await, expected, "{user}");
    }
    tokio::time::advance(Duration::from_millis(1100)).await;
    assert_eq!([session.may_call("ann").await, session.may_call("ann").await], [true, false], "one call per second");
    // After a period without calls, the full burst is available again.
    tokio::time::advance(Duration::from_secs(7)).await;
    for expected in [true, true, true, false] {
        assert_eq!(session.may_call("ann").await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn reports_the_wait_in_whole_seconds() {
    let (server, _) = server();
    let mut session =
        Session::open(&server.rate_limiter(InMemoryRateLimiter::new(1, Duration::from_millis(2500))).build());
    assert!(session.may_call("ann").await);
    let response = session.call("ann", json!({ "name": "echo" })).await;
    assert_eq!(text(&response), "rate limit exceeded; try again in 3 s");
}

/// A limiter whose store is unavailable.
struct Unavailable;

impl RateLimiter for Unavailable {
    fn check<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Decision, StoreError>> {
        Box::pin(async { Err(StoreError::unavailable("a secret address")) })
    }
}

#[tokio::test]
async fn refuses_calls_while_the_store_is_unavailable() {
    let (server, payments) = server();
    let mut session = Session::open(&server.rate_limiter(Unavailable).build());
    let response = session.call("ann", json!({ "name": "echo" })).await;
    assert_eq!(response["error"]["code"], -32005);
    assert_eq!(response["error"]["message"], "the shared store is unavailable; try again later");
    assert_eq!(payments.load(Ordering::SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn rejects_new_callers_while_the_table_is_full() {
    let (server, _) = server();
    let mut session = Session::open(
        &server.rate_limiter(InMemoryRateLimiter::with_max_callers(2, Duration::from_secs(10), 2)).build(),
    );
    for (user, expected) in [("ann", true), ("bob", true), ("eve", false), ("ann", true), ("bob", true), ("ann", false)]
    {
        assert_eq!(session.may_call(user).await, expected, "{user}");
    }
    tokio::time::advance(Duration::from_secs(20)).await;
    assert!(session.may_call("eve").await, "idle callers were forgotten");
}
