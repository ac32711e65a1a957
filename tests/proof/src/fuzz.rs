//! Checks how the types decode arbitrary bytes.
//!
//! The fuzz targets in `tests/fuzz` and the test of the committed corpus only call [`run`], [`run_edited`],
//! [`run_dispatch`] and [`run_json`]. Every panic is a finding.

mod dispatch;
mod edit;
#[path = "../../../generated/tests/json/check.rs"]
mod json;

use std::sync::OnceLock;

use mcpgen_types::Error;
use serde_json::{Value, json};

use crate::decisions::REVISIONS;
use crate::judge::within_limits;
use crate::registry::{Entry, REGISTRY};
use crate::{Proof, json_equal, whole};

pub use dispatch::run_dispatch;
pub use edit::edited;

/// The maximum length of an error message, whatever the document is.
pub const LONGEST_ERROR: usize = 1000;

/// Decodes a document: the first two bytes name a [target](target_of), and the others are the document.
///
/// # Panics
///
/// Panics if the target handles the document incorrectly.
pub fn run(data: &[u8]) {
    if let Some((target, document)) = target_of(data) {
        assert_correct(target, document);
    }
}

/// Decodes an edited document: the bytes choose a target, one of its documents, and the [edits](edited).
///
/// # Panics
///
/// Panics if the target handles the document incorrectly.
pub fn run_edited(data: &[u8]) {
    if let Some((target, document)) = edited(data) {
        assert_correct(target, document.as_bytes());
    }
}

/// Reads the bytes as JSON text.
///
/// # Panics
///
/// Panics if the result differs from that of serde_json, or between decoding functions.
pub fn run_json(data: &[u8]) {
    drop(json::check(data));
}

fn assert_correct(target: &Target, document: &[u8]) {
    if let Err(reason) = target.check(document) {
        panic!("{target}: {reason}\ndocument: {}", String::from_utf8_lossy(document));
    }
}

/// A type that documents are decoded as: the type of a definition, or an envelope.
pub struct Target {
    /// The functions that decode the type. For an envelope, `definition` is the name of its Rust type.
    pub entry: &'static Entry,
    /// Who sends the envelope: `Client` or `Server`.
    pub side: Option<&'static str>,
}

/// Returns all targets. Those of a new revision must come last, so that the files of the corpus keep their meaning.
pub fn targets() -> &'static [Target] {
    static TARGETS: OnceLock<Vec<Target>> = OnceLock::new();
    TARGETS.get_or_init(|| {
        let of_revision = |revision: &'static str| {
            let definitions = REGISTRY.iter().filter(move |entry| entry.revision == revision);
            let envelopes = ENVELOPES.iter().filter(move |(_, entry)| entry.revision == revision);
            let definitions = definitions.map(|entry| Target { entry, side: None });
            definitions.chain(envelopes.map(|(side, entry)| Target { entry, side: Some(side) }))
        };
        REVISIONS.into_iter().flat_map(of_revision).collect()
    })
}

macro_rules! envelopes {
    ($($revision:literal: $module:ident),* $(,)?) => {
        &[$(
            ("Client", Entry::of::<mcpgen_types::$module::ClientMessage>($revision, "ClientMessage", None)),
            ("Server", Entry::of::<mcpgen_types::$module::ServerMessage>($revision, "ServerMessage", None)),
        )*]
    };
}

/// The envelopes, each with its sender.
pub const ENVELOPES: &[(&str, Entry)] = envelopes! {
    "2024-11-05": v2024_11_05,
    "2025-03-26": v2025_03_26,
    "2025-06-18": v2025_06_18,
    "2025-11-25": v2025_11_25,
    "2026-07-28": v2026_07_28,
};

/// The first character that the names of targets use, and the number of possible characters.
const DIGITS: (u8, usize) = (b'!', 94);

/// Returns the target that the first two bytes name, and the remaining bytes.
#[must_use]
pub fn target_of(data: &[u8]) -> Option<(&'static Target, &[u8])> {
    let (&[high, low], rest) = data.split_first_chunk()?;
    let digit = |byte: u8| usize::from(byte.wrapping_sub(DIGITS.0));
    let index = digit(high) * DIGITS.1 + digit(low);
    Some((&targets()[index % targets().len()], rest))
}

/// Returns the name of the target with this index: two printable characters.
///
/// # Panics
///
/// Panics if the index is 94 * 94 or greater.
#[must_use]
pub fn name_of(index: usize) -> [u8; 2] {
    [index / DIGITS.1, index % DIGITS.1].map(|digit| {
        assert!(digit < DIGITS.1, "target {index} is too large for a name of two characters");
        DIGITS.0 + digit as u8
    })
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.entry.revision, self.entry.definition)
    }
}

impl Target {
    /// Returns whether the type accepts the document, and checks that it handles the document correctly.
    ///
    /// # Errors
    ///
    /// Returns an error if the decoding functions disagree, if encoding changes the document or the value, or if the
    /// judge disagrees.
    pub fn check(&self, document: &[u8]) -> Result<bool, String> {
        let decoded = self.decode_all_ways(document)?;
        let Ok(text) = std::str::from_utf8(document) else {
            return if decoded.is_err() { Ok(false) } else { Err("accepts invalid UTF-8".to_owned()) };
        };
        if let Ok(encoded) = &decoded {
            let again = (self.entry.text)(encoded).map_err(|error| error.to_string());
            if again.as_ref() != Ok(encoded) {
                return Err(format!("encodes {encoded}, which decodes to {again:?}"));
            }
            if !(self.entry.stable)(text).is_ok_and(|stable| stable) {
                return Err("decode(encode(x)) is not equal to x".to_owned());
            }
        }
        match mcpgen_model::Json::parse(text).map(serde_json::to_value) {
            Ok(value) => self.check_value(&value.expect("JSON converts to a value"), decoded.is_ok())?,
            Err(_) if decoded.is_err() => {}
            // The judge cannot check documents with duplicate keys.
            Err(error) if error.to_string().contains("duplicate key") => {}
            // An envelope does not decode its result.
            Err(_) if self.side.is_some() => {}
            Err(error) => return Err(format!("accepts invalid JSON: {error}")),
        }
        Ok(decoded.is_ok())
    }

    /// Decodes the document with every function that takes text. All must return the same result or the same error
    /// message.
    fn decode_all_ways(&self, document: &[u8]) -> Result<Result<String, Error>, String> {
        let Entry { text, bytes, reader, .. } = self.entry;
        let utf8 = |bytes: Vec<u8>| String::from_utf8(bytes).map_err(|error| error.to_string());
        let by_bytes = bytes(document);
        let message = |error: Error| error.to_string();
        let result = by_bytes.clone().map_err(message).and_then(utf8);
        let mut others = vec![("from_reader", reader(&mut &document[..]).map_err(message))];
        if let Ok(document) = std::str::from_utf8(document) {
            others.push(("from_str", text(document).map_err(message)));
        }
        if let Some((name, other)) = others.into_iter().find(|(_, other)| *other != result) {
            return Err(format!("from_slice returns {result:?}, but {name} returns {other:?}"));
        }
        match &result {
            Err(message) if message.len() > LONGEST_ERROR => Err(format!("the error message is too long: {message}")),
            Err(_) => Ok(by_bytes.map(|_| String::new())),
            Ok(encoded) => Ok(Ok(encoded.clone())),
        }
    }

    /// Compares the type with the judge, for the document as a value.
    fn check_value(&self, document: &Value, text_accepted: bool) -> Result<(), String> {
        let recoded = self.entry.recode(document);
        if recoded.is_ok() != text_accepted {
            return Err(format!("from_value returns {recoded:?}, but from_str returns the opposite"));
        }
        match (self.accepts(document), recoded) {
            (true, Ok(encoded)) if !json_equal(document, &encoded) => Err(format!("is encoded as {encoded}")),
            (true, Err(error)) => Err(format!("the judge accepts, the type rejects: {error}")),
            (false, Ok(_)) => Err("the type accepts, the judge rejects".to_owned()),
            _ => Ok(()),
        }
    }

    /// Returns whether the document is valid according to the judge and, for an envelope, according to JSON-RPC.
    #[must_use]
    pub fn accepts(&self, document: &Value) -> bool {
        let proof = Proof::of(self.entry.revision);
        match self.side {
            None => proof.accepts(self.entry.definition, document),
            Some(side) => within_limits(document) && is_message(&proof, side, document),
        }
    }

    /// Makes a document for the target, which is valid in most cases.
    ///
    /// # Panics
    ///
    /// Panics if the schema of the revision cannot be read.
    #[must_use]
    pub fn instance(&self, seed: u64, index: u64) -> Value {
        let proof = Proof::of(self.entry.revision);
        let instances = proof.instances.with_seed(seed);
        let valid = |definition: &str| match instances.definitions().contains(&definition) {
            true => instances.valid(definition, index),
            false => json!({ "method": "there is none" }),
        };
        let Some(side) = self.side else { return valid(self.entry.definition) };
        let mut message = match index % 4 {
            0 => valid(&format!("{side}Request")),
            1 => valid(&format!("{side}Notification")),
            2 => json!({ "result": valid(&format!("{side}Result")) }),
            _ => json!({ "error": { "code": -32600 - (index as i64), "message": "no", "data": [null] } }),
        };
        if let Value::Object(members) = &mut message {
            members.insert("jsonrpc".to_owned(), json!("2.0"));
            match index % 4 {
                1 => drop(members.remove("id")),
                _ => drop(members.insert("id".to_owned(), json!(index))),
            }
        }
        message
    }
}

/// Returns whether the document is a message that this side sends: a request or a notification in the schema, or a
/// response, which only JSON-RPC defines.
fn is_message(proof: &Proof, side: &str, message: &Value) -> bool {
    let has = |name| message.get(name).is_some();
    let is_id = |id: &Value| id.is_string() || is_integer(id);
    let is_of = |kind| {
        let union = format!("{side}{kind}");
        proof.instances.definitions().contains(&union.as_str()) && proof.judge.accepts(&union, message)
    };
    let kind = (has("method"), has("result"), has("error"), message.get("id"));
    message.get("jsonrpc") == Some(&json!("2.0"))
        && match kind {
            (true, false, false, Some(id)) => is_id(id) && is_of("Request"),
            (true, false, false, None) => is_of("Notification"),
            (false, true, false, id) => id.is_some_and(is_id) && message["result"].is_object(),
            (false, false, true, id) => {
                let error = &message["error"];
                id.is_none_or(|id| id.is_null() || is_id(id))
                    && error.get("code").is_some_and(is_integer)
                    && error.get("message").is_some_and(Value::is_string)
            }
            _ => false,
        }
}

fn is_integer(value: &Value) -> bool {
    let Value::Number(number) = value else { return false };
    whole(number).is_some_and(|integer| i64::try_from(integer).is_ok())
}
