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
/// A request over a limit is refused with 503 and `Retry-After`; the message names the limit.
#[derive(Clone, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct EndpointOptions {
    /// The hosts and origins that are allowed. Default: this machine only.
    pub allowed_hosts: AllowedHosts,
    /// The limits of each session, and of each sessionless request.
    pub limits: Limits,
    /// The maximum bytes of a request body. A larger body is refused with 413, at once if `Content-Length` announces
    /// it. Default: 4 MiB.
    pub body: usize,
    /// The maximum bytes of all request bodies that are being read at the same time. Bytes count when they arrive, not
    /// when they are announced. At least one body of [`body`](Self::body) bytes always fits. If [`owner`](Self::owner)
    /// is set, each owner gets a quarter of this, or one body if that is more. Default: 64 MiB.
    pub body_buffer: usize,
    /// The maximum memory of messages whose handlers have not ended or whose responses are not written, in bytes: their
    /// text, its index, an estimate of the decoded values, which may take 30 times the length of the text, and the
    /// messages to the client. A message counts at least 16 KiB. If [`owner`](Self::owner) is set, each owner gets a
    /// quarter of this. A message that can never fit is refused with 413. Default: 256 MiB.
    pub message_memory: usize,
    /// The maximum memory that sessions retain, in bytes: what the client has declared, subscriptions, the journal for
    /// [`replicas`](Self::replicas), and messages that the client has not read or may resume. A session counts at least 32
    /// KiB. If [`owner`](Self::owner) is set, each owner gets a quarter of this. At the limit, the least recently used
    /// idle sessions are evicted, and sessions retain no messages for clients that resume. Default: 512 MiB.
    pub session_memory: usize,
    /// The timeout for receiving a request body. A slower body is refused with 408. Default: 30 seconds.
    pub body_timeout: Duration,
    /// The maximum number of requests in flight. A request counts until its response is written, or until its handler
    /// ends if the client has disconnected. A batch counts once. Responses, notifications and request bodies that are
    /// still arriving do not count. Default: 1024.
    pub requests: usize,
    /// The maximum number of requests in flight in one session. Default: 256.
    pub requests_per_session: usize,
    /// The maximum number of requests in flight of one owner and, counted separately, of its sessionless notifications
    /// whose handlers are running. Applies if [`owner`](Self::owner) is set. Default: 256.
    pub requests_per_owner: usize,
    /// The maximum number of open streams: subscriptions and GET requests. Default: 4096.
    pub streams: usize,
    /// The maximum number of open streams of one session and, counted separately, of the streams that it keeps for clients
    /// that resume. When it keeps this many, it drops the oldest one whose request has ended, or else the oldest one; a
    /// client that resumes a dropped stream is refused with 400. Default: 256.
    pub streams_per_session: usize,
    /// The maximum number of open streams of one owner. Applies if [`owner`](Self::owner) is set. Default: 1024.
    pub streams_per_owner: usize,
    /// The maximum number of sessions. At the limit a new session evicts the least recently used idle session. A
    /// session is idle if it has no open HTTP requests or streams and no running handlers. If no session is idle, the
    /// new session is refused. Default: 10,000.
    pub sessions: usize,
    /// The maximum number of sessions of one owner. Applies if [`owner`](Self::owner) is set. At the limit a new
    /// session evicts the owner's least recently used idle session. Default: 2,500.
    pub sessions_per_owner: usize,
    /// How long a session without an open HTTP request or stream is kept. A session that is never used after
    /// `initialize` is kept for at most a minute. Default: 30 minutes.
    pub idle: Duration,
    /// The maximum bytes of events that a session retains, over all its streams, for clients that resume a stream. A
    /// larger response is not retained: a client that resumes gets an error response instead. Also the maximum bytes
    /// that a client may leave unread on the stream of a GET request before that stream is closed. Default: 256 KiB.
    pub replay: usize,
    /// The interval of keep-alive comments on an idle stream. Default: 15 seconds.
    pub keep_alive: Duration,
    /// Identifies the owner of a request. A session belongs to the owner that began it; requests of other owners get
    /// 404. The owner is also the key of the limits per owner: without authentication, use the client's address. Called
    /// once per request, before the body is read. Default: the [`Principal`](mcpgen_runtime::transport::Principal) in the
    /// request's extensions, if an authentication layer has attached one.
    pub owner: Option<Owner>,
    /// Returns the arguments of a tool that clients repeat in headers, by tool name.
    /// [`headers`](mcpgen_mcp::protocol::header_params::headers) extracts them from a tool's schema. A
    /// [`Server`](mcpgen_mcp::Server) sets this for its own tools.
    pub tool_headers: Option<ToolHeaders>,
    /// The stores that several processes share, so that a request of a session may reach any of them. Create the
    /// endpoint in a tokio runtime if this is set. Default: those of [`ServerBuilder::replicas`](mcpgen_mcp::ServerBuilder::replicas),
    /// or none: then the process that began a session must receive all its requests.
    #[setters(strip_option)]
    pub replicas: Option<Replicas>,
}

/// Returns the arguments of a tool that are repeated in headers.
pub type ToolHeaders = Arc<dyn Fn(&str) -> Vec<Header> + Send + Sync>;

/// Returns the owner of a request, such as the ID of the authenticated user.
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
