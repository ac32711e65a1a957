//! Changes that only some callers may be notified of.
#![cfg(all(feature = "http-server", feature = "http-client"))]

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use futures_util::FutureExt;
use http_body_util::BodyExt;
use mcpgen_cluster::{MemoryHub, MemoryStores};
use mcpgen_sdk::client::Changes;
use mcpgen_sdk::http::client::{ClientOptions, ConnectHttp};
use mcpgen_sdk::http::server::{Body, Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::replicas::{ChangeBus, Replicas, SessionStore};
use mcpgen_sdk::transport::Principal;
use mcpgen_sdk::{Client, Server, ServerBuilder};
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::{Prompt, Resource, SubscriptionFilter};
use serde_json::{Value, json};

use crate::support::requests::{events, read, request, send_as, session_of};

/// Changes with this URI are sorted, and therefore sent, after all others. All users receive them.
const LAST: &str = "note:///~all";

/// A server with notes of each user. Only Ann is notified of changed prompts. The filter panics for lists of
/// resources.
fn notes() -> ServerBuilder {
    Server::builder("notes", "1")
        .resource(Resource::new(LAST, "all"), || async { "" })
        .prompt(Prompt::new("write"), || async { "" })
        .tool("tool", || async {})
        .change_filter(|user, change| match change {
            Change::Resource(uri) => {
                uri == "note:///" || uri == LAST || uri.starts_with(&format!("note:///{user}/")) && !user.is_empty()
            }
            Change::Prompts => user == "ann",
            Change::Resources => panic!("a filter with a defect"),
            _ => true,
        })
}

pub(crate) fn resource(uri: &str) -> Change {
    Change::Resource(uri.to_owned())
}

/// Serves over HTTP. The `x-user` header authenticates users. Returns the URL.
pub(crate) async fn serve(server: &Server) -> String {
    async fn authenticate(mut request: Request, next: Next) -> axum::response::Response {
        if let Some(user) = request.headers().get("x-user").and_then(|user| user.to_str().ok()).map(Principal::new) {
            request.extensions_mut().insert(user);
        }
        next.run(request).await
    }
    let endpoint = server.http(EndpointOptions::default()).expect("a sound server");
    let app = axum::Router::new().route_service("/mcp", endpoint).layer(from_fn(authenticate));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

pub(crate) async fn connect(url: &str, user: &str, revision: Revision) -> Client {
    let mut options = ClientOptions::default();
    if !user.is_empty() {
        options.headers.insert("x-user", user.parse().expect("a header"));
    }
    let client = Client::builder("c", "1").revisions([revision]);
    client.connect_http(url, options).await.expect("a server")
}

/// Subscribes to all lists and these resources.
pub(crate) async fn subscribe(client: &Client, uris: &[&str]) -> Result<Changes, CallError> {
    let filter = SubscriptionFilter::new()
        .with_tools_list_changed(true)
        .with_prompts_list_changed(true)
        .with_resources_list_changed(true)
        .with_resource_subscriptions(uris.iter().map(|uri| (*uri).to_owned()).collect::<Vec<_>>());
    client.changes(filter).await
}

/// Receives changes until the last one, which is not returned.
pub(crate) async fn receive(changes: &mut Changes) -> Vec<Change> {
    let mut received = Vec::new();
    let receiving = async {
        loop {
            match changes.try_next().await.expect("open").expect("open") {
                change if change == resource(LAST) => return,
                change => received.push(change),
            }
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), receiving).await;
    assert!(in_time.is_ok(), "no last change after {received:?}");
    received
}

const REVISIONS: [Revision; 3] = [Revision::V2025_03_26, Revision::V2025_11_25, Revision::V2026_07_28];

#[tokio::test]
async fn users_receive_only_changes_that_the_filter_allows() {
    let changed =
        [Change::Tools, Change::Prompts, Change::Resources, resource("note:///ann/1"), resource("note:///bob/1")];
    let cases = [
        ("ann", vec![Change::Tools, Change::Prompts, resource("note:///ann/1")]),
        ("bob", vec![Change::Tools, resource("note:///bob/1")]),
        ("eve", vec![Change::Tools]),
        ("", vec![Change::Tools]),
    ];
    for (revision, has_bus) in REVISIONS.into_iter().flat_map(|revision| [(revision, false), (revision, true)]) {
        let hub = MemoryHub::new(100, 64 << 10);
        let server = || match has_bus {
            true => notes().change_bus(hub.replica()).build(),
            false => notes().build(),
        };
        let (serving, other) = (server(), server());
        let url = serve(&serving).await;
        // The other server has no client: it only connects to the bus.
        let _other = other.http(EndpointOptions::default()).expect("a sound server");
        let mut subscriptions = Vec::new();
        for (user, expected) in &cases {
            let client = connect(&url, user, revision).await;
            let changes = subscribe(&client, &["note:///", LAST]).await.expect("allowed");
            subscriptions.push((client, changes, user, expected));
        }
        let changing = if has_bus { &other } else { &serving };
        for change in changed.iter().chain([&resource(LAST)]) {
            changing.changed(change);
        }
        for (_, changes, user, expected) in &mut subscriptions {
            assert_eq!(receive(changes).await, **expected, "{user:?} in {revision:?}, bus: {has_bus}");
        }
    }
}

#[tokio::test]
async fn the_filter_applies_to_changes_that_may_have_been_missed() {
    for revision in REVISIONS {
        let hub = MemoryHub::new(100, 64 << 10);
        let server = notes().change_bus(hub.replica()).build();
        let url = serve(&server).await;
        let (ann, bob) = (connect(&url, "ann", revision).await, connect(&url, "bob", revision).await);
        let (mut of_ann, mut of_bob) = (
            subscribe(&ann, &["note:///", LAST]).await.expect("allowed"),
            subscribe(&bob, &["note:///", LAST]).await.expect("allowed"),
        );
        // Publish more changes than the bus keeps before the server reads any.
        let other = hub.replica();
        for _ in 0..2000 {
            other.publish(&Change::Task("t".to_owned())).now_or_never().expect("ready").expect("in memory");
        }
        assert_eq!(receive(&mut of_ann).await, [Change::Tools, Change::Prompts, resource("note:///")], "{revision:?}");
        assert_eq!(receive(&mut of_bob).await, [Change::Tools, resource("note:///")], "{revision:?}");
    }
}

#[tokio::test]
async fn users_cannot_subscribe_to_resources_that_the_filter_refuses() {
    let server = notes().build();
    let url = serve(&server).await;
    for revision in REVISIONS {
        for (user, uris, is_allowed) in [
            ("ann", &["note:///ann/1"][..], true),
            ("bob", &["note:///ann/1"], false),
            ("bob", &["note:///bob/1", "note:///ann/1"], false),
            ("", &["note:///ann/1"], false),
            ("", &["note:////1"], false),
            ("", &["note:///"], true),
        ] {
            let client = connect(&url, user, revision).await;
            let subscribed = subscribe(&client, uris).await;
            let message = subscribed.as_ref().map_or_else(ToString::to_string, |_| String::new());
            assert_eq!(subscribed.is_ok(), is_allowed, "{user:?} {uris:?} in {revision:?}: {message}");
            assert!(is_allowed || message.contains("resource not found"), "{message}");
        }
    }
}

#[tokio::test]
async fn acknowledges_only_lists_that_the_filter_allows() {
    let endpoint = notes().build().http(EndpointOptions::default()).expect("a sound server");
    for (user, expected) in [
        ("ann", json!({ "toolsListChanged": true, "promptsListChanged": true })),
        ("bob", json!({ "toolsListChanged": true })),
    ] {
        let params = json!({
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
            "notifications": { "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true },
        });
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "subscriptions/listen")];
        let body = request(1, "subscriptions/listen", params);
        let mut response = send_as(Some(user), &endpoint, "POST", &headers, &body).await;
        let acknowledged = messages_until(&mut response, |messages| !messages.is_empty()).await;
        assert_eq!(acknowledged[0]["params"]["notifications"], expected, "{user}");
    }
}

/// Reads messages of an event stream until `done` accepts them. Returns all messages read.
async fn messages_until(response: &mut http::Response<Body>, done: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let (mut text, mut messages) = (String::new(), Vec::new());
    let reading = async {
        while !done(&messages) {
            let frame = response.body_mut().frame().await.expect("open").expect("a frame");
            text.push_str(std::str::from_utf8(&frame.into_data().expect("data")).expect("UTF-8"));
            let sent = events(&text).into_iter().filter(|event| !event.data.is_empty());
            messages = sent.map(|event| event.json()).collect();
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(20), reading).await;
    assert!(in_time.is_ok(), "no such messages in {text:?}");
    messages
}

/// Reads this many notifications of changed resources. Returns their URIs.
async fn changed_uris(response: &mut http::Response<Body>, count: usize) -> Vec<String> {
    let uris = |messages: &[Value]| -> Vec<String> {
        messages.iter().filter_map(|message| message["params"]["uri"].as_str().map(str::to_owned)).collect()
    };
    uris(&messages_until(response, |messages| uris(messages).len() >= count).await)
}

#[tokio::test]
async fn a_session_that_moves_keeps_its_user() {
    struct Replica {
        server: Server,
        endpoint: Endpoint,
        stores: MemoryStores,
    }
    let hub = MemoryHub::new(100, 64 << 10);
    let [home, second] = [(); 2].map(|()| {
        let stores = hub.replica();
        let server = notes().change_bus(stores.clone()).build();
        let options = EndpointOptions::default().with_replicas(Replicas::new(stores.clone()));
        let endpoint = server.http(options).expect("a sound server");
        Replica { server, endpoint, stores }
    });
    let mut sessions = Vec::new();
    for user in ["ann", "bob"] {
        let id = session_of(Some(user), &home.endpoint, "2025-11-25").await;
        for (number, uri, is_allowed) in [(1, "note:///ann/1", user == "ann"), (2, "note:///", true), (3, LAST, true)] {
            let body = request(number, "resources/subscribe", json!({ "uri": uri }));
            let headers = [("mcp-session-id", id.as_str())];
            let (status, _, events) = read(send_as(Some(user), &home.endpoint, "POST", &headers, &body).await).await;
            assert_eq!((status, events[0].json().get("result").is_some()), (200, is_allowed), "{user} {uri}");
        }
        sessions.push((user, id));
    }
    home.stores.leave().await.expect("in memory");
    for (user, id) in sessions {
        let headers = [("mcp-session-id", id.as_str())];
        let mut stream = send_as(Some(user), &second.endpoint, "GET", &headers, "").await;
        // The client is notified, in any order, of the resources that it has subscribed to, because it may have missed
        // changes.
        let mut expected = vec!["note:///", LAST];
        expected.extend((user == "ann").then_some("note:///ann/1"));
        let missed = changed_uris(&mut stream, expected.len()).await;
        assert_eq!(BTreeSet::from_iter(missed), expected.iter().map(ToString::to_string).collect(), "{user}");
        second.server.changed(&resource("note:///ann/2"));
        second.server.changed(&resource(LAST));
        let expected = if user == "ann" { vec!["note:///ann/2", LAST] } else { vec![LAST] };
        assert_eq!(changed_uris(&mut stream, expected.len()).await, expected, "{user}");
    }
}
