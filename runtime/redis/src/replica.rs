//! A replica and its lease.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use mcpgen_sdk::replicas::StoreError;
use redis::Script;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::keys::Keys;
use crate::options::RedisOptions;
use crate::renewals::Renewals;

pub(crate) struct Replica {
    pub(crate) id: String,
    pub(crate) connection: Connection,
    pub(crate) keys: Keys,
    pub(crate) options: RedisOptions,
    pub(crate) renewals: Renewals,
    lease: Mutex<Lease>,
    has_left: AtomicBool,
    /// Keeps a renewal in flight from writing the lease again after it was deleted.
    writing: tokio::sync::Mutex<()>,
}

struct Lease {
    renewed: Instant,
    /// A missing lease means that its replica has died, but only from this time on: after a gap in our own renewals,
    /// the other replicas need time to renew their leases.
    steady: Instant,
}

impl Replica {
    pub(crate) async fn connect(options: RedisOptions) -> Result<Self, StoreError> {
        let random = random::<16>()?;
        let now = Instant::now();
        let replica = Self {
            id: format!("{:032x}", u128::from_be_bytes(random)),
            connection: Connection::open(&options).await?,
            keys: Keys::new(&options.prefix),
            options,
            renewals: Renewals::default(),
            lease: Mutex::new(Lease { renewed: now, steady: now }),
            has_left: AtomicBool::new(false),
            writing: tokio::sync::Mutex::default(),
        };
        replica.renew_lease().await?;
        Ok(replica)
    }

    /// Renews the lease, unless the replica has left.
    pub(crate) async fn renew_lease(&self) -> Result<(), StoreError> {
        let writing = self.writing.lock().await;
        self.write_lease().await?;
        drop(writing);
        let mut lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if now - lease.renewed > self.options.lease {
            lease.steady = now + self.options.lease;
        }
        lease.renewed = now;
        Ok(())
    }

    /// Writes the lease again, in case Redis has lost it. Unlike [`renew_lease`](Self::renew_lease), does not wait for
    /// other commands. If the replica leaves at the same time, the lease may come back until it expires.
    pub(crate) async fn write_lease(&self) -> Result<(), StoreError> {
        if self.has_left.load(Ordering::SeqCst) {
            return Ok(());
        }
        let mut command = redis::cmd("SET");
        command.arg(self.keys.lease(&self.id)).arg(1).arg("PX").arg(millis(self.options.lease)).arg("GET");
        if self.connection.query::<Option<u8>>(&command).await?.is_none() {
            // Other replicas may have become the home of sessions.
            self.renewals.check_all();
        }
        Ok(())
    }

    /// Deletes the lease, so that other replicas consider this one dead.
    pub(crate) async fn leave(&self) -> Result<(), StoreError> {
        self.has_left.store(true, Ordering::SeqCst);
        let _writing = self.writing.lock().await;
        self.connection.query(redis::cmd("DEL").arg(self.keys.lease(&self.id))).await
    }

    pub(crate) async fn is_alive(&self, replica: &str) -> Result<bool, StoreError> {
        self.connection.query(redis::cmd("EXISTS").arg(self.keys.lease(replica))).await
    }

    /// Whether a missing lease means that the replica has died. After an interruption, others may not have renewed
    /// their leases yet.
    pub(crate) fn can_tell_deaths(&self) -> bool {
        let lease = self.lease.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        now >= lease.steady && now - lease.renewed <= self.options.lease
    }
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], StoreError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(StoreError::unavailable)?;
    Ok(bytes)
}

pub(crate) fn millis(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).clamp(1, 1 << 45)
}

/// A script from the folder `scripts`.
pub(crate) type LazyScript = std::sync::LazyLock<Script>;

macro_rules! script {
    ($name:literal) => {
        std::sync::LazyLock::new(|| redis::Script::new(include_str!(concat!("scripts/", $name, ".lua"))))
    };
}
pub(crate) use script;
