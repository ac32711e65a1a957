//! Sessions of legacy revisions, and which replica runs each.
//!
//! A session is a hash with the fields `home`, `epoch`, `owner`, `principal`, `seq`, `bytes` (of stored events) and,
//! for each journal entry, `j:KEY` with the value `NUMBER:MESSAGE`. The numbers, counted by `seq`, order the journal.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::try_join_all;
use mcpgen_sdk::replicas::{Home, JournalEntry, StoreError, StoredSession};

use crate::error::{Unavailable, corrupt};
use crate::replica::{LazyScript, Replica, millis, script};

static RESERVE: LazyScript = script!("reserve_session");
static CREATE: LazyScript = script!("create_session");
static CLAIM: LazyScript = script!("claim_session");
static RECORD: LazyScript = script!("record_message");
static RENEW: LazyScript = script!("renew_session");
static REMOVE: LazyScript = script!("remove_session");

const CONCURRENT: usize = 64;
/// How many times to try to become a session's home.
const ATTEMPTS: usize = 16;

type Fields = HashMap<Vec<u8>, Vec<u8>>;

impl Replica {
    pub(crate) async fn create_session(&self, session: StoredSession, lifetime: Duration) -> Result<bool, StoreError> {
        let mut reserve = RESERVE.key(self.keys.sessions());
        reserve.arg(&session.id).arg(millis(lifetime)).arg(self.options.max_sessions);
        if !self.connection.script::<bool>(&reserve).await? {
            return Err(StoreError::full());
        }
        // If Redis has lost the lease, other replicas would take over the session.
        self.write_lease().await?;
        let mut create = CREATE.key(self.keys.session(&session.id));
        create.key(self.keys.streams(&session.id)).arg(self.keys.events(&session.id)).arg(millis(lifetime));
        create.arg("home").arg(&self.id).arg("epoch").arg(session.epoch).arg("seq").arg(session.journal.len());
        for (name, value) in [("owner", &session.owner), ("principal", &session.principal)] {
            if let Some(value) = value {
                create.arg(name).arg(value);
            }
        }
        for (number, entry) in session.journal.iter().enumerate() {
            if let Some(message) = &entry.message {
                create.arg(format!("j:{}", entry.key)).arg([format!("{number}:").as_bytes(), message].concat());
            }
        }
        self.connection.script(&create).await
    }

    /// Finds a session's home, or makes this replica its home. `moved` encodes the message for the previous home.
    pub(crate) async fn locate_session(
        &self,
        id: &str,
        moved: fn(&str) -> Result<Vec<u8>, StoreError>,
    ) -> Result<Option<Home>, StoreError> {
        for _ in 0..ATTEMPTS {
            let mut read = redis::cmd("HMGET");
            read.arg(self.keys.session(id)).arg("home").arg("epoch");
            let (Some(home), Some(epoch)) = self.connection.query::<(Option<String>, Option<u32>)>(&read).await? else {
                return Ok(None);
            };
            if home != self.id {
                if self.is_alive(&home).await? {
                    return Ok(Some(Home::Replica(home)));
                }
                if !self.can_tell_deaths() {
                    return Err(Unavailable::Interrupted.into());
                }
            }
            let mut claim = CLAIM.key(self.keys.session(id));
            claim.arg(&home).arg(epoch).arg(&self.id).arg(self.keys.inbox(&home)).arg(moved(id)?);
            if let Some(fields) = self.connection.script::<Option<Fields>>(&claim).await? {
                return decode(id, fields).map(Home::Here).map(Some);
            }
        }
        Err(Unavailable::Contended.into())
    }

    pub(crate) async fn record_message(&self, id: &str, entry: JournalEntry) -> Result<(), StoreError> {
        let mut record = RECORD.key(self.keys.session(id));
        record.arg(&self.id).arg(entry.key);
        if let Some(message) = &entry.message {
            record.arg(&message[..]);
        }
        match self.connection.script(&record).await? {
            true => Ok(()),
            false => Err(Unavailable::NotHome.into()),
        }
    }

    pub(crate) async fn renew_sessions(&self, ids: &[String], lifetime: Duration) -> Result<Vec<String>, StoreError> {
        let due = self.renewals.due(ids, lifetime);
        let (mut lost, mut kept) = (Vec::new(), Vec::new());
        for ids in due.ids.chunks(CONCURRENT) {
            let renewed = try_join_all(ids.iter().map(|id| self.renew_session(id, due.lifetime))).await?;
            for (id, is_renewed) in ids.iter().copied().zip(renewed) {
                if is_renewed { kept.push(id) } else { lost.push(id.clone()) }
            }
        }
        for ids in kept.chunks(1000) {
            let until = since_1970().saturating_add(millis(due.lifetime));
            let mut command = redis::cmd("ZADD");
            // `XX` skips sessions that were removed meanwhile.
            command.arg(self.keys.sessions()).arg("XX");
            for id in ids {
                command.arg(until).arg(id);
            }
            self.connection.query::<()>(&command).await?;
        }
        self.renewals.renewed(&due, kept.into_iter());
        Ok(lost)
    }

    async fn renew_session(&self, id: &str, lifetime: Duration) -> Result<bool, StoreError> {
        let mut renew = RENEW.key(self.keys.session(id));
        renew.key(self.keys.streams(id));
        renew.arg(self.keys.events(id)).arg(&self.id).arg(millis(lifetime));
        self.connection.script(&renew).await
    }

    pub(crate) async fn remove_session(&self, id: &str) -> Result<(), StoreError> {
        let mut remove = REMOVE.key(self.keys.session(id));
        remove.key(self.keys.streams(id)).arg(self.keys.events(id));
        self.connection.script::<()>(&remove).await?;
        self.connection.query(redis::cmd("ZREM").arg(self.keys.sessions()).arg(id)).await
    }
}

/// The time since 1970 in milliseconds.
fn since_1970() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, millis)
}

fn decode(id: &str, mut fields: Fields) -> Result<StoredSession, StoreError> {
    let mut text =
        |name: &str| fields.remove(name.as_bytes()).map(|it| String::from_utf8(it).map_err(corrupt)).transpose();
    let mut session = StoredSession::new(id);
    session.owner = text("owner")?;
    session.principal = text("principal")?;
    session.epoch = text("epoch")?.unwrap_or_default().parse().map_err(corrupt)?;
    let mut journal = Vec::new();
    for (name, value) in fields {
        let Some(key) = name.strip_prefix(b"j:") else { continue };
        let key = String::from_utf8(key.to_vec()).map_err(corrupt)?;
        let colon = value.iter().position(|byte| *byte == b':').ok_or_else(|| corrupt("no number"))?;
        let number: u64 = std::str::from_utf8(&value[..colon]).map_err(corrupt)?.parse().map_err(corrupt)?;
        journal.push((number, JournalEntry::new(key, Bytes::from(value).slice(colon + 1..))));
    }
    journal.sort_unstable_by_key(|(number, _)| *number);
    session.journal = journal.into_iter().map(|(_, entry)| entry).collect();
    Ok(session)
}
