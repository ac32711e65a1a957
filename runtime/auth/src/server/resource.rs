//! A protected resource: the layer that authorizes requests, and the metadata.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, Ready, ready};
use http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{Either, Full};
use mcpgen_sdk::http::server::{BodyCheck, CheckedBody};
use secrecy::SecretString;
use tower::{BoxError, Layer, Service};
use url::Url;

use super::dpop::{ALGORITHMS, Expected, ProofChecker, ProofError};
use super::identity::Identity;
use super::nonce::{DPOP_NONCE, DpopNonces};
use super::operation::operations;
use super::options::{DpopPolicy, ResourceOptions};
use super::refusal::Refusal;
use super::verifier::{TokenError, TokenVerifier};
use crate::metadata::{ProtectedResourceMetadata, issuer_url, protected_resource_urls};

const DPOP: &str = "dpop";

/// An MCP server that accepts only requests with access tokens. Clones share all state.
///
/// As a [`Layer`] around an endpoint, it refuses other requests before their bodies are read. Accepted ones are passed
/// on with an [`Identity`] and a [`Principal`](mcpgen_sdk::transport::Principal) in their extensions, and without the
/// token, so that handlers cannot send it elsewhere. [`metadata_service`](Self::metadata_service) serves the metadata,
/// from which clients learn the authorization server.
///
/// If scopes depend on the operation, the endpoint checks them once it has read the body, within its own limits. Any
/// other service must do the same with [`BodyCheck`], or it cannot read request bodies. Put layers that read bodies
/// outside this one.
#[derive(Clone)]
pub struct ProtectedResource(Arc<Shared>);

struct Shared {
    url: Url,
    metadata_url: String,
    metadata: Bytes,
    options: ResourceOptions,
    verifier: Box<dyn TokenVerifier>,
    proofs: ProofChecker,
}

/// Why a [`ProtectedResource`] could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResourceError {
    /// The resource is not a URL that clients can use.
    #[error("`{0}` is not the URL of an MCP server; it must be `http` or `https` and have no query and no fragment")]
    Url(String),
    /// An authorization server is not the URL of an issuer.
    #[error(
        "`ResourceOptions::authorization_servers` has `{0}`, which is not the URL of an issuer; write one such as `https://login.example.com`"
    )]
    Issuer(String),
    /// There is no authorization server.
    #[error("`ResourceOptions::authorization_servers` is empty; add the issuer of the access tokens")]
    NoAuthorizationServer,
}

impl ProtectedResource {
    /// Creates a protected resource.
    ///
    /// # Errors
    ///
    /// Fails if the resource or an authorization server is not a valid URL, or if there is no authorization server.
    pub fn new(options: ResourceOptions, verifier: impl TokenVerifier) -> Result<Self, ResourceError> {
        let wrong = || ResourceError::Url(options.resource.clone());
        let url: Url = options.resource.parse().map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong());
        }
        if options.authorization_servers.is_empty() {
            return Err(ResourceError::NoAuthorizationServer);
        }
        if let Some(issuer) = options.authorization_servers.iter().find(|issuer| issuer_url(issuer).is_none()) {
            return Err(ResourceError::Issuer(issuer.clone()));
        }
        let metadata_url = protected_resource_urls(&url).first().map(ToString::to_string).ok_or_else(wrong)?;
        let metadata = serde_json::to_vec(&metadata(&options)).map_err(|_| wrong())?.into();
        let (verifier, proofs) = (Box::new(verifier), ProofChecker::default());
        Ok(Self(Arc::new(Shared { url, metadata_url, metadata, options, verifier, proofs })))
    }

    /// Returns the paths of the metadata. Serve [`metadata_service`](Self::metadata_service) at each.
    #[must_use]
    pub fn metadata_paths(&self) -> Vec<String> {
        protected_resource_urls(&self.0.url).iter().map(|url| url.path().to_owned()).collect()
    }

    /// Returns a service that serves the metadata.
    #[must_use]
    pub fn metadata_service(&self) -> MetadataService {
        MetadataService(self.0.metadata.clone())
    }
}

fn metadata(options: &ResourceOptions) -> ProtectedResourceMetadata {
    let always: Vec<String> = options.scopes.always().iter().cloned().collect();
    ProtectedResourceMetadata {
        resource: options.resource.clone(),
        authorization_servers: options.authorization_servers.clone(),
        scopes_supported: options.scopes_supported.clone().or((!always.is_empty()).then_some(always)),
        bearer_methods_supported: Some(vec!["header".to_owned()]),
        resource_name: options.name.clone(),
        resource_documentation: None,
        dpop_signing_alg_values_supported: Some(ALGORITHMS.map(|algorithm| algorithm.name().to_owned()).to_vec()),
        dpop_bound_access_tokens_required: (options.dpop == DpopPolicy::Required).then_some(true),
    }
}

impl Shared {
    /// Verifies a request's token. Returns the identity, and a nonce if the client should use a new one in its next
    /// proof.
    async fn verify(&self, parts: &Parts) -> Result<(Identity, Option<HeaderValue>), Refusal> {
        let (scheme, token) = token(parts)?;
        let identity = self.verifier.verify(&token).await.map_err(|error| match error {
            TokenError::Invalid(why) => Refusal::InvalidToken(why),
            TokenError::Unavailable(error) => {
                tracing::warn!(%error, "access tokens cannot be verified");
                Refusal::Unavailable
            }
        })?;
        let needs_nonce = self.check_binding(parts, scheme, &token, &identity)?;
        self.check_scopes(&identity, self.options.scopes.always().clone())?;
        let nonces = self.options.dpop_nonces.as_ref().filter(|_| needs_nonce);
        Ok((identity, nonces.and_then(DpopNonces::header)))
    }

    /// A bound token needs a proof, and an unbound one must not have one. Returns whether the client should use a new
    /// nonce.
    fn check_binding(
        &self,
        parts: &Parts,
        scheme: Scheme,
        token: &SecretString,
        identity: &Identity,
    ) -> Result<bool, Refusal> {
        let Some(thumbprint) = &identity.thumbprint else {
            return match (scheme, self.options.dpop) {
                (Scheme::Bearer, DpopPolicy::Allowed) => Ok(false),
                (Scheme::Bearer, DpopPolicy::Required) => {
                    Err(Refusal::InvalidToken("the token must be bound to a key"))
                }
                (Scheme::Dpop, _) => Err(Refusal::InvalidToken("the token is not bound to a key")),
            };
        };
        if scheme == Scheme::Bearer {
            return Err(Refusal::InvalidToken("the token is bound to a key; use the scheme `DPoP`"));
        }
        let mut proofs = parts.headers.get_all(DPOP).iter();
        let (proof, None) = (proofs.next(), proofs.next()) else {
            return Err(Refusal::InvalidProof("the request has several proofs"));
        };
        let proof =
            proof.and_then(|proof| proof.to_str().ok()).ok_or(Refusal::InvalidProof("the request has no proof"))?;
        let nonces = self.options.dpop_nonces.as_ref();
        let expected = Expected { method: parts.method.as_str(), url: &self.url, token, thumbprint, nonces };
        self.proofs.check(proof, &expected).map_err(|error| match error {
            ProofError::Invalid(why) => Refusal::InvalidProof(why),
            ProofError::Nonce => Refusal::NoNonce,
            ProofError::TooMany { retry_after } => {
                tracing::warn!(
                    subject = identity.subject,
                    "too many DPoP proofs are remembered, for this client or in total"
                );
                Refusal::TooManyProofs(retry_after)
            }
        })
    }

    fn respond(&self, refusal: Refusal) -> Response<Bytes> {
        refusal.respond(&self.options, &self.metadata_url)
    }

    fn check_operations(&self, identity: &Identity, body: &[u8]) -> Result<(), Refusal> {
        let operations = operations(body).map_err(|_| Refusal::InvalidRequest("the body is not a JSON-RPC message"))?;
        self.check_scopes(identity, self.options.scopes.required(&operations))
    }

    /// Logs a refusal, because the client usually requests more scopes next.
    fn check_scopes(&self, identity: &Identity, required: BTreeSet<String>) -> Result<(), Refusal> {
        if self.options.scopes.is_sufficient(&identity.scopes, &required) {
            return Ok(());
        }
        let Identity { subject, client_id, scopes, .. } = identity;
        tracing::info!(subject, client_id, granted = ?scopes, ?required, "the token lacks scopes");
        Err(Refusal::InsufficientScope(required))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    Bearer,
    Dpop,
}

/// The token must be in the only `Authorization` header, and not in the query.
fn token(parts: &Parts) -> Result<(Scheme, SecretString), Refusal> {
    let query = parts.uri.query().unwrap_or_default();
    if url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "access_token") {
        return Err(Refusal::InvalidRequest("the token must be in the `Authorization` header, not in the query"));
    }
    let mut headers = parts.headers.get_all(AUTHORIZATION).iter();
    let Some(header) = headers.next() else { return Err(Refusal::NoToken) };
    if headers.next().is_some() {
        return Err(Refusal::InvalidRequest("the request has several `Authorization` headers"));
    }
    let text = header.to_str().map_err(|_| Refusal::InvalidToken("the token is not ASCII text"))?;
    let (scheme, token) = text.split_once(' ').ok_or(Refusal::NoToken)?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "bearer" => Scheme::Bearer,
        "dpop" => Scheme::Dpop,
        _ => return Err(Refusal::NoToken),
    };
    let token = token.trim_matches(' ');
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    match !token.is_empty() && token.bytes().all(is_token) {
        true => Ok((scheme, token.into())),
        false => Err(Refusal::InvalidToken("the token is malformed")),
    }
}

impl fmt::Debug for ProtectedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtectedResource").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl<S> Layer<S> for ProtectedResource {
    type Service = Protected<S>;

    fn layer(&self, inner: S) -> Protected<S> {
        Protected { inner, resource: Arc::clone(&self.0) }
    }
}

/// A service that accepts only requests with access tokens.
#[derive(Clone)]
pub struct Protected<S> {
    inner: S,
    resource: Arc<Shared>,
}

impl<S: fmt::Debug> fmt::Debug for Protected<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protected").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<S, B, R> Service<Request<B>> for Protected<S>
where
    S: Service<Request<CheckedBody>, Response = Response<R>, Future: Send> + Clone + Send + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    R: http_body::Body<Data = Bytes>,
{
    type Response = Response<Either<R, Full<Bytes>>>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Self::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // Use the service that is ready; the clone may not be.
        let spare = self.inner.clone();
        let (mut inner, resource) = (std::mem::replace(&mut self.inner, spare), Arc::clone(&self.resource));
        async move {
            let refused = match authorize(&resource, request).await {
                Ok(Authorized { request, check, nonce }) => {
                    let mut response = inner.call(request).await?;
                    response.headers_mut().extend(nonce.map(|nonce| (DPOP_NONCE, nonce)));
                    let is_error = response.status().is_client_error() || response.status().is_server_error();
                    if is_error || check.is_none_or(|check| check.has_passed()) {
                        return Ok(response.map(Either::Left));
                    }
                    tracing::error!(
                        "the service handles requests without `BodyCheck`, so their scopes are not checked"
                    );
                    Refusal::Unchecked
                }
                Err(refusal) => refusal,
            };
            Ok(resource.respond(refused).map(|body| Either::Right(Full::new(body))))
        }
        .boxed()
    }
}

struct Authorized {
    request: Request<CheckedBody>,
    /// The check that the body must pass, if scopes depend on the operations in it.
    check: Option<BodyCheck>,
    /// A new nonce for the client, sent with the response.
    nonce: Option<HeaderValue>,
}

/// Checks a request's head, and attaches the identity. The body is checked later, if scopes depend on it.
async fn authorize<B>(resource: &Arc<Shared>, request: Request<B>) -> Result<Authorized, Refusal>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    let (mut parts, body) = request.into_parts();
    let (identity, nonce) = resource.verify(&parts).await?;
    let check = resource.options.scopes.depends_on_operation().then(|| {
        let (resource, identity) = (Arc::clone(resource), identity.clone());
        BodyCheck::new(move |body| {
            resource.check_operations(&identity, body).map_err(|refusal| Box::new(resource.respond(refusal)))
        })
    });
    let has_operations = parts.method == Method::POST;
    // Handlers must not pass the token on to other servers.
    parts.headers.remove(AUTHORIZATION);
    parts.headers.remove(DPOP);
    parts.extensions.insert(identity.principal());
    parts.extensions.insert(identity);
    let request = BodyCheck::attach(check.clone(), Request::from_parts(parts, body));
    Ok(Authorized { request, check: check.filter(|_| has_operations), nonce })
}

/// Serves a protected resource's metadata.
#[derive(Clone, Debug)]
pub struct MetadataService(Bytes);

impl<B> Service<Request<B>> for MetadataService {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut response = Response::new(Full::new(self.0.clone()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("max-age=300"));
        // The metadata is public, but clients in browsers need this header to read it.
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
            *response.body_mut() = Full::default();
        }
        ready(Ok(response))
    }
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
    use tower::ServiceExt;

    use super::super::dpop::ProofLimits;
    use super::super::verifier::TokenVerifier;
    use super::*;
    use crate::dpop::DpopKey;

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
    async fn provides_a_new_nonce_if_the_old_one_expires_soon() {
        let (key, nonces) = (DpopKey::generate().expect("a key"), DpopNonces::generate().expect("a key"));
        let mut options = ResourceOptions::new("https://mcp.example/mcp", "https://as.example");
        options.dpop_nonces = Some(nonces.clone());
        let resource = ProtectedResource::new(options, BoundTo(key.thumbprint().to_owned())).expect("a resource");
        let mut nonce = nonces.old();
        for is_new in [true, false] {
            let proof = key.proof("POST", &resource.0.url, Some(&nonce), Some(&"token".into())).expect("a proof");
            let request = Request::post("/mcp").header(AUTHORIZATION, "DPoP token").header(DPOP, proof);
            let request: Request<Full<Bytes>> = request.body(Full::default()).expect("a request");
            let handler = tower::service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
            let response = resource.layer(handler).oneshot(request).await.expect("a response");
            assert_eq!(response.status(), StatusCode::OK);
            let found = response.headers().get(DPOP_NONCE).map(|nonce| nonce.to_str().expect("text").to_owned());
            assert_eq!(found.is_some(), is_new);
            nonce = found.unwrap_or_default();
        }
    }

    #[tokio::test]
    async fn a_client_with_too_many_proofs_may_try_again_later() {
        let key = DpopKey::generate().expect("a key");
        let options = ResourceOptions::new("https://mcp.example/mcp", "https://as.example");
        let mut resource = ProtectedResource::new(options, BoundTo(key.thumbprint().to_owned())).expect("a resource");
        let limits = ProofLimits { per_key: 1, ..ProofLimits::default() };
        Arc::get_mut(&mut resource.0).expect("no clones").proofs = ProofChecker::with_limits(limits);
        for expected in [StatusCode::OK, StatusCode::SERVICE_UNAVAILABLE] {
            let proof = key.proof("POST", &resource.0.url, None, Some(&"token".into())).expect("a proof");
            let request = Request::post("/mcp").header(AUTHORIZATION, "DPoP token").header(DPOP, proof);
            let request: Request<Full<Bytes>> = request.body(Full::default()).expect("a request");
            let handler = tower::service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
            let response = resource.layer(handler).oneshot(request).await.expect("a response");
            assert_eq!(response.status(), expected);
            let has = |name| response.headers().contains_key(name);
            assert_eq!(has(RETRY_AFTER), expected == StatusCode::SERVICE_UNAVAILABLE);
            assert!(!has(WWW_AUTHENTICATE), "another token would not help");
        }
    }
}
