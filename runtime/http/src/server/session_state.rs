//! What a session retains of messages that changed its state: subscriptions, log level, client declarations.

use std::collections::HashMap;

use bytes::Bytes;
use http::StatusCode;
use mcpgen_mcp::replicas::JournalEntry;
use mcpgen_runtime::jsonrpc::envelope::{Envelope, batch, scan_bytes};
use mcpgen_types::RequestId;
use parking_lot::Mutex;

use super::budget::Charge;
use super::refusal::Refusal;
use super::request_body::StateChange;

/// A session's state, which consists of parts, each with a key. A message changes one part once its receiver has
/// accepted it.
#[derive(Default)]
pub(super) struct SessionState(Mutex<State>);

#[derive(Default)]
struct State {
    parts: HashMap<String, Part>,
    /// The changes of requests that have no response yet.
    pending: HashMap<RequestId, (StateChange, Part)>,
    /// Total size of the keys and messages of all parts and pending changes, in bytes.
    bytes: usize,
}

struct Part {
    bytes: usize,
    _memory: Charge,
}

/// The maximum number of parts, including pending ones.
const MAX_PARTS: usize = 2048;

/// The maximum total size of the keys and messages of parts, including pending ones, in bytes.
const MAX_BYTES: usize = 4 << 20;

impl SessionState {
    /// Prepares a request's change, which takes effect with [`settle`](Self::settle).
    pub(super) fn prepare(&self, id: RequestId, change: StateChange, memory: Charge) -> Result<(), Refusal> {
        let mut state = self.0.lock();
        let bytes = change.key.len() + change.message.len();
        let (parts, total) = (state.parts.len() + state.pending.len() + 1, state.bytes + bytes);
        if !change.is_reset && (parts > MAX_PARTS || total > MAX_BYTES) {
            let why = format!(
                "the session would retain {parts} parts of state from {total} bytes of messages, more than {MAX_PARTS} \
                 and {MAX_BYTES}"
            );
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        let replaced = state.pending.insert(id, (change, Part { bytes, _memory: memory }));
        state.bytes += bytes;
        state.bytes -= replaced.map_or(0, |(_, part)| part.bytes);
        Ok(())
    }

    /// Applies a request's change if it was accepted, and drops it otherwise. Returns the entry for the journal.
    pub(super) fn settle(&self, id: &RequestId, is_accepted: bool) -> Option<JournalEntry> {
        let mut state = self.0.lock();
        let (StateChange { key, is_reset, message, .. }, part) = state.pending.remove(id)?;
        if !is_accepted || is_reset {
            state.bytes -= part.bytes;
        }
        if !is_accepted {
            return None;
        }
        let replaced = if is_reset { state.parts.remove(&key) } else { state.parts.insert(key.clone(), part) };
        state.bytes -= replaced.map_or(0, |part| part.bytes);
        Some(JournalEntry::new(key, (!is_reset).then(|| Bytes::from(message))))
    }

    /// Returns whether the session waits for a response that may change its state.
    pub(super) fn has_pending(&self) -> bool {
        !self.0.lock().pending.is_empty()
    }

    /// Restores a part from a journal.
    pub(super) fn restore(&self, key: &str, bytes: usize, memory: Charge) {
        let mut state = self.0.lock();
        let replaced = state.parts.insert(key.to_owned(), Part { bytes, _memory: memory });
        state.bytes += bytes;
        state.bytes -= replaced.map_or(0, |part| part.bytes);
    }

    /// Drops everything, because the session ends.
    pub(super) fn release(&self) {
        *self.0.lock() = State::default();
    }
}

/// Returns the requests of a batch that got a result.
pub(super) fn accepted(response: &[u8]) -> Vec<RequestId> {
    let Ok(document) = scan_bytes(response) else { return Vec::new() };
    let messages = batch(&document).unwrap_or_default().into_iter().flatten();
    let accepted = messages.filter_map(|message| match message {
        Envelope::Response { id, .. } => Some(id),
        _ => None,
    });
    accepted.collect()
}
