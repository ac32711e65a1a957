//! Requests for input, such as a question to the user. The idle timeouts of calls stop while this side handles one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

#[derive(Clone, Debug, Default)]
pub(super) struct InputRequests(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    open: usize,
    last_ended: Option<Instant>,
}

impl InputRequests {
    pub(super) fn begin(&self) -> OpenInputRequest {
        self.0.lock().open += 1;
        OpenInputRequest(self.clone())
    }

    /// Returns the new deadline of a call whose idle timeout has passed, or `None` if the call times out. Time during
    /// which an input request was open does not count.
    pub(super) fn postponed(&self, now: Instant, idle_timeout: Duration) -> Option<Instant> {
        let state = self.0.lock();
        let since = if state.open > 0 { Some(now) } else { state.last_ended };
        since.and_then(|since| since.checked_add(idle_timeout)).filter(|end| *end > now)
    }
}

/// The input request is open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenInputRequest(InputRequests);

impl Drop for OpenInputRequest {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.open -= 1;
        state.last_ended = Some(Instant::now());
    }
}
