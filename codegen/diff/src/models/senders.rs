//! The senders of types.

use std::collections::{HashMap, HashSet};

use mcpgen_model::{Content, MessageKind, Protocol, Shape, Side, TypeId};
use serde::Serialize;

use crate::models::verdict::{Axis, Bump, Verdict, Verdicts};

/// The sides that send a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Senders {
    /// Whether the client sends the type.
    pub client: bool,
    /// Whether the server sends the type.
    pub server: bool,
}

impl Senders {
    /// Both sides, or unknown senders.
    pub const BOTH: Senders = Senders { client: true, server: true };

    /// Creates a set of one side.
    pub fn from(side: Side) -> Senders {
        Senders { client: side == Side::Client, server: side == Side::Server }
    }

    /// Creates a set of these sides.
    pub(super) fn of(sides: &[Side]) -> Senders {
        sides.iter().fold(Senders::default(), |so_far, side| so_far.and(Senders::from(*side)))
    }

    /// Returns the sides in either set.
    #[must_use]
    pub fn and(self, other: Senders) -> Senders {
        Senders { client: self.client || other.client, server: self.server || other.server }
    }

    /// Returns whether no side sends the type.
    pub fn is_empty(self) -> bool {
        self == Senders::default()
    }

    /// Returns `client`, `server`, `both` or `neither`.
    pub fn as_str(self) -> &'static str {
        match (self.client, self.server) {
            (true, false) => "client",
            (false, true) => "server",
            (true, true) => "both",
            (false, false) => "neither",
        }
    }

    /// Returns the verdicts on each axis, given those on messages from an old to a new peer and back.
    pub fn verdicts(self, old_to_new: Verdict, new_to_old: Verdict, rust_api: Bump) -> Verdicts {
        let worst = |from_client: Verdict, from_server: Verdict| {
            let client = if self.client { from_client } else { Verdict::Compatible };
            let server = if self.server { from_server } else { Verdict::Compatible };
            client.max(server)
        };
        let on = [
            (Axis::OldClientNewServer, worst(old_to_new, new_to_old)),
            (Axis::NewClientOldServer, worst(new_to_old, old_to_new)),
            (Axis::NewReaderOldDocuments, old_to_new),
            (Axis::OldReaderNewDocuments, new_to_old),
        ];
        Verdicts::new(rust_api, &on)
    }
}

/// The sides that send each message of a protocol.
pub(super) struct Sending {
    known: HashMap<TypeId, Vec<Side>>,
    /// The messages that are embedded in other messages. Nobody sends them on their own.
    embedded: HashSet<TypeId>,
}

impl Sending {
    pub(super) fn of(protocol: &Protocol) -> Sending {
        let (mut embedded, mut queue) = (HashSet::new(), Vec::new());
        for message in protocol.messages() {
            queue.extend(protocol.uses(message.type_id));
            message.contents().for_each(|content| content.visit(&mut |id| queue.push(id)));
        }
        while let Some(id) = queue.pop() {
            if embedded.insert(id) {
                queue.extend(protocol.uses(id));
            }
        }
        let known = protocol.messages().map(|message| (message.type_id, message.senders.to_vec())).collect();
        Sending { known, embedded }
    }

    /// Returns the sides that send a message, or `None` if the schema does not say.
    pub(super) fn known(&self, message: TypeId) -> Option<&[Side]> {
        let known = self.known.get(&message).map_or(&[][..], Vec::as_slice);
        (!known.is_empty() || self.embedded.contains(&message)).then_some(known)
    }
}

/// Returns the types of whole messages, with their kind if it is known.
pub(super) fn messages(protocol: &Protocol) -> HashMap<TypeId, Option<MessageKind>> {
    let requests = protocol.requests.iter().filter(|it| !it.senders.is_empty());
    let requests = requests.map(|it| (it.type_id, Some(MessageKind::Request)));
    let notifications = protocol.notifications.iter().map(|it| (it.type_id, Some(MessageKind::Notification)));
    // In the base types of messages, the method is not a constant.
    let bases = protocol.types.iter().enumerate().filter_map(|(id, def)| {
        let Shape::Struct(body) = &def.shape else { return None };
        let member = |name: &str| body.members.iter().find(|member| member.wire == name && member.required);
        matches!(member("method")?.content, Content::Value(_)).then(|| {
            let notification = || member("jsonrpc").map(|_| MessageKind::Notification);
            (id, member("id").map(|_| MessageKind::Request).or_else(notification))
        })
    });
    bases.chain(requests).chain(notifications).collect()
}
