//! Request IDs and progress tokens.

use std::fmt;

use crate::Error;
use crate::codec::{Cursor, Decode, Encode, Node};

macro_rules! from {
    ($name:ident: $($type:ty, $value:ident => $converted:expr;)*) => {$(
        impl From<$type> for $name {
            fn from($value: $type) -> Self {
                $converted
            }
        }
    )*};
}

macro_rules! string_or_integer {
    ($(#[$docs:meta])* $name:ident) => {
        $(#[$docs])*
        ///
        /// A number with an integral value, such as `1.0`, decodes as an integer. Other numbers are invalid.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            /// A string. It never equals an integer, even if its text is a number.
            String(String),
            /// An integer.
            Integer(i64),
        }

        from! {
            $name:
            &str, text => Self::String(text.to_owned());
            String, text => Self::String(text);
            i64, integer => Self::Integer(integer);
            i32, integer => Self::Integer(integer.into());
            u32, integer => Self::Integer(integer.into());
        }

        /// Writes the string as it is, or the integer in decimal.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::String(text) => f.write_str(text),
                    Self::Integer(integer) => integer.fmt(f),
                }
            }
        }

        impl Decode for $name {
            const NAME: &'static str = stringify!($name);

            fn decode(json: Cursor<'_>) -> Result<Self, Error> {
                if json.is_string() {
                    return json.string().map(Self::String);
                }
                match json.parse() {
                    Some(integer) => Ok(Self::Integer(integer)),
                    None if json.as_number().is_some_and(|number| number.is_integer()) => i64::decode(json).map(Self::Integer),
                    None => Err(json.mismatch("string or integer")),
                }
            }
        }

        impl Encode for $name {
            fn encode(&self) -> Node<'_> {
                match self {
                    Self::String(text) => Node::Str(text),
                    Self::Integer(integer) => Node::Signed(*integer),
                }
            }
        }

        crate::codec::serde_impls!($name);
    };
}

string_or_integer! {
    /// The ID of a JSON-RPC request, which its response repeats.
    RequestId
}

string_or_integer! {
    /// A token that associates progress notifications with a request.
    ProgressToken
}
