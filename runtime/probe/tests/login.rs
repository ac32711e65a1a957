//! Logs in with `--login`, to a protected server and an authorization server in this process.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use mcpgen_auth::server::{JwtVerifier, ProtectedResource, ResourceOptions, ScopePolicy};
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use tower::Layer as _;

use crate::authorization_server::AuthorizationServer;
use crate::support::{Answer, probe};

/// Starts a server that requires access tokens with the scope `read`, and `write` for the tool `delete`. Returns its
/// URL.
async fn protected_server(issuer: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let mut options = ResourceOptions::new(&url, issuer);
    options.scopes = ScopePolicy::default().require(["read"]).for_tool("delete", ["write"]);
    let verifier = JwtVerifier::new(issuer, &url).expect("a verifier");
    let resource = ProtectedResource::new(options, verifier).expect("a resource");
    let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
    let server = Server::builder("protected", "1")
        .tool(tool("greet"), || async { "hello" })
        .tool(tool("delete"), || async { "deleted" })
        .build();
    let endpoint = server.http(EndpointOptions::default()).expect("a valid server");
    let mut app = axum::Router::new().route_service("/mcp", resource.layer(endpoint));
    for path in resource.metadata_paths() {
        app = app.route_service(&path, resource.metadata_service());
    }
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

/// Prepares a command that stores its tokens in this folder.
fn probe_in(home: &Path, arguments: &[&str]) -> Command {
    let mut command = probe(arguments);
    command.env("HOME", home).env("XDG_DATA_HOME", home.join("data")).env("LOCALAPPDATA", home);
    command
}

/// Runs a command and opens the URL that it prints.
fn log_in(mut command: Command) -> Answer {
    let mut child = command.spawn().expect("the command runs");
    let (mut shown, mut line) = (String::new(), String::new());
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    while !line.starts_with("http") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).expect("text"), 0, "no URL in:\n{shown}");
        shown.push_str(&line);
    }
    let (head, _) = get(line.trim());
    let callback = head.get("location").expect("a redirect to the command");
    let (_, page) = get(callback);
    assert!(page.contains("You can close this page"), "{page}");
    stderr.read_to_string(&mut shown).expect("text");
    let answer = Answer::from(child.wait_with_output().expect("it exits"));
    Answer { err: shown, ..answer }
}

/// Requests a page. Returns its headers and its text.
fn get(url: &str) -> (BTreeMap<String, String>, String) {
    let (authority, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
    let mut stream = TcpStream::connect(authority).expect("a connection");
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {authority}\r\nconnection: close\r\n\r\n").expect("a sent request");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("a response");
    let (head, body) = response.split_once("\r\n\r\n").expect("a response");
    let headers = head.lines().filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
    (headers, body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_in_once_and_again_for_more_scopes() {
    let issuer = AuthorizationServer::start(300).await;
    let url = protected_server(issuer.issuer()).await;
    let home = tempfile::tempdir().expect("a folder");
    let home = home.path();

    let answer = Answer::from(probe_in(home, &["list", &url]).output().expect("the command runs"));
    assert!(answer.code == Some(3) && answer.err.contains("log in with --login"), "{}", answer.err);

    let answer = log_in(probe_in(home, &["list", "--login", &url]));
    assert_eq!(answer.code, Some(0), "{}", answer.err);
    assert!(answer.out.contains("tools (2)\n  delete\n  greet\n"), "{}", answer.out);
    assert!(answer.err.starts_with("Open this page to log in:\nhttp"), "{}", answer.err);

    // The token is stored.
    let answer = Answer::from(probe_in(home, &["call", "greet", "--login", &url]).output().expect("the command runs"));
    assert_eq!((answer.code, answer.out.as_str(), answer.err.as_str()), (Some(0), "hello\n", ""));

    // The tool needs another scope.
    let answer = log_in(probe_in(home, &["call", "delete", "--login", &url]));
    assert_eq!((answer.code, answer.out.as_str()), (Some(0), "deleted\n"), "{}", answer.err);

    let logins = issuer.log().iter().filter(|request| request.starts_with("authorize")).count();
    assert_eq!(logins, 2);
    let shown = [answer.out, answer.err].concat();
    assert!(!issuer.secrets().iter().any(|secret| shown.contains(secret)), "{shown}");
}
