//! Converts between serde types and raw JSON, and reads or edits single members of raw objects without decoding the
//! rest.

use std::borrow::Cow;
use std::ops::Range;

use mcpgen_types::codec::{Cursor, Document};
use mcpgen_types::{Json, Params};
use serde::{Serialize, de::DeserializeOwned};

/// Decodes a value. An absent one decodes like an empty object.
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
/// Fails if the value has no JSON form, such as a map whose keys are not strings.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Json> {
    Json::serialize(value).map_err(serde::ser::Error::custom)
}

/// Encodes the member `params`. Returns `None` instead of null.
///
/// # Errors
///
/// Fails if the value is not an object, an array or null: JSON-RPC allows nothing else.
pub fn params<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Option<Json>> {
    let params = encode(value)?;
    match params.text().bytes().next() {
        Some(b'n') => Ok(None),
        Some(b'{' | b'[') => Ok(Some(params)),
        _ => Err(serde::ser::Error::custom("params must be an object or an array")),
    }
}

/// Encodes the member `params`. Returns `None` if it is absent.
#[must_use]
pub fn member(params: &impl Params) -> Option<Json> {
    params.to_member().is_some().then(|| Json::from(params))
}

/// Selected members of an object.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Picked<'a, const N: usize> {
    /// The values, in the order of the names. If a member occurs twice, its last value.
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

    /// Like [`from`](Self::from), but returns only the values, all `None` if the value is not an object.
    #[must_use]
    pub fn values(object: Cursor<'a>, names: &'static [&'static str; N]) -> [Option<Cursor<'a>>; N] {
        Self::from(object, names).map_or([None; N], |picked| picked.values)
    }
}

/// Edits an object's text and leaves everything else unchanged.
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
    /// Starts to edit an object.
    #[must_use]
    pub fn of(object: Cursor<'a>) -> Self {
        Self { object, text: object.text(), start: object.range().start, changes: Vec::new() }
    }

    /// Returns whether the edit has no changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Replaces a value, which must come from the same text.
    pub fn replace(&mut self, old: Cursor<'_>, new: String) {
        self.changes.push((self.range(old), new));
    }

    fn range(&self, value: Cursor<'_>) -> Range<usize> {
        let range = value.range();
        range.start - self.start..range.end - self.start
    }

    /// Adds a member, which the object must not have yet.
    pub fn add(&mut self, name: &str, value: &str) {
        self.add_to(None, name, value);
    }

    /// Adds a member to a nested object, or to the object itself if `inside` is `None`. The member must not exist yet.
    pub fn add_to(&mut self, inside: Option<Cursor<'a>>, name: &str, value: &str) {
        let object = inside.unwrap_or(self.object);
        let start = self.range(object).start;
        let is_empty = object.members().is_ok_and(|mut members| members.next().is_none());
        let is_first = is_empty && !self.changes.iter().any(|(at, _)| at.start == start + 1);
        let comma = if is_first { "" } else { "," };
        // New members go to the start of the object, the last one first, so each is followed by its comma.
        self.changes.insert(0, (start + 1..start + 1, format!("{}:{value}{comma}", serde_json::Value::from(name))));
    }

    /// Replaces the value of an existing member by name. Does nothing if the object has no such member.
    pub fn set(&mut self, name: &str, value: &str) {
        let members = self.object.members().into_iter().flatten();
        let old = members.filter(|(key, _)| key.as_str().as_deref() == Some(name)).last();
        if let Some((_, old)) = old {
            self.replace(old, value.to_owned());
        }
    }

    /// Applies the changes. Returns `None` if there are none.
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
