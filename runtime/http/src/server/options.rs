//! Settings of an endpoint.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use derive_setters::Setters;
use http::request::Parts;
use mcpgen_mcp::protocol::header_params::Header;
use mcpgen_mcp::replicas::Replicas;
use mcpgen_runtime::connection::Limits;

use super::allowed_hosts::AllowedHosts;

/// Settings of an [`Endpoint`](super::Endpoint): allowed hosts and limits.
///
/// A request beyond a limit is refused with 503 and `Retry-After`, and a message that names the limit.
#[derive(Clone, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct EndpointOptions {
    /// Which hosts and origins may reach the endpoint. Defaults to this machine.
    pub allowed_hosts: AllowedHosts,
    /// Limits of each session, and of each sessionless request.
    pub limits: Limits,
    /// Maximum size of a request body in bytes. A larger one is refused with 413, right away if `Content-Length`
    /// announces it. Defaults to 4 MiB.
    pub body: usize,
    /// Maximum total size of the request bodies being read, in bytes. Bytes count when they arrive, not when they are
    /// announced. At least one body of [`body`](Self::body) bytes always fits. If requests have an
    /// [`owner`](Self::owner), each owner gets a quarter, or one body if that is more. Defaults to 64 MiB.
    pub body_buffer: usize,
    /// Maximum memory of messages until their handlers have ended and their responses are written, in bytes: the text,
    /// its index, an estimate of the decoded values (up to 30 times the length of the text), and messages to the
    /// client. A message counts as at least 16 KiB. If requests have an [`owner`](Self::owner), each owner gets a
    /// quarter. A message that can never fit is refused with 413. Defaults to 256 MiB.
    pub message_memory: usize,
    /// Maximum memory that sessions retain, in bytes: client declarations, subscriptions, the journal for
    /// [`replicas`](Self::replicas), and messages that the client has not read or may resume. A session counts as at
    /// least 32 KiB. If requests have an [`owner`](Self::owner), each owner gets a quarter. At the limit, the least
    /// recently used idle sessions are evicted, and sessions retain no messages for resumption. Defaults to 512 MiB.
    pub session_memory: usize,
    /// How long receiving a request body may take. A slower one is refused with 408. Defaults to 30 seconds.
    pub body_timeout: Duration,
    /// Maximum number of requests in flight. A request counts until its response is written or, if the client has
    /// disconnected, until its handler ends. A batch counts once. Responses, notifications and request bodies that are
    /// still arriving do not count. Defaults to 1024.
    pub requests: usize,
    /// Maximum number of requests in flight per session. Defaults to 256.
    pub requests_per_session: usize,
    /// Maximum number of an owner's requests in flight and, counted separately, of its sessionless notifications with
    /// running handlers. Applies if requests have an [`owner`](Self::owner). Defaults to 256.
    pub requests_per_owner: usize,
    /// Maximum number of open streams: subscriptions and GET requests. Defaults to 4096.
    pub streams: usize,
    /// Maximum number of a session's open streams and, counted separately, of the streams it keeps for resumption.
    /// Beyond that it drops the oldest stream whose request has ended or, failing that, the oldest one; resuming a
    /// dropped stream is refused with 400. Defaults to 256.
    pub streams_per_session: usize,
    /// Maximum number of an owner's open streams. Applies if requests have an [`owner`](Self::owner). Defaults to 1024.
    pub streams_per_owner: usize,
    /// Maximum number of sessions. At the limit, a new session evicts the least recently used idle one, or is refused
    /// if none is idle. A session is idle while it has no open HTTP requests or streams and no running handlers.
    /// Defaults to 10,000.
    pub sessions: usize,
    /// Maximum number of an owner's sessions. Applies if requests have an [`owner`](Self::owner). At the limit, a new
    /// session evicts the owner's least recently used idle one. Defaults to 2,500.
    pub sessions_per_owner: usize,
    /// How long a session without an open HTTP request or stream is kept. One that is never used after `initialize` is
    /// kept for at most a minute. Defaults to 30 minutes.
    pub idle: Duration,
    /// How many bytes of events a session retains, across all streams, for clients that resume. A larger response
    /// is not retained, and a client that resumes gets an error response instead. Also limits how much a client may
    /// leave unread on the stream of a GET request before the stream is closed. Defaults to 256 KiB.
    pub replay: usize,
    /// How much time passes between keep-alive comments on an idle stream. Defaults to 15 seconds.
    pub keep_alive: Duration,
    /// Identifies the owner of a request. A session belongs to the owner that began it; requests of other owners get
    /// 404. Limits per owner use the same key, so without authentication set this to the client's address. Called once
    /// per request, before the body is read. Defaults to the [`Principal`](mcpgen_runtime::transport::Principal) in the
    /// request's extensions, if an authentication layer attached one.
    pub owner: Option<Owner>,
    /// Maps a tool's name to the arguments that clients repeat in headers.
    /// [`headers`](mcpgen_mcp::protocol::header_params::headers) extracts them from a tool's schema. A
    /// [`Server`](mcpgen_mcp::Server) sets this for its own tools.
    pub tool_headers: Option<ToolHeaders>,
    /// The stores shared by several processes, so that any of them can receive the requests of a session. If this is
    /// set, create the endpoint within a Tokio runtime. Defaults to those of
    /// [`ServerBuilder::replicas`](mcpgen_mcp::ServerBuilder::replicas). Without stores, the process that began a
    /// session must receive all its requests.
    #[setters(strip_option)]
    pub replicas: Option<Replicas>,
}

/// Returns which arguments of the tool with this name are repeated in headers.
pub type ToolHeaders = Arc<dyn Fn(&str) -> Vec<Header> + Send + Sync>;

/// Returns the owner of a request, such as the authenticated user's ID.
pub type Owner = Arc<dyn Fn(&Parts) -> String + Send + Sync>;

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            allowed_hosts: AllowedHosts::default(),
            limits: Limits::default(),
            body: 4 << 20,
            body_buffer: 64 << 20,
            body_timeout: Duration::from_secs(30),
            message_memory: 256 << 20,
            session_memory: 512 << 20,
            requests: 1024,
            requests_per_session: 256,
            requests_per_owner: 256,
            streams: 4096,
            streams_per_session: 256,
            streams_per_owner: 1024,
            sessions: 10_000,
            sessions_per_owner: 2_500,
            idle: Duration::from_secs(30 * 60),
            replay: 256 << 10,
            keep_alive: Duration::from_secs(15),
            owner: None,
            tool_headers: None,
            replicas: None,
        }
    }
}

impl fmt::Debug for EndpointOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointOptions")
            .field("allowed_hosts", &self.allowed_hosts)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
