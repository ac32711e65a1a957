//! A client that is registered with an authorization server.

use std::sync::Arc;

use secrecy::SecretString;

use crate::jose::SigningKey;

/// A client that is registered with an authorization server.
#[derive(Clone, Debug)]
pub struct RegisteredClient {
    /// The client ID.
    pub id: String,
    /// How the client authenticates.
    pub authentication: ClientAuthentication,
    /// The issuer of the authorization server. The client is not used with another one. `None` accepts the one that the
    /// MCP server names first; set it if the MCP server is not trusted to name the right one.
    pub issuer: Option<String>,
}

impl RegisteredClient {
    /// Creates a client without a secret.
    pub fn public(id: impl Into<String>) -> Self {
        Self { id: id.into(), authentication: ClientAuthentication::None, issuer: None }
    }

    /// Creates a client with a secret.
    pub fn with_secret(id: impl Into<String>, secret: impl Into<SecretString>) -> Self {
        Self { id: id.into(), authentication: ClientAuthentication::Secret(secret.into()), issuer: None }
    }

    /// Creates a client that authenticates with a private key.
    pub fn with_key(id: impl Into<String>, key: SigningKey) -> Self {
        Self { id: id.into(), authentication: ClientAuthentication::PrivateKeyJwt(Arc::new(key)), issuer: None }
    }

    /// Uses the client only with the authorization server of this issuer.
    #[must_use]
    pub fn of_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }
}

/// How a client authenticates at the token endpoint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ClientAuthentication {
    /// The client does not authenticate: it is a public client.
    None,
    /// With a secret: `client_secret_basic`, or `client_secret_post` if the server supports only that.
    Secret(SecretString),
    /// With a signed assertion: `private_key_jwt`.
    PrivateKeyJwt(Arc<SigningKey>),
}
