//! Verifies opaque access tokens by introspection (RFC 7662).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use tokio::time::Instant;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use super::identity::Identity;
use super::jwt::has_audience;
use super::verifier::{TokenError, TokenVerifier, VerifierError};
use crate::fetch::{Fetcher, NetworkPolicy};
use crate::metadata::issuer_url;
use crate::util::{now, sha256};

const MAX_CACHED: usize = 10_000;

/// Verifies tokens by introspection: asks the authorization server about each token.
///
/// The response must name the server's URL in `aud`, unless [`any_audience`](Self::any_audience) is set. Valid tokens
/// are cached for a short time, during which a revoked token is still accepted.
pub struct IntrospectionVerifier {
    endpoint: Url,
    authorization: HeaderValue,
    issuer: String,
    audiences: Vec<String>,
    checks_audience: bool,
    lifetime: Duration,
    fetcher: Fetcher,
    cache: Mutex<HashMap<String, (Instant, Identity)>>,
}

impl IntrospectionVerifier {
    /// Creates a verifier. The MCP server authenticates at the authorization server with `client_id` and `secret`.
    /// `audience` is the MCP server's URL.
    ///
    /// # Errors
    ///
    /// Returns an error if the issuer is not a URL, or if the HTTP client cannot be created.
    pub fn new(
        issuer: impl Into<String>,
        endpoint: Url,
        client_id: &str,
        secret: &SecretString,
        audience: impl Into<String>,
    ) -> Result<Self, VerifierError> {
        let issuer = issuer.into();
        if issuer_url(&issuer).is_none() {
            return Err(VerifierError::Issuer(issuer));
        }
        let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
        let pair = format!("{}:{}", encode(client_id), encode(secret.expose_secret()));
        let mut authorization = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)))
            .unwrap_or_else(|_| HeaderValue::from_static("Basic"));
        authorization.set_sensitive(true);
        Ok(Self {
            endpoint,
            authorization,
            issuer,
            audiences: vec![audience.into()],
            checks_audience: true,
            lifetime: Duration::from_secs(15),
            fetcher: Fetcher::new(NetworkPolicy { loopback: true, private: true })?,
            cache: Mutex::default(),
        })
    }

    /// Accepts responses without `aud`. Use this only if the authorization server reports tokens
    /// for other resources as inactive when this server asks.
    #[must_use]
    pub fn any_audience(mut self) -> Self {
        self.checks_audience = false;
        self
    }

    /// Sets how long a valid token is cached. Defaults to 15 seconds.
    #[must_use]
    pub fn cache_lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    fn cache(&self) -> MutexGuard<'_, HashMap<String, (Instant, Identity)>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn check(&self, token: &SecretString) -> Result<Identity, TokenError> {
        let key = sha256(token.expose_secret());
        let cached = self.cache().get(&key).filter(|(until, _)| *until > Instant::now()).map(|(_, it)| it.clone());
        if let Some(identity) = cached {
            return check_expiry(identity);
        }
        let claims = self.introspect(token).await?;
        let identity = check_expiry(self.identity(claims)?)?;
        let mut cache = self.cache();
        if cache.len() >= MAX_CACHED {
            let now = Instant::now();
            cache.retain(|_, (until, _)| *until > now);
        }
        if cache.len() < MAX_CACHED {
            cache.insert(key, (Instant::now() + self.lifetime, identity.clone()));
        }
        Ok(identity)
    }

    async fn introspect(&self, token: &SecretString) -> Result<Map<String, Value>, TokenError> {
        let form = Serializer::new(String::new())
            .append_pair("token", token.expose_secret())
            .append_pair("token_type_hint", "access_token")
            .finish();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, self.authorization.clone())]);
        let reply = self.fetcher.post_form(&self.endpoint, headers, &form.into()).await;
        let reply = reply.map_err(|error| TokenError::Unavailable(error.into()))?;
        if !reply.status.is_success() {
            let why = format!("the introspection endpoint responded with {}", reply.status);
            return Err(TokenError::Unavailable(why.into()));
        }
        crate::fetch::json(&self.endpoint, &reply.body).map_err(|error| TokenError::Unavailable(error.into()))
    }

    fn identity(&self, claims: Map<String, Value>) -> Result<Identity, TokenError> {
        let invalid = TokenError::Invalid;
        if claims.get("active") != Some(&Value::Bool(true)) {
            return Err(invalid("the token is not active"));
        }
        let is_ours = claims.get("iss").and_then(Value::as_str).is_none_or(|issuer| issuer == self.issuer);
        if !is_ours {
            return Err(invalid("the token is from another issuer"));
        }
        let may_lack = !self.checks_audience && claims.get("aud").is_none();
        if !may_lack && !has_audience(claims.get("aud"), &self.audiences) {
            return Err(invalid("the token is for another audience"));
        }
        if claims.get("nbf").and_then(Value::as_u64).is_some_and(|from| from > now() + 30) {
            return Err(invalid("the token is not valid yet"));
        }
        Identity::from_claims(self.issuer.clone(), claims).ok_or(invalid("the token has no subject"))
    }
}

fn check_expiry(identity: Identity) -> Result<Identity, TokenError> {
    match identity.expires_at {
        Some(at) if at <= now() => Err(TokenError::Invalid("the token has expired")),
        _ => Ok(identity),
    }
}

impl TokenVerifier for IntrospectionVerifier {
    fn verify<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Identity, TokenError>> {
        Box::pin(self.check(token))
    }
}

impl fmt::Debug for IntrospectionVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntrospectionVerifier").field("endpoint", &self.endpoint.as_str()).finish_non_exhaustive()
    }
}
