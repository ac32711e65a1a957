//! The sessions of an endpoint, and which of them has been idle for longest.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::Instant;

use super::quota::Quota;
use super::session::Session;

/// The sessions of an endpoint, by id and by last use.
#[derive(Default)]
pub(super) struct Registry {
    by_id: HashMap<String, Entry>,
    /// By last use as far as it is known. The keys are brought up to date only when a session is to be evicted, so that
    /// using a session costs nothing here.
    by_use: BTreeMap<Key, Arc<Session>>,
    count: u64,
}

/// When a session was last used, and a number that tells it from others.
type Key = (Instant, u64);

struct Entry {
    session: Arc<Session>,
    key: Key,
    _quota: Option<Quota>,
}

impl Registry {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Session>> {
        self.by_id.get(id).map(|entry| &entry.session)
    }

    /// Adds a session. The quota is held until it is removed.
    pub(super) fn insert(&mut self, session: &Arc<Session>, quota: Option<Quota>) {
        self.count += 1;
        let key = (Instant::now(), self.count);
        self.by_use.insert(key, Arc::clone(session));
        let entry = Entry { session: Arc::clone(session), key, _quota: quota };
        self.by_id.insert(session.id.clone(), entry);
    }

    pub(super) fn remove(&mut self, id: &str) {
        if let Some(entry) = self.by_id.remove(id) {
            self.by_use.remove(&entry.key);
        }
    }

    /// Removes and ends the least recently used idle session. Returns `false` if no session is idle.
    ///
    /// A session whose key is older than its last use moves to its place, so the cost is spread over the requests that used
    /// it. A session that is in use moves to the end.
    pub(super) fn evict(&mut self) -> bool {
        let start = Instant::now();
        while let Some(((known, number), session)) = self.by_use.pop_first() {
            let used = session.idle_since();
            if used.is_none() && known >= start {
                // All that follow are in use too.
                self.by_use.insert((known, number), session);
                return false;
            }
            if used.is_some_and(|used| used <= known) {
                self.by_id.remove(&session.id);
                session.end();
                tracing::debug!("the least recently used idle session is evicted");
                return true;
            }
            let key = (used.unwrap_or_else(Instant::now), number);
            if let Some(entry) = self.by_id.get_mut(&session.id) {
                entry.key = key;
                self.by_use.insert(key, session);
            }
        }
        false
    }

    /// Removes and ends the least recently used idle session of an owner. Returns `false` if none is idle.
    pub(super) fn evict_of(&mut self, owner: &Arc<str>) -> bool {
        let of_owner = self.by_id.values().filter(|entry| entry.session.owner.as_ref() == Some(owner));
        let idle = of_owner.filter_map(|entry| Some((entry.session.idle_since()?, &entry.session)));
        let Some(session) = idle.min_by_key(|(used, _)| *used).map(|(_, session)| Arc::clone(session)) else {
            return false;
        };
        self.remove(&session.id);
        session.end();
        true
    }
}
