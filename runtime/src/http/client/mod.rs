//! The client's side of Streamable HTTP.
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
//! What is sent to a server that keeps sessions goes to the session; when that is lost, a new one is begun. A session is lost
//! when the server answers a message with 404, or the reopening of a stream that had worked. A 404 to the first attempt to
//! open a stream means, like 405, that the server has none. What a server of
//! 2026-07-28 wants to have in headers is put there.

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

/// How a client reaches a server.
#[derive(Clone)]
pub struct Options {
    /// What sends the requests: with proxies, certificates, redirects and time limits of your own. Without it one is made that
    /// has no time limit but for connecting, follows redirects within the same host only, and has rustls with the
    /// certificates that the system trusts; if the process has installed no cryptography for rustls by then, ring is.
    pub client: Option<reqwest::Client>,
    /// Headers of each request.
    pub headers: HeaderMap,
    /// Asked for the header `Authorization` of each request.
    pub authorization: Option<Arc<dyn Authorize>>,
    /// Requests at a time; more wait. Those that last (`subscriptions/listen`) are not counted.
    pub requests: usize,
    /// Bytes of a message.
    pub longest: usize,
    /// How often a stream that ended is reopened before it is given up. Only a message starts the count again: an event ID
    /// does not, nor does a stream that opens and ends. Default: 5.
    ///
    /// The session's GET stream is reopened for as long as the session lasts, once it has worked.
    pub attempts: u32,
    /// The first pause before a stream is reopened, unless the server sends `retry`. It doubles with each attempt, up to 64
    /// times. Default: 1 s.
    ///
    /// A `retry` counts as at least 100 ms. No pause is longer than five minutes, but for up to an eighth that is added at
    /// random.
    ///
    /// The pauses between sessions that are lost in a row are the same. The first lost session is replaced at once. After
    /// five without a request answered in between, requests fail with [`SessionLost`](HttpError::SessionLost), and one more
    /// session is begun after each pause.
    pub pause: Duration,
    /// How long a server may take to accept a notification or a response, to begin a new session in place of a lost one, or
    /// to end one. When the connection closes, the messages that wait are still sent within this time. Default: 30 s.
    ///
    /// Requests do not wait for these messages. Notifications wait in order, at most 1,024 and 8 MiB of them; answers to
    /// the server's requests are sent independently, at most 1,024 and 64 MiB at a time. Messages beyond are dropped with a
    /// warning.
    pub patience: Duration,
    /// Called when a session that was lost has been replaced by a new one: what was said in the old one once for all, such as
    /// subscriptions and the level of events, has to be said again.
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

/// Gives tokens to requests.
pub trait Authorize: Send + Sync + 'static {
    /// The value of `Authorization` for a request, such as `Bearer …`; `None` to send none. It is asked for again, with what
    /// the server said, when that answers 401 or 403; `None` gives up then.
    ///
    /// # Errors
    ///
    /// There is no token to be had: the request fails with it.
    fn authorize<'a>(&'a self, refused: Option<&'a Challenge>) -> BoxFuture<'a, Result<Option<HeaderValue>, BoxError>>;
}

/// What a server says to a request that it does not authorize.
#[derive(Clone, Debug)]
pub struct Challenge {
    /// 401 or 403.
    pub status: StatusCode,
    /// The values of `WWW-Authenticate`.
    pub challenges: Vec<HeaderValue>,
}

/// Why a request over HTTP came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The server answered with a status that is no success, and with no message.
    #[error("the server answers {status}{}{}", if body.is_empty() { "" } else { ": " }, beginning(body))]
    Status {
        /// The status.
        status: StatusCode,
        /// What it says.
        body: String,
    },
    /// The server could not be reached, or the connection broke.
    #[error("{}", chain(.0))]
    Http(reqwest::Error),
    /// The answer could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is no token to be had.
    #[error("not authorized: {0}")]
    Authorization(BoxError),
    /// The stream ended before there was an answer, and could not be come back to.
    #[error("the stream ended before there was an answer")]
    NoAnswer,
    /// The response is neither JSON nor a stream of events.
    #[error("the server answers with {0:?}, which is neither JSON nor a stream of events")]
    ContentType(String),
    /// The session was lost, and a new one could not be begun.
    #[error("the session has ended, and in a new one the server agrees on another revision: {0:?}")]
    Session(Option<HeaderValue>),
    /// The server lost too many sessions in a row without answering a request in any of them. A new one is begun later, see
    /// [`Options::pause`].
    #[error("the server lost {times} sessions in a row without answering a request; a new one is begun later")]
    SessionLost {
        /// How many sessions were replaced since a request was last answered.
        times: u32,
    },
}

/// As much of a refusal as people want to see, on one line.
fn beginning(body: &str) -> String {
    body.chars().take(512).map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// All that caused it is said already.
impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(error)
    }
}

/// An error with all that caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Why there is no way to a server.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is no address of a place of the web.
    #[error("{url:?} is no address of a server: {why}")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// There is no client for HTTP to be had.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// The two halves of a connection to the server at this address. Nothing is sent yet. To be called within a runtime.
///
/// # Errors
///
/// It is no address, or there is no client for HTTP to be had.
pub fn open(url: &str, options: Options) -> Result<(impl Incoming, impl Outgoing), OpenError> {
    let wrong = |why: &dyn fmt::Display| OpenError::Url { url: url.to_owned(), why: why.to_string() };
    let parsed: reqwest::Url = url.parse().map_err(|why| wrong(&why))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong(&"it is neither of http nor of https"));
    }
    let client = match &options.client {
        Some(client) => client.clone(),
        None => {
            if rustls::crypto::CryptoProvider::get_default().is_none() {
                // Somebody else may have done it in this moment.
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

/// What is sent is meant for one server: nobody else gets it, and not in the open if it was not.
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

/// Where messages leave. Closed when the session has ended.
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
