//! The roles of client and server.

/// The role of one side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The side that opens the connection.
    Client,
    /// The side that accepts the connection.
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
