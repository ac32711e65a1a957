//! JSON values in document order (`value`), pointers (`pointer`), and the lines of values in a text (`text`).

pub mod pointer;
mod text;
mod types;
mod value;

pub use text::JsonText;
pub use types::JsonTypes;
pub use value::Json;
pub(crate) use value::Numeric;
pub use value::{compare, integer, is_integer, without_byte_order_mark};
