//! Shares a server's changes with the other replicas, and passes on their changes to its subscribers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;

use crate::protocol::change::{Change, Filter, Pending};
use crate::replicas::{BusEvent, ChangeBus};

/// Connects a server to a [`ChangeBus`].
pub(super) struct BusConnection {
    bus: Arc<dyn ChangeBus>,
    /// Changes that are not published yet, without duplicates.
    unpublished: Arc<Pending>,
    has_started: AtomicBool,
}

/// The pause after a change could not be published. Doubles with each failure, up to [`MAX_DELAY`].
const DELAY: Duration = Duration::from_millis(50);
const MAX_DELAY: Duration = Duration::from_secs(2);

impl BusConnection {
    pub(super) fn new(bus: impl ChangeBus) -> Self {
        let bus = crate::replicas::Measured::new(Arc::new(bus));
        Self { bus: Arc::new(bus), unpublished: Arc::default(), has_started: AtomicBool::new(false) }
    }

    /// Starts the tasks that share changes, if there is a tokio runtime and they are not running yet. `relay` handles
    /// changes from other replicas. The tasks end when the server is dropped.
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

    /// Returns at once; the change is published soon after.
    pub(super) fn publish(&self, change: &Change) {
        self.unpublished.add(change.clone(), &Filter::default());
    }
}

/// How long to wait before checking again whether the server was dropped.
const CHECK: Duration = Duration::from_secs(1);

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

async fn relay_changes<T>(server: Weak<T>, bus: Arc<dyn ChangeBus>, relay: impl Fn(Arc<T>, BusEvent)) {
    let mut events = bus.subscribe();
    while server.strong_count() > 0 {
        let Ok(event) = tokio::time::timeout(CHECK, events.next()).await else { continue };
        let (Some(event), Some(server)) = (event, server.upgrade()) else { return };
        relay(server, event);
    }
}
