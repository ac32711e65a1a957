//! Options of the generated code.

use mcpgen_schema::Error;

/// Options of the generated code.
#[derive(Clone, Debug)]
pub struct Options {
    /// The path of the support core: `crate` or `::mcpgen_types`.
    pub support: String,
    /// The command that generates this code, for the header of each file.
    pub command: String,
    /// The name of the schema file in the header. It must not depend on the machine.
    pub source: String,
    /// The module of `mcpgen-types`, if this is a vendored revision, or an extension of one. Types of a revision link to
    /// the official pages. Both have `JsonSchema` impls.
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
