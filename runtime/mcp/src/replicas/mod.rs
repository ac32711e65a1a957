//! State that several processes share, so that clients can reach any of them.
//!
//! A server of modern revisions needs no sessions; for legacy revisions, it keeps sessions in its process. To run
//! several processes (*replicas*) behind a load balancer, give them all the same stores:
//!
//! | trait | shares | used by |
//! |---|---|---|
//! | [`ChangeBus`] | changes to tools, prompts and resources | [`ServerBuilder::change_bus`](crate::ServerBuilder::change_bus) |
//! | [`SessionStore`] | sessions of legacy revisions, and which replica runs each | [`Replicas`] |
//! | [`EventStore`] | the events of streams that clients may resume | [`Replicas`] |
//! | [`ExchangeBus`] | HTTP requests for sessions that another replica runs | [`Replicas`] |
//! | [`RateLimiter`] | how many calls each caller may make | [`ServerBuilder::rate_limiter`](crate::ServerBuilder::rate_limiter) |
//! | [`ReplayGuard`] | used request states | `RequestStateCodec::with_replay_guard` |
//! | `TaskStore` | tasks | `Tasks::new` |
//!
//! Each trait is implemented in memory, for replicas in one process, and on Redis, in `mcpgen-redis`. Both pass the
//! contract tests in `mcpgen-cluster`.
//!
//! # Sessions
//!
//! Each session runs on one replica, its *home*. Other replicas forward the session's HTTP requests there, so messages
//! are handled in order, and a response from the client reaches the replica that waits for it. If the home dies, the
//! next replica that receives a request for the session becomes its home: it replays the session's journal
//! (`initialize`, and requests such as `logging/setLevel`) and continues the streams. Requests that the old home was
//! handling fail with an error that asks the client to retry.
//!
//! The replica that receives a request checks its credentials. It removes them (`Authorization`,
//! `Proxy-Authorization`, `Cookie` and `DPoP`) before it forwards the request, so that no credential reaches the
//! store. The home gets the owner and the name of the [`Principal`](mcpgen_runtime::transport::Principal) instead.
//! Other values that layers attached to the request are not forwarded.

mod changes;
mod error;
mod events;
mod exchange;
mod measured;
mod rate_limiter;
mod replay_guard;
mod sessions;

use std::fmt;
use std::sync::Arc;

pub use changes::{BusEvent, ChangeBus};
pub use error::StoreError;
pub use events::{EventStore, StoredEvent, StoredStream, StreamId};
pub use exchange::{Answer, ExchangeBus, ForwardedRequest, ForwardedResponse, Frames};
pub use measured::Measured;
pub use rate_limiter::{Decision, RateLimiter};
pub use replay_guard::ReplayGuard;
pub use sessions::{Home, JournalEntry, SessionStore, StoredSession};

/// The stores that the HTTP endpoints of all replicas share. Set them with `EndpointOptions::replicas`.
#[derive(Clone)]
pub struct Replicas {
    /// The sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// The events of streams.
    pub events: Arc<dyn EventStore>,
    /// Forwards requests to other replicas.
    pub exchanges: Arc<dyn ExchangeBus>,
}

impl Replicas {
    /// Uses one value for all three stores.
    pub fn new<S: SessionStore + EventStore + ExchangeBus>(stores: S) -> Self {
        let stores = Arc::new(stores);
        Self { sessions: stores.clone(), events: stores.clone(), exchanges: stores }
    }

    /// Records the stores' operations in the metrics.
    #[must_use]
    pub fn measured(self) -> Self {
        let Self { sessions, events, exchanges } = self;
        Self {
            sessions: Arc::new(Measured::new(sessions)),
            events: Arc::new(Measured::new(events)),
            exchanges: Arc::new(Measured::new(exchanges)),
        }
    }
}

impl fmt::Debug for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replicas").finish_non_exhaustive()
    }
}
