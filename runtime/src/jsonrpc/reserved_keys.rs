//! Finds member names that serde_json reserves.
//!
//! serde_json's `Value` reads an object whose first key is one of these as a number, or as the JSON text in its string,
//! with a new recursion limit for each. Untrusted input must not trigger that, so
//! [`Envelope`](crate::jsonrpc::envelope::Envelope) rejects messages with such a key before any handler sees them.

use mcpgen_types::codec::{Cursor, MAX_DEPTH};
use mcpgen_types::{Error, ErrorKind};
use memchr::{memchr2, memmem};

const RESERVED: [&str; 2] = ["$serde_json::private::Number", "$serde_json::private::RawValue"];

/// The common prefix of both names.
const PREFIX: &[u8] = b"$serde_json::private::";

/// Returns the error for the first reserved key in a value, even if the key is escaped.
pub(crate) fn find(json: Cursor<'_>) -> Option<Error> {
    let text = json.text();
    let bytes = text.as_bytes();
    // Almost no text passes these filters.
    memchr2(b'$', b'\\', bytes)?;
    if memmem::find(bytes, PREFIX).is_none() && memmem::find(bytes, b"\\u").is_none() {
        return None;
    }
    find_in(json, MAX_DEPTH).map(|error| error.located_from(json))
}

fn find_in(json: Cursor<'_>, depth: u32) -> Option<Error> {
    // The depth limit rejects values that are nested deeper.
    let depth = depth.checked_sub(1)?;
    if let Ok(mut elements) = json.elements() {
        return elements.find_map(|element| find_in(element, depth));
    }
    json.members().ok()?.find_map(|(name, value)| match name.as_str() {
        Some(name) if RESERVED.contains(&&*name) => Some(reserved(value)),
        _ => find_in(value, depth),
    })
}

#[cold]
fn reserved(value: Cursor<'_>) -> Error {
    let message = "serde_json reserves this key, so it is not accepted; rename it".to_owned();
    value.error(ErrorKind::Custom { message })
}
