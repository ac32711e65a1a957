//! Passes the changes of a server to the other replicas, and theirs to its subscribers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;

use super::listeners;
use super::state::{Server, State};
use crate::protocol::change::{Change, Filter, Pending};
use crate::replicas::{BusEvent, ChangeBus};

/// The connection of a server to a [`ChangeBus`].
pub(super) struct BusConnection {
    bus: Arc<dyn ChangeBus>,
    /// The changes that are not published yet. Repeated changes are merged.
    unpublished: Arc<Pending>,
    has_started: AtomicBool,
}

/// The delay after a failed publication. It doubles with each failure, up to [`MAX_DELAY`].
const DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_secs(2);

impl BusConnection {
    pub(super) fn new(bus: impl ChangeBus) -> Self {
        Self { bus: Arc::new(bus), unpublished: Arc::default(), has_started: AtomicBool::new(false) }
    }

    /// Publishes a change soon.
    pub(super) fn publish(&self, change: &Change) {
        self.unpublished.add(change.clone(), &Filter::default());
    }
}

impl Server {
    /// Starts to pass on changes, if the server has a bus and this is a tokio runtime. Repeated calls do nothing. The
    /// tasks end when the server is dropped.
    pub(super) fn connect_to_bus(&self) {
        let Some(connection) = &self.0.config.change_bus else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !connection.has_started.swap(true, Ordering::SeqCst) {
            let server = Arc::downgrade(&self.0);
            runtime.spawn(publish(server.clone(), Arc::clone(&connection.bus), Arc::clone(&connection.unpublished)));
            runtime.spawn(relay(server, Arc::clone(&connection.bus)));
        }
    }

    /// Notifies all subscribers of everything that they have subscribed to.
    fn relay_missed_changes(&self) {
        self.0.subscriptions.everything_changed();
        listeners::everything_changed(&mut self.0.listeners.lock());
    }
}

/// How often the tasks check whether the server was dropped.
const CHECK: Duration = Duration::from_secs(1);

/// Publishes the server's changes in order.
async fn publish(server: Weak<State>, bus: Arc<dyn ChangeBus>, unpublished: Arc<Pending>) {
    while server.strong_count() > 0 {
        let Ok(change) = tokio::time::timeout(CHECK, unpublished.next()).await else { continue };
        let mut delay = DELAY;
        while let Err(error) = bus.publish(&change).await {
            if server.strong_count() == 0 {
                return;
            }
            tracing::warn!(%error, ?change, "failed to publish a change; trying again");
            tokio::time::sleep(delay).await;
            delay = (2 * delay).min(MAX_DELAY);
        }
    }
}

/// Notifies the server's subscribers of the changes that other replicas publish.
async fn relay(server: Weak<State>, bus: Arc<dyn ChangeBus>) {
    let mut events = bus.subscribe();
    while server.strong_count() > 0 {
        let Ok(event) = tokio::time::timeout(CHECK, events.next()).await else { continue };
        let (Some(event), Some(state)) = (event, server.upgrade()) else { return };
        match event {
            BusEvent::Change(change) => Server(state).relay_change(&change),
            BusEvent::Missed => Server(state).relay_missed_changes(),
        }
    }
}
