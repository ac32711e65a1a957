//! A project: `workspace` reads its revisions and `extensions` its extensions, `import` adds a schema, `generate` writes
//! the Rust modules, `manifest` updates the features of the generated crate, and `write` compares and replaces files.

pub(crate) mod extensions;
pub(crate) mod generate;
#[cfg(feature = "cli")]
pub(crate) mod import;
mod manifest;
pub(crate) mod workspace;
pub(crate) mod write;

pub use generate::{Generated, Generator, Summary};
#[cfg(feature = "lists")]
pub(crate) use generate::{include_in_build, instruction};
pub use workspace::Workspace;
pub use write::{Change, Changes};
