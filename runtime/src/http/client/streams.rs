//! Event streams: the response to a request, and the session's GET stream.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::driver::{Shared, Under, is_passing, succeeded};
use super::reply::{EventStream, Reply};
use super::{HttpError, backoff};
use crate::http::headers::LAST_EVENT;

/// How long requests wait for the session's GET stream to open.
const OPENING: Duration = Duration::from_secs(1);

impl Shared {
    /// Delivers the messages of a stream up to and including the response. If `session` is given, a stream that ends
    /// early is resumed after its last event, as long as that session is current.
    ///
    /// # Errors
    ///
    /// Fails if the stream ends before the response and cannot be resumed within
    /// [`Options::attempts`](super::Options::attempts).
    pub(super) async fn follow(
        &self,
        mut events: EventStream,
        answers: impl Fn(&[u8]) -> bool,
        session: Option<Option<HeaderValue>>,
    ) -> Result<(), HttpError> {
        let mut attempts = 0;
        loop {
            while let Some(message) = events.next().await {
                attempts = 0;
                let is_last = answers(&message);
                self.deliver(message).await;
                if is_last {
                    return Ok(());
                }
            }
            let under = self.state().under.clone();
            let is_same = session.as_ref() == Some(&under.session);
            // A new event ID without a message is no progress: a server could send such events forever.
            let Some(last) = events.last.clone().filter(|_| is_same && attempts < self.options.attempts) else {
                return Err(HttpError::NoAnswer);
            };
            tokio::time::sleep(backoff::delay(self.base(events.retry), attempts)).await;
            attempts += 1;
            match self.stream(Some(&last), &under).await {
                Ok(again) => {
                    let retry = events.retry;
                    events = again;
                    (events.last, events.retry) = (Some(last), retry);
                }
                // The next attempt may succeed.
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn base(&self, retry: Option<Duration>) -> Duration {
        backoff::base(retry, self.options.pause)
    }

    /// Opens the session's GET stream, or resumes a stream after its last event.
    async fn stream(&self, last: Option<&str>, under: &Under) -> Result<EventStream, HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last {
            let last = HeaderValue::from_bytes(last.as_bytes()).map_err(std::io::Error::other)?;
            headers.insert(LAST_EVENT, last);
        }
        let response = self.send_with(Method::GET, headers, None, under).await?;
        match Reply::of(succeeded(response).await?, self.options.longest).await? {
            Reply::Events(events) => Ok(events),
            _ => Err(HttpError::ContentType(String::new())),
        }
    }

    /// Opens the session's GET stream and keeps it open until the session is replaced. Closes the stream of the
    /// previous session. The stream is opened before any request is sent, because messages that the server sends
    /// without it may be lost.
    pub(super) fn listen(self: &Arc<Self>) -> BoxFuture<'static, ()> {
        let (this, listening) = (Arc::clone(self), self.closing.child_token());
        let under = {
            let mut state = self.state();
            std::mem::replace(&mut state.listening, listening.clone()).cancel();
            state.under.clone()
        };
        let (begun, is_begun) = oneshot::channel();
        tokio::spawn(async move {
            tokio::select! {
                () = listening.cancelled() => {}
                ended = this.hear(under, begun) => match ended {
                    // The server has no GET stream.
                    Err(HttpError::Status { status: StatusCode::METHOD_NOT_ALLOWED, .. }) | Ok(()) => {}
                    Err(error) => tracing::warn!(%error, "gave up the stream for messages outside of requests"),
                },
            }
        });
        // A server may not even send response headers before it has a message to send.
        tokio::time::timeout(OPENING, is_begun).map(drop).boxed()
    }

    /// Delivers the messages of the session's stream.
    ///
    /// A stream that has worked is reopened for as long as the session lasts. Without it the client would receive no
    /// more notifications although its requests still succeed. A stream that never worked is given up after
    /// `Options::attempts`.
    async fn hear(self: &Arc<Self>, under: Under, begun: oneshot::Sender<()>) -> Result<(), HttpError> {
        let (mut attempts, mut last, mut retry, mut begun) = (0_u32, None::<String>, None, Some(begun));
        let mut worked = false;
        while self.state().under.session == under.session {
            let opened = Instant::now();
            let stream = self.stream(last.as_deref(), &under).await;
            drop(begun.take());
            match stream {
                Ok(mut events) => {
                    worked = true;
                    while let Some(message) = events.next().await {
                        attempts = 0;
                        self.deliver(message).await;
                    }
                    (last, retry) = (events.last.or(last), events.retry.or(retry));
                }
                // The server no longer retains the events after `last`. Open a new stream instead.
                Err(HttpError::Status { status: StatusCode::BAD_REQUEST, .. }) if last.is_some() => last = None,
                Err(HttpError::Status { status: StatusCode::NOT_FOUND, .. }) if under.session.is_some() => {
                    // A 404 to the first request means that the server has no GET stream, not that the session is lost.
                    return if worked { self.begin_again(&under.session).await } else { Ok(()) };
                }
                Err(error) if is_passing(&error) && (worked || attempts < self.options.attempts) => {}
                Err(error) => return Err(error),
            }
            let base = self.base(retry);
            let (pause, least) = (backoff::delay(base, attempts), backoff::delay(base, 0));
            attempts = attempts.saturating_add(1);
            // The pause counts from the previous attempt, so an idle stream that stayed open for longer is reopened
            // soon.
            tokio::time::sleep(pause.saturating_sub(opened.elapsed()).max(least)).await;
        }
        Ok(())
    }
}
