//! Items for the tests and benchmarks of this workspace. They are not part of the API.

pub use crate::build::build;
pub use crate::docs::FOLDER as DOCS_FOLDER;
pub use crate::emit::file::MARK;
pub use crate::json::pointer::escape as escape_pointer;
pub use crate::model::revision::schema_path;
pub use crate::project::generate::{SUPPORT, vendored};
pub use crate::schema::facts_only;
pub use crate::schema::fixups::{FIXUPS, Fixup};
pub use crate::schema::normalise::normalise;
pub use crate::text::names::{escape as escape_name, setter_name};
