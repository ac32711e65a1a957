//! Tests clients against malicious MCP servers, and servers against tokens that make them send requests.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use mcpgen_auth::client::OAuthClient;
use mcpgen_auth::jose::SigningKey;
use mcpgen_auth::server::{JwtVerifier, TokenVerifier};
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest, Challenge};
use serde_json::json;

use crate::authorization_server::{AuthorizationServer, now};
use crate::flow::options;

/// Responds to a challenge that names this metadata URL, and returns the error.
async fn error(server: &str, metadata: &str) -> String {
    let client = OAuthClient::new(server, options()).expect("a client");
    let mut headers = axum::http::HeaderMap::new();
    let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
    headers.insert("www-authenticate", challenge.parse().expect("a header value"));
    let challenge = Challenge::new(StatusCode::UNAUTHORIZED, headers, None);
    let url = server.parse().expect("a URL");
    let request = AuthorizeRequest::new(&axum::http::Method::POST, &url, Some(&challenge));
    client.authorize(request).await.expect_err(metadata).to_string()
}

#[tokio::test]
async fn requests_no_metadata_of_internal_machines() {
    let app = axum::Router::new()
        .route("/redirect", get(|| async { Redirect::temporary("https://10.0.0.1/metadata") }))
        .route("/loop", get(|| async { Redirect::temporary("/loop") }))
        .route("/long", get(|| async { "a".repeat(1 << 20).into_response() }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let local = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let server = format!("{local}/mcp");
    let table = [
        (server.as_str(), "http://169.254.169.254/latest/meta-data".to_owned(), "must be `https`"),
        (&server, "https://169.254.169.254/latest/meta-data".to_owned(), "not public"),
        (&server, "file:///etc/passwd".to_owned(), "must have a host"),
        (&server, format!("{local}/redirect"), "not public"),
        (&server, format!("{local}/loop"), "508"),
        (&server, format!("{local}/long"), "longer than 512 KiB"),
        // A remote server must not make the client send requests to the client's machine.
        ("https://mcp.example/mcp", format!("{local}/redirect"), "loopback interface"),
        ("https://mcp.example/mcp", "https://localhost/metadata".to_owned(), "loopback interface"),
    ];
    for (server, metadata, expected) in table {
        let error = error(server, &metadata).await;
        assert!(error.contains(expected), "{metadata}: {error}");
    }
}

#[tokio::test]
async fn unknown_keys_cause_few_requests() {
    let issuer = AuthorizationServer::start(300).await;
    let verifier = JwtVerifier::new(issuer.issuer(), "urn:mcp").expect("a verifier");
    let claims = json!({ "iss": issuer.issuer(), "aud": "urn:mcp", "sub": "eve", "exp": now() + 300 });
    for index in 0..20 {
        let key = SigningKey::generate().expect("a key").with_kid(index.to_string());
        let token = key.sign(json!({ "typ": "at+jwt" }), &claims).expect("a token").into();
        let error = verifier.verify(&token).await.expect_err("an unknown key");
        assert_eq!(error.to_string(), "the issuer has no such key");
    }
    assert_eq!(issuer.log(), ["jwks"]);
}
