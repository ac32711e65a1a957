//! Begins sessions, replaces lost ones, and ends them.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method};
use mcpgen_runtime::transport::Inbound;
use mcpgen_runtime::util::error_chain;
use tokio::time::Instant;

use super::error::HttpError;
use super::message::OutgoingMessage;
use super::response::{ResponseBody, check_status, negotiated_version};
use super::state::{SessionHeaders, TransportState};
use crate::headers::SESSION;

/// The notification that completes the handshake.
const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

impl TransportState {
    /// Replaces a lost session by a new one, unless another task has already done so.
    ///
    /// The replacement continues if the caller is dropped, so that no unknown session is left on the server.
    pub(super) async fn replace_session(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let (this, lost) = (Arc::clone(self), lost.clone());
        tokio::spawn(async move { this.replace(&lost).await }).await.map_err(std::io::Error::other)?
    }

    /// Replaces the session. No other message is sent in the new session before its handshake is complete.
    async fn replace(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let _one = self.replacing.lock().await;
        let (initialize, session_headers, wait) = {
            let mut state = self.state();
            let Some(initialize) = state.initialize.clone().filter(|_| state.session_headers.session == *lost) else {
                return Ok(());
            };
            (initialize, state.session_headers.clone(), state.restarts.next(self.options.retry_delay, Instant::now())?)
        };
        tracing::warn!(?wait, "the session was lost; beginning a new one");
        let begun = self.begin(&initialize, &session_headers, wait).await?;
        self.state().session_headers = begun;
        self.open_get_stream().await;
        if let Some(on_new_session) = &self.options.on_new_session {
            on_new_session();
        }
        Ok(())
    }

    /// Begins a session after a pause, with the revision of the previous one. Ends the new session if the handshake
    /// fails or exceeds [`ClientOptions::send_timeout`](super::ClientOptions::send_timeout), or if the connection
    /// closes meanwhile.
    async fn begin(
        &self,
        initialize: &OutgoingMessage,
        before: &SessionHeaders,
        pause: Duration,
    ) -> Result<SessionHeaders, HttpError> {
        let mut begun = SessionHeaders::default();
        let ready = async {
            tokio::time::sleep(pause).await;
            // All requests wait for the new session.
            let ready = tokio::time::timeout(self.options.send_timeout, self.handshake(initialize, before, &mut begun));
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

    /// Sends `initialize` and `notifications/initialized`.
    async fn handshake(
        &self,
        initialize: &OutgoingMessage,
        before: &SessionHeaders,
        begun: &mut SessionHeaders,
    ) -> Result<(), HttpError> {
        self.initialize(initialize, begun).await?;
        if begun.version != before.version {
            return Err(HttpError::Session(begun.version.clone()));
        }
        let ready = OutgoingMessage::new(INITIALIZED.to_vec(), Some("notifications/initialized"));
        check_status(self.send(Method::POST, Some(&ready), begun).await?).await.map(drop)
    }

    /// Sends `initialize`. Stores the session ID as soon as the response headers arrive, and the revision once the
    /// result arrives.
    async fn initialize(&self, initialize: &OutgoingMessage, begun: &mut SessionHeaders) -> Result<(), HttpError> {
        let response = self.send(Method::POST, Some(initialize), &SessionHeaders::default()).await?;
        let response = check_status(response).await?;
        begun.session = response.headers().get(SESSION).cloned();
        begun.version = match ResponseBody::of(response, self.options.max_message_bytes).await? {
            ResponseBody::Nothing => None,
            ResponseBody::Json(body) => negotiated_version(&mut Inbound::new(body)),
            ResponseBody::Events(mut events) => loop {
                match events.next().await {
                    Some(mut message) => {
                        if let version @ Some(_) = negotiated_version(&mut message) {
                            break version;
                        }
                    }
                    None => break None,
                }
            },
        };
        Ok(())
    }

    /// Ends a session on the server with DELETE. Waits for at most
    /// [`ClientOptions::send_timeout`](super::ClientOptions::send_timeout) or 5 seconds, whichever is shorter. A
    /// failure is logged.
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
