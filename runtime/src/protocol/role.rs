//! Clients and servers.

/// Which end of a connection one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that begins.
    Client,
    /// The one that is asked.
    Server,
}

impl Role {
    pub(crate) fn other(self) -> Self {
        match self {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        }
    }
}
