//! Two ends of a connection in one process, and a hand-driven other end.

mod support;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::protocol::FixedRevision;
use mcpgen_runtime::service::context::Context;
use mcpgen_runtime::service::router::Router;
use mcpgen_runtime::transport::lines;
use mcpgen_types::v2025_11_25::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ContentBlock, EmptyResult, PingRequest, TextContent,
};
use mcpgen_types::{ErrorCode, ErrorObject, RawJson, Revision};
use serde_json::json;
use support::Wire;
use tokio::io::DuplexStream;

/// Runs one end over a pipe.
fn run(router: Router, limits: Limits, pipe: DuplexStream) -> Peer {
    support::run(router, Arc::new(FixedRevision(Revision::V2025_11_25)), limits, pipe)
}

/// Both ends: a server with these handlers, and a client that has none.
fn both(server: Router) -> Peer {
    let (here, there) = tokio::io::duplex(4096);
    run(server, Limits::default(), there);
    run(Router::new(), Limits::default(), here)
}

fn wire(server: Router, limits: Limits) -> (Wire, Peer) {
    Wire::to(|pipe| run(server, limits, pipe))
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
async fn a_call_is_answered_by_its_handler() {
    let peer = both(echoes());
    let result = peer.call::<CallToolRequest>(call("a")).await.expect("a result");
    assert_eq!(result, text("a"));
    let error = peer.call::<CallToolRequest>(call("fail")).await.expect_err("an error");
    let CallError::ErrorResponse(error) = error else { panic!("{error}") };
    assert_eq!((error.code, error.data), (ErrorCode(-32042), Some(json!({ "why": 1 }))));
    let error = peer.call::<PingRequest>(None).await.expect_err("no handler");
    assert_eq!(error.to_string(), "unknown method \"ping\" (-32601)");
}

#[tokio::test]
async fn what_goes_wrong_has_its_code_and_the_connection_lives() {
    let (mut wire, _peer) = wire(echoes(), Limits::default());
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
        let answer = wire.ask(request).await;
        assert_eq!(json!({ "id": answer["id"], "code": answer["error"]["code"] }), expected, "{request}: {answer}");
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":5}}"#).await;
    assert_eq!(answer["error"]["data"]["path"], "/params/name");
    assert_eq!(wire.ask(r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a"}}"#).await["id"], 6);
}

#[tokio::test]
async fn an_id_is_answered_once_and_cancelled_by_its_name() {
    let (mut wire, _peer) = wire(echoes(), Limits::default());
    let hang = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#;
    wire.say(hang).await;
    assert_eq!(wire.ask(hang).await["error"]["code"], -32600);
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"1"}}"#).await;
    assert_eq!(wire.ask(hang).await["error"]["code"], -32600, "another id");
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    // No answer to the cancelled one; the next is of the next.
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}"#).await;
    assert_eq!(answer["id"], 2);
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled() {
    let (mut wire, peer) = wire(Router::new(), Limits::default());
    let mut call = peer.call::<CallToolRequest>(call("a"));
    let asked = tokio::select! {
        _ = &mut call => panic!("no answer was given"),
        asked = wire.hear() => asked,
    };
    assert_eq!(asked["method"], "tools/call");
    drop(call);
    let cancelled = wire.hear().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    // An answer that comes late is no news.
    wire.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": {} }).to_string()).await;
    assert_eq!(wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).await["error"]["code"], -32601);
}

/// A handler that reports in order, out of order and too late.
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
async fn progress_increases_until_the_answer() {
    let (mut wire, _peer) = wire(reporting(), Limits::default());
    let params = json!({ "name": "a", "_meta": { "progressToken": "t" } });
    wire.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()).await;
    for progress in 1..=3 {
        let expected = json!({ "progressToken": "t", "progress": f64::from(progress), "total": 3.0, "message": "on" });
        assert_eq!(wire.hear().await["params"], expected);
    }
    assert_eq!(wire.hear().await["id"], 1);
    // Nothing comes behind the answer, and nothing without a token.
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!(answer["id"], 2);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(wire.ask(r#"{"jsonrpc":"2.0","id":3,"method":"no/such"}"#).await["id"], 3);
}

#[tokio::test]
async fn progress_is_told_before_the_result() {
    let peer = both(reporting());
    let reports = Arc::new(std::sync::Mutex::new(Vec::new()));
    let told = reports.clone();
    let call = peer.request::<CallToolRequest>(call("a")).on_progress(move |report| {
        told.lock().expect("no panic").push(report.progress);
    });
    call.await.expect("a result");
    assert_eq!(*reports.lock().expect("no panic"), [1.0, 2.0, 3.0]);
}

#[tokio::test(start_paused = true)]
async fn calls_give_up_in_time() {
    let (mut wire, peer) = wire(Router::new(), Limits::default());
    let call = peer.request::<CallToolRequest>(call("a")).idle_timeout(Duration::from_secs(1));
    let error = call.await.expect_err("no answer");
    assert!(matches!(error, CallError::Timeout(after) if after == Duration::from_secs(1)), "{error}");
    wire.hear().await;
    assert_eq!(wire.hear().await["method"], "notifications/cancelled");
}

/// Progress keeps a call alive, but not for ever.
#[tokio::test(start_paused = true)]
async fn progress_extends_one_timeout_and_not_the_other() {
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
        let call = peer.request::<CallToolRequest>(call(steps)).on_progress(|_| {});
        call.idle_timeout(Duration::from_secs(1)).timeout(Duration::from_secs(5))
    };
    start("6").await.expect("each step in time");
    let error = start("60").await.expect_err("too many");
    assert!(matches!(error, CallError::Timeout(after) if after == Duration::from_secs(5)), "{error}");
    let call = peer.request::<CallToolRequest>(call("1")).timeout(Duration::MAX).idle_timeout(Duration::MAX);
    call.await.expect("for ever is long enough");
}

/// An answer that is none ends the call, and is not answered: its id would be taken for that of another request.
#[tokio::test]
async fn an_invalid_answer_ends_the_call() {
    for answer in [
        json!({ "jsonrpc": "2.0", "id": 1, "result": {}, "error": null }),
        json!({ "jsonrpc": "2.0", "id": 1, "error": "no" }),
        json!({ "id": 1, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 1, "result": 5 }),
    ] {
        let (mut wire, peer) = wire(Router::new(), Limits::default());
        let call = tokio::spawn(peer.call::<PingRequest>(None));
        wire.hear().await;
        wire.say(&answer.to_string()).await;
        let error = call.await.expect("no panic").expect_err("no answer");
        assert!(matches!(error, CallError::Invalid(_)), "{error}");
        assert_eq!(wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).await["error"]["code"], -32601);
    }
}

#[tokio::test]
async fn a_connection_that_is_dropped_ends() {
    let (here, there) = tokio::io::duplex(4096);
    let (reader, writer) = tokio::io::split(there);
    let protocol = Arc::new(FixedRevision(Revision::V2025_11_25));
    let connection = Connection::new(echoes(), Router::new(), protocol, Limits::default());
    let peer = connection.peer().clone();
    let running = tokio::spawn(connection.run(lines::receive(reader, 1 << 20), lines::send(writer)));
    let mut wire = Wire::of(here);
    let call = tokio::spawn(peer.call::<PingRequest>(None));
    wire.hear().await;
    running.abort();
    assert!(matches!(call.await.expect("no panic"), Err(CallError::Closed(_))));
    assert!(wire.is_over().await);
}

/// A peer that does not read cannot keep a connection open.
#[tokio::test(start_paused = true)]
async fn whoever_disconnects_is_gone() {
    let (_wire, peer) = wire(Router::new(), Limits::default());
    let news = RawJson::from(&json!({ "pad": "x".repeat(100_000) }));
    peer.raw_notify("my/news", Some(news)).await.expect("there is room");
    peer.disconnect();
    assert!(matches!(peer.call::<PingRequest>(None).await, Err(CallError::Closed(_))));
}

/// Who never stops talking does not keep others from their turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn endless_messages_hold_up_nothing() {
    let opened = Arc::new(tokio::sync::Semaphore::new(0));
    let gate = opened.clone();
    let router = Router::new().request::<CallToolRequest>(move |context, params: CallToolRequestParams| {
        let gate = gate.clone();
        async move {
            if params.name == "late" {
                gate.acquire().await.expect("nobody closes it").forget();
            }
            echo(context, params).await
        }
    });
    let calls = ["late", "next"]
        .map(|name| json!({ "jsonrpc": "2.0", "id": name, "method": "tools/call", "params": { "name": name } }));
    let news = json!({ "jsonrpc": "2.0", "method": "my/news" });
    let messages =
        stream::iter(calls).chain(stream::repeat(news)).map(|message| Ok(message.to_string().into_bytes().into()));
    let (here, there) = tokio::io::duplex(4096);
    let (limits, protocol) =
        (Limits { in_flight: 1, ..Limits::default() }, Arc::new(FixedRevision(Revision::V2025_11_25)));
    let connection = Connection::new(router, Router::new(), protocol, limits);
    let peer = connection.peer().clone();
    let running = tokio::spawn(connection.run(messages, lines::send(there)));
    let mut wire = Wire::of(here);
    opened.add_permits(1);
    let patience = Duration::from_secs(60);
    for name in ["late", "next"] {
        assert_eq!(tokio::time::timeout(patience, wire.hear()).await.expect("an answer")["id"], name);
    }
    peer.disconnect();
    let ended = tokio::time::timeout(patience, running).await.expect("it ends");
    ended.expect("no panic").expect("all is written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_calls_at_once_are_all_answered() {
    let peer = both(echoes());
    let calls = (0..10_000).map(|number| {
        let peer = peer.clone();
        tokio::spawn(async move { (number, peer.call::<CallToolRequest>(call(&number.to_string())).await) })
    });
    for answer in futures_util::future::join_all(calls).await {
        let (number, result) = answer.expect("no panic");
        assert_eq!(result.expect("a result"), text(number.to_string()));
    }
}

/// Those that are there, and who waits for another one.
#[derive(Default)]
struct Meeting(Mutex<usize>, Condvar);

impl Meeting {
    /// Comes, and blocks its thread until somebody else has come too, or for five seconds. Whether somebody has.
    fn attend(&self) -> bool {
        let mut present = self.0.lock().expect("nobody panics");
        *present += 1;
        self.1.notify_all();
        let alone = |present: &mut usize| *present < 2;
        !self.1.wait_timeout_while(present, Duration::from_secs(5), alone).expect("nobody panics").1.timed_out()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn handlers_that_compute_do_so_beside_each_other() {
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
        tokio::join!(peer.call::<CallToolRequest>(call("meet")), peer.call::<CallToolRequest>(call("meet")));
    assert_eq!((one.expect("a result"), other.expect("a result")), (text("true"), text("true")));
}

#[tokio::test]
async fn what_can_be_answered_at_once_needs_no_task() {
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
        let [ContentBlock::TextContent(said)] = result.content.as_slice() else { panic!("{result:?}") };
        counts.push(said.text.parse::<usize>().expect("a number"));
    }
    assert_eq!(counts[1], counts[0] + 1, "{counts:?}");
    assert_eq!(counts[2], counts[0], "{counts:?}");
}

#[tokio::test]
async fn more_than_can_wait_is_refused() {
    let limits = Limits { in_flight: 1, waiting: 1, ..Limits::default() };
    let (mut wire, _peer) = wire(echoes(), limits);
    for id in 1..=2 {
        wire.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"hang"}}}}"#)).await;
    }
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(errors::BUSY)));
    // What is taken back makes room.
    for id in 1..=2 {
        wire.say(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#))
            .await;
    }
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!(4), &json!("a")));
}

#[tokio::test]
async fn what_was_asked_is_answered_when_nothing_more_comes() {
    let router = Router::new().request::<PingRequest>(|_, _| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Ok::<_, ErrorObject>(EmptyResult::default())
    });
    let (mut wire, _peer) = wire(router, Limits::default());
    wire.say(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await;
    wire.close_output().await;
    assert_eq!(wire.hear().await["id"], 1);
    assert!(wire.is_over().await);
}

#[tokio::test]
async fn calls_end_when_the_connection_does() {
    let (mut wire, peer) = wire(Router::new(), Limits::default());
    let call = peer.call::<CallToolRequest>(call("a"));
    let call = tokio::spawn(call);
    wire.hear().await;
    drop(wire);
    let error = call.await.expect("no panic").expect_err("no answer");
    assert!(matches!(error, CallError::Closed(_)), "{error}");
    let error = peer.call::<PingRequest>(None).await.expect_err("closed");
    assert!(matches!(error, CallError::Closed(_)), "{error}");
}

/// A peer that never reads: its requests are still taken, up to a limit, and no more than the room's bytes wait.
#[tokio::test]
async fn a_peer_that_never_reads_costs_no_more_than_the_room() {
    let limits = Limits { outbox: 10_000, in_flight: 8, waiting: 100, ..Limits::default() };
    let done = Arc::new(AtomicUsize::new(0));
    let counter = done.clone();
    let router = Router::new().request::<CallToolRequest>(move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, ErrorObject>(text("x".repeat(4000))) }
    });
    let (mut wire, _peer) = wire(router, limits);
    let flood = async {
        for id in 0..1000 {
            wire.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a"}}}}"#)).await;
        }
    };
    // It is not read for ever: whoever does not listen is not listened to.
    assert!(tokio::time::timeout(Duration::from_millis(500), flood).await.is_err());
    let answered = done.load(Ordering::Relaxed);
    assert!((1..50).contains(&answered), "{answered} handlers ran");
}

/// What stands between messages spoils none of them.
#[tokio::test]
async fn garbage_between_messages_spoils_nothing() {
    let (mut wire, _peer) = wire(echoes(), Limits::default());
    let garbage =
        ["\u{0}", "]]]]", "{\"jsonrpc\":\"2.0\",\"id\":1", "null", "\"", &"[".repeat(100_000), &"x".repeat(2 << 20)];
    for (id, text) in garbage.into_iter().enumerate() {
        wire.say(text).await;
        wire.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a"}}}}"#)).await;
        let answers = [wire.hear().await, wire.hear().await];
        assert!(answers.iter().any(|answer| answer["id"] == id && answer["result"].is_object()), "{answers:?}");
        assert!(answers.iter().any(|answer| answer["id"].is_null() && answer["error"].is_object()), "{answers:?}");
    }
}

#[tokio::test]
async fn half_a_message_is_no_message() {
    let (mut wire, _peer) = wire(echoes(), Limits::default());
    wire.say_raw(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"na"#).await;
    wire.close_output().await;
    assert_eq!(wire.hear().await["error"]["code"], -32700);
    assert!(wire.is_over().await);
}

/// Any layer of tower's is middleware: this one counts and refuses.
#[tokio::test]
async fn middleware_is_any_layer() {
    use mcpgen_runtime::service::router::AnyRequest;
    use tower::{ServiceBuilder, ServiceExt};

    let counted = Arc::new(AtomicUsize::new(0));
    let counter = counted.clone();
    let service = ServiceBuilder::new()
        .filter(|request: AnyRequest| match &*request.method {
            "tools/list" => Err(ErrorObject::new(-1, "closed today")),
            _ => Ok(request),
        })
        .service(echoes().map_result(move |answer: Result<_, ErrorObject>| {
            counter.fetch_add(1, Ordering::Relaxed);
            answer
        }));
    // Boxed, it need not be shared between threads.
    let service = tower::util::BoxCloneService::new(service);
    let (mut wire, ()) = Wire::to(|pipe| {
        let protocol = Arc::new(FixedRevision(Revision::V2025_11_25));
        let connection = Connection::new(service, Router::new(), protocol, Limits::default());
        let (reader, writer) = tokio::io::split(pipe);
        tokio::spawn(connection.run(lines::receive(reader, 1 << 20), lines::send(writer)));
    });
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await;
    assert_eq!(answer["error"], json!({ "code": -1, "message": "closed today" }));
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!(answer["result"]["content"][0]["text"], "a");
    assert_eq!(counted.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn methods_of_ones_own_have_types_of_serdes() {
    let received = Arc::new(std::sync::Mutex::new(String::new()));
    let handles_notification = received.clone();
    let router = Router::new()
        .custom_request("my/sum", |_, numbers: BTreeMap<String, i64>| async move {
            Ok::<_, ErrorObject>(numbers.values().sum::<i64>())
        })
        .custom_notification("my/news", move |_, news: Vec<String>| {
            let handles_notification = handles_notification.clone();
            async move { *handles_notification.lock().expect("no panic") = news.concat() }
        })
        .fallback(|request| async move { Err(ErrorObject::new(7, request.method)) });
    let peer = both(router);
    let numbers = BTreeMap::from([("a", 1), ("b", 2)]);
    let sum = peer.custom_request::<_, i64>("my/sum", &numbers).expect("JSON").await.expect("a result");
    assert_eq!(sum, 3);
    let error = peer.custom_request::<_, String>("my/sum", &numbers).expect("JSON").await.expect_err("no string");
    assert!(matches!(error, CallError::Invalid(_)), "{error}");
    let error = peer.custom_request::<_, i64>("my/sum", &["x"]).expect("JSON").await.expect_err("no map");
    assert!(error.to_string().contains("invalid params"), "{error}");
    peer.raw_notify("my/news", Some(RawJson::from(&json!(["a", "b"])))).await.expect("sent");
    let error = peer.raw_request("my/other", None).await.expect_err("unknown");
    assert_eq!(error.to_string(), "my/other (7)");
    assert_eq!(*received.lock().expect("no panic"), "ab");
}

#[tokio::test]
async fn a_request_says_which_trace_it_is_a_part_of() {
    let router = Router::new().request::<CallToolRequest>(|context, _| async move {
        Ok::<_, ErrorObject>(text(format!("{:?} {:?}", context.trace(), context.meta().get("x"))))
    });
    let (mut wire, _peer) = wire(router, Limits::default());
    let meta = json!({ "traceparent": "00-a-b-01", "tracestate": 5, "x": 1 });
    let params = json!({ "name": "a", "_meta": meta });
    let answer =
        wire.ask(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()).await;
    let said = &answer["result"]["content"][0]["text"];
    assert_eq!(said, r#"Trace { parent: Some("00-a-b-01"), state: None, baggage: None } Some(Number(1))"#);
}

/// A handler that says more than is read waits; what it says comes in order, and the answer last.
#[tokio::test]
async fn a_handler_that_floods_waits_for_its_reader() {
    let said = Arc::new(AtomicUsize::new(0));
    let counter = said.clone();
    let router = Router::new().request::<CallToolRequest>(move |context, _| {
        let counter = counter.clone();
        async move {
            for number in 0..5000 {
                let params = RawJson::from(&json!({ "number": number, "pad": "x".repeat(1000) }));
                context.peer().raw_notify("my/news", Some(params)).await.expect("the peer is there");
                counter.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, ErrorObject>(text("done"))
        }
    });
    let limits = Limits { outbox: 20_000, ..Limits::default() };
    let (mut wire, _peer) = wire(router, limits);
    wire.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let ahead = said.load(Ordering::Relaxed);
    assert!((1..40).contains(&ahead), "{ahead} messages of 1000 bytes where 20,000 have room");
    for number in 0..5000 {
        assert_eq!(wire.hear().await["params"]["number"], number);
    }
    assert_eq!(wire.hear().await["id"], 1);
}

#[tokio::test(start_paused = true)]
async fn handlers_have_so_long_and_no_longer() {
    let limits = Limits {
        handler: Some(Duration::from_secs(60)),
        handlers: [("tools/call".to_owned(), Duration::from_secs(1))].into(),
        ..Limits::default()
    };
    let (mut wire, _peer) = wire(echoes(), limits);
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#).await;
    assert_eq!(answer["error"], json!({ "code": errors::TIMED_OUT, "message": "no result within 1s" }));
}

/// However the two cross, a call has one end.
#[tokio::test]
async fn late_cancellations_are_ignored() {
    let (mut wire, _peer) = wire(echoes(), Limits::default());
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#).await;
    assert_eq!(answer["id"], 1);
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#).await;
    let answer = wire.ask(r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"b"}}"#).await;
    assert_eq!(answer["id"], 2);
}

#[tokio::test]
async fn an_answered_call_is_not_cancelled() {
    let (mut wire, peer) = wire(Router::new(), Limits::default());
    let call = tokio::spawn(peer.call::<PingRequest>(None));
    let id = wire.hear().await["id"].clone();
    wire.say(&json!({ "jsonrpc": "2.0", "id": id, "result": {} }).to_string()).await;
    call.await.expect("no panic").expect("a result");
    assert_eq!(wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#).await["error"]["code"], -32601);
}

#[tokio::test]
async fn messages_leave_on_one_line() {
    let (mut wire, peer) = wire(echoes(), Limits::default());
    let said = "a\nb\r\n\u{2028}\u{85}\u{0}\u{1f600}";
    let params = json!({ "name": said });
    let request = json!({ "jsonrpc": "2.0", "id": "\n", "method": "tools/call", "params": params });
    let answer = wire.ask(&request.to_string()).await;
    assert_eq!((&answer["id"], &answer["result"]["content"][0]["text"]), (&json!("\n"), &json!(said)));
    // Raw JSON may have been written on several lines.
    let params = RawJson::try_from("{\n\"x\":\r\n[1,\n2]}".to_owned()).expect("JSON");
    peer.raw_notify("my/\n", Some(params)).await.expect("sent");
    let notification = wire.hear().await;
    assert_eq!((&notification["method"], &notification["params"]), (&json!("my/\n"), &json!({ "x": [1, 2] })));
}

#[tokio::test]
async fn tokens_of_progress_are_those_of_open_requests() {
    let (mut wire, peer) = wire(Router::new(), Limits::default());
    let mut tokens = std::collections::BTreeSet::new();
    let mut calls = Vec::new();
    let reports = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let counter = reports.clone();
        let call = peer.request::<CallToolRequest>(call("a")).on_progress(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        calls.push(tokio::spawn(call.send()));
        let token = wire.hear().await["params"]["_meta"]["progressToken"].clone();
        assert!(token.is_i64() && tokens.insert(token.to_string()), "{token}");
    }
    // Two of these are of calls that are open.
    for token in [json!(1), json!(2), json!(999), json!("1")] {
        let params = json!({ "progressToken": token, "progress": 1 });
        wire.say(&json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }).to_string()).await;
    }
    for id in 1..=10 {
        wire.say(&json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } }).to_string()).await;
    }
    for call in calls {
        call.await.expect("no panic").expect("a result");
    }
    assert_eq!(reports.load(Ordering::Relaxed), 2);
}

/// Both sides ask so much at once that neither finds room for its answers: they go on reading, and so nobody waits for
/// ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_that_flood_each_other_get_their_answers() {
    let limits = Limits { outbox: 1000, in_flight: 4, ..Limits::default() };
    let (here, there) = tokio::io::duplex(512);
    let peers = [run(echoes(), limits.clone(), here), run(echoes(), limits, there)];
    let calls = peers.iter().flat_map(|peer| {
        (0..1000).map(|number| {
            let peer = peer.clone();
            tokio::spawn(async move {
                // Every third is unknown, and answered without a handler.
                match number % 3 {
                    0 => matches!(peer.call::<PingRequest>(None).await, Err(CallError::ErrorResponse(_))),
                    _ => peer.call::<CallToolRequest>(call("a")).await.is_ok(),
                }
            })
        })
    });
    let all = futures_util::future::join_all(calls);
    let all = tokio::time::timeout(Duration::from_secs(30), all).await.expect("nobody waits for ever");
    assert!(all.into_iter().all(|answered| answered.expect("no panic")));
}

/// Handlers and layers can be tried without a connection.
#[tokio::test]
async fn a_router_answers_by_itself() {
    use mcpgen_runtime::service::router::AnyRequest;

    let params = RawJson::from(&json!({ "name": "a" }));
    let context = Context::detached(Revision::V2025_11_25);
    let request = AnyRequest { method: "tools/call".into(), params: Some(params), context };
    let result = echoes().answer(request).await.expect("a result");
    assert_eq!(result.decode::<CallToolResult>().expect("a result of tools/call"), text("a"));
    let context = Context::detached(Revision::V2024_11_05);
    let request = AnyRequest { method: "tools/call".into(), params: None, context };
    assert_eq!(echoes().answer(request).await.expect_err("no handler").code, ErrorCode::METHOD_NOT_FOUND);
}

/// Whoever hangs keeps no connection open; who asked is told.
#[tokio::test(start_paused = true)]
async fn the_end_is_not_waited_for_without_end() {
    let (mut wire, _peer) = wire(echoes(), Limits { drain: Duration::from_secs(2), ..Limits::default() });
    wire.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}"#).await;
    wire.close_output().await;
    let answer = wire.hear().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(errors::CONNECTION_CLOSED)));
    assert!(wire.is_over().await);
}

#[tokio::test]
async fn bounds_the_bytes_of_notifications_that_wait_for_their_handlers() {
    let (handled, go_on) = (Arc::<AtomicUsize>::default(), Arc::new(tokio::sync::Semaphore::new(0)));
    let (counts, waits) = (Arc::clone(&handled), Arc::clone(&go_on));
    let router = echoes().custom_notification("notifications/large", move |_, _: serde_json::Value| {
        let (counts, waits) = (Arc::clone(&counts), Arc::clone(&waits));
        async move {
            waits.acquire().await.expect("open").forget();
            counts.fetch_add(1, Ordering::SeqCst);
        }
    });
    let (mut wire, _peer) = wire(router, Limits { notification_bytes: 250_000, ..Limits::default() });
    let large = json!({ "jsonrpc": "2.0", "method": "notifications/large", "params": { "x": "x".repeat(100_000) } });
    for _ in 0..5 {
        wire.say(&large.to_string()).await;
    }
    wire.ask(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#).await;
    go_on.add_permits(5);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(handled.load(Ordering::SeqCst), 2, "three of them had no room");
    wire.say(&large.to_string()).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(handled.load(Ordering::SeqCst), 3, "there is room again");
}
