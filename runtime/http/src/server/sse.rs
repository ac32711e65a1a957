//! Encodes messages as server-sent events.

use std::time::Duration;

use bytes::Bytes;

/// Encodes a message as an event. The message must not contain line breaks; encoded messages never do.
pub(super) fn event(id: Option<&str>, message: &[u8]) -> Bytes {
    let id = id.map_or_else(String::new, |id| format!("id: {id}\n"));
    [id.as_bytes(), b"data: ", message, b"\n\n"].concat().into()
}

/// Encodes a `retry` field: how long a client should wait before it reconnects.
pub(super) fn retry(after: Duration) -> Bytes {
    format!("retry: {}\n\n", after.as_millis()).into()
}

/// A comment, which keeps an idle connection alive.
pub(super) const COMMENT: Bytes = Bytes::from_static(b":\n\n");
