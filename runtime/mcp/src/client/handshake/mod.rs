//! Negotiates the revision of a connection.
//!
//! A client that supports modern and legacy revisions sends `server/discover` first. It falls back to `initialize`
//! unless the response can only come from a modern server. [`probe_outcome`] makes this decision for all transports.
//!
//! * `options` defines [`ConnectOptions`], and `error` defines [`HandshakeError`].
//! * `probe` interprets the response to `server/discover`. `negotiate` sends the requests of the handshake.
//! * `start` distinguishes streams from processes, which can be restarted.

mod error;
mod negotiate;
mod options;
mod probe;
mod start;

pub use error::HandshakeError;
pub(crate) use negotiate::negotiate;
pub use options::ConnectOptions;
pub use probe::{ProbeOutcome, probe_outcome};
pub(crate) use start::Start;
