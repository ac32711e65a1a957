//! Text: [`visible`](fn@visible) escapes invisible characters, [`pattern`] matches regular expressions, [`hex`] formats
//! bytes, and [`counted`] formats counts.

mod counted;
mod hex;
pub mod pattern;
mod visible;

pub use counted::counted;
pub use hex::hex;
pub use visible::{visible, visible_json, visible_lines};
