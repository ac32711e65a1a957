//! Caches which replicas run the sessions that this replica forwards requests for.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long to remember a session's home, the replica that runs it. A replica that no longer runs a session says so
/// when a request is forwarded to it, so this only limits how long unused entries stay.
const LIFETIME: Duration = Duration::from_secs(30);

const MAX: usize = 100_000;

/// The remembered homes of sessions that other replicas run.
#[derive(Default)]
pub(super) struct Homes(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    by_session: HashMap<Arc<str>, Entry>,
    /// Sessions by expiry. An entry that was renewed appears again further back.
    by_expiry: VecDeque<(Instant, Arc<str>)>,
}

struct Entry {
    replica: Arc<str>,
    until: Instant,
}

impl Homes {
    pub(super) fn get(&self, session: &str) -> Option<Arc<str>> {
        let entries = self.0.lock();
        let entry = entries.by_session.get(session).filter(|entry| entry.until > Instant::now())?;
        Some(Arc::clone(&entry.replica))
    }

    /// Remembers a session's home. Forgets the oldest entries if there are too many.
    pub(super) fn insert(&self, session: &str, replica: &Arc<str>) {
        let now = Instant::now();
        let mut entries = self.0.lock();
        let Entries { by_session, by_expiry } = &mut *entries;
        while by_expiry.front().is_some_and(|(until, _)| *until <= now) || by_expiry.len() >= MAX {
            let Some((until, session)) = by_expiry.pop_front() else { break };
            if by_session.get(&session).is_some_and(|entry| entry.until == until) {
                by_session.remove(&session);
            }
        }
        let (session, until) = (Arc::<str>::from(session), now + LIFETIME);
        by_session.insert(Arc::clone(&session), Entry { replica: Arc::clone(replica), until });
        by_expiry.push_back((until, session));
    }

    /// Call this when the replica no longer runs the session.
    pub(super) fn forget(&self, session: &str) {
        self.0.lock().by_session.remove(session);
    }

    /// Call this when the replica does not respond.
    pub(super) fn forget_replica(&self, replica: &str) {
        self.0.lock().by_session.retain(|_, entry| &*entry.replica != replica);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn remembers_a_limited_number_of_homes_for_a_limited_time() {
        let homes = Homes::default();
        let (a, b) = (Arc::<str>::from("a"), Arc::<str>::from("b"));
        homes.insert("1", &a);
        tokio::time::advance(LIFETIME / 2).await;
        homes.insert("1", &b);
        homes.insert("2", &a);
        homes.insert("3", &b);
        tokio::time::advance(LIFETIME / 2).await;
        homes.insert("4", &a);
        assert_eq!(homes.get("1").as_deref(), Some("b"), "the first time has passed, but not the second one");
        homes.forget_replica("b");
        assert_eq!(["1", "2", "3"].map(|session| homes.get(session)), [None, Some(a.clone()), None]);
        homes.forget("2");
        assert_eq!(homes.get("2"), None);
        tokio::time::advance(LIFETIME).await;
        assert_eq!(homes.get("4"), None, "it has expired");
        for session in 0..=MAX {
            homes.insert(&session.to_string(), &a);
        }
        assert_eq!((homes.get("0"), homes.get("1").is_some()), (None, true));
        let entries = homes.0.lock();
        assert_eq!((entries.by_session.len(), entries.by_expiry.len()), (MAX, MAX));
    }
}
