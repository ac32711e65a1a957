//! The option `--root`.

use std::path::PathBuf;

use clap::Args;
use mcpgen::Workspace;
use mcpgen_diff::report::source::Source;
use mcpgen_model::Protocol;
use mcpgen_schema::Error;

#[derive(Debug, Args)]
pub(super) struct Root {
    /// The project folder [default: the current folder or the nearest parent with schema/revisions.toml]
    #[arg(long = "root", id = "root", value_name = "DIR")]
    pub(super) dir: Option<PathBuf>,
}

impl Root {
    pub(super) fn open(&self) -> Result<Workspace, Error> {
        Workspace::open(self.dir.as_deref())
    }

    /// Reads a vendored revision or extension for a comparison.
    pub(super) fn source(&self, revision: &str, is_documented: bool) -> Result<(Source, Protocol), Error> {
        let workspace = self.open()?;
        let protocol = match is_documented {
            true => workspace.model(revision)?,
            false => workspace.undocumented_model(revision)?,
        };
        let path = workspace.root.join(workspace.schema_path(revision)?);
        Ok((Source::of_revision(revision, &path)?, protocol))
    }
}
