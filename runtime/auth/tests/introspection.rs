//! Tests opaque tokens.

use mcpgen_auth::server::{IntrospectionVerifier, TokenError, TokenVerifier};

use crate::authorization_server::AuthorizationServer;

#[tokio::test]
async fn introspects_opaque_tokens_and_caches_valid_ones() {
    let server = AuthorizationServer::start(300).await;
    let endpoint = format!("{}/introspect", server.issuer()).parse().expect("a URL");
    let verifier = IntrospectionVerifier::new(server.issuer(), endpoint, "mcp", &"s".into(), "urn:mcp");
    let verifier = verifier.expect("a verifier");
    for _ in 0..3 {
        let identity = verifier.verify(&"opaque-urn_mcp".into()).await.expect("a valid token");
        assert_eq!((identity.subject.as_str(), identity.scopes.len()), ("bob", 2));
    }
    assert_eq!(server.log(), ["introspect"]);
    for (token, why) in [
        ("opaque-urn_other", "the token is for another audience"),
        ("opaque-expired", "the token has expired"),
        ("unknown", "the token is not active"),
    ] {
        let error = verifier.verify(&token.into()).await.expect_err(token);
        assert_eq!(error.to_string(), why);
    }
    let gone = IntrospectionVerifier::new(
        "https://i.example",
        "http://127.0.0.1:1/".parse().expect("a URL"),
        "mcp",
        &"s".into(),
        "a",
    );
    let error = gone.expect("a verifier").verify(&"opaque-a".into()).await.expect_err("no server");
    assert!(matches!(error, TokenError::Unavailable(_)));
}
