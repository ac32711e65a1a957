//! Text: [`names`] makes Rust names, [`markdown`] reads links, and [`foreign`] writes the text of others in documentation.

pub mod foreign;
#[cfg(test)]
#[path = "../../../tests/support/hostile.rs"]
mod hostile;
pub mod markdown;
pub mod names;
