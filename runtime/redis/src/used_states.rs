//! Used request states.
//!
//! If Redis lost the used states, a client could use one again. Hence the floor: states that expire before it are
//! rejected. The first replica to connect creates it. If Redis has lost it, a new floor is set to the time when all
//! states issued until now have expired.

use std::time::{SystemTime, UNIX_EPOCH};

use mcpgen_sdk::replicas::StoreError;

use crate::replica::{LazyScript, Replica, millis, script};

static RECORD: LazyScript = script!("record_state");
static FLOOR: LazyScript = script!("create_floor");

impl Replica {
    pub(crate) async fn record_state(&self, nonce: [u8; 16], until: SystemTime) -> Result<bool, StoreError> {
        let until = until.duration_since(UNIX_EPOCH).map_or(1, millis);
        let mut record = RECORD.key(self.keys.used_state("floor"));
        record.key(self.keys.used_state("states"));
        record.arg(until).arg(millis(self.options.request_state_lifetime));
        record.arg(&nonce).arg(self.options.max_used_states);
        match self.connection.script::<i64>(&record).await? {
            -1 => Err(StoreError::full()),
            recorded => Ok(recorded == 1),
        }
    }

    /// Does nothing if the floor exists.
    pub(crate) async fn create_floor(&self) -> Result<(), StoreError> {
        let mut floor = FLOOR.key(self.keys.used_state("floor"));
        self.connection.script(floor.arg(millis(self.options.request_state_lifetime))).await
    }
}
