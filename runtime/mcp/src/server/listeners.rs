//! Change notifications in legacy revisions, where every initialized connection gets them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use mcpgen_runtime::peer::Peer;
use mcpgen_types::Json;
use serde_json::json;

use super::change_filter::CallerFilter;
use super::visibility::Affected;
use crate::protocol::change::{Change, Filter, Pending};
use crate::server::subscriptions::{MAX_RESOURCE_SUBSCRIPTIONS, MAX_SUBSCRIPTION_BYTES};

#[derive(Default)]
pub(super) struct Listeners {
    /// Listeners by [`Peer::connection_key`]. A listener holds its peer, so the key stays unique.
    by_connection: HashMap<usize, Listener>,
    /// The number of listeners at which closed connections are removed: twice the number left last time, and at least
    /// 64. The amortized cost of adding a listener is therefore constant.
    sweep_at: usize,
    /// How many listeners were examined while removing closed connections.
    #[cfg(test)]
    examined: usize,
}

/// A connection to be notified of changes. Equal changes are merged until the notification is sent.
pub(super) struct Listener {
    peer: Peer,
    /// The [session](Peer::session) that `wanted` belongs to.
    session: u64,
    wanted: Filter,
    /// The filters for the caller that last initialized the connection, or last subscribed or unsubscribed on it.
    filter: CallerFilter,
    pending: Arc<Pending>,
}

/// A subscription exceeds [`MAX_RESOURCE_SUBSCRIPTIONS`] or [`MAX_SUBSCRIPTION_BYTES`].
pub(super) struct TooMany;

impl Listener {
    fn notify(&self, change: Change, affected: &Affected) {
        if self.session == self.peer.session() && self.filter.notifies(&change, affected) {
            self.pending.add(change, &self.wanted);
        }
    }

    /// Subscribes to a resource. Does nothing if the connection has already done so.
    pub(super) fn subscribe(&mut self, uri: &str) -> Result<(), TooMany> {
        let uris = &mut self.wanted.uris;
        if uris.contains(uri) {
            return Ok(());
        }
        let bytes = uris.iter().map(String::len).sum::<usize>() + uri.len();
        if uris.len() >= MAX_RESOURCE_SUBSCRIPTIONS || bytes > MAX_SUBSCRIPTION_BYTES {
            return Err(TooMany);
        }
        uris.insert(uri.to_owned());
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, uri: &str) {
        self.wanted.uris.remove(uri);
    }
}

impl Listeners {
    fn remove_closed(&mut self) {
        #[cfg(test)]
        {
            self.examined += self.by_connection.len();
        }
        self.by_connection.retain(|_, listener| !listener.peer.is_closed());
        self.sweep_at = (2 * self.by_connection.len()).max(64);
    }
}

/// Finds the connection's listener and sets its filter. If the connection has none, adds one and spawns its task.
pub(super) fn listener<'l>(listeners: &'l mut Listeners, peer: &Peer, filter: CallerFilter) -> &'l mut Listener {
    if listeners.by_connection.len() >= listeners.sweep_at {
        listeners.remove_closed();
    }
    match listeners.by_connection.entry(peer.connection_key()) {
        Entry::Occupied(known) => {
            let listener = known.into_mut();
            listener.filter = filter;
            if listener.session != peer.session() {
                (listener.session, listener.wanted) = (peer.session(), lists());
            }
            listener
        }
        Entry::Vacant(free) => {
            let (peer, pending) = (peer.of_connection(), Arc::<Pending>::default());
            tokio::spawn(send_changes(peer.clone(), Arc::clone(&pending)));
            free.insert(Listener { session: peer.session(), peer, wanted: lists(), filter, pending })
        }
    }
}

/// Returns the changes that every connection is notified of.
fn lists() -> Filter {
    Filter { tools: true, prompts: true, resources: true, ..Filter::default() }
}

/// Sends pending changes until the connection ends.
async fn send_changes(peer: Peer, pending: Arc<Pending>) {
    loop {
        let change = tokio::select! {
            () = peer.disconnected() => return,
            change = pending.next() => change,
        };
        let params = match &change {
            Change::Resource(uri) => Some(Json::from(&json!({ "uri": uri }))),
            _ => None,
        };
        // Fails if the server did not declare the capability; then the client must not get the notification.
        let _ = peer.raw_notify(change.method(), params).await;
    }
}

/// Notifies the connections that want this change. Works on any thread, because each connection has a task that sends.
pub(super) fn changed(listeners: &mut Listeners, change: &Change, affected: &Affected) {
    listeners.remove_closed();
    for listener in listeners.by_connection.values().filter(|listener| listener.wanted.matches(change)) {
        listener.notify(change.clone(), affected);
    }
}

/// Notifies all connections of everything they have subscribed to, because changes may have been missed.
pub(super) fn everything_changed(listeners: &mut Listeners, affected: impl Fn(&Change) -> Affected) {
    listeners.remove_closed();
    for listener in listeners.by_connection.values() {
        for change in listener.wanted.changes() {
            let affected = affected(&change);
            listener.notify(change, &affected);
        }
    }
}

#[cfg(test)]
mod tests {
    use mcpgen_types::Revision;

    use super::*;
    use crate::protocol::FixedRevision;
    use mcpgen_runtime::connection::Connection;
    use mcpgen_runtime::router::Router;

    fn connection() -> Connection<Router> {
        let legacy = Revision::ALL.iter().rfind(|revision| revision.is_legacy()).expect("a legacy revision");
        let protocol = Arc::new(FixedRevision(*legacy));
        Connection::new(Router::new(), crate::protocol::Mcp::new(protocol))
    }

    #[tokio::test]
    async fn finds_a_listener_without_examining_all_others() {
        let mut listeners = Listeners::default();
        let connections: Vec<_> = (0..1000).map(|_| connection()).collect();
        for connection in connections.iter().chain(&connections) {
            listener(&mut listeners, connection.peer(), CallerFilter::default());
        }
        assert_eq!(listeners.by_connection.len(), 1000);
        assert!(listeners.examined < 2000, "{} listeners examined", listeners.examined);
    }

    #[tokio::test]
    async fn removes_closed_connections() {
        let mut listeners = Listeners::default();
        for _ in 0..1000 {
            let connection = connection();
            listener(&mut listeners, connection.peer(), CallerFilter::default());
            connection.peer().disconnect();
        }
        assert!(listeners.by_connection.len() <= 64, "{} are left", listeners.by_connection.len());
    }

    #[tokio::test]
    async fn limits_the_subscriptions_of_a_connection() {
        let (mut listeners, connection) = (Listeners::default(), connection());
        let listener = listener(&mut listeners, connection.peer(), CallerFilter::default());
        for number in 0..MAX_RESOURCE_SUBSCRIPTIONS {
            assert!(listener.subscribe(&format!("file:///{number}")).is_ok());
        }
        assert!(listener.subscribe("file:///0").is_ok(), "already subscribed");
        assert!(listener.subscribe("file:///one-more").is_err());
        listener.unsubscribe("file:///0");
        assert!(listener.subscribe("file:///one-more").is_ok());
        listener.unsubscribe("file:///1");
        assert!(listener.subscribe(&"x".repeat(MAX_SUBSCRIPTION_BYTES)).is_err());
    }
}
