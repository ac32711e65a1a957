//! Text: `names` makes Rust names, `markdown` reads links, `visible` escapes invisible characters, `foreign` writes the
//! text of others in documentation, `suggest` finds similar names, `pattern` matches regular expressions, `hex` formats
//! bytes, `counted` formats counts, `excerpt` shows changes.

mod counted;
#[cfg(feature = "lists")]
pub(crate) mod excerpt;
pub(crate) mod foreign;
mod hex;
#[cfg(test)]
#[path = "../../tests/support/hostile.rs"]
pub(crate) mod hostile;
pub(crate) mod markdown;
pub(crate) mod names;
pub(crate) mod pattern;
#[cfg(feature = "cli")]
pub(crate) mod suggest;
mod visible;

pub(crate) use counted::counted;
pub(crate) use hex::hex;
#[cfg(feature = "cli")]
pub use visible::visible_lines;
pub(crate) use visible::{visible, visible_json};
