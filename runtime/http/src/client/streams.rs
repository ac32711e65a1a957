//! Event streams: responses to requests, and the session's GET stream.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use mcpgen_runtime::transport::Inbound;
use mcpgen_runtime::util::error_chain;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::backoff;
use super::error::HttpError;
use super::response::{EventStream, check_status, content_type};
use super::state::{SessionHeaders, TransportState};
use crate::headers::LAST_EVENT;

/// How long requests wait for the session's GET stream to open.
const OPENING: Duration = Duration::from_secs(1);

impl TransportState {
    /// Delivers a stream's messages up to the response. If `session` is given, a stream that ends early is resumed
    /// after its last event, unless the session has been replaced.
    ///
    /// # Errors
    ///
    /// Fails if the stream ends before the response and cannot be resumed within
    /// [`ClientOptions::max_retries`](super::ClientOptions::max_retries). A lost session is replaced first.
    pub(super) async fn follow_stream(
        self: &Arc<Self>,
        mut events: EventStream,
        is_response: impl Fn(&mut Inbound) -> bool,
        session: Option<Option<HeaderValue>>,
    ) -> Result<(), HttpError> {
        let mut attempts = 0;
        loop {
            while let Some(mut message) = events.next().await {
                attempts = 0;
                let is_last = is_response(&mut message);
                self.deliver(message).await;
                if is_last {
                    return Ok(());
                }
            }
            let session_headers = self.state().session_headers.clone();
            let is_same = session.as_ref() == Some(&session_headers.session);
            // An event ID without a message is not progress: a server could send those forever.
            let Some(last) = events.last.clone().filter(|_| is_same && attempts < self.options.max_retries) else {
                return Err(HttpError::NoResponse { last_event: events.last_data });
            };
            tokio::time::sleep(backoff::delay(self.base(events.retry), attempts)).await;
            attempts += 1;
            match self.stream(Some(&last), &session_headers).await {
                Ok(again) => {
                    let before = std::mem::replace(&mut events, again);
                    (events.last, events.retry, events.last_data) = (Some(last), before.retry, before.last_data);
                }
                // The next attempt may succeed.
                Err(error) if error.is_transient() => {}
                // The session is lost, and so is the response to the request, which the server may have executed.
                Err(HttpError::Status { status: StatusCode::NOT_FOUND, .. }) if session_headers.session.is_some() => {
                    self.replace_session(&session_headers.session).await?;
                    return Err(HttpError::NoResponse { last_event: events.last_data });
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn base(&self, retry: Option<Duration>) -> Duration {
        backoff::base(retry, self.options.retry_delay)
    }

    /// Opens the session's GET stream, or resumes a stream after its last event.
    async fn stream(&self, last: Option<&str>, session_headers: &SessionHeaders) -> Result<EventStream, HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        if let Some(last) = last {
            let last = HeaderValue::from_bytes(last.as_bytes()).map_err(std::io::Error::other)?;
            headers.insert(LAST_EVENT, last);
        }
        let response = self.send_with(Method::GET, headers, None, session_headers).await?;
        let response = check_status(response).await?;
        let (status, content_type) = (response.status(), content_type(&response));
        let has_body = !matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT);
        match has_body && content_type == "text/event-stream" {
            true => Ok(EventStream::of(response, self.options.max_message_bytes)),
            false => Err(HttpError::NotAnEventStream { status, content_type }),
        }
    }

    /// Opens the session's GET stream, keeps it open until the session is replaced, and closes that of the previous
    /// session. Requests wait up to [`OPENING`] for the stream to open, because the server's messages may be lost
    /// before that.
    pub(super) fn open_get_stream(self: &Arc<Self>) -> BoxFuture<'static, ()> {
        let (this, listening) = (Arc::clone(self), self.closing.child_token());
        let session_headers = {
            let mut state = self.state();
            std::mem::replace(&mut state.listening, listening.clone()).cancel();
            state.session_headers.clone()
        };
        let (on_open, is_opened) = oneshot::channel();
        tokio::spawn(async move {
            tokio::select! {
                () = listening.cancelled() => {}
                ended = this.run_get_stream(session_headers, on_open) => match ended {
                    // The server has no GET stream.
                    Err(HttpError::Status { status: StatusCode::METHOD_NOT_ALLOWED, .. }) | Ok(()) => {}
                    Err(error) => tracing::warn!(error = error_chain(&error), "gave up the stream for messages outside of requests"),
                },
            }
        });
        // A server may send nothing, not even response headers, until it has a message.
        tokio::time::timeout(OPENING, is_opened).map(drop).boxed()
    }

    /// Delivers the messages of the session's stream.
    ///
    /// A stream that has worked is reopened for as long as the session lasts, whatever the server answers except 405,
    /// and a lost session is replaced. Otherwise the client would miss notifications without noticing, because its
    /// requests still succeed. A stream that never worked is reopened at most `ClientOptions::max_retries` times.
    async fn run_get_stream(
        self: &Arc<Self>,
        session_headers: SessionHeaders,
        on_open: oneshot::Sender<()>,
    ) -> Result<(), HttpError> {
        let (mut attempts, mut last, mut retry, mut on_open) = (0_u32, None::<String>, None, Some(on_open));
        let mut worked = false;
        while self.state().session_headers.session == session_headers.session {
            let opened = Instant::now();
            let stream = self.stream(last.as_deref(), &session_headers).await;
            drop(on_open.take());
            match stream {
                Ok(mut events) => {
                    worked = true;
                    while let Some(message) = events.next().await {
                        attempts = 0;
                        self.deliver(message).await;
                    }
                    (last, retry) = (events.last.or(last), events.retry.or(retry));
                }
                // The server no longer has the events after `last`, so start over.
                Err(HttpError::Status { status: StatusCode::BAD_REQUEST, .. }) if last.is_some() => last = None,
                Err(HttpError::Status { status: StatusCode::NOT_FOUND, .. }) if session_headers.session.is_some() => {
                    // A 404 to the first request means that the server has no GET stream, not that the session is lost.
                    if !worked {
                        return Ok(());
                    }
                    if let Err(error) = self.replace_session(&session_headers.session).await {
                        tracing::warn!(error = error_chain(&error), "failed to replace the session; retrying");
                    }
                }
                Err(error @ HttpError::Status { status: StatusCode::METHOD_NOT_ALLOWED, .. }) => return Err(error),
                Err(error) if worked => {
                    tracing::warn!(
                        error = error_chain(&error),
                        "failed to reopen the stream for messages outside of requests; retrying"
                    );
                }
                Err(error) if error.is_transient() && attempts < self.options.max_retries => {}
                Err(error) => return Err(error),
            }
            let base = self.base(retry);
            let (pause, least) = (backoff::delay(base, attempts), backoff::delay(base, 0));
            attempts = attempts.saturating_add(1);
            // The pause counts from the previous attempt, so a stream that was idle for longer is reopened soon.
            tokio::time::sleep(pause.saturating_sub(opened.elapsed()).max(least)).await;
        }
        Ok(())
    }
}
