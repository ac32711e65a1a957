//! What generated code stands on: decoding by slots, encoding by nodes, unions by guards.
//!
//! A document is decoded by *events*. Whoever reads it (a serde `Deserializer`, or a buffer) gives
//! each value as one [`Event`] to one [`Slot`]; of arrays and objects the event is an interface from
//! which the receiver pulls, naming the slot for each element or member. All of it goes through
//! `&mut dyn`, so that a type's decode function is compiled once, in the crate of the type, whatever
//! the document comes from. Encoding is the same the other way round: a type answers with a [`Node`].
//!
//! ```
//! use mcpgen_types::{codec, Error, Extra};
//!
//! #[derive(Debug, PartialEq)]
//! struct Icon { src: String, theme: Option<String>, extra: Extra<Icon> }
//!
//! impl codec::Decode for Icon {
//!     const NAME: &'static str = "Icon";
//!     fn decode(event: codec::Event<'_>) -> Result<Self, Error> {
//!         let mut src = None;
//!         let mut theme = None;
//!         let mut extra = Extra::default();
//!         event.object(&["src", "theme"], &mut [&mut src, &mut theme], &mut extra)?;
//!         Ok(Self { src: codec::required("src", src)?, theme, extra })
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
mod buffer;
mod de;
mod decode;
mod encode;
mod event;
#[cfg(feature = "schemars")]
pub mod json_schema;
mod literal;
mod object;
mod ser;
mod tape;
pub(crate) mod text;
mod union;
mod value;
mod write;

pub use bounds::{Bound, Bounds, Length};
pub use decode::Decode;
pub use encode::{Elements, Encode, Members, Node, Object};
pub use event::{ArrayAccess, Event, ObjectAccess, Slot};
pub use literal::Literal;
pub use object::{Closed, Constant, Unknown, required};
pub use union::{Condition, Guard, JsonTypes};

#[cfg(feature = "schemars")]
#[doc(hidden)]
pub use crate::__json_schema_impls as json_schema_impls;
#[doc(hidden)]
pub use crate::__serde_impls as serde_impls;
#[doc(hidden)]
pub use {de::deserialize, ser::serialize};

pub(crate) use {
    buffer::{Entries, Entry, Tree, filled},
    de::parse,
    event::describe,
    tape::Tape,
    text::named,
    write::{AFTER, write},
};

/// What decoding gives: for modules in which `Result` is a type of the protocol.
pub type Result<T> = ::std::result::Result<T, crate::Error>;

/// How many arrays and objects may stand inside one another in a document, the outermost included.
pub const MAX_DEPTH: u32 = 100;

/// `serde::Serialize` and `serde::Deserialize` for types that are [`Encode`] and [`Decode`].
#[doc(hidden)]
#[macro_export]
macro_rules! __serde_impls {
    ($($type:ty),* $(,)?) => {$(
        impl $crate::__private::serde::Serialize for $type {
            fn serialize<S: $crate::__private::serde::Serializer>(
                &self,
                serializer: S,
            ) -> ::core::result::Result<S::Ok, S::Error> {
                $crate::codec::serialize(self, serializer)
            }
        }
        impl<'de> $crate::__private::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::core::result::Result<Self, D::Error> {
                $crate::codec::deserialize(deserializer)
            }
        }
    )*};
}
