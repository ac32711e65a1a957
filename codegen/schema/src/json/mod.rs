//! JSON: `value` keeps the order of members, `pointer` escapes tokens of JSON pointers, `text` finds values and
//! their lines in a text.

pub mod pointer;
mod text;
mod types;
mod value;

pub use text::JsonText;
pub use types::JsonTypes;
pub use value::Json;
pub(crate) use value::Numeric;
pub use value::{compare, integer, is_integer, without_byte_order_mark};
