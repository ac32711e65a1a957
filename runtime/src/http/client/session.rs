//! Begins sessions, replaces lost ones, and ends them.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method};
use tokio::time::Instant;

use super::driver::{Sent, Shared, Under, agreed, succeeded};
use super::reply::Reply;
use super::{HttpError, backoff};
use crate::http::headers::SESSION;

/// The maximum number of sessions that are replaced in a row without a response to a request in any of them.
const MOST_RESTARTS: u32 = 5;

/// The notification that completes the handshake.
const READY: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Counts the sessions that were replaced since the last response to a request.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    count: u32,
    /// When the last session was replaced.
    last: Option<Instant>,
}

impl Restarts {
    /// Counts a restart and returns how long to wait before it. The first restart happens at once; the pause before
    /// each further one doubles.
    ///
    /// # Errors
    ///
    /// Fails with [`HttpError::SessionLost`] after [`MOST_RESTARTS`] restarts, until the pause after the last one is
    /// over.
    fn next(&mut self, pause: Duration, now: Instant) -> Result<Duration, HttpError> {
        let due = self.last.and_then(|last| last.checked_add(backoff::delay(pause, self.count.saturating_sub(1))));
        let wait = due.map_or(Duration::ZERO, |due| due.saturating_duration_since(now));
        if self.count >= MOST_RESTARTS && !wait.is_zero() {
            return Err(HttpError::SessionLost { times: self.count });
        }
        self.count = self.count.saturating_add(1);
        self.last = now.checked_add(wait);
        Ok(wait)
    }
}

impl Shared {
    /// Replaces a lost session by a new one, unless another task has already done so.
    ///
    /// The replacement continues if the caller is dropped, so that no unknown session is left on the server.
    pub(super) async fn begin_again(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let (this, lost) = (Arc::clone(self), lost.clone());
        tokio::spawn(async move { this.replace(&lost).await }).await.map_err(std::io::Error::other)?
    }

    /// Replaces the session. No other message is sent in the new session before its handshake is complete.
    async fn replace(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let _one = self.beginning.lock().await;
        let (initialize, under, wait) = {
            let mut state = self.state();
            let Some(initialize) = state.initialize.clone().filter(|_| state.under.session == *lost) else {
                return Ok(());
            };
            (initialize, state.under.clone(), state.restarts.next(self.options.pause, Instant::now())?)
        };
        tracing::warn!(?wait, "the session was lost; beginning a new one");
        let begun = self.begin(&initialize, &under, wait).await?;
        self.state().under = begun;
        self.listen().await;
        if let Some(tell) = &self.options.on_new_session {
            tell();
        }
        Ok(())
    }

    /// Begins a session after a pause, with the revision of the previous one. Ends the new session if the handshake
    /// fails or exceeds [`Options::patience`](super::Options::patience), or if the connection closes meanwhile.
    async fn begin(&self, initialize: &Sent, before: &Under, pause: Duration) -> Result<Under, HttpError> {
        let mut begun = Under::default();
        let ready = async {
            tokio::time::sleep(pause).await;
            // All requests wait for the new session.
            let ready = tokio::time::timeout(self.options.patience, self.make_ready(initialize, before, &mut begun));
            let late = "timed out waiting for the server to begin a session";
            ready.await.map_err(|_| std::io::Error::new(std::io::ErrorKind::TimedOut, late))?
        };
        let ready = tokio::select! {
            biased;
            () = self.closing.cancelled() => Err(HttpError::NoAnswer),
            ready = ready => ready,
        };
        match ready {
            Ok(()) => Ok(begun),
            Err(error) => {
                self.leave(&begun).await;
                Err(error)
            }
        }
    }

    /// Sends `initialize` and `notifications/initialized`.
    async fn make_ready(&self, initialize: &Sent, before: &Under, begun: &mut Under) -> Result<(), HttpError> {
        self.initialize(initialize, begun).await?;
        if begun.version != before.version {
            return Err(HttpError::Session(begun.version.clone()));
        }
        let ready = Sent::new(READY.to_vec(), Some("notifications/initialized"));
        succeeded(self.send(Method::POST, Some(&ready), begun).await?).await.map(drop)
    }

    /// Sends `initialize`. Stores the session ID as soon as the response headers arrive, and the revision once the
    /// result arrives.
    async fn initialize(&self, initialize: &Sent, begun: &mut Under) -> Result<(), HttpError> {
        let response = self.send(Method::POST, Some(initialize), &Under::default()).await?;
        let response = succeeded(response).await?;
        begun.session = response.headers().get(SESSION).cloned();
        let answer = match Reply::of(response, self.options.longest).await? {
            Reply::Nothing => None,
            Reply::Message(message) => Some(message),
            Reply::Events(mut events) => loop {
                match events.next().await {
                    Some(message) if agreed(&message).is_none() => {}
                    answer => break answer,
                }
            },
        };
        begun.version = answer.as_deref().and_then(agreed);
        Ok(())
    }

    /// Ends a session on the server with DELETE. Waits for at most [`Options::patience`](super::Options::patience) or 5
    /// seconds, whichever is shorter. A failure is logged.
    pub(super) async fn leave(&self, under: &Under) {
        if under.session.is_none() {
            return;
        }
        let patience = self.options.patience.min(Duration::from_secs(5));
        match tokio::time::timeout(patience, self.send(Method::DELETE, None, under)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "failed to end the session"),
            Err(_) => tracing::debug!("timed out ending the session"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn restarts_back_off_and_are_limited() {
        let pause = Duration::from_secs(1);
        let mut restarts = Restarts::default();
        let mut waits = Vec::new();
        for _ in 0..5 {
            let wait = restarts.next(pause, Instant::now()).expect("one of the first five");
            // A sleep would be rounded up to the next millisecond, and shorten the next pause.
            tokio::time::advance(wait).await;
            waits.push(wait);
        }
        for (wait, least) in waits.iter().zip([0, 1, 2, 4, 8]) {
            let least = pause * least;
            assert!((least..=least * 9 / 8).contains(wait), "{waits:?}");
        }
        for _ in 0..100 {
            let refused = restarts.next(pause, Instant::now());
            assert!(matches!(refused, Err(HttpError::SessionLost { times: 5 })), "{refused:?}");
        }
        // After each pause one more restart is allowed. The pause keeps growing.
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(restarts.next(pause, Instant::now()).is_ok_and(|wait| wait.is_zero()));
        assert!(restarts.next(pause, Instant::now()).is_err());
    }
}
