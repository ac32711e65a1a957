//! Limits the rate of calls per caller.
//!
//! `governor` implements the algorithm (GCRA: a burst, refilled at a constant rate). [`Callers`] stores one timestamp
//! per caller, for a bounded number of callers.

use std::collections::HashMap;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::StateStore;
use governor::{Quota, RateLimiter};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::util::lock::Mutex;

/// The default number of callers that a rate limit remembers.
pub(super) const DEFAULT_CALLERS: usize = 100_000;

/// Limits the number of calls per period, for each caller.
pub(super) struct RateLimit(RateLimiter<CallerId, Callers, TokioClock, NoOpMiddleware<Duration>>);

impl RateLimit {
    /// Allows bursts of `calls`, which refill evenly over the period `per`. Remembers at most `callers` callers.
    pub(super) fn new(calls: u32, per: Duration, callers: usize) -> Self {
        let calls = std::num::NonZeroU32::new(calls).unwrap_or(std::num::NonZeroU32::MIN);
        // `governor` stores nanoseconds in 64 bits, so the period is capped at one year.
        let interval = (per.min(Duration::from_secs(365 * 86_400)) / calls.get()).max(Duration::from_nanos(1));
        let quota = Quota::with_period(interval).unwrap_or(Quota::per_second(calls)).allow_burst(calls);
        let clock = TokioClock(Instant::now());
        Self(RateLimiter::new(quota, Callers::new(quota, clock, callers), clock))
    }

    /// Charges a call to a caller. If the call exceeds the limit, returns how long the caller has to wait.
    pub(super) fn check(&self, caller: &str) -> Option<Duration> {
        let refused = self.0.check_key(&caller_id(caller)).err()?;
        Some(refused.wait_time_from(self.0.clock().now()))
    }
}

/// A digest of a caller's name. It bounds the memory that a long name takes.
type CallerId = [u8; 16];

fn caller_id(name: &str) -> CallerId {
    let digest: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    let mut id = CallerId::default();
    id.copy_from_slice(&digest[..16]);
    id
}

/// Measures the time since the limiter was created, with tokio's clock, which tests can pause.
#[derive(Clone, Copy, Debug)]
struct TokioClock(Instant);

impl Clock for TokioClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

const SHARDS: usize = 16;

/// The callers seen in the current and the previous period, in shards with one lock each.
///
/// A caller that was idle for a whole period has its full burst again, like an unknown caller. Each shard therefore
/// keeps two generations and drops the older one when a period ends, without searching for idle callers.
struct Callers {
    clock: TokioClock,
    /// The time in which a burst is refilled.
    period: Duration,
    /// A call is allowed if the caller's timestamp is ahead of the clock by at most this.
    tolerance: Duration,
    max: usize,
    count: AtomicUsize,
    /// One more than the last generation in which all shards were cleaned because the table was full.
    cleaned: AtomicU64,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Default)]
struct Shard {
    generation: u64,
    current: HashMap<CallerId, Nanos>,
    previous: HashMap<CallerId, Nanos>,
}

impl Callers {
    fn new(quota: Quota, clock: TokioClock, max: usize) -> Self {
        let period = quota.burst_size_replenished_in();
        Self {
            clock,
            period,
            tolerance: period.saturating_sub(quota.replenish_interval()),
            max,
            count: AtomicUsize::new(0),
            cleaned: AtomicU64::new(0),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    fn generation(&self) -> u64 {
        let periods = self.clock.now().as_nanos() / self.period.as_nanos().max(1);
        u64::try_from(periods).unwrap_or(u64::MAX)
    }

    /// Locks a shard and drops the callers that were idle for a whole period.
    fn shard(&self, index: usize, generation: u64) -> MutexGuard<'_, Shard> {
        let mut shard = self.shards[index % SHARDS].lock();
        self.count.fetch_sub(shard.advance(generation), Ordering::Relaxed);
        shard
    }

    /// Reserves room for one caller. Returns `false` if the table is full.
    fn reserve(&self) -> bool {
        let free = |count: usize| (count < self.max).then_some(count + 1);
        self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, free).is_ok()
    }

    /// Cleans all shards if the table is full, once per generation.
    fn make_room(&self, generation: u64) {
        if self.count.load(Ordering::Relaxed) < self.max
            || self.cleaned.fetch_max(generation.saturating_add(1), Ordering::Relaxed) > generation
        {
            return;
        }
        for index in 0..SHARDS {
            drop(self.shard(index, generation));
        }
        if self.count.load(Ordering::Relaxed) >= self.max {
            tracing::warn!(callers = self.max, "the table of the rate limit is full; rejecting new callers");
        }
    }
}

impl StateStore for Callers {
    type Key = CallerId;

    fn measure_and_replace<T, F, E>(&self, caller: &CallerId, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let generation = self.generation();
        self.make_room(generation);
        let mut shard = self.shard(usize::from(caller[0]), generation);
        let known = shard.current.get(caller).or_else(|| shard.previous.get(caller)).copied();
        if known.is_none() && !self.reserve() {
            // Reject the call as if the burst were used up until the next generation, which may have room.
            let next = self.period.saturating_mul(u32::try_from(generation.saturating_add(1)).unwrap_or(u32::MAX));
            let until = next.saturating_add(self.tolerance).as_nanos();
            let until = u64::try_from(until).unwrap_or(u64::MAX);
            return decide(Some(Nanos::from(until))).map(|(outcome, _)| outcome);
        }
        let decided = decide(known);
        match &decided {
            Ok((_, timestamp)) => shard.store(*caller, *timestamp),
            Err(_) if known.is_none() => {
                self.count.fetch_sub(1, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        decided.map(|(outcome, _)| outcome)
    }
}

impl Shard {
    /// Advances to a generation and returns how many callers were dropped.
    fn advance(&mut self, generation: u64) -> usize {
        let elapsed = generation.saturating_sub(self.generation);
        if elapsed == 0 {
            return 0;
        }
        self.generation = generation;
        let mut dropped = std::mem::replace(&mut self.previous, std::mem::take(&mut self.current)).len();
        if elapsed > 1 {
            dropped += std::mem::take(&mut self.previous).len();
        }
        dropped
    }

    fn store(&mut self, caller: CallerId, timestamp: Nanos) {
        self.previous.remove(&caller);
        self.current.insert(caller, timestamp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remembered(limit: RateLimit) -> usize {
        let callers = limit.0.into_state_store();
        let stored = |shard: Mutex<Shard>| {
            let shard = shard.lock();
            shard.current.len() + shard.previous.len()
        };
        let stored: usize = callers.shards.into_iter().map(stored).sum();
        assert_eq!(stored, callers.count.into_inner());
        stored
    }

    #[tokio::test(start_paused = true)]
    async fn remembers_a_bounded_number_of_callers() {
        let limit = RateLimit::new(1, Duration::from_secs(60), 1000);
        let allowed = (0..5000).filter(|n| limit.check(&format!("caller {n}")).is_none()).count();
        assert_eq!(allowed, 1000);
        // A new caller waits for room, a known caller for its quota.
        assert_eq!(limit.check("new"), Some(Duration::from_secs(60)));
        assert_eq!(limit.check("caller 7"), Some(Duration::from_secs(60)));
        assert_eq!(remembered(limit), 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn forgets_callers_that_were_idle_for_a_period() {
        let limit = RateLimit::new(2, Duration::from_secs(60), 1000);
        for n in 0..1000 {
            assert_eq!(limit.check(&format!("caller {n}")), None);
        }
        // The callers are still remembered within the period.
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(limit.check("new").is_some());
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(limit.check("new"), None);
        assert_eq!(remembered(limit), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn keeps_the_quota_of_a_caller_across_generations() {
        let limit = RateLimit::new(2, Duration::from_secs(60), 1000);
        tokio::time::advance(Duration::from_secs(50)).await;
        assert_eq!([limit.check("ann"), limit.check("ann")], [None, None]);
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(limit.check("ann"), Some(Duration::from_secs(15)));
        tokio::time::advance(Duration::from_secs(15)).await;
        assert_eq!(limit.check("ann"), None);
        assert_eq!(limit.check("ann"), Some(Duration::from_secs(30)));
    }

    #[tokio::test(start_paused = true)]
    async fn accepts_extreme_quotas() {
        for (calls, per) in
            [(0, Duration::ZERO), (u32::MAX, Duration::MAX), (1, Duration::MAX), (u32::MAX, Duration::ZERO)]
        {
            let limit = RateLimit::new(calls, per, 1);
            assert_eq!(limit.check("ann"), None, "{calls} per {per:?}");
            tokio::time::advance(Duration::from_secs(1)).await;
            limit.check("ann");
            limit.check("bob");
        }
        assert!(RateLimit::new(1, Duration::from_secs(1), 0).check("ann").is_some());
    }
}
