//! A session's record in the replicas' store, from which another replica takes over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mcpgen_mcp::replicas::{JournalEntry, SessionStore, StoreError, StoredSession};
use mcpgen_runtime::transport::Outcome;
use mcpgen_types::{ErrorCode, ErrorId, ErrorMessage, ErrorObject, RequestId};
use parking_lot::Mutex;

use super::event_writer::EventWriter;
use super::stream::{ResponseInfo, StreamWriter};

pub(super) struct SessionRecord {
    writer: EventWriter,
    store: Arc<dyn SessionStore>,
    /// Locked while an entry is written, so that the store ends up with the latest one.
    writing: tokio::sync::Mutex<()>,
    /// The snapshot from which another replica takes over.
    stored: Mutex<StoredSession>,
    is_stored: AtomicBool,
    /// Whether the session has ended on all replicas, so that it must be removed from the store.
    has_ended: AtomicBool,
}

impl SessionRecord {
    pub(super) fn new(stored: StoredSession, store: Arc<dyn SessionStore>, writer: EventWriter) -> Self {
        Self {
            writer,
            store,
            writing: tokio::sync::Mutex::default(),
            stored: Mutex::new(stored),
            is_stored: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        }
    }

    pub(super) fn stored(&self) -> StoredSession {
        self.stored.lock().clone()
    }

    /// Creates the writer for a stream that responds to these requests.
    pub(super) fn stream_writer(&self, requests: &[RequestId]) -> StreamWriter {
        StreamWriter { events: self.writer.clone(), requests: requests.into() }
    }

    pub(super) fn record(&self, entry: JournalEntry) {
        self.stored.lock().record(entry);
    }

    /// Writes the current entry with this key to the store. Does nothing if the session is not stored yet.
    pub(super) async fn write(&self, key: &str) -> Result<(), StoreError> {
        if !self.is_stored() {
            return Ok(());
        }
        let _one = self.writing.lock().await;
        let (id, entry) = {
            let stored = self.stored.lock();
            let entry = stored.journal.iter().find(|entry| entry.key == key).cloned();
            (stored.id.clone(), entry.unwrap_or_else(|| JournalEntry::new(key, None)))
        };
        self.store.record(&id, entry).await
    }

    /// Stops writing events, because another replica may run the session from now on.
    pub(super) fn close(&self) {
        self.writer.close();
    }

    /// Records that the session has ended on all replicas.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::SeqCst);
    }

    pub(super) fn set_stored(&self) {
        self.is_stored.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_stored(&self) -> bool {
        self.is_stored.load(Ordering::SeqCst)
    }

    /// Returns whether to remove the session from the store, because it has ended: `true` only once.
    pub(super) fn begin_removal(&self) -> bool {
        self.has_ended.load(Ordering::SeqCst) && self.is_stored.swap(false, Ordering::SeqCst)
    }
}

/// Creates the error response to a stream's requests, whose handlers died with their process. `None` if the stream
/// responds to no request.
pub(super) fn lost_response(requests: &[RequestId]) -> Option<(Vec<u8>, ResponseInfo)> {
    const WHY: &str = "the process that handled the request has died; send the request again";
    error_response(requests, &ErrorObject::new(ErrorCode::INTERNAL_ERROR, WHY))
}

/// Creates the error response to these requests. `None` if there are no requests.
pub(super) fn error_response(requests: &[RequestId], error: &ErrorObject) -> Option<(Vec<u8>, ResponseInfo)> {
    let response = |id: &RequestId| ErrorMessage::new(ErrorId::Id(id.clone()), error.clone());
    let message = match requests {
        [] => return None,
        [id] => mcpgen_types::to_vec(&response(id)),
        // A batch has one response message.
        ids => mcpgen_types::to_vec(&ids.iter().map(response).collect::<Vec<_>>()),
    };
    let id = requests.first()?.clone();
    Some((message, ResponseInfo { id, outcome: Outcome::Failed(error.code.0) }))
}
