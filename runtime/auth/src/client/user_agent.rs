//! The trait of user agents, with which users log in.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tower::BoxError;
use url::Url;

/// Sends a user to the authorization server, and receives the authorization response.
pub trait UserAgent: Send + Sync + 'static {
    /// Prepares a login, for example by listening on a port for the response.
    ///
    /// # Errors
    ///
    /// Returns an error if the login cannot be prepared.
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>>;

    /// Returns how long a login waits for the user. Connecting takes that much longer. Default: five minutes.
    fn timeout(&self) -> Duration {
        Duration::from_secs(300)
    }
}

/// A prepared login.
pub trait PendingLogin: Send {
    /// Returns the redirect URI, to which the authorization server sends the user back.
    fn redirect_uri(&self) -> String;

    /// Sends the user to `authorization_url` and returns the URL to which the user was redirected, with its query.
    ///
    /// # Errors
    ///
    /// Returns an error if the user cannot be asked, or does not respond in time.
    fn log_in(self: Box<Self>, authorization_url: Url) -> BoxFuture<'static, Result<Url, BoxError>>;
}
