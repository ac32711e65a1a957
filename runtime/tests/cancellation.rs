//! Requests end when they are cancelled or time out, whatever their handlers are doing then.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use mcpgen_runtime::protocol::FixedRevision;
use mcpgen_runtime::service::context::Context;
use mcpgen_runtime::{Limits, Router};
use mcpgen_types::{ErrorObject, Revision};
use serde_json::{Value, json};
use support::Wire;

/// Counts handlers that have been dropped.
#[derive(Clone, Default)]
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Panics when it is dropped while nothing else panics.
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("dropped");
        }
    }
}

/// Reports progress until it is dropped.
async fn report(context: Context) {
    for step in 0..1_000_000 {
        context.progress(f64::from(step), None, Some(&"x".repeat(500))).await;
    }
}

fn router(dropped: &Arc<AtomicUsize>) -> Router {
    let dropped = Arc::clone(dropped);
    Router::new()
        .custom_request("report", move |context: Context, _: Value| {
            let dropped = Dropped(Arc::clone(&dropped));
            async move {
                report(context).await;
                drop(dropped);
                Ok::<_, ErrorObject>(json!({}))
            }
        })
        .custom_request("spawn", |context: Context, _: Value| async move {
            tokio::spawn(report(context));
            std::future::pending::<Result<Value, ErrorObject>>().await
        })
        .custom_request("panic_in_drop", |_, _: Value| async {
            let _panics = PanicsInDrop;
            std::future::pending::<Result<Value, ErrorObject>>().await
        })
        .custom_request("echo", |_, params: Value| async move { Ok::<_, ErrorObject>(params) })
        .custom_notification("notifications/panic_in_drop", |_, _: Value| async {
            let _panics = PanicsInDrop;
            std::future::pending().await
        })
}

/// A connection with one place for requests and an outbox that two reports fill; nothing is read unless the test does.
fn wire(handler: Option<Duration>, more: impl FnOnce(Router) -> Router) -> (Wire, Arc<AtomicUsize>) {
    let dropped = Arc::<AtomicUsize>::default();
    let limits = Limits { outbox: 1024, in_flight: 1, handler, ..Limits::default() };
    let (here, there) = tokio::io::duplex(64);
    support::run(more(router(&dropped)), Arc::new(FixedRevision(Revision::V2025_11_25)), limits, there);
    (Wire::of(here), dropped)
}

fn request(id: u32, method: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "_meta": { "progressToken": id } } }).to_string()
}

fn cancel(id: u32) -> String {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }).to_string()
}

/// Reads up to the answer to a request.
async fn answer(wire: &mut Wire, id: u32) -> Value {
    loop {
        let message = wire.hear().await;
        if message["id"] == id {
            return message;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn drops_a_cancelled_handler_that_waits_for_room() {
    for method in ["report", "spawn"] {
        let (mut wire, dropped) = wire(None, |router| router);
        wire.say(&request(1, method)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        wire.say(&cancel(1)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(dropped.load(Ordering::SeqCst), usize::from(method == "report"), "nothing has been read yet");
        wire.say(&request(2, "echo")).await;
        assert!(answer(&mut wire, 2).await.get("result").is_some(), "{method}");
        // The id is free again.
        wire.say(&request(1, "echo")).await;
        assert!(answer(&mut wire, 1).await.get("result").is_some(), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn answers_a_timed_out_request_whose_handler_waits_for_room() {
    let (mut wire, dropped) = wire(Some(Duration::from_secs(1)), |router| router);
    wire.say(&request(1, "report")).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 1, "nothing has been read yet");
    let timed_out = answer(&mut wire, 1).await;
    assert_eq!(timed_out["error"]["message"], "no result within 1s");
    assert!(wire.ask(&request(2, "echo")).await.get("result").is_some());
}

#[tokio::test(start_paused = true)]
async fn answers_a_timed_out_request_whose_handler_panics_in_drop() {
    let (mut wire, _) = wire(Some(Duration::from_secs(1)), |router| router);
    let failed = wire.ask(&request(1, "panic_in_drop")).await;
    assert_eq!((&failed["id"], &failed["error"]["code"]), (&json!(1), &json!(-32603)));
    assert!(wire.ask(&request(1, "echo")).await.get("result").is_some());
}

#[tokio::test(start_paused = true)]
async fn frees_a_cancelled_request_whose_handler_panics_in_drop() {
    let (mut wire, _) = wire(None, |router| router);
    wire.say(&request(1, "panic_in_drop")).await;
    wire.say(&cancel(1)).await;
    let next = wire.ask(&request(1, "echo")).await;
    assert!(next.get("result").is_some(), "the cancelled request has no answer: {next}");
}

#[tokio::test(start_paused = true)]
async fn handles_notifications_after_a_handler_that_panics_in_drop() {
    let received = Arc::new(tokio::sync::Notify::new());
    let handles_notification = Arc::clone(&received);
    let (mut wire, _) = wire(Some(Duration::from_secs(1)), |router| {
        router.custom_notification("notifications/next", move |_, _: Value| {
            handles_notification.notify_one();
            std::future::ready(())
        })
    });
    for method in ["notifications/panic_in_drop", "notifications/next"] {
        wire.say(&json!({ "jsonrpc": "2.0", "method": method }).to_string()).await;
    }
    let received = tokio::time::timeout(Duration::from_secs(10), received.notified()).await;
    assert!(received.is_ok(), "the next notification is handled");
}

#[tokio::test(start_paused = true)]
async fn reports_nothing_after_a_request_has_ended() {
    let kept = Arc::new(std::sync::Mutex::new(None::<Context>));
    let keeps = Arc::clone(&kept);
    let (mut wire, _) = wire(None, |router| {
        router.custom_request("keep", move |context: Context, _: Value| {
            *keeps.lock().expect("no panic") = Some(context);
            std::future::ready(Ok::<_, ErrorObject>(json!({})))
        })
    });
    assert!(wire.ask(&request(1, "keep")).await.get("result").is_some());
    let context = kept.lock().expect("no panic").take().expect("kept");
    context.progress(1.0, None, None).await;
    assert!(wire.hear().now_or_never().is_none());
}
