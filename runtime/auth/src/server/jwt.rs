//! Verifies access tokens that are JSON Web Tokens (RFC 9068).

use std::time::Duration;

use futures_util::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use url::Url;

use super::identity::Identity;
use super::jwks::{KeyCache, KeySource};
use super::verifier::{TokenError, TokenVerifier, VerifierError};
use crate::fetch::{Fetcher, NetworkPolicy};
use crate::jose::{Algorithm, JwkSet, Jws};
use crate::metadata::issuer_url;
use crate::util::now;

/// Verifies an issuer's access tokens that are JSON Web Tokens.
///
/// A token must be signed with one of the issuer's keys and an allowed algorithm, and have the claims `iss`, `aud` and
/// `exp`. Keys are cached for ten minutes. An unknown key ID causes a request for new keys, at most every 30 seconds.
#[derive(Debug)]
pub struct JwtVerifier {
    issuer: String,
    audiences: Vec<String>,
    algorithms: Vec<Algorithm>,
    leeway: u64,
    requires_type: bool,
    keys: KeyCache,
}

/// The types of access tokens in RFC 9068. Issuers that do not follow it use `JWT`, or no type.
const ACCESS_TOKEN_TYPES: [&str; 2] = ["at+jwt", "application/at+jwt"];

impl JwtVerifier {
    /// Creates a verifier for this issuer's tokens. `audience` is the MCP server's URL. The keys come from the URL in
    /// the issuer's metadata.
    ///
    /// # Errors
    ///
    /// Returns an error if the issuer is not a URL, or if the HTTP client cannot be created.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Result<Self, VerifierError> {
        let issuer = issuer.into();
        if issuer_url(&issuer).is_none() {
            return Err(VerifierError::Issuer(issuer));
        }
        // Clients do not choose the issuer, so its address needs no restrictions.
        let policy = NetworkPolicy { loopback: true, private: true };
        let keys = KeyCache::new(KeySource::Issuer(issuer.clone()), Fetcher::new(policy)?);
        Ok(Self {
            issuer,
            audiences: vec![audience.into()],
            algorithms: vec![Algorithm::Es256, Algorithm::Es384, Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Ps256],
            leeway: 30,
            requires_type: false,
            keys,
        })
    }

    /// Takes the keys from this URL, for issuers without metadata.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be created.
    pub fn jwks_url(mut self, url: Url) -> Result<Self, VerifierError> {
        let policy = NetworkPolicy { loopback: true, private: true };
        self.keys = KeyCache::new(KeySource::Url(url), Fetcher::new(policy)?);
        Ok(self)
    }

    /// Uses these keys instead of requesting any.
    ///
    /// # Errors
    ///
    /// Returns an error if the HTTP client cannot be created.
    pub fn jwks(mut self, keys: JwkSet) -> Result<Self, VerifierError> {
        self.keys = KeyCache::new(KeySource::Fixed(keys.into()), Fetcher::new(NetworkPolicy::default())?);
        Ok(self)
    }

    /// Also accepts tokens for another audience, such as a former URL of the server.
    #[must_use]
    pub fn also_audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Sets the allowed algorithms. Defaults to ES256, ES384, EdDSA, RS256 and PS256.
    #[must_use]
    pub fn algorithms(mut self, algorithms: impl Into<Vec<Algorithm>>) -> Self {
        self.algorithms = algorithms.into();
        self
    }

    /// Sets how far the clocks of issuer and server may differ. Defaults to 30 seconds.
    #[must_use]
    pub fn leeway(mut self, leeway: Duration) -> Self {
        self.leeway = leeway.as_secs();
        self
    }

    /// Accepts only tokens of type `at+jwt`, which issuers that follow RFC 9068 set. By default, tokens of type `JWT`
    /// or without a type are accepted, too.
    #[must_use]
    pub fn require_type(mut self) -> Self {
        self.requires_type = true;
        self
    }

    async fn check(&self, token: &SecretString) -> Result<Identity, TokenError> {
        let invalid = TokenError::Invalid;
        let jws = Jws::parse(token.expose_secret()).map_err(|_| invalid("the token is not a JSON Web Token"))?;
        let algorithm = jws.algorithm().ok().filter(|algorithm| self.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or(invalid("the algorithm of the token is not allowed"))?;
        self.check_type(jws.header.typ.as_deref())?;
        let keys = self.keys.find(jws.header.kid.as_deref(), algorithm).await?;
        if keys.is_empty() {
            return Err(invalid("the issuer has no such key"));
        }
        if !keys.iter().any(|key| jws.verify(key).is_ok()) {
            return Err(invalid("the signature of the token does not match"));
        }
        let claims: Map<String, Value> = jws.payload().map_err(|_| invalid("the claims of the token are not valid"))?;
        self.check_claims(&claims)?;
        Identity::from_claims(self.issuer.clone(), claims).ok_or(invalid("the token has no subject"))
    }

    fn check_type(&self, typ: Option<&str>) -> Result<(), TokenError> {
        let typ = typ.map(str::to_ascii_lowercase);
        let is_access_token = typ.as_deref().is_some_and(|typ| ACCESS_TOKEN_TYPES.contains(&typ));
        let is_unspecific = typ.as_deref().is_none_or(|typ| typ == "jwt");
        match is_access_token || (is_unspecific && !self.requires_type) {
            true => Ok(()),
            false => Err(TokenError::Invalid("the token is not an access token")),
        }
    }

    fn check_claims(&self, claims: &Map<String, Value>) -> Result<(), TokenError> {
        let invalid = |why| Err(TokenError::Invalid(why));
        if claims.get("iss").and_then(Value::as_str) != Some(&self.issuer) {
            return invalid("the token is from another issuer");
        }
        if !has_audience(claims.get("aud"), &self.audiences) {
            return invalid("the token is for another audience");
        }
        let (now, leeway) = (now(), self.leeway);
        let Some(expiry) = time(claims.get("exp")) else { return invalid("the token has no valid `exp`") };
        if expiry.saturating_add(leeway) <= now {
            return invalid("the token has expired");
        }
        let is_past = |name: &str| match claims.get(name) {
            None => true,
            claim => time(claim).is_some_and(|time| time <= now.saturating_add(leeway)),
        };
        match is_past("nbf") && is_past("iat") {
            true => Ok(()),
            false => invalid("the token is not valid yet"),
        }
    }
}

/// A time claim in whole seconds, without its fraction.
fn time(claim: Option<&Value>) -> Option<u64> {
    let claim = claim?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is positive, and `as` saturates"
    )]
    let truncate = |seconds: f64| seconds as u64;
    claim.as_u64().or_else(|| claim.as_f64().filter(|seconds| *seconds >= 0.0).map(truncate))
}

/// Whether `aud`, a string or a list, names one of these audiences.
pub(super) fn has_audience(claim: Option<&Value>, audiences: &[String]) -> bool {
    let is_ours = |value: &Value| value.as_str().is_some_and(|value| audiences.iter().any(|ours| ours == value));
    match claim {
        Some(Value::Array(list)) => list.iter().any(is_ours),
        Some(value) => is_ours(value),
        None => false,
    }
}

impl TokenVerifier for JwtVerifier {
    fn verify<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Identity, TokenError>> {
        Box::pin(self.check(token))
    }
}
