//! Relays messages unchanged.

use std::pin::pin;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use mcpgen_sdk::transport::{Incoming, Metadata, Outbound, Outgoing, ReceiveError};
use mcpgen_types::{ErrorCode, ErrorObject};
use serde_json::json;

use super::observer::{Observer, Side};
use crate::failure::with_sources;

pub(super) async fn relay(
    observer: &Arc<Mutex<Observer>>,
    client: (impl Incoming, impl Outgoing),
    server: (impl Incoming, impl Outgoing),
) {
    let to_server = tokio::spawn(pass(observer.clone(), Side::Client, client.0, server.1));
    pass(observer.clone(), Side::Server, server.0, client.1).await;
    to_server.abort();
}

pub(super) async fn pass(observer: Arc<Mutex<Observer>>, sender: Side, from: impl Incoming, to: impl Outgoing) {
    let (mut from, mut to) = (pin!(from), pin!(to));
    while let Some(message) = from.next().await {
        let bytes = match message {
            // The messages were not parsed, so their bytes are those that arrived.
            Ok(message) => message.into_bytes().unwrap_or_default(),
            Err(ReceiveError::Undelivered { id, why }) => {
                let error = ErrorObject::new(ErrorCode::INTERNAL_ERROR, with_sources(&why));
                let error = mcpgen_types::to_value(&error).unwrap_or_default();
                let id = mcpgen_types::to_value(&id).unwrap_or_default();
                json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string().into_bytes()
            }
            Err(error) => {
                observe(&observer, |observer| observer.problem(sender, &with_sources(&error)));
                match error {
                    ReceiveError::Io(_) => break,
                    _ => continue,
                }
            }
        };
        observe(&observer, |observer| observer.message(sender, &bytes));
        let message = outbound(&*to, bytes);
        if to.send(message).await.is_err() {
            break;
        }
    }
    // Over HTTP, this ends the session. If the other side has disconnected, there is nothing to close.
    let _ = to.close().await;
}

/// Adds the metadata if the transport asks for them.
pub(super) fn outbound(to: &impl Outgoing, bytes: Vec<u8>) -> Outbound {
    let metadata = to.needs_metadata().then(|| Metadata::read(&bytes)).flatten();
    let mut message = Outbound::from(bytes);
    message.metadata = metadata.map(Box::new);
    message
}

pub(super) fn observe(observer: &Mutex<Observer>, run: impl FnOnce(&mut Observer)) {
    // A panic while writing a description must not stop the relay.
    run(&mut observer.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
}
