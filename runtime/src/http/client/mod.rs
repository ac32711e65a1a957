//! The client side of Streamable HTTP.
//!
//! ```no_run
//! use mcpgen_runtime::Client;
//! use mcpgen_runtime::http::client::Options;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::builder("visitor", "1.0.0").connect_http("https://example.com/mcp", Options::default()).await?;
//! println!("{:?}", client.tools().await?);
//! # Ok(())
//! # }
//! ```
//!
//! With a server that keeps sessions, all messages belong to one session. If the session is lost, the client begins a
//! new one. A session is lost when the server responds with 404 to a message, or to reopening a GET stream that had
//! worked. A 404 to the first attempt to open the GET stream means, like 405, that the server has none.
//!
//! With a server of revision 2026-07-28, the client sets the headers that repeat parts of each request.

mod backoff;
mod driver;
mod reply;
mod session;
mod streams;
mod unsent;

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::{Sink, stream};
use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::PollSender;
use tower::BoxError;

use self::driver::Driver;
use crate::transport::{Incoming, Outgoing, lines};

/// Settings of an HTTP client connection.
#[derive(Clone)]
pub struct Options {
    /// The reqwest client that sends the requests. Set it to configure proxies, certificates, redirects and timeouts.
    ///
    /// The default client has no timeout except 30 s for connecting. It follows redirects only with status 307 or 308,
    /// and only to the same origin or from http to https on the same host. It uses rustls with the certificates that
    /// the system trusts, and installs ring as the process's crypto provider for rustls if none is installed.
    pub client: Option<reqwest::Client>,
    /// Headers to send with each request.
    pub headers: HeaderMap,
    /// Provides the `Authorization` header of each request.
    pub authorization: Option<Arc<dyn Authorize>>,
    /// The maximum number of concurrent requests. Further requests wait. `subscriptions/listen` does not count.
    /// Default: 256.
    pub requests: usize,
    /// The maximum bytes of a received message. Default: 64 MiB.
    pub longest: usize,
    /// How often a stream that ended is reopened before the client gives it up. Only a message resets the count: a new
    /// event ID does not, nor does a stream that opens and ends. Default: 5.
    ///
    /// The session's GET stream is reopened for as long as the session lasts, once it has worked.
    pub attempts: u32,
    /// The first pause before a stream is reopened, unless the server sends `retry`. It doubles with each attempt, up
    /// to 64 times. Default: 1 s.
    ///
    /// A `retry` below 100 ms counts as 100 ms. A pause is at most five minutes, plus up to an eighth at random.
    ///
    /// Restarts of lost sessions use the same pauses, except that the first lost session is replaced at once. After
    /// five restarts without a response to a request, requests fail with [`SessionLost`](HttpError::SessionLost), and
    /// one more session is begun after each pause.
    pub pause: Duration,
    /// The timeout for the server to accept a notification or a response, to begin a new session in place of a lost
    /// one, or to end a session (at most 5 s). When the connection closes, queued messages are still sent within this
    /// time. Default: 30 s.
    ///
    /// Requests do not wait for queued messages. Notifications are sent in order, with at most 1,024 messages and 8 MiB
    /// queued. Cancellations and responses to the server's requests are sent concurrently, at most 1,024 messages and
    /// 64 MiB at a time. Messages beyond these limits are dropped with a warning.
    pub patience: Duration,
    /// Called when a lost session has been replaced by a new one. The new session has none of the old one's state, so
    /// use this to send subscriptions and the log level again.
    pub on_new_session: Option<Arc<dyn Fn() + Send + Sync>>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            client: None,
            headers: HeaderMap::new(),
            authorization: None,
            requests: 256,
            longest: lines::LONGEST,
            attempts: 5,
            pause: Duration::from_secs(1),
            patience: Duration::from_secs(30),
            on_new_session: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("requests", &self.requests).finish_non_exhaustive()
    }
}

/// Provides the `Authorization` header of requests.
pub trait Authorize: Send + Sync + 'static {
    /// Returns the value of `Authorization` for a request, such as `Bearer …`, or `None` to send no header.
    ///
    /// If the server responds with 401 or 403, this is called again with the server's challenge, up to three times per
    /// request. Return `None` to give up; the request then fails with the server's status.
    ///
    /// # Errors
    ///
    /// Return an error if no token is available. The request fails with [`HttpError::Authorization`].
    fn authorize<'a>(&'a self, refused: Option<&'a Challenge>) -> BoxFuture<'a, Result<Option<HeaderValue>, BoxError>>;
}

/// The server's response to an unauthorized request.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// The status: 401 or 403.
    pub status: StatusCode,
    /// The values of `WWW-Authenticate`.
    pub challenges: Vec<HeaderValue>,
}

/// An error that made an HTTP request fail.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The server responded with an error status and no JSON-RPC message.
    #[error("the server responded with {status}{}{}", if body.is_empty() { "" } else { ": " }, beginning(body))]
    Status {
        /// The HTTP status.
        status: StatusCode,
        /// The response body. Empty if it is longer than 64 KiB or cannot be read.
        body: String,
    },
    /// The server could not be reached, or the connection failed.
    #[error("{}", chain(.0))]
    Http(reqwest::Error),
    /// The response could not be read, or the server did not begin a new session in time.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// [`Authorize`] failed to provide a token.
    #[error("not authorized: {0}")]
    Authorization(BoxError),
    /// The HTTP response ended without a JSON-RPC response and could not be resumed, or the connection closed.
    #[error("the stream ended before the response arrived")]
    NoAnswer,
    /// The content type of the HTTP response is neither JSON nor an event stream.
    #[error("the server responded with content type {0:?}, which is neither JSON nor an event stream")]
    ContentType(String),
    /// The session was lost, and the server chose a different revision for the new one.
    #[error("the session was lost, and the server chose another revision for the new one: {0:?}")]
    Session(Option<HeaderValue>),
    /// The server lost too many sessions in a row without responding to a request in any of them. The client begins
    /// another session later: see [`Options::pause`].
    #[error("the server lost {times} sessions in a row without responding to a request; try again later")]
    SessionLost {
        /// The number of sessions that were replaced since the last response to a request.
        times: u32,
    },
}

/// Returns the first 512 characters of an error body, on one line.
fn beginning(body: &str) -> String {
    body.chars().take(512).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// Not `#[from]`: the message already contains all causes, so they must not be a `source` too.
impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error)
    }
}

/// Formats an error with all its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// An error from [`open`].
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is invalid.
    #[error("invalid server URL {url:?}: {why}")]
    Url {
        /// The given URL.
        url: String,
        /// Why the URL is invalid.
        why: String,
    },
    /// The default HTTP client could not be created.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// Opens a connection to the server at this URL, and returns its two halves. Sends nothing yet.
///
/// # Errors
///
/// Fails if the URL is invalid or its scheme is neither `http` nor `https`, or if the default HTTP client cannot be
/// created.
///
/// # Panics
///
/// Panics if called outside of a Tokio runtime.
pub fn open(url: &str, options: Options) -> Result<(impl Incoming, impl Outgoing), OpenError> {
    let wrong = |why: &dyn fmt::Display| OpenError::Url { url: url.to_owned(), why: why.to_string() };
    let parsed: reqwest::Url = url.parse().map_err(|why| wrong(&why))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong(&"the scheme must be `http` or `https`"));
    }
    let client = match &options.client {
        Some(client) => client.clone(),
        None => {
            if rustls::crypto::CryptoProvider::get_default().is_none() {
                // Fails if another thread has just installed a provider, which is fine.
                let _ = rustls::crypto::ring::default_provider().install_default();
            }
            let redirects = reqwest::redirect::Policy::custom(redirect);
            reqwest::Client::builder().connect_timeout(Duration::from_secs(30)).redirect(redirects).build()?
        }
    };
    let (arrive, mut arrived) = mpsc::channel(64);
    let (queue, queued) = mpsc::channel(1);
    let (driver, notifications) = Driver::new(parsed, client, options, arrive);
    let driver = tokio::spawn(driver.run(queued, notifications));
    let incoming = stream::poll_fn(move |context| arrived.poll_recv(context));
    Ok((incoming, HttpSink { queue: PollSender::new(queue), driver }))
}

/// Follows redirects only within one server, and never from https to http, because requests carry credentials.
fn redirect(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let Some(before) = attempt.previous().last() else { return attempt.follow() };
    let next = attempt.url();
    let is_upgrade = before.scheme() == "http" && next.scheme() == "https" && before.host() == next.host();
    let keeps_body = matches!(attempt.status().as_u16(), 307 | 308);
    match keeps_body && attempt.previous().len() < 5 && (before.origin() == next.origin() || is_upgrade) {
        true => attempt.follow(),
        false => attempt.stop(),
    }
}

/// Sends outgoing messages to the driver. Closing it waits until the driver has ended the session.
struct HttpSink {
    queue: PollSender<Vec<u8>>,
    driver: JoinHandle<()>,
}

impl Sink<Vec<u8>> for HttpSink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.queue.poll_reserve(context).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn start_send(mut self: Pin<&mut Self>, message: Vec<u8>) -> io::Result<()> {
        self.queue.send_item(message).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.queue.close();
        let ended = ready!(Pin::new(&mut self.driver).poll(context));
        Poll::Ready(ended.map_err(io::Error::other))
    }
}
