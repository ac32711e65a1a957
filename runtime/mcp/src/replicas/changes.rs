//! Passes changes to all replicas.

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::error::StoreError;
use crate::protocol::change::Change;

/// Passes changes of tools, prompts, resources and tasks to all replicas.
///
/// Delivery is at least once: a subscriber gets each change that is published while it is connected, and
/// [`BusEvent::Missed`] if it may have missed some. Changes of one publisher arrive in order.
pub trait ChangeBus: Send + Sync + 'static {
    /// Publishes a change to the other replicas. The subscribers of this replica do not get it.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable. Subscribers get [`BusEvent::Missed`] when they reconnect.
    fn publish<'a>(&'a self, change: &'a Change) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Subscribes to changes. The stream ends only when the bus is dropped; it reconnects if the store was
    /// unavailable.
    fn subscribe(&self) -> BoxStream<'static, BusEvent>;
}

/// An event of a [`ChangeBus`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusEvent {
    /// A replica has published a change.
    Change(Change),
    /// The subscriber may have missed changes. Everything may have changed.
    Missed,
}
