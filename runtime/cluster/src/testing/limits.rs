//! The contracts of rate limiters and replay guards.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::{random, unique};
use mcpgen_mcp::replicas::{Decision, RateLimiter, ReplayGuard};

/// Tests a [`RateLimiter`] that allows `calls` calls in the period `per`. The calls must take only a fraction of the
/// period, so choose a second or more.
pub async fn rate_limiter<S: RateLimiter>(replica: impl AsyncFn() -> S, calls: u32, per: Duration) {
    let replicas: Vec<_> = join_all((0..3).map(|_| replica())).await.into_iter().map(Arc::new).collect();
    let (ann, bob) = (unique("ann {}"), unique("bob"));
    let start = Instant::now();
    // Concurrent calls on all replicas share one quota.
    let attempts = (0..calls as usize * 3).map(|n| {
        let (replica, caller) = (Arc::clone(&replicas[n % 3]), ann.clone());
        tokio::spawn(async move { replica.check(&caller).await.expect("an available store") })
    });
    let decisions: Vec<_> = join_all(attempts).await.into_iter().map(|it| it.expect("no panic")).collect();
    let refilled = (start.elapsed().as_secs_f64() / per.as_secs_f64() * f64::from(calls)).ceil();
    let allowed = decisions.iter().filter(|decision| **decision == Decision::Allowed).count();
    let most = f64::from(calls) + refilled;
    assert!(allowed >= calls as usize && allowed as f64 <= most, "{allowed} of {calls} calls are allowed");
    assert_eq!(replicas[0].check(&bob).await.expect("an available store"), Decision::Allowed, "another caller");
    // A caller that waits as long as it was told may call once.
    let wait = async || match replicas[1].check(&ann).await.expect("an available store") {
        Decision::After(wait) => wait,
        Decision::Allowed => Duration::ZERO,
    };
    let after = wait().await;
    assert!(after <= per, "{after:?}");
    sleep(after + Duration::from_millis(10)).await;
    assert_eq!(wait().await, Duration::ZERO);
    // A refused call does not count.
    for _ in 0..2 * calls {
        wait().await;
    }
    assert!(wait().await <= per);
    sleep(per + Duration::from_millis(50)).await;
    for _ in 0..calls {
        assert_eq!(replicas[2].check(&ann).await.expect("an available store"), Decision::Allowed, "the full burst");
    }
}

/// Tests a [`ReplayGuard`]. The test records states that expire after `lifetime`. If the guard is configured with a
/// lifetime, pass that.
pub async fn replay_guard<S: ReplayGuard>(replica: impl AsyncFn() -> S, lifetime: Duration) {
    let replicas: Vec<_> = join_all((0..3).map(|_| replica())).await.into_iter().map(Arc::new).collect();
    let nonce = random;
    let until = || SystemTime::now() + lifetime + Duration::from_secs(1);
    for _ in 0..10 {
        let (nonce, until) = (nonce(), until());
        // Of concurrent uses on all replicas, only one is accepted.
        let attempts = (0..12).map(|n| {
            let replica = Arc::clone(&replicas[n % 3]);
            tokio::spawn(async move { replica.record(nonce, until).await.expect("an available store") })
        });
        let accepted = join_all(attempts).await.into_iter().filter(|it| *it.as_ref().expect("no panic")).count();
        assert_eq!(accepted, 1);
        for replica in &replicas {
            assert!(!replica.record(nonce, until).await.expect("an available store"), "used again");
        }
    }
    let first = nonce();
    assert!(replicas[0].record(first, until()).await.expect("an available store"));
    let mut second = first;
    second[15] ^= 1;
    assert!(replicas[1].record(second, until()).await.expect("an available store"), "another state");
}
