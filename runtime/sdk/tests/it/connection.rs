//! Connections between two peers in one process, and between a peer and a remote end that the test drives.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use mcpgen_sdk::connection::{Connection, Limits};
use mcpgen_sdk::context::Context;
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::peer::{CallError, Peer};
use mcpgen_sdk::protocol::{ContextExt, FixedRevision, Mcp, Progress};
use mcpgen_sdk::router::Router;
use mcpgen_sdk::transport::lines;
use mcpgen_types::v2025_11_25::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ContentBlock, EmptyResult, PingRequest, TextContent,
};
use mcpgen_types::{ErrorCode, ErrorObject, Json, Revision};
use serde_json::json;
use tokio::io::DuplexStream;

use crate::support::{self, RawPeer};

/// Runs a connection over a pipe.
fn run(router: Router, limits: Limits, pipe: DuplexStream) -> Peer {
    support::run(router, Arc::new(FixedRevision(Revision::V2025_11_25)), limits, pipe)
}

/// Connects a client without handlers to a server with these handlers. Returns the client's peer.
fn both(server: Router) -> Peer {
    let (here, there) = tokio::io::duplex(4096);
    run(server, Limits::default(), there);
    run(Router::new(), Limits::default(), here)
}

fn connect(server: Router, limits: Limits) -> (RawPeer, Peer) {
    RawPeer::connect(|pipe| run(server, limits, pipe))
}

fn call(name: &str) -> CallToolRequestParams {
    CallToolRequestParams::new(name)
}

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()])
}

async fn echo(_: Context, params: CallToolRequestParams) -> Result<CallToolResult, ErrorObject> {
    match params.name.as_str() {
        "panic" => panic!("secret"),
        "fail" => Err(ErrorObject::new(-32042, "no").with_data(json!({ "why": 1 }))),
        "hang" => std::future::pending().await,
        name => Ok(text(name)),
    }
}

fn echoes() -> Router {
    Router::new().request::<CallToolRequest>(echo)
}

#[tokio::test]
async fn a_call_returns_the_result_of_its_handler() {
    let peer = both(echoes());
    let result = peer.call::<CallToolRequest>(call("a")).await.expect("a result");
    assert_eq!(result, text("a"));
    let error = peer.call::<CallToolRequest>(call("fail")).await.expect_err("an error");
    let CallError::ErrorResponse(error) = error else { panic!("{error}") };
    assert_eq!((error.code, error.data), (ErrorCode(-32042), Some(json!({ "why": 1 }).into())));
    let error = peer.call::<PingRequest>(None).await.expect_err("no handler");
    assert_eq!(error.to_string(), "unknown method \"ping\" (-32601)");
}

#[tokio::test]
async fn responds_to_invalid_requests_with_error_codes() {
    let (mut remote, _peer) = connect(echoes(), Limits::default());
    let table = [
        ("{", json!({ "id": null, "code": -32700 })),
        ("5", json!({ "id": null, "code": -32600 })),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call"}]"#, json!({ "id": null, "code": -32600 })),
        (r#"{"jsonrpc":"2.0","id":"x","method":"m"}"#, json!({ "id": "x", "code": -32601 })),
        (r#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#, json!({ "id": 2, "code": -32602 })),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"panic"}}"#,
            json!({ "id": 3, "code": -32603 }),
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"fail"}}"#,
            json!({ "id": 4, "code": -32042 }),
        ),
    ];
    for (request, expected) in table {
        let response = remote.request(request).await;
        assert_eq!(
            json!({ "id": response["id"], "code": response["error"]["code"] }),
            expected,
            "{request}: {response}"
        );
        assert!(!response.to_string().contains("secret"), "{response}");
    }
    let response = remote.request(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":5}}"#).await;
    assert_eq!(response["error"]["data"]["path"], "/params/name");
    assert_eq!(
        remote.request(r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a"}}"#).await["id"],
        6
    );
}

#[tokio::test]
async fn rejects_ids_in_use_and_cancels_by_exact_id() {
    let (mut remote, _peer) = connect(echoes(), Limits::default());
    let hang = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#;
    remote.send(hang).await;
    assert_eq!(remote.request(hang).await["error"]["code"], -32600);
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}"#).await;
    assert_eq!(remote.request(hang).await["error"]["code"], -32600, "a string ID is not an integer ID");
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    // The cancelled request has no response, so the next response is that of the next request.
    let response = remote.request(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}"#).await;
    assert_eq!(response["id"], 2);
}

#[tokio::test]
async fn dropping_a_call_cancels_it() {
    let (mut remote, peer) = connect(Router::new(), Limits::default());
    let mut call = peer.call::<CallToolRequest>(call("a"));
    let request = tokio::select! {
        _ = &mut call => panic!("the call has no response"),
        request = remote.receive() => request,
    };
    assert_eq!(request["method"], "tools/call");
    drop(call);
    let cancelled = remote.receive().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
    // A late response is ignored.
    remote.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": {} }).to_string()).await;
    assert_eq!(remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).await["error"]["code"], -32601);
}

/// Returns a router whose handler reports progress in order, out of order and too late.
fn reporting() -> Router {
    Router::new().request::<CallToolRequest>(|context, _| async move {
        for progress in [1.0, 2.0, 2.0, f64::NAN, 1.5, f64::INFINITY, 3.0] {
            context.progress(progress, Some(3.0), Some("on")).await;
        }
        let late = context.clone();
        tokio::spawn(async move {
            late.cancelled().await;
            late.progress(9.0, None, None).await;
        });
        Ok::<_, ErrorObject>(text("done"))
    })
}

#[tokio::test]
async fn progress_increases_until_the_response() {
    let (mut remote, _peer) = connect(reporting(), Limits::default());
    let params = json!({ "name": "a", "_meta": { "progressToken": "t" } });
    remote.send(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()).await;
    for progress in 1..=3 {
        let expected = json!({ "progressToken": "t", "progress": f64::from(progress), "total": 3.0, "message": "on" });
        assert_eq!(remote.receive().await["params"], expected);
    }
    assert_eq!(remote.receive().await["id"], 1);
    // No progress follows the response, and none is sent without a token.
    let response = remote.request(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!(response["id"], 2);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(remote.request(r#"{"jsonrpc":"2.0","id":3,"method":"no/such"}"#).await["id"], 3);
}

#[tokio::test]
async fn reports_progress_before_the_result() {
    let peer = both(reporting());
    let reports = Arc::new(std::sync::Mutex::new(Vec::new()));
    let received = reports.clone();
    let call = peer.request::<CallToolRequest>(call("a")).on_progress(move |report: Progress| {
        received.lock().expect("no panic").push(report.progress);
    });
    call.await.expect("a result");
    assert_eq!(*reports.lock().expect("no panic"), [1.0, 2.0, 3.0]);
}

#[tokio::test(start_paused = true)]
async fn calls_time_out() {
    let (mut remote, peer) = connect(Router::new(), Limits::default());
    let call = peer.request::<CallToolRequest>(call("a")).idle_timeout(Duration::from_secs(1));
    let error = call.await.expect_err("an error");
    assert!(matches!(error, CallError::Timeout { limit, .. } if limit == Duration::from_secs(1)), "{error}");
    remote.receive().await;
    assert_eq!(remote.receive().await["method"], "notifications/cancelled");
}

/// Progress extends the idle timeout, but not the total timeout.
#[tokio::test(start_paused = true)]
async fn progress_extends_only_the_idle_timeout() {
    let router = Router::new().request::<CallToolRequest>(|context, params| async move {
        let steps: u32 = params.name.parse().expect("a number");
        for step in 1..=steps {
            tokio::time::sleep(Duration::from_millis(700)).await;
            context.progress(f64::from(step), None, None).await;
        }
        Ok::<_, ErrorObject>(text("done"))
    });
    let peer = both(router);
    let start = |steps: &str| {
        let call = peer.request::<CallToolRequest>(call(steps)).on_progress(|_: Progress| {});
        call.idle_timeout(Duration::from_secs(1)).timeout(Duration::from_secs(5))
    };
    start("6").await.expect("each step in time");
    let error = start("60").await.expect_err("too many");
    assert!(matches!(error, CallError::Timeout { limit, .. } if limit == Duration::from_secs(5)), "{error}");
    let call = peer.request::<CallToolRequest>(call("1")).timeout(Duration::MAX).idle_timeout(Duration::MAX);
    call.await.expect("a result");
}

/// An invalid response fails the call. The connection sends no error for it, because its ID is that of our own request.
#[tokio::test]
async fn an_invalid_response_fails_the_call() {
    for response in [
        json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "error": null }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": "no" }),
        json!({ "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": 5 }),
    ] {
        let (mut remote, peer) = connect(Router::new(), Limits::default());
        let call = tokio::spawn(peer.call::<PingRequest>(None));
        remote.receive().await;
        remote.send(&response.to_string()).await;
        let error = call.await.expect("no panic").expect_err("an error");
        assert!(matches!(error, CallError::Invalid(_)), "{error}");
        assert_eq!(remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).await["error"]["code"], -32601);
    }
}

#[tokio::test]
async fn dropping_a_connection_closes_it() {
    let (here, there) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(there);
    let protocol = Arc::new(FixedRevision(Revision::V2025_11_25));
    let connection = Connection::new(Router::new(), Mcp::new(protocol)).service(echoes());
    let peer = connection.peer().clone();
    let running = tokio::spawn(connection.run(lines::receive(reader, 1 << 20), lines::send(writer)));
    let mut remote = RawPeer::new(here);
    let call = tokio::spawn(peer.call::<PingRequest>(None));
    remote.receive().await;
    running.abort();
    assert!(matches!(call.await.expect("no panic"), Err(CallError::Closed(_))));
    assert!(remote.is_closed().await);
}

/// A peer that does not read does not keep the connection open.
#[tokio::test(start_paused = true)]
async fn disconnects_from_a_peer_that_does_not_read() {
    let (_wire, peer) = connect(Router::new(), Limits::default());
    let event = Json::from(&json!({ "pad": "x".repeat(100_000) }));
    peer.raw_notify("my/event", Some(event)).await.expect("the queue has space");
    peer.disconnect();
    assert!(matches!(peer.call::<PingRequest>(None).await, Err(CallError::Closed(_))));
}

/// Endless notifications do not delay the responses to requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn endless_messages_do_not_delay_requests() {
    let opened = Arc::new(tokio::sync::Semaphore::new(0));
    let gate = opened.clone();
    let router = Router::new().request::<CallToolRequest>(move |context, params: CallToolRequestParams| {
        let gate = gate.clone();
        async move {
            if params.name == "late" {
                gate.acquire().await.expect("the semaphore is open").forget();
            }
            echo(context, params).await
        }
    });
    let calls = ["late", "next"]
        .map(|name| json!({ "jsonrpc": "2.0", "id": name, "method": "tools/call", "params": { "name": name } }));
    let event = json!({ "jsonrpc": "2.0", "method": "my/event" });
    let messages =
        stream::iter(calls).chain(stream::repeat(event)).map(|message| Ok(message.to_string().into_bytes().into()));
    let (here, there) = tokio::io::duplex(4096);
    let (limits, protocol) = (Limits::default().with_in_flight(1), Arc::new(FixedRevision(Revision::V2025_11_25)));
    let connection = Connection::new(Router::new(), Mcp::new(protocol)).service(router).limits(limits);
    let peer = connection.peer().clone();
    let running = tokio::spawn(connection.run(messages, lines::send(there)));
    let mut remote = RawPeer::new(here);
    opened.add_permits(1);
    let timeout = Duration::from_secs(60);
    for name in ["late", "next"] {
        assert_eq!(tokio::time::timeout(timeout, remote.receive()).await.expect("a response")["id"], name);
    }
    peer.disconnect();
    let closed = tokio::time::timeout(timeout, running).await.expect("closed in time");
    closed.expect("no panic").expect("all messages are written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_concurrent_calls_complete() {
    let peer = both(echoes());
    let calls = (0..10_000).map(|number| {
        let peer = peer.clone();
        tokio::spawn(async move { (number, peer.call::<CallToolRequest>(call(&number.to_string())).await) })
    });
    for response in futures_util::future::join_all(calls).await {
        let (number, result) = response.expect("no panic");
        assert_eq!(result.expect("a result"), text(number.to_string()));
    }
}

/// Counts the threads that have arrived, and wakes those that wait.
#[derive(Default)]
struct Meeting(Mutex<usize>, Condvar);

impl Meeting {
    /// Blocks the thread until a second thread arrives, for at most five seconds. Returns whether one did.
    fn attend(&self) -> bool {
        let mut present = self.0.lock().expect("no panic");
        *present += 1;
        self.1.notify_all();
        let alone = |present: &mut usize| *present < 2;
        !self.1.wait_timeout_while(present, Duration::from_secs(5), alone).expect("no panic").1.timed_out()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn blocking_handlers_run_in_parallel() {
    let meeting = Arc::new(Meeting::default());
    let peer = both(Router::new().request::<CallToolRequest>(move |_: Context, params: CallToolRequestParams| {
        let meeting = Arc::clone(&meeting);
        async move {
            match params.name.as_str() {
                "compute" => std::thread::sleep(Duration::from_millis(20)),
                _ => return Ok(text(meeting.attend().to_string())),
            }
            Ok::<_, ErrorObject>(text("computed"))
        }
    }));
    assert_eq!(peer.call::<CallToolRequest>(call("compute")).await.expect("a result"), text("computed"));
    let (one, other) =
        tokio::join!(peer.call::<CallToolRequest>(call("attend")), peer.call::<CallToolRequest>(call("attend")));
    assert_eq!((one.expect("a result"), other.expect("a result")), (text("true"), text("true")));
}

#[tokio::test]
async fn handlers_that_complete_immediately_need_no_task() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let counted =
        Router::new().request::<CallToolRequest>(move |_: Context, params: CallToolRequestParams| async move {
            if params.name == "later" {
                tokio::task::yield_now().await;
            }
            Ok::<_, ErrorObject>(text(tasks().to_string()))
        });
    let peer = both(counted);
    let mut counts = Vec::new();
    for name in ["now", "later", "now"] {
        let result = peer.call::<CallToolRequest>(call(name)).await.expect("a result");
        let [ContentBlock::TextContent(content)] = result.content.as_slice() else { panic!("{result:?}") };
        counts.push(content.text.parse::<usize>().expect("a number"));
    }
    assert_eq!(counts[1], counts[0] + 1, "{counts:?}");
    assert_eq!(counts[2], counts[0], "{counts:?}");
}

#[tokio::test]
async fn rejects_requests_when_the_queue_is_full() {
    let limits = Limits::default().with_in_flight(1).with_queued_requests(1);
    let (mut remote, _peer) = connect(echoes(), limits);
    for id in 1..=2 {
        remote
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hang"}}}}"#))
            .await;
    }
    let response = remote.request(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(3), &json!(errors::BUSY)));
    // Cancelled requests free their places.
    for id in 1..=2 {
        remote
            .send(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
            .await;
    }
    let response = remote.request(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!((&response["id"], &response["result"]["content"][0]["text"]), (&json!(4), &json!("a")));
}

#[tokio::test]
async fn responds_to_pending_requests_after_the_input_ends() {
    let router = Router::new().request::<PingRequest>(|_, _| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok::<_, ErrorObject>(EmptyResult::default())
    });
    let (mut remote, _peer) = connect(router, Limits::default());
    remote.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    remote.close_output().await;
    assert_eq!(remote.receive().await["id"], 1);
    assert!(remote.is_closed().await);
}

#[tokio::test]
async fn calls_fail_when_the_connection_ends() {
    let (mut remote, peer) = connect(Router::new(), Limits::default());
    let call = peer.call::<CallToolRequest>(call("a"));
    let call = tokio::spawn(call);
    remote.receive().await;
    drop(remote);
    let error = call.await.expect("no panic").expect_err("an error");
    assert!(matches!(error, CallError::Closed(_)), "{error}");
    let error = peer.call::<PingRequest>(None).await.expect_err("closed");
    assert!(matches!(error, CallError::Closed(_)), "{error}");
}

/// Requests of a peer that never reads are accepted up to a limit, and the responses take at most `outbox_bytes`.
#[tokio::test]
async fn bounds_the_outbox_of_a_peer_that_never_reads() {
    let limits = Limits::default().with_outbox_bytes(10_000).with_in_flight(8).with_queued_requests(100);
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let router = Router::new().request::<CallToolRequest>(move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, ErrorObject>(text("x".repeat(4000))) }
    });
    let (mut remote, _peer) = connect(router, limits);
    let flood = async {
        for id in 0..1000 {
            remote
                .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a"}}}}"#))
                .await;
        }
    };
    // The connection stops reading from a peer that does not read.
    assert!(tokio::time::timeout(Duration::from_millis(500), flood).await.is_err());
    let handled = calls.load(Ordering::Relaxed);
    assert!((1..50).contains(&handled), "{handled} handlers ran");
}

/// Invalid lines do not affect the messages between them.
#[tokio::test]
async fn handles_messages_between_invalid_lines() {
    let (mut remote, _peer) = connect(echoes(), Limits::default());
    let garbage =
        ["\u{0}", "]]]]", "{\"jsonrpc\":\"2.0\",\"id\":1", "null", "\"", &"[".repeat(100_000), &"x".repeat(2 << 20)];
    for (id, text) in garbage.into_iter().enumerate() {
        remote.send(text).await;
        remote.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a"}}}}"#)).await;
        let responses = [remote.receive().await, remote.receive().await];
        assert!(
            responses.iter().any(|response| response["id"] == id && response["result"].is_object()),
            "{responses:?}"
        );
        assert!(
            responses.iter().any(|response| response["id"].is_null() && response["error"].is_object()),
            "{responses:?}"
        );
    }
}

#[tokio::test]
async fn rejects_an_incomplete_message() {
    let (mut remote, _peer) = connect(echoes(), Limits::default());
    remote.write(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"na"#).await;
    remote.close_output().await;
    assert_eq!(remote.receive().await["error"]["code"], -32700);
    assert!(remote.is_closed().await);
}

/// Any tower layer works as middleware. These reject some requests and count the others.
#[tokio::test]
async fn accepts_tower_middleware() {
    use mcpgen_sdk::router::AnyRequest;
    use tower::{ServiceBuilder, ServiceExt};

    let counted = Arc::new(AtomicUsize::new(0));
    let counter = counted.clone();
    let service = ServiceBuilder::new()
        .filter(|request: AnyRequest| match &*request.method {
            "tools/list" => Err(ErrorObject::new(-1, "not allowed")),
            _ => Ok(request),
        })
        .service(echoes().map_result(move |response: Result<_, ErrorObject>| {
            counter.fetch_add(1, Ordering::Relaxed);
            response
        }));
    // A boxed service need not be `Sync`.
    let service = tower::util::BoxCloneService::new(service);
    let (mut remote, ()) = RawPeer::connect(|pipe| {
        let protocol = Arc::new(FixedRevision(Revision::V2025_11_25));
        let connection = Connection::new(Router::new(), Mcp::new(protocol)).service(service);
        let (reader, writer) = tokio::io::split(pipe);
        tokio::spawn(connection.run(lines::receive(reader, 1 << 20), lines::send(writer)));
    });
    let response = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(response["error"], json!({ "code": -1, "message": "not allowed" }));
    let response = remote.request(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!(response["result"]["content"][0]["text"], "a");
    assert_eq!(counted.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn custom_methods_use_serde_types() {
    let received = Arc::new(std::sync::Mutex::new(String::new()));
    let handles_notification = received.clone();
    let router = Router::new()
        .custom_request("my/sum", |_, numbers: BTreeMap<String, i64>| async move {
            Ok::<_, ErrorObject>(numbers.values().sum::<i64>())
        })
        .custom_notification("my/event", move |_, events: Vec<String>| {
            let handles_notification = handles_notification.clone();
            async move { *handles_notification.lock().expect("no panic") = events.concat() }
        })
        .fallback(|request| async move { Err(ErrorObject::new(7, request.method)) });
    let peer = both(router);
    let numbers = BTreeMap::from([("a", 1), ("b", 2)]);
    let sum = peer.custom_request::<_, i64>("my/sum", &numbers).expect("JSON").await.expect("a result");
    assert_eq!(sum, 3);
    let error = peer.custom_request::<_, String>("my/sum", &numbers).expect("JSON").await.expect_err("not a string");
    assert!(matches!(error, CallError::Invalid(_)), "{error}");
    let error = peer.custom_request::<_, i64>("my/sum", &["x"]).expect("JSON").await.expect_err("not a map");
    assert!(error.to_string().contains("invalid params"), "{error}");
    peer.raw_notify("my/event", Some(Json::from(&json!(["a", "b"])))).await.expect("sent");
    let error = peer.raw_request("my/other", None).await.expect_err("unknown");
    assert_eq!(error.to_string(), "my/other (7)");
    assert_eq!(*received.lock().expect("no panic"), "ab");
}

#[tokio::test]
async fn reads_the_trace_context_of_a_request() {
    let router = Router::new().request::<CallToolRequest>(|context, _| async move {
        Ok::<_, ErrorObject>(text(format!("{:?} {:?}", context.trace(), context.meta().get("x"))))
    });
    let (mut remote, _peer) = connect(router, Limits::default());
    let meta = json!({ "traceparent": "00-a-b-01", "tracestate": 5, "x": 1 });
    let params = json!({ "name": "a", "_meta": meta });
    let response = remote
        .request(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string())
        .await;
    let text = &response["result"]["content"][0]["text"];
    assert_eq!(text, r#"Trace { parent: Some("00-a-b-01"), state: None, baggage: None } Some(1)"#);
}

/// A handler waits while its notifications are not read. The notifications arrive in order, before the response.
#[tokio::test]
async fn handlers_wait_for_a_slow_reader() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let router = Router::new().request::<CallToolRequest>(move |context, _| {
        let counter = counter.clone();
        async move {
            for number in 0..5000 {
                let params = Json::from(&json!({ "number": number, "pad": "x".repeat(1000) }));
                context.peer().raw_notify("my/event", Some(params)).await.expect("an open connection");
                counter.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, ErrorObject>(text("done"))
        }
    });
    let limits = Limits::default().with_outbox_bytes(20_000);
    let (mut remote, _peer) = connect(router, limits);
    remote.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let ahead = sent.load(Ordering::Relaxed);
    assert!((1..40).contains(&ahead), "{ahead} messages of 1000 bytes in an outbox of 20,000 bytes");
    for number in 0..5000 {
        assert_eq!(remote.receive().await["params"]["number"], number);
    }
    assert_eq!(remote.receive().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn handlers_time_out() {
    let limits = Limits::default()
        .with_handler_timeout(Some(Duration::from_secs(60)))
        .with_handler_timeouts([("tools/call".to_owned(), Duration::from_secs(1))].into());
    let (mut remote, _peer) = connect(echoes(), limits);
    let response = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#).await;
    assert_eq!(response["error"], json!({ "code": errors::TIMED_OUT, "message": "no result within 1s" }));
}

/// A request has one response, even if its cancellation arrives late.
#[tokio::test]
async fn late_cancellations_are_ignored() {
    let (mut remote, _peer) = connect(echoes(), Limits::default());
    let response = remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!(response["id"], 1);
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    let response = remote.request(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}"#).await;
    assert_eq!(response["id"], 2);
}

#[tokio::test]
async fn a_completed_call_is_not_cancelled() {
    let (mut remote, peer) = connect(Router::new(), Limits::default());
    let call = tokio::spawn(peer.call::<PingRequest>(None));
    let id = remote.receive().await["id"].clone();
    remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()).await;
    call.await.expect("no panic").expect("a result");
    assert_eq!(remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).await["error"]["code"], -32601);
}

#[tokio::test]
async fn sends_each_message_on_one_line() {
    let (mut remote, peer) = connect(echoes(), Limits::default());
    let name = "a\nb\r\n\u{2028}\u{85}\u{0}\u{1f600}";
    let params = json!({ "name": name });
    let request = json!({ "jsonrpc": "2.0", "id": "\n", "method": "tools/call", "params": params });
    let response = remote.request(&request.to_string()).await;
    assert_eq!((&response["id"], &response["result"]["content"][0]["text"]), (&json!("\n"), &json!(name)));
    // Raw JSON may contain line breaks.
    let params = Json::parse("{\n\"x\":\r\n[1,\n2]}").expect("JSON");
    peer.raw_notify("my/\n", Some(params)).await.expect("sent");
    let notification = remote.receive().await;
    assert_eq!((&notification["method"], &notification["params"]), (&json!("my/\n"), &json!({ "x": [1, 2] })));
}

#[tokio::test]
async fn ignores_progress_with_unknown_tokens() {
    let (mut remote, peer) = connect(Router::new(), Limits::default());
    let mut tokens = std::collections::BTreeSet::new();
    let mut calls = Vec::new();
    let reports = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let counter = reports.clone();
        let call = peer.request::<CallToolRequest>(call("a")).on_progress(move |_: Progress| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        calls.push(tokio::spawn(call.send()));
        let token = remote.receive().await["params"]["_meta"]["progressToken"].clone();
        assert!(token.is_i64() && tokens.insert(token.to_string()), "{token}");
    }
    // Two of these tokens belong to pending calls.
    for token in [json!(1), json!(2), json!(999), json!("1")] {
        let params = json!({ "progressToken": token, "progress": 1 });
        remote
            .send(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string())
            .await;
    }
    for id in 1..=10 {
        remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } }).to_string()).await;
    }
    for call in calls {
        call.await.expect("no panic").expect("a result");
    }
    assert_eq!(reports.load(Ordering::Relaxed), 2);
}

/// Both peers send so many requests at once that neither has space for its responses. Both continue to read, so no call
/// waits forever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn peers_that_flood_each_other_do_not_deadlock() {
    let limits = Limits::default().with_outbox_bytes(1000).with_in_flight(4);
    let (here, there) = tokio::io::duplex(512);
    let peers = [run(echoes(), limits.clone(), here), run(echoes(), limits, there)];
    let calls = peers.iter().flat_map(|peer| {
        (0..1000).map(|number| {
            let peer = peer.clone();
            tokio::spawn(async move {
                // Every third request has an unknown method, so no handler runs.
                match number % 3 {
                    0 => matches!(peer.call::<PingRequest>(None).await, Err(CallError::ErrorResponse(_))),
                    _ => peer.call::<CallToolRequest>(call("a")).await.is_ok(),
                }
            })
        })
    });
    let all = futures_util::future::join_all(calls);
    let all = tokio::time::timeout(Duration::from_secs(30), all).await.expect("no call waits forever");
    assert!(all.into_iter().all(|succeeded| succeeded.expect("no panic")));
}

/// Handlers and layers can be tested without a connection.
#[tokio::test]
async fn a_router_works_without_a_connection() {
    use mcpgen_sdk::router::AnyRequest;

    let params = Json::from(&json!({ "name": "a" }));
    let context = Context::detached(Revision::V2025_11_25);
    let request = AnyRequest { method: "tools/call".into(), params: Some(params), context };
    let result = echoes().handle_request(request).await.expect("a result");
    assert_eq!(result.decode::<CallToolResult>().expect("a result of tools/call"), text("a"));
    let context = Context::detached(Revision::V2024_11_05);
    let request = AnyRequest { method: "tools/call".into(), params: None, context };
    assert_eq!(echoes().handle_request(request).await.expect_err("no handler").code, ErrorCode::METHOD_NOT_FOUND);
}

/// A handler that hangs does not keep the connection open. Its request receives an error response.
#[tokio::test(start_paused = true)]
async fn closing_waits_for_handlers_up_to_the_drain_time() {
    let (mut remote, _peer) = connect(echoes(), Limits::default().with_drain_timeout(Duration::from_secs(2)));
    remote.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#).await;
    remote.close_output().await;
    let response = remote.receive().await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(1), &json!(errors::CONNECTION_CLOSED)));
    assert!(remote.is_closed().await);
}

#[tokio::test]
async fn bounds_the_bytes_of_queued_notifications() {
    let (handled, proceed) = (Arc::<AtomicUsize>::default(), Arc::new(tokio::sync::Semaphore::new(0)));
    let (counts, waits) = (Arc::clone(&handled), Arc::clone(&proceed));
    let router = echoes().custom_notification("notifications/large", move |_, _: serde_json::Value| {
        let (counts, waits) = (Arc::clone(&counts), Arc::clone(&waits));
        async move {
            waits.acquire().await.expect("open").forget();
            counts.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (mut remote, _peer) = connect(router, Limits::default().with_queued_notification_bytes(350_000));
    let large = json!({ "jsonrpc": "2.0", "method": "notifications/large", "params": { "x": "x".repeat(100_000) } });
    for _ in 0..5 {
        remote.send(&large.to_string()).await;
    }
    remote.request(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#).await;
    proceed.add_permits(5);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(handled.load(Ordering::SeqCst), 2, "three of them exceeded the limit");
    remote.send(&large.to_string()).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(handled.load(Ordering::SeqCst), 3, "the queue has space again");
}
