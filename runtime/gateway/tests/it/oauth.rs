//! Servers and clients that use access tokens from an authorization server.

use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_auth::client::{Grant, OAuthClient, OAuthOptions, RegisteredClient};
use mcpgen_auth::server::{Identity, JwtVerifier, ProtectedResource, ResourceOptions, ScopePolicy};
use mcpgen_cluster::{InMemoryRateLimiter, MemoryHub};
use mcpgen_gateway::{Config, Gateway, Http, OAuth, ServerConfig, Stores};
use mcpgen_sdk::http::client::{ClientOptions, ConnectHttp};
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::replicas::{RateLimiter, Replicas};
use mcpgen_sdk::{Client, Context, Server};
use mcpgen_types::Revision;
use serde_json::json;
use tower::Layer;

use crate::authorization_server::AuthorizationServer;
use crate::support::{ERAS, call, client, connect, gateway, in_time, text, tool_names, two_servers};

/// Serves a tool that returns the subject of the access token.
async fn protected_server(issuer: &str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let mut options = ResourceOptions::new(&url, issuer);
    options.scopes = ScopePolicy::default().require(["read"]);
    let verifier = JwtVerifier::new(issuer, &url).expect("a verifier");
    let resource = ProtectedResource::new(options, verifier).expect("a resource");
    let server = Server::builder("protected", "1")
        .tool("whoami", |context: Context| async move {
            Identity::of(&context).map(|identity| identity.subject.clone()).unwrap_or_default()
        })
        .build();
    let endpoint = server.http(EndpointOptions::default()).expect("a valid server");
    let app = axum::Router::new().route_service("/mcp", resource.layer(endpoint));
    let paths = resource.metadata_paths();
    let app = paths.iter().fold(app, |app, path| app.route_service(path, resource.metadata_service()));
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gets_access_tokens_for_a_server() {
    let authorization_server = AuthorizationServer::start(300).await;
    let url = protected_server(authorization_server.issuer()).await;
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "client-secret\n").expect("written");
    let mut config = two_servers(Revision::LATEST);
    let mut server = ServerConfig::of_url(&url);
    let oauth = json!({ "client_id": "gateway", "client_secret": { "file": secret },
        "issuer": authorization_server.issuer(), "scopes": ["read"] });
    server.oauth = Some(serde_json::from_value(oauth).expect("settings"));
    config.servers.insert("protected".to_owned(), server);
    let gateway = gateway(config);
    for revision in ERAS {
        let client = connect(&gateway, client(revision)).await;
        assert_eq!(text(&client, "whoami").await, "alice");
    }
    // All clients of the gateway share its token.
    let grants = authorization_server.log().into_iter().filter(|kind| kind == "client_credentials").count();
    assert_eq!(grants, 1);
}

/// The command prints a page, at which the user logs in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bridge_logs_a_user_in() {
    let authorization_server = AuthorizationServer::start(300).await;
    let url = protected_server(authorization_server.issuer()).await;
    let home = tempfile::tempdir().expect("a folder");
    let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_mcpgen-gateway"));
    command.args(["bridge", &url]).env("HOME", home.path()).env("XDG_DATA_HOME", home.path());
    let client = client(Revision::V2025_11_25).on_stderr(|line| {
        if let Some((_, page)) = line.split_once("open this page to log in: ") {
            tokio::spawn(reqwest::get(page.to_owned()));
        }
    });
    let client = in_time(client.connect_command(command)).await.expect("a connection");
    assert_eq!(text(&client, "whoami").await, "alice");
    assert!(authorization_server.log().contains(&"authorize read".to_owned()), "{:?}", authorization_server.log());
}

/// Only a server that asks for a login gets the time that a user needs for it.
#[tokio::test]
async fn a_server_that_does_not_answer_delays_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut server = ServerConfig::of_url(format!("http://{}/mcp", silent.local_addr().expect("an address")));
    (server.oauth, server.connect_timeout) = (Some(OAuth::default()), Some(1));
    let mut config = Config::default();
    config.servers.insert("silent".to_owned(), server);
    let checked = in_time(gateway(config).check()).await;
    let why = checked[0].outcome.as_ref().expect_err("no answer");
    assert!(why.contains("connecting"), "{why}");
}

/// Connects a client with an access token for these scopes.
async fn with_scopes(url: &str, issuer: &str, scopes: &[&str], revision: Revision) -> Client {
    let mut options = OAuthOptions::new("in front", Grant::ClientCredentials);
    options.client = Some(RegisteredClient::with_secret(issuer, "client", "client-secret"));
    options.scopes = Some(scopes.iter().map(|scope| (*scope).to_owned()).collect());
    let mut http = ClientOptions::default();
    http.authorization = Some(Arc::new(OAuthClient::new(url, options).expect("a client")));
    in_time(client(revision).connect_http(url, http)).await.expect("a connection")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_see_what_their_scopes_allow() {
    let authorization_server = AuthorizationServer::start(300).await;
    let issuer = authorization_server.issuer();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let url = format!("http://{address}/mcp");
    let mut config: Config = two_servers(Revision::V2025_11_25);
    let mut http = Http::new(address);
    // A quarter of them, so a principal can have two.
    http.clients = Some(8);
    config.http = Some(http.clone());
    let authorization = json!({ "resource": url, "issuer": issuer, "scopes": ["read"] });
    config.authorization = Some(serde_json::from_value(authorization).expect("settings"));
    config.tools = serde_json::from_value(json!({ "scopes": { "b__*": ["write"] } })).expect("rules");
    let gateway = Gateway::new(config.clone(), Path::new("")).expect("a gateway");
    // Another replica would not know the scopes.
    let limiter = |calls| Arc::new(InMemoryRateLimiter::new(calls, Duration::from_secs(60))) as Arc<dyn RateLimiter>;
    let replicas = Replicas::new(MemoryHub::new(100, 1 << 20).replica());
    let replica = Gateway::with_stores(config, Path::new(""), Some(Stores { replicas, limiter: Arc::new(limiter) }));
    assert!(replica.expect_err("scopes").to_string().contains("do not work with several replicas"));
    let serving = gateway.clone();
    tokio::spawn(async move { serving.serve_http(listener, &http, std::future::pending()).await });
    for revision in ERAS {
        for (scopes, sees) in [(&["read"][..], false), (&["read", "write"][..], true)] {
            let client = with_scopes(&url, issuer, scopes, revision).await;
            assert_eq!(tool_names(&client).await.contains(&"b__greet".to_owned()), sees, "{revision} {scopes:?}");
            assert_eq!(call(&client, "b__greet").await.is_ok(), sees, "{revision} {scopes:?}");
            assert_eq!(text(&client, "only_a").await, "only");
            in_time(client.close()).await.expect("an orderly end");
        }
    }
    // One principal cannot use up all clients: its idle ones make room for new ones.
    let mut clients = Vec::new();
    for number in 0..6 {
        let name = format!("client {number}");
        let mut options = OAuthOptions::new(&name, Grant::ClientCredentials);
        options.client = Some(RegisteredClient::with_secret(issuer, "client", "client-secret"));
        options.scopes = Some(vec!["read".to_owned()]);
        let mut http = ClientOptions::default();
        http.authorization = Some(Arc::new(OAuthClient::new(&url, options).expect("a client")));
        let client = Client::builder(&name, "1").revisions([Revision::LATEST]);
        let client = in_time(client.connect_http(&url, http)).await.expect("a connection");
        assert_eq!(text(&client, "only_a").await, "only");
        clients.push(client);
        assert!(gateway.clients() <= 2, "{}", gateway.clients());
    }
}
