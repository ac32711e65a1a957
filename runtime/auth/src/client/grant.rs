//! How a client gets access tokens.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tower::BoxError;

use super::registered_client::ClientAuthentication;
use super::user_agent::UserAgent;

/// How a client gets access tokens.
#[derive(Clone)]
#[non_exhaustive]
pub enum Grant {
    /// A user logs in and authorizes the client: an authorization code with PKCE.
    AuthorizationCode(Arc<dyn UserAgent>),
    /// The client acts on its own behalf. Requires [`OAuthOptions::client`](super::OAuthOptions::client).
    ClientCredentials,
    /// The client presents an assertion from its platform, such as a Kubernetes service account token: workload
    /// identity federation (RFC 7523). Requires [`OAuthOptions::client`](super::OAuthOptions::client) with an issuer;
    /// no other server receives the assertion.
    JwtBearer(Arc<dyn AssertionSource>),
    /// The client exchanges the user's ID token at the enterprise's identity provider for an assertion (ID-JAG), and
    /// the assertion for an access token: enterprise-managed authorization.
    EnterpriseManaged(Arc<IdentityProvider>),
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AuthorizationCode(_) => "AuthorizationCode",
            Self::ClientCredentials => "ClientCredentials",
            Self::JwtBearer(_) => "JwtBearer",
            Self::EnterpriseManaged(_) => "EnterpriseManaged",
        })
    }
}

/// Provides an assertion or token on demand.
pub trait AssertionSource: Send + Sync + 'static {
    /// Returns a current assertion for the audience, which is the authorization server's issuer.
    ///
    /// # Errors
    ///
    /// Returns an error if no assertion is available.
    fn assertion<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<SecretString, BoxError>>;
}

/// A fixed assertion.
impl AssertionSource for SecretString {
    fn assertion<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<SecretString, BoxError>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }
}

/// An enterprise's identity provider, which issues assertions for its users.
#[derive(Clone)]
pub struct IdentityProvider {
    /// The token endpoint, where ID tokens are exchanged (RFC 8693).
    pub token_endpoint: String,
    /// The client ID at the identity provider.
    pub client_id: String,
    /// How the client authenticates there.
    pub authentication: ClientAuthentication,
    /// The user's ID token, issued to that client.
    pub id_token: Arc<dyn AssertionSource>,
}

impl fmt::Debug for IdentityProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdentityProvider")
            .field("token_endpoint", &self.token_endpoint)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}
