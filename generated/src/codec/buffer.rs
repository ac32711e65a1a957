//! Values that are read before anybody knows what they are for.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::vec;

use crate::Number;
use crate::error::{Error, ErrorKind};

use super::object::own;
use super::{ArrayAccess, Decode, Event, ObjectAccess, Slot, describe};

/// A JSON value that keeps what `serde_json::Value` does not: a key that stands twice, and the order.
/// Its nesting is limited, because it comes from a reader, and every reader is.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(Number),
    Text(Cow<'static, str>),
    Array(Vec<Tree>),
    Object(Entries),
}

/// The members of an object in their order. A key may stand twice.
pub(crate) type Entries = Vec<Entry>;

/// A member.
pub(crate) type Entry = (Cow<'static, str>, Tree);

/// Members read ahead. The first one, which mostly is enough, takes no space on the heap.
#[derive(Default)]
pub(super) struct Front {
    first: Option<Entry>,
    more: Entries,
}

impl Front {
    pub(super) fn push(&mut self, entry: Entry) {
        match self.first {
            None => self.first = Some(entry),
            Some(_) => self.more.push(entry),
        }
    }

    /// Of a key that stands twice, the first value: it is the one that a reader comes to first.
    pub(super) fn get(&self, name: &str) -> Option<&Tree> {
        self.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.first.iter().chain(&self.more)
    }
}

impl From<Entries> for Front {
    fn from(more: Entries) -> Self {
        Self { first: None, more }
    }
}

impl Tree {
    /// Gives the value to `slot`, as the reader would have done. Strings are moved.
    pub(crate) fn replay(self, slot: &mut dyn Slot) -> Result<(), Error> {
        match self {
            Self::Null => slot.put(Event::Null),
            Self::Bool(value) => slot.put(Event::Bool(value)),
            Self::Number(number) => slot.put(number.event()),
            Self::Text(Cow::Borrowed(text)) => slot.put(Event::Str(text)),
            Self::Text(Cow::Owned(text)) => slot.put(Event::String(text)),
            Self::Array(elements) => slot.put(Event::Array(&mut ReplayArray::new(elements, None))),
            Self::Object(entries) => slot.put(Event::Object(&mut ReplayObject::new(entries.into(), None))),
        }
    }

    /// Whether both are the same JSON value: numbers by mathematical value, members in any order,
    /// and of a key that stands twice the last one.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Array(a), Self::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Self::Object(a), Self::Object(b)) => {
                let (a, b) = (last_wins(a), last_wins(b));
                a.len() == b.len() && a.iter().zip(&b).all(|((k, a), (l, b))| k == l && a.same(b))
            }
            _ => false,
        }
    }

    /// The JSON type in a word.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// The value as an error tells it; see [`describe`].
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Null => describe(&Event::Null),
            Self::Bool(value) => describe(&Event::Bool(*value)),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => describe(&Event::Str(text)),
            Self::Array(_) | Self::Object(_) => self.type_name().to_owned(),
        }
    }
}

fn last_wins(entries: &Entries) -> BTreeMap<&str, &Tree> {
    let mut members = BTreeMap::new();
    for (key, value) in entries {
        members.insert(&**key, value);
    }
    members
}

impl Decode for Tree {
    const NAME: &'static str = "JSON value";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        Ok(match event {
            Event::Null => Self::Null,
            Event::Bool(value) => Self::Bool(value),
            Event::Unsigned(integer) => Self::Number(integer.into()),
            Event::Signed(integer) => Self::Number(integer.into()),
            Event::Float(_) => Self::Number(event.number()?),
            Event::Str(text) => Self::Text(Cow::Owned(text.to_owned())),
            Event::String(text) => Self::Text(Cow::Owned(text)),
            Event::Array(_) => Self::Array(Vec::decode(event)?),
            Event::Object(object) => {
                let mut entries = Entries::new();
                while read_entry(object, &mut entries)? {}
                Self::Object(entries)
            }
        })
    }
}

/// Moves the next member of `object` to the end of `entries`; `false` if there is none.
pub(super) fn read_entry(object: &mut dyn ObjectAccess, entries: &mut Entries) -> Result<bool, Error> {
    let mut name = Cow::Borrowed("");
    if !object.key(&mut |key| name = own(key))? {
        return Ok(false);
    }
    let mut value = None;
    if let Err(error) = object.value(&mut value) {
        return Err(error.at_key(name));
    }
    entries.push((name, filled(value)?));
    Ok(true)
}

/// What a slot holds after it was given its value.
pub(crate) fn filled<T>(slot: Option<T>) -> Result<T, Error> {
    match slot {
        Some(value) => Ok(value),
        None => Err(nothing()),
    }
}

#[cold]
fn nothing() -> Error {
    Error::new(ErrorKind::Json { message: "the reader gave no value".to_owned() })
}

/// Elements read already, then those that are still to be read.
pub(super) struct ReplayArray<'a> {
    front: vec::IntoIter<Tree>,
    live: Option<&'a mut dyn ArrayAccess>,
}

impl<'a> ReplayArray<'a> {
    pub(super) fn new(front: Vec<Tree>, live: Option<&'a mut dyn ArrayAccess>) -> Self {
        Self { front: front.into_iter(), live }
    }
}

impl ArrayAccess for ReplayArray<'_> {
    fn next(&mut self, slot: &mut dyn Slot) -> Result<bool, Error> {
        match (self.front.next(), &mut self.live) {
            (Some(tree), _) => tree.replay(slot).map(|()| true),
            (None, Some(live)) => live.next(slot),
            (None, None) => Ok(false),
        }
    }
}

/// Members read already, then those that are still to be read.
pub(super) struct ReplayObject<'a> {
    first: Option<Entry>,
    more: vec::IntoIter<Entry>,
    value: Option<Tree>,
    live: Option<&'a mut dyn ObjectAccess>,
}

impl<'a> ReplayObject<'a> {
    pub(super) fn new(front: Front, live: Option<&'a mut dyn ObjectAccess>) -> Self {
        Self { first: front.first, more: front.more.into_iter(), value: None, live }
    }
}

impl ObjectAccess for ReplayObject<'_> {
    fn key(&mut self, matcher: &mut dyn FnMut(Cow<'_, str>)) -> Result<bool, Error> {
        match (self.first.take().or_else(|| self.more.next()), &mut self.live) {
            (Some((key, value)), _) => {
                self.value = Some(value);
                matcher(key);
                Ok(true)
            }
            (None, Some(live)) => live.key(matcher),
            (None, None) => Ok(false),
        }
    }

    fn value(&mut self, slot: &mut dyn Slot) -> Result<(), Error> {
        match (self.value.take(), &mut self.live) {
            (Some(tree), _) => tree.replay(slot),
            (None, Some(live)) => live.value(slot),
            (None, None) => filled(None),
        }
    }
}
