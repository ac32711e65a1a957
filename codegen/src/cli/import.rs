//! `mcpgen import`.

use std::path::PathBuf;

use clap::Args;
use mcpgen::vendored::import::{ImportOptions, Imported, import, import_extension};
use mcpgen::{Changes, Workspace, vendored};
use mcpgen_model::Origin;
use mcpgen_schema::Error;

use super::answer::Answer;
use super::root::Root;

/// Import an official schema into schema/, without its prose
///
/// The schema is that of a revision or of an extension. An existing one changes only with --accept. Without it, the
/// changes are printed and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen import ../modelcontextprotocol/schema/2025-11-25/schema.json --revision 2025-11-25
  mcpgen import ../ext-tasks/schema/draft/schema.json --extension tasks --version draft")]
pub(super) struct ImportArgs {
    /// The schema file
    file: PathBuf,
    /// The name of the revision, such as 2025-11-25 or draft
    #[arg(long, value_name = "REV", required_unless_present = "extension")]
    revision: Option<String>,
    /// The name of the extension, such as tasks
    #[arg(long, value_name = "NAME", conflicts_with_all = ["revision", "era"])]
    extension: Option<String>,
    #[command(flatten)]
    options: ImportOptions,
    #[command(flatten)]
    root: Root,
}

impl ImportArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let workspace = Workspace::open_or_new(self.root.dir.as_deref())?;
        match (&self.extension, &self.revision) {
            (Some(name), _) => self.extension(workspace, name),
            (None, Some(name)) => self.revision(workspace, name),
            (None, None) => Err(Error::Usage("set --revision or --extension".to_owned())),
        }
    }

    fn revision(&self, workspace: Workspace, name: &str) -> Result<Answer, Error> {
        let Imported { row, protocol, changes, written, same_as } = import(workspace, &self.file, name, &self.options)?;
        if let Some(released) = same_as {
            let text = format!("{}: the same as {released}, so nothing was imported\n", row.name);
            return Ok(Answer { text, ..Answer::default() });
        }
        let (status, era, definitions) = (row.status.as_str(), row.era.as_str(), protocol.facts.len());
        Ok(answer(&row.name, &changes, written, &format!("{definitions} definitions, {status}, {era}")))
    }

    fn extension(&self, workspace: Workspace, name: &str) -> Result<Answer, Error> {
        let Imported { row, protocol, changes, written, .. } =
            import_extension(workspace, &self.file, name, &self.options)?;
        let is_definition = |id: &&usize| protocol.types[**id].origin == Origin::Definition;
        let shared = protocol.extends.as_ref().map_or(0, |extends| extends.shared.keys().filter(is_definition).count());
        let (status, core, definitions) = (row.status.as_str(), &row.core, protocol.facts.len());
        let facts = format!("{definitions} definitions, {shared} of them from {core}, {status}");
        Ok(answer(&row.name, &changes, written, &facts))
    }
}

fn answer(name: &str, changes: &Changes, written: bool, facts: &str) -> Answer {
    let mut answer = Answer { differs: !written, ..Answer::default() };
    let state = match (changes.changes.is_empty(), written) {
        (true, _) => "unchanged",
        (false, true) => "written",
        (false, false) => {
            answer.text = changes.diff(vendored::SCHEMAS);
            answer.notes.push(format!("nothing was written; use --accept to change {name}"));
            "differs"
        }
    };
    answer.text.push_str(&format!("{name}: {facts}: {state}\n"));
    answer
}
