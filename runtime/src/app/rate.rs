//! How often tools may be called.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

/// So many calls in so long, for each of those who call.
pub(super) struct Rate {
    calls: f64,
    per: Duration,
    /// How many calls each of those who call has left, and since when that is so.
    left: HashMap<String, (f64, Instant)>,
}

impl Rate {
    pub(super) fn new(calls: u32, per: Duration) -> Self {
        Self { calls: f64::from(calls.max(1)), per, left: HashMap::new() }
    }

    /// How long somebody has to wait before the next call; nothing if it may be now.
    pub(super) fn wait(&mut self, who: &str) -> Option<Duration> {
        let (now, second) = (Instant::now(), self.calls / self.per.as_secs_f64().max(f64::MIN_POSITIVE));
        // Whoever has all of them left again is as good as new.
        let (calls, refilled) = (self.calls, |left: f64, since: Instant| left + (now - since).as_secs_f64() * second);
        self.left.retain(|_, (left, since)| refilled(*left, *since) < calls);
        let (left, since) = self.left.entry(who.to_owned()).or_insert((calls, now));
        (*left, *since) = (refilled(*left, *since).min(calls), now);
        if *left < 1.0 {
            return Some(Duration::from_secs_f64(((1.0 - *left) / second).min(1e9)));
        }
        *left -= 1.0;
        None
    }
}
