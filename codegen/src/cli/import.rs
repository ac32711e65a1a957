//! `mcpgen import`.

use std::path::PathBuf;

use clap::Args;
use mcpgen::vendored::import::{Import, ImportExtension, Imported, ImportedExtension, import, import_extension};
use mcpgen::{Changes, Workspace, vendored};
use mcpgen_model::{Era, Origin, Status};
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
    /// The version of the extension: a release, a date or a commit [default: draft]
    #[arg(long, value_name = "VERSION", requires = "extension")]
    version: Option<String>,
    /// Whether the schema is final [default: released if the name of the revision is a date, or if the version of the
    /// extension is neither `draft` nor a commit]
    #[arg(long, value_enum)]
    status: Option<Status>,
    /// How connections begin [default: legacy if clients send `initialize`]
    #[arg(long, value_enum)]
    era: Option<Era>,
    /// The path of the file in the upstream repository [default: schema/REV/schema.json, or the name of the file]
    #[arg(long, value_name = "PATH")]
    upstream: Option<String>,
    /// The revision whose types the extension uses [default: the newest released one]
    #[arg(long, value_name = "REV", requires = "extension")]
    core: Option<String>,
    /// The Rust module of the extension, below `ext` [default: its name]
    #[arg(long, value_name = "NAME", requires = "extension")]
    module: Option<String>,
    /// The feature of the extension [default: ext-NAME]
    #[arg(long, value_name = "NAME", requires = "extension")]
    feature: Option<String>,
    /// A file that lists the messages of the extension, with their directions
    #[arg(long, value_name = "FILE", requires = "extension")]
    protocol: Option<PathBuf>,
    /// Change an existing revision or extension
    #[arg(long)]
    accept: bool,
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
        let (status, era, accept) = (self.status, self.era, self.accept);
        let options = Import { revision: name.to_owned(), status, era, upstream: self.upstream.clone(), accept };
        let Imported { row, protocol, changes, written, same_as } = import(workspace, &self.file, &options)?;
        if let Some(released) = same_as {
            let text = format!("{}: the same as {released}, so nothing was imported\n", row.name);
            return Ok(Answer { text, ..Answer::default() });
        }
        let (status, era, definitions) = (row.status.as_str(), row.era.as_str(), protocol.facts.len());
        Ok(answer(&row.name, &changes, written, &format!("{definitions} definitions, {status}, {era}")))
    }

    fn extension(&self, workspace: Workspace, name: &str) -> Result<Answer, Error> {
        let options = ImportExtension {
            name: name.to_owned(),
            version: self.version.clone(),
            status: self.status,
            core: self.core.clone(),
            upstream: self.upstream.clone(),
            module: self.module.clone(),
            feature: self.feature.clone(),
            mapping: self.protocol.clone(),
            accept: self.accept,
        };
        let ImportedExtension { row, protocol, changes, written } = import_extension(workspace, &self.file, &options)?;
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
