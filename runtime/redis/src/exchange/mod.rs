//! Forwards HTTP requests between replicas, by publish and subscribe.
//!
//! Each replica subscribes to one channel. A replica that forwards a request (the requester) sends it to the channel of
//! the replica that runs the session (the responder), which sends the response back in parts. `message` defines all
//! messages. Redis does not store messages, so they can be lost. The exchange then ends with an error:
//!
//! * A replica whose subscription is interrupted ends all its exchanges.
//! * If nobody is subscribed to a replica's channel, or its lease has expired, its exchanges end.
//! * Frames are numbered. A waiting requester asks the responder how many it has sent, and ends the exchange if frames
//!   are missing or the responder does not know the exchange.
//!
//! The responder only sends a limited number of frames before the requester has consumed them. A response that
//! completes quickly is a single message.
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

/// How many frames a responder sends before the requester has consumed them.
const WINDOW: usize = 32;
/// Maximum size of a frame in bytes.
const MAX_FRAME: usize = 64 << 10;
/// After this time without a response, a responder confirms that the request has arrived.
const CONFIRMATION: Duration = Duration::from_millis(100);
/// How much time passes between checks of the other replicas.
const CHECK: Duration = Duration::from_secs(1);

/// Encodes the message that tells a replica that it is no longer a session's home.
pub(crate) fn moved(session: &str) -> Result<Vec<u8>, StoreError> {
    Message::encode(&Head::Moved { session: session.to_owned() }, &[])
}
