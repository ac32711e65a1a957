//! Sends messages to other replicas.

use std::sync::Arc;
use std::time::Duration;

use mcpgen_sdk::replicas::StoreError;
use tokio::sync::mpsc;

use super::message::{Head, Message};
use crate::replica::Replica;

/// Clones share a connection.
#[derive(Clone)]
pub(super) struct Sender {
    pub(super) replica: Arc<Replica>,
    pub(super) later: mpsc::UnboundedSender<(String, Head)>,
}

impl Sender {
    pub(super) fn id(&self) -> &str {
        &self.replica.id
    }

    pub(super) fn timeout(&self) -> Duration {
        self.replica.options.timeout
    }

    /// Sends a message. Returns whether the replica is subscribed to its channel.
    pub(super) async fn send(&self, replica: &str, head: &Head, body: &[u8]) -> Result<bool, StoreError> {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(self.replica.keys.inbox(replica)).arg(Message::encode(head, body)?);
        Ok(self.replica.connection.query::<u64>(&publish).await? > 0)
    }

    /// Sends a small message in the background. If it is lost, the next check notices. Each exchange sends a limited
    /// number of these.
    pub(super) fn send_later(&self, replica: &str, head: Head) {
        // Fails only if the stores were dropped.
        let _ = self.later.send((replica.to_owned(), head));
    }
}
