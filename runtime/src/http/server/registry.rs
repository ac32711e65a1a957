//! The sessions of an endpoint, ordered for eviction of the least recently used.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::Instant;

use super::quota::Quota;
use super::session::Session;
use super::session_record::SessionRecord;

/// The sessions of an endpoint, by ID and by last use.
#[derive(Default)]
pub(super) struct Registry {
    by_id: HashMap<String, Entry>,
    /// Sessions by last known use. Keys are updated only during eviction, so that using a session costs nothing here.
    by_use: BTreeMap<Key, Arc<Session>>,
    count: u64,
}

/// The time of last use, and a number that makes the key unique.
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

    /// Returns the IDs of the sessions that are in the store of the replicas.
    pub(super) fn stored_ids(&self) -> Vec<String> {
        let is_stored = |session: &Session| session.record.as_ref().is_some_and(SessionRecord::is_stored);
        let sessions = self.by_id.values().map(|entry| &entry.session);
        sessions
            .filter(|session| is_stored(session) && !session.has_ended())
            .map(|session| session.id.clone())
            .collect()
    }

    /// Adds a session. Its quota is released when the session is removed.
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
    /// A session that was used since its key was set gets a new key and stays, so the cost is amortized over the
    /// requests that used it. A session that is in use moves to the end.
    pub(super) fn evict(&mut self) -> bool {
        let start = Instant::now();
        while let Some(((known, number), session)) = self.by_use.pop_first() {
            let used = session.idle_since();
            if used.is_none() && known >= start {
                // All sessions from here on are in use too.
                self.by_use.insert((known, number), session);
                return false;
            }
            if used.is_some_and(|used| used <= known) {
                self.by_id.remove(&session.id);
                session.end();
                tracing::debug!("evicted the least recently used idle session");
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

    /// Removes and ends the least recently used idle session of an owner. Returns `false` if the owner has no
    /// idle session.
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
