//! Our own documentation, from `schema/docs/*.toml`. `book` reads it, `apply` adds it to a model, `order` sorts
//! members, `examples` composes JSON examples, `audit` finds missing and stale entries, and `targets` lists everything
//! that can be documented.

mod apply;
mod audit;
mod book;
mod examples;
mod order;
mod targets;

pub use apply::Lifetimes;
pub use book::{DocBook, FOLDER};
