//! A user agent for programs on the user's machine, which receives the response on the loopback interface.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, Either, select};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::BoxError;
use url::Url;

use super::user_agent::{AuthorizationRequest, PendingLogin, UserAgent};

/// The path of the redirect URI.
const PATH: &str = "/callback";

/// Maximum size of a request's head in bytes.
const LONGEST: usize = 16 << 10;

/// How many forged responses are tolerated. Any page that the user visits can send some, but nobody sends this many by
/// accident.
const MAX_FORGED: usize = 1000;

/// The last page that the user sees.
const PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Signed in</title>\
    <body style=\"font-family:sans-serif;margin:4em\"><h1>You can close this page</h1>\
    <p>The application has received the response and continues.</p></body></html>";

/// The page for a response that belongs to another login.
const FORGED_PAGE: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Not signed in</title>\
    <body style=\"font-family:sans-serif;margin:4em\"><h1>This response was ignored</h1>\
    <p>It does not belong to the login that the application waits for. Continue in the page that the application has \
    opened.</p></body></html>";

/// Shows the authorization URL to the user, and listens on the loopback interface for the response.
///
/// Each login listens on a random port on `127.0.0.1`, and on `[::1]` if available, and accepts one response. Forged
/// responses, which fail [`AuthorizationRequest::check`], get an error page, and the login continues.
#[derive(Clone)]
pub struct Loopback {
    open: Arc<Open>,
    port: u16,
    timeout: Duration,
}

type Open = dyn Fn(&Url) -> Result<(), BoxError> + Send + Sync;

impl Loopback {
    /// `open` shows the authorization URL to the user, for example in a browser.
    pub fn new(open: impl Fn(&Url) -> Result<(), BoxError> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), port: 0, timeout: Duration::from_secs(300) }
    }

    /// Opens the authorization URL in the user's browser.
    #[cfg(feature = "browser")]
    #[must_use]
    pub fn browser() -> Self {
        Self::new(|url| Ok(open::that_detached(url.as_str())?))
    }

    /// Listens on a fixed port, for authorization servers that require one. Defaults to a random port.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Sets how long to wait for the response. Defaults to five minutes.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }
}

impl UserAgent for Loopback {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingLogin>, BoxError>> {
        Box::pin(async move {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, self.port)).await?;
            let port = listener.local_addr()?.port();
            // A browser may resolve `localhost` to either address. Binding fails on machines without IPv6.
            let second = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.ok();
            Ok(Box::new(Listening { agent: self.clone(), listener, second, port }) as Box<dyn PendingLogin>)
        })
    }

    fn timeout(&self) -> Duration {
        self.timeout
    }
}

impl fmt::Debug for Loopback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loopback").field("port", &self.port).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

struct Listening {
    agent: Loopback,
    listener: TcpListener,
    second: Option<TcpListener>,
    port: u16,
}

impl PendingLogin for Listening {
    fn redirect_uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    fn log_in(self: Box<Self>, request: AuthorizationRequest) -> BoxFuture<'static, Result<Url, BoxError>> {
        Box::pin(async move {
            (self.agent.open)(request.url())?;
            let response = tokio::time::timeout(self.agent.timeout, self.response(&request)).await;
            response.map_err(|_| format!("no response within {:?}; log in again", self.agent.timeout))?
        })
    }
}

impl Listening {
    /// Waits for the authorization response. Responds with 404 to requests for anything else, such as an icon.
    async fn response(&self, request: &AuthorizationRequest) -> Result<Url, BoxError> {
        let mut forged = 0;
        loop {
            let mut stream = self.accept().await?;
            // A client that sends nothing must not block the login.
            let target = tokio::time::timeout(Duration::from_secs(5), read_target(&mut stream)).await;
            let url = target.ok().and_then(Result::ok).flatten().and_then(|target| self.url(&target));
            let checked = url.map(|url| request.check(&url).map(|()| url));
            let (status, page) = match &checked {
                Some(Ok(_)) => ("200 OK", PAGE),
                Some(Err(_)) => ("400 Bad Request", FORGED_PAGE),
                None => ("404 Not Found", ""),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
                 cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{page}",
                page.len()
            );
            let _ = tokio::time::timeout(Duration::from_secs(5), stream.write_all(head.as_bytes())).await;
            let _ = stream.shutdown().await;
            match checked {
                Some(Ok(url)) => return Ok(url),
                Some(Err(error)) if forged == MAX_FORGED => return Err(error.into()),
                Some(Err(error)) => {
                    forged += 1;
                    tracing::warn!(%error, "ignored an authorization response");
                }
                None => {}
            }
        }
    }

    async fn accept(&self) -> io::Result<TcpStream> {
        let Some(second) = &self.second else { return Ok(self.listener.accept().await?.0) };
        let (first, second) = (std::pin::pin!(self.listener.accept()), std::pin::pin!(second.accept()));
        match select(first, second).await {
            Either::Left((accepted, _)) | Either::Right((accepted, _)) => Ok(accepted?.0),
        }
    }

    /// Returns the full URL if `target` is the redirect URI with a response.
    fn url(&self, target: &str) -> Option<Url> {
        let url = Url::parse(&format!("http://127.0.0.1:{}", self.port)).ok()?.join(target).ok()?;
        let is_response = url.query_pairs().any(|(name, _)| matches!(&*name, "code" | "error"));
        (url.path() == PATH && target.starts_with('/') && is_response).then_some(url)
    }
}

async fn read_target(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > LONGEST || stream.read_buf(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let line = String::from_utf8_lossy(&head);
    let mut words = line.lines().next().unwrap_or_default().split(' ');
    Ok((words.next() == Some("GET")).then(|| words.next().map(ToOwned::to_owned)).flatten())
}
