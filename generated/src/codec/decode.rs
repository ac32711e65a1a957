//! The trait [`Decode`], and its implementations for basic types.

use crate::{
    Error, ErrorCode, ErrorKind, JsonObject, Map, Never, Number, ProgressToken, RawJson, RequestId, ResultType, Value,
};

use super::fields::{read_elements, read_optional};
use super::index::Kind;
use super::{Cursor, DecodeInPlace, Unread, decode_in_place};

/// A type that can be decoded from a JSON value.
pub trait Decode: Sized {
    /// The name of the type in errors.
    const NAME: &'static str;

    /// Decodes one value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not valid for this type.
    fn decode(json: Cursor<'_>) -> Result<Self, Error>;
}

impl Decode for () {
    const NAME: &'static str = "null";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        if json.is_null() { Ok(()) } else { Err(json.mismatch("null")) }
    }
}

impl Decode for bool {
    const NAME: &'static str = "boolean";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        match json.kind() {
            Kind::False => Ok(false),
            Kind::True => Ok(true),
            _ => Err(json.mismatch("boolean")),
        }
    }
}

impl Decode for i64 {
    const NAME: &'static str = "integer";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        match json.short_integer() {
            Some(integer) => Ok(integer),
            None => json.integer(i64::MIN, i64::MAX.unsigned_abs()).map(|integer| integer as i64),
        }
    }
}

impl Decode for u64 {
    const NAME: &'static str = "integer";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        match json.short_integer().map(u64::try_from) {
            Some(Ok(integer)) => Ok(integer),
            _ => json.integer(0, u64::MAX).map(|integer| integer as u64),
        }
    }
}

impl Decode for Number {
    const NAME: &'static str = "number";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        json.number()
    }
}

impl Decode for String {
    const NAME: &'static str = "string";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        json.string()
    }
}

/// A nullable value: `null` decodes as `None`. Optional members are handled by their fields instead, see
/// [`read_optional`].
impl<T: DecodeInPlace> Decode for Option<T> {
    const NAME: &'static str = T::NAME;

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        decode_in_place(json)
    }
}

impl<T: DecodeInPlace> Decode for Box<T> {
    const NAME: &'static str = T::NAME;

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        decode_in_place(json)
    }
}

impl<T: DecodeInPlace> Decode for Vec<T> {
    const NAME: &'static str = "array";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        decode_in_place(json)
    }
}

impl Decode for Never {
    const NAME: &'static str = "Never";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        Err(json.error(ErrorKind::Uninhabited))
    }
}

macro_rules! blank {
    ($($type:ty: $blank:expr;)*) => {$(
        impl DecodeInPlace for $type {
            fn blank(_: Unread) -> Self {
                $blank
            }

            fn read(&mut self, json: Cursor<'_>, _: Unread) -> Result<(), Error> {
                match <Self as Decode>::decode(json) {
                    Ok(value) => {
                        *self = value;
                        Ok(())
                    }
                    Err(error) => Err(error),
                }
            }
        }
    )*};
}

blank! {
    (): ();
    bool: false;
    i64: 0;
    u64: 0;
    Number: Number::from(0);
    String: String::new();
    Value: Value::Null;
    JsonObject: JsonObject::new();
    RequestId: RequestId::Integer(0);
    ProgressToken: ProgressToken::Integer(0);
    ResultType: ResultType::COMPLETE;
    ErrorCode: ErrorCode(0);
    RawJson: RawJson::null();
}

impl<T: DecodeInPlace> DecodeInPlace for Option<T> {
    fn blank(_: Unread) -> Self {
        None
    }

    fn read(&mut self, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        if json.is_null() { Ok(()) } else { read_optional(json, self, unread) }
    }
}

impl<T: DecodeInPlace> DecodeInPlace for Vec<T> {
    fn blank(_: Unread) -> Self {
        Self::new()
    }

    fn read(&mut self, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        read_elements(json, self, unread)
    }
}

impl<V: DecodeInPlace> DecodeInPlace for Map<String, V> {
    fn blank(_: Unread) -> Self {
        Self::new()
    }

    fn read(&mut self, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        self.read_members(&json.members_by_name(&[])?, unread)
    }
}

impl<T: DecodeInPlace> DecodeInPlace for Box<T> {
    fn blank(unread: Unread) -> Self {
        Self::new(T::blank(unread))
    }

    fn read(&mut self, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        T::read(self, json, unread)
    }
}

impl DecodeInPlace for Never {
    const IS_EMPTY: bool = true;

    fn blank(unread: Unread) -> Self {
        super::no_value(unread)
    }

    fn read(&mut self, _: Cursor<'_>, _: Unread) -> Result<(), Error> {
        match *self {}
    }
}
