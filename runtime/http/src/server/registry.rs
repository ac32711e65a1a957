//! An endpoint's sessions, with eviction of the least recently used.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::time::Instant;

use super::quota::Quota;
use super::session::Session;
use super::session_record::SessionRecord;

/// An endpoint's sessions, by ID and by last use.
#[derive(Default)]
pub(super) struct Registry {
    by_id: HashMap<String, Entry>,
    all: LastUse,
    of_owners: HashMap<Arc<str>, LastUse>,
    count: u64,
}

struct Entry {
    session: Arc<Session>,
    number: u64,
    _quota: Option<Quota>,
}

impl Registry {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    pub(super) fn get(&self, id: &str) -> Option<&Arc<Session>> {
        self.by_id.get(id).map(|entry| &entry.session)
    }

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
        let number = self.count;
        self.all.insert(number, session);
        if let Some(owner) = &session.owner {
            self.of_owners.entry(Arc::clone(owner)).or_default().insert(number, session);
        }
        self.by_id.insert(session.id.clone(), Entry { session: Arc::clone(session), number, _quota: quota });
    }

    pub(super) fn remove(&mut self, id: &str) {
        let Some(Entry { session, number, .. }) = self.by_id.remove(id) else { return };
        self.all.remove(number);
        if let Some(owner) = &session.owner
            && let Some(of_owner) = self.of_owners.get_mut(owner)
        {
            of_owner.remove(number);
            if of_owner.keys.is_empty() {
                self.of_owners.remove(owner);
            }
        }
    }

    /// Removes and ends the least recently used idle session. Returns `false` if none is idle.
    pub(super) fn evict(&mut self) -> bool {
        let idle = self.all.least_recently_used();
        self.end(idle)
    }

    /// Like [`evict`](Self::evict), but only among an owner's sessions.
    pub(super) fn evict_of(&mut self, owner: &Arc<str>) -> bool {
        let idle = self.of_owners.get_mut(owner).and_then(LastUse::least_recently_used);
        self.end(idle)
    }

    fn end(&mut self, idle: Option<Arc<Session>>) -> bool {
        let Some(session) = idle else { return false };
        self.remove(&session.id);
        session.evict();
        tracing::debug!("evicted the least recently used idle session");
        true
    }
}

/// Sessions by last known use. Keys are updated only by [`least_recently_used`](Self::least_recently_used), so that
/// using a session costs nothing here.
#[derive(Default)]
struct LastUse {
    sessions: BTreeMap<Key, Arc<Session>>,
    /// The key of each session, by session number.
    keys: HashMap<u64, Key>,
}

/// How many busy sessions a search for an idle one may skip.
const MAX_IN_USE: usize = 256;

/// Time of last use, and the session's number, which makes the key unique.
type Key = (Instant, u64);

impl LastUse {
    fn insert(&mut self, number: u64, session: &Arc<Session>) {
        self.set((Instant::now(), number), Arc::clone(session));
    }

    fn set(&mut self, key: Key, session: Arc<Session>) {
        self.keys.insert(key.1, key);
        self.sessions.insert(key, session);
    }

    fn remove(&mut self, number: u64) {
        if let Some(key) = self.keys.remove(&number) {
            self.sessions.remove(&key);
        }
    }

    /// Returns the least recently used idle session.
    ///
    /// A session used since its key was set gets a new key, so the cost is spread over the requests that used it. A
    /// busy session moves to the end. After [`MAX_IN_USE`] busy sessions the search gives up, and the next search
    /// continues from there.
    fn least_recently_used(&mut self) -> Option<Arc<Session>> {
        let (start, mut in_use) = (Instant::now(), 0);
        while let Some((&(known, number), session)) = self.sessions.first_key_value() {
            let used = session.idle_since();
            if used.is_some_and(|used| used <= known) {
                return Some(Arc::clone(session));
            }
            if used.is_none() {
                // A busy session gets the current time as its key, so all keys from `start` on are of busy sessions.
                if known >= start || in_use == MAX_IN_USE {
                    return None;
                }
                in_use += 1;
            }
            let (_, session) = self.sessions.pop_first()?;
            self.set((used.unwrap_or_else(Instant::now), number), session);
        }
        None
    }
}
