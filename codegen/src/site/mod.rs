//! Describes a protocol as a page in one file: methods, types, who uses them, and the first revision that has them.
//!
//! `history` compares all revisions, and `render` writes the page.

mod history;
mod render;

pub use render::render;
