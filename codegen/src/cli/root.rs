//! The option `--root`.

use std::path::PathBuf;

use clap::Args;

use crate::error::Error;
use crate::project::Workspace;

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
}
