//! State that several processes share, so that a client can reach any of them.
//!
//! A server of modern revisions needs no sessions, and a server of legacy revisions keeps its sessions in one process.
//! To run several processes (*replicas*) behind a load balancer, give all of them the same stores:
//!
//! | trait | shares | used by |
//! |---|---|---|
//! | [`ChangeBus`] | changes of tools, prompts and resources | [`ServerBuilder::change_bus`](crate::ServerBuilder::change_bus) |
//! | [`SessionStore`] | sessions of legacy revisions, and which replica runs each | [`Replicas`] |
//! | [`EventStore`] | the events of streams that clients may resume | [`Replicas`] |
//! | [`ExchangeBus`] | HTTP requests for sessions that another replica runs | [`Replicas`] |
//! | [`RateLimiter`] | how many calls each caller may make | [`ServerBuilder::rate_limiter`](crate::ServerBuilder::rate_limiter) |
//! | [`ReplayGuard`] | used request states | `RequestStateCodec::with_replay_guard` |
//! | `TaskStore` | tasks | `Tasks::new` |
//!
//! Each trait has an implementation in memory, which replicas in one process can share, and one on Redis in the crate
//! `mcpgen-redis`. The crate `mcpgen-cluster` has the contract tests that both pass.
//!
//! # Sessions
//!
//! One replica runs a session: its *home*. Other replicas forward the HTTP requests of the session to it, so messages
//! of a session are handled in order, and a response to a server's request always reaches the replica that waits for
//! it. If the home dies, the next replica that receives a request of the session becomes its home: it replays the
//! session's journal (`initialize`, and requests such as `logging/setLevel`) and continues its streams. The requests
//! that the home was handling fail with an error that tells the client to send them again.
//!
//! The replica that receives a request checks its credentials. The home gets the request without them (`Authorization`,
//! `Proxy-Authorization`, `Cookie` and `DPoP`), but with its owner and the name of its
//! [`Principal`](mcpgen_runtime::transport::Principal), so that no credential reaches the store. Values that layers have attached to the
//! request stay at the replica that received it.

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

/// The stores that the HTTP endpoints of all replicas share.
///
/// Set them with `EndpointOptions::replicas`.
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
    /// Creates them from a value that implements all three traits.
    pub fn new<S: SessionStore + EventStore + ExchangeBus>(stores: S) -> Self {
        let stores = Arc::new(stores);
        Self { sessions: stores.clone(), events: stores.clone(), exchanges: stores }
    }

    /// Records the operations of the stores in the metrics.
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
