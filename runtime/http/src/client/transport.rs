//! Opens a connection: a stream and a sink in front of the [`Driver`].

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::{Sink, stream};
use mcpgen_runtime::transport::{Inbound, Incoming, Outbound, Outgoing, ReceiveError};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::PollSender;

use super::driver::Driver;
use super::error::OpenError;
use super::options::ClientOptions;
use super::queue::Notifications;

/// Opens a connection to the server at this URL and returns its two halves. Sends nothing yet.
///
/// # Errors
///
/// Fails if the URL is invalid or its scheme is neither `http` nor `https`, or if the default HTTP client cannot be
/// created.
///
/// # Panics
///
/// Panics if called outside of a Tokio runtime.
pub fn open(url: &str, options: ClientOptions) -> Result<(impl Incoming, impl Outgoing), OpenError> {
    let (url, client) = prepare(url, &options)?;
    let (incoming, arrived) = mpsc::channel(64);
    let (driver, notifications) = Driver::new(url, client, options, false, incoming);
    Ok(start(driver, notifications, arrived))
}

/// Parses a URL, and finds or creates the HTTP client.
pub(super) fn prepare(url: &str, options: &ClientOptions) -> Result<(reqwest::Url, reqwest::Client), OpenError> {
    let parsed =
        reqwest::Url::parse(url).map_err(|error| OpenError::Url { url: url.to_owned(), source: error.into() })?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(OpenError::Scheme(url.to_owned()));
    }
    let client = match &options.client {
        Some(client) => client.clone(),
        None => {
            if rustls::crypto::CryptoProvider::get_default().is_none() {
                // Fails if another thread has just installed a provider.
                let _ = rustls::crypto::ring::default_provider().install_default();
            }
            let redirects = reqwest::redirect::Policy::custom(redirect);
            reqwest::Client::builder().connect_timeout(Duration::from_secs(30)).redirect(redirects).build()?
        }
    };
    Ok((parsed, client))
}

pub(super) fn start(
    driver: Driver,
    notifications: Notifications,
    mut arrived: mpsc::Receiver<Result<Inbound, ReceiveError>>,
) -> (impl Incoming + use<>, impl Outgoing + use<>) {
    let (queue, queued) = mpsc::channel(1);
    let driver = tokio::spawn(driver.run(queued, notifications));
    let incoming = stream::poll_fn(move |context| arrived.poll_recv(context));
    (incoming, HttpSink { queue: PollSender::new(queue), driver })
}

/// Redirects stay within one server, and never go from https to http, because requests carry credentials.
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

/// Hands messages to the driver. Closing this sink waits until the driver has ended the session.
struct HttpSink {
    queue: PollSender<Outbound>,
    driver: JoinHandle<()>,
}

impl Sink<Outbound> for HttpSink {
    type Error = io::Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.queue.poll_reserve(context).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn start_send(mut self: Pin<&mut Self>, message: Outbound) -> io::Result<()> {
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

impl Outgoing for HttpSink {
    fn needs_metadata(&self) -> bool {
        true
    }
}
