//! JSON: `value` keeps the order of members, `pointer` escapes tokens of JSON pointers, `lines` finds the lines of
//! places in a text.

pub mod lines;
pub mod pointer;
mod value;

pub use value::Json;
pub use value::{compare, integer};
