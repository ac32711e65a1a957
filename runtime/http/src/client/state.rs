//! State shared by all tasks of a connection.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use mcpgen_mcp::protocol::header_params::Header;
use mcpgen_runtime::transport::{Inbound, ReceiveError};
use mcpgen_types::RequestId;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::backoff;
use super::error::HttpError;
use super::message::OutgoingMessage;
use super::options::ClientOptions;
use super::queue::{QueueLimit, QueuedMessage};

/// The maximum number of sessions to replace in a row without a response to a request.
const MAX_RESTARTS: u32 = 5;

pub(super) type IncomingSender = mpsc::Sender<Result<Inbound, ReceiveError>>;

pub(super) struct TransportState {
    pub(super) url: reqwest::Url,
    pub(super) client: reqwest::Client,
    pub(super) options: ClientOptions,
    /// Whether this is HTTP+SSE: all of the server's messages arrive on one event stream, and responses to POST contain
    /// none.
    pub(super) is_sse: bool,
    pub(super) incoming: IncomingSender,
    pub(super) state: Mutex<State>,
    /// Locked while a session is being replaced.
    pub(super) replacing: tokio::sync::Mutex<()>,
    /// One permit per request in flight.
    pub(super) request_permits: Semaphore,
    pub(super) notify: mpsc::UnboundedSender<QueuedMessage>,
    pub(super) notifications: QueueLimit,
    pub(super) responses: QueueLimit,
    /// Cancels requests and streams.
    pub(super) closing: CancellationToken,
    /// Cancels all other tasks.
    pub(super) ended: CancellationToken,
}

#[derive(Default)]
pub(super) struct State {
    /// The headers of messages without metadata: all messages of a session, and notifications of modern revisions.
    pub(super) session_headers: SessionHeaders,
    /// The session's `initialize` request, sent again to replace the session.
    pub(super) initialize: Option<Arc<OutgoingMessage>>,
    /// The last `logging/setLevel` that succeeded. Sent first in a new session, so that requests repeated there do not
    /// log more than before.
    pub(super) set_level: Option<Arc<OutgoingMessage>>,
    pub(super) listening: CancellationToken,
    /// Sessions replaced since the last response to a request.
    pub(super) restarts: Restarts,
    pub(super) pending: HashMap<RequestId, PendingRequest>,
    /// For each tool, the arguments that are repeated in headers.
    pub(super) tools: HashMap<String, Arc<Vec<Header>>>,
}

#[derive(Clone, Default)]
pub(super) struct SessionHeaders {
    pub(super) session: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
}

pub(super) struct PendingRequest {
    pub(super) cancelled: CancellationToken,
    /// Receives the notification that cancels the request. `None` in modern revisions, where closing the response
    /// stream cancels it.
    pub(super) cancel: Option<oneshot::Sender<Option<QueuedMessage>>>,
}

impl TransportState {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) async fn deliver(&self, message: Inbound) {
        // Fails if the receiver was dropped, which the driver notices.
        let _ = self.incoming.send(Ok(message)).await;
    }
}

/// Counts sessions replaced since the last response to a request.
#[derive(Debug, Default)]
pub(super) struct Restarts {
    count: u32,
    last: Option<Instant>,
}

impl Restarts {
    /// Counts a restart and returns how long to wait before it. The first restart happens at once; the pause before
    /// each further one doubles.
    ///
    /// # Errors
    ///
    /// After [`MAX_RESTARTS`] restarts, fails with [`HttpError::SessionLost`] until the pause after the last one is
    /// over.
    pub(super) fn next(&mut self, pause: Duration, now: Instant) -> Result<Duration, HttpError> {
        let due = self.last.and_then(|last| last.checked_add(backoff::delay(pause, self.count.saturating_sub(1))));
        let wait = due.map_or(Duration::ZERO, |due| due.saturating_duration_since(now));
        if self.count >= MAX_RESTARTS && !wait.is_zero() {
            return Err(HttpError::SessionLost { times: self.count });
        }
        self.count = self.count.saturating_add(1);
        self.last = now.checked_add(wait);
        Ok(wait)
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
            let result = restarts.next(pause, Instant::now());
            assert!(matches!(result, Err(HttpError::SessionLost { times: 5 })), "{result:?}");
        }
        // Each pause allows one more restart, and the pauses keep growing.
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert!(restarts.next(pause, Instant::now()).is_ok_and(|wait| wait.is_zero()));
        assert!(restarts.next(pause, Instant::now()).is_err());
    }
}
