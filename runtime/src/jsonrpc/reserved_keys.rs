//! Finds the object keys that serde_json reserves for itself.
//!
//! An object whose first key is reserved is read by serde_json's `Value` as a number or as embedded JSON text, and each
//! level starts with a fresh recursion limit. Untrusted input must not trigger that, so
//! [`Envelope`](crate::jsonrpc::envelope::Envelope) rejects such messages before a handler sees them.

use mcpgen_types::codec::{Cursor, MAX_DEPTH};
use mcpgen_types::{Error, ErrorKind};
use memchr::{memchr2, memmem};

const RESERVED: [&str; 2] = ["$serde_json::private::Number", "$serde_json::private::RawValue"];

/// The prefix of both reserved keys.
const PREFIX: &[u8] = b"$serde_json::private::";

/// Returns an error with the location of the first reserved key. Finds escaped keys, too.
pub(crate) fn find(json: Cursor<'_>) -> Option<Error> {
    let text = json.text();
    let bytes = text.as_bytes();
    // Few texts get past these two filters.
    memchr2(b'$', b'\\', bytes)?;
    if memmem::find(bytes, PREFIX).is_none() && memmem::find(bytes, b"\\u").is_none() {
        return None;
    }
    find_in(json, MAX_DEPTH).map(|error| error.located_from(json))
}

fn find_in(json: Cursor<'_>, depth: u32) -> Option<Error> {
    // Deeper nesting is rejected elsewhere.
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
