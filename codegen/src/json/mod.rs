//! JSON: `value` keeps the order of members, `pointer` escapes tokens of JSON pointers, `lines` finds the lines of
//! places in a text.

#[cfg(feature = "cli")]
pub(crate) mod lines;
pub(crate) mod pointer;
mod value;

pub use value::Json;
pub(crate) use value::{compare, integer};
