//! Text: `names` makes Rust names, `markdown` reads links, `visible` escapes invisible characters, `suggest` finds
//! similar names, `pattern` matches regular expressions, `hex` formats bytes, `counted` formats counts, `excerpt` shows changes.

mod counted;
#[cfg(feature = "lists")]
pub(crate) mod excerpt;
mod hex;
pub(crate) mod markdown;
pub(crate) mod names;
pub(crate) mod pattern;
#[cfg(feature = "cli")]
pub(crate) mod suggest;
mod visible;

pub(crate) use counted::counted;
pub(crate) use hex::hex;
pub(crate) use visible::visible;
