//! Memory budgets, in bytes: of a connection, of an HTTP endpoint and its owners, and of sessions.
#![cfg(all(feature = "http-server", feature = "http-client"))]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use mcpgen_cluster::{MemoryHub, MemoryStores};
use mcpgen_sdk::client::handshake::HandshakeError;
use mcpgen_sdk::http::server::{Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::FixedRevision;
use mcpgen_sdk::protocol::info::MAX_DECLARATION;
use mcpgen_sdk::replicas::{Home, JournalEntry, Replicas, SessionStore, StoreError, StoredSession};
use mcpgen_sdk::server::Args;
use mcpgen_sdk::{Client, Limits, LocalInfo, Router, serve, transport};
use mcpgen_types::v2025_11_25::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ListToolsRequest, ListToolsResult,
};
use mcpgen_types::v2026_07_28::Resource;
use mcpgen_types::{ErrorObject, Revision};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::support::http_server::{Observed, server};
use crate::support::requests::{MODERN, modern, read, request, send};
use crate::support::{self, RawPeer};

/// Returns objects that are charged four times the length of their text, or up to 20 times with their decoded values.
fn small_objects(count: usize) -> Value {
    json!(vec![json!({ "a": 0 }); count])
}

fn endpoint(change: impl FnOnce(&mut EndpointOptions)) -> (Endpoint, Arc<Observed>) {
    let observed = Arc::<Observed>::default();
    let server = server(&observed).resource(Resource::new("file:///a", "a"), || async { "" }).build();
    let mut options = EndpointOptions::default();
    options.limits.drain_timeout = Duration::from_millis(200);
    options.owner = Some(Arc::new(|parts| {
        parts.headers.get("x-user").and_then(|user| user.to_str().ok()).unwrap_or_default().to_owned()
    }));
    change(&mut options);
    (server.http(options).expect("a sound server"), observed)
}

/// A request or notification, as it is sent over HTTP.
struct Message {
    headers: Vec<(&'static str, String)>,
    body: String,
}

/// Returns a message of each kind whose params contain `load`. `session` is a session of 2025-03-26.
fn messages(session: &str, load: &Value) -> Vec<(&'static str, Message)> {
    let in_session =
        |body: Value| Message { headers: vec![("mcp-session-id", session.to_owned())], body: body.to_string() };
    let sessionless = |method: &str, name: Option<&str>, id: Value, mut params: Value| {
        params = modern(params);
        params["_meta"]["example/load"] = load.clone();
        let mut headers = vec![("mcp-protocol-version", MODERN.to_owned()), ("mcp-method", method.to_owned())];
        headers.extend(name.map(|name| ("mcp-name", name.to_owned())));
        let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if !id.is_null() {
            message["id"] = id;
        }
        Message { headers, body: message.to_string() }
    };
    let called = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "echo", "_meta": { "load": load } } });
    let initialize = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
        "_meta": { "load": load },
    });
    vec![
        ("call", sessionless("tools/call", Some("echo"), json!(1), json!({ "name": "echo" }))),
        ("listen", sessionless("subscriptions/listen", None, json!(1), json!({ "notifications": {} }))),
        ("notification", sessionless("notifications/progress", None, Value::Null, json!({}))),
        ("initialize", Message { headers: Vec::new(), body: request(1, "initialize", initialize) }),
        ("call in a session", in_session(called.clone())),
        (
            "notification in a session",
            in_session(json!({ "jsonrpc": "2.0", "method": "x", "params": { "load": load } })),
        ),
        ("response in a session", in_session(json!({ "jsonrpc": "2.0", "id": 9, "result": { "load": load } }))),
        (
            "error in a session",
            in_session(json!({ "jsonrpc": "2.0", "id": 9, "error": { "code": 1, "message": "", "data": load } })),
        ),
        ("batch in a session", in_session(json!([called]))),
    ]
}

/// Sends a message as a user. Returns the status, the `Retry-After` header, and the body as far as it has arrived.
async fn post(endpoint: &Endpoint, user: &str, message: &Message) -> (u16, Option<String>, String) {
    let headers = message.headers.iter().map(|(name, value)| (*name, value.as_str()));
    let headers: Vec<_> = headers.chain([("x-user", user)]).collect();
    let response = send(endpoint, "POST", &headers, &message.body).await;
    let (status, retry) = (response.status().as_u16(), response.headers().get("retry-after"));
    let retry = retry.map(|after| after.to_str().expect("text").to_owned());
    let body = match status {
        200 => String::new(),
        _ => String::from_utf8(response.into_body().collect().await.expect("a body").to_bytes().into()).expect("text"),
    };
    (status, retry, body)
}

/// Sends a message until there is memory for it: earlier requests release theirs only when the tasks of their
/// connections end.
async fn post_when_free(endpoint: &Endpoint, user: &str, message: &Message) -> (u16, String) {
    for _ in 0..100 {
        let (status, _, body) = post(endpoint, user, message).await;
        if status != 503 {
            return (status, body);
        }
        tokio::task::yield_now().await;
    }
    panic!("the memory is not released");
}

async fn session_of(endpoint: &Endpoint, user: &str, revision: &str) -> String {
    let initialize = json!({
        "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    });
    let response = send(endpoint, "POST", &[("x-user", user)], &request(0, "initialize", initialize)).await;
    let (status, headers, events) = read(response).await;
    assert_eq!(status, 200, "{events:?}");
    headers["mcp-session-id"].to_str().expect("text").to_owned()
}

#[tokio::test]
async fn refuses_every_message_that_takes_more_than_the_budget() {
    let (endpoint, _) = endpoint(|options| options.message_memory = 4 << 20);
    let session = session_of(&endpoint, "ann", "2025-03-26").await;
    for (kind, message) in messages(&session, &json!([])) {
        let (status, _, body) = post(&endpoint, "ann", &message).await;
        assert!(matches!(status, 200 | 202), "{kind}: {status} {body}");
    }
    // 64 KB of this text take more memory than the share of one owner, 1 MiB.
    for (kind, message) in messages(&session, &small_objects(8000)) {
        assert!(message.body.len() < 80_000);
        let (status, retry, body) = post(&endpoint, "ann", &message).await;
        assert_eq!((status, retry), (413, None), "{kind}: {body}");
        assert!(body.contains("`EndpointOptions::message_memory`"), "{kind}: {body}");
    }
}

#[tokio::test]
async fn arguments_count_as_their_text() {
    let (endpoint, _) = endpoint(|options| options.message_memory = 4 << 20);
    let session = session_of(&endpoint, "ann", "2025-03-26").await;
    let echo = json!({ "name": "echo", "arguments": { "load": small_objects(8000) } });
    let call = request(1, "tools/call", echo.clone());
    let batch = format!("[{call}]");
    let sessionless = vec![("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "echo")];
    let of_session = vec![("mcp-session-id", &*session)];
    let table =
        [(of_session.clone(), call), (of_session, batch), (sessionless, request(1, "tools/call", modern(echo)))];
    for (headers, body) in table {
        let headers = headers.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        let (status, body) = post_when_free(&endpoint, "ann", &Message { headers, body }).await;
        assert_eq!(status, 200, "{body}");
    }
}

#[tokio::test]
async fn decoded_arguments_count_while_the_tool_runs() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Wait {
        names: Vec<String>,
    }
    let (started, proceed) = (Arc::<Notify>::default(), Arc::<Notify>::default());
    let observed = (Arc::clone(&started), Arc::clone(&proceed));
    let server = mcpgen_sdk::Server::builder("typed", "1").tool("wait", move |Args(Wait { names })| {
        let (started, proceed) = observed.clone();
        async move {
            started.notify_one();
            proceed.notified().await;
            names.len().to_string()
        }
    });
    // A call takes 300 KB of text and index, and 1.1 MB with decoded strings: two of them are accepted, but not decoded.
    let options = EndpointOptions::default().with_message_memory(2 << 20);
    let endpoint = server.build().http(options).expect("a sound server");
    let call = || Message {
        headers: [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "wait")]
            .map(|(name, value)| (name, value.to_owned()))
            .to_vec(),
        body: request(1, "tools/call", modern(json!({ "name": "wait", "arguments": { "names": vec![""; 20_000] } }))),
    };
    let waiting = tokio::spawn({
        let endpoint = endpoint.clone();
        async move { post(&endpoint, "ann", &call()).await }
    });
    started.notified().await;
    let Message { headers, body } = call();
    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let (_, _, events) = read(send(&endpoint, "POST", &headers, &body).await).await;
    let refused: Value = serde_json::from_str(&events[0].data).expect("a response");
    assert_eq!(refused["error"]["code"], -32005, "{refused}");
    proceed.notify_one();
    assert_eq!(waiting.await.expect("no panic").0, 200);
    proceed.notify_one();
    assert_eq!(post_when_free(&endpoint, "ann", &call()).await.0, 200);
}

#[tokio::test]
async fn messages_share_a_budget_until_their_handlers_end() {
    for in_session in [false, true] {
        let (endpoint, observed) = endpoint(|options| options.message_memory = 4 << 20);
        let session = session_of(&endpoint, "ann", "2025-03-26").await;
        let waits = json!({ "name": "wait", "arguments": { "load": small_objects(14_000) } });
        let (headers, body) = match in_session {
            true => (vec![("mcp-session-id", session.clone())], request(1, "tools/call", waits)),
            false => {
                let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "wait")];
                let headers = headers.map(|(name, value)| (name, value.to_owned())).to_vec();
                (headers, request(1, "tools/call", modern(waits)))
            }
        };
        let message = Message { headers, body };
        let waiting = tokio::spawn({
            let endpoint = endpoint.clone();
            async move { post(&endpoint, "ann", &message).await.0 }
        });
        observed.started.notified().await;
        for (kind, message) in messages(&session, &small_objects(3000)) {
            let (status, retry, body) = post(&endpoint, "ann", &message).await;
            assert_eq!((status, retry.as_deref()), (503, Some("1")), "{kind}: {body}");
            assert!(body.contains("a quarter of `EndpointOptions::message_memory`"), "{kind}: {body}");
        }
        let bob = session_of(&endpoint, "bob", "2025-03-26").await;
        for (kind, message) in messages(&bob, &small_objects(3000)) {
            let (status, body) = post_when_free(&endpoint, "bob", &message).await;
            assert!(matches!(status, 200 | 202), "{kind} of another owner: {status} {body}");
        }
        observed.proceed.notify_one();
        assert_eq!(waiting.await.expect("no panic"), 200);
        for (kind, message) in messages(&session, &small_objects(3000)) {
            let (status, body) = post_when_free(&endpoint, "ann", &message).await;
            assert!(matches!(status, 200 | 202), "{kind} after the call: {status} {body}");
        }
    }
}

#[tokio::test]
async fn responses_that_are_not_read_count() {
    let (endpoint, _) = endpoint(|options| options.message_memory = 4 << 20);
    let echo = |size: usize| {
        let body = request(1, "tools/call", modern(json!({ "name": "echo", "arguments": { "x": "x".repeat(size) } })));
        let headers =
            [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "echo"), ("x-user", "ann")];
        let endpoint = endpoint.clone();
        async move { send(&endpoint, "POST", &headers, &body).await }
    };
    let unread = [echo(150_000).await, echo(150_000).await];
    assert!(unread.iter().all(|response| response.status() == 200));
    assert_eq!(echo(150_000).await.status(), 503);
    drop(unread);
    assert_eq!(echo(150_000).await.status(), 200);
}

/// A store that remembers the keys of the journal entries that it has recorded.
#[derive(Clone)]
struct Recording {
    stores: MemoryStores,
    recorded: Arc<Mutex<Vec<String>>>,
}

impl SessionStore for Recording {
    fn create<'a>(&'a self, session: StoredSession, lifetime: Duration) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.stores.create(session, lifetime)
    }

    fn locate<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Home>, StoreError>> {
        self.stores.locate(id)
    }

    fn record<'a>(&'a self, id: &'a str, entry: JournalEntry) -> BoxFuture<'a, Result<(), StoreError>> {
        let what = if entry.message.is_some() { "set" } else { "reset" };
        self.recorded.lock().expect("no panic").push(format!("{what} {}", entry.key));
        self.stores.record(id, entry)
    }

    fn renew<'a>(&'a self, ids: &'a [String], lifetime: Duration) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.stores.renew(ids, lifetime)
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.stores.remove(id)
    }

    fn leave(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.stores.leave()
    }
}

#[tokio::test]
async fn only_accepted_changes_of_the_state_reach_the_journal() {
    let stores = MemoryHub::new(10, 64 << 10).replica();
    let recording = Recording { stores: stores.clone(), recorded: Arc::default() };
    let recorded = Arc::clone(&recording.recorded);
    let (endpoint, _) = endpoint(|options| {
        let mut replicas = Replicas::new(stores);
        replicas.sessions = Arc::new(recording);
        options.replicas = Some(replicas);
    });
    let session = session_of(&endpoint, "ann", "2025-03-26").await;
    let change = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let subscribe = |uri: &str| change("resources/subscribe", json!({ "uri": uri }));
    let (long, junk) = ("file:///".to_owned() + &"x".repeat(10_000), "x".repeat(100_000));
    let table = [
        (subscribe("file:///a"), vec!["set resources/subscribe file:///a"]),
        (subscribe(&long), vec![]),
        (change("logging/setLevel", json!({ "level": junk })), vec![]),
        (change("logging/setLevel", json!({ "level": "error" })), vec!["set logging/setLevel"]),
        (change("initialize", json!({ "protocolVersion": "2025-03-26" })), vec![]),
        (change("resources/unsubscribe", json!({ "uri": "file:///a" })), vec!["reset resources/subscribe file:///a"]),
        (
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized", "params": { "_meta": { "x": junk } } }),
            vec!["set notifications/initialized"],
        ),
        (
            json!([subscribe(&long), { "jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": { "uri": "file:///b" } }]),
            vec!["set resources/subscribe file:///b"],
        ),
    ];
    for (message, expected) in table {
        let headers = [("mcp-session-id", session.as_str()), ("x-user", "ann")];
        let response = read(send(&endpoint, "POST", &headers, &message.to_string()).await).await;
        assert_eq!(std::mem::take(&mut *recorded.lock().expect("no panic")), expected, "{response:?}");
    }
}

#[tokio::test]
async fn sessions_retain_a_bounded_state() {
    let (endpoint, _) = endpoint(|_| {});
    let session = session_of(&endpoint, "ann", "2025-11-25").await;
    let subscribe = async |uri: String, junk: usize| {
        let params = json!({ "uri": uri, "_meta": { "x": "x".repeat(junk) } });
        let headers = [("mcp-session-id", session.as_str()), ("x-user", "ann")];
        let (status, _, events) =
            read(send(&endpoint, "POST", &headers, &request(1, "resources/subscribe", params)).await).await;
        (status, events[0].json())
    };
    let (status, refused) = subscribe("file:///huge".to_owned(), 5 << 20).await;
    assert_eq!(status, 413, "{refused}");
    for number in 0..4 {
        let (status, response) = subscribe(format!("file:///{number}"), 1_000_000).await;
        assert_eq!((status, &response["result"]), (200, &json!({})), "{response}");
    }
    let (status, refused) = subscribe("file:///5".to_owned(), 1_000_000).await;
    assert_eq!(status, 413, "{refused}");
    let (status, response) = subscribe("file:///1".to_owned(), 0).await;
    assert_eq!((status, &response["result"]), (200, &json!({})), "it replaces a larger message: {response}");
    assert_eq!(subscribe("file:///5".to_owned(), 1_000_000).await.0, 200);
}

#[tokio::test]
async fn sessions_share_a_budget_and_idle_ones_are_evicted() {
    let (endpoint, _) = endpoint(|options| options.session_memory = 720 << 10);
    let begin = async |user: &str, declared: usize| {
        let initialize = json!({
            "protocolVersion": "2025-11-25", "clientInfo": { "name": "t", "version": "1" },
            "capabilities": { "experimental": { "x": { "y": small_objects(declared) } } },
        });
        let response = send(&endpoint, "POST", &[("x-user", user)], &request(0, "initialize", initialize)).await;
        let id = response.headers().get("mcp-session-id").map(|id| id.to_str().expect("text").to_owned());
        let (status, _, events) = read(response).await;
        (status, id.unwrap_or_default(), events.first().map(|event| event.data.clone()).unwrap_or_default())
    };
    let open =
        async |user: &str, id: &str| send(&endpoint, "GET", &[("mcp-session-id", id), ("x-user", user)], "").await;
    let (_, of_bob, _) = begin("bob", 0).await;
    // A session takes about 80 KiB, and the owner's share is 180 KiB.
    let (_, first, _) = begin("ann", 2000).await;
    let (_, second, _) = begin("ann", 2000).await;
    let _in_use = open("ann", &second).await;
    let (status, third, why) = begin("ann", 2000).await;
    assert_eq!(status, 200, "{why}");
    assert_eq!(open("ann", &first).await.status(), 404, "the idle session was evicted");
    let _third_in_use = open("ann", &third).await;
    let (status, _, why) = begin("ann", 2000).await;
    assert_eq!(status, 503, "{why}");
    assert!(why.contains("a quarter of `EndpointOptions::session_memory`"), "{why}");
    assert_eq!(open("bob", &of_bob).await.status(), 200, "other owners are not affected");
    let (status, _, why) = begin("bob", 8000).await;
    assert_eq!(status, 413, "{why}");
}

#[tokio::test]
async fn the_declarations_of_a_peer_are_limited() {
    for (length, is_accepted) in [(MAX_DECLARATION - 200, true), (MAX_DECLARATION + 1, false)] {
        let long = "x".repeat(length);
        let (capabilities, implementation) =
            (json!({ "experimental": { "x": { "x": long } } }), json!({ "name": long, "version": "1" }));
        let (no_capabilities, short) = (json!({}), json!({ "name": "t", "version": "1" }));
        let (endpoint, _) = endpoint(|_| {});
        for (capabilities, implementation) in [(&capabilities, &short), (&no_capabilities, &implementation)] {
            let legacy = json!({
                "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": implementation,
            });
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": capabilities,
                "io.modelcontextprotocol/clientInfo": implementation,
            });
            let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")];
            for (headers, body) in [
                (&[][..], request(1, "initialize", legacy)),
                (&headers[..], request(1, "tools/list", json!({ "_meta": meta }))),
            ] {
                let (_, _, events) = read(send(&endpoint, "POST", headers, &body).await).await;
                let response = events[0].json();
                match is_accepted {
                    true => assert!(response["result"].is_object(), "{response}"),
                    false => {
                        assert_eq!(response["error"]["code"], -32602, "{response}");
                        assert!(response["error"]["message"].as_str().expect("text").contains("`MAX_DECLARATION`"));
                    }
                }
            }
            for revision in ["2025-11-25", MODERN] {
                let connected = connect(revision, capabilities, implementation).await;
                match is_accepted {
                    true => drop(connected.expect("connected")),
                    false => {
                        let why = connected.expect_err("too long").to_string();
                        assert!(why.contains("`MAX_DECLARATION`"), "{why}");
                    }
                }
            }
        }
    }
}

/// Connects a client to a server of this revision with these capabilities and this implementation.
async fn connect(revision: &str, capabilities: &Value, implementation: &Value) -> Result<Client, HandshakeError> {
    let (here, there) = transport::duplex();
    let info = |name: &str| LocalInfo::new(name, "1").retain_revisions(|known| known.as_str() == revision);
    let (client, mut server) = (info("client"), info("server"));
    server.capabilities = capabilities.try_into().expect("an object");
    server.implementation = implementation.try_into().expect("an object");
    tokio::spawn(serve((server, Router::new()), there));
    mcpgen_sdk::connect(client, Router::new(), Router::new(), here.0, here.1, Limits::default()).await
}

#[tokio::test]
async fn a_connection_refuses_messages_that_take_too_much_memory() {
    let limits = || Limits::default().with_memory(100_000);
    let run = |pipe| support::run(Router::new(), Arc::new(FixedRevision(Revision::V2025_11_25)), limits(), pipe);
    let (mut remote, peer) = RawPeer::connect(run);
    remote.send(&request(1, "tools/call", json!({ "load": small_objects(1000) }))).await;
    let refused = remote.receive().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(1), &json!(-32600)), "{refused}");
    assert!(refused["error"]["message"].as_str().expect("text").contains("`Limits::memory`"), "{refused}");
    for member in ["result", "error"] {
        let called = peer.raw_request("tools/list", None).send();
        let called = tokio::spawn(called);
        let id = remote.receive().await["id"].clone();
        let load = json!({ "code": 1, "message": "", "data": small_objects(1000) });
        remote.send(&json!({ "jsonrpc": "2.0", "id": id, member: load }).to_string()).await;
        let why = called.await.expect("no panic").expect_err("too large").to_string();
        assert!(why.contains("the response takes") && why.contains("`Limits::memory`"), "{why}");
    }
    // Structured content is free-form JSON, which is charged as a copy of its text.
    let called = tokio::spawn(peer.raw_request("tools/call", None).send());
    let id = remote.receive().await["id"].clone();
    let result = json!({ "content": [], "structuredContent": { "load": small_objects(1000) } });
    remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
    called.await.expect("no panic").expect("within the limit");
    // A notification that is dropped, and a request that is accepted.
    remote
        .send(&json!({ "jsonrpc": "2.0", "method": "x", "params": { "load": small_objects(1000) } }).to_string())
        .await;
    remote.send(&request(2, "tools/call", json!({ "load": small_objects(50) }))).await;
    assert_eq!(remote.receive().await["error"]["code"], -32601);
}

#[tokio::test]
async fn requests_wait_while_others_take_the_memory() {
    let proceed = Arc::<Notify>::default();
    let router = Router::new().request::<CallToolRequest>({
        let proceed = Arc::clone(&proceed);
        move |_, params: CallToolRequestParams| {
            let proceed = Arc::clone(&proceed);
            async move {
                if params.name == "wait" {
                    proceed.notified().await;
                }
                Ok::<_, ErrorObject>(CallToolResult::new(Vec::new()))
            }
        }
    });
    let router =
        router.request::<ListToolsRequest>(async |_, _| Ok::<_, ErrorObject>(ListToolsResult::new(Vec::new())));
    let limits = Limits::default().with_memory(100_000);
    let run = |pipe| support::run(router, Arc::new(FixedRevision(Revision::V2025_11_25)), limits, pipe);
    let (mut remote, _peer) = RawPeer::connect(run);
    let call = |id, name: &str| {
        request(id, "tools/call", json!({ "name": name, "arguments": { "load": small_objects(1000) } }))
    };
    for message in [call(1, "wait"), call(2, "next"), request(3, "tools/list", json!({}))] {
        remote.send(&message).await;
    }
    assert!(remote.receive().now_or_never().is_none());
    proceed.notify_one();
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(remote.receive().await["id"].clone());
    }
    assert_eq!(ids, [json!(1), json!(2), json!(3)], "requests behind one that waits keep their order");
}
