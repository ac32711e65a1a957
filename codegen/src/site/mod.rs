//! Describes a protocol on a single HTML page: methods, types, where they are used, and since when.
//!
//! `history` compares all revisions, and `render` writes the page.

mod history;
mod render;

pub use render::render;
