//! Generates functions for a server's tools, with types for arguments and results.
//!
//! ```text
//! Snapshot -> tools -> a module for each schema
//!               \----> mod.rs: a function for each tool
//! ```
//!
//! `tool` names a tool's items and models its schemas; `functions` writes the functions.

mod functions;
mod tool;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::build_script::{include_in_build, instruction};
use crate::emit::Options;
use crate::emit::file::header;
use crate::generator::SUPPORT;
use crate::write::Changes;
use crate::write::sync;
use mcpgen_model::snapshot::{ListKind, Malformed, Snapshot, problems};
use mcpgen_schema::text::visible;
use mcpgen_schema::{Error, Problem};
use tool::{Names, ToolBinding};

/// Generates functions for the tools in a snapshot of a server's lists.
///
/// The code uses `mcpgen-sdk` and `mcpgen-types`. Where mcpgen cannot read a schema, the function takes or returns
/// plain JSON, and a note says why.
///
/// ```no_run
/// # fn main() -> Result<(), mcpgen::Error> {
/// mcpgen::Bindings::read("tools.json")?.build_script("tools")?;
/// # Ok(())
/// # }
/// // in the crate: include!(concat!(env!("OUT_DIR"), "/tools.include.rs"));
/// ```
#[derive(Clone, Debug)]
pub struct Bindings {
    snapshot: Snapshot,
    /// The name of the snapshot in generated files. It must not depend on the machine.
    source: String,
    /// The file that the snapshot was read from, if any.
    path: Option<PathBuf>,
}

/// What was generated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BindingsWritten {
    /// The number of functions, one for each tool that is not skipped.
    pub tools: usize,
    /// The tools without a function, and why. They are malformed, or their names are too long for a folder.
    pub skipped: Vec<String>,
    /// Malformed members that were left out, and schemas that became plain JSON, with the reasons.
    pub notes: Vec<String>,
    /// The files that were created, changed or removed.
    pub changes: Changes,
}

impl Bindings {
    /// Reads a snapshot from a file.
    ///
    /// # Errors
    /// Returns [`Error::Io`], or an error of [`Bindings::parse`].
    pub fn read(path: impl Into<PathBuf>) -> Result<Bindings, Error> {
        let path = path.into();
        let bytes = std::fs::read(&path).map_err(Error::io("reading", &path))?;
        Ok(Bindings { path: Some(path.clone()), ..Bindings::parse(path.display().to_string(), &bytes)? })
    }

    /// Parses a snapshot: a result of `tools/list`, a response with one, an array of tools, or an object with `tools`.
    /// Error messages call it `file`. Malformed tools are skipped.
    ///
    /// # Errors
    /// Returns [`Error::Json`], [`Error::Schema`] if all tools are malformed, or [`Error::Usage`] if the list is empty.
    pub fn parse(file: impl Into<String>, bytes: &[u8]) -> Result<Bindings, Error> {
        let file = file.into();
        let source = file.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
        let snapshot = Snapshot::parse_leniently(&file, bytes)?;
        if snapshot.list(ListKind::Tools).is_none_or(|list| list.items.is_empty()) {
            return Err(match snapshot.malformed.is_empty() {
                true => Error::Usage(format!("{file} has no tools; store a result of `tools/list`")),
                false => Error::Schema(problems(snapshot.malformed)),
            });
        }
        Ok(Bindings { snapshot, source, path: None })
    }

    /// Writes the module to the folder `out`: `mod.rs`, and a folder per schema. Removes outdated files of an earlier
    /// run.
    ///
    /// # Errors
    /// Returns [`Error::Io`], or [`Error::Usage`] if a file in the way was not written by mcpgen.
    pub fn write_to(&self, out: impl AsRef<Path>) -> Result<BindingsWritten, Error> {
        self.sync(out.as_ref(), false)
    }

    /// Returns the changes that [`Bindings::write_to`] would make, without making them.
    ///
    /// # Errors
    /// Fails like [`Bindings::write_to`].
    pub fn compare_with(&self, out: impl AsRef<Path>) -> Result<BindingsWritten, Error> {
        self.sync(out.as_ref(), true)
    }

    /// Writes the module below `OUT_DIR`. Use this in a build script, like
    /// [`Generator::build_script`](crate::Generator::build_script). Cargo prints a warning for each skipped tool.
    ///
    /// # Errors
    /// Fails like [`Bindings::write_to`], and with [`Error::Usage`] outside a build script.
    pub fn build_script(&self, name: &str) -> Result<BindingsWritten, Error> {
        let inputs = self.path.iter().map(|path| path.display().to_string());
        let written = include_in_build(name, |out| Ok((self.write_to(out)?, inputs.collect())))?;
        #[expect(clippy::print_stdout, reason = "cargo reads instructions from the output of a build script")]
        for why in &written.skipped {
            println!("{}", instruction("warning", why));
        }
        Ok(written)
    }

    fn sync(&self, out: &Path, check: bool) -> Result<BindingsWritten, Error> {
        let options = Options {
            support: SUPPORT.to_owned(),
            command: format!("mcpgen bindings {} --out DIR", self.source),
            source: self.source.clone(),
            vendored: None,
        };
        let mut files = BTreeMap::new();
        let mut tools = Vec::new();
        let all = self.snapshot.malformed.iter().filter(|item| item.kind == ListKind::Tools);
        let (kept, left_out): (Vec<&Malformed>, Vec<&Malformed>) = all.partition(|tool| tool.is_kept);
        let mut skipped: Vec<String> = left_out.into_iter().map(malformed).collect();
        let list = self.snapshot.list(ListKind::Tools);
        let items = || list.into_iter().flat_map(|list| &list.items);
        for ((name, item), names) in items().zip(Names::of(items().map(|(name, _)| name.as_str()))) {
            let tool = ToolBinding::new(name, item, names);
            match tool.is_too_long() {
                true => skipped.push(format!("{}: skipped: the name is too long for a folder", visible(name))),
                false => tools.push(tool),
            }
        }
        if tools.is_empty() {
            return Err(Error::Usage(format!(
                "{} has no tool that can have a function; {}",
                self.source,
                skipped.join("; ")
            )));
        }
        for schema in tools.iter_mut().flat_map(ToolBinding::schemas_mut) {
            schema.emit(&options, &mut files);
        }
        let header = header(&self.source, &self.snapshot.sha256, &options.command);
        files.insert("mod.rs".to_owned(), functions::root(&header, &self.source, &tools)?);
        let notes = kept.into_iter().map(malformed).chain(tools.iter().flat_map(ToolBinding::notes)).collect();
        Ok(BindingsWritten { tools: tools.len(), skipped, notes, changes: sync(out, &files, check)? })
    }
}

/// Says why a tool or a part of it is left out.
fn malformed(tool: &Malformed) -> String {
    let problem = |Problem { pointer, why, .. }: &Problem| format!("{pointer}: {why}");
    let problems: Vec<String> = tool.problems.iter().map(problem).collect();
    let what = if tool.is_kept { "left out" } else { "skipped" };
    format!("{}: {what}: {}", visible(&tool.name), visible(&problems.join("; ")))
}
