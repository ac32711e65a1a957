//! The [`Decode`] trait and its implementations for basic types.

use crate::{
    Error, ErrorCode, ErrorKind, ErrorObject, Map, Never, Number, ProgressToken, RequestId, ResultType, Value,
};

use super::fields::{read_elements, read_optional};
use super::index::Kind;
use super::{Cursor, DecodeInPlace, Unread, decode_in_place};

/// A type that can be decoded from a JSON value.
pub trait Decode: Sized {
    /// The type's name in errors.
    const NAME: &'static str;

    /// Decodes a value.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not valid for this type.
    fn decode(json: Cursor<'_>) -> Result<Self, Error>;

    /// Checks a value without keeping the result. Types that can do this without allocating override it.
    ///
    /// # Errors
    ///
    /// Returns the same error as [`decode`](Self::decode), if there is one.
    fn check(json: Cursor<'_>) -> Result<(), Error> {
        Self::decode(json).map(drop)
    }
}

macro_rules! decode {
    ($($type:ty: $name:literal, $json:ident => $decoded:expr;)*) => {$(
        impl Decode for $type {
            const NAME: &'static str = $name;

            fn decode($json: Cursor<'_>) -> Result<Self, Error> {
                $decoded
            }
        }
    )*};
}

decode! {
    (): "null", json => if json.is_null() { Ok(()) } else { Err(json.mismatch("null")) };
    bool: "boolean", json => match json.kind() {
        Kind::False => Ok(false),
        Kind::True => Ok(true),
        _ => Err(json.mismatch("boolean")),
    };
    i64: "integer", json => match json.parse() {
        Some(integer) => Ok(integer),
        None => json.integer(i64::MIN, i64::MAX.unsigned_abs()).map(|integer| integer as i64),
    };
    u64: "integer", json => match json.parse() {
        Some(integer) => Ok(integer),
        None => json.integer(0, u64::MAX).map(|integer| integer as u64),
    };
    Number: "number", json => json.number();
    ResultType: "ResultType", json => match json.is_str("complete") {
        true => Ok(ResultType::COMPLETE),
        false => json.string().map(ResultType::from),
    };
    ErrorCode: "ErrorCode", json => i64::decode(json).map(ErrorCode);
    ErrorObject: "ErrorObject", json => decode_in_place(json);
    Never: "Never", json => Err(json.error(ErrorKind::Uninhabited));
    // If a name occurs more than once, the last value wins.
    Value: "JSON value", json => Ok(match json.kind() {
        Kind::Null => Value::Null,
        Kind::False => Value::Bool(false),
        Kind::True => Value::Bool(true),
        Kind::Number => json.number()?.into(),
        Kind::Plain | Kind::Escaped => Value::String(json.string()?),
        Kind::Array => Value::Array(Vec::decode(json)?),
        Kind::Object => Value::Object(serde_json::Map::decode(json)?),
    });
    serde_json::Map<String, Value>: "object", json => {
        let mut object = Self::new();
        // `collect` would first gather all members in a vector and sort it.
        for (name, value) in json.members()? {
            object.insert(name.string()?, Value::decode(value)?);
        }
        Ok(object)
    };
}

impl Decode for String {
    const NAME: &'static str = "string";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        json.string()
    }

    fn check(json: Cursor<'_>) -> Result<(), Error> {
        if json.is_string() { Ok(()) } else { Err(json.mismatch("string")) }
    }
}

macro_rules! decode_in_place {
    ($($type:ty: $name:expr, $json:ident => $check:expr;)*) => {$(
        impl<T: DecodeInPlace> Decode for $type {
            const NAME: &'static str = $name;

            fn decode(json: Cursor<'_>) -> Result<Self, Error> {
                decode_in_place(json)
            }

            fn check($json: Cursor<'_>) -> Result<(), Error> {
                $check
            }
        }
    )*};
}

decode_in_place! {
    // For nullable values, `null` decodes as `None`. `read_optional` handles optional members.
    Option<T>: T::NAME, json => if json.is_null() { Ok(()) } else { T::check(json) };
    Box<T>: T::NAME, json => T::check(json);
    Vec<T>: "array", json => json.elements()?.try_for_each(T::check);
    Map<String, T>: "object", json => json.members()?.try_for_each(|(_, value)| T::check(value));
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
    serde_json::Map<String, Value>: Self::new();
    RequestId: RequestId::Integer(0);
    ProgressToken: ProgressToken::Integer(0);
    ResultType: ResultType::COMPLETE;
    ErrorCode: ErrorCode(0);
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
        self.read_members(json, unread)
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
