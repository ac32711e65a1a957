//! Options for generated code.

use mcpgen_schema::Error;

/// Options for generated code.
#[derive(Clone, Debug)]
pub struct Options {
    /// The Rust path of `mcpgen-types` in generated code, such as `crate` or `::mcpgen_types`.
    pub support: String,
    /// The command that generates the code, for the file headers.
    pub command: String,
    /// The name of the schema in file headers. Must not depend on the machine.
    pub source: String,
    /// The module of `mcpgen-types`, for vendored revisions and extensions. These get `JsonSchema` impls, and a
    /// revision's types link to the official pages.
    pub vendored: Option<String>,
}

impl Options {
    pub(super) fn support_path(&self) -> Result<syn::Path, Error> {
        syn::parse_str(&self.support).map_err(|error| {
            Error::Usage(format!(
                "`{}` is not the path of a Rust module ({error}); set --support to the path of mcpgen-types, such as \
                 `::mcpgen_types`",
                self.support
            ))
        })
    }
}
