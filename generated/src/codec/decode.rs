//! The types that every schema has.

use std::collections::BTreeMap;

use crate::{Error, ErrorKind, Never, Number};

use super::{Event, Slot};

/// A type that JSON values decode into.
pub trait Decode: Sized {
    /// The name that errors call the type by.
    const NAME: &'static str;

    /// Decodes one value.
    ///
    /// # Errors
    ///
    /// The value is not valid. The error's path starts at the value.
    fn decode(event: Event<'_>) -> Result<Self, Error>;
}

impl<T: Decode> Slot for Option<T> {
    fn put(&mut self, event: Event<'_>) -> Result<(), Error> {
        // It is given one value; so there is none to be dropped, which would take a copy of this one.
        self.get_or_insert(T::decode(event)?);
        Ok(())
    }
}

impl Decode for () {
    const NAME: &'static str = "null";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        match event {
            Event::Null => Ok(()),
            other => Err(other.mismatch("null")),
        }
    }
}

impl Decode for bool {
    const NAME: &'static str = "boolean";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        match event {
            Event::Bool(value) => Ok(value),
            other => Err(other.mismatch("boolean")),
        }
    }
}

impl Decode for i64 {
    const NAME: &'static str = "integer";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        match event {
            Event::Signed(value) => Ok(value),
            Event::Unsigned(value) if i64::try_from(value).is_ok() => Ok(value as i64),
            other => other.integer(i64::MIN, i64::MAX.unsigned_abs()).map(|value| value as i64),
        }
    }
}

impl Decode for u64 {
    const NAME: &'static str = "integer";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        if let Event::Unsigned(value) = event {
            return Ok(value);
        }
        event.integer(0, u64::MAX).map(|value| value as u64)
    }
}

impl Decode for Number {
    const NAME: &'static str = "number";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        event.number()
    }
}

impl Decode for String {
    const NAME: &'static str = "string";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        event.string()
    }
}

/// `null` is `None`: this is a nullable value. That a member may be absent is its field's affair.
impl<T: Decode> Decode for Option<T> {
    const NAME: &'static str = T::NAME;

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        match event {
            Event::Null => Ok(None),
            other => T::decode(other).map(Some),
        }
    }
}

impl<T: Decode> Decode for Box<T> {
    const NAME: &'static str = T::NAME;

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        T::decode(event).map(Box::new)
    }
}

impl<T: Decode> Decode for Vec<T> {
    const NAME: &'static str = "array";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        let mut elements = Vec::new();
        event.array(&mut elements)?;
        Ok(elements)
    }
}

/// An element at the end of the vector is a slot like any other.
impl<T: Decode> Slot for Vec<T> {
    fn put(&mut self, event: Event<'_>) -> Result<(), Error> {
        self.push(T::decode(event)?);
        Ok(())
    }
}

impl<T: Decode> Decode for BTreeMap<String, T> {
    const NAME: &'static str = "object";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        let mut members = BTreeMap::new();
        event.object(&[], &mut [], &mut members)?;
        Ok(members)
    }
}

impl Decode for Never {
    const NAME: &'static str = "Never";

    fn decode(_: Event<'_>) -> Result<Self, Error> {
        Err(Error::new(ErrorKind::Uninhabited))
    }
}

impl Event<'_> {
    /// Gives all elements of the array, one after the other, to `slot`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Type`] if the value is no array; the slot's errors, with the index in their path.
    pub fn array(self, slot: &mut dyn Slot) -> Result<(), Error> {
        let Event::Array(array) = self else {
            return Err(self.mismatch("array"));
        };
        let mut index = 0;
        while array.next(slot).map_err(|error| error.at_index(index))? {
            index += 1;
        }
        Ok(())
    }
}
