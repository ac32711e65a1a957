//! Clients and servers over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mcpgen_cluster::{InMemoryRateLimiter, MemoryHub};
use mcpgen_gateway::{Gateway, Http, ServerConfig, Stores};
use mcpgen_sdk::http::client::{ClientOptions, ConnectHttp};
use mcpgen_sdk::protocol::change::Change;
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use serde_json::{Value, json};

use crate::support::{
    ERAS, call, client, connect, example, for_all_eras, gateway, in_time, text, tool_names, two_servers,
};

/// A process of the example that serves HTTP.
pub(crate) struct HttpServer(Child);

impl HttpServer {
    fn start(name: &str, revision: Revision) -> (Self, ServerConfig) {
        Self::start_at(name, revision, "0")
    }

    fn start_at(name: &str, revision: Revision, port: &str) -> (Self, ServerConfig) {
        Self::of_example("gateway_server", &[name, revision.as_str(), "http", port])
    }

    pub(crate) fn of_example(program: &str, arguments: &[&str]) -> (Self, ServerConfig) {
        let mut command = Command::new(example(program));
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().expect("the server runs");
        let mut url = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut url).expect("a URL");
        (Self(child), ServerConfig::of_url(url.trim()))
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves a gateway on a free port.
pub(crate) fn serve(gateway: &Gateway) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket");
    let address = listener.local_addr().expect("an address");
    let gateway = gateway.clone();
    tokio::spawn(async move { gateway.serve_http(listener, &Http::new(address), std::future::pending()).await });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_and_calls_over_http() {
    for_all_eras(|front, behind| async move {
        let (_server, config) = HttpServer::start("a", behind);
        let mut servers = two_servers(behind);
        servers.servers.insert("a".to_owned(), config);
        let url = format!("http://{}/mcp", serve(&gateway(servers)));
        let client = in_time(client(front).connect_http(&url, ClientOptions::default())).await.expect("a connection");
        assert_eq!(tool_names(&client).await.len(), 14);
        for (tool, expected) in [("a__greet", "hello from a"), ("b__greet", "hello from b"), ("count", "counted")] {
            assert_eq!(text(&client, tool).await, expected);
        }
        assert_eq!(text(&client, "sample").await, "model with 0 roots");
        let filter = SubscriptionFilter::new().with_tools_list_changed(true);
        let mut changes = in_time(client.changes(filter)).await.expect("a subscription");
        // A legacy client opens its stream in the background.
        tokio::time::sleep(Duration::from_millis(if front.is_legacy() { 300 } else { 0 })).await;
        assert_eq!(text(&client, "change").await, "changed");
        assert_eq!(in_time(changes.try_next()).await.expect("a subscription"), Some(Change::Tools));
    })
    .await;
}

/// Each session has its own connections, which end with it. Modern clients with equal client info share a session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_have_connections_of_their_own() {
    let gateway = gateway(two_servers(Revision::V2025_11_25));
    let url = format!("http://{}/mcp", serve(&gateway));
    let connect = async |revision| {
        let client =
            in_time(client(revision).connect_http(&url, ClientOptions::default())).await.expect("a connection");
        assert_eq!(text(&client, "only_b").await, "only");
        client
    };
    let legacy = [connect(ERAS[0]).await, connect(ERAS[1]).await];
    let _modern = [connect(ERAS[2]).await, connect(ERAS[2]).await];
    assert_eq!(gateway.clients(), 3);
    for client in legacy {
        in_time(client.close()).await.expect("an orderly end");
    }
    let ended = async {
        while gateway.clients() > 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    in_time(ended).await;
}

/// A server over HTTP that ends takes only its own tools with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_over_http_that_is_lost() {
    let (server, config) = HttpServer::start("a", Revision::LATEST);
    let mut servers = two_servers(Revision::LATEST);
    servers.servers.insert("a".to_owned(), config);
    let url = format!("http://{}/mcp", serve(&gateway(servers)));
    let client = in_time(client(ERAS[1]).connect_http(&url, ClientOptions::default())).await.expect("a connection");
    assert_eq!(text(&client, "only_a").await, "only");
    drop(server);
    let failed = call(&client, "only_a").await.expect_err("the server has ended").to_string();
    assert!(failed.contains("server `a`"), "{failed}");
    assert_eq!(text(&client, "only_b").await, "only");
    let names = tool_names(&client).await;
    assert!(!names.contains(&"only_a".to_owned()), "{names:?}");
}

/// Changes arrive again after a server over HTTP returns, although no connection ends to show that it was gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscriptions_survive_a_server_over_http() {
    for (front, is_late) in ERAS.into_iter().flat_map(|front| [(front, false), (front, true)]) {
        eprintln!("{front}, {is_late}");
        let (server, config) = HttpServer::start("a", Revision::LATEST);
        let port = config.url.clone().expect("a URL");
        let port = port.rsplit(':').next().and_then(|rest| rest.strip_suffix("/mcp")).expect("a port");
        let mut servers = two_servers(Revision::LATEST);
        servers.servers.insert("a".to_owned(), config);
        let client = connect(&gateway(servers), client(front)).await;
        tool_names(&client).await;
        let shared = SubscriptionFilter::new().with_resource_subscriptions(["a+file:///shared".to_owned()]);
        let mut server = Some(server);
        // Only a failed request shows that the server is not available, and the client can subscribe nevertheless.
        drop(server.take_if(|_| is_late));
        let mut changes = in_time(client.changes(shared)).await.expect("a subscription");
        drop(server);
        let (_server, _) = HttpServer::start_at("a", Revision::LATEST, port);
        let changed = async {
            loop {
                let _ = call(&client, "change").await;
                let change = tokio::time::timeout(Duration::from_millis(200), changes.try_next()).await;
                if let Ok(change) = change {
                    break change.expect("a subscription");
                }
            }
        };
        assert_eq!(in_time(changed).await, Some(Change::Resource("a+file:///shared".to_owned())));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn listens_on_loopback_without_authorization() {
    let gateway = gateway(two_servers(Revision::LATEST));
    for (address, is_served) in [("127.0.0.1:0", true), ("[::1]:0", true), ("0.0.0.0:0", false), ("[::]:0", false)] {
        let Ok(listener) = TcpListener::bind(address) else { continue };
        let settings = Http::new("127.0.0.1:0".parse().expect("an address"));
        let served = gateway.serve_http(listener, &settings, std::future::ready(())).await;
        assert_eq!(served.is_ok(), is_served, "{address}");
    }
}

/// Metrics name servers, so web pages from other hosts must not read them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn serves_metrics_to_allowed_hosts() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut settings = Http::new(free);
    settings.metrics = Some(free);
    settings.allowed_hosts = vec!["metrics.example".to_owned()];
    let gateway = gateway(two_servers(Revision::LATEST));
    tokio::spawn(async move { gateway.serve_http(listener, &settings, std::future::pending()).await });
    let get = |headers: &str| format!("GET /metrics HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    for (request, expected) in [
        (get("Host: localhost\r\n"), "HTTP/1.1 200 OK"),
        (get(&format!("Host: {free}\r\n")), "HTTP/1.1 200 OK"),
        (get("Host: metrics.example\r\n"), "HTTP/1.1 200 OK"),
        (get("Host: evil.example\r\n"), "HTTP/1.1 403 Forbidden"),
        (get("Host: localhost\r\nOrigin: https://evil.example\r\n"), "HTTP/1.1 403 Forbidden"),
    ] {
        let found = async {
            while TcpStream::connect(free).is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let sent = request.clone();
            tokio::task::spawn_blocking(move || status(free, &sent)).await.expect("no panic")
        };
        assert_eq!(in_time(found).await, expected, "{request}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requires_access_tokens_if_configured() {
    let mut config = two_servers(Revision::LATEST);
    config.http = Some(Http::new("127.0.0.1:0".parse().expect("an address")));
    let authorization = json!({ "resource": "https://gateway.example.com/mcp", "issuer": "https://login.example.com" });
    config.authorization = Some(serde_json::from_value(authorization).expect("settings"));
    let address = serve(&gateway(config));
    for (request, expected) in [
        ("POST /mcp HTTP/1.1\r\nHost: gateway.example.com\r\nContent-Length: 0", "HTTP/1.1 401 Unauthorized"),
        ("GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nHost: gateway.example.com", "HTTP/1.1 200 OK"),
    ] {
        let request = format!("{request}\r\nConnection: close\r\n\r\n");
        let found = tokio::task::spawn_blocking(move || status(address, &request)).await.expect("no panic");
        assert_eq!(found, expected);
    }
}

fn status(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    response.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refuses_other_hosts() {
    let address = serve(&gateway(two_servers(Revision::LATEST)));
    let post = |host: &str, more: &str| {
        format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\nContent-Length: 0\r\n\r\n")
    };
    for (request, expected) in [
        (post("evil.example", ""), "HTTP/1.1 403 Forbidden"),
        (post("localhost", "Origin: https://evil.example\r\n"), "HTTP/1.1 403 Forbidden"),
        ("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(), "HTTP/1.1 200 OK"),
        ("GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".to_owned(), "HTTP/1.1 200 OK"),
    ] {
        let found = tokio::task::spawn_blocking(move || (status(address, &request), request)).await.expect("no panic");
        assert_eq!(found.0, expected, "{}", found.1);
    }
}

/// A session works at every replica, and the call limit applies to all replicas together.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_share_sessions_and_limits() {
    use mcpgen_sdk::replicas::{RateLimiter, Replicas};

    let (hub, limiter) = (MemoryHub::new(100, 1 << 20), Arc::new(InMemoryRateLimiter::new(3, Duration::from_secs(60))));
    let replica = || {
        let mut config = two_servers(Revision::V2025_11_25);
        config.calls.per_minute = Some(3);
        let limiter: Arc<dyn RateLimiter> = limiter.clone();
        let limiter = Arc::new(move |_| Arc::clone(&limiter));
        let stores = Stores { replicas: Replicas::new(hub.replica()), limiter };
        Gateway::with_stores(config, Path::new(""), Some(stores)).expect("a gateway")
    };
    let gateways = [replica(), replica()];
    let addresses = gateways.each_ref().map(serve);
    let called = tokio::task::spawn_blocking(move || {
        let session = begin_session(addresses[0], &json!({}));
        [0, 1, 1, 0].map(|at: usize| {
            let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "only_b", "arguments": {} } });
            let mut response = String::new();
            post(addresses[at], &session, &call).read_to_string(&mut response).expect("a response");
            response
        })
    });
    let called = called.await.expect("no panic");
    assert!(called[..3].iter().all(|response| response.contains("only")), "{called:?}");
    assert!(called[3].contains("too many calls"), "{}", called[3]);
    assert_eq!(gateways.each_ref().map(|gateway| gateway.clients()), [1, 0]);
}

/// If the replica of a session ends, another one connects to the servers again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_takes_over_sessions() {
    use mcpgen_sdk::replicas::{RateLimiter, Replicas};

    let hub = MemoryHub::new(100, 1 << 20);
    let replica = || {
        let limiter =
            |calls| Arc::new(InMemoryRateLimiter::new(calls, Duration::from_secs(60))) as Arc<dyn RateLimiter>;
        let stores = Stores { replicas: Replicas::new(hub.replica()), limiter: Arc::new(limiter) };
        Gateway::with_stores(two_servers(Revision::V2025_11_25), Path::new(""), Some(stores)).expect("a gateway")
    };
    let other = replica();
    let other_address = serve(&other);
    let call = |address, session: String| {
        tokio::task::spawn_blocking(move || {
            let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "only_b", "arguments": {} } });
            let mut response = String::new();
            post(address, &session, &call).read_to_string(&mut response).expect("a response");
            response
        })
    };
    let session = {
        let (gateway, listener) = (replica(), TcpListener::bind("127.0.0.1:0").expect("a port"));
        let address = listener.local_addr().expect("an address");
        let (end, ended) = tokio::sync::oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let shutdown = async { drop(ended.await) };
            gateway.serve_http(listener, &Http::new(address), shutdown).await.expect("an orderly end");
        });
        let begun = tokio::task::spawn_blocking(move || begin_session(address, &json!({})));
        let session = begun.await.expect("no panic");
        assert!(call(address, session.clone()).await.expect("no panic").contains("only"));
        end.send(()).expect("it serves");
        serving.await.expect("no panic");
        session
    };
    assert_eq!(other.clients(), 0);
    let response = call(other_address, session).await.expect("no panic");
    assert!(response.contains(r#""text":"only""#), "{response}");
    assert_eq!(other.clients(), 1);
}

/// Sends a message, and returns the stream with the response.
pub(crate) fn post(address: SocketAddr, session: &str, message: &Value) -> TcpStream {
    let (body, mut stream) = (message.to_string(), TcpStream::connect(address).expect("a connection"));
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{session}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    stream.write_all(request.as_bytes()).expect("sent");
    stream
}

/// Begins a legacy session, and returns its header.
pub(crate) fn begin_session(address: SocketAddr, capabilities: &Value) -> String {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": { "name": "raw", "version": "1" } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let mut response = String::new();
    post(address, "", &initialize).read_to_string(&mut response).expect("a response");
    let id = response.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:")).expect("a session");
    let session = format!("{id}\r\n");
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    post(address, &session, &ready).read_to_string(&mut String::new()).expect("a response");
    session
}

/// A legacy client without a GET stream gets questions on the stream of its call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asks_on_the_stream_of_the_call() {
    let address = serve(&gateway(two_servers(Revision::V2025_11_25)));
    let asked = tokio::task::spawn_blocking(move || {
        let session = begin_session(address, &json!({ "sampling": {} }));
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "sample", "arguments": {} } });
        let lines = BufReader::new(post(address, &session, &call)).lines();
        // Empty lines keep the stream open.
        let (began, limit) = (Instant::now(), Duration::from_secs(20));
        let mut lines = lines.map_while(Result::ok).take_while(|_| began.elapsed() < limit);
        lines.any(|line| line.contains("sampling/createMessage"))
    });
    assert!(asked.await.expect("no panic"), "the question did not arrive");
}
