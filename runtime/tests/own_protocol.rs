//! A custom protocol on a connection: its hooks, the order of messages, and random interleavings.

#[path = "support/raw_peer.rs"]
mod raw_peer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::protocol::{Admission, Cancellation, Effect, Notice, Protocol, Received, Rules, Sending};
use mcpgen_runtime::transport::lines;
use mcpgen_runtime::{Context, Router};
use mcpgen_types::{ErrorCode, ErrorObject, Json, RequestId, Version};
use proptest::prelude::*;
use raw_peer::RawPeer;
use serde_json::{Value, json};
use tokio::io::DuplexStream;

/// A protocol like those of editors: cancelled requests get an error, and progress has the ID of its request.
struct Editor;

const VERSION: Version = Version::new("1");

impl Protocol for Editor {
    type Scope = ();

    fn rules(&self) -> Rules {
        Rules {
            null_params: true,
            cancelled: Some(ErrorObject::new(ErrorCode(-32800), "cancelled")),
            ..Rules::default()
        }
    }

    fn admit(&self, request: &Received<'_>) -> Result<Admission<()>, ErrorObject> {
        match request.method {
            "version" => Ok(Admission::Respond(json!("1").into())),
            "forbidden" => Err(errors::invalid_request("it is forbidden")),
            _ => Ok(Admission::Handle(VERSION, ())),
        }
    }

    fn classify(&self, notification: &Received<'_>) -> Option<Notice<()>> {
        let id = |name: &str| notification.param(name).and_then(|id| id.decode().ok());
        let effect = match notification.method {
            "$/cancel" => id("id").map(Effect::Cancel),
            "$/progress" => id("token").zip(notification.param("value")).map(|(id, value)| Effect::Progress(id, value)),
            _ => None,
        };
        Some(Notice::new(VERSION, ()).with_effect(effect.unwrap_or(Effect::None)))
    }

    fn before_send(&self, message: &mut Sending<'_>) -> Result<(), CallError> {
        match message.id.filter(|_| message.wants_progress).cloned() {
            Some(id) => message.set_param("token", &id),
            None => Ok(()),
        }
    }

    fn cancellation(&self, id: &RequestId, _: Option<&Context>) -> Option<Cancellation> {
        Some(Cancellation::new("$/cancel", &Json::from(&json!({ "id": mcpgen_types::to_value(id).ok()? }))))
    }
}

fn run(router: Router, limits: Limits, pipe: DuplexStream) -> Peer {
    let connection = Connection::new(router, Editor).limits(limits);
    let peer = connection.peer().clone();
    let (reader, writer) = tokio::io::split(pipe);
    tokio::spawn(connection.run(lines::receive(reader, 1 << 20), lines::send(writer)));
    peer
}

/// Connects two routers.
fn connect(here: Router, there: Router, limits: Limits) -> Peer {
    let (left, right) = tokio::io::duplex(4096);
    run(there, Limits::default(), right);
    run(here, limits, left)
}

async fn call(peer: &Peer, method: &str, params: Value) -> Result<Value, CallError> {
    let result = peer.raw_request(method, Some(params.into())).await?;
    Ok(serde_json::from_str(result.text()).expect("JSON"))
}

/// Sends `count` updates, then responds with the number.
fn updates() -> Router {
    Router::new().custom_request("updates", |context: Context, count: Vec<u32>| async move {
        for number in 0..count[0] {
            let sent = context.peer().custom_notify("update", &json!([number])).await;
            sent.map_err(|error| errors::invalid_request(&error.to_string()))?;
        }
        Ok::<_, ErrorObject>(count[0])
    })
}

#[tokio::test]
async fn requests_follow_the_rules_of_the_protocol() {
    let router = Router::new()
        .custom_request("echo", |_, params: Value| async { Ok::<_, ErrorObject>(params) })
        .custom_request("never", |_, (): ()| std::future::pending::<Result<(), ErrorObject>>());
    let (mut raw, _peer) = RawPeer::connect(|pipe| run(router, Limits::default(), pipe));
    let table = [
        (json!({ "method": "echo", "params": [1] }), json!({ "result": [1] })),
        (json!({ "method": "echo", "params": null }), json!({ "result": null })),
        (json!({ "method": "version" }), json!({ "result": "1" })),
        (json!({ "method": "forbidden" }), json!({ "error": { "code": -32600, "message": "it is forbidden" } })),
        (json!({ "method": "never" }), json!({ "error": { "code": -32800, "message": "cancelled" } })),
    ];
    for (mut request, mut expected) in table {
        for part in [&mut request, &mut expected] {
            part["jsonrpc"] = json!("2.0");
            part["id"] = json!(1);
        }
        raw.send(&request.to_string()).await;
        if request["method"] == "never" {
            raw.send(r#"{"jsonrpc":"2.0","method":"$/cancel","params":{"id":1}}"#).await;
        }
        assert_eq!(raw.receive().await, expected);
    }
}

#[tokio::test]
async fn calls_follow_the_rules_of_the_protocol() {
    let (mut raw, peer) = RawPeer::connect(|pipe| run(Router::new(), Limits::default(), pipe));
    let reports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&reports);
    let request = peer.raw_request("build", None);
    let call = request.on_progress(move |done: i64| seen.lock().expect("no panic").push(done)).send();
    let sent = raw.receive().await;
    assert_eq!(
        sent,
        json!({ "jsonrpc": "2.0", "id": sent["id"], "method": "build", "params": { "token": sent["id"] } })
    );
    for value in [json!(1), json!("not a number"), json!(2)] {
        let report =
            json!({ "jsonrpc": "2.0", "method": "$/progress", "params": { "token": sent["id"], "value": value } });
        raw.send(&report.to_string()).await;
    }
    raw.send(&json!({ "jsonrpc": "2.0", "id": sent["id"], "result": null }).to_string()).await;
    assert_eq!(call.await.expect("a result").text(), "null");
    assert_eq!(*reports.lock().expect("no panic"), [1, 2]);
    let dropped = peer.raw_request("build", None).send();
    let sent = raw.receive().await;
    drop(dropped);
    assert_eq!(raw.receive().await, json!({ "jsonrpc": "2.0", "method": "$/cancel", "params": { "id": sent["id"] } }));
}

/// A call goes on only after the handlers of earlier notifications, even if they take a while.
#[tokio::test(start_paused = true)]
async fn notifications_are_handled_before_a_later_response() {
    let handled = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&handled);
    let here = Router::new().custom_notification("update", move |_, _: Vec<u32>| {
        let count = Arc::clone(&count);
        async move {
            tokio::time::sleep(Duration::from_millis(10)).await;
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let peer = connect(here, updates(), Limits::default());
    for calls in 1..=12 {
        assert_eq!(call(&peer, "updates", json!([4])).await.expect("a result"), 4);
        assert_eq!(handled.load(Ordering::SeqCst), 4 * calls);
    }
}

/// A handler that exceeds the limit does not hold up calls, and later calls do not wait for it again.
#[tokio::test(start_paused = true)]
async fn the_wait_for_notifications_is_bounded() {
    let handler = |_, _: Vec<u32>| tokio::time::sleep(Duration::from_secs(60));
    for (limit, expected) in [(Some(Duration::from_secs(2)), [2, 0]), (None, [60, 60])] {
        let here = Router::new().custom_notification("update", handler);
        let peer = connect(here, updates(), Limits::default().with_notification_wait(limit));
        for seconds in expected {
            let started = tokio::time::Instant::now();
            call(&peer, "updates", json!([1])).await.expect("a result");
            assert_eq!(started.elapsed().as_secs(), seconds, "{limit:?}");
        }
    }
}

/// A notification handler can call the peer, because such a call does not wait for the handler.
#[tokio::test(start_paused = true)]
async fn handlers_of_notifications_can_call_the_peer() {
    let results = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&results);
    let here = Router::new().custom_notification("update", move |context: Context, number: Vec<u32>| {
        let seen = Arc::clone(&seen);
        async move {
            let result = call(&context.peer(), "updates", json!([0])).await.expect("a result");
            seen.lock().expect("no panic").push((number[0], result));
        }
    });
    let limits = Limits::default().with_notification_wait(None);
    let peer = connect(here, updates(), limits);
    call(&peer, "updates", json!([3])).await.expect("a result");
    assert_eq!(*results.lock().expect("no panic"), [(0, json!(0)), (1, json!(0)), (2, json!(0))]);
}

/// A request is handled after the notifications that arrived before it.
#[tokio::test(start_paused = true)]
async fn requests_see_earlier_notifications() {
    let text = Arc::new(Mutex::new(String::new()));
    let (edited, read) = (Arc::clone(&text), text);
    let router = Router::new()
        .custom_notification("edit", move |_, edit: Vec<String>| {
            let edited = Arc::clone(&edited);
            async move {
                tokio::time::sleep(Duration::from_millis(10)).await;
                edited.lock().expect("no panic").push_str(&edit[0]);
            }
        })
        .custom_request("read", move |_, (): ()| {
            let text = read.lock().expect("no panic").clone();
            async move { Ok::<_, ErrorObject>(text) }
        });
    let (mut raw, _peer) = RawPeer::connect(|pipe| run(router, Limits::default(), pipe));
    for letter in ["a", "b", "c"] {
        raw.send(&json!({ "jsonrpc": "2.0", "method": "edit", "params": [letter] }).to_string()).await;
    }
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"read"}"#).await;
    assert_eq!(raw.receive().await["result"], "abc");
}

/// A request can be cancelled while it waits for notifications, and a call that waits keeps its timeout.
#[tokio::test(start_paused = true)]
async fn waiting_for_notifications_has_the_limits_of_requests_and_calls() {
    let router = Router::new()
        .custom_notification("update", |_, _: Value| std::future::pending())
        .custom_request("read", |_, (): ()| async { Ok::<_, ErrorObject>(()) });
    let limits = || Limits::default().with_notification_wait(None);
    let (mut raw, _peer) = RawPeer::connect(|pipe| run(router.clone(), limits(), pipe));
    raw.send(r#"{"jsonrpc":"2.0","method":"update"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","id":1,"method":"read"}"#).await;
    raw.send(r#"{"jsonrpc":"2.0","method":"$/cancel","params":{"id":1}}"#).await;
    assert_eq!(raw.receive().await["error"]["code"], -32800);
    let peer = connect(router, updates(), limits());
    let started = tokio::time::Instant::now();
    let request = peer.raw_request("updates", Some(json!([1]).into())).timeout(Duration::from_secs(5));
    request.await.expect("the response arrived in time");
    assert_eq!(started.elapsed(), Duration::from_secs(5));
}

/// Like all others, responses to cancelled requests wait while the peer does not read.
#[tokio::test(start_paused = true)]
async fn cancelling_queued_requests_does_not_exceed_the_outbox() {
    let router = Router::new().custom_request("never", |_, (): ()| std::future::pending::<Result<(), ErrorObject>>());
    let limits = Limits::default().with_in_flight(1).with_queued_requests(4).with_outbox_bytes(256);
    let (raw, _peer) = RawPeer::connect(|pipe| run(router, limits, pipe));
    let (mut reader, mut writer) = raw.split();
    let sent = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&sent);
    let writing = tokio::spawn(async move {
        for id in 0..10_000 {
            writer.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "never" }).to_string()).await;
            writer.send(&json!({ "jsonrpc": "2.0", "method": "$/cancel", "params": { "id": id } }).to_string()).await;
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(sent.load(Ordering::SeqCst) < 1_000, "the connection stops reading");
    let mut answered = BTreeSet::new();
    while answered.len() < 10_000 {
        let response = reader.receive().await;
        // A request is refused if the queue is full of responses.
        let code = response["error"]["code"].as_i64();
        assert!(matches!(code, Some(-32800 | errors::BUSY)), "{response}");
        assert!(answered.insert(response["id"].as_u64().expect("an ID")), "{response}");
    }
    writing.await.expect("no panic");
}

/// A message from the remote end, and what its handler does.
#[derive(Clone, Debug)]
enum Step {
    /// A request whose handler takes this many milliseconds, and then fails if told to.
    Request { takes: u64, fails: bool },
    /// A notification whose handler takes this many milliseconds.
    Notification { takes: u64 },
    /// Cancels an earlier request.
    Cancel(prop::sample::Index),
    /// A call from this end, to which the remote end responds.
    Call,
    /// Time that passes.
    Pause(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let takes = || prop_oneof![3 => Just(0), 1 => 1..30u64];
    prop_oneof![
        4 => (takes(), any::<bool>()).prop_map(|(takes, fails)| Step::Request { takes, fails }),
        3 => takes().prop_map(|takes| Step::Notification { takes }),
        2 => any::<prop::sample::Index>().prop_map(Step::Cancel),
        2 => Just(Step::Call),
        1 => (0..20u64).prop_map(Step::Pause),
    ]
}

/// What has happened: the notifications in the order in which they were handled, and for each call the number of
/// notifications that were handled when it went on.
#[derive(Debug, Default)]
struct Seen {
    notifications: Vec<u64>,
    calls: Vec<(u64, usize)>,
}

/// Runs the steps. Checks that each request gets one response, that notifications are handled in order, and that each
/// call goes on after the notifications before its response.
async fn check(steps: &[Step]) {
    let seen = Arc::new(Mutex::new(Seen::default()));
    let on_notification = Arc::clone(&seen);
    let router = Router::new()
        .custom_request("work", |_, (takes, fails): (u64, bool)| async move {
            tokio::time::sleep(Duration::from_millis(takes)).await;
            if fails { Err(errors::invalid_request("told to fail")) } else { Ok(takes) }
        })
        .custom_notification("note", move |_, (number, takes): (u64, u64)| {
            let seen = Arc::clone(&on_notification);
            async move {
                tokio::time::sleep(Duration::from_millis(takes)).await;
                seen.lock().expect("no panic").notifications.push(number);
            }
        });
    let limits = Limits::default().with_notification_wait(None).with_in_flight(4);
    let (raw, peer) = RawPeer::connect(|pipe| run(router, limits, pipe));
    let (mut reader, mut writer) = raw.split();
    let (mut requests, mut cancelled) = (BTreeMap::new(), BTreeSet::new());
    let (mut notes, mut calls, mut expected_calls) = (0, Vec::new(), BTreeMap::new());
    let mut answers: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    let note = |answers: &mut BTreeMap<u64, Vec<Value>>, message: Value| {
        let id = message["id"].as_u64().expect("an ID");
        answers.entry(id).or_default().push(message);
    };
    for (number, step) in (1_000u64..).zip(steps) {
        match step {
            Step::Request { takes, fails } => {
                let params = json!([takes, fails]);
                writer
                    .send(&json!({ "jsonrpc": "2.0", "id": number, "method": "work", "params": params }).to_string())
                    .await;
                requests.insert(number, (*takes, *fails));
            }
            Step::Notification { takes } => {
                let params = json!([notes, takes]);
                writer.send(&json!({ "jsonrpc": "2.0", "method": "note", "params": params }).to_string()).await;
                notes += 1;
            }
            Step::Cancel(index) if !requests.is_empty() => {
                let id = *requests.keys().nth(index.index(requests.len())).expect("a request");
                writer
                    .send(&json!({ "jsonrpc": "2.0", "method": "$/cancel", "params": { "id": id } }).to_string())
                    .await;
                cancelled.insert(id);
            }
            Step::Cancel(_) => {}
            Step::Call => {
                let seen = Arc::clone(&seen);
                let call = peer.raw_request("ask", None).send();
                let RequestId::Integer(id) = *call.id() else { panic!("an integer") };
                calls.push(tokio::spawn(async move {
                    call.await.expect("a result");
                    let mut seen = seen.lock().expect("no panic");
                    let handled = seen.notifications.len();
                    seen.calls.push((u64::try_from(id).expect("positive"), handled));
                }));
                loop {
                    let message = reader.receive().await;
                    if message["method"] == "ask" {
                        writer.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} }).to_string()).await;
                        expected_calls.insert(u64::try_from(id).expect("positive"), notes as usize);
                        break;
                    }
                    note(&mut answers, message);
                }
            }
            Step::Pause(milliseconds) => tokio::time::sleep(Duration::from_millis(*milliseconds)).await,
        }
    }
    while answers.len() < requests.len() {
        note(&mut answers, reader.receive().await);
    }
    for call in calls {
        call.await.expect("no panic");
    }
    // A second response to any request would precede the response to this one, which waits for all notifications.
    writer.send(r#"{"jsonrpc":"2.0","id":1,"method":"work","params":[0,false]}"#).await;
    assert_eq!(reader.receive().await["id"], 1);
    for (id, responses) in &answers {
        let (takes, fails) = requests[id];
        let [response] = responses.as_slice() else { panic!("{id}: {responses:?}") };
        let code = response["error"]["code"].as_i64();
        let was_cancelled = cancelled.contains(id) && code == Some(-32800);
        let as_told = if fails { code == Some(-32600) } else { response["result"] == takes };
        assert!(was_cancelled || as_told, "{response}");
    }
    let seen = seen.lock().expect("no panic");
    assert_eq!(seen.notifications, (0..notes).collect::<Vec<u64>>());
    for (id, handled) in &seen.calls {
        assert!(*handled >= expected_calls[id], "call {id}: {handled} of {}", expected_calls[id]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if std::env::var_os("MCPGEN_THOROUGH").is_some() { 2_000 } else { 200 }, ..ProptestConfig::default() })]

    #[test]
    fn interleaved_messages_are_answered_once_and_in_order(steps in prop::collection::vec(step(), 0..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().expect("a runtime");
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(3600), check(&steps)).await.expect("no deadlock") });
    }
}
