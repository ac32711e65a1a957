//! A client-side cache of results (2026-07-28).

use std::collections::HashMap;
use std::sync::MutexGuard;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcpgen_types::codec::Decode;
use mcpgen_types::{JsonObject, RawJson, Request};
use tokio::time::Instant;

use crate::jsonrpc::json::Picked;
use crate::peer::{CallError, Peer, member};
use crate::protocol::cache_hints::CACHEABLE;
use crate::protocol::change::{Change, is_part};
use crate::util::lock::Mutex;

/// Caches the results of one server for as long as they are fresh.
///
/// A client uses no cache unless you create one. Create one cache per user: results that differ between users are
/// cached like all others.
#[derive(Debug)]
pub struct Cache {
    most: usize,
    kept: Mutex<HashMap<Key, Kept>>,
    /// The number of invalidations. A response to a request from before an invalidation is not cached, since it may be
    /// stale.
    forgotten: AtomicU64,
}

/// A method, and its params without `_meta`.
type Key = (&'static str, String);

#[derive(Debug)]
struct Kept {
    until: Instant,
    /// The URI of the resource, if the result belongs to one.
    uri: Option<String>,
    result: RawJson,
}

impl Cache {
    /// Creates a cache for at most this many results. When it is full, the result that expires first is removed.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default(), forgotten: AtomicU64::new(0) }
    }

    /// Returns the cached result if it is fresh. Otherwise sends the request, like [`Peer::call`].
    ///
    /// # Errors
    ///
    /// The call fails, or the result cannot be decoded.
    pub async fn call<R: Request>(&self, peer: &Peer, params: R::Params) -> Result<R::Result, CallError> {
        let invalid = |error: mcpgen_types::Error| {
            CallError::Invalid(error.with_type_name(format!("{} result", R::METHOD)).into())
        };
        let params = member(&params);
        let mut without: JsonObject = params.as_ref().and_then(|params| params.decode().ok()).unwrap_or_default();
        without.remove("_meta");
        let uri = without.get("uri").and_then(serde_json::Value::as_str).map(str::to_owned);
        let key = (R::METHOD, mcpgen_types::to_string(&without));
        let forgotten = self.forgotten.load(Ordering::SeqCst);
        let fresh = self.kept().get(&key).map(|kept| kept.result.clone());
        let result = match fresh {
            Some(result) => result,
            None => {
                let result = peer.request_as::<RawJson>(R::METHOD, R::REVISION, params).await?;
                if self.forgotten.load(Ordering::SeqCst) == forgotten {
                    self.keep(key, uri, &result);
                }
                result
            }
        };
        result.decode().map_err(invalid)
    }

    /// Removes the results that a change affects.
    pub fn changed(&self, change: &Change) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        self.kept().retain(|(method, _), kept| match change {
            Change::Tools => *method != "tools/list",
            Change::Prompts => *method != "prompts/list",
            Change::Resources => !matches!(*method, "resources/list" | "resources/templates/list"),
            Change::Resource(uri) => !kept.uri.as_ref().is_some_and(|kept| is_part(uri, kept)),
        });
    }

    /// Removes all results.
    pub fn clear(&self) {
        self.forgotten.fetch_add(1, Ordering::SeqCst);
        self.kept().clear();
    }

    fn keep(&self, key: Key, uri: Option<String>, result: &RawJson) {
        let ttl = result.read(|result| {
            let [ttl] = Picked::values(result, &["ttlMs"]);
            ttl.and_then(|ttl| u64::decode(ttl).ok())
        });
        // A TTL that is negative or not a number is treated as zero.
        let ttl = ttl.ok().flatten().map_or(Duration::ZERO, Duration::from_millis);
        let Some(until) = Instant::now().checked_add(ttl).filter(|_| CACHEABLE.contains(&key.0) && !ttl.is_zero())
        else {
            return;
        };
        let mut kept = self.kept();
        if kept.len() >= self.most {
            let soonest = kept.iter().min_by_key(|(_, kept)| kept.until).map(|(key, _)| key.clone());
            soonest.map(|key| kept.remove(&key));
        }
        if self.most > 0 {
            kept.insert(key, Kept { until, uri, result: result.clone() });
        }
    }

    /// Locks the cache and removes the results that are no longer fresh.
    fn kept(&self) -> MutexGuard<'_, HashMap<Key, Kept>> {
        let mut kept = self.kept.lock();
        let now = Instant::now();
        kept.retain(|_, kept| kept.until > now);
        kept
    }
}
