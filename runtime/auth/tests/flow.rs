//! Tests clients with a protected server, over HTTP.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::http::{HeaderMap, Request};
use futures_util::future::BoxFuture;
use mcpgen_auth::client::{Grant, OAuthClient, OAuthOptions, PendingLogin, RegisteredClient, UserAgent};
use mcpgen_auth::server::{DpopPolicy, Identity, JwtVerifier, ProtectedResource, ResourceOptions, ScopePolicy};
use mcpgen_auth::store::{CredentialStore, EntryKind, FileStore, MemoryStore, StoreError, StoreKey};
use mcpgen_sdk::client::ClientBuilder;
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest, ClientOptions, ConnectHttp};
use mcpgen_sdk::http::server::{CheckedBody, Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::{Client, Context, Server};
use mcpgen_types::v2026_07_28::{CallToolResult, Tool, ToolInputSchema};
use mcpgen_types::{JsonObject, Revision};
use secrecy::SecretString;
use tower::{BoxError, Layer, ServiceExt};

use crate::authorization_server::{AuthorizationServer, FollowsRedirect};

/// A protected server, whose tools `write` and `admin` need the scopes of the same names.
pub(crate) struct ProtectedServer {
    pub(crate) url: String,
    server: Server,
    endpoint: Arc<Mutex<Endpoint>>,
}

impl ProtectedServer {
    pub(crate) async fn start(issuer: &str, dpop: DpopPolicy) -> Self {
        Self::start_with(issuer, |options| options.dpop = dpop).await
    }

    pub(crate) async fn start_with(issuer: &str, change: impl FnOnce(&mut ResourceOptions)) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
        let mut options = ResourceOptions::new(&url, issuer);
        options.scopes =
            ScopePolicy::default().require(["read"]).for_tool("write", ["write"]).for_tool("admin", ["admin"]);
        change(&mut options);
        let verifier = JwtVerifier::new(issuer, &url).expect("a verifier").leeway(std::time::Duration::ZERO);
        let resource = ProtectedResource::new(options, verifier).expect("a resource");
        let tool = |name: &str| Tool::new(name, ToolInputSchema::new());
        let server = Server::builder("server", "1")
            .tool(tool("read"), |context: Context| async move {
                let identity = Identity::of(&context).expect("an identity");
                let principal = context.principal().expect("a principal");
                assert_eq!(principal.name(), format!("{} alice", identity.issuer));
                identity.subject.clone()
            })
            .tool(tool("write"), || async { "written" })
            .tool(tool("admin"), || async { "never called" })
            .build();
        let endpoint = Arc::new(Mutex::new(server.http(EndpointOptions::default()).expect("a valid server")));
        let current = Arc::clone(&endpoint);
        let dispatch = tower::service_fn(move |request: Request<CheckedBody>| {
            let endpoint = current.lock().expect("a lock").clone();
            endpoint.oneshot(request)
        });
        let mut app = axum::Router::new().route_service("/mcp", resource.layer(dispatch));
        for path in resource.metadata_paths() {
            app = app.route_service(&path, resource.metadata_service());
        }
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, server, endpoint }
    }

    /// Ends all sessions, as a restart of the server would.
    pub(crate) async fn lose_sessions(&self) {
        let new = self.server.http(EndpointOptions::default()).expect("a valid server");
        let old = std::mem::replace(&mut *self.endpoint.lock().expect("a lock"), new);
        old.close().await;
    }

    fn sessions(&self) -> usize {
        self.endpoint.lock().expect("a lock").sessions()
    }
}

pub(crate) fn options() -> OAuthOptions {
    OAuthOptions::new("test", Grant::AuthorizationCode(Arc::new(FollowsRedirect)))
}

fn builder(revision: Option<Revision>) -> ClientBuilder {
    Client::builder("client", "1").options(|options| {
        options.local_info.revisions.retain(|known| revision.is_none_or(|revision| revision == *known));
    })
}

pub(crate) async fn connect(url: &str, options: OAuthOptions, revision: Option<Revision>) -> Client {
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(url, options).expect("a client"));
    let options = ClientOptions::default().with_authorization(oauth);
    builder(revision).connect_http(url, options).await.unwrap_or_else(|error| panic!("{error:?}"))
}

pub(crate) async fn call(client: &Client, tool: &str) -> String {
    let result: CallToolResult = client.call_tool(tool, JsonObject::new()).await.expect("a result");
    mcpgen_types::to_value(&result).expect("JSON")["content"][0]["text"].as_str().expect("text").to_owned()
}

const REVISIONS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// Logs in like [`FollowsRedirect`], but takes a while.
struct Slow;

impl UserAgent for Slow {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>> {
        Box::pin(async {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            FollowsRedirect.prepare().await
        })
    }
}

#[tokio::test]
async fn connecting_waits_for_the_login() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let options = OAuthOptions::new("test", Grant::AuthorizationCode(Arc::new(Slow)));
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(&server.url, options).expect("a client"));
    let options = ClientOptions::default().with_authorization(oauth);
    let builder = builder(None).options(|options| options.discover_timeout = std::time::Duration::from_millis(100));
    let client = builder.connect_http(&server.url, options).await.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(call(&client, "read").await, "alice");
}

#[tokio::test]
async fn logs_in_and_steps_up() {
    for (revision, dpop) in REVISIONS.into_iter().flat_map(|revision| [(revision, false), (revision, true)]) {
        let issuer = AuthorizationServer::start(300).await;
        let policy = if dpop { DpopPolicy::Required } else { DpopPolicy::Allowed };
        let server = ProtectedServer::start(issuer.issuer(), policy).await;
        let mut options = options();
        options.dpop = dpop;
        let client = connect(&server.url, options, Some(revision)).await;
        assert_eq!(call(&client, "read").await, "alice");
        assert_eq!(issuer.log(), ["register", "authorize read", "authorization_code", "jwks"], "{revision} {dpop}");
        assert_eq!(call(&client, "write").await, "written");
        assert_eq!(issuer.log(), ["authorize read write", "authorization_code"], "{revision} {dpop}");
        assert_eq!(call(&client, "read").await, "alice");
        assert!(issuer.log().is_empty());
    }
}

#[tokio::test]
async fn stops_stepping_up_without_success() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let client = connect(&server.url, options(), Some(Revision::V2026_07_28)).await;
    issuer.log();
    for expected in [&["authorize admin read", "authorization_code"][..], &[]] {
        let error = client.call_tool("admin", JsonObject::new()).await.expect_err("insufficient scope");
        assert!(messages(&error).contains("403"), "{error:?}");
        assert_eq!(issuer.log(), expected);
    }
    assert_eq!(call(&client, "read").await, "alice");
}

/// Returns the messages of an error and its sources.
pub(crate) fn messages(error: &dyn std::error::Error) -> String {
    let chain = std::iter::successors(Some(error), |error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[tokio::test]
async fn refreshes_tokens_before_they_expire() {
    // Tokens that expire within 30 s are refreshed, so the client does so before each request.
    let issuer = AuthorizationServer::start(20).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let client = connect(&server.url, options(), Some(Revision::V2026_07_28)).await;
    issuer.log();
    assert_eq!(call(&client, "read").await, "alice");
    assert_eq!(issuer.log(), ["refresh_token"]);
    // The refresh token is revoked, but the access token is still valid.
    issuer.revoke();
    assert_eq!(call(&client, "read").await, "alice");
    assert_eq!(issuer.log(), ["refresh_token", "invalid_grant"]);
}

#[tokio::test]
async fn logs_in_again_when_all_tokens_have_expired() {
    let issuer = AuthorizationServer::start(3).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let client = connect(&server.url, options(), Some(Revision::V2026_07_28)).await;
    issuer.revoke();
    issuer.set_lifetime(300);
    issuer.log();
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
    assert_eq!(call(&client, "read").await, "alice");
    let log = issuer.log();
    assert_eq!(log.last().map(String::as_str), Some("authorization_code"), "{log:?}");
    assert!(log.contains(&"authorize read".to_owned()), "{log:?}");
}

#[tokio::test]
async fn concurrent_requests_share_a_login() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(&server.url, options()).expect("a client"));
    let connect = || async {
        let options = ClientOptions::default().with_authorization(Arc::clone(&oauth));
        let client = builder(None).connect_http(&server.url, options).await.expect("a connection");
        call(&client, "read").await
    };
    let texts = tokio::join!(connect(), connect(), connect(), connect());
    assert_eq!(texts, ("alice".into(), "alice".into(), "alice".into(), "alice".into()));
    let log = issuer.log();
    assert_eq!(log.iter().filter(|kind| *kind == "authorization_code").count(), 1, "{log:?}");
}

#[tokio::test]
async fn stored_credentials_need_no_login() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    for dpop in [false, true] {
        let mut options = options();
        options.dpop = dpop;
        let store: Arc<dyn CredentialStore> = Arc::clone(&options.store);
        assert_eq!(call(&connect(&server.url, options.clone(), None).await, "read").await, "alice");
        issuer.log();
        assert_eq!(call(&connect(&server.url, options.clone(), None).await, "read").await, "alice");
        assert!(issuer.log().is_empty());
        // Another user has no credentials in the store.
        options.user = "bob".to_owned();
        assert!(Arc::ptr_eq(&store, &options.store));
        connect(&server.url, options, None).await;
        assert!(!issuer.log().is_empty());
    }
}

#[tokio::test]
async fn a_lost_session_is_replaced_with_the_same_login() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let client = connect(&server.url, options(), Some(Revision::V2025_11_25)).await;
    assert_eq!(call(&client, "read").await, "alice");
    issuer.log();
    server.lose_sessions().await;
    assert_eq!(call(&client, "read").await, "alice");
    assert_eq!(server.sessions(), 1);
    assert!(issuer.log().is_empty());
}

/// Authorization servers may revoke all tokens of a login if a refresh token is used twice.
#[tokio::test(flavor = "multi_thread")]
async fn clients_with_a_common_store_use_each_refresh_token_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let memory: Arc<dyn CredentialStore> = Arc::new(MemoryStore::default());
    let file = || -> Arc<dyn CredentialStore> { Arc::new(FileStore::new(directory.path().join("credentials.json"))) };
    for stores in [[Arc::clone(&memory), memory], [file(), file()]] {
        // Tokens that expire within 30 s are refreshed, so each request needs a new one.
        let issuer = AuthorizationServer::start(20).await;
        let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
        let mut clients = Vec::new();
        for store in stores {
            let mut options = options();
            options.store = store;
            clients.push(connect(&server.url, options, Some(Revision::V2026_07_28)).await);
        }
        issuer.log();
        let calls = async |client: &Client| {
            for _ in 0..10 {
                assert_eq!(call(client, "read").await, "alice");
            }
        };
        tokio::join!(calls(&clients[0]), calls(&clients[1]));
        let log = issuer.log();
        assert!(log.iter().all(|kind| kind == "refresh_token"), "{log:?}");
    }
}

#[tokio::test]
async fn logging_out_revokes_the_refresh_token() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let options = options();
    connect(&server.url, options.clone(), None).await;
    issuer.log();
    // Another client of the same store, as in another run of the program.
    let oauth = OAuthClient::new(&server.url, options.clone()).expect("a client");
    oauth.log_out().await.expect("a writable store");
    assert_eq!(issuer.log(), ["revoke refresh_token true"]);
    connect(&server.url, options, None).await;
    assert_eq!(issuer.log(), ["authorize read", "authorization_code"]);
    oauth.log_out().await.expect("a writable store");
}

/// A read-only store.
struct ReadOnly(MemoryStore);

impl CredentialStore for ReadOnly {
    fn load<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<Option<SecretString>, StoreError>> {
        self.0.load(key)
    }

    fn save<'a>(&'a self, _: &'a StoreKey, _: &'a SecretString) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(std::future::ready(Err(StoreError::new("in memory", "it is read-only"))))
    }

    fn remove<'a>(&'a self, key: &'a StoreKey) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.remove(key)
    }
}

#[tokio::test]
async fn uses_newer_credentials_than_the_store_can_keep() {
    let issuer = AuthorizationServer::start(20).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let (mut options, store) = (options(), MemoryStore::default());
    options.client = Some(RegisteredClient::with_secret(issuer.issuer(), "client", "client-secret"));
    options.store = Arc::new(store);
    let key = StoreKey { kind: EntryKind::Credentials, server: server.url.clone(), user: String::new() };
    call(&connect(&server.url, options.clone(), None).await, "read").await;
    let stored = options.store.load(&key).await.expect("a readable store").expect("credentials");
    let read_only = MemoryStore::default();
    read_only.save(&key, &stored).await.expect("a writable store");
    options.store = Arc::new(ReadOnly(read_only));
    let client = connect(&server.url, options, None).await;
    issuer.log();
    for _ in 0..3 {
        assert_eq!(call(&client, "read").await, "alice");
    }
    assert_eq!(issuer.log(), ["refresh_token", "refresh_token", "refresh_token"]);
}

/// A user who never logs in.
struct Absent(AtomicUsize);

impl UserAgent for Absent {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(Err("nobody is here".into())))
    }
}

#[tokio::test]
async fn a_failed_login_is_not_repeated() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let absent = Arc::new(Absent(AtomicUsize::new(0)));
    let options = OAuthOptions::new("test", Grant::AuthorizationCode(absent.clone()));
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(&server.url, options).expect("a client"));
    let options = ClientOptions::default().with_authorization(oauth);
    let error = builder(None).connect_http(&server.url, options).await.expect_err("no login");
    assert!(messages(&error).contains("the user could not be asked to log in"), "{error:?}");
    assert_eq!(absent.0.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn verifies_tokens_within_sessions() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(&server.url, options()).expect("a client"));
    let transport = ClientOptions::default().with_authorization(Arc::clone(&oauth));
    let _client = builder(Some(Revision::V2025_11_25)).connect_http(&server.url, transport).await.expect("a session");
    let url = server.url.parse().expect("a URL");
    let request = AuthorizeRequest::new(&axum::http::Method::POST, &url, None);
    let token = oauth.authorize(request).await.expect("credentials").expect("a token");
    let post = async |headers: HeaderMap, body: &str| {
        let request = reqwest::Client::new().post(&server.url).headers(headers).body(body.to_owned());
        let request = request.header("content-type", "application/json");
        request.header("accept", "application/json, text/event-stream").send().await.expect("a response")
    };
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",
        "capabilities":{},"clientInfo":{"name":"client","version":"1"}}}"#;
    let response = post(token.clone(), initialize).await;
    let session = response.headers()["mcp-session-id"].clone();
    let ping = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;
    for (headers, status) in [(token, 200), (HeaderMap::new(), 401)] {
        let mut headers = headers;
        headers.insert("mcp-session-id", session.clone());
        headers.insert("mcp-protocol-version", "2025-11-25".parse().expect("a value"));
        assert_eq!(post(headers, ping).await.status().as_u16(), status);
    }
}

/// The transport may request another URL, for example after a redirect.
#[tokio::test]
async fn refuses_to_send_tokens_elsewhere() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(&server.url, options()).expect("a client"));
    let transport = ClientOptions::default().with_authorization(Arc::clone(&oauth));
    builder(None).connect_http(&server.url, transport).await.expect("a connection");
    for (url, is_sent) in [(server.url.as_str(), true), (issuer.issuer(), false), ("https://mcp.example/mcp", false)] {
        let url = url.parse().expect("a URL");
        let request = AuthorizeRequest::new(&axum::http::Method::POST, &url, None);
        assert_eq!(oauth.authorize(request).await.expect("credentials").is_some(), is_sent, "{url}");
    }
}

#[tokio::test]
async fn explains_rejected_registrations() {
    let issuer = AuthorizationServer::start(300).await;
    issuer.reject_registrations();
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(&server.url, options()).expect("a client"));
    let options = ClientOptions::default().with_authorization(oauth);
    let error = builder(None).connect_http(&server.url, options).await.expect_err("no client ID");
    let expected = "refused the registration of a client with redirect URI `http://127.0.0.1:7777/callback`: \
                    invalid_redirect_uri: no loopback";
    assert!(messages(&error).contains(expected), "{error:?}");
}

#[tokio::test]
async fn servers_refuse_clients_without_credentials() {
    let issuer = AuthorizationServer::start(300).await;
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let error = builder(None).connect_http(&server.url, ClientOptions::default()).await.expect_err("no token");
    assert!(error.to_string().contains("401 Unauthorized"), "{error}");
}
