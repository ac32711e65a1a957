//! The trait for user agents, through which users log in.

use std::fmt;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tower::BoxError;
use url::Url;

use super::error::OAuthError;
use crate::fetch::shown;

/// Sends a user to the authorization server, and receives the response.
pub trait UserAgent: Send + Sync + 'static {
    /// Prepares a login, for example by listening on a port for the response.
    ///
    /// # Errors
    ///
    /// Returns an error if the login cannot be prepared.
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>>;

    /// Returns how long a login waits for the user. Connecting may take that much longer. Defaults to five minutes.
    fn timeout(&self) -> Duration {
        Duration::from_secs(300)
    }
}

/// A prepared login.
pub trait PendingLogin: Send {
    /// Returns the redirect URI, to which the authorization server sends the user back.
    fn redirect_uri(&self) -> String;

    /// Sends the user to the request's URL, and returns the URL that the user was redirected to, including its query.
    ///
    /// If others can send responses, too, for example to a local port, ignore those that fail
    /// [`AuthorizationRequest::check`], so that a forged one does not end the login.
    ///
    /// # Errors
    ///
    /// Returns an error if the user cannot be asked, or does not respond in time.
    fn log_in(self: Box<Self>, request: AuthorizationRequest) -> BoxFuture<'static, Result<Url, BoxError>>;
}

/// An authorization request, whose response a user agent obtains.
#[derive(Clone)]
pub struct AuthorizationRequest {
    pub(super) url: Url,
    pub(super) state: String,
    pub(super) issuer: String,
    /// Whether the authorization server sends `iss` in every response.
    pub(super) requires_issuer: bool,
}

impl AuthorizationRequest {
    /// Creates a request with this URL, `state` and issuer, to test user agents.
    pub fn new(url: Url, state: impl Into<String>, issuer: impl Into<String>) -> Self {
        Self { url, state: state.into(), issuer: issuer.into(), requires_issuer: false }
    }

    /// Returns the URL to send the user to.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Checks that a response belongs to this request and comes from its authorization server. The user may still have
    /// refused.
    ///
    /// # Errors
    ///
    /// Returns [`OAuthError::AuthorizationResponse`] if `state` or `iss` differs, or if a parameter occurs twice.
    /// Nothing in such a response can be trusted.
    pub fn check(&self, response: &Url) -> Result<(), OAuthError> {
        let invalid = OAuthError::AuthorizationResponse;
        let value = |name| parameter(response, name);
        if value("state")?.as_deref() != Some(self.state.as_str()) {
            return Err(invalid("`state` does not match the request"));
        }
        match value("iss")? {
            Some(issuer) if issuer != self.issuer => return Err(invalid("`iss` names another authorization server")),
            None if self.requires_issuer => return Err(invalid("`iss` is missing")),
            _ => {}
        }
        for name in ["code", "error", "error_description"] {
            value(name)?;
        }
        Ok(())
    }
}

impl fmt::Debug for AuthorizationRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthorizationRequest").field("url", &shown(&self.url)).finish_non_exhaustive()
    }
}

/// Fails if the parameter occurs twice.
pub(super) fn parameter(response: &Url, name: &str) -> Result<Option<String>, OAuthError> {
    let mut values = response.query_pairs().filter(|(found, _)| found == name);
    let value = values.next().map(|(_, value)| value.into_owned());
    match values.next() {
        None => Ok(value),
        Some(_) => Err(OAuthError::AuthorizationResponse("a parameter occurs twice")),
    }
}
