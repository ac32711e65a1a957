//! Publishes changes to all replicas through a Redis stream.
//!
//! A counter, which starts from the time in microseconds, numbers the changes. A replica that finds a gap has missed
//! changes, even if Redis has lost the stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::replicas::{BusEvent, StoreError};
use redis::streams::StreamReadReply;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;

use crate::connection::Backoff;
use crate::error::corrupt;
use crate::replica::{LazyScript, Replica, script};

static PUBLISH: LazyScript = script!("publish_change");
static POSITION: LazyScript = script!("last_change");

/// How far a subscriber may lag.
const BUFFER: usize = 1024;
const BLOCK: Duration = Duration::from_secs(1);
const BATCH: usize = 256;

pub(crate) struct Changes {
    replica: Arc<Replica>,
    events: broadcast::Sender<BusEvent>,
    /// Whether publishing a change failed, so that all replicas must be told that they have missed something.
    has_failed: AtomicBool,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Published {
    Tools,
    Prompts,
    Resources,
    Resource(String),
    Task(String),
    /// Some changes could not be published.
    Unknown,
}

impl Published {
    fn new(change: &Change) -> Self {
        match change {
            Change::Tools => Self::Tools,
            Change::Prompts => Self::Prompts,
            Change::Resources => Self::Resources,
            Change::Resource(uri) => Self::Resource(uri.clone()),
            Change::Task(id) => Self::Task(id.clone()),
            // A kind of change that this version does not know.
            _ => Self::Unknown,
        }
    }

    fn event(self) -> BusEvent {
        BusEvent::Change(match self {
            Self::Tools => Change::Tools,
            Self::Prompts => Change::Prompts,
            Self::Resources => Change::Resources,
            Self::Resource(uri) => Change::Resource(uri),
            Self::Task(id) => Change::Task(id),
            Self::Unknown => return BusEvent::Missed,
        })
    }
}

/// The number of the last change that was read, and the highest number that is known to exist.
struct Position {
    last: u64,
    known: u64,
}

impl Changes {
    pub(crate) fn new(replica: Arc<Replica>) -> Self {
        Self { replica, events: broadcast::channel(BUFFER).0, has_failed: AtomicBool::new(false) }
    }

    pub(crate) async fn publish(&self, change: &Change) -> Result<(), StoreError> {
        let result = self.append(&Published::new(change)).await;
        if result.is_err() {
            self.has_failed.store(true, Ordering::SeqCst);
        }
        result
    }

    /// If a change could not be published, tells all replicas that they have missed something.
    pub(crate) async fn repair(&self) -> Result<(), StoreError> {
        if self.has_failed.swap(false, Ordering::SeqCst)
            && let Err(error) = self.append(&Published::Unknown).await
        {
            self.has_failed.store(true, Ordering::SeqCst);
            return Err(error);
        }
        Ok(())
    }

    async fn append(&self, change: &Published) -> Result<(), StoreError> {
        let [log, count] = self.replica.keys.changes();
        let mut publish = PUBLISH.key(log);
        publish.key(count).arg(self.replica.options.max_changes).arg(&self.replica.id);
        publish.arg(serde_json::to_string(change).map_err(corrupt)?);
        self.replica.connection.script(&publish).await
    }

    pub(crate) fn subscribe(&self) -> BoxStream<'static, BusEvent> {
        let events = self.events.subscribe();
        stream::unfold(events, |mut events| async move {
            let event = match events.recv().await {
                Ok(event) => event,
                Err(broadcast::error::RecvError::Lagged(_)) => BusEvent::Missed,
                Err(broadcast::error::RecvError::Closed) => return None,
            };
            Some((event, events))
        })
        .boxed()
    }

    /// The number of the last change.
    pub(crate) async fn last(&self) -> Result<u64, StoreError> {
        let [_, count] = self.replica.keys.changes();
        self.replica.connection.script(&POSITION.key(count)).await
    }

    /// Reads changes, and reconnects if the connection is lost.
    pub(crate) async fn run(self: Arc<Self>, last: u64) {
        let mut position = Position { last, known: last };
        let mut backoff = Backoff::default();
        loop {
            let Err(error) = self.read(&mut position, &mut backoff).await;
            tracing::warn!(%error, "cannot read changes from other replicas; trying again");
            backoff.wait().await;
            // Another replica may have failed to publish a change meanwhile.
            self.send(BusEvent::Missed);
        }
    }

    async fn read(&self, position: &mut Position, backoff: &mut Backoff) -> Result<Infallible, StoreError> {
        let [log, _] = self.replica.keys.changes();
        let mut connection = self.replica.connection.blocking(BLOCK).await?;
        loop {
            let mut read = redis::cmd("XREAD");
            read.arg("COUNT").arg(BATCH).arg("BLOCK").arg(BLOCK.as_millis() as u64);
            read.arg("STREAMS").arg(&log).arg(format!("{}-0", position.last));
            let reply: Option<StreamReadReply> =
                read.query_async(&mut connection).await.map_err(crate::error::redis_error)?;
            *backoff = Backoff::default();
            let entries: Vec<_> = reply.into_iter().flat_map(|it| it.keys).flat_map(|key| key.ids).collect();
            if entries.is_empty() {
                // The counter had reached `known` before this read, so entries up to there are lost.
                if position.known != position.last {
                    self.send(BusEvent::Missed);
                    position.last = position.known;
                }
                position.known = self.last().await?;
            }
            for entry in entries {
                let number = entry
                    .id
                    .split('-')
                    .next()
                    .and_then(|it| it.parse().ok())
                    .ok_or_else(|| corrupt(entry.id.clone()))?;
                if number != position.last + 1 {
                    self.send(BusEvent::Missed);
                }
                *position = Position { last: number, known: position.known.max(number) };
                let replica: Option<String> = entry.get("replica");
                if replica.as_ref() != Some(&self.replica.id) {
                    let change: Option<String> = entry.get("change");
                    // Another version of the crate may publish other kinds of changes.
                    let change = change.and_then(|change| serde_json::from_str(&change).ok());
                    self.send(change.unwrap_or(Published::Unknown).event());
                }
            }
        }
    }

    fn send(&self, event: BusEvent) {
        // Fails only if there are no subscribers.
        let _ = self.events.send(event);
    }
}
