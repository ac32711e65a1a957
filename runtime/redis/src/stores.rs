//! A replica's stores.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::replicas::{
    Answer, BusEvent, ChangeBus, EventStore, ExchangeBus, ForwardedRequest, ForwardedResponse, Home, JournalEntry,
    ReplayGuard, SessionStore, StoreError, StoredEvent, StoredSession, StoredStream, StreamId,
};
use mcpgen_sdk::server::request_state::RequestStateCodec;
use mcpgen_sdk::tasks::{StoredTask, TaskChange, TaskStore};
use mcpgen_types::ErrorObject;
use mcpgen_types::v2025_11_25::Task;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::changes::Changes;
use crate::exchange::{self, Exchanges};
use crate::options::RedisOptions;
use crate::rate_limiter::RedisRateLimiter;
use crate::replica::{Replica, millis};
use crate::request_state::RequestStateKeys;

/// A replica's stores on Redis.
///
/// Implements all traits of [`mcpgen_sdk::replicas`] and [`TaskStore`]. Clones belong to the same replica. Dropping the
/// last clone ends the replica: its background tasks stop, and other replicas take over its sessions once its lease
/// expires. Call [`SessionStore::leave`] first to let them do so at once.
///
/// A function passed to [`ExchangeBus::answer`] must not own a clone, or the last clone is never dropped.
#[derive(Clone)]
pub struct RedisStores(Arc<Inner>);

struct Inner {
    shared: Arc<Shared>,
    /// Ends the background tasks.
    _stop: DropGuard,
}

struct Shared {
    replica: Arc<Replica>,
    changes: Arc<Changes>,
    exchanges: Arc<Exchanges>,
    /// Codecs whose keys must be kept up to date.
    codecs: Mutex<Vec<RequestStateCodec>>,
}

/// Stops the exchanges when the background tasks end.
struct StopExchanges(Arc<Exchanges>);

impl Drop for StopExchanges {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl RedisStores {
    /// Connects to Redis as a new replica. Call this in a tokio runtime, where background tasks renew the replica's
    /// lease, read changes and receive forwarded requests.
    ///
    /// # Errors
    ///
    /// Fails if the options are invalid, or if Redis is unavailable. Does not check that Redis is version 7 or newer.
    pub async fn connect(options: RedisOptions) -> Result<Self, StoreError> {
        let replica = Arc::new(Replica::connect(options).await?);
        replica.create_floor().await?;
        let changes = Arc::new(Changes::new(Arc::clone(&replica)));
        let last = changes.last().await?;
        let (exchanges, outgoing) = Exchanges::new(Arc::clone(&replica));
        let subscription = exchanges.subscribe().await?;
        let shared = Arc::new(Shared { replica, changes, exchanges, codecs: Mutex::default() });
        let stop = CancellationToken::new();
        let exchanges = Arc::clone(&shared.exchanges);
        let guard = StopExchanges(Arc::clone(&exchanges));
        let receive = Arc::clone(&exchanges).run(subscription);
        spawn(&stop, async move {
            let _guard = guard;
            receive.await;
        });
        spawn(&stop, Arc::clone(&exchanges).send_outgoing(outgoing));
        spawn(&stop, exchanges.check());
        spawn(&stop, Arc::clone(&shared.changes).run(last));
        spawn(&stop, Arc::clone(&shared).renew());
        Ok(Self(Arc::new(Inner { shared, _stop: stop.drop_guard() })))
    }

    /// Returns this replica's ID.
    #[must_use]
    pub fn replica_id(&self) -> &str {
        &self.replica().id
    }

    /// Checks that Redis responds, for example for a readiness check.
    ///
    /// # Errors
    ///
    /// Fails if Redis is unavailable.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.replica().connection.query(&redis::cmd("PING")).await
    }

    /// Creates a codec for the request state of multi-round requests. All replicas share its keys, which are random and
    /// get [rotated](RedisOptions::key_rotation). Each state is accepted once.
    ///
    /// # Errors
    ///
    /// Fails if Redis is unavailable.
    pub async fn request_state_codec(&self) -> Result<RequestStateCodec, StoreError> {
        let keys = self.request_state_keys().await?;
        let Shared { replica, codecs, .. } = &*self.0.shared;
        let codec = RequestStateCodec::new(keys.signing, replica.options.request_state_lifetime);
        // Holds only the replica, so that the codec does not keep the background tasks running.
        let guard = UsedStates(Arc::clone(replica));
        let codec = codec.map_err(StoreError::corrupt)?.with_replay_guard(guard);
        keys.apply(&codec);
        codecs.lock().unwrap_or_else(PoisonError::into_inner).push(codec.clone());
        Ok(codec)
    }

    /// Returns the current keys of request states. Creates a random key if there is none yet.
    ///
    /// # Errors
    ///
    /// Fails if Redis is unavailable.
    pub async fn request_state_keys(&self) -> Result<RequestStateKeys, StoreError> {
        let replica = self.replica();
        replica.request_state_keys(millis(replica.options.key_rotation)).await.map(Arc::unwrap_or_clone)
    }

    /// Creates a new key for request states, which signs as soon as all replicas know it. Older keys verify until the
    /// last state that they signed expires.
    ///
    /// # Errors
    ///
    /// Fails if Redis is unavailable.
    pub async fn rotate_request_state_keys(&self) -> Result<RequestStateKeys, StoreError> {
        self.replica().request_state_keys(0).await.map(Arc::unwrap_or_clone)
    }

    /// Creates a limiter that allows each caller bursts of `calls`, and refills them evenly over `per`, on all
    /// replicas together. Limiters with the same values share their quotas.
    #[must_use]
    pub fn rate_limiter(&self, calls: u32, per: Duration) -> RedisRateLimiter {
        RedisRateLimiter::new(Arc::clone(&self.0.shared.replica), calls, per)
    }

    fn replica(&self) -> &Replica {
        &self.0.shared.replica
    }
}

fn spawn(stop: &CancellationToken, work: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(stop.clone().run_until_cancelled_owned(work));
}

impl Shared {
    /// Renews the lease, and keeps the floor and the keys of request states up to date.
    async fn renew(self: Arc<Self>) {
        let mut ticks = interval(self.replica.options.lease / 3);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.renew_once().await {
                tracing::warn!(%error, "cannot renew the lease of this replica");
            }
        }
    }

    async fn renew_once(&self) -> Result<(), StoreError> {
        self.replica.renew_lease().await?;
        self.replica.create_floor().await?;
        self.changes.repair().await?;
        let codecs = self.codecs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if !codecs.is_empty() {
            let keys = self.replica.request_state_keys(millis(self.replica.options.key_rotation)).await?;
            for codec in &codecs {
                keys.apply(codec);
            }
        }
        Ok(())
    }
}

/// Records a codec's used states.
struct UsedStates(Arc<Replica>);

impl ReplayGuard for UsedStates {
    fn record<'a>(&'a self, nonce: [u8; 16], until: SystemTime) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.0.record_state(nonce, until).boxed()
    }
}

impl ReplayGuard for RedisStores {
    fn record<'a>(&'a self, nonce: [u8; 16], until: SystemTime) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.replica().record_state(nonce, until).boxed()
    }
}

impl SessionStore for RedisStores {
    fn create<'a>(&'a self, session: StoredSession, lifetime: Duration) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.replica().create_session(session, lifetime).boxed()
    }

    fn locate<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Home>, StoreError>> {
        self.replica().locate_session(id, exchange::moved).boxed()
    }

    fn record<'a>(&'a self, id: &'a str, entry: JournalEntry) -> BoxFuture<'a, Result<(), StoreError>> {
        self.replica().record_message(id, entry).boxed()
    }

    fn renew<'a>(&'a self, ids: &'a [String], lifetime: Duration) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        self.replica().renew_sessions(ids, lifetime).boxed()
    }

    fn remove<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.replica().remove_session(id).boxed()
    }

    fn moved(&self) -> BoxFuture<'static, ()> {
        let moved = Arc::clone(&self.replica().renewals.moved);
        async move { moved.notified().await }.boxed()
    }

    fn leave(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        self.replica().leave().boxed()
    }
}

impl EventStore for RedisStores {
    fn append<'a>(
        &'a self,
        stream: &'a StreamId,
        requests: &'a [String],
        events: Vec<StoredEvent>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.replica().append_events(stream, requests, events).boxed()
    }

    fn streams<'a>(&'a self, session: &'a str) -> BoxFuture<'a, Result<Vec<StoredStream>, StoreError>> {
        self.replica().read_streams(session).boxed()
    }

    fn remove_stream<'a>(&'a self, stream: &'a StreamId) -> BoxFuture<'a, Result<(), StoreError>> {
        self.replica().remove_stream(stream).boxed()
    }
}

impl ChangeBus for RedisStores {
    fn publish<'a>(&'a self, change: &'a Change) -> BoxFuture<'a, Result<(), StoreError>> {
        self.0.shared.changes.publish(change).boxed()
    }

    fn subscribe(&self) -> BoxStream<'static, BusEvent> {
        self.0.shared.changes.subscribe()
    }
}

impl ExchangeBus for RedisStores {
    fn forward<'a>(
        &'a self,
        replica: &'a str,
        request: ForwardedRequest,
    ) -> BoxFuture<'a, Result<ForwardedResponse, StoreError>> {
        self.0.shared.exchanges.forward(replica, request).boxed()
    }

    fn answer(&self, answer: Answer) {
        self.0.shared.exchanges.set_answer(answer);
    }
}

impl TaskStore for RedisStores {
    fn create(&self, entry: StoredTask) -> BoxFuture<'_, Result<(), ErrorObject>> {
        async move { self.replica().create_task(&entry).await }.boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        async move { Ok(self.replica().get_task(id).await?) }.boxed()
    }

    fn change<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        async move { Ok(self.replica().change_task(id, &change).await?) }.boxed()
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>> {
        async move { Ok(self.replica().list_tasks(owner, after, most).await?) }.boxed()
    }
}

impl fmt::Debug for RedisStores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisStores").field("replica", &self.replica().id).finish_non_exhaustive()
    }
}
