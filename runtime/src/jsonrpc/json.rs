//! Converts between serde types and raw JSON, and edits raw objects without decoding the rest.

use std::borrow::Cow;
use std::ops::Range;

use mcpgen_types::codec::{Cursor, Document};
use mcpgen_types::{Json, Params};
use serde::{Serialize, de::DeserializeOwned};

/// Decodes a value. An absent value is decoded like `null`.
///
/// # Errors
///
/// Fails if the value is not valid for the type.
pub fn decode<T: DeserializeOwned>(json: Option<&Json>) -> Result<T, mcpgen_types::Error> {
    match json {
        Some(json) => json.deserialize(),
        None => Document::default().root().deserialize(),
    }
}

/// Encodes a value.
///
/// # Errors
///
/// Fails if the value cannot be expressed in JSON, such as a map whose keys are not strings.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Json> {
    Json::serialize(value).map_err(serde::ser::Error::custom)
}

/// Encodes params. Returns `None` for null.
///
/// # Errors
///
/// Fails unless the value is an object, an array or null. JSON-RPC allows no other params.
pub fn params<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Option<Json>> {
    let params = encode(value)?;
    match params.text().bytes().next() {
        Some(b'n') => Ok(None),
        Some(b'{' | b'[') => Ok(Some(params)),
        _ => Err(serde::ser::Error::custom("params must be an object or an array")),
    }
}

/// Encodes typed params. Returns `None` if they are absent.
#[must_use]
pub fn member(params: &impl Params) -> Option<Json> {
    params.to_member().is_some().then(|| Json::from(params))
}

/// Selected members of an object.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Picked<'a, const N: usize> {
    /// The values in the order of the names. If a member occurs twice, this is its last value.
    pub values: [Option<Cursor<'a>>; N],
    /// The name of a selected member that occurs twice.
    pub twice: Option<&'static str>,
    /// Whether the object has other members.
    pub others: bool,
}

impl<'a, const N: usize> Picked<'a, N> {
    /// Selects the members with these names.
    ///
    /// # Errors
    ///
    /// Fails if the value is not an object.
    pub fn from(object: Cursor<'a>, names: &'static [&'static str; N]) -> Result<Self, mcpgen_types::Error> {
        let mut picked = Self { values: [None; N], twice: None, others: false };
        for (index, _, value) in object.known_members(names)? {
            match picked.values.get_mut(index) {
                None => picked.others = true,
                Some(member) => {
                    if member.replace(value).is_some() {
                        picked.twice = Some(names[index]);
                    }
                }
            }
        }
        Ok(picked)
    }

    /// Like [`from`](Self::from), but returns only the values: all `None` unless the value is an object.
    #[must_use]
    pub fn values(object: Cursor<'a>, names: &'static [&'static str; N]) -> [Option<Cursor<'a>>; N] {
        Self::from(object, names).map_or([None; N], |picked| picked.values)
    }
}

/// Edits members of an object and leaves the rest of its text unchanged.
#[derive(Debug)]
pub struct Edit<'a> {
    object: Cursor<'a>,
    text: Cow<'a, str>,
    /// The offset of the object in its document.
    start: usize,
    /// Replaced ranges and their new text, unordered and without overlaps.
    changes: Vec<(Range<usize>, String)>,
}

impl<'a> Edit<'a> {
    /// Starts editing an object.
    #[must_use]
    pub fn of(object: Cursor<'a>) -> Self {
        Self { object, text: object.text(), start: object.range().start, changes: Vec::new() }
    }

    /// Returns whether nothing was changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Replaces `old`, which must be a value within this object.
    pub fn replace(&mut self, old: Cursor<'_>, new: String) {
        self.changes.push((self.range(old), new));
    }

    fn range(&self, value: Cursor<'_>) -> Range<usize> {
        let range = value.range();
        range.start - self.start..range.end - self.start
    }

    /// Adds a member that the object does not have yet.
    pub fn add(&mut self, name: &str, value: &str) {
        self.add_to(None, name, value);
    }

    /// Adds a member to the nested object `inside`, or to the object itself with `None`. The member must not exist yet.
    pub fn add_to(&mut self, inside: Option<Cursor<'a>>, name: &str, value: &str) {
        let object = inside.unwrap_or(self.object);
        let start = self.range(object).start;
        let is_empty = object.members().is_ok_and(|mut members| members.next().is_none());
        let is_first = is_empty && !self.changes.iter().any(|(at, _)| at.start == start + 1);
        let comma = if is_first { "" } else { "," };
        // New members are inserted at the start in reverse order, so each needs a comma unless it ends up last.
        self.changes.insert(0, (start + 1..start + 1, format!("{}:{value}{comma}", serde_json::Value::from(name))));
    }

    /// Replaces the value of a member. Does nothing if there is no such member.
    pub fn set(&mut self, name: &str, value: &str) {
        let members = self.object.members().into_iter().flatten();
        let old = members.filter(|(key, _)| key.as_str().as_deref() == Some(name)).last();
        if let Some((_, old)) = old {
            self.replace(old, value.to_owned());
        }
    }

    /// Applies the changes. Returns `None` if nothing was changed.
    ///
    /// # Errors
    ///
    /// Fails if a new value is not JSON.
    pub fn done(mut self) -> Result<Option<Json>, mcpgen_types::Error> {
        if self.changes.is_empty() {
            return Ok(None);
        }
        self.changes.sort_by_key(|(at, _)| at.start);
        let added: usize = self.changes.iter().map(|(_, new)| new.len()).sum();
        let mut text = String::with_capacity(self.text.len() + added);
        let mut end = 0;
        for (at, new) in &self.changes {
            text.push_str(&self.text[end..at.start]);
            text.push_str(new);
            end = at.end;
        }
        text.push_str(&self.text[end..]);
        Json::parse(text).map(Some)
    }
}
