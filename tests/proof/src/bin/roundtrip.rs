//! Tests the types with documents from other sources: reads lines of JSON and answers each with a line of JSON.
//!
//! Input: `{"revision": "2026-07-28", "type": "CallToolResult", "value": …}`, where `type` is the name in the schema.
//! Output: `{"ok": true, "value": …}` with the value after decoding and encoding, or `{"ok": false, "error": {"path":
//! …, "message": …}}`, where `path` is a JSON Pointer.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufWriter, Write};

use mcpgen_proof::registry::{Entry, REGISTRY};
use serde_json::value::RawValue;

fn main() -> io::Result<()> {
    let entries: HashMap<(&str, &str), &Entry> =
        REGISTRY.iter().map(|entry| ((entry.revision, entry.definition), entry)).collect();
    let mut out = BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let output = match recode(&entries, &line) {
            Ok(value) => format!("{{\"ok\":true,\"value\":{value}}}"),
            Err((path, message)) => {
                let error = serde_json::json!({"ok": false, "error": {"path": path, "message": message}});
                error.to_string()
            }
        };
        match writeln!(out, "{output}") {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    match out.flush() {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        flushed => flushed,
    }
}

/// Decodes the value in a line and encodes it again.
///
/// # Errors
///
/// Returns the path and the message of the error. The path is empty if the line itself is invalid.
fn recode(entries: &HashMap<(&str, &str), &Entry>, line: &[u8]) -> Result<String, (String, String)> {
    let here = |message: String| (String::new(), message);
    let members: BTreeMap<String, Box<RawValue>> =
        serde_json::from_slice(line).map_err(|error| here(format!("the line is not a JSON object: {error}")))?;
    let text = |name: &str| -> Result<String, (String, String)> {
        let raw = members.get(name).ok_or_else(|| here(format!("the line has no member `{name}`")))?;
        serde_json::from_str(raw.get()).map_err(|_| here(format!("the line's `{name}` is not a string")))
    };
    let (revision, definition) = (text("revision")?, text("type")?);
    let entry = entries.get(&(revision.as_str(), definition.as_str())).ok_or_else(|| {
        let known = entries.keys().any(|(known, _)| *known == revision);
        here(if known {
            format!("revision {revision} has no definition {definition:?}")
        } else {
            format!("unknown revision {revision:?}")
        })
    })?;
    let value = members.get("value").ok_or_else(|| here("the line has no member `value`".to_owned()))?;
    (entry.text)(value.get()).map_err(|error| (error.path(), error.to_string()))
}
