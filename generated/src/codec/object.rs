//! Objects: known members to their fields, the rest to wherever the type puts it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::{Error, ErrorKind};

use super::{Decode, Event, Literal, ObjectAccess, Slot, describe};

impl Event<'_> {
    /// Decodes an object: the value of the member `names[i]` goes to `slots[i]`, what has no slot to `unknown`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Type`] if the value is no object, [`ErrorKind::Duplicate`] if a known member
    /// stands twice; the errors of slots and of `unknown`, with the key in their path.
    pub fn object(
        self,
        names: &[&'static str],
        slots: &mut [&mut dyn Slot],
        unknown: &mut dyn Unknown,
    ) -> Result<(), Error> {
        let Event::Object(object) = self else {
            return Err(self.mismatch("object"));
        };
        let names = &names[..names.len().min(slots.len())];
        let (mut seen, mut next) = (Seen::default(), 0);
        loop {
            let mut key = Key::Known(0);
            let more = object.key(&mut |name| {
                key = match find(names, next, &name) {
                    Some(index) => Key::Known(index),
                    None => Key::Unknown(name.into_owned()),
                };
            })?;
            if !more {
                return Ok(());
            }
            match key {
                Key::Known(index) => {
                    if !seen.first(index) {
                        return Err(Error::new(ErrorKind::Duplicate).at_key(names[index]));
                    }
                    object.value(&mut *slots[index]).map_err(|error| error.at_key(names[index]))?;
                    next = index + 1;
                }
                Key::Unknown(name) => unknown.unknown(name, object)?,
            }
        }
    }
}

enum Key {
    Known(usize),
    Unknown(String),
}

/// Starts after the last hit: a document in the schema's order costs one comparison a member.
fn find(names: &[&'static str], next: usize, name: &str) -> Option<usize> {
    let (before, after) = names.split_at(next);
    let hit = |known: &&str| *known == name;
    after.iter().position(hit).map(|index| index + next).or_else(|| before.iter().position(hit))
}

/// The members that were there: few types have more than a word has bits.
#[derive(Default)]
struct Seen {
    first: u64,
    more: Vec<usize>,
}

impl Seen {
    /// Whether it is the first time.
    fn first(&mut self, index: usize) -> bool {
        match 1u64.checked_shl(u32::try_from(index).unwrap_or(u32::MAX)) {
            Some(bit) => {
                let first = self.first & bit == 0;
                self.first |= bit;
                first
            }
            None => {
                let first = !self.more.contains(&index);
                self.more.push(index);
                first
            }
        }
    }
}

/// Where members go that the type does not know.
pub trait Unknown {
    /// Takes the value of member `name` from `object`.
    ///
    /// # Errors
    ///
    /// The member is not admitted, or its value is not valid; the path starts with `name`.
    fn unknown(&mut self, name: String, object: &mut dyn ObjectAccess) -> Result<(), Error>;
}

/// Refuses unknown members, as `additionalProperties: false` does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Closed;

impl Unknown for Closed {
    fn unknown(&mut self, name: String, _: &mut dyn ObjectAccess) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Unexpected).at_key(name))
    }
}

/// Of a name that stands twice, the last value stays.
impl<T: Decode> Unknown for BTreeMap<String, T> {
    fn unknown(&mut self, name: String, object: &mut dyn ObjectAccess) -> Result<(), Error> {
        let mut value = None;
        match object.value(&mut value) {
            Ok(()) => self.extend(value.map(|value| (name, value))),
            Err(error) => return Err(error.at_key(name)),
        }
        Ok(())
    }
}

/// The value of the required member `name`.
///
/// # Errors
///
/// [`ErrorKind::Missing`] if there is none.
pub fn required<T>(name: &'static str, value: Option<T>) -> Result<T, Error> {
    // Without a closure, which would be compiled for each type.
    match value {
        Some(value) => Ok(value),
        None => Err(Error::missing(name)),
    }
}

/// The slot of a member whose value is fixed.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    literal: Literal,
    present: bool,
}

impl Constant {
    /// A slot that takes nothing but `literal`.
    #[must_use]
    pub const fn new(literal: Literal) -> Self {
        Self { literal, present: false }
    }

    /// Insists that the slot, of member `name`, has got its value.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Missing`] if it has not.
    pub fn required(&self, name: &'static str) -> Result<(), Error> {
        if self.present { Ok(()) } else { Err(Error::missing(name)) }
    }

    /// Whether the slot has got its value.
    #[must_use]
    pub const fn is_present(&self) -> bool {
        self.present
    }
}

impl Slot for Constant {
    fn put(&mut self, event: Event<'_>) -> Result<(), Error> {
        event.constant(&self.literal)?;
        self.present = true;
        Ok(())
    }
}

impl Event<'_> {
    /// Insists on the value `literal`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constant`] if it is another.
    pub fn constant(self, literal: &Literal) -> Result<(), Error> {
        // The usual case without a detour.
        if let (Literal::Str(expected), Event::Str(found)) = (literal, &self) {
            if expected == found {
                return Ok(());
            }
            return Err(mismatch(literal, describe(&self)));
        }
        match super::literal::find(self, std::slice::from_ref(literal))? {
            Ok(_) => Ok(()),
            Err(found) => Err(mismatch(literal, found)),
        }
    }
}

#[cold]
fn mismatch(literal: &Literal, found: String) -> Error {
    Error::new(ErrorKind::Constant { expected: literal.to_string(), found })
}

/// The key as a matcher gets it, for keeping.
pub(super) fn own(key: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(key.into_owned())
}
