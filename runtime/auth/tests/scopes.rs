//! Tests scopes of methods and tools.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{Request, Response};
use futures_util::future::BoxFuture;
use mcpgen_auth::server::{Identity, ProtectedResource, ResourceOptions, ScopePolicy, TokenError, TokenVerifier};
use mcpgen_sdk::http::server::{BodyCheck, CheckedBody};
use secrecy::{ExposeSecret, SecretString};
use tower::{Layer, ServiceExt};

use crate::recorder::Recorder;

/// Accepts any token. The token's text is its list of scopes, with dots for spaces.
pub(crate) struct ScopesAreTheToken;

impl TokenVerifier for ScopesAreTheToken {
    fn verify<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Identity, TokenError>> {
        let identity = Identity::new("https://as.example", "alice").with_scopes(token.expose_secret().split('.'));
        Box::pin(std::future::ready(Ok(identity)))
    }
}

#[tokio::test]
async fn requires_scopes_for_methods_and_tools() {
    let mut options = ResourceOptions::new("https://mcp.example/mcp", "https://as.example");
    options.scopes = ScopePolicy::default()
        .require(["read"])
        .for_method("tools/call", ["call"])
        .for_tool("delete", ["write"])
        .implies("admin", ["editor"])
        .implies("editor", ["read", "call", "write"]);
    let resource = ProtectedResource::new(options, ScopesAreTheToken).expect("a resource");
    let call = |name: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}"}}}}"#);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned();
    let twice = r#"{"method":"tools/call","params":{"name":"a","name":"delete"}}"#.to_owned();
    let method_twice = r#"{"method":"tools/list","method":"tools/call","params":{"name":"delete"}}"#.to_owned();
    let escaped = r#"{"\u006dethod":"tools\/call","params":{"n\u0061me":"d\u0065lete"}}"#.to_owned();
    let table = [
        ("read", list.clone(), 200, ""),
        ("call", list.clone(), 403, "read"),
        ("read", call("get"), 403, "call read"),
        ("read.call", call("get"), 200, ""),
        ("read.call", call("delete"), 403, "call read write"),
        ("read.call", escaped, 403, "call read write"),
        ("read.call.write", call("delete"), 200, ""),
        ("editor", call("delete"), 200, ""),
        ("admin", call("delete"), 200, ""),
        ("read.call", format!("[{list},{}]", call("delete")), 403, "call read write"),
        ("read", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#.to_owned(), 200, ""),
        ("admin", twice, 400, "read"),
        ("admin", method_twice, 400, "read"),
        ("admin", "{".to_owned(), 400, "read"),
    ];
    for (token, body, status, scope) in table {
        let handler = tower::service_fn(|request: Request<CheckedBody>| async {
            let (mut parts, body) = request.into_parts();
            let check = BodyCheck::take(&mut parts).expect("a check");
            let read = axum::body::to_bytes(Body::new(body), 10_000).await.expect("the body");
            let refused = check.check(&read).err();
            Ok::<_, Infallible>(refused.map_or_else(|| Response::new(read), |response| *response).map(Body::from))
        });
        let request = Request::post("/mcp").header("authorization", format!("Bearer {token}"));
        let request = request.body(Body::from(body.clone())).expect("a request");
        let response = resource.layer(handler).oneshot(request).await.expect("a response");
        assert_eq!(response.status(), status, "{token}: {body}");
        if status == 200 {
            let echoed = axum::body::to_bytes(Body::new(response.into_body()), 10_000).await.expect("a body");
            assert_eq!(echoed, body);
        } else {
            let challenge = response.headers()["www-authenticate"].to_str().expect("text");
            assert!(challenge.contains(&format!("scope=\"{scope}\"")), "{token}: {body}: {challenge}");
        }
    }
}

#[tokio::test]
async fn logs_missing_scopes() {
    let recorder = Recorder::default();
    let _recording = tracing::subscriber::set_default(recorder.clone());
    let mut options = ResourceOptions::new("https://mcp.example/mcp", "https://as.example");
    options.scopes = ScopePolicy::default().require(["read", "write"]);
    let resource = ProtectedResource::new(options, ScopesAreTheToken).expect("a resource");
    let handler = tower::service_fn(|_: Request<_>| async { Ok::<_, Infallible>(Response::new(Body::empty())) });
    for (token, is_logged) in [("read.write", false), ("read.other", true)] {
        let request = Request::post("/mcp").header("authorization", format!("Bearer {token}"));
        let request: Request<Body> = request.body(Body::empty()).expect("a request");
        resource.layer(handler).oneshot(request).await.expect("a response");
        let text = recorder.text();
        let expected = r#"subject="alice" granted={"other", "read"} required={"read", "write"}"#;
        assert_eq!(text.contains(expected), is_logged, "{token}: {text}");
    }
}
