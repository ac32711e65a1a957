//! Measures the operations of any store.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use super::changes::{BusEvent, ChangeBus};
use super::error::StoreError;
use super::events::{EventStore, StoredEvent, StoredStream, StreamId};
use super::exchange::{Answer, ExchangeBus, ForwardedRequest, ForwardedResponse};
use super::rate_limiter::{Decision, RateLimiter};
use super::replay_guard::ReplayGuard;
use super::sessions::{Home, JournalEntry, SessionStore, StoredSession};
use crate::protocol::change::Change;
use crate::telemetry;

/// Records the duration and errors of a store's operations, and implements the same traits as the store.
pub struct Measured<S: ?Sized>(Arc<S>);

impl<S: ?Sized> fmt::Debug for Measured<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measured").finish_non_exhaustive()
    }
}

impl<S: ?Sized> Measured<S> {
    /// Wraps a store.
    #[must_use]
    pub fn new(store: Arc<S>) -> Self {
        Self(store)
    }

    fn measure<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        work: impl FnOnce(&'a S) -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> BoxFuture<'a, Result<T, StoreError>> {
        let work = work(&self.0);
        let Some(telemetry) = telemetry::installed() else { return work };
        async move {
            let operation = telemetry.store_operation(operation);
            let result = work.await;
            operation.end(result.as_ref().err().map(StoreError::kind_name));
            result
        }
        .boxed()
    }
}

impl<S: SessionStore + ?Sized> SessionStore for Measured<S> {
    fn create<'a>(&'a self, session: StoredSession, lifetime: Duration) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.measure("session.create", |store| store.create(session, lifetime))
    }

    fn locate<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Home>, StoreError>> {
        self.measure("session.locate", |store| store.locate(id))
    }

    fn record<'a>(&'a self, id: &'a str, entry: JournalEntry) -> BoxFuture<'a, Result<(), StoreError>> {
        self.measure("session.record", |store| store.record(id, entry))
    }

    fn renew<'a>(&'a self, ids: &'a [String], lifetime: Duration) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.measure("session.renew", |store| store.renew(ids, lifetime))
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.measure("session.remove", |store| store.remove(id))
    }

    fn moved(&self) -> BoxFuture<'static, ()> {
        self.0.moved()
    }

    fn leave(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.measure("session.leave", |store| store.leave())
    }
}

impl<S: EventStore + ?Sized> EventStore for Measured<S> {
    fn append<'a>(
        &'a self,
        stream: &'a StreamId,
        requests: &'a [String],
        events: Vec<StoredEvent>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.measure("event.append", |store| store.append(stream, requests, events))
    }

    fn streams<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<StoredStream>, StoreError>> {
        self.measure("event.streams", |store| store.streams(session))
    }

    fn remove_stream<'a>(&'a self, stream: &'a StreamId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.measure("event.remove_stream", |store| store.remove_stream(stream))
    }
}

impl<S: ExchangeBus + ?Sized> ExchangeBus for Measured<S> {
    fn forward<'a>(
        &'a self,
        replica: &'a str,
        request: ForwardedRequest,
    ) -> BoxFuture<'a, Result<ForwardedResponse, StoreError>> {
        self.measure("exchange.forward", |store| store.forward(replica, request))
    }

    fn answer(&self, answer: Answer) {
        self.0.answer(answer);
    }
}

impl<S: ChangeBus + ?Sized> ChangeBus for Measured<S> {
    fn publish<'a>(&'a self, change: &'a Change) -> BoxFuture<'a, Result<(), StoreError>> {
        self.measure("change.publish", |store| store.publish(change))
    }

    fn subscribe(&self) -> BoxStream<'static, BusEvent> {
        self.0.subscribe()
    }
}

impl<S: RateLimiter + ?Sized> RateLimiter for Measured<S> {
    fn check<'a>(&'a self, caller: &'a str) -> BoxFuture<'a, Result<Decision, StoreError>> {
        self.measure("rate_limit.check", |store| store.check(caller))
    }
}

impl<S: ReplayGuard + ?Sized> ReplayGuard for Measured<S> {
    fn record<'a>(&'a self, nonce: [u8; 16], until: SystemTime) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.measure("request_state.record", |store| store.record(nonce, until))
    }
}
