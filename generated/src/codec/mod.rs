//! Decoding from JSON text, and encoding to it.
//!
//! Most programs only need [`from_str`](crate::from_str), [`to_string`](crate::to_string) and the functions next to
//! them. Use this module to write generic code, or to read just a part of a text:
//!
//! * [`Decode`] and [`Encode`] are the bounds of generic code.
//! * [`Document`] and [`Cursor`] read a text without decoding all of it.
//!
//! ```
//! use mcpgen_types::codec::{Decode, Document, Encode};
//! use mcpgen_types::{Error, Json};
//!
//! /// Decodes one member of a text, and skips the others.
//! fn member<T: Decode>(text: &str, name: &str) -> Result<Option<T>, Error> {
//!     let document = Document::read(text)?;
//!     let member = document.root().get(name).map(T::decode).transpose();
//!     member.map_err(|error| error.located_from(document.root()))
//! }
//!
//! /// Returns the length of a value in bytes, as JSON.
//! fn size<T: Encode>(value: &T) -> usize {
//!     mcpgen_types::to_string(value).len()
//! }
//!
//! let id: Option<u64> = member(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, "id")?;
//! assert_eq!(id, Some(7));
//! assert_eq!(size(&Json::from("x")), 3);
//! # Ok::<(), Error>(())
//! ```
//!
//! Generated types implement these traits through macros, and so do basic types. The macros use further items of this
//! module that are hidden from the documentation: only generated code should use those.

// `index` explains how this works, and `declare` what the macros expand to.
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
#[doc(hidden)]
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

pub use cursor::{Cursor, ElementCursors, MemberCursors};
pub use decode::Decode;
pub use encode::{Encode, Node};
pub use index::{Document, Place};

#[doc(hidden)]
pub use {
    bounds::{Bound, Bounds, Length},
    check::{Check, MemberChecks, Unevaluated, from_json},
    cursor::variant,
    encode::{Elements, Members, Object},
    evaluate::JsonTypes,
    fields::{
        DecodeInPlace, MemberTable, OtherMembers, ReadMember, Unread, constant_members, decode_in_place, no_value,
        read_optional, read_other, refuse_other, replace, set, set_id,
    },
    guard::{Condition, Guard},
    literal::Literal,
    matching::{Matching, is_matching},
    pattern::Pattern,
    record::deserialize,
    ser::serialize,
    tuple::{read_item, read_rest},
};

#[cfg(feature = "schemars")]
#[doc(hidden)]
pub use crate::__json_schema_impls as json_schema_impls;
#[doc(hidden)]
pub use crate::{
    __bounded as bounded, __bounded_length as bounded_length, __bounded_number as bounded_number,
    __boxed_union as boxed_union, __checked as checked, __constructed as constructed,
    __constructor_docs as constructor_docs, __generic_serde_impls as generic_serde_impls, __index as index,
    __literal_enum as literal_enum, __message_set as message_set, __never as never, __newtype as newtype,
    __no_values as no_values, __notification as notification, __object as object, __object_text as object_text,
    __open_enum as open_enum, __request as request, __request_set as request_set, __serde_impls as serde_impls,
    __string_enum as string_enum, __string_values as string_values, __text as text, __tuple as tuple, __union as union,
};

#[cfg(feature = "convert")]
pub(crate) use write::write_name;
pub(crate) use {
    cursor::unescaped,
    fields::{add_member, decode_others, find_by, finish_members, push_member},
    index::BriefDocument,
    text::{is_equal, named},
    write::write,
};

/// For modules in which `Result` is a type of the protocol.
#[doc(hidden)]
pub type Result<T> = ::std::result::Result<T, crate::Error>;

/// The number of arrays and objects that may be nested in a document, including the outermost.
pub const MAX_DEPTH: u32 = 100;

/// Implements `serde::Serialize` and `serde::Deserialize` for types that implement [`Encode`] and [`Decode`].
#[doc(hidden)]
#[macro_export]
macro_rules! __serde_impls {
    ($($type:ty),* $(,)?) => {
        $($crate::codec::generic_serde_impls! { [] [] $type })*
    };
}

/// Like `serde_impls`, for a generic type. The first two arguments are its type parameters, with the bounds for
/// `Serialize` and for `Deserialize`.
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
