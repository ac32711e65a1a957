//! Connections that hear of changes, in the revisions where that is a matter of the connection.

use std::sync::Arc;

use mcpgen_types::RawJson;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use serde_json::json;

use crate::peer::Peer;
use crate::subscriptions::{Change, Pending};

/// How many resources one connection may have subscribed to.
pub(super) const MOST_SUBSCRIBED: usize = 1024;

/// All that are there.
pub(super) type Listeners = Vec<Listener>;

/// A connection that hears of changes. What has changed several times before it is told is told once.
pub(super) struct Listener {
    peer: Peer,
    pub(super) wanted: SubscriptionFilter,
    pending: Arc<Pending>,
}

/// That of a connection, which is made if there is none.
pub(super) fn listener<'l>(listeners: &'l mut Listeners, peer: &Peer) -> &'l mut Listener {
    listeners.retain(|known| !known.peer.is_closed());
    let index = listeners.iter().position(|known| known.peer.is(peer)).unwrap_or_else(|| {
        let (peer, pending) = (peer.of_connection(), Arc::<Pending>::default());
        tokio::spawn(tell(peer.clone(), Arc::clone(&pending)));
        let wanted = SubscriptionFilter::new()
            .with_tools_list_changed(true)
            .with_prompts_list_changed(true)
            .with_resources_list_changed(true);
        listeners.push(Listener { peer, wanted, pending });
        listeners.len() - 1
    });
    &mut listeners[index]
}

/// Tells a connection of changes, for as long as it lasts.
async fn tell(peer: Peer, pending: Arc<Pending>) {
    loop {
        let change = tokio::select! {
            () = peer.disconnected() => return,
            change = pending.next() => change,
        };
        let params = match &change {
            Change::Resource(uri) => Some(RawJson::from(&json!({ "uri": uri }))),
            _ => None,
        };
        // What was not declared is not told.
        let _ = peer.raw_notify(change.method(), params).await;
    }
}

/// Tells everybody who wants to hear of it. From whichever thread: the connections have tasks of their own for it.
pub(super) fn changed(listeners: &mut Listeners, change: &Change) {
    listeners.retain(|listener| !listener.peer.is_closed());
    for listener in listeners.iter().filter(|listener| change.is_in(&listener.wanted)) {
        listener.pending.add(change.clone(), &listener.wanted);
    }
}
