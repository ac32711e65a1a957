//! Tests DPoP nonces of authorization servers and of MCP servers (RFC 9449, sections 8 and 9).

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use futures_util::future::{BoxFuture, ready};
use mcpgen_auth::client::OAuthClient;
use mcpgen_auth::dpop::DpopKey;
use mcpgen_auth::jose::Jws;
use mcpgen_auth::server::{
    DpopNonces, DpopPolicy, Identity, ProtectedResource, ResourceOptions, TokenError, TokenVerifier,
};
use mcpgen_sdk::http::client::{Authorize, AuthorizeRequest, Challenge};
use mcpgen_types::Revision;
use secrecy::SecretString;
use serde_json::Value;
use tower::{Layer, ServiceExt};

use crate::authorization_server::AuthorizationServer;
use crate::flow::{ProtectedServer, call, connect, options};

#[tokio::test]
async fn clients_use_the_nonces_of_both_servers() {
    for (of_issuer, of_server) in [(true, false), (false, true), (true, true)] {
        let issuer = AuthorizationServer::start(300).await;
        if of_issuer {
            issuer.require_nonces();
        }
        // A nonce is replaced each second.
        let nonces = DpopNonces::generate().expect("a key").lifetime(Duration::from_secs(2));
        let server = ProtectedServer::start_with(issuer.issuer(), |options| {
            options.dpop = DpopPolicy::Required;
            options.dpop_nonces = of_server.then_some(nonces);
        })
        .await;
        let mut options = options();
        options.dpop = true;
        let client = connect(&server.url, options, Some(Revision::V2026_07_28)).await;
        let mut log = issuer.log();
        log.retain(|kind| kind != "jwks");
        let refused: &[_] = if of_issuer { &["use_dpop_nonce"] } else { &[] };
        let expected = [&["register", "authorize read"], refused, &["authorization_code"]].concat();
        assert_eq!(log, expected);
        assert_eq!(call(&client, "read").await, "alice");
        // The response to the first token request provides the nonce for the next one.
        assert_eq!(call(&client, "write").await, "written");
        assert_eq!(issuer.log(), ["authorize read write", "authorization_code"]);
        if of_server {
            tokio::time::sleep(Duration::from_millis(2500)).await;
            assert_eq!(call(&client, "read").await, "alice", "the old nonce has expired");
            assert!(issuer.log().is_empty());
        }
    }
}

/// Returns the `nonce` of the DPoP proof in headers.
fn nonce_of(headers: &HeaderMap) -> Value {
    let proof = headers["dpop"].to_str().expect("text");
    Jws::parse(proof).expect("a proof").payload::<Value>().expect("claims")["nonce"].clone()
}

/// As in revision 2025-03-26, the MCP server shares its origin with the authorization server.
#[tokio::test]
async fn clients_keep_nonces_of_one_origin_apart() {
    let issuer = AuthorizationServer::start(300).await;
    issuer.require_nonces();
    let url = format!("{}/mcp", issuer.issuer()).parse().expect("a URL");
    let mut options = options();
    options.dpop = true;
    let client = OAuthClient::new(&format!("{}/mcp", issuer.issuer()), options).expect("a client");
    let respond = async |error: &str, nonce: Option<&str>| {
        let mut headers = HeaderMap::new();
        headers.insert("www-authenticate", format!("DPoP {error}").parse().expect("a value"));
        headers.extend(nonce.map(|nonce| (mcpgen_auth::dpop::DPOP_NONCE, nonce.parse().expect("a value"))));
        let challenge = Challenge::new(StatusCode::UNAUTHORIZED, headers, None);
        let request = AuthorizeRequest::new(&Method::POST, &url, Some(&challenge));
        client.authorize(request).await.expect("no error")
    };
    let headers = respond("", Some("first")).await.expect("a login");
    assert_eq!(nonce_of(&headers), "first");
    let headers = respond("error=use_dpop_nonce", Some("second")).await.expect("another proof");
    assert_eq!(nonce_of(&headers), "second");
    assert!(respond("error=use_dpop_nonce", None).await.is_none(), "there is no other nonce to try");
    assert_eq!(issuer.log(), ["register", "authorize ", "use_dpop_nonce", "authorization_code"]);
}

/// Accepts any token, and treats it as bound to this key.
struct BoundTo(String);

impl TokenVerifier for BoundTo {
    fn verify<'a>(&'a self, _: &'a SecretString) -> BoxFuture<'a, Result<Identity, TokenError>> {
        let mut identity = Identity::new("https://as.example", "alice");
        identity.thumbprint = Some(self.0.clone());
        Box::pin(ready(Ok(identity)))
    }
}

#[tokio::test]
async fn servers_accept_only_nonces_that_they_created() {
    const URL: &str = "https://mcp.example/mcp";
    let key = DpopKey::generate().expect("a key");
    let resource = |nonces: DpopNonces| {
        let mut options = ResourceOptions::new(URL, "https://as.example");
        options.dpop_nonces = Some(nonces);
        ProtectedResource::new(options, BoundTo(key.thumbprint().to_owned())).expect("a resource")
    };
    let send = async |resource: &ProtectedResource, nonce: Option<&HeaderValue>| {
        let handler = tower::service_fn(|_: Request<_>| async { Ok::<_, Infallible>(Response::new(Body::empty())) });
        let nonce = nonce.map(|nonce| nonce.to_str().expect("text"));
        let proof = key.proof("POST", &URL.parse().expect("a URL"), nonce, Some(&"token".into())).expect("a proof");
        let request = Request::post("/mcp").header("authorization", "DPoP token").header("dpop", proof);
        let request: Request<Body> = request.body(Body::empty()).expect("a request");
        resource.layer(handler).oneshot(request).await.expect("a response").map(drop)
    };
    let shared = || DpopNonces::from_secret(&"0123456789abcdef0123456789abcdef".into()).expect("nonces");
    let resource_of_process = resource(shared());
    let refused = send(&resource_of_process, None).await;
    let nonce = refused.headers()["dpop-nonce"].clone();
    let wrong = HeaderValue::from_static("wrong");
    for (nonces, nonce, is_accepted) in [
        (shared(), None, false),
        (shared(), Some(&wrong), false),
        (shared(), Some(&nonce), true),
        (DpopNonces::generate().expect("a key"), Some(&nonce), false),
    ] {
        let response = send(&resource(nonces), nonce).await;
        let headers = response.headers();
        if is_accepted {
            assert_eq!(response.status(), StatusCode::OK);
            assert!(!headers.contains_key("dpop-nonce"), "the nonce is current");
            continue;
        }
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        let challenge: Vec<_> = headers.get_all("www-authenticate").iter().collect();
        let [challenge] = challenge[..] else { panic!("several challenges: {challenge:?}") };
        let challenge = challenge.to_str().expect("text");
        assert!(challenge.starts_with("DPoP ") && challenge.contains("error=\"use_dpop_nonce\""), "{challenge}");
        assert_eq!(headers.get_all("dpop-nonce").iter().count(), 1);
        assert_eq!(headers["cache-control"], "no-store");
    }
}
