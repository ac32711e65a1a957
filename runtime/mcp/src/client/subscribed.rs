//! Resources that a client has subscribed to (legacy revisions).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use mcpgen_runtime::peer::Peer;
use mcpgen_types::Json;
use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::Handle;

use crate::protocol::peer::changed;

/// How many of the client's subscriptions include each resource. To the server, they are a single subscription.
pub(super) type SubscribedUris = Arc<Mutex<HashMap<String, usize>>>;

/// The resources of one subscription. On drop, the client unsubscribes from those that no other subscription includes.
pub(super) struct Subscribed {
    peer: Peer,
    all: SubscribedUris,
    uris: Vec<String>,
}

impl Subscribed {
    pub(super) fn new(peer: Peer, all: SubscribedUris) -> Self {
        Self { peer, all, uris: Vec::new() }
    }

    pub(super) fn add(&mut self, uri: &str) {
        *self.all.lock().entry(uri.to_owned()).or_default() += 1;
        self.uris.push(uri.to_owned());
    }
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        for uri in self.uris.drain(..) {
            let Entry::Occupied(mut count) = all.entry(uri) else { continue };
            *count.get_mut() -= 1;
            if *count.get() > 0 {
                continue;
            }
            let params = Json::from(&json!({ "uri": count.remove_entry().0 }));
            if let Ok(runtime) = Handle::try_current() {
                let call = self.peer.raw_request("resources/unsubscribe", Some(params)).send();
                // Nobody waits for the response.
                runtime.spawn(async move { drop(call.await) });
            }
        }
    }
}

impl fmt::Debug for Subscribed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscribed").field("uris", &self.uris).finish_non_exhaustive()
    }
}

/// The resource subscriptions that a server forgets when it loses the session (legacy revisions). Does not keep the
/// connection open.
#[derive(Clone)]
pub struct SessionState {
    peer: Peer,
    uris: SubscribedUris,
}

impl SessionState {
    pub(super) fn new(peer: &Peer, uris: &SubscribedUris) -> Self {
        Self { peer: peer.of_connection(), uris: Arc::clone(uris) }
    }

    /// Waits until the connection is closed.
    pub async fn disconnected(&self) {
        self.peer.disconnected().await;
    }

    /// Subscribes again in a new session, and then reports everything as changed, because changes may have been missed.
    pub async fn restore(&self) {
        let uris: Vec<Json> = self.uris.lock().keys().map(|uri| Json::from(&json!({ "uri": uri }))).collect();
        for params in &uris {
            if let Err(error) = self.peer.raw_request("resources/subscribe", Some(params.clone())).await {
                tracing::warn!(%error, "the new session has fewer subscriptions than the session that was lost");
            }
        }
        for list in ["tools", "prompts", "resources"] {
            changed(&self.peer, &format!("notifications/{list}/list_changed"), None);
        }
        for params in &uris {
            changed(&self.peer, "notifications/resources/updated", Some(params));
        }
    }
}

impl fmt::Debug for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionState").field("peer", &self.peer).finish_non_exhaustive()
    }
}
