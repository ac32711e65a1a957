//! `mcpgen import`.

use std::path::PathBuf;

use clap::Args;

use super::answer::Answer;
use super::root::Root;
use crate::error::Error;
use crate::model::{Era, Status};
use crate::project::Workspace;
use crate::project::import::{Import, Imported, import};
use crate::project::workspace;

/// Import an official schema into schema/, without its prose
///
/// An existing revision changes only with --accept. Without it, the changes are printed and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen import ../modelcontextprotocol/schema/2025-11-25/schema.json --revision 2025-11-25")]
pub(super) struct ImportArgs {
    /// The schema.json of the revision
    file: PathBuf,
    /// The name of the revision, such as 2025-11-25 or draft
    #[arg(long, value_name = "REV")]
    revision: String,
    /// Whether the revision is final [default: released if the name is a date]
    #[arg(long, value_enum)]
    status: Option<Status>,
    /// How connections begin [default: legacy if clients send `initialize`]
    #[arg(long, value_enum)]
    era: Option<Era>,
    /// The path of the file in the upstream repository [default: schema/REV/schema.json]
    #[arg(long, value_name = "PATH")]
    upstream: Option<String>,
    /// Change an existing revision
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    root: Root,
}

impl ImportArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let workspace = Workspace::open_or_new(self.root.dir.as_deref())?;
        let (status, era, accept) = (self.status, self.era, self.accept);
        let options = Import { revision: self.revision, status, era, upstream: self.upstream, accept };
        let Imported { row, protocol, changes, written, same_as } = import(workspace, &self.file, &options)?;
        let mut answer = Answer { differs: !written, ..Answer::default() };
        if let Some(released) = same_as {
            answer.text = format!("{}: the same as {released}, so nothing was imported\n", row.name);
            return Ok(answer);
        }
        let state = match (changes.changes.is_empty(), written) {
            (true, _) => "unchanged",
            (false, true) => "written",
            (false, false) => {
                answer.text = changes.diff(workspace::FOLDER);
                answer.notes.push(format!("nothing was written; use --accept to change {}", row.name));
                "differs"
            }
        };
        let (status, era, definitions) = (row.status.as_str(), row.era.as_str(), protocol.facts.len());
        answer.text.push_str(&format!("{}: {definitions} definitions, {status}, {era}: {state}\n", row.name));
        Ok(answer)
    }
}
