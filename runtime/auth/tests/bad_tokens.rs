//! Tests that servers reject invalid tokens and proofs.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpgen_auth::dpop::DpopKey;
use mcpgen_auth::jose::{Algorithm, JwkSet, SigningKey};
use mcpgen_auth::server::{JwtVerifier, ProtectedResource, ResourceOptions, ScopePolicy};
use serde_json::{Value, json};
use tower::{Layer, ServiceExt};

use crate::authorization_server::now;

const ISSUER: &str = "https://as.example";
const RESOURCE: &str = "https://mcp.example/mcp";

/// A resource that trusts one key.
struct Fixture {
    key: SigningKey,
    resource: ProtectedResource,
}

impl Fixture {
    fn new() -> Self {
        let key = SigningKey::generate().expect("a key").with_kid("k1");
        let mut public = serde_json::to_value(key.public_key().expect("a key")).expect("JSON");
        public["kid"] = "k1".into();
        // A symmetric key in the set must never be used.
        let keys = json!({ "keys": [public, { "kty": "oct", "k": "AAAA", "kid": "hmac" }] });
        let keys: JwkSet = serde_json::from_value(keys).expect("a key set");
        let verifier = JwtVerifier::new(ISSUER, RESOURCE).and_then(|verifier| verifier.jwks(keys)).expect("a verifier");
        let verifier = verifier.algorithms([Algorithm::Es256, Algorithm::Rs256]);
        let mut options = ResourceOptions::new(RESOURCE, ISSUER);
        options.scopes = ScopePolicy::default().require(["read"]);
        Self { key, resource: ProtectedResource::new(options, verifier).expect("a resource") }
    }

    fn token(&self, change: impl FnOnce(&mut Value)) -> String {
        self.token_with_header(json!({ "typ": "at+jwt" }), change)
    }

    fn token_with_header(&self, header: Value, change: impl FnOnce(&mut Value)) -> String {
        let mut claims = json!({
            "iss": ISSUER, "aud": RESOURCE, "sub": "alice", "scope": "read", "iat": now(), "exp": now() + 300,
        });
        change(&mut claims);
        self.key.sign(header, &claims).expect("a token")
    }

    /// Returns the response, and whether the request reached the handler.
    async fn send(&self, request: Request<Body>) -> (Response<()>, bool) {
        let reached = Arc::new(AtomicUsize::new(0));
        let handler = {
            let reached = Arc::clone(&reached);
            tower::service_fn(move |request: Request<_>| {
                reached.fetch_add(1, Ordering::SeqCst);
                assert!(!request.headers().contains_key("authorization"), "the token is passed on");
                let _: Request<mcpgen_sdk::http::server::CheckedBody> = request;
                async { Ok::<_, Infallible>(Response::new(Body::empty())) }
            })
        };
        let response = self.resource.layer(handler).oneshot(request).await.expect("a response");
        (response.map(drop), reached.load(Ordering::SeqCst) > 0)
    }
}

fn request(headers: &[(&str, &str)]) -> Request<Body> {
    let request = Request::post("/mcp");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.body(Body::empty()).expect("a request")
}

fn bearer(token: &str) -> Request<Body> {
    request(&[("authorization", &format!("Bearer {token}"))])
}

/// Replaces part of a token: 0 is the header, 1 the claims, 2 the signature.
fn with_part(token: &str, index: usize, part: &str) -> String {
    let mut parts: Vec<&str> = token.split('.').collect();
    parts[index] = part;
    parts.join(".")
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn accepts_valid_tokens() {
    let fixture = Fixture::new();
    let tokens = [
        fixture.token(|_| {}),
        fixture.token_with_header(json!({}), |_| {}),
        fixture.token_with_header(json!({ "typ": "JWT" }), |_| {}),
        fixture.token_with_header(json!({ "typ": "application/at+jwt" }), |_| {}),
        fixture.token(|claims| claims["aud"] = json!(["https://other.example", RESOURCE])),
        fixture.token(|claims| claims["exp"] = (now() - 10).into()),
        fixture.token(|claims| claims["scope"] = json!("write read")),
        fixture.token(|claims| claims["nbf"] = (now() + 10).into()),
    ];
    for token in tokens {
        let (response, reached) = fixture.send(bearer(&token)).await;
        assert!(reached && response.status() == StatusCode::OK, "{token}: {response:?}");
    }
}

#[tokio::test]
async fn refuses_bad_tokens() {
    let fixture = Fixture::new();
    let good = fixture.token(|_| {});
    let claim = |name: &'static str, value: Value| fixture.token(|claims| claims[name] = value);
    let without = |name: &str| {
        fixture.token(|claims| {
            claims.as_object_mut().expect("an object").remove(name);
        })
    };
    let typ = |typ: &str| fixture.token_with_header(json!({ "typ": typ }), |_| {});
    let header = |header: Value| with_part(&good, 0, &encode(&header));
    let other_key = SigningKey::generate().expect("a key").with_kid("k1");
    let claims = json!({ "iss": ISSUER, "aud": RESOURCE, "sub": "alice", "scope": "read", "exp": now() + 300 });
    let signed = |key: &SigningKey, header: Value| key.sign(header, &claims).expect("a token");
    let other_kid = SigningKey::generate().expect("a key").with_kid("k2");
    let embedded = json!({ "typ": "at+jwt", "jwk": other_key.public_key().expect("a key") });
    let last = if good.ends_with('A') { "B" } else { "A" };
    let changed = format!("{}{last}", &good[..good.len() - 3]);

    let table: Vec<(&str, String, &str)> = vec![
        ("another audience", claim("aud", json!("https://other.example/mcp")), "invalid_token"),
        ("the audience of a sibling", claim("aud", json!("https://mcp.example/mcp2")), "invalid_token"),
        ("a prefix of the audience", claim("aud", json!("https://mcp.example")), "invalid_token"),
        ("a list of other audiences", claim("aud", json!(["a", "b"])), "invalid_token"),
        ("no audience", without("aud"), "invalid_token"),
        ("an audience that is an object", claim("aud", json!({ "a": RESOURCE })), "invalid_token"),
        ("another issuer", claim("iss", json!("https://evil.example")), "invalid_token"),
        ("an issuer with a slash", claim("iss", json!("https://as.example/")), "invalid_token"),
        ("no issuer", without("iss"), "invalid_token"),
        ("an expired token", claim("exp", json!(now() - 31)), "invalid_token"),
        ("no expiry", without("exp"), "invalid_token"),
        ("an expiry that is text", claim("exp", json!("never")), "invalid_token"),
        ("a negative expiry", claim("exp", json!(-1)), "invalid_token"),
        ("a token that is not valid yet", claim("nbf", json!(now() + 120)), "invalid_token"),
        ("a start that is text", claim("nbf", json!("now")), "invalid_token"),
        ("a token issued in the future", claim("iat", json!(now() + 120)), "invalid_token"),
        ("no subject", without("sub"), "invalid_token"),
        ("an empty subject", claim("sub", json!("")), "invalid_token"),
        ("no signature algorithm", header(json!({ "alg": "none" })), "invalid_token"),
        ("no signature", with_part(&header(json!({ "alg": "none" })), 2, ""), "invalid_token"),
        ("HMAC", header(json!({ "alg": "HS256", "kid": "hmac" })), "invalid_token"),
        ("an algorithm of another key type", header(json!({ "alg": "RS256", "kid": "k1" })), "invalid_token"),
        ("an algorithm that is not allowed", header(json!({ "alg": "ES384", "kid": "k1" })), "invalid_token"),
        ("an unknown algorithm", header(json!({ "alg": "XY256", "kid": "k1" })), "invalid_token"),
        ("no algorithm", header(json!({ "kid": "k1" })), "invalid_token"),
        ("an unknown key", signed(&other_kid, json!({ "typ": "at+jwt" })), "invalid_token"),
        ("a signature of another key", signed(&other_key, json!({ "typ": "at+jwt" })), "invalid_token"),
        ("the sender's own key", signed(&other_key, embedded), "invalid_token"),
        ("a changed signature", changed, "invalid_token"),
        ("an empty signature", with_part(&good, 2, ""), "invalid_token"),
        ("changed claims", with_part(&good, 1, &encode(&claims)), "invalid_token"),
        ("a changed header", header(json!({ "alg": "ES256", "kid": "k1", "a": 1 })), "invalid_token"),
        ("a critical extension", header(json!({ "alg": "ES256", "kid": "k1", "crit": ["a"] })), "invalid_token"),
        ("an ID token", typ("id_token+jwt"), "invalid_token"),
        ("a logout token", typ("logout+jwt"), "invalid_token"),
        ("an ID-JAG", typ("oauth-id-jag+jwt"), "invalid_token"),
        ("a DPoP proof", typ("dpop+jwt"), "invalid_token"),
        ("claims that are a list", with_part(&good, 1, &encode(&json!([]))), "invalid_token"),
        ("two parts", "a.b".to_owned(), "invalid_token"),
        ("four parts", format!("{good}.a"), "invalid_token"),
        ("text", "secret".to_owned(), "invalid_token"),
        ("a very long token", "a".repeat(40_000), "invalid_token"),
        ("an empty token", String::new(), "invalid_token"),
        ("a token with a space", "a b".to_owned(), "invalid_token"),
    ];
    assert!(table.len() >= 30);
    for (what, token, error) in table {
        let (response, reached) = fixture.send(bearer(&token)).await;
        assert!(!reached, "{what} reaches the handler");
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{what}");
        let challenge = response.headers()["www-authenticate"].to_str().expect("text");
        assert!(challenge.contains(&format!("error=\"{error}\"")), "{what}: {challenge}");
        assert!(challenge.contains("/.well-known/oauth-protected-resource/mcp\""), "{what}: {challenge}");
    }
}

#[tokio::test]
async fn refuses_bad_requests() {
    let fixture = Fixture::new();
    let good = fixture.token(|_| {});
    let header = format!("Bearer {good}");
    let in_query = Request::post(format!("/mcp?access_token={good}")).body(Body::empty()).expect("a request");
    let narrow = fixture.token(|claims| claims["scope"] = json!("reader"));
    let unscoped = fixture.token(|claims| claims["scope"] = Value::Null);
    let table = [
        ("no token", request(&[]), 401, None),
        ("Basic", request(&[("authorization", "Basic YTpi")]), 401, None),
        ("a token without a scheme", request(&[("authorization", &good)]), 401, None),
        (
            "two tokens",
            request(&[("authorization", &header), ("authorization", &header)]),
            400,
            Some("invalid_request"),
        ),
        ("a token in the query", in_query, 400, Some("invalid_request")),
        ("another scope", bearer(&narrow), 403, Some("insufficient_scope")),
        ("no scope", bearer(&unscoped), 403, Some("insufficient_scope")),
        (
            "a token without a key as DPoP",
            request(&[("authorization", &format!("DPoP {good}"))]),
            401,
            Some("invalid_token"),
        ),
    ];
    for (what, request, status, error) in table {
        let (response, reached) = fixture.send(request).await;
        assert!(!reached, "{what} reaches the handler");
        assert_eq!(response.status(), status, "{what}");
        let challenge = response.headers()["www-authenticate"].to_str().expect("text");
        match error {
            Some(error) => assert!(challenge.contains(&format!("error=\"{error}\"")), "{what}: {challenge}"),
            None => assert!(!challenge.contains("error"), "{what}: {challenge}"),
        }
        assert!(challenge.contains("scope=\"read\""), "{what}: {challenge}");
    }
}

#[tokio::test]
async fn refuses_bad_proofs() {
    let (fixture, key) = (Fixture::new(), DpopKey::generate().expect("a key"));
    let token = fixture.token(|claims| claims["cnf"] = json!({ "jkt": key.thumbprint() }));
    let secret = token.clone().into();
    let url = RESOURCE.parse().expect("a URL");
    let send = |scheme: &'static str, proofs: Vec<String>| {
        let authorization = format!("{scheme} {token}");
        let mut headers = vec![("authorization", authorization.as_str())];
        headers.extend(proofs.iter().map(|proof| ("dpop", proof.as_str())));
        let request = request(&headers);
        fixture.send(request)
    };
    let proof = |method, url: &str, token: Option<&_>| {
        key.proof(method, &url.parse().expect("a URL"), None, token).expect("a proof")
    };
    let good = || key.proof("POST", &url, None, Some(&secret)).expect("a proof");

    let used = good();
    let (response, reached) = send("DPoP", vec![used.clone()]).await;
    assert!(reached, "{response:?}");

    // `DpopKey` does not create such proofs, so sign them by hand.
    let signing = SigningKey::generate().expect("a key");
    let jwk = serde_json::to_value(signing.public_key().expect("a key")).expect("JSON");
    let other = DpopKey::generate().expect("a key");
    let bound = |header: Value, claims: Value| {
        let thumbprint = signing.public_key().and_then(|key| key.thumbprint()).expect("a thumbprint");
        let token = fixture.token(|claims| claims["cnf"] = json!({ "jkt": thumbprint }));
        let ath = {
            let hash = ring::digest::digest(&ring::digest::SHA256, token.as_bytes());
            URL_SAFE_NO_PAD.encode(hash)
        };
        let mut all = json!({ "jti": "j", "htm": "POST", "htu": RESOURCE, "iat": now(), "ath": ath });
        for (name, value) in claims.as_object().expect("an object") {
            all[name] = value.clone();
        }
        (token, signing.sign(header, &all).expect("a proof"))
    };
    let header = || json!({ "typ": "dpop+jwt", "jwk": jwk });

    let bearer = ("the scheme Bearer", send("Bearer", vec![good()]).await);
    let mut table = vec![
        bearer,
        ("no proof", send("DPoP", vec![]).await),
        ("two proofs", send("DPoP", vec![good(), good()]).await),
        ("a used proof", send("DPoP", vec![used]).await),
        ("text", send("DPoP", vec!["proof".to_owned()]).await),
        ("another method", send("DPoP", vec![proof("GET", RESOURCE, Some(&secret))]).await),
        ("another path", send("DPoP", vec![proof("POST", "https://mcp.example/other", Some(&secret))]).await),
        ("another host", send("DPoP", vec![proof("POST", "https://evil.example/mcp", Some(&secret))]).await),
        ("another scheme", send("DPoP", vec![proof("POST", "http://mcp.example/mcp", Some(&secret))]).await),
        ("another token", send("DPoP", vec![proof("POST", RESOURCE, Some(&"other".into()))]).await),
        ("no token", send("DPoP", vec![proof("POST", RESOURCE, None)]).await),
        ("another key", send("DPoP", vec![other.proof("POST", &url, None, Some(&secret)).expect("a proof")]).await),
    ];
    let private =
        json!({ "typ": "dpop+jwt", "jwk": { "kty": "EC", "crv": "P-256", "x": jwk["x"], "y": jwk["y"], "d": "AA" } });
    for (what, header, claims) in [
        ("an old proof", header(), json!({ "iat": now() - 120 })),
        ("a proof of the future", header(), json!({ "iat": now() + 120 })),
        ("no time", header(), json!({ "iat": null })),
        ("no ID", header(), json!({ "jti": "" })),
        ("a query in the URL", header(), json!({ "htu": format!("{RESOURCE}?a") })),
        ("another type", json!({ "typ": "JWT", "jwk": jwk }), json!({})),
        ("no key", json!({ "typ": "dpop+jwt" }), json!({})),
        ("a private key", private, json!({})),
    ] {
        let (token, proof) = bound(header, claims);
        let request = request(&[("authorization", &format!("DPoP {token}")), ("dpop", &proof)]);
        table.push((what, fixture.send(request).await));
    }
    for (what, (response, reached)) in table {
        assert!(!reached, "{what} reaches the handler");
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{what}");
    }
    let (token, proof) = bound(header(), json!({}));
    let request = request(&[("authorization", &format!("DPoP {token}")), ("dpop", &proof)]);
    assert!(fixture.send(request).await.1, "the proof that the table changes is valid");
}
