//! Forwards HTTP requests between replicas, by publish and subscribe.
//!
//! Each replica subscribes to one channel. The replica that forwards a request (the requester) sends it to the channel
//! of the replica that runs the session (the responder), which sends the parts of the response back: `message` has all
//! kinds of messages. Redis does not store messages, so they can be lost. Then the exchange ends with an error:
//!
//! * If a replica's subscription is interrupted, it ends all of its exchanges.
//! * If nobody is subscribed to a channel, or the lease of a replica has expired, its exchanges end.
//! * Frames are numbered. While a requester waits, it asks the responder how many it has sent, and ends the exchange if
//!   frames are missing or if the responder has no such exchange.
//!
//! The responder sends a limited number of frames before the requester has consumed them. A response that is complete soon
//! is one message.
//!
//! `requester` and `responder` are the two sides, `channel` receives their messages, and `sender` sends them.

mod channel;
mod message;
mod requester;
mod responder;
mod sender;

use std::time::Duration;

pub(crate) use channel::Exchanges;
use mcpgen_sdk::replicas::StoreError;
use message::{Head, Message};

/// The number of frames that a responder sends before the requester has consumed them.
const WINDOW: usize = 32;
/// The maximum size of a frame in bytes.
const MAX_FRAME: usize = 64 << 10;
/// The time after which a responder confirms that a request has arrived, if it has no response yet.
const CONFIRMATION: Duration = Duration::from_millis(100);
/// The time between two checks of the other replicas.
const CHECK: Duration = Duration::from_secs(1);

/// Encodes the message that tells a replica that it is not the home of a session any more.
pub(crate) fn moved(session: &str) -> Result<Vec<u8>, StoreError> {
    Message::encode(&Head::Moved { session: session.to_owned() }, &[])
}
