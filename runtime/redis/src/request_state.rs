//! Keys of request states, shared by all replicas.

use std::fmt;
use std::sync::Arc;

use mcpgen_sdk::replicas::StoreError;
use mcpgen_sdk::server::request_state::{RequestStateCodec, SHORTEST_KEY};

use crate::error::corrupt;
use crate::replica::{LazyScript, Replica, millis, random, script};

static KEYS: LazyScript = script!("request_state_keys");

/// How many lease durations to wait until all replicas know a new key.
const GRACE: u64 = 3;

/// Keys of request states.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestStateKeys {
    /// The key that signs. It also verifies.
    pub signing: [u8; SHORTEST_KEY],
    /// Keys that only verify: older ones, and one that will sign soon.
    pub others: Vec<[u8; SHORTEST_KEY]>,
}

impl RequestStateKeys {
    pub(crate) fn apply(&self, codec: &RequestStateCodec) {
        if let Err(error) = codec.replace_keys(self.signing, &self.others) {
            tracing::warn!(%error, "cannot replace the keys of request states");
        }
    }
}

impl fmt::Debug for RequestStateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestStateKeys").field("others", &self.others.len()).finish_non_exhaustive()
    }
}

impl Replica {
    /// Reads the keys. Creates one if the newest is older than `rotate_after` ms, and drops those whose
    /// states have all expired.
    pub(crate) async fn request_state_keys(&self, rotate_after: u64) -> Result<Arc<RequestStateKeys>, StoreError> {
        let grace = GRACE * millis(self.options.lease);
        let candidate = random::<SHORTEST_KEY>()?;
        let mut read = KEYS.key(self.keys.request_state_keys());
        read.arg(&candidate[..]).arg(rotate_after).arg(millis(self.options.request_state_lifetime) + grace);
        let (now, stored): (u64, Vec<Vec<u8>>) = self.connection.script(&read).await?;
        let mut keys = Vec::new();
        for entry in &stored {
            let (created, key) = entry.split_last_chunk::<SHORTEST_KEY>().ok_or_else(|| corrupt("a short key"))?;
            let created = std::str::from_utf8(created).map_err(corrupt)?;
            let created: u64 = created.trim_end_matches(':').parse().map_err(corrupt)?;
            keys.push((created, *key));
        }
        // Sign with the newest key that all replicas know or, failing that, with the oldest key.
        let known = keys.iter().position(|(created, _)| now.saturating_sub(*created) >= grace);
        let (_, signing) = match known {
            Some(index) => keys.remove(index),
            None => keys.pop().ok_or_else(|| corrupt("no key"))?,
        };
        Ok(Arc::new(RequestStateKeys { signing, others: keys.into_iter().map(|(_, key)| key).collect() }))
    }
}
