//! Errors of the HTTP client.

use std::io;
use std::time::Duration;

use http::{HeaderValue, StatusCode};
use mcpgen_runtime::jsonrpc::envelope::{Envelope, scan};
use mcpgen_runtime::util::error_chain;
use tower::BoxError;

/// Why an HTTP request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The server responded with an error status and without a JSON-RPC response to the request. If the body is a
    /// JSON-RPC error without the request's ID, the message of that error is shown.
    #[error("the server responded with {status}{}{}", remedy(*status), error_text(body))]
    Status {
        /// The HTTP status.
        status: StatusCode,
        /// The first 64 KiB of the response body, or as much as could be read.
        body: String,
    },
    /// The server could not be reached, or the connection failed. The message contains the cause, such as a refused
    /// connection or an unknown host.
    #[error("{}", error_chain(.0))]
    Http(#[from] reqwest::Error),
    /// The response could not be read, or the server did not begin a new session in time.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// [`Authorize`](super::Authorize) failed to provide a token.
    #[error("`ClientOptions::authorization` failed to provide a token: {}", error_chain(&**.0))]
    Authorization(#[source] BoxError),
    /// The HTTP response ended without a JSON-RPC response and could not be resumed, or the connection closed.
    #[error("the stream ended before the response arrived{}", last_event.as_ref().map_or(String::new(), |data| format!("; its last event was: {data}")))]
    NoResponse {
        /// The start of the data of the stream's last event.
        last_event: Option<String>,
    },
    /// The JSON in the HTTP response is not the response to the request.
    #[error("the server's answer is not a response to the request: {}", describe_body(why, body))]
    NotTheResponse {
        /// What is wrong with it.
        why: String,
        /// The start of the body.
        body: String,
    },
    /// The content type of the HTTP response is neither JSON nor an event stream.
    #[error("the server responded with content type {0:?}, which is neither JSON nor an event stream; check the URL")]
    ContentType(String),
    /// The server responded to a GET request with something other than an event stream.
    #[error("the server responded to GET with {status} and content type {content_type:?} instead of an event stream")]
    NotAnEventStream {
        /// The HTTP status.
        status: StatusCode,
        /// The content type. Empty if the response has no such header.
        content_type: String,
    },
    /// The session was lost, and the server chose a different revision for the new one.
    #[error("the session was lost, and the server chose another revision for the new one: {}; connect again", revision(.0.as_ref()))]
    Session(Option<HeaderValue>),
    /// The server lost too many sessions in a row without responding to a request in any of them. The client will begin
    /// another one later; see [`ClientOptions::retry_delay`](super::ClientOptions::retry_delay).
    #[error("the server lost {times} sessions in a row without responding to a request; try again later")]
    SessionLost {
        /// How many sessions were replaced since the last response to a request.
        times: u32,
    },
}

impl HttpError {
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Http(_) => true,
            Self::Status { status, .. } => status.is_server_error(),
            _ => false,
        }
    }
}

fn revision(version: Option<&HeaderValue>) -> String {
    version.map_or_else(|| "none".to_owned(), |version| format!("`{}`", String::from_utf8_lossy(version.as_bytes())))
}

/// Returns what the user can do about a status.
fn remedy(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => {
            " (set `ClientOptions::authorization`, or send a valid token in `ClientOptions::headers`)"
        }
        _ => "",
    }
}

/// Quotes the body, unless it is empty.
fn describe_body(why: &str, body: &str) -> String {
    if body.trim().is_empty() { "the body is empty".to_owned() } else { format!("{why}: {body}") }
}

/// Returns the message of a JSON-RPC error, or the start of the body.
fn error_text(body: &str) -> String {
    let error = scan(body).ok().and_then(|document| match Envelope::read(&document) {
        Ok(Envelope::Error { error, .. }) => Some(error.message),
        _ => None,
    });
    match error.as_deref().unwrap_or(body) {
        "" => String::new(),
        text => format!(": {}", beginning(text.as_bytes())),
    }
}

/// How many bytes are enough to quote the start of a body or an event.
pub(super) const QUOTED: usize = 2048;

/// Returns the first 512 characters of a body or event, on one line.
pub(super) fn beginning(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(QUOTED)]);
    text.chars().take(512).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// Why [`open_sse`](super::open_sse) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenSseError {
    /// The URL is invalid, or the default HTTP client could not be created.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The server could not be reached, or did not respond with an event stream.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The event stream ended or failed before the `endpoint` event.
    #[error("the event stream ended before the `endpoint` event{}; check the URL", .0.as_ref().map_or(String::new(), |error| format!(" ({error})")))]
    Ended(#[source] Option<io::Error>),
    /// No `endpoint` event arrived within [`ClientOptions::send_timeout`](super::ClientOptions::send_timeout).
    #[error(
        "no `endpoint` event within {0:?}; check the URL, or raise `ClientOptions::send_timeout` if the server is slow"
    )]
    Timeout(Duration),
    /// The data of the `endpoint` event is not a URL.
    #[error("the `endpoint` event of the server contains {endpoint:?}, which is not a URL: {source}")]
    Endpoint {
        /// At most the first 512 characters of the data.
        endpoint: String,
        /// The reason.
        source: BoxError,
    },
    /// The `endpoint` event has another origin than the event stream. The client sends nothing there, because messages
    /// may contain credentials.
    #[error(
        "the `endpoint` event of the server contains {endpoint:?}, whose origin is not that of the event stream ({origin}); connect to the origin of the endpoint instead"
    )]
    Origin {
        /// At most the first 512 characters of the data.
        endpoint: String,
        /// The origin of the event stream.
        origin: String,
    },
}

/// Why [`open`](super::open) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The URL is invalid.
    #[error("{url:?} is not a URL ({source}); pass an absolute URL such as `https://example.com/mcp`")]
    Url {
        /// The given URL.
        url: String,
        /// The reason.
        source: BoxError,
    },
    /// The URL's scheme is neither `http` nor `https`.
    #[error("the scheme of the URL {0:?} is not supported; use `http` or `https`")]
    Scheme(String),
    /// The default HTTP client could not be created.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}
