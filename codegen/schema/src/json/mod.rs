//! JSON: `value` keeps the order of members, `pointer` escapes tokens of JSON pointers, `lines` finds the lines of
//! places in a text.

pub mod lines;
pub mod pointer;
mod types;
mod value;

pub use types::JsonTypes;
pub use value::Json;
pub(crate) use value::Numeric;
pub use value::{compare, integer, is_integer};
