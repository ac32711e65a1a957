//! Works on a clone of the mcpgen repository: its [`Workspace`] holds vendored schemas, `import` adds one, and
//! [`generate()`] writes the modules of `mcpgen-types`.
//!
//! `workspace` reads the revisions, `extensions` the extensions, `manifest` updates the features of
//! `mcpgen-types`, and `site` collects what the site and the ledger show.

mod extensions;
mod generate;
#[cfg(feature = "cli")]
pub mod import;
mod manifest;
#[cfg(feature = "cli")]
pub mod site;
mod workspace;

pub use generate::{GENERATED, generate};
#[cfg(feature = "cli")]
pub use workspace::SCHEMAS;
pub use workspace::Workspace;
