//! A client that is registered with an authorization server.

use std::sync::Arc;

use secrecy::SecretString;

use crate::jose::SigningKey;

/// A client that is registered with an authorization server.
///
/// A secret or key belongs to a single authorization server. The MCP server says which authorization server to use and
/// may be malicious, so a client with a secret or key also names the issuer that may receive it.
#[derive(Clone, Debug)]
pub struct RegisteredClient {
    pub(super) id: String,
    pub(super) authentication: ClientAuthentication,
    pub(super) issuer: Option<String>,
}

impl RegisteredClient {
    /// Creates a client without a secret. Works with whatever authorization server the MCP server names, unless
    /// [`of_issuer`](Self::of_issuer) is called.
    pub fn public(id: impl Into<String>) -> Self {
        Self { id: id.into(), authentication: ClientAuthentication::None, issuer: None }
    }

    /// Creates a client with a secret, which only this issuer's authorization server receives.
    pub fn with_secret(issuer: impl Into<String>, id: impl Into<String>, secret: impl Into<SecretString>) -> Self {
        Self { authentication: ClientAuthentication::Secret(secret.into()), ..Self::public(id).of_issuer(issuer) }
    }

    /// Creates a client that authenticates with a private key, only at this issuer's authorization server.
    pub fn with_key(issuer: impl Into<String>, id: impl Into<String>, key: SigningKey) -> Self {
        Self {
            authentication: ClientAuthentication::PrivateKeyJwt(Arc::new(key)),
            ..Self::public(id).of_issuer(issuer)
        }
    }

    /// Restricts the client to this issuer's authorization server.
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
    /// Not at all: the client is public.
    None,
    /// With a secret: `client_secret_basic`, or `client_secret_post` if the server supports only that.
    Secret(SecretString),
    /// With a signed assertion: `private_key_jwt`.
    PrivateKeyJwt(Arc<SigningKey>),
}
