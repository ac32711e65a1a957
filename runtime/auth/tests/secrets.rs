//! Tests that no secret is logged, shown, or sent to another authorization server.

use std::sync::Arc;

use mcpgen_auth::client::{Grant, OAuthClient, OAuthError, OAuthOptions, RegisteredClient};
use mcpgen_auth::jose::SigningKey;
use mcpgen_auth::server::DpopPolicy;
use mcpgen_sdk::Client;
use mcpgen_sdk::http::client::{Authorize, ClientOptions, ConnectHttp};
use secrecy::SecretString;

use crate::authorization_server::{AuthorizationServer, FollowsRedirect};
use crate::discovery::{RESOURCE_AT_PATH, Site, respond};
use crate::flow::{ProtectedServer, call, messages, options};
use crate::recorder::Recorder;

#[tokio::test]
async fn secrets_are_neither_logged_nor_shown() {
    let recorder = Recorder::default();
    let _recording = tracing::subscriber::set_default(recorder.clone());
    let issuer = AuthorizationServer::start(20).await;
    let mut shown = String::new();
    for dpop in [false, true] {
        let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
        let mut options = options();
        options.dpop = dpop;
        let oauth = Arc::new(OAuthClient::new(&server.url, options.clone()).expect("a client"));
        let authorization: Arc<dyn Authorize> = oauth.clone();
        let http = ClientOptions::default().with_authorization(authorization);
        let client = Client::builder("client", "1").connect_http(&server.url, http).await.expect("a connection");
        call(&client, "read").await;
        call(&client, "write").await;
        issuer.revoke();
        call(&client, "read").await;
        shown += &format!("{oauth:?} {options:?} {client:?}");
        oauth.log_out().await.expect("a writable store");
    }
    // Cause errors that concern secrets.
    let key = SigningKey::generate().expect("a key");
    let mut wrong = options();
    wrong.client = Some(RegisteredClient::with_secret("https://other.example", "c", "client-secret-configured"));
    shown += &format!("{key:?} {wrong:?}");
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(&server.url, wrong).expect("a client"));
    let http = ClientOptions::default().with_authorization(oauth);
    let error = Client::builder("client", "1").connect_http(&server.url, http).await.expect_err("another issuer");
    shown += &format!("{error} {error:?}");
    assert!(shown.contains("https://other.example"), "{shown}");
    shown += &OAuthError::TokenResponse("t").to_string();

    let (logged, secrets) = (recorder.text(), issuer.secrets());
    assert!(logged.contains("the tokens cannot be refreshed"), "the subscriber records: {logged}");
    assert!(secrets.len() > 10, "{secrets:?}");
    for secret in secrets.iter().map(String::as_str).chain(["client-secret-configured"]) {
        assert!(!logged.contains(secret), "{secret} is logged:\n{logged}");
        assert!(!shown.contains(secret), "{secret} is shown:\n{shown}");
    }
}

/// A malicious MCP server may name its own authorization server, which must get no secret, signature or assertion.
#[tokio::test]
async fn secrets_reach_only_the_issuer_that_they_belong_to() {
    const HONEST: &str = "https://honest.example";
    let key = || SigningKey::generate().expect("a key");
    let assertion = || Grant::JwtBearer(Arc::new(SecretString::from("assertion")));
    let log_in = || Grant::AuthorizationCode(Arc::new(FollowsRedirect));
    for (grant, client) in [
        (Grant::ClientCredentials, RegisteredClient::with_secret(HONEST, "id", "secret")),
        (Grant::ClientCredentials, RegisteredClient::with_key(HONEST, "id", key())),
        (log_in(), RegisteredClient::with_secret(HONEST, "id", "secret")),
        (log_in(), RegisteredClient::with_key(HONEST, "id", key())),
        (assertion(), RegisteredClient::public("id").of_issuer(HONEST)),
    ] {
        let site = Site::start().await;
        site.put_resource(RESOURCE_AT_PATH, &site.origin);
        site.put_issuer("/.well-known/oauth-authorization-server", &site.origin);
        let mut options = OAuthOptions::new("test", grant);
        options.client = Some(client);
        let shown = format!("{options:?}");
        let client = OAuthClient::new(site.url().as_str(), options).expect("a client");
        let error = respond(&client, &site.url(), None, None).await.expect_err("another issuer");
        assert!(messages(error.as_ref()).contains("is registered with `https://honest.example`"), "{shown}: {error:?}");
        let requests = site.log();
        assert!(requests.iter().all(|path| path.starts_with("/.well-known/")), "{shown}: {requests:?}");
    }
    for client in [None, Some(RegisteredClient::public("id"))] {
        let mut options = OAuthOptions::new("test", assertion());
        options.client = client;
        let error = OAuthClient::new("https://mcp.example/mcp", options).expect_err("no issuer");
        assert!(matches!(error, OAuthError::NoIssuer), "{error:?}");
    }
}
