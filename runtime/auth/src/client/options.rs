//! Settings of an OAuth client.

use std::fmt;
use std::sync::Arc;

use super::grant::Grant;
use super::registered_client::RegisteredClient;
use crate::fetch::NetworkPolicy;
use crate::store::{CredentialStore, MemoryStore};

/// Settings of an [`OAuthClient`](super::OAuthClient).
#[derive(Clone, derive_setters::Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct OAuthOptions {
    /// How the client gets access tokens.
    pub grant: Grant,
    /// The name that users see when they authorize the client.
    pub client_name: String,
    /// The client, if it is registered with the authorization server. Defaults to `None`.
    pub client: Option<RegisteredClient>,
    /// The `https` URL of the client's client ID metadata document, for authorization servers that support such
    /// documents. Ignored if [`client`](Self::client) is set. Defaults to `None`.
    pub client_metadata_url: Option<String>,
    /// Which scopes to request first. Defaults to those in the server's challenge or, failing that, in its metadata.
    pub scopes: Option<Vec<String>>,
    /// Whether to bind access tokens to a key (DPoP), and reject tokens that are not bound. Defaults to `false`.
    pub dpop: bool,
    /// How many times the client requests the same additional scopes after `insufficient_scope`. Defaults to 1.
    pub max_step_ups: u32,
    /// Whether to support servers of 2025-03-26, which have no protected resource metadata: the authorization server is
    /// then at the server's origin, with or without metadata. Defaults to `true`.
    pub legacy_discovery: bool,
    /// Which URLs the client may request. Defaults to public addresses, plus loopback addresses if the MCP server
    /// itself is on the loopback interface.
    pub network_policy: Option<NetworkPolicy>,
    /// Where credentials and registrations are kept. Defaults to memory.
    pub store: Arc<dyn CredentialStore>,
    /// Whose credentials these are. Set it if a process acts for several users. Empty by default.
    pub user: String,
}

impl OAuthOptions {
    /// Creates options with a grant and the client's name.
    pub fn new(client_name: impl Into<String>, grant: Grant) -> Self {
        Self {
            grant,
            client_name: client_name.into(),
            client: None,
            client_metadata_url: None,
            scopes: None,
            dpop: false,
            max_step_ups: 1,
            legacy_discovery: true,
            network_policy: None,
            store: Arc::new(MemoryStore::default()),
            user: String::new(),
        }
    }
}

impl fmt::Debug for OAuthOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthOptions")
            .field("grant", &self.grant)
            .field("client_name", &self.client_name)
            .field("client", &self.client)
            .field("scopes", &self.scopes)
            .field("dpop", &self.dpop)
            .finish_non_exhaustive()
    }
}
