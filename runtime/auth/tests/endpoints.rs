//! Tests that clients with stored credentials need no metadata until an endpoint fails.

use axum::http::{HeaderMap, Method, StatusCode};
use mcpgen_auth::client::{OAuthClient, OAuthOptions};
use mcpgen_auth::server::DpopPolicy;
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest};
use mcpgen_types::Revision;
use tower::BoxError;

use crate::authorization_server::AuthorizationServer;
use crate::flow::{ProtectedServer, connect, messages, options};

/// An authorization server, an MCP server, and options of clients that share a store. One of them has logged in.
struct Fixture {
    issuer: AuthorizationServer,
    server: ProtectedServer,
    options: OAuthOptions,
}

impl Fixture {
    /// `lifetime` is the stored access token's, in seconds. Clients refresh tokens that expire within 30 s.
    async fn new(lifetime: i64) -> Self {
        let issuer = AuthorizationServer::start(lifetime).await;
        let server = ProtectedServer::start(issuer.issuer(), DpopPolicy::Allowed).await;
        let options = options();
        let client = connect(&server.url, options.clone(), Some(Revision::V2026_07_28)).await;
        client.close().await.expect("an open connection");
        assert_eq!(issuer.discoveries(), 2, "the client and the server request the metadata");
        issuer.log();
        Self { issuer, server, options }
    }

    /// Creates a client with the stored credentials, as another process would.
    fn client(&self) -> OAuthClient {
        OAuthClient::new(&self.server.url, self.options.clone()).expect("a client")
    }

    /// The headers for a first attempt to send a request.
    async fn authorize(&self) -> Result<HeaderMap, BoxError> {
        let url = self.server.url.parse().expect("a URL");
        let headers = self.client().authorize(AuthorizeRequest::new(&Method::POST, &url, None)).await?;
        Ok(headers.expect("stored credentials"))
    }
}

/// The stored endpoints suffice to send, refresh and revoke tokens, so a store needs no metadata documents.
#[tokio::test]
async fn stored_credentials_need_no_discovery() {
    let fixture = Fixture::new(300).await;
    fixture.authorize().await.expect("the stored token");
    assert!(fixture.issuer.log().is_empty());

    let fixture = Fixture::new(20).await;
    fixture.authorize().await.expect("a new token");
    assert_eq!(fixture.issuer.log(), ["refresh_token"]);
    fixture.client().log_out().await.expect("a revoked token");
    assert_eq!(fixture.issuer.log(), ["revoke refresh_token true"]);
    assert_eq!(fixture.issuer.discoveries(), 0);
}

#[tokio::test]
async fn finds_endpoints_that_have_moved() {
    let fixture = Fixture::new(20).await;
    fixture.issuer.move_endpoints();
    fixture.authorize().await.expect("a new token");
    assert_eq!(fixture.issuer.log(), ["404", "refresh_token"]);
    assert_eq!(fixture.issuer.discoveries(), 1);
    // The new endpoint is stored.
    fixture.authorize().await.expect("a new token");
    assert_eq!(fixture.issuer.log(), ["refresh_token"]);
    assert_eq!(fixture.issuer.discoveries(), 0);

    let fixture = Fixture::new(300).await;
    fixture.issuer.move_endpoints();
    fixture.client().log_out().await.expect("a revoked token");
    assert_eq!(fixture.issuer.log(), ["404", "revoke refresh_token true"]);
}

#[tokio::test]
async fn sends_no_refresh_token_to_endpoints_of_another_issuer() {
    let fixture = Fixture::new(20).await;
    fixture.issuer.move_endpoints();
    fixture.issuer.set_wrong_issuer("https://as.example");
    fixture.authorize().await.expect("the stored token");
    assert_eq!(fixture.issuer.log(), ["404"]);
    assert_eq!(fixture.issuer.discoveries(), 1);
}

/// The server then responds with 401, and the client logs in again.
#[tokio::test]
async fn sends_the_stored_token_if_the_token_endpoint_is_gone() {
    let fixture = Fixture::new(20).await;
    fixture.issuer.fail(Some(StatusCode::NOT_FOUND));
    fixture.authorize().await.expect("the stored token");
    assert_eq!(fixture.issuer.log(), ["404"]);
    assert_eq!(fixture.issuer.discoveries(), 1);
}

#[tokio::test]
async fn keeps_credentials_while_the_token_endpoint_is_unavailable() {
    let fixture = Fixture::new(4).await;
    fixture.issuer.fail(Some(StatusCode::SERVICE_UNAVAILABLE));
    fixture.authorize().await.expect("the stored token");
    assert_eq!(fixture.issuer.log(), ["503"]);

    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let error = fixture.authorize().await.expect_err("an expired token");
    assert!(messages(error.as_ref()).contains("/token` responded with 503"), "{error:?}");
    assert_eq!(fixture.issuer.log(), ["503"], "there is no login");

    fixture.issuer.fail(None);
    fixture.authorize().await.expect("a new token");
}
