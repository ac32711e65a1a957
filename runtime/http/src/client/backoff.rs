//! Pauses before a stream is reopened or a session is replaced.

use std::time::Duration;

/// The shortest pause that a server may ask for.
const SHORTEST: Duration = Duration::from_millis(100);

/// The longest pause before the random part is added, whatever the server asks for.
const LONGEST: Duration = Duration::from_secs(5 * 60);

/// How many times a pause may double.
const DOUBLINGS: u32 = 6;

/// Returns the first pause before a stream is reopened: the server's `retry` (at least 100 ms) or, if it sent none,
/// `pause`. At most five minutes.
pub(super) fn base(retry: Option<Duration>, pause: Duration) -> Duration {
    retry.map_or(pause, |retry| retry.max(SHORTEST)).min(LONGEST)
}

/// Returns the pause after this many attempts: `base`, doubled for each attempt, plus up to an eighth at random, so
/// that the clients of a restarted server do not all reconnect at once.
pub(super) fn delay(base: Duration, attempts: u32) -> Duration {
    let delay = base.saturating_mul(1 << attempts.min(DOUBLINGS)).min(LONGEST);
    // Without random numbers, clients may reconnect at the same time, but the pause is still long enough.
    let random = getrandom::u32().unwrap_or(0);
    delay + (delay / 8).mul_f64(f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_stay_within_limits() {
        let ms = Duration::from_millis;
        let table = [
            // `retry`, attempts, and the pause without its random part.
            (None, 0, ms(1000)),
            (None, 3, ms(8000)),
            (None, 6, ms(64_000)),
            (None, u32::MAX, ms(64_000)),
            (Some(ms(0)), 0, ms(100)),
            (Some(ms(0)), 4, ms(1600)),
            (Some(ms(500)), 0, ms(500)),
            (Some(ms(500)), 1, ms(1000)),
            (Some(ms(u64::MAX)), 0, ms(300_000)),
            (Some(ms(u64::MAX)), 9, ms(300_000)),
        ];
        for (retry, attempts, least) in table {
            for _ in 0..100 {
                let delay = delay(base(retry, ms(1000)), attempts);
                assert!((least..=least * 9 / 8).contains(&delay), "{retry:?} after {attempts}: {delay:?}");
            }
        }
    }

    #[test]
    fn pauses_differ() {
        let delays: std::collections::HashSet<_> = (0..100).map(|_| delay(Duration::from_secs(1), 0)).collect();
        assert!(delays.len() > 1);
    }
}
