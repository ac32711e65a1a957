//! Begins sessions, replaces lost ones, and ends them.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method};
use mcpgen_runtime::transport::Inbound;
use mcpgen_runtime::util::error_chain;
use tokio::time::Instant;

use super::error::HttpError;
use super::message::OutgoingMessage;
use super::response::{ResponseBody, check_status, negotiated_version, read_result};
use super::state::{SessionHeaders, TransportState};
use crate::headers::SESSION;

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// How long a new session waits for its log level. If the server does not set it, the session is used anyway.
const SET_LEVEL: Duration = Duration::from_secs(5);

/// The messages with which a session begins.
struct FirstMessages {
    initialize: Arc<OutgoingMessage>,
    set_level: Option<Arc<OutgoingMessage>>,
}

impl TransportState {
    /// Replaces a lost session, unless another task has done so.
    ///
    /// Continues even if the caller is dropped, so that no unknown session is left on the server.
    pub(super) async fn replace_session(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let (this, lost) = (Arc::clone(self), lost.clone());
        tokio::spawn(async move { this.replace(&lost).await }).await.map_err(std::io::Error::other)?
    }

    /// Replaces a lost session. Nothing else is sent in the new one until its handshake is complete.
    async fn replace(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let _one = self.replacing.lock().await;
        let (first, session_headers, wait) = {
            let mut state = self.state();
            let Some(initialize) = state.initialize.clone().filter(|_| state.session_headers.session == *lost) else {
                return Ok(());
            };
            let first = FirstMessages { initialize, set_level: state.set_level.clone() };
            (first, state.session_headers.clone(), state.restarts.next(self.options.retry_delay, Instant::now())?)
        };
        tracing::warn!(?wait, "the session was lost; beginning a new one");
        let begun = self.begin(&first, &session_headers, wait).await?;
        self.state().session_headers = begun;
        self.open_get_stream().await;
        if let Some(on_new_session) = &self.options.on_new_session {
            on_new_session();
        }
        Ok(())
    }

    /// Begins a session after a pause, with the previous one's revision. Ends the new one if the handshake fails or
    /// exceeds [`ClientOptions::send_timeout`](super::ClientOptions::send_timeout), or if the connection closes
    /// meanwhile.
    async fn begin(
        &self,
        first: &FirstMessages,
        before: &SessionHeaders,
        pause: Duration,
    ) -> Result<SessionHeaders, HttpError> {
        let mut begun = SessionHeaders::default();
        let ready = async {
            tokio::time::sleep(pause).await;
            // All requests wait for the new session, so limit the time.
            let ready = tokio::time::timeout(self.options.send_timeout, self.handshake(first, before, &mut begun));
            let late = "timed out waiting for the server to begin a session";
            ready.await.map_err(|_| std::io::Error::new(std::io::ErrorKind::TimedOut, late))?
        };
        let ready = tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(HttpError::NoResponse { last_event: None }),
            ready = ready => ready,
        };
        match ready {
            Ok(()) => Ok(begun),
            Err(error) => {
                self.delete_session(&begun).await;
                Err(error)
            }
        }
    }

    /// Sends `initialize`, `notifications/initialized`, and the log level.
    async fn handshake(
        &self,
        first: &FirstMessages,
        before: &SessionHeaders,
        begun: &mut SessionHeaders,
    ) -> Result<(), HttpError> {
        let response = check_status(self.send(Method::POST, Some(&first.initialize), begun).await?).await?;
        // Stored now, so that the session is ended even if the result never arrives.
        begun.session = response.headers().get(SESSION).cloned();
        begun.version = self.find_message(response, negotiated_version).await?;
        if begun.version != before.version {
            return Err(HttpError::Session(begun.version.clone()));
        }
        let ready = OutgoingMessage::new(INITIALIZED.to_vec(), Some("notifications/initialized"));
        check_status(self.send(Method::POST, Some(&ready), begun).await?).await?;
        if let Some(set_level) = &first.set_level {
            // All requests wait for this response, so limit the time.
            let set =
                tokio::time::timeout(self.options.send_timeout.min(SET_LEVEL), self.set_level(set_level, begun)).await;
            if !matches!(set, Ok(Ok(true))) {
                tracing::warn!(?set, "the new session does not have the log level of the session that was lost");
            }
        }
        Ok(())
    }

    /// Returns whether the server accepts the level.
    async fn set_level(&self, set_level: &OutgoingMessage, begun: &SessionHeaders) -> Result<bool, HttpError> {
        let response = check_status(self.send(Method::POST, Some(set_level), begun).await?).await?;
        Ok(self.find_message(response, |message| read_result(message, |_| Some(()))).await?.is_some())
    }

    /// Reads a response until `read` finds something in one of its messages.
    async fn find_message<T>(
        &self,
        response: reqwest::Response,
        read: impl Fn(&mut Inbound) -> Option<T>,
    ) -> Result<Option<T>, HttpError> {
        match ResponseBody::of(response, self.options.max_message_bytes).await? {
            ResponseBody::Nothing => Ok(None),
            ResponseBody::Json(body) => Ok(read(&mut Inbound::new(body))),
            ResponseBody::Events(mut events) => {
                while let Some(mut message) = events.next().await {
                    if let found @ Some(_) = read(&mut message) {
                        return Ok(found);
                    }
                }
                Ok(None)
            }
        }
    }

    /// Ends a session on the server with DELETE, within
    /// [`ClientOptions::send_timeout`](super::ClientOptions::send_timeout) and at most 5 seconds. A failure is logged.
    pub(super) async fn delete_session(&self, session_headers: &SessionHeaders) {
        if session_headers.session.is_none() {
            return;
        }
        let timeout = self.options.send_timeout.min(Duration::from_secs(5));
        match tokio::time::timeout(timeout, self.send(Method::DELETE, None, session_headers)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(error = error_chain(&error), "failed to end the session"),
            Err(_) => tracing::debug!("timed out ending the session"),
        }
    }
}
