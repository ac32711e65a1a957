//! An authorization server for tests, which grants every request without a user.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{Form, Query, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::future::BoxFuture;
use mcpgen_auth::client::{AuthorizationRequest, PendingLogin, UserAgent};
use mcpgen_auth::dpop::DPOP_NONCE;
use mcpgen_auth::jose::{Jwk, Jws, SigningKey};
use serde_json::{Value, json};
use tower::BoxError;
use url::Url;

type Params = BTreeMap<String, String>;

/// An authorization server on the loopback interface.
#[derive(Clone)]
pub(crate) struct AuthorizationServer(Arc<Shared>);

struct Shared {
    issuer: String,
    key: SigningKey,
    /// The lifetime of access tokens in seconds.
    lifetime: AtomicI64,
    /// Authorization requests, by code and (in the next field) by refresh token.
    codes: Mutex<BTreeMap<String, Params>>,
    refresh_tokens: Mutex<BTreeMap<String, Params>>,
    issued: AtomicUsize,
    rejects_registrations: AtomicBool,
    /// Whether the endpoints have moved to `/moved`.
    has_moved: AtomicBool,
    /// A wrong issuer for the metadata, if set.
    wrong_issuer: Mutex<Option<String>>,
    /// Status with which the token and revocation endpoints fail. 0 if they work.
    failure: AtomicU16,
    /// Whether DPoP proofs must contain the current nonce. Each successful response has a new one.
    requires_nonces: AtomicBool,
    nonce: AtomicUsize,
    /// How many times the metadata was requested.
    discoveries: AtomicUsize,
    /// The kinds of requests, in order.
    log: Mutex<Vec<String>>,
    /// Every secret that the server issued or received.
    secrets: Mutex<Vec<String>>,
}

impl AuthorizationServer {
    pub(crate) async fn start(lifetime: i64) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let issuer = format!("http://{}", listener.local_addr().expect("an address"));
        let server = Self(Arc::new(Shared {
            issuer,
            key: SigningKey::generate().expect("a key").with_kid("k1"),
            lifetime: lifetime.into(),
            codes: Mutex::default(),
            refresh_tokens: Mutex::default(),
            issued: AtomicUsize::new(0),
            rejects_registrations: AtomicBool::new(false),
            has_moved: AtomicBool::new(false),
            wrong_issuer: Mutex::default(),
            failure: AtomicU16::new(0),
            requires_nonces: AtomicBool::new(false),
            nonce: AtomicUsize::new(0),
            discoveries: AtomicUsize::new(0),
            log: Mutex::default(),
            secrets: Mutex::default(),
        }));
        let app = Router::new()
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/jwks", get(jwks))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/revoke", post(revoke))
            .route("/moved/token", post(token))
            .route("/moved/revoke", post(revoke))
            .route("/introspect", post(introspect))
            .with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        server
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.0.issuer
    }

    /// Returns the kinds of requests since the last call.
    pub(crate) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.0.log.lock().expect("the log"))
    }

    pub(crate) fn secrets(&self) -> Vec<String> {
        self.0.secrets.lock().expect("the secrets").clone()
    }

    /// Invalidates all refresh tokens.
    pub(crate) fn revoke(&self) {
        self.0.refresh_tokens.lock().expect("the tokens").clear();
    }

    pub(crate) fn reject_registrations(&self) {
        self.0.rejects_registrations.store(true, Ordering::SeqCst);
    }

    /// Sets the lifetime of access tokens in seconds.
    pub(crate) fn set_lifetime(&self, seconds: i64) {
        self.0.lifetime.store(seconds, Ordering::SeqCst);
    }

    /// Moves the token and revocation endpoints to other URLs. The old URLs then respond with 404.
    pub(crate) fn move_endpoints(&self) {
        self.0.has_moved.store(true, Ordering::SeqCst);
    }

    /// Sets another issuer in the metadata.
    pub(crate) fn set_wrong_issuer(&self, issuer: &str) {
        *self.0.wrong_issuer.lock().expect("the issuer") = Some(issuer.to_owned());
    }

    /// Makes the token and revocation endpoints fail with this status and without an OAuth error. `None` repairs them.
    pub(crate) fn fail(&self, status: Option<StatusCode>) {
        self.0.failure.store(status.map_or(0, |status| status.as_u16()), Ordering::SeqCst);
    }

    /// Requires nonces in DPoP proofs.
    pub(crate) fn require_nonces(&self) {
        self.0.requires_nonces.store(true, Ordering::SeqCst);
    }

    /// The header with the current nonce, if nonces are required.
    fn nonce(&self) -> Option<[(HeaderName, String); 1]> {
        let nonce = format!("nonce-{}", self.0.nonce.load(Ordering::SeqCst));
        self.0.requires_nonces.load(Ordering::SeqCst).then_some([(DPOP_NONCE, nonce)])
    }

    /// How many times the metadata was requested since the last call.
    pub(crate) fn discoveries(&self) -> usize {
        self.0.discoveries.swap(0, Ordering::SeqCst)
    }

    /// The status with which the endpoint at this URL must fail, if any.
    fn failure(&self, uri: &Uri) -> Option<StatusCode> {
        if uri.path().starts_with("/moved") != self.0.has_moved.load(Ordering::SeqCst) {
            return Some(StatusCode::NOT_FOUND);
        }
        // 0 is not a status.
        StatusCode::from_u16(self.0.failure.load(Ordering::SeqCst)).ok()
    }

    fn record(&self, kind: &str) {
        self.0.log.lock().expect("the log").push(kind.to_owned());
    }

    fn secret(&self, prefix: &str) -> String {
        let port = self.0.issuer.rsplit(':').next().expect("a port");
        let secret = format!("{prefix}-secret-{port}-{}", self.0.issued.fetch_add(1, Ordering::SeqCst));
        self.keep(&secret);
        secret
    }

    fn keep(&self, secret: &str) {
        self.0.secrets.lock().expect("the secrets").push(secret.to_owned());
    }

    /// The secret must be the one that this server issued, or the one that tests configure.
    fn check_client(&self, form: &Params) {
        let secret = &form["client_secret"];
        assert!(secret == "client-secret" || self.secrets().contains(secret), "{form:?}");
    }

    /// Issues tokens for an authorization request.
    fn issue(&self, request: Params, key: Option<&Jwk>) -> Response {
        let lifetime = self.0.lifetime.load(Ordering::SeqCst);
        // Nobody is granted the scope `admin`.
        let scope = request.get("scope").map(|scope| scope.replace("admin", ""));
        let mut claims = json!({
            "iss": self.0.issuer,
            "aud": request.get("resource"),
            "sub": "alice",
            "client_id": request.get("client_id"),
            "scope": scope,
            "iat": now(),
            "exp": now() + lifetime,
            "jti": self.0.issued.fetch_add(1, Ordering::SeqCst).to_string(),
        });
        if let Some(key) = key {
            claims["cnf"] = json!({ "jkt": key.thumbprint().expect("a thumbprint") });
        }
        let access_token = self.0.key.sign(json!({ "typ": "at+jwt" }), &claims).expect("a token");
        self.keep(&access_token);
        let refresh_token = self.secret("refresh");
        self.0.refresh_tokens.lock().expect("the tokens").insert(refresh_token.clone(), request);
        let token_type = if key.is_some() { "DPoP" } else { "Bearer" };
        let body = json!({
            "access_token": access_token,
            "token_type": token_type,
            "expires_in": lifetime,
            "refresh_token": refresh_token,
        });
        Json(body).into_response()
    }
}

async fn metadata(State(server): State<AuthorizationServer>) -> Json<Value> {
    server.0.discoveries.fetch_add(1, Ordering::SeqCst);
    let at = |path: &str| format!("{}{path}", server.issuer());
    let moved = if server.0.has_moved.load(Ordering::SeqCst) { "/moved" } else { "" };
    let wrong_issuer = server.0.wrong_issuer.lock().expect("the issuer").clone();
    Json(json!({
        "issuer": wrong_issuer.as_deref().unwrap_or(server.issuer()),
        "authorization_endpoint": at("/authorize"),
        "token_endpoint": at(&format!("{moved}/token")),
        "revocation_endpoint": at(&format!("{moved}/revoke")),
        "registration_endpoint": at("/register"),
        "jwks_uri": at("/jwks"),
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["client_secret_post"],
        "authorization_response_iss_parameter_supported": true,
    }))
}

async fn jwks(State(server): State<AuthorizationServer>) -> Json<Value> {
    server.record("jwks");
    let mut key = serde_json::to_value(server.0.key.public_key().expect("a key")).expect("JSON");
    key["kid"] = "k1".into();
    Json(json!({ "keys": [key] }))
}

async fn register(State(server): State<AuthorizationServer>, Json(metadata): Json<Value>) -> Response {
    server.record("register");
    if server.0.rejects_registrations.load(Ordering::SeqCst) {
        let body = json!({ "error": "invalid_redirect_uri", "error_description": "no loopback" });
        return (StatusCode::BAD_REQUEST, Json(body)).into_response();
    }
    assert_eq!(metadata["application_type"], "native");
    assert_eq!(metadata["grant_types"], json!(["authorization_code", "refresh_token"]));
    let body = json!({
        "client_id": "client",
        "client_secret": server.secret("client"),
        "token_endpoint_auth_method": "client_secret_post",
    });
    (StatusCode::CREATED, Json(body)).into_response()
}

async fn authorize(State(server): State<AuthorizationServer>, Query(request): Query<Params>) -> Redirect {
    server.record(&format!("authorize {}", request.get("scope").map_or("", String::as_str)));
    assert_eq!(request["code_challenge_method"], "S256");
    let code = server.secret("code");
    let mut url: Url = request["redirect_uri"].parse().expect("a redirect URI");
    url.query_pairs_mut()
        .append_pair("code", &code)
        .append_pair("state", &request["state"])
        .append_pair("iss", server.issuer());
    server.0.codes.lock().expect("the codes").insert(code, request);
    Redirect::to(url.as_str())
}

async fn token(
    State(server): State<AuthorizationServer>,
    uri: Uri,
    headers: HeaderMap,
    Form(form): Form<Params>,
) -> Response {
    if let Some(status) = server.failure(&uri) {
        server.record(status.as_str());
        return status.into_response();
    }
    let grant = form["grant_type"].clone();
    server.check_client(&form);
    let proof = headers.get("dpop").and_then(|proof| proof.to_str().ok());
    let proof = proof.map(|proof| {
        let jws = Jws::parse(proof).expect("a proof");
        let key = Jwk::from_untrusted(jws.header.jwk.as_ref().expect("a key")).expect("a public key");
        assert_eq!(jws.verify(&key), Ok(()));
        (key, jws.payload::<Value>().expect("claims"))
    });
    if let (Some((_, claims)), Some(nonce)) = (&proof, server.nonce())
        && claims["nonce"] != nonce[0].1
    {
        server.record("use_dpop_nonce");
        return (StatusCode::BAD_REQUEST, nonce, Json(json!({ "error": "use_dpop_nonce" }))).into_response();
    }
    server.record(&grant);
    let request = match grant.as_str() {
        "authorization_code" => {
            let request = server.0.codes.lock().expect("the codes").remove(&form["code"]);
            server.keep(&form["code_verifier"]);
            request.filter(|request| {
                request["redirect_uri"] == form["redirect_uri"]
                    && request["code_challenge"] == challenge(&form["code_verifier"])
                    && request.get("resource") == form.get("resource")
            })
        }
        "client_credentials" => Some(form.clone()),
        // Each refresh token is valid once.
        _ => server.0.refresh_tokens.lock().expect("the tokens").remove(&form["refresh_token"]),
    };
    match request {
        Some(request) => {
            server.0.nonce.fetch_add(1, Ordering::SeqCst);
            (server.nonce(), server.issue(request, proof.as_ref().map(|(key, _)| key))).into_response()
        }
        None => {
            server.record("invalid_grant");
            (StatusCode::BAD_REQUEST, Json(json!({ "error": "invalid_grant" }))).into_response()
        }
    }
}

async fn revoke(State(server): State<AuthorizationServer>, uri: Uri, Form(form): Form<Params>) -> StatusCode {
    if let Some(status) = server.failure(&uri) {
        server.record(status.as_str());
        return status;
    }
    server.check_client(&form);
    let known = server.0.refresh_tokens.lock().expect("the tokens").remove(&form["token"]).is_some();
    server.record(&format!("revoke {} {known}", form["token_type_hint"]));
    StatusCode::OK
}

/// Tokens that start with `opaque` are valid, and the rest of the token is the audience.
async fn introspect(State(server): State<AuthorizationServer>, Form(form): Form<Params>) -> Json<Value> {
    server.record("introspect");
    let claims = form["token"].strip_prefix("opaque-").map(|rest| match rest {
        "expired" => json!({ "active": true, "sub": "bob", "aud": "urn:mcp", "exp": now() - 60 }),
        audience => json!({ "active": true, "sub": "bob", "aud": audience.replace('_', ":"), "scope": "a b" }),
    });
    Json(claims.unwrap_or_else(|| json!({ "active": false })))
}

fn challenge(verifier: &str) -> String {
    use base64::Engine;
    let hash = ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(hash)
}

pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970");
    i64::try_from(since.as_secs()).expect("a time before the end of time")
}

/// A user agent that follows the authorization URL straight to the redirect.
#[derive(Clone, Debug)]
pub(crate) struct FollowsRedirect;

impl UserAgent for FollowsRedirect {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>> {
        Box::pin(std::future::ready(Ok(Box::new(self.clone()) as Box<dyn PendingLogin>)))
    }
}

impl PendingLogin for FollowsRedirect {
    fn redirect_uri(&self) -> String {
        "http://127.0.0.1:7777/callback".to_owned()
    }

    fn log_in(self: Box<Self>, request: AuthorizationRequest) -> BoxFuture<'static, Result<Url, BoxError>> {
        Box::pin(async move {
            let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
            let response = client.get(request.url().clone()).send().await?;
            Ok(response.headers()["location"].to_str()?.parse()?)
        })
    }
}
