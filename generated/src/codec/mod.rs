//! The codec of the generated types: an index of the JSON text, cursors to decode from it, and nodes to encode.
//!
//! ```text
//!            {"src":"a.png","sizes":["1x1"]}          the text
//!            0     6        14       23     31
//!
//!   scan     | start length kind                      the index: a flat list of tokens, 8 bytes each
//!            v
//!        0   |     0      8 object   <-- Cursor       entries of the object: 8, so the next value is at 0 + 8
//!        1   |     2      3 string                    "src"
//!        2   |     8      5 string                    "a.png"
//!        3   |    16      5 string                    "sizes"
//!        4   |    23      3 array                     entries of the array: 3
//!        5   |    25      3 string                    "1x1"
//!        6   |    30        end
//!        7   |    31        end
//!
//!   decode   Icon { src: "a.png", sizes: Some(["1x1"]), extra: {} }
//! ```
//!
//! One function, the scanner, checks a text against JSON's grammar and records every value in the index. The scanner is
//! not generic, and no other code parses JSON text. A [`Cursor`] is a reference to a document and the number of a
//! token. Types decode themselves from a cursor. [`Cursor::read_object`] finds an object's known members by name, and
//! [`Cursor::union`] looks up the values that select a variant. Skipping a value adds its number of entries to the
//! token number. Strings are copied and unescaped only when a type decodes them. The path of an error is computed from
//! the index when the error occurs.
//!
//! Values of serde_json and of other serde formats are first recorded as a [`Document`], and then decoded in the same
//! way. Encoding does not use an index: a type returns a [`Node`] that refers to its fields.
//!
//! ```
//! use mcpgen_types::codec::{self, DecodeInPlace};
//! use mcpgen_types::{Error, Extra, KnownMembers};
//!
//! #[derive(Debug, PartialEq)]
//! struct Icon { src: String, theme: Option<String>, extra: Extra<Icon> }
//!
//! impl codec::Decode for Icon {
//!     const NAME: &'static str = "Icon";
//!     fn decode(json: codec::Cursor<'_>) -> Result<Self, Error> {
//!         codec::decode_in_place(json)
//!     }
//! }
//!
//! impl codec::DecodeInPlace for Icon {
//!     fn blank(_: codec::Unread) -> Self {
//!         Self { src: String::new(), theme: None, extra: Extra::default() }
//!     }
//!     fn read(&mut self, json: codec::Cursor<'_>, unread: codec::Unread) -> Result<(), Error> {
//!         const TABLE: &codec::MemberTable = &codec::MemberTable::new(Icon::MEMBERS, &[0]);
//!         json.read_object(TABLE, &mut &mut *self, unread)
//!     }
//! }
//!
//! impl KnownMembers for Icon {
//!     const MEMBERS: &'static [&'static str] = &["src", "theme"];
//! }
//!
//! impl codec::ReadMember for Icon {
//!     fn read_member(&mut self, index: usize, json: codec::Cursor<'_>, unread: codec::Unread) -> Result<(), Error> {
//!         match index {
//!             0 => self.src.read(json, unread),
//!             1 => codec::read_optional(json, &mut self.theme, unread),
//!             _ => Ok(()),
//!         }
//!     }
//!     fn read_other(
//!         &mut self,
//!         name: codec::Cursor<'_>,
//!         value: codec::Cursor<'_>,
//!         unread: codec::Unread,
//!     ) -> Result<(), Error> {
//!         codec::read_other(&mut self.extra, name, value, unread)
//!     }
//!     fn finish_others(&mut self, unread: codec::Unread) {
//!         self.extra.finish(unread);
//!     }
//! }
//!
//! impl codec::Object for Icon {
//!     fn members(&self, out: &mut codec::Members<'_>) {
//!         out.member("src", &self.src);
//!         out.optional("theme", &self.theme);
//!         out.extra(&self.extra);
//!     }
//! }
//!
//! impl codec::Encode for Icon {
//!     fn encode(&self) -> codec::Node<'_> { codec::Node::Object(self) }
//! }
//!
//! let text = r#"{"src":"a.png","x":[1,1.0]}"#;
//! let icon: Icon = mcpgen_types::from_str(text)?;
//! assert_eq!(mcpgen_types::to_string(&icon), text);
//! let error = mcpgen_types::from_str::<Icon>(r#"{"src":5}"#).unwrap_err();
//! assert_eq!(error.to_string(), "Icon: src: expected string, found number");
//! # Ok::<(), Error>(())
//! ```

mod bounds;
mod check;
mod cursor;
mod declare;
mod decode;
mod deserialize;
mod encode;
pub(crate) mod evaluate;
mod fields;
mod guard;
mod index;
#[cfg(feature = "schemars")]
pub mod json_schema;
mod literal;
mod matching;
mod open_enum;
mod pattern;
mod record;
mod scan;
mod ser;
pub(crate) mod text;
mod tuple;
mod write;

pub use bounds::{Bound, Bounds, Length};
pub use check::{Check, MemberChecks, Unevaluated, from_json};
pub use cursor::{Cursor, ElementCursors, MemberCursors, variant};
pub use decode::Decode;
pub use encode::{Elements, Encode, Members, Node, Object};
pub use evaluate::JsonTypes;
pub use fields::{
    DecodeInPlace, MemberTable, OtherMembers, ReadMember, Unread, constant_members, decode_in_place, no_value,
    read_optional, read_other, refuse_other, replace, set,
};
pub(crate) use fields::{add_member, finish_members};
pub use guard::{Condition, Guard};
pub(crate) use index::BriefDocument;
pub use index::{Document, Place};
pub use literal::Literal;
pub use matching::{Matching, is_matching};
pub use pattern::Pattern;
pub use tuple::{read_item, read_rest};

#[cfg(feature = "schemars")]
#[doc(hidden)]
pub use crate::__json_schema_impls as json_schema_impls;
#[doc(hidden)]
pub use crate::{
    __bounded as bounded, __bounded_length as bounded_length, __bounded_number as bounded_number,
    __boxed_union as boxed_union, __checked as checked, __generic_serde_impls as generic_serde_impls, __index as index,
    __literal_enum as literal_enum, __message_set as message_set, __never as never, __newtype as newtype,
    __no_values as no_values, __object as object, __object_text as object_text, __open_enum as open_enum,
    __serde_impls as serde_impls, __string_enum as string_enum, __string_values as string_values, __tuple as tuple,
    __union as union,
};
#[doc(hidden)]
pub use {record::deserialize, ser::serialize};

#[cfg(feature = "convert")]
pub(crate) use write::write_name;
pub(crate) use {
    cursor::unescaped, fields::decode_others, fields::find_by, fields::push_member, text::is_equal, text::named,
    write::write,
};

/// The result of decoding. For modules in which `Result` is a type of the protocol.
pub type Result<T> = ::std::result::Result<T, crate::Error>;

/// The maximum nesting depth of arrays and objects in a document, including the outermost.
pub const MAX_DEPTH: u32 = 100;

/// Implements `serde::Serialize` and `serde::Deserialize` for types that implement [`Encode`] and [`Decode`].
#[doc(hidden)]
#[macro_export]
macro_rules! __serde_impls {
    ($($type:ty),* $(,)?) => {
        $($crate::codec::generic_serde_impls! { [] [] $type })*
    };
}

/// Like `serde_impls`, but for a generic type. The first two arguments are its type parameters, with the bounds that
/// the impls of `Serialize` and `Deserialize` require.
#[doc(hidden)]
#[macro_export]
macro_rules! __generic_serde_impls {
    ([$($encode:tt)*] [$($decode:tt)*] $type:ty) => {
        impl<$($encode)*> $crate::__private::serde::Serialize for $type {
            fn serialize<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::codec::serialize(self, serializer)
            }
        }
        impl<'de, $($decode)*> $crate::__private::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::codec::deserialize(deserializer)
            }
        }
    };
}
