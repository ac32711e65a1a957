//! Polls futures once, and decides which of them need a task of their own.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio_util::sync::ReusableBoxFuture;

/// Polls futures once on the connection's own task, because a task for each would cost more than reading the message.
///
/// A slow poll delays the connection's other messages, so the next futures get a task right away.
#[derive(Default)]
pub(super) struct InlinePoll {
    /// The allocation of the last future that completed at its first poll, to be reused.
    allocation: Option<ReusableBoxFuture<'static, ()>>,
    /// How many of the next futures get a task without being polled here.
    spawn_next: usize,
}

/// How long a poll may take before it counts as slow.
const QUICK: Duration = Duration::from_millis(1);
/// How many futures get a task right away after a poll that took longer than [`QUICK`].
const SPAWN_AFTER_SLOW: usize = 64;

impl InlinePoll {
    /// Returns whether the next future gets a task without being polled here.
    pub(super) fn spawns_next(&mut self) -> bool {
        let spawns = self.spawn_next > 0;
        self.spawn_next = self.spawn_next.saturating_sub(1);
        spawns
    }

    /// Polls a future once. Returns it if it is still pending and needs a task.
    #[inline]
    pub(super) fn poll(
        &mut self,
        future: impl Future<Output = ()> + Send + 'static,
        cx: &mut Context<'_>,
    ) -> Option<ReusableBoxFuture<'static, ()>> {
        let mut future = match self.allocation.take() {
            Some(mut allocation) => {
                allocation.set(future);
                allocation
            }
            None => ReusableBoxFuture::new(future),
        };
        let began = Instant::now();
        let polled = catch_unwind(AssertUnwindSafe(|| future.poll(cx)));
        if began.elapsed() > QUICK {
            self.spawn_next = SPAWN_AFTER_SLOW;
        }
        match polled {
            Ok(Poll::Ready(())) => {
                self.allocation = Some(future);
                None
            }
            Ok(Poll::Pending) => Some(future),
            Err(_) => {
                tracing::error!("a response was lost: its task panicked");
                None
            }
        }
    }
}
