//! The resources that a client has subscribed to (legacy revisions).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use mcpgen_runtime::peer::Peer;
use mcpgen_types::Json;
use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::Handle;

/// How many subscriptions of a client each resource has. The server knows only one.
pub(super) type SubscribedUris = Arc<Mutex<HashMap<String, usize>>>;

/// The resources of a subscription. When this is dropped, the client unsubscribes from those that have no other
/// subscription.
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
