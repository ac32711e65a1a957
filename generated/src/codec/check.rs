//! Checks: assertions of JSON Schema that Rust types do not express.

use crate::Error;

use super::{Bounds, Decode, JsonTypes, Length, Literal, Pattern};

/// An assertion of a schema.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// Accepts every value.
    Anything,
    /// Accepts no value.
    Nothing,
    /// All checks hold.
    All(&'static [Check]),
    /// At least one check holds.
    Any(&'static [Check]),
    /// Exactly one check holds.
    One(&'static [Check]),
    /// The check does not hold.
    Not(&'static Check),
    /// The second check holds if the first one does, otherwise the third.
    If(&'static [Check; 3]),
    /// The check of a definition holds.
    Definition(fn() -> &'static Check),
    /// The JSON type is one of these.
    Type(JsonTypes),
    /// The value is one of these.
    Values(&'static [Literal]),
    /// A number is within bounds.
    Bounds(Bounds),
    /// A number is a multiple of this number.
    MultipleOf(Literal),
    /// The number of code points of a string is within limits.
    Length(Length),
    /// A part of a string matches this regular expression.
    Pattern(&'static Pattern),
    /// The number of items of an array is within limits.
    ItemCount(Length),
    /// The checks on the first items of an array hold, and the check on all other items.
    Items(&'static [Check], Option<&'static Check>),
    /// No two items of an array are equal.
    UniqueItems,
    /// The number of items of an array that the check accepts is within limits.
    Contains(&'static Check, Length),
    /// The number of members of an object is within limits.
    MemberCount(Length),
    /// An object has these members.
    Required(&'static [&'static str]),
    /// The check holds for the name of each member of an object.
    Names(&'static Check),
    /// Checks on the members of an object hold.
    Members(&'static MemberChecks),
    /// If an object has this member, the check on the object holds.
    IfPresent(&'static str, &'static Check),
    /// A check holds, and so do checks on the members and items that it did not evaluate.
    Unevaluated(&'static Unevaluated),
}

/// Checks on the members of an object.
#[derive(Debug)]
pub struct MemberChecks {
    /// The checks on members with these names.
    pub named: &'static [(&'static str, Check)],
    /// The checks on members whose names match these patterns.
    pub patterns: &'static [(&'static Pattern, Check)],
    /// The check on all other members.
    pub others: Option<Check>,
}

/// Checks on the members and items that another check did not evaluate.
#[derive(Debug)]
pub struct Unevaluated {
    /// The check that is evaluated first.
    pub base: Check,
    /// The check on members.
    pub members: Option<Check>,
    /// The check on items.
    pub items: Option<Check>,
}

/// Decodes a JSON value as an alternative of a union.
///
/// # Errors
///
/// Returns an error if the value is not valid for the type.
pub fn from_json<T: Decode>(value: &crate::Json) -> Result<T, Error> {
    value.decode().map_err(Error::without_position)
}

/// Implements the traits of a type with checks. The type must have a function `checks`, which returns them.
#[doc(hidden)]
#[macro_export]
macro_rules! __checked {
    ($name:ident($inner:ty) $(is_empty $is_empty:tt)?) => {
        impl $name {
            /// Returns the value.
            #[must_use]
            pub const fn get(&self) -> &$inner {
                &self.0
            }

            /// Returns the inner value.
            #[must_use]
            pub fn into_inner(self) -> $inner {
                self.0
            }
        }
        impl ::std::convert::TryFrom<$inner> for $name {
            type Error = $crate::Error;
            fn try_from(value: $inner) -> $crate::codec::Result<Self> {
                Self::checks().check_value(&value)?;
                ::core::result::Result::Ok(Self(value))
            }
        }
        impl ::std::convert::From<$name> for $inner {
            fn from(value: $name) -> Self {
                value.0
            }
        }
        impl $crate::codec::Decode for $name {
            const NAME: &'static str = stringify!($name);
            fn decode(json: $crate::codec::Cursor<'_>) -> $crate::codec::Result<Self> {
                let value: $inner = $crate::codec::Decode::decode(json)?;
                Self::checks().check(json)?;
                ::core::result::Result::Ok(Self(value))
            }
        }
        impl $crate::codec::DecodeInPlace for $name {
            $(const IS_EMPTY: bool = $is_empty;)?
            #[inline]
            fn blank(unread: $crate::codec::Unread) -> Self {
                Self($crate::codec::DecodeInPlace::blank(unread))
            }
            fn read(&mut self, json: $crate::codec::Cursor<'_>, _: $crate::codec::Unread) -> $crate::codec::Result<()> {
                $crate::codec::replace(self, json)
            }
        }
        impl $crate::codec::Encode for $name {
            fn encode(&self) -> $crate::codec::Node<'_> {
                $crate::codec::Encode::encode(&self.0)
            }
        }
    };
}
