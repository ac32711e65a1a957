//! Slow clients of `http::server::listen`. Time is paused, and advances only while all tasks are idle.
#![cfg(feature = "http-server")]

use std::net::SocketAddr;
use std::time::Duration;

use axum_server::accept::Accept;
use mcpgen_sdk::http::server::{EndpointOptions, NoDelay, listen};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::support::http_server;

/// Serves on a local port. Sending on the channel starts the shutdown.
fn serve(change: impl FnOnce(&mut EndpointOptions)) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<()>) {
    let (endpoint, _) = http_server::big_endpoint(change);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (shutdown, requested) = oneshot::channel();
    let serving = tokio::spawn(async move {
        let requested = async { drop(requested.await) };
        let app = axum::Router::new().route_service("/mcp", endpoint.clone());
        listen(listener, app, &endpoint, requested).await.expect("no error");
    });
    (address, shutdown, serving)
}

/// Returns the text of a modern call of the tool `big`.
fn call(size: usize) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({ "name": "big", "arguments": { "size": size }, "_meta": meta });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let headers = "content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
                   mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: big";
    format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\n{headers}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Connects and sends text.
async fn client(address: SocketAddr, text: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    let mut client = socket.connect(address).await.expect("connected");
    client.write_all(text.as_bytes()).await.expect("sent");
    client
}

/// Reads the status of a response.
async fn status(client: &mut TcpStream) -> String {
    let mut line = [0; 12];
    client.read_exact(&mut line).await.expect("a response");
    String::from_utf8_lossy(&line[9..]).into_owned()
}

/// Waits until the server is idle.
async fn settled() {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// The HTTP/2 preface and empty settings.
const HTTP_2: &str = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

const LONG: Duration = Duration::from_secs(600);

#[tokio::test(start_paused = true)]
async fn shutdown_ends_while_a_client_does_not_read() {
    let (address, shutdown, mut serving) = serve(|_| {});
    let mut unread = client(address, &call(20_000_000)).await;
    assert_eq!(status(&mut unread).await, "200");
    settled().await;
    let start = Instant::now();
    shutdown.send(()).expect("the server is running");
    timeout(LONG, &mut serving).await.expect("the server ends").expect("no panic");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_while_a_client_does_not_finish_its_headers() {
    let (address, shutdown, serving) = serve(|_| {});
    let _unfinished = client(address, "POST /mcp HT").await;
    settled().await;
    let start = Instant::now();
    shutdown.send(()).expect("the server is running");
    timeout(LONG, serving).await.expect("the server ends").expect("no panic");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn disconnects_a_client_that_does_not_finish_its_headers() {
    let (address, _shutdown, _serving) = serve(|_| {});
    for start in ["", "POST /mcp HT", "POST /mcp HTTP/1.1\r\nhost: local", "PRI * HTTP/2.0\r\n\r\n", HTTP_2] {
        let mut unfinished = client(address, start).await;
        let mut rest = Vec::new();
        let ended = timeout(LONG, unfinished.read_to_end(&mut rest)).await;
        assert!(ended.is_ok(), "{start:?} stays connected");
    }
    // The same happens on a connection that has completed a request.
    let mut used = client(address, &call(1)).await;
    assert_eq!(status(&mut used).await, "200");
    used.write_all(b"POST /mcp HTTP/1.1\r\nhost: local").await.expect("sent");
    let ended = timeout(LONG, used.read_to_end(&mut Vec::new())).await;
    assert!(ended.is_ok(), "a used connection stays connected");
}

#[tokio::test(start_paused = true)]
async fn disconnects_a_client_that_does_not_read() {
    let (address, _shutdown, _serving) = serve(|options| options.requests = 1);
    let mut unread = client(address, &call(20_000_000)).await;
    assert_eq!(status(&mut unread).await, "200");
    settled().await;
    assert_eq!(status(&mut client(address, &call(1)).await).await, "503", "the response holds the request slot");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(status(&mut client(address, &call(1)).await).await, "200");
}

#[tokio::test]
async fn connections_have_no_delay() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let _client = TcpStream::connect(address).await.expect("connected");
    let (stream, _) = listener.accept().await.expect("accepted");
    let (stream, ()) = NoDelay.accept(stream, ()).await.expect("accepted");
    assert!(stream.as_ref().get_ref().get_ref().nodelay().expect("a socket option"));
}
