//! Settings of a protected resource.

use super::nonce::DpopNonces;
use super::scopes::ScopePolicy;

/// Settings of a [`ProtectedResource`](super::ProtectedResource).
#[derive(Clone, Debug, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ResourceOptions {
    /// The URL at which clients reach the MCP server. It is the audience of access tokens.
    pub resource: String,
    /// The issuers of access tokens.
    pub authorization_servers: Vec<String>,
    /// The scopes in the metadata. List only those for basic use. Default: those that every request needs.
    pub scopes_supported: Option<Vec<String>>,
    /// The scopes that requests need. Default: none.
    pub scopes: ScopePolicy,
    /// Whether access tokens may or must be bound to a DPoP key. Default: [`DpopPolicy::Allowed`].
    pub dpop: DpopPolicy,
    /// The nonces that DPoP proofs must contain. Default: `None`, which accepts proofs without nonces.
    pub dpop_nonces: Option<DpopNonces>,
    /// The name of the server for users.
    pub name: Option<String>,
}

/// Whether access tokens may or must be bound to a DPoP key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum DpopPolicy {
    /// Tokens that are bound to a key need a proof. Other tokens need none.
    #[default]
    Allowed,
    /// Tokens that are not bound to a key are rejected.
    Required,
}

impl ResourceOptions {
    /// Creates options for the MCP server at this URL, with tokens of this issuer.
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
