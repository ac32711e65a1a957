//! Sessions: how one begins, how a lost one is replaced, and how one ends.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderValue, Method};
use tokio::time::Instant;

use super::driver::{Sent, Shared, Under, agreed, succeeded};
use super::reply::Reply;
use super::{HttpError, backoff};
use crate::http::headers::SESSION;

/// How many sessions in a row are replaced without a request answered in any of them.
const MOST_RESTARTS: u32 = 5;

/// Sent when a session has begun.
const READY: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// Sessions that were replaced since a request was last answered.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    count: u32,
    /// When the last one was replaced.
    last: Option<Instant>,
}

impl Restarts {
    /// Counts a restart, and returns how long to wait before it: the first one is made at once, the pause before each
    /// further one doubles.
    ///
    /// # Errors
    ///
    /// There were too many, and the pause after the last one is not over.
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
    /// Replaces a lost session by a new one, unless that has happened meanwhile.
    ///
    /// It continues if the caller is dropped, so that the server is not left with an unknown session.
    pub(super) async fn begin_again(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let (this, lost) = (Arc::clone(self), lost.clone());
        tokio::spawn(async move { this.replace(&lost).await }).await.map_err(std::io::Error::other)?
    }

    /// Until the new session has begun, no other message is sent in it.
    async fn replace(self: &Arc<Self>, lost: &Option<HeaderValue>) -> Result<(), HttpError> {
        let _one = self.beginning.lock().await;
        let (initialize, under, wait) = {
            let mut state = self.state();
            let Some(initialize) = state.initialize.clone().filter(|_| state.under.session == *lost) else {
                return Ok(());
            };
            (initialize, state.under.clone(), state.restarts.next(self.options.pause, Instant::now())?)
        };
        tracing::warn!(?wait, "the session has ended; a new one is begun");
        let begun = self.begin(&initialize, &under, wait).await?;
        self.state().under = begun;
        self.listen().await;
        if let Some(tell) = &self.options.on_new_session {
            tell();
        }
        Ok(())
    }

    /// Begins a session after a pause, in the revision of the one before. Ends the session if that fails, takes longer than
    /// the patience, or the connection closes meanwhile.
    async fn begin(&self, initialize: &Sent, before: &Under, pause: Duration) -> Result<Under, HttpError> {
        let mut begun = Under::default();
        let ready = async {
            tokio::time::sleep(pause).await;
            // All requests wait for the new session.
            let ready = tokio::time::timeout(self.options.patience, self.make_ready(initialize, before, &mut begun));
            let late = "the server did not begin a session in time";
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

    /// Sends `initialize`. The session is stored as soon as the server names it, and the revision once the server agrees on
    /// one.
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

    /// Tells the server that a session is not needed any more.
    pub(super) async fn leave(&self, under: &Under) {
        if under.session.is_none() {
            return;
        }
        let patience = self.options.patience.min(Duration::from_secs(5));
        match tokio::time::timeout(patience, self.send(Method::DELETE, None, under)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the session could not be ended"),
            Err(_) => tracing::debug!("the session was not ended in time"),
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
        // One more is made after each pause, which grows on.
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(restarts.next(pause, Instant::now()).is_ok_and(|wait| wait.is_zero()));
        assert!(restarts.next(pause, Instant::now()).is_err());
    }
}
