//! Text helpers: [`names`] makes Rust names, [`markdown`] wraps text, and [`foreign`] embeds foreign text in
//! documentation.

pub mod foreign;
#[cfg(test)]
#[path = "../../../tests/support/hostile.rs"]
mod hostile;
pub mod markdown;
pub mod names;
