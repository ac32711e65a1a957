//! Passes the changes of a server to the other replicas, and theirs to its subscribers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;

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
        let bus = crate::replicas::Measured::new(Arc::new(bus));
        Self { bus: Arc::new(bus), unpublished: Arc::default(), has_started: AtomicBool::new(false) }
    }

    /// Starts to pass on changes, if this is a tokio runtime. `relay` handles the changes of other replicas. Repeated
    /// calls do nothing. The tasks end when the server is dropped.
    pub(super) fn start<T: Send + Sync + 'static>(
        &self,
        server: Weak<T>,
        relay: impl Fn(Arc<T>, BusEvent) + Send + 'static,
    ) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !self.has_started.swap(true, Ordering::SeqCst) {
            runtime.spawn(publish_changes(server.clone(), Arc::clone(&self.bus), Arc::clone(&self.unpublished)));
            runtime.spawn(relay_changes(server, Arc::clone(&self.bus), relay));
        }
    }

    /// Publishes a change soon.
    pub(super) fn publish(&self, change: &Change) {
        self.unpublished.add(change.clone(), &Filter::default());
    }
}

/// How often the tasks check whether the server was dropped.
const CHECK: Duration = Duration::from_secs(1);

/// Publishes the server's changes in order.
async fn publish_changes<T>(server: Weak<T>, bus: Arc<dyn ChangeBus>, unpublished: Arc<Pending>) {
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

/// Passes the changes of other replicas to `relay`.
async fn relay_changes<T>(server: Weak<T>, bus: Arc<dyn ChangeBus>, relay: impl Fn(Arc<T>, BusEvent)) {
    let mut events = bus.subscribe();
    while server.strong_count() > 0 {
        let Ok(event) = tokio::time::timeout(CHECK, events.next()).await else { continue };
        let (Some(event), Some(server)) = (event, server.upgrade()) else { return };
        relay(server, event);
    }
}
