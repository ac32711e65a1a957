#![doc = include_str!("../README.md")]
//!
//! # Modules
//!
//! Each module imports only from those above it:
//!
//! * `error` and `options` are public.
//! * `keys` names keys and channels, `connection` runs commands, `renewals` decides which sessions to renew, and
//!   `replica` holds this process's lease.
//! * `sessions`, `events`, `tasks`, `used_states`, `request_state` and `rate_limiter` store state. Steps that must be
//!   atomic are scripts in `scripts`.
//! * `changes` and `exchange` send messages to other replicas.
//! * `stores` implements the traits, and runs background tasks.
//! * `on_redis` gives all of this to a server.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod changes;
mod connection;
mod error;
mod events;
mod exchange;
mod keys;
mod on_redis;
mod options;
mod rate_limiter;
mod renewals;
mod replica;
mod request_state;
mod sessions;
mod stores;
mod tasks;
mod used_states;

pub use error::{InvalidOptions, Unavailable};
pub use on_redis::OnRedis;
pub use options::RedisOptions;
pub use rate_limiter::RedisRateLimiter;
pub use request_state::RequestStateKeys;
pub use stores::RedisStores;
