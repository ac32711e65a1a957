//! When to renew this replica's sessions.
//!
//! A replica renews a session long before it expires. Nothing more is needed: another replica becomes the home of the
//! session only if the lease of this replica has expired, which this replica notices, or if the other replica tells it.
//! If its lease had expired, or if it lost the connection on which it would be told, it renews all sessions at once,
//! because Redis may have lost data as well.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// How much longer than requested to keep a session, so that it is renewed less often. At most half of the lifetime.
const MAX_EXTENSION: Duration = Duration::from_secs(15 * 60);

#[derive(Default)]
pub(crate) struct Renewals {
    known: Mutex<Known>,
    /// Notified when sessions may have moved.
    pub(crate) moved: Arc<Notify>,
}

#[derive(Default)]
struct Known {
    /// When renewed sessions expire.
    expiry: HashMap<String, Instant>,
    /// Changes whenever sessions may have moved.
    generation: u64,
}

pub(crate) struct Due<'a> {
    pub(crate) ids: Vec<&'a String>,
    pub(crate) lifetime: Duration,
    expiry: Instant,
    generation: u64,
}

impl Renewals {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sessions that expire before `lifetime` has passed, and those that may have moved.
    pub(crate) fn due<'a>(&self, ids: &'a [String], lifetime: Duration) -> Due<'a> {
        let now = Instant::now();
        let mut known = self.lock();
        if known.expiry.len() > ids.len() {
            let ids: HashSet<&String> = ids.iter().collect();
            known.expiry.retain(|id, _| ids.contains(id));
        }
        let is_due = |id: &&String| known.expiry.get(*id).is_none_or(|expiry| *expiry < now + lifetime);
        let ids = ids.iter().filter(is_due).collect();
        let lifetime = lifetime + MAX_EXTENSION.min(lifetime / 2);
        Due { ids, lifetime, expiry: now + lifetime, generation: known.generation }
    }

    /// Records renewed sessions, unless they may have moved since.
    pub(crate) fn renewed<'a>(&self, due: &Due<'_>, ids: impl Iterator<Item = &'a String>) {
        let mut known = self.lock();
        if known.generation == due.generation {
            known.expiry.extend(ids.map(|id| (id.clone(), due.expiry)));
        }
    }

    /// Makes a session due, because another replica has become its home.
    pub(crate) fn check(&self, id: &str) {
        let mut known = self.lock();
        known.generation += 1;
        known.expiry.remove(id);
        drop(known);
        self.moved.notify_one();
    }

    pub(crate) fn check_all(&self) {
        let mut known = self.lock();
        known.generation += 1;
        known.expiry.clear();
        drop(known);
        self.moved.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sessions_are_due_before_they_expire_and_after_they_may_have_moved() {
        const LIFETIME: Duration = Duration::from_secs(60);
        let renewals = Renewals::default();
        let ids = ["a", "b", "c"].map(str::to_owned);
        let due = || renewals.due(&ids, LIFETIME);
        let renew = || {
            let due = due();
            renewals.renewed(&due, due.ids.iter().copied());
            due.ids.iter().map(|id| id.as_str()).collect::<String>()
        };
        assert_eq!((renew().as_str(), renew().as_str()), ("abc", ""));
        tokio::time::advance(LIFETIME / 2).await;
        assert_eq!(renew(), "");
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!((renew().as_str(), renew().as_str()), ("abc", ""));
        renewals.check("b");
        assert_eq!((renew().as_str(), renew().as_str()), ("b", ""));
        renewals.check_all();
        let before = due();
        assert_eq!(before.ids.len(), 3);
        renewals.check("c");
        renewals.renewed(&before, before.ids.iter().copied());
        assert_eq!(due().ids.len(), 3, "it may have moved while it was renewed");
        assert_eq!(renew(), "abc");
        assert_eq!(renewals.due(&ids[..1], LIFETIME).ids.len(), 0);
        assert_eq!(due().ids, ["b", "c"].iter().collect::<Vec<_>>(), "sessions that have ended are forgotten");
    }
}
