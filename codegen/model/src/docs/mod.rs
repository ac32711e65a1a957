//! Our own documentation, `schema/docs/*.toml`. `book` reads the entries, `apply` applies them to a revision, `audit`
//! finds missing and stale ones, and `targets` lists what entries can document.

mod apply;
mod audit;
mod book;
mod targets;

pub use apply::stamp_lifetimes;
pub use book::{DocBook, FOLDER};
