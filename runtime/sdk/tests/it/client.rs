//! `Client`: its lifetime, its calls and its page limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcpgen_sdk::client::PageLimits;
#[cfg(feature = "http-client")]
use mcpgen_sdk::http::client::ConnectHttp;
#[cfg(feature = "http-server")]
use mcpgen_sdk::http::server::ServeHttp;
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::transport::{self, lines};
use mcpgen_sdk::{CallError, Client, Limits, Server, serve};
use mcpgen_types::v2026_07_28::{ListToolsRequest, PaginatedRequestParams, SubscriptionFilter, Tool, ToolInputSchema};
use mcpgen_types::{Json, Revision};
use serde_json::{Value, json};

use crate::support::RawPeer;

const BOTH: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

fn server() -> Server {
    Server::builder("server", "1").tool(Tool::new("a", ToolInputSchema::new()), || async { "a" }).build()
}

/// Connects to a server in this process.
async fn connected(revision: Revision) -> Client {
    let (here, there) = transport::duplex();
    tokio::spawn(async move { serve(server(), there).await });
    let builder = Client::builder("client", "1").revisions([revision]);
    builder.connect(here.0, here.1).await.expect("a server")
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

async fn until(done: impl Fn() -> bool) {
    for _ in 0..1000 {
        if done() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the condition was not met in time");
}

#[tokio::test]
async fn ends_all_tasks_when_it_is_dropped() {
    let before = tasks();
    for revision in BOTH {
        let client = connected(revision).await;
        client.tools().await.expect("tools");
        assert!(tasks() > before);
        drop(client);
        until(|| tasks() == before).await;
    }
}

#[tokio::test]
async fn disconnects_its_peers_and_subscriptions_when_it_is_dropped() {
    let client = connected(Revision::V2026_07_28).await;
    let filter = SubscriptionFilter::new().with_tools_list_changed(true);
    let mut subscription = client.changes(filter).await.expect("a subscription");
    let peer = client.peer().clone();
    drop(client);
    assert!(peer.is_closed());
    assert!(matches!(peer.raw_request("tools/list", None).await, Err(CallError::Closed(_))));
    assert_eq!(subscription.try_next().await.expect("no error"), None);
}

#[tokio::test]
async fn into_peer_keeps_the_connection() {
    let before = tasks();
    let peer = connected(Revision::V2025_11_25).await.into_peer();
    peer.raw_request("tools/list", None).await.expect("an open connection");
    peer.disconnect();
    until(|| tasks() == before).await;
}

#[tokio::test]
async fn ends_the_connection_when_the_last_clone_of_its_peer_is_dropped() {
    let before = tasks();
    let peer = connected(Revision::V2025_11_25).await.into_peer();
    let clone = peer.clone();
    drop(peer);
    clone.raw_request("tools/list", None).await.expect("an open connection");
    // A pending call keeps the connection open, too.
    let call = clone.raw_request("tools/list", None).send();
    drop(clone);
    call.await.expect("an open connection");
    until(|| tasks() == before).await;
}

/// Connects without a handshake to a server that the test drives.
async fn connect_raw(pipe: usize, limits: Limits) -> (RawPeer, Client) {
    let (here, there) = tokio::io::duplex(pipe);
    let (reader, writer) = tokio::io::split(there);
    let builder = Client::builder("client", "1").limits(limits).options(|options| {
        (options.known_revision, options.check_known_revision) = (Some(Revision::V2026_07_28), false);
    });
    let client = builder.connect(lines::receive(reader, 1 << 20), lines::send(writer)).await;
    (RawPeer::new(here), client.expect("no handshake"))
}

#[tokio::test(start_paused = true)]
async fn sends_a_call_when_it_is_made() {
    let (mut remote, client) = connect_raw(1 << 16, Limits::default()).await;
    let params = || PaginatedRequestParams::new(client.meta());
    let first = client.peer().call::<ListToolsRequest>(params());
    let second = client.peer().call::<ListToolsRequest>(params());
    for call in [&first, &second] {
        assert_eq!(remote.receive().await["id"], mcpgen_types::to_value(call.id()).expect("JSON"));
    }
    drop(first);
    let cancelled = remote.receive().await;
    assert_eq!(
        (&cancelled["method"], &cancelled["params"]["requestId"]),
        (&json!("notifications/cancelled"), &json!(1))
    );
    let result = json!({ "tools": [], "ttlMs": 0, "cacheScope": "private", "resultType": "complete" });
    remote.send(&json!({ "jsonrpc": "2.0", "id": 2, "result": result }).to_string()).await;
    assert!(second.await.expect("a result").tools.is_empty());
}

#[tokio::test]
async fn a_call_waits_for_the_queue_while_it_is_awaited() {
    // The first request fills the queue: the pipe cannot hold it.
    let (mut remote, client) = connect_raw(16, Limits::default().with_outbox_bytes(1)).await;
    let _first = client.peer().raw_request("tools/list", None).send();
    let dropped = client.peer().raw_request("tools/list", None).send();
    let awaited = tokio::spawn(client.peer().raw_request("tools/list", None).send());
    drop(dropped);
    for id in [1, 3] {
        let request = remote.receive().await;
        assert_eq!((&request["method"], &request["id"]), (&json!("tools/list"), &json!(id)));
    }
    awaited.abort();
    assert_eq!(remote.receive().await["params"]["requestId"], 3);
}

#[tokio::test]
async fn keeps_the_connection_until_the_last_clone_is_dropped() {
    let before = tasks();
    let client = connected(Revision::V2025_11_25).await;
    let (clone, peer) = (client.clone(), client.clone().into_peer());
    drop(client);
    clone.tools().await.expect("an open connection");
    drop(clone);
    peer.raw_request("tools/list", None).await.expect("an open connection");
    drop(peer);
    until(|| tasks() == before).await;
}

#[tokio::test]
async fn closes_all_clones() {
    let client = connected(Revision::V2025_11_25).await;
    let clone = client.clone();
    client.close().await.expect("closed without an error");
    assert!(clone.peer().is_closed());
    clone.close().await.expect("closed without an error");
}

#[tokio::test]
async fn reports_a_busy_server() {
    let (here, there) = transport::duplex();
    let hang = Tool::new("hang", ToolInputSchema::new());
    let server = Server::builder("server", "1").tool(hang, std::future::pending::<&str>);
    let limits = Limits::default().with_in_flight(1).with_queued_requests(0);
    tokio::spawn(serve(server.limits(limits).build(), there));
    let client = Client::builder("client", "1").connect(here.0, here.1).await.expect("a server");
    let params = || Some(Json::from(&json!({ "name": "hang" })));
    let _running = client.peer().raw_request("tools/call", params()).send();
    let error = client.peer().raw_request("tools/call", params()).await.expect_err("the server is busy");
    assert!(error.is_busy(), "{error}");
    assert!(!CallError::ErrorResponse(errors::internal()).is_busy());
}

#[tokio::test]
async fn waits_for_the_server_to_end_the_connection() {
    let (here, there) = transport::duplex();
    let serving = tokio::spawn(async move { serve(server(), there).await });
    let client = Client::builder("client", "1").connect(here.0, here.1).await.expect("a server");
    let waiting = tokio::time::timeout(Duration::from_millis(20), client.closed()).await;
    assert!(waiting.is_err(), "the connection is open");
    serving.abort();
    client.closed().await;
    assert!(client.peer().is_closed());
    client.close().await.expect("closed without an error");
}

#[tokio::test]
async fn closes_its_transport_when_it_is_dropped() {
    let (mut pipe, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let builder = Client::builder("client", "1").options(|options| {
        (options.known_revision, options.check_known_revision) = (Some(Revision::V2026_07_28), false);
    });
    let client = builder.connect(lines::receive(reader, 1 << 20), lines::send(writer)).await.expect("no handshake");
    drop(client);
    let mut buffer = [0; 16];
    let read =
        tokio::time::timeout(Duration::from_secs(5), tokio::io::AsyncReadExt::read(&mut pipe, &mut buffer)).await;
    assert_eq!(read.expect("closed in time").expect("a pipe"), 0);
}

#[cfg(all(feature = "http-server", feature = "http-client"))]
#[tokio::test]
async fn ends_its_session_when_it_is_dropped() {
    let endpoint = server().http(Default::default()).expect("a valid server");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let app = axum::Router::new().route_service("/mcp", endpoint.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    tokio::task::yield_now().await;
    let before = tasks();
    for revision in BOTH {
        let builder = Client::builder("client", "1").revisions([revision]);
        let client = builder.connect_http(&url, Default::default()).await.expect("a server");
        client.tools().await.expect("tools");
        assert_eq!(endpoint.sessions(), usize::from(revision.is_legacy()));
        drop(client);
        until(|| endpoint.sessions() == 0 && tasks() == before).await;
        let builder = Client::builder("client", "1").revisions([revision]);
        let peer = builder.connect_http(&url, Default::default()).await.expect("a server").into_peer();
        assert_eq!(endpoint.sessions(), usize::from(revision.is_legacy()));
        drop(peer);
        until(|| endpoint.sessions() == 0 && tasks() == before).await;
    }
}

/// Handles requests like a legacy server that never responds to `server/discover`.
#[cfg(feature = "http-client")]
async fn silent_about_discover(body: axum::body::Bytes) -> axum::response::Response<String> {
    let request: Value = serde_json::from_slice(&body).expect("JSON");
    let response = match request["method"].as_str() {
        Some("server/discover") => std::future::pending().await,
        Some("initialize") => {
            let server = json!({ "name": "server", "version": "1" });
            let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": server });
            json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()
        }
        _ => String::new(),
    };
    let status = if response.is_empty() { 202 } else { 200 };
    let builder = axum::response::Response::builder().status(status).header("content-type", "application/json");
    builder.body(response).expect("a response")
}

#[cfg(feature = "http-client")]
#[tokio::test]
async fn treats_a_silent_http_server_as_legacy_only_on_request() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let app = axum::Router::new().route("/mcp", axum::routing::post(silent_about_discover));
    tokio::spawn(async move { axum::serve(listener, app).await });
    for (option, expected) in [(None, None), (Some(false), None), (Some(true), Some(Revision::V2025_11_25))] {
        let builder = Client::builder("client", "1").options(|options| {
            (options.discover_timeout, options.silence_is_legacy) = (Duration::from_millis(200), option);
        });
        let client = builder.connect_http(&url, Default::default()).await;
        assert_eq!(client.as_ref().ok().map(Client::revision), expected, "{option:?}: {client:?}");
    }
}

/// Connects to a server that responds to each request with `page`. Also returns the number of requests.
async fn paged(page: impl Fn(usize) -> Value + Send + 'static) -> (Client, Arc<AtomicUsize>) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let (mut remote, requests) = (RawPeer::new(here), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&requests);
    tokio::spawn(async move {
        loop {
            let request = remote.receive().await;
            let mut result = page(count.fetch_add(1, Ordering::SeqCst));
            (result["ttlMs"], result["cacheScope"], result["resultType"]) =
                (json!(0), json!("private"), json!("complete"));
            remote.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()).await;
        }
    });
    let builder = Client::builder("client", "1").options(|options| {
        (options.known_revision, options.check_known_revision) = (Some(Revision::V2026_07_28), false);
    });
    let client = builder.connect(lines::receive(reader, 1 << 20), lines::send(writer)).await;
    (client.expect("no handshake"), requests)
}

/// Returns a page of an endless list.
fn endless(kind: &str, number: usize) -> Value {
    json!({ kind: [], "nextCursor": number.to_string() })
}

#[tokio::test]
async fn reads_at_most_a_thousand_pages_of_a_list() {
    let (client, requests) = paged(|number| endless("tools", number)).await;
    let error = client.tools().await.expect_err("an endless list").to_string();
    assert_eq!(
        error,
        "tools/list: the list has more than 1000 pages; raise `pages` with `Client::with_page_limits` to read more"
    );
    assert_eq!(requests.load(Ordering::SeqCst), 1000);
}

#[tokio::test]
async fn page_limits_can_be_set() {
    let (client, requests) = paged(|number| endless("prompts", number)).await;
    let client = client.with_page_limits(PageLimits::default().with_pages(3));
    let error = client.prompts().await.expect_err("an endless list").to_string();
    assert!(error.contains("more than 3 pages"), "{error}");
    assert_eq!(requests.load(Ordering::SeqCst), 3);
    // The next call starts at the first page.
    assert!(client.prompts().await.is_err());
    assert_eq!(requests.load(Ordering::SeqCst), 6);
}

#[tokio::test]
async fn bounds_the_bytes_of_all_pages_of_a_list() {
    let long = "x".repeat(1000);
    let (client, requests) =
        paged(move |number| json!({ "resources": [], "nextCursor": format!("{number}{long}") })).await;
    let client = client.with_page_limits(PageLimits::default().with_bytes(5000));
    let error = client.resources().await.expect_err("an endless list").to_string();
    let expected =
        "resources/list: the list has more than 5000 bytes; raise `bytes` with `Client::with_page_limits` to read more";
    assert_eq!(error, expected);
    assert_eq!(requests.load(Ordering::SeqCst), 5);
    assert_eq!(PageLimits::default(), PageLimits::default().with_pages(1000).with_bytes(64 << 20));
}

#[tokio::test]
async fn reads_a_list_of_exactly_as_many_pages() {
    let (client, _) = paged(|number| match number {
        0..9 => endless("tools", number),
        _ => json!({ "tools": [] }),
    })
    .await;
    let client = client.with_page_limits(PageLimits::default().with_pages(10));
    assert!(client.tools().await.expect("ten pages").is_empty());
}
