//! What the caller decides about the generated code.

/// Options of the generated code.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the support core is found: `crate`, or `::mcpgen_types`.
    pub support: String,
    /// The command that generates this code, for the header of each file.
    pub command: String,
    /// The schema file as the header names it; never a path of one machine.
    pub source: String,
    /// The module of `mcpgen-types` that this is, if it is one of the vendored revisions: types then link to the official
    /// pages and have `JsonSchema` impls.
    pub vendored: Option<String>,
}
