//! Used request states.
//!
//! If Redis loses the used states, a client could use one again. So each shard has a floor: states that expire before it
//! are rejected. A floor is created when the first replica connects, and again when Redis has lost it, at the time when
//! the last state that was issued before expires.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcpgen_runtime::replicas::StoreError;

use crate::replica::{LazyScript, Replica, millis, script};

static RECORD: LazyScript = script!("record_state");
static FLOOR: LazyScript = script!("create_floor");

/// The number of shards, which can be in different nodes of a cluster.
const SHARDS: u8 = 16;

impl Replica {
    pub(crate) async fn record_state(&self, nonce: [u8; 16], until: SystemTime) -> Result<bool, StoreError> {
        let shard = self.keys.nonces(nonce[0] % SHARDS);
        let until = until.duration_since(UNIX_EPOCH).map_or(1, millis);
        let mut record = RECORD.key(format!("{shard}floor"));
        record.key(format!("{shard}{:032x}", u128::from_be_bytes(nonce)));
        record.arg(until).arg(self.lifetime());
        self.connection.script(&record).await
    }

    /// Creates the floors that do not exist.
    pub(crate) async fn create_floors(&self) -> Result<(), StoreError> {
        for shard in 0..SHARDS {
            let mut floor = FLOOR.key(format!("{}floor", self.keys.nonces(shard)));
            self.connection.script::<()>(floor.arg(self.lifetime())).await?;
        }
        Ok(())
    }

    fn lifetime(&self) -> u64 {
        millis(self.options.request_state_lifetime.max(Duration::from_millis(1)))
    }
}
