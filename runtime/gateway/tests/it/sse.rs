//! A server over HTTP+SSE, the transport of revision 2024-11-05.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::get;
use futures_util::{SinkExt, StreamExt, stream};
use mcpgen_gateway::ServerConfig;
use mcpgen_sdk::prelude::*;
use mcpgen_sdk::transport::{self, Inbound};
use mcpgen_sdk::{Server, serve};
use mcpgen_types::Revision;
use tokio::sync::mpsc;

use crate::support::{ERAS, client, connect, gateway, text, tool_names, two_servers};

type Sessions = Arc<Mutex<HashMap<String, mpsc::Sender<Bytes>>>>;

/// Opens an event stream, which begins with the URL for messages.
fn open_stream(server: Server, sessions: &Sessions, number: usize) -> Response {
    let ((incoming, outgoing), to_client) = transport::duplex();
    tokio::spawn(serve(server, to_client));
    let (sender, mut received) = mpsc::channel::<Bytes>(16);
    sessions.lock().expect("no panic").insert(number.to_string(), sender);
    tokio::spawn(async move {
        let mut outgoing = Box::pin(outgoing);
        while let Some(message) = received.recv().await {
            if outgoing.send(message.to_vec().into()).await.is_err() {
                return;
            }
        }
    });
    let endpoint = format!("event: endpoint\ndata: /messages?session={number}\n\n");
    let messages = incoming.filter_map(|message| async move {
        let message = String::from_utf8(Inbound::into_bytes(message.ok()?).ok()?.to_vec()).ok()?;
        Some(format!("event: message\ndata: {message}\n\n"))
    });
    let events = stream::iter([endpoint]).chain(messages).map(Ok::<_, Infallible>);
    let response = Response::builder().header("content-type", "text/event-stream");
    response.body(Body::from_stream(events)).expect("a response")
}

async fn start() -> String {
    let server = Server::builder("old", "1")
        .revisions([Revision::V2024_11_05])
        .tool("greet", |context: RequestContext| async move {
            context.progress(1.0, None, None).await;
            "hello from sse"
        })
        .build();
    let (sessions, next) = (Sessions::default(), Arc::new(AtomicUsize::new(1)));
    let known = Arc::clone(&sessions);
    let stream = move || {
        let response = open_stream(server.clone(), &sessions, next.fetch_add(1, Ordering::Relaxed));
        async move { response }
    };
    let message = move |Query(query): Query<HashMap<String, String>>, body: Bytes| {
        let session = known.lock().expect("no panic").get(&query["session"]).cloned();
        async move {
            match session {
                Some(session) if session.send(body).await.is_ok() => StatusCode::ACCEPTED,
                _ => StatusCode::NOT_FOUND,
            }
        }
    };
    let app = axum::Router::new().route("/sse", get(stream)).route("/messages", axum::routing::post(message));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/sse", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_a_server_over_http_sse() {
    let mut config = two_servers(Revision::LATEST);
    config.servers.insert("old".to_owned(), ServerConfig::of_url(start().await));
    let gateway = gateway(config);
    for revision in ERAS {
        let client = connect(&gateway, client(revision)).await;
        assert!(tool_names(&client).await.contains(&"old__greet".to_owned()));
        assert_eq!(text(&client, "old__greet").await, "hello from sse");
        assert_eq!(text(&client, "b__greet").await, "hello from b");
    }
}
