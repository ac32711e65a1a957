//! Finds the session of a request.
//!
//! Each legacy connection has its own session. Modern requests have no connection: those of the same principal, with
//! the same client info and capabilities, share a session.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcpgen_bridge::{Downstream, Greeting};
use mcpgen_sdk::Context;
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::protocol::info::LocalInfo;
use mcpgen_sdk::protocol::{ContextExt, PeerExt};
use mcpgen_sdk::transport::Principal;
use mcpgen_types::ErrorObject;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::servers::Servers;
use crate::session::Session;

/// How long a session of modern clients is kept without requests. Longer than a call waits for input (15 minutes).
const IDLE: Duration = Duration::from_secs(20 * 60);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// By [`Peer::connection_key`](mcpgen_sdk::Peer::connection_key). The session holds the peer, so the key is unique.
    Connection(usize),
    Client {
        principal: Option<Arc<str>>,
        capabilities: String,
        implementation: String,
    },
}

struct Entry {
    session: Arc<Session>,
    principal: Option<Arc<str>>,
    used: Instant,
    /// The task that removes the session when its client has gone.
    removal: AbortHandle,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.removal.abort();
    }
}

/// The sessions of all clients.
pub(crate) struct Sessions {
    ours: LocalInfo,
    servers: Mutex<Arc<Servers>>,
    max: usize,
    entries: Mutex<HashMap<Key, Entry>>,
    myself: Weak<Self>,
}

impl Sessions {
    pub(crate) fn new(ours: LocalInfo, servers: Arc<Servers>, max: usize) -> Arc<Self> {
        let servers = Mutex::new(servers);
        Arc::new_cyclic(|myself| Self { ours, servers, max, entries: Mutex::default(), myself: myself.clone() })
    }

    /// Returns the servers of the current configuration.
    pub(crate) fn servers(&self) -> Arc<Servers> {
        Arc::clone(&self.servers.lock())
    }

    /// Returns how many of the `max` clients one principal can have.
    pub(crate) fn per_principal(max: usize) -> usize {
        (max / 4).max(1)
    }

    /// Makes all sessions use these servers from now on. Requests in flight complete on the old ones.
    pub(crate) fn replace_servers(&self, servers: &Arc<Servers>) {
        let mut entries = self.entries.lock();
        *self.servers.lock() = Arc::clone(servers);
        for entry in entries.values_mut() {
            let session = entry.session.successor(Arc::clone(servers));
            entry.session = Arc::clone(&session);
            tokio::spawn(async move { session.begin().await });
        }
    }

    /// Returns the session to which a message belongs, and creates it for the first message. Returns `None` if the
    /// sender is not known: modern notifications do not name it.
    pub(crate) fn of(&self, context: &Context) -> Result<Option<Arc<Session>>, ErrorObject> {
        let is_legacy = context.revision().is_legacy();
        let peer = context.peer().of_connection();
        let of_connection = if is_legacy { peer.peer_info() } else { None };
        let Some(info) = context.peer_info().cloned().or(of_connection) else { return Ok(None) };
        let principal: Option<Arc<str>> = context.principal().cloned().map(|principal: Principal| principal.into());
        let key = match is_legacy {
            true => Key::Connection(peer.connection_key()),
            false => Key::Client {
                principal: principal.clone(),
                capabilities: mcpgen_types::to_string(&info.capabilities),
                implementation: mcpgen_types::to_string(&info.implementation),
            },
        };
        let now = Instant::now();
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get_mut(&key) {
            entry.used = now;
            return Ok(Some(Arc::clone(&entry.session)));
        }
        let of_principal = entries.values().filter(|entry| principal.is_some() && entry.principal == principal);
        let evicted = match (of_principal.count() >= Self::per_principal(self.max), entries.len() >= self.max) {
            (true, _) => evict(&mut entries, |entry| entry.principal == principal).map(Some),
            (_, true) => evict(&mut entries, |_| true).map(Some),
            (false, false) => Some(None),
        };
        let evicted = evicted.ok_or_else(|| errors::limit_exceeded("too many clients; try again later"))?;
        let session = Session::new(Downstream::new(&self.ours, Greeting::from(&*info)), self.servers());
        let (sessions, removed) = (self.myself.clone(), key.clone());
        if is_legacy {
            session.client.connected(peer.clone());
        }
        let removal = tokio::spawn(async move {
            let mut is_removed = false;
            while !is_removed {
                match is_legacy {
                    true => peer.disconnected().await,
                    false => tokio::time::sleep(IDLE).await,
                }
                let Some(sessions) = sessions.upgrade() else { return };
                let has_ended = |entry: &Entry| is_legacy || (is_idle(entry) && entry.used.elapsed() >= IDLE);
                is_removed = sessions.remove_if(&removed, has_ended);
            }
        });
        let entry = Entry { session: Arc::clone(&session), principal, used: now, removal: removal.abort_handle() };
        entries.insert(key, entry);
        drop(entries);
        drop(evicted);
        Ok(Some(session))
    }

    /// Removes a session if `wanted` returns true. Returns whether there is no such session any more.
    fn remove_if(&self, key: &Key, wanted: impl Fn(&Entry) -> bool) -> bool {
        let mut entries = self.entries.lock();
        match entries.get(key) {
            Some(entry) if !wanted(entry) => false,
            _ => {
                let removed = entries.remove(key);
                drop(entries);
                drop(removed);
                true
            }
        }
    }

    /// Ends all sessions.
    pub(crate) fn clear(&self) {
        let ended = std::mem::take(&mut *self.entries.lock());
        drop(ended);
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }
}

/// Returns whether no request uses the session and the client has no subscription.
fn is_idle(entry: &Entry) -> bool {
    Arc::strong_count(&entry.session) == 1 && Arc::strong_count(&entry.session.subscriptions) == 1
}

/// Removes the idle session of modern clients that has been unused for the longest time, among those for which
/// `wanted` returns true.
fn evict(entries: &mut HashMap<Key, Entry>, wanted: impl Fn(&Entry) -> bool) -> Option<Entry> {
    let is_modern = |key: &Key| matches!(key, Key::Client { .. });
    let idle = entries.iter().filter(|(key, entry)| is_modern(key) && is_idle(entry) && wanted(entry));
    let oldest = idle.min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone())?;
    entries.remove(&oldest)
}
