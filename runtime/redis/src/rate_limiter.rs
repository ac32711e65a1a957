//! Limits the rate of calls.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_sdk::replicas::{Decision, RateLimiter, StoreError};

use crate::replica::{LazyScript, Replica, script};

static CHARGE: LazyScript = script!("charge_call");

/// The longest period.
const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// Limits how many calls each caller may make on all replicas together. A script implements the same algorithm as the
/// in-memory limiter (GCRA), with Redis's clock. Created by
/// [`RedisStores::rate_limiter`](crate::RedisStores::rate_limiter).
#[derive(Clone)]
pub struct RedisRateLimiter {
    replica: Arc<Replica>,
    /// How long one call takes to refill, in microseconds.
    interval: f64,
    period: f64,
    name: String,
}

impl RedisRateLimiter {
    pub(crate) fn new(replica: Arc<Replica>, calls: u32, per: Duration) -> Self {
        let (calls, per) = (calls.max(1), per.min(YEAR));
        let period = (per.as_secs_f64() * 1e6).max(1.0);
        let name = format!("{calls}/{}", per.as_micros());
        Self { replica, interval: period / f64::from(calls), period, name }
    }

    async fn charge(&self, caller: &str) -> Result<Decision, StoreError> {
        let mut charge = CHARGE.key(self.replica.keys.rate(&self.name, caller));
        charge.arg(self.interval).arg(self.period - self.interval);
        let wait: u64 = self.replica.connection.script(&charge).await?;
        Ok(if wait == 0 { Decision::Allowed } else { Decision::After(Duration::from_micros(wait)) })
    }
}

impl RateLimiter for RedisRateLimiter {
    fn check<'a>(&'a self, caller: &'a str) -> BoxFuture<'a, Result<Decision, StoreError>> {
        self.charge(caller).boxed()
    }
}

impl fmt::Debug for RedisRateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisRateLimiter").field("limit", &self.name).finish_non_exhaustive()
    }
}
