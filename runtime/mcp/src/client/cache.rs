//! A client-side cache for results (2026-07-28).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcpgen_runtime::jsonrpc::json::{Picked, member};
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_types::codec::Decode;
use mcpgen_types::{Json, JsonObject, MethodSpec, Request};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::lenient::{self, DecodePolicy};
use crate::protocol::change::{Change, is_part};

/// Caches one server's results for as long as the server's hints allow.
///
/// A client uses a cache only if you create one. Create one per user: results that differ between users are not kept
/// apart.
#[derive(Debug)]
pub struct Cache {
    capacity: usize,
    entries: Mutex<HashMap<Key, Entry>>,
    /// Counts invalidations. If the count changes during a request, the response may be stale and is not cached.
    invalidations: AtomicU64,
}

/// The method, and the params without `_meta`.
type Key = (&'static str, String);

#[derive(Debug)]
struct Entry {
    expires: Instant,
    /// The resource that the result belongs to, if any.
    uri: Option<String>,
    result: Json,
}

impl Cache {
    /// Creates a cache for at most this many results. A full cache evicts the result that expires first.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::default(), invalidations: AtomicU64::new(0) }
    }

    /// Returns the cached result while it is fresh. Otherwise sends the request, like [`Peer::call`].
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails, or if the result cannot be decoded.
    pub async fn call<R: Request>(&self, peer: &Peer, params: R::Params) -> Result<R::Result, CallError> {
        let invalid = |error: mcpgen_types::Error| {
            CallError::Invalid(error.with_type_name(format!("{} result", R::METHOD)).into())
        };
        let params = member(&params);
        let mut key: JsonObject = params.as_ref().and_then(|params| params.decode().ok()).unwrap_or_default();
        key.remove("_meta");
        let uri = key.get("uri").and_then(|uri| Some(uri.as_str()?.into_owned()));
        let key = (R::METHOD, mcpgen_types::to_string(&key));
        let invalidations = self.invalidations.load(Ordering::SeqCst);
        let cached = self.unexpired().get(&key).map(|entry| entry.result.clone());
        let result = match cached {
            Some(result) => result,
            None => {
                let result = peer.request_as::<Json>(R::METHOD, R::VERSION, params).await?;
                if self.invalidations.load(Ordering::SeqCst) == invalidations {
                    self.insert(key, uri, &result);
                }
                result
            }
        };
        // This repairs invalid cache hints; `insert` has treated them as "do not cache".
        let (result, repairs) = lenient::decode(&result, DecodePolicy::Strict).map_err(invalid)?;
        for repair in repairs {
            tracing::warn!(method = R::METHOD, %repair, "repaired a result");
        }
        Ok(result)
    }

    /// Removes the results that a change affects.
    pub fn invalidate(&self, change: &Change) {
        self.invalidations.fetch_add(1, Ordering::SeqCst);
        self.unexpired().retain(|(method, _), entry| match change {
            Change::Tools => *method != "tools/list",
            Change::Prompts => *method != "prompts/list",
            Change::Resources => !matches!(*method, "resources/list" | "resources/templates/list"),
            Change::Resource(uri) => !entry.uri.as_ref().is_some_and(|cached| is_part(uri, cached)),
            Change::Task(_) => true,
        });
    }

    /// Removes all results.
    pub fn clear(&self) {
        self.invalidations.fetch_add(1, Ordering::SeqCst);
        self.unexpired().clear();
    }

    fn insert(&self, key: Key, uri: Option<String>, result: &Json) {
        let ttl = result.read(|result| {
            let [ttl] = Picked::values(result, &["ttlMs"]);
            ttl.and_then(|ttl| u64::decode(ttl).ok())
        });
        // A missing or invalid TTL counts as zero.
        let ttl = ttl.ok().flatten().map_or(Duration::ZERO, Duration::from_millis);
        let Some(expires) = Instant::now()
            .checked_add(ttl)
            .filter(|_| MethodSpec::newest(key.0).is_some_and(|spec| spec.cacheable) && !ttl.is_zero())
        else {
            return;
        };
        let mut entries = self.unexpired();
        if entries.len() >= self.capacity {
            let first = entries.iter().min_by_key(|(_, entry)| entry.expires).map(|(key, _)| key.clone());
            first.map(|key| entries.remove(&key));
        }
        if self.capacity > 0 {
            entries.insert(key, Entry { expires, uri, result: result.clone() });
        }
    }

    fn unexpired(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        let mut entries = self.entries.lock();
        let now = Instant::now();
        entries.retain(|_, entry| entry.expires > now);
        entries
    }
}
