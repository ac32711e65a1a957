//! The two sides of a connection, and the messages each sends.

/// One side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// Requests or notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum MessageKind {
    /// Messages with a response.
    Request,
    /// Messages without a response.
    Notification,
}

/// All requests, or all notifications, that one side sends. The schema has a union for each of the four sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageSet {
    /// The sender.
    pub sender: Side,
    /// The kind of the messages.
    pub kind: MessageKind,
}

impl Side {
    /// Returns the name of the side.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl MessageKind {
    /// Returns the name of the kind.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl MessageSet {
    /// All four sets.
    pub const ALL: [MessageSet; 4] = [
        MessageSet { sender: Side::Client, kind: MessageKind::Request },
        MessageSet { sender: Side::Server, kind: MessageKind::Request },
        MessageSet { sender: Side::Client, kind: MessageKind::Notification },
        MessageSet { sender: Side::Server, kind: MessageKind::Notification },
    ];

    /// Returns the name of the union: `ClientRequest`, and so on.
    pub fn definition(self) -> &'static str {
        match (self.sender, self.kind) {
            (Side::Client, MessageKind::Request) => "ClientRequest",
            (Side::Server, MessageKind::Request) => "ServerRequest",
            (Side::Client, MessageKind::Notification) => "ClientNotification",
            (Side::Server, MessageKind::Notification) => "ServerNotification",
        }
    }

    /// Returns the set whose union has this name.
    pub fn named(definition: &str) -> Option<MessageSet> {
        MessageSet::ALL.into_iter().find(|set| set.definition() == definition)
    }
}
