//! A client that is registered with an authorization server.

use std::sync::Arc;

use secrecy::SecretString;

use crate::jose::SigningKey;

/// A client that is registered with an authorization server.
///
/// A secret or a key belongs to one authorization server. A client with one has the issuer of that server, because the MCP
/// server, which names the authorization server to use, may be malicious.
#[derive(Clone, Debug)]
pub struct RegisteredClient {
    pub(super) id: String,
    pub(super) authentication: ClientAuthentication,
    pub(super) issuer: Option<String>,
}

impl RegisteredClient {
    /// Creates a client without a secret. It is used with the authorization server that the MCP server names, unless
    /// [`of_issuer`](Self::of_issuer) is called.
    pub fn public(id: impl Into<String>) -> Self {
        Self { id: id.into(), authentication: ClientAuthentication::None, issuer: None }
    }

    /// Creates a client with a secret, which only the authorization server of this issuer receives.
    pub fn with_secret(issuer: impl Into<String>, id: impl Into<String>, secret: impl Into<SecretString>) -> Self {
        Self { authentication: ClientAuthentication::Secret(secret.into()), ..Self::public(id).of_issuer(issuer) }
    }

    /// Creates a client that authenticates with a private key, only at the authorization server of this issuer.
    pub fn with_key(issuer: impl Into<String>, id: impl Into<String>, key: SigningKey) -> Self {
        Self {
            authentication: ClientAuthentication::PrivateKeyJwt(Arc::new(key)),
            ..Self::public(id).of_issuer(issuer)
        }
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
