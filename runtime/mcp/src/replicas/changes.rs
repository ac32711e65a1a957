//! Publishes changes to all replicas.

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::error::StoreError;
use crate::protocol::change::Change;

/// Publishes changed tools, prompts, resources and tasks to all replicas.
///
/// Delivery is at least once: a connected subscriber gets every change, and [`BusEvent::Missed`] whenever it may have
/// missed some. Changes from one publisher arrive in order.
pub trait ChangeBus: Send + Sync + 'static {
    /// Publishes a change to the other replicas. This replica's own subscribers do not get it.
    ///
    /// # Errors
    ///
    /// Fails if the store is unavailable. Subscribers get [`BusEvent::Missed`] when they reconnect.
    fn publish<'a>(&'a self, change: &'a Change) -> BoxFuture<'a, Result<(), StoreError>>;

    /// Subscribes to changes. The stream reconnects if the store was unavailable, and ends only when the bus is
    /// dropped.
    fn subscribe(&self) -> BoxStream<'static, BusEvent>;
}

/// An event of a [`ChangeBus`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BusEvent {
    /// Another replica published a change.
    Change(Change),
    /// Changes may have been missed, so treat everything as changed.
    Missed,
}
