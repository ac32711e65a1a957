//! Limits each caller's rate of calls.
//!
//! `governor` implements the algorithm (GCRA: a burst that refills at a constant rate). [`Callers`] stores one
//! timestamp per caller, for a bounded number of callers.

use std::collections::HashMap;
use std::fmt;
use std::future::ready;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use governor::Quota;
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use parking_lot::Mutex;
use tokio::time::Instant;

use mcpgen_mcp::replicas::{Decision, RateLimiter, StoreError};

const DEFAULT_CALLERS: usize = 100_000;

/// Limits how many calls each caller may make per period, in this process.
///
/// ```
/// use std::time::Duration;
///
/// use mcpgen_cluster::InMemoryRateLimiter;
/// use mcpgen_sdk::Server;
///
/// let per_minute = InMemoryRateLimiter::new(100, Duration::from_secs(60));
/// let server = Server::builder("search", "1.0.0").rate_limiter(per_minute).build();
/// # let _ = server;
/// ```
pub struct InMemoryRateLimiter {
    limiter: governor::RateLimiter<CallerId, Callers, TokioClock, NoOpMiddleware<Duration>>,
    hasher: RandomState,
}

/// A hash of a caller's name, which bounds the memory that long names take. The key is random, so that callers cannot
/// choose names with equal hashes.
type CallerId = u64;

impl InMemoryRateLimiter {
    /// Allows bursts of `calls`, and refills them evenly over `per`. Remembers up to 100,000 callers, in about 6 MB.
    #[must_use]
    pub fn new(calls: u32, per: Duration) -> Self {
        Self::with_max_callers(calls, per, DEFAULT_CALLERS)
    }

    /// Like [`new`](Self::new), but remembers up to `callers` callers.
    ///
    /// A caller is forgotten once its full burst is available again. While the table is full, new callers are rejected;
    /// known ones are not affected.
    #[must_use]
    pub fn with_max_callers(calls: u32, per: Duration, callers: usize) -> Self {
        let calls = NonZeroU32::new(calls).unwrap_or(NonZeroU32::MIN);
        // `governor` stores nanoseconds in 64 bits, so cap the period at one year.
        let interval = (per.min(Duration::from_secs(365 * 86_400)) / calls.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(interval).unwrap_or(Quota::per_second(calls)).allow_burst(calls);
        let clock = TokioClock(Instant::now());
        let limiter = governor::RateLimiter::new(quota, Callers::new(quota, clock, callers), clock);
        Self { limiter, hasher: RandomState::new() }
    }

    /// Returns how long the caller has to wait, if the call exceeds the limit.
    fn check_now(&self, caller: &str) -> Option<Duration> {
        let refused = self.limiter.check_key(&self.hasher.hash_one(caller)).err()?;
        Some(refused.wait_time_from(self.limiter.clock().now()))
    }
}

impl RateLimiter for InMemoryRateLimiter {
    fn check<'a>(&'a self, caller: &'a str) -> BoxFuture<'a, Result<Decision, StoreError>> {
        let decision = self.check_now(caller).map_or(Decision::Allowed, Decision::After);
        ready(Ok(decision)).boxed()
    }
}

impl fmt::Debug for InMemoryRateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InMemoryRateLimiter").finish_non_exhaustive()
    }
}

/// Time since the limiter was created, by tokio's clock, which tests can pause.
#[derive(Clone, Copy, Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// When each caller's full burst will be available again. Until then, the caller is remembered.
struct Callers {
    clock: TokioClock,
    /// How long a burst takes to refill.
    period: Duration,
    /// A call is allowed if the caller's timestamp is at most this far ahead of the clock.
    tolerance: Duration,
    max: usize,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    full_at: HashMap<CallerId, Nanos>,
    /// The number of callers at which to look for callers to forget: twice the number left last time. The amortized
    /// cost of a call therefore stays constant.
    prune_at: usize,
    /// A full table is not searched again before this time.
    prune_after: Duration,
    #[cfg(test)]
    examined: usize,
}

impl Callers {
    fn new(quota: Quota, clock: TokioClock, max: usize) -> Self {
        let period = quota.burst_size_replenished_in();
        let tolerance = period.saturating_sub(quota.replenish_interval());
        Self { clock, period, tolerance, max, table: Mutex::default() }
    }
}

impl StateStore for Callers {
    type Key = CallerId;

    fn measure_and_replace<T, F, E>(&self, caller: &CallerId, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut table = self.table.lock();
        let known = table.full_at.get(caller).copied();
        if known.is_none() {
            table.make_room(self.max, self.clock.now(), self.period);
            if table.full_at.len() >= self.max {
                // Reject the call until the table may have room, as if the caller had used up the burst.
                let until = table.prune_after.saturating_add(self.tolerance);
                return decide(Some(nanos(until))).map(|(outcome, _)| outcome);
            }
        }
        let (outcome, full_at) = decide(known)?;
        table.full_at.insert(*caller, full_at);
        Ok(outcome)
    }
}

impl Table {
    /// If the table has doubled or is full, forgets callers whose full burst is available again.
    fn make_room(&mut self, max: usize, now: Duration, period: Duration) {
        let count = self.full_at.len();
        let is_full = count >= max;
        if (is_full && now < self.prune_after) || (!is_full && count < self.prune_at) {
            return;
        }
        #[cfg(test)]
        {
            self.examined += count;
        }
        self.full_at.retain(|_, full_at| *full_at > nanos(now));
        self.prune_at = (2 * self.full_at.len()).max(64);
        // At least a sixteenth of the period, so that a full table is rarely searched.
        self.prune_after = now.saturating_add((period / 16).max(Duration::from_nanos(1)));
        if self.full_at.len() >= max {
            tracing::warn!(callers = max, "the table of the rate limit is full; rejecting new callers");
        }
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos::from(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(limit: InMemoryRateLimiter) -> Table {
        std::mem::take(&mut *limit.limiter.into_state_store().table.lock())
    }

    #[tokio::test(start_paused = true)]
    async fn remembers_a_bounded_number_of_callers() {
        let limit = InMemoryRateLimiter::with_max_callers(1, Duration::from_secs(60), 1000);
        let allowed = (0..5000).filter(|n| limit.check_now(&format!("caller {n}")).is_none()).count();
        assert_eq!(allowed, 1000);
        // A new caller waits for a free entry, a known one for its quota.
        let wait = limit.check_now("new").expect("the table is full");
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(60), "{wait:?}");
        assert_eq!(limit.check_now("caller 7"), Some(Duration::from_secs(60)));
        let table = table(limit);
        assert_eq!(table.full_at.len(), 1000);
        assert!(table.examined < 4000, "{} callers examined", table.examined);
    }

    #[tokio::test(start_paused = true)]
    async fn forgets_callers_that_have_their_full_burst() {
        let limit = InMemoryRateLimiter::with_max_callers(2, Duration::from_secs(60), 1000);
        for n in 0..1000 {
            assert_eq!(limit.check_now(&format!("caller {n}")), None);
        }
        // Half of the burst is used, so it is full again after half the period.
        tokio::time::advance(Duration::from_secs(29)).await;
        assert!(limit.check_now("new").is_some());
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(limit.check_now("new"), None);
        assert_eq!(table(limit).full_at.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn keeps_the_quota_of_a_caller() {
        let limit = InMemoryRateLimiter::with_max_callers(2, Duration::from_secs(60), 1000);
        tokio::time::advance(Duration::from_secs(50)).await;
        assert_eq!([limit.check_now("ann"), limit.check_now("ann")], [None, None]);
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(limit.check_now("ann"), Some(Duration::from_secs(15)));
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(limit.check_now("ann"), None);
        assert_eq!(limit.check_now("ann"), Some(Duration::from_secs(30)));
    }

    #[tokio::test(start_paused = true)]
    async fn accepts_extreme_quotas() {
        for (calls, per) in
            [(0, Duration::ZERO), (u32::MAX, Duration::MAX), (1, Duration::MAX), (u32::MAX, Duration::ZERO)]
        {
            let limit = InMemoryRateLimiter::with_max_callers(calls, per, 1);
            assert_eq!(limit.check_now("ann"), None, "{calls} per {per:?}");
            tokio::time::advance(Duration::from_secs(1)).await;
            limit.check_now("ann");
            limit.check_now("bob");
        }
        assert!(InMemoryRateLimiter::with_max_callers(1, Duration::from_secs(1), 0).check_now("ann").is_some());
    }
}
