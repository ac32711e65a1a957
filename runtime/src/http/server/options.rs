//! How an endpoint takes requests, and its limits.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;

use super::AllowedHosts;
use crate::connection::Limits;
use crate::protocol::header_params::Header;

/// Settings of an [`Endpoint`](super::Endpoint): allowed hosts and limits.
///
/// A request over a limit is refused with 503 and `Retry-After`; the message names the limit.
#[derive(Clone)]
pub struct Options {
    /// The hosts and origins that are allowed. Default: this machine only.
    pub allowed_hosts: AllowedHosts,
    /// Limits of each session, and of each request without a session.
    pub limits: Limits,
    /// Bytes of a request body. A larger one is refused with 413, at once if `Content-Length` announces it. Default: 4 MiB.
    pub body: usize,
    /// Bytes of all request bodies that are being read at a time, counted as they arrive. Announced bytes do not count. At
    /// least one body of [`body`](Self::body) bytes fits. Each owner gets at most a quarter, where
    /// [`owner`](Self::owner) is set. Default: 64 MiB.
    pub body_buffer: usize,
    /// How long a body may take to arrive. Default: 30 seconds.
    pub reading: Duration,
    /// Requests in flight. A request counts until its answer has been written, or until its handler has ended if the
    /// client has gone. A batch counts once. Responses, notifications and request bodies that are still arriving do not
    /// count. Default: 1024.
    pub requests: usize,
    /// Requests in flight in one session, and, counted separately, its open streams. Default: 256.
    pub requests_per_session: usize,
    /// Requests in flight of one owner, and, counted separately, its notifications without a session whose handlers run,
    /// where [`owner`](Self::owner) is set. Default: 256.
    pub requests_per_owner: usize,
    /// Open streams: subscriptions and GET requests. Default: 4096.
    pub streams: usize,
    /// Open streams of one owner, where [`owner`](Self::owner) is set. Default: 1024.
    pub streams_per_owner: usize,
    /// Sessions. At the limit a new session evicts the least recently used idle one: one without open requests, open
    /// streams and requests that are being handled. If none is idle, the new one is refused. Default: 10,000.
    pub sessions: usize,
    /// Sessions of one owner, where [`owner`](Self::owner) is set. At the limit a new session evicts the owner's least
    /// recently used idle one. Default: 2,500.
    pub sessions_per_owner: usize,
    /// How long a session is kept without an open request or stream. A session that is not used after `initialize` is kept
    /// for at most a minute. Default: 30 minutes.
    pub idle: Duration,
    /// Bytes of events that a session keeps, over all its streams, for a client that resumes a stream. A client that
    /// resumes after a larger answer was produced gets an error in its place. This is also how many bytes a client may
    /// leave unread on the stream of a GET request. Default: 256 KiB.
    pub replay: usize,
    /// How often a comment is sent on a silent stream. Default: 15 seconds.
    pub keep_alive: Duration,
    /// Identifies who makes a request, by what an authentication layer has put into the request's extensions. A session
    /// belongs to the owner that began it; for others it does not exist. Also the key of the limits per owner: without
    /// authentication it may be the client's address. Called once per request, before the body is read. Default: none.
    pub owner: Option<Owner>,
    /// Tool arguments that are repeated in headers, by tool name: [`headers`](crate::protocol::header_params::headers) finds them in
    /// a tool's schema. A [`Server`](crate::Server) fills this in for its own tools.
    pub tool_headers: Option<ToolHeaders>,
}

/// Finds the arguments of a tool that are repeated in headers.
pub type ToolHeaders = Arc<dyn Fn(&str) -> Vec<Header> + Send + Sync>;

/// Identifies who makes a request.
pub type Owner = Arc<dyn Fn(&Parts) -> String + Send + Sync>;

impl Default for Options {
    fn default() -> Self {
        Self {
            allowed_hosts: AllowedHosts::default(),
            limits: Limits::default(),
            body: 4 << 20,
            body_buffer: 64 << 20,
            reading: Duration::from_secs(30),
            requests: 1024,
            requests_per_session: 256,
            requests_per_owner: 256,
            streams: 4096,
            streams_per_owner: 1024,
            sessions: 10_000,
            sessions_per_owner: 2_500,
            idle: Duration::from_secs(30 * 60),
            replay: 256 << 10,
            keep_alive: Duration::from_secs(15),
            owner: None,
            tool_headers: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("allowed_hosts", &self.allowed_hosts)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
