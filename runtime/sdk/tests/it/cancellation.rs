//! Requests that are cancelled or time out, in every state of their handlers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use mcpgen_sdk::context::Context;
use mcpgen_sdk::protocol::{ContextExt, FixedRevision};
use mcpgen_sdk::{Limits, Router};
use mcpgen_types::{ErrorObject, Revision};
use serde_json::{Value, json};

use crate::support::{self, RawPeer};

/// Counts dropped handlers.
#[derive(Clone, Default)]
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Panics when it is dropped, except during another panic.
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

/// Connects with a limit of one request and an outbox for two reports. The test reads all messages itself.
fn connect(handler: Option<Duration>, more: impl FnOnce(Router) -> Router) -> (RawPeer, Arc<AtomicUsize>) {
    let dropped = Arc::<AtomicUsize>::default();
    let limits = Limits::default().with_outbox_bytes(1024).with_in_flight(1).with_handler_timeout(handler);
    let (here, there) = tokio::io::duplex(64);
    support::run(more(router(&dropped)), Arc::new(FixedRevision(Revision::V2025_11_25)), limits, there);
    (RawPeer::new(here), dropped)
}

fn request(id: u32, method: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "_meta": { "progressToken": id } } }).to_string()
}

fn cancel(id: u32) -> String {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }).to_string()
}

/// Receives messages until the response to a request.
async fn response(remote: &mut RawPeer, id: u32) -> Value {
    loop {
        let message = remote.receive().await;
        if message["id"] == id {
            return message;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn drops_a_cancelled_handler_that_waits_for_the_outbox() {
    for method in ["report", "spawn"] {
        let (mut remote, dropped) = connect(None, |router| router);
        remote.send(&request(1, method)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        remote.send(&cancel(1)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(dropped.load(Ordering::SeqCst), usize::from(method == "report"), "nothing has been read yet");
        remote.send(&request(2, "echo")).await;
        assert!(response(&mut remote, 2).await.get("result").is_some(), "{method}");
        // The ID can be used again.
        remote.send(&request(1, "echo")).await;
        assert!(response(&mut remote, 1).await.get("result").is_some(), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn responds_to_a_timed_out_request_whose_handler_waits_for_the_outbox() {
    let (mut remote, dropped) = connect(Some(Duration::from_secs(1)), |router| router);
    remote.send(&request(1, "report")).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(dropped.load(Ordering::SeqCst), 1, "nothing has been read yet");
    let timed_out = response(&mut remote, 1).await;
    assert_eq!(timed_out["error"]["message"], "no result within 1s");
    assert!(remote.request(&request(2, "echo")).await.get("result").is_some());
}

#[tokio::test(start_paused = true)]
async fn responds_to_a_timed_out_request_whose_handler_panics_in_drop() {
    let (mut remote, _) = connect(Some(Duration::from_secs(1)), |router| router);
    let failed = remote.request(&request(1, "panic_in_drop")).await;
    assert_eq!((&failed["id"], &failed["error"]["code"]), (&json!(1), &json!(-32603)));
    assert!(remote.request(&request(1, "echo")).await.get("result").is_some());
}

#[tokio::test(start_paused = true)]
async fn frees_a_cancelled_request_whose_handler_panics_in_drop() {
    let (mut remote, _) = connect(None, |router| router);
    remote.send(&request(1, "panic_in_drop")).await;
    remote.send(&cancel(1)).await;
    let next = remote.request(&request(1, "echo")).await;
    assert!(next.get("result").is_some(), "the cancelled request has no response: {next}");
}

#[tokio::test(start_paused = true)]
async fn handles_notifications_after_a_handler_that_panics_in_drop() {
    let received = Arc::new(tokio::sync::Notify::new());
    let handles_notification = Arc::clone(&received);
    let (mut remote, _) = connect(Some(Duration::from_secs(1)), |router| {
        router.custom_notification("notifications/next", move |_, _: Value| {
            handles_notification.notify_one();
            std::future::ready(())
        })
    });
    for method in ["notifications/panic_in_drop", "notifications/next"] {
        remote.send(&json!({ "jsonrpc": "2.0", "method": method }).to_string()).await;
    }
    let received = tokio::time::timeout(Duration::from_secs(10), received.notified()).await;
    assert!(received.is_ok(), "the next notification is handled");
}

#[tokio::test(start_paused = true)]
async fn sends_no_progress_after_a_request_has_ended() {
    let context_slot = Arc::new(std::sync::Mutex::new(None::<Context>));
    let slot = Arc::clone(&context_slot);
    let (mut remote, _) = connect(None, |router| {
        router.custom_request("keep", move |context: Context, _: Value| {
            *slot.lock().expect("no panic") = Some(context);
            std::future::ready(Ok::<_, ErrorObject>(json!({})))
        })
    });
    assert!(remote.request(&request(1, "keep")).await.get("result").is_some());
    let context = context_slot.lock().expect("no panic").take().expect("a context");
    context.progress(1.0, None, None).await;
    assert!(remote.receive().now_or_never().is_none());
}
