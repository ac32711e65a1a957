//! Works on a clone of the mcpgen repository: its [`Workspace`] holds vendored schemas, `import` adds one, and
//! [`generate()`] writes the modules of `mcpgen-types`.
//!
//! `workspace` reads the revisions, `extensions` the extensions, and `manifest` updates the features of `mcpgen-types`.

mod extensions;
mod generate;
#[cfg(feature = "cli")]
pub mod import;
mod manifest;
mod workspace;

pub use generate::{GENERATED, generate};
#[cfg(feature = "cli")]
pub use workspace::SCHEMAS;
pub use workspace::Workspace;
