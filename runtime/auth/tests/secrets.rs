//! Tests that no secret is logged or shown.

use std::sync::Arc;

use mcpgen_auth::client::{OAuthClient, OAuthError, RegisteredClient};
use mcpgen_auth::jose::SigningKey;
use mcpgen_auth::server::DpopPolicy;
use mcpgen_runtime::Client;
use mcpgen_runtime::http::client::{Authorize, ClientOptions};

use crate::authorization_server::AuthorizationServer;
use crate::flow::{ProtectedServer, call, options};
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
        let http = ClientOptions { authorization: Some(authorization), ..ClientOptions::default() };
        let client = Client::builder("client", "1").connect_http(&server.url, http).await.expect("a connection");
        call(&client, "read").await;
        call(&client, "write").await;
        issuer.revoke();
        call(&client, "read").await;
        shown += &format!("{oauth:?} {options:?} {client:?}");
        oauth.log_out().await.expect("a writable store");
    }
    // Errors that concern secrets.
    let key = SigningKey::generate().expect("a key");
    let mut wrong = options();
    wrong.client =
        Some(RegisteredClient::with_secret("c", "client-secret-configured").of_issuer("https://other.example"));
    shown += &format!("{key:?} {wrong:?}");
    let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
    let oauth: Arc<dyn Authorize> = Arc::new(OAuthClient::new(&server.url, wrong).expect("a client"));
    let http = ClientOptions { authorization: Some(oauth), ..ClientOptions::default() };
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
