//! Settings of an HTTP client connection.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use derive_setters::Setters;
use futures_util::future::BoxFuture;
use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mcpgen_runtime::transport::lines;
use tower::BoxError;

/// Settings of an HTTP client connection.
#[derive(Clone, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct ClientOptions {
    /// The reqwest client. Set it to configure proxies, certificates, redirects and timeouts.
    ///
    /// The default client has no timeout except 30 seconds for connecting. It follows redirects only with status 307 or
    /// 308, and only within an origin or from http to https on the same host. It uses rustls with the system's trusted
    /// certificates, and installs ring as the process's crypto provider for rustls if there is none.
    #[setters(strip_option)]
    pub client: Option<reqwest::Client>,
    /// Headers to send with each request.
    pub headers: HeaderMap,
    /// Provides `Authorization` and other headers that authorize requests.
    #[setters(strip_option)]
    pub authorization: Option<Arc<dyn Authorize>>,
    /// How many requests may be in flight; further ones wait. `subscriptions/listen` does not count. Defaults to 256.
    pub requests: usize,
    /// Maximum size of a received message in bytes. Defaults to 64 MiB.
    pub max_message_bytes: usize,
    /// How many times a stream that ended is reopened before the client gives up. Only a message resets the count, not
    /// a new event ID or a stream that merely opens and ends. Defaults to 5.
    ///
    /// Once the session's GET stream has worked, it is reopened for as long as the session lasts.
    ///
    /// A message that gets 503 with `Retry-After` is sent again up to this many times, within 30 seconds. The response
    /// says that the server did not handle the message, so even tool calls are repeated.
    pub max_retries: u32,
    /// The first pause before a stream is reopened, unless the server sends `retry`. Doubles with each attempt, up to
    /// 64 times this value. Defaults to 1 second.
    ///
    /// A `retry` below 100 ms counts as 100 ms. A pause is at most five minutes, plus up to an eighth at random.
    ///
    /// Lost sessions are replaced with the same pauses, except that the first is replaced at once. After five
    /// replacements without a response to a request, requests fail with [`SessionLost`](super::HttpError::SessionLost),
    /// and one more session is begun after each pause.
    pub retry_delay: Duration,
    /// How long the server may take to accept a notification or a response, to begin a new session in place of a lost
    /// one, or to end a session (at most 5 seconds). After the connection closes, queued messages are still sent for
    /// this long. Defaults to 30 seconds.
    ///
    /// Requests do not wait for queued messages. Notifications are sent in order, with at most 1,024 messages and 8 MiB
    /// queued. Cancellations and responses to the server's requests are sent concurrently, at most 1,024 messages and
    /// 64 MiB at a time. Messages beyond these limits are dropped with a warning.
    pub send_timeout: Duration,
    /// Called when a lost session was replaced. The new one has none of the old one's state, so use this to restore
    /// yours. The client itself restores the log level and the subscriptions of
    /// [`changes`](mcpgen_mcp::Client::changes).
    #[setters(strip_option)]
    pub on_new_session: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            client: None,
            headers: HeaderMap::new(),
            authorization: None,
            requests: 256,
            max_message_bytes: lines::DEFAULT_LINE_LIMIT,
            max_retries: 5,
            retry_delay: Duration::from_secs(1),
            send_timeout: Duration::from_secs(30),
            on_new_session: None,
        }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientOptions").field("requests", &self.requests).finish_non_exhaustive()
    }
}

/// Provides headers that authorize requests, such as `Authorization` and `DPoP`.
pub trait Authorize: Send + Sync + 'static {
    /// Returns the headers that authorize a request, or `None` to send it without authorization.
    ///
    /// If the server responds with 401 or 403, this is called again with [`AuthorizeRequest::refused`], up to three
    /// times per request. Return `None` to give up; the request then fails with the server's status.
    ///
    /// # Errors
    ///
    /// Return an error if no token is available. The request fails with [`super::HttpError::Authorization`].
    fn authorize<'a>(&'a self, request: AuthorizeRequest<'a>) -> BoxFuture<'a, Result<Option<HeaderMap>, BoxError>>;

    /// Returns how long [`authorize`](Self::authorize) may wait for a user to log in.
    /// [`connect_http`](super::ConnectHttp::connect_http) allows that much more time for the handshake. Zero by
    /// default.
    fn login_timeout(&self) -> Duration {
        Duration::ZERO
    }

    /// Called with the headers of each response, except those that [`authorize`](Self::authorize) receives as a
    /// challenge. Use it to remember headers such as `DPoP-Nonce`. Does nothing by default.
    fn on_response(&self, url: &reqwest::Url, headers: &HeaderMap) {
        let _ = (url, headers);
    }
}

/// A request to authorize.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct AuthorizeRequest<'a> {
    /// The HTTP method.
    pub method: &'a Method,
    /// The URL.
    pub url: &'a reqwest::Url,
    /// The server's response to the previous attempt at this request. `None` for the first attempt.
    pub refused: Option<&'a Challenge>,
}

impl<'a> AuthorizeRequest<'a> {
    /// Creates a request to authorize.
    #[must_use]
    pub fn new(method: &'a Method, url: &'a reqwest::Url, refused: Option<&'a Challenge>) -> Self {
        Self { method, url, refused }
    }
}

/// The server's response to an unauthorized request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Challenge {
    /// The status: 401 or 403.
    pub status: StatusCode,
    /// The headers of the response.
    pub headers: HeaderMap,
    /// The `Authorization` header of the refused request.
    pub authorization: Option<HeaderValue>,
}

impl Challenge {
    /// Creates a challenge.
    #[must_use]
    pub fn new(status: StatusCode, headers: HeaderMap, authorization: Option<HeaderValue>) -> Self {
        Self { status, headers, authorization }
    }

    /// Returns the values of `WWW-Authenticate`.
    pub fn www_authenticate(&self) -> impl Iterator<Item = &HeaderValue> {
        self.headers.get_all(WWW_AUTHENTICATE).iter()
    }
}
