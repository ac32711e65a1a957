//! Our own documentation, `schema/docs/*.toml`. `book` reads the entries, `apply` documents the model of a revision,
//! `order` sorts its members, `examples` composes JSON examples, `audit` finds missing and stale entries, and `targets`
//! lists what entries can document.

mod apply;
mod audit;
mod book;
mod examples;
mod order;
mod targets;

pub use apply::Lifetimes;
pub use book::{DocBook, FOLDER};
