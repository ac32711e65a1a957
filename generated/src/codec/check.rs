//! Checks: schema assertions that Rust types cannot express.

use crate::Error;

use super::{Bounds, Decode, JsonTypes, Length, Literal, Pattern};

/// An assertion about a JSON value.
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
    /// If the first check holds, the second must hold, otherwise the third.
    If(&'static [Check; 3]),
    /// The check of a definition holds.
    Definition(fn() -> &'static Check),
    /// The JSON type is one of these.
    Type(JsonTypes),
    /// The value equals one of these.
    Values(&'static [Literal]),
    /// A number is within these bounds.
    Bounds(Bounds),
    /// A number is a multiple of this one.
    MultipleOf(Literal),
    /// A string has an allowed number of code points.
    Length(Length),
    /// Some part of a string matches this regular expression.
    Pattern(&'static Pattern),
    /// An array has an allowed number of items.
    ItemCount(Length),
    /// Checks for the leading items of an array, one each, and a check for all items after them.
    Items(&'static [Check], Option<&'static Check>),
    /// All items of an array differ.
    UniqueItems,
    /// The number of array items that pass the check is within limits.
    Contains(&'static Check, Length),
    /// An object has an allowed number of members.
    MemberCount(Length),
    /// An object has all of these members.
    Required(&'static [&'static str]),
    /// Every member name of an object passes the check.
    Names(&'static Check),
    /// The members of an object pass these checks.
    Members(&'static MemberChecks),
    /// If an object has this member, the object passes the check.
    IfPresent(&'static str, &'static Check),
    /// `unevaluatedProperties` or `unevaluatedItems`: a base check, and checks on the members and items that the base
    /// check did not evaluate.
    Unevaluated(&'static Unevaluated),
}

/// Checks on the members of an object.
#[derive(Debug)]
pub struct MemberChecks {
    /// Checks on members by name.
    pub named: &'static [(&'static str, Check)],
    /// Checks on members whose names match a pattern.
    pub patterns: &'static [(&'static Pattern, Check)],
    /// The check on all other members.
    pub others: Option<Check>,
}

/// The checks behind `unevaluatedProperties` and `unevaluatedItems`.
#[derive(Debug)]
pub struct Unevaluated {
    /// Evaluated first, to find out which members and items remain.
    pub base: Check,
    /// Applies to every member that remains.
    pub members: Option<Check>,
    /// Applies to every item that remains.
    pub items: Option<Check>,
}

/// Decodes a value as one alternative of an undecided union.
///
/// # Errors
///
/// Returns an error if the value is not valid for the type.
pub fn from_json<T: Decode>(value: &crate::Json) -> Result<T, Error> {
    value.decode().map_err(Error::without_position)
}

/// Implements the traits of a type with checks. The type must have a function `checks` that returns them.
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
