//! Settings of a protected resource.

use super::nonce::DpopNonces;
use super::scopes::ScopePolicy;

/// Settings of a [`ProtectedResource`](super::ProtectedResource).
#[derive(Clone, Debug, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ResourceOptions {
    /// The URL at which clients reach the MCP server. Access tokens must name it as their audience.
    pub resource: String,
    /// The issuers whose access tokens are accepted.
    pub authorization_servers: Vec<String>,
    /// Scopes listed in the metadata, which should only be those for basic use. Defaults to those that every request
    /// needs.
    pub scopes_supported: Option<Vec<String>>,
    /// Which scopes requests need. None by default.
    pub scopes: ScopePolicy,
    /// Whether access tokens may or must be bound to a DPoP key. Defaults to [`DpopPolicy::Allowed`].
    pub dpop: DpopPolicy,
    /// Nonces that DPoP proofs must contain. `None`, the default, accepts proofs without nonces.
    pub dpop_nonces: Option<DpopNonces>,
    /// The server's name for users.
    pub name: Option<String>,
}

/// Whether access tokens may or must be bound to a DPoP key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopPolicy {
    /// Tokens bound to a key need a proof, others do not.
    #[default]
    Allowed,
    /// Tokens not bound to a key are rejected.
    Required,
}

impl ResourceOptions {
    /// Creates options for the MCP server at this URL, which accepts this issuer's tokens.
    pub fn new(resource: impl Into<String>, authorization_server: impl Into<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: vec![authorization_server.into()],
            scopes_supported: None,
            scopes: ScopePolicy::default(),
            dpop: DpopPolicy::default(),
            dpop_nonces: None,
            name: None,
        }
    }
}
