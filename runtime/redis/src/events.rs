//! Events of streams.
//!
//! A hash has a field for each of a session's streams: `LAST:DROPPED:BYTES:REQUESTS`. A stream's events are a list of
//! texts, each with the event's number, `1` for the last event or `0` for others, and the message. Numbers have 20
//! digits so that scripts can compare them as text, because Lua's numbers are doubles.

use bytes::Bytes;
use mcpgen_sdk::replicas::{StoreError, StoredEvent, StoredStream, StreamId};

use crate::error::{Unavailable, corrupt};
use crate::replica::{LazyScript, Replica, script};

static APPEND: LazyScript = script!("append_events");
static READ: LazyScript = script!("read_streams");
static REMOVE: LazyScript = script!("remove_stream");

const DIGITS: usize = 20;
/// Maximum number of events that a script appends at once.
const BATCH: usize = 1000;

impl Replica {
    pub(crate) async fn append_events(
        &self,
        stream: &StreamId,
        requests: &[String],
        events: Vec<StoredEvent>,
    ) -> Result<(), StoreError> {
        let session = &stream.session;
        let requests = serde_json::to_string(requests).map_err(corrupt)?;
        let mut batches = events.chunks(BATCH).collect::<Vec<_>>();
        if batches.is_empty() {
            batches.push(&[]);
        }
        for batch in batches {
            let number = |number: u64| format!("{number:0DIGITS$}");
            let mut append = APPEND.key(self.keys.session(session));
            append.key(self.keys.streams(session)).key(self.keys.events(session) + &stream.number.to_string());
            append.arg(&self.id).arg(stream.number).arg(&requests).arg(self.options.max_stream_bytes);
            append.arg(self.options.max_streams).arg(self.options.max_session_bytes).arg(self.keys.events(session));
            append.arg(number(batch.first().map_or(0, |first| first.number.saturating_sub(1))));
            for event in batch {
                append.arg(number(event.number)).arg(u8::from(event.is_last)).arg(&event.message[..]);
            }
            if !self.connection.script::<bool>(&append).await? {
                return Err(Unavailable::NotHome.into());
            }
        }
        Ok(())
    }

    pub(crate) async fn read_streams(&self, session: &str) -> Result<Vec<StoredStream>, StoreError> {
        let mut read = READ.key(self.keys.session(session));
        read.key(self.keys.streams(session)).arg(self.keys.events(session));
        let found: Vec<(u64, Vec<u8>, Vec<Vec<u8>>)> = self.connection.script(&read).await?;
        let streams = found.into_iter().map(|(number, head, events)| decode_stream(number, &head, events));
        let mut streams = streams.collect::<Result<Vec<_>, _>>()?;
        streams.sort_unstable_by_key(|stream| stream.number);
        Ok(streams)
    }

    pub(crate) async fn remove_stream(&self, stream: &StreamId) -> Result<(), StoreError> {
        let session = &stream.session;
        let mut remove = REMOVE.key(self.keys.session(session));
        remove.key(self.keys.streams(session)).key(self.keys.events(session) + &stream.number.to_string());
        remove.arg(stream.number);
        self.connection.script(&remove).await
    }
}

fn decode_stream(number: u64, head: &[u8], events: Vec<Vec<u8>>) -> Result<StoredStream, StoreError> {
    let head = std::str::from_utf8(head).map_err(corrupt)?;
    let mut parts = head.splitn(4, ':');
    let mut part = || parts.next().ok_or_else(|| corrupt("a part of a stream is missing"));
    let _last = part()?;
    let dropped = part()?.parse().map_err(corrupt)?;
    let _bytes = part()?;
    let requests = serde_json::from_str(part()?).map_err(corrupt)?;
    let events = events.into_iter().map(decode_event).collect::<Result<_, _>>()?;
    Ok(StoredStream { number, requests, events, dropped })
}

fn decode_event(event: Vec<u8>) -> Result<StoredEvent, StoreError> {
    let event = Bytes::from(event);
    let (Some(number), Some(flag)) = (event.get(..DIGITS), event.get(DIGITS)) else {
        return Err(corrupt("an event is too short"));
    };
    let number = std::str::from_utf8(number).map_err(corrupt)?.parse().map_err(corrupt)?;
    Ok(StoredEvent { number, is_last: *flag == b'1', message: event.slice(DIGITS + 1..) })
}
