//! Access and refresh tokens, and what is needed to refresh them.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use url::Url;

use super::error::OAuthError;
use super::token::{TokenResponse, header};
use crate::dpop::DpopKey;
use crate::metadata::AuthorizationServerMetadata;
use crate::util::now;

/// An access token that is valid for at most this many seconds is refreshed.
const LEEWAY: u64 = 30;

/// Tokens for an MCP server, and the metadata needed to refresh and revoke them.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    /// Only this issuer ever receives the refresh token.
    pub(super) issuer: String,
    pub(super) token_endpoint: Url,
    pub(super) revocation_endpoint: Option<Url>,
    pub(super) methods: Option<Vec<String>>,
    pub(super) client_id: String,
    pub(super) resource: String,
    pub(super) access_token: SecretString,
    pub(super) refresh_token: Option<SecretString>,
    /// When the access token expires, in seconds since 1970.
    pub(super) expires_at: Option<u64>,
    pub(super) scopes: BTreeSet<String>,
    /// The key that the tokens are bound to.
    pub(super) dpop: Option<Arc<DpopKey>>,
}

impl Credentials {
    /// Replaces the tokens with those in a response. Keeps the refresh token if the response has none.
    ///
    /// Fails if the token does not have the requested type.
    pub(super) fn updated(mut self, response: TokenResponse) -> Result<Self, OAuthError> {
        let expected = if self.dpop.is_some() { "DPoP" } else { "Bearer" };
        if !response.token_type.eq_ignore_ascii_case(expected) {
            return Err(OAuthError::TokenResponse(match self.dpop {
                Some(_) => {
                    "`token_type` must be `DPoP`, because the token must be bound to the client's key; set \
                     `OAuthOptions::dpop` to `false` to accept other tokens"
                }
                None => "`token_type` must be `Bearer`",
            }));
        }
        self.access_token = response.access_token;
        self.refresh_token = response.refresh_token.or(self.refresh_token);
        self.expires_at = response.expires_in.map(|seconds| now().saturating_add(seconds));
        let granted = response.scope.iter().flat_map(|scope| scope.split_ascii_whitespace());
        self.scopes.extend(granted.map(ToOwned::to_owned));
        Ok(self)
    }

    pub(super) fn with_endpoints(mut self, issuer: AuthorizationServerMetadata) -> Self {
        self.token_endpoint = issuer.token_endpoint.unwrap_or(self.token_endpoint);
        self.revocation_endpoint = issuer.revocation_endpoint;
        self.methods = issuer.token_endpoint_auth_methods_supported;
        self
    }

    pub(super) fn expires_soon(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now().saturating_add(LEEWAY))
    }

    pub(super) fn has_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| at <= now())
    }

    pub(super) fn has_same_token(&self, other: &Self) -> bool {
        self.access_token.expose_secret() == other.access_token.expose_secret()
    }

    pub(super) fn authorization(&self) -> Result<HeaderValue, OAuthError> {
        let scheme = if self.dpop.is_some() { "DPoP" } else { "Bearer" };
        header(&format!("{scheme} {}", self.access_token.expose_secret()))
    }

    /// Serializes the credentials for the store.
    pub(super) fn to_text(&self) -> SecretString {
        json!({
            "issuer": self.issuer,
            "token_endpoint": self.token_endpoint,
            "revocation_endpoint": self.revocation_endpoint,
            "methods": self.methods,
            "client_id": self.client_id,
            "resource": self.resource,
            "access_token": self.access_token.expose_secret(),
            "refresh_token": self.refresh_token.as_ref().map(ExposeSecret::expose_secret),
            "expires_at": self.expires_at,
            "scopes": self.scopes,
            "dpop": self.dpop.as_ref().map(|key| key.to_base64().expose_secret()),
        })
        .to_string()
        .into()
    }

    /// Parses the output of [`to_text`](Self::to_text).
    pub(super) fn from_text(text: &SecretString) -> Option<Self> {
        let value: Value = serde_json::from_str(text.expose_secret()).ok()?;
        let string = |name: &str| value.get(name)?.as_str().map(ToOwned::to_owned);
        let strings = |name: &str| -> Option<Vec<String>> {
            value.get(name)?.as_array()?.iter().map(|item| item.as_str().map(ToOwned::to_owned)).collect()
        };
        let dpop = match string("dpop") {
            Some(key) => Some(Arc::new(DpopKey::from_base64(&key.into()).ok()?)),
            None => None,
        };
        Some(Self {
            issuer: string("issuer")?,
            token_endpoint: string("token_endpoint")?.parse().ok()?,
            revocation_endpoint: string("revocation_endpoint").and_then(|url| url.parse().ok()),
            methods: strings("methods"),
            client_id: string("client_id")?,
            resource: string("resource")?,
            access_token: string("access_token")?.into(),
            refresh_token: string("refresh_token").map(Into::into),
            expires_at: value.get("expires_at").and_then(Value::as_u64),
            scopes: strings("scopes")?.into_iter().collect(),
            dpop,
        })
    }
}
