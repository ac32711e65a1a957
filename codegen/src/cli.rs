//! The command line: what it accepts, and what it answers.

mod diff;
mod docs;
mod explain;
mod manual;
mod one;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use mcpgen::generate::{self, Generated};
use mcpgen::import::{Import, Imported, import};
use mcpgen::inspect::inspect;
use mcpgen::protocol::Era;
use mcpgen::workspace::{self, Status, Workspace};
use mcpgen::{Document, Error, Generator};

/// Generates Rust types and method enums from the official JSON schema of a Model Context Protocol revision.
#[derive(Debug, Parser)]
#[command(
    version,
    after_help = "\
Example:
  mcpgen generate --check

Exit codes: 0 done, 1 differences found, 2 bad input or usage."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Generate(GenerateArgs),
    Import(ImportArgs),
    Inspect(InspectArgs),
    Docs(docs::DocsArgs),
    Diff(diff::DiffArgs),
    Explain(explain::ExplainArgs),
    Completions(manual::CompletionsArgs),
    Man(manual::ManArgs),
}

/// Write the Rust modules of all vendored revisions, or of one schema of your own
///
/// Vendored revisions go to generated/src. Generated files that are not needed any more are removed; files that mcpgen
/// did not write are never touched; if anything fails, everything stays as it was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen generate
  mcpgen generate --check
  mcpgen generate --schema my-schema.json --revision my-draft --out src/protocol")]
struct GenerateArgs {
    /// Write nothing; print what would change and exit with 1 if anything would
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    root: Root,
    /// Generate from this schema instead of the vendored ones
    ///
    /// It never counts as a released revision, whatever its name: fixups are tried on it, and none has to find its
    /// place.
    #[arg(long, value_name = "FILE", requires_all = ["revision", "out"], conflicts_with = "root")]
    schema: Option<PathBuf>,
    /// What to call the revision of --schema
    #[arg(long, value_name = "NAME", requires = "schema")]
    revision: Option<String>,
    /// The folder that becomes the module of --schema: DIR/mod.rs and its files
    #[arg(long, value_name = "DIR", requires = "schema")]
    out: Option<PathBuf>,
    /// Where the module of --schema finds the support core
    #[arg(long, value_name = "PATH", requires = "schema", default_value = generate::SUPPORT)]
    support: String,
}

/// Take an official schema into schema/, without its prose
///
/// A revision that is there already changes only with --accept; otherwise its changes are printed and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen import ../modelcontextprotocol/schema/2025-11-25/schema.json --revision 2025-11-25")]
struct ImportArgs {
    /// The schema.json of a revision
    file: PathBuf,
    /// The revision's name, such as 2025-11-25 or draft
    #[arg(long, value_name = "REV")]
    revision: String,
    /// Whether every fixup meant for the revision must find its place [default: released if the name is a date]
    #[arg(long, value_parser = one_of(&Status::ALL, Status::as_str))]
    status: Option<Status>,
    /// How sessions work [default: legacy if `initialize` is a client's request]
    #[arg(long, value_parser = one_of(&[Era::Legacy, Era::Modern], Era::as_str))]
    era: Option<Era>,
    /// Path of the file in upstream's repository [default: schema/REV/schema.json]
    #[arg(long, value_name = "PATH")]
    upstream: Option<String>,
    /// Let a revision that is there already change
    #[arg(long)]
    accept: bool,
    #[command(flatten)]
    root: Root,
}

/// Show a revision: methods, types, unions with their decisions, fixups, and what became of every definition
///
/// With names of types, only those, and what is said of them. The JSON form is documented in codegen/README.md and stable.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen inspect 2025-11-25
  mcpgen inspect 2025-11-25 Tool CallToolResult
  mcpgen inspect my-schema.json --format json")]
struct InspectArgs {
    /// A vendored revision, or a schema file, which counts as a draft
    #[arg(value_name = "REV|FILE")]
    subject: String,
    /// Types to show, by their names in the schema or in Rust
    #[arg(value_name = "TYPE", conflicts_with = "format")]
    types: Vec<String>,
    /// For people or for programs
    #[arg(long, default_value = "text", value_parser = ["text", "json"])]
    format: String,
    #[command(flatten)]
    root: Root,
}

#[derive(Debug, Args)]
struct Root {
    /// The folder that holds schema/ [default: the nearest one upwards with schema/revisions.toml]
    #[arg(long = "root", id = "root", value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// What a command has to say.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// For stdout.
    pub(crate) text: String,
    /// For stderr, one line each.
    pub(crate) notes: Vec<String>,
    /// Whether it looked for differences and found some.
    pub(crate) differs: bool,
}

impl Cli {
    /// Does what was asked for.
    pub(crate) fn run(self) -> Result<Answer, Error> {
        match self.command {
            Command::Generate(args) => args.run(),
            Command::Import(args) => args.run(),
            Command::Inspect(args) => args.run(),
            Command::Docs(args) => args.run(),
            Command::Diff(args) => args.run(),
            Command::Explain(args) => args.run(),
            Command::Completions(args) => Ok(args.run()),
            Command::Man(args) => args.run(),
        }
    }
}

impl GenerateArgs {
    fn run(self) -> Result<Answer, Error> {
        let (generated, folder) = match (&self.schema, &self.revision, &self.out) {
            (Some(schema), Some(revision), Some(out)) => {
                let generator = Generator::new(schema, revision).support(&self.support);
                let generated = if self.check { generator.compare_with(out)? } else { generator.write_to(out)? };
                (generated, out.display().to_string())
            }
            _ => (generate::vendored(&self.root.open()?, self.check)?, generate::FOLDER.to_owned()),
        };
        let Generated { revisions, changes } = generated;
        let mut answer = Answer { differs: self.check && !changes.changes.is_empty(), ..Answer::default() };
        if self.check {
            answer.text.push_str(&changes.diff(&folder));
        }
        for summary in revisions {
            let state = match (summary.changed, self.check) {
                (0, _) => "unchanged".to_owned(),
                (changed, true) => format!("{changed} differ"),
                (changed, false) => format!("{changed} written or removed"),
            };
            let generate::Summary { revision, types, methods, files, .. } = &summary;
            answer.text.push_str(&format!("{revision}: {types} types, {methods} methods, {files} files: {state}\n"));
            if !summary.idle_fixups.is_empty() {
                let names = summary.idle_fixups.join(", ");
                answer.notes.push(format!("warning: {revision}: fixups that found nothing to correct: {names}"));
            }
        }
        if answer.differs {
            answer.notes.push("generated files differ; run the command without --check to write them".to_owned());
        }
        Ok(answer)
    }
}

impl ImportArgs {
    fn run(self) -> Result<Answer, Error> {
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
                answer.notes.push(format!("nothing was written; --accept lets {} change", row.name));
                "differs"
            }
        };
        let (status, era, definitions) = (row.status.as_str(), row.era.as_str(), protocol.facts.len());
        answer.text.push_str(&format!("{}: {definitions} definitions, {status}, {era}: {state}\n", row.name));
        Ok(answer)
    }
}

impl InspectArgs {
    fn run(self) -> Result<Answer, Error> {
        let path = Path::new(&self.subject);
        let protocol =
            if path.is_file() || path.components().count() > 1 || path.extension().is_some_and(|end| end == "json") {
                mcpgen::model(Document::read(path)?, Status::Draft.as_str(), false)?
            } else {
                let workspace = self.root.open()?;
                let known = workspace.revisions.iter().map(|row| row.name.as_str());
                let hint = one::meant(&self.subject, known).unwrap_or_default();
                let revision =
                    workspace.revision(&self.subject).map_err(|error| Error::Usage(format!("{error}{hint}")))?;
                workspace.model(&revision.name)?
            };
        if !self.types.is_empty() {
            return Ok(Answer { text: one::texts(&protocol, &self.types)?, ..Answer::default() });
        }
        let report = inspect(&protocol)?;
        let text = if self.format == "json" { report.to_json() } else { report.to_string() };
        Ok(Answer { text, ..Answer::default() })
    }
}

impl Root {
    fn open(&self) -> Result<Workspace, Error> {
        Workspace::open(self.dir.as_deref())
    }
}

/// Accepts the names of a few values.
fn one_of<T>(all: &'static [T], name: fn(T) -> &'static str) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    let names = PossibleValuesParser::new(all.iter().map(|value| name(*value)));
    names.map(move |word| *all.iter().find(|value| name(**value) == word).expect("the parser knows only these"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn every_command_shows_an_example() {
        let mut cli = Cli::command();
        cli.build();
        for command in cli.get_subcommands_mut().filter(|command| command.get_name() != "help") {
            let help = command.render_long_help().to_string();
            assert!(help.contains(&format!("  mcpgen {}", command.get_name())), "{help}");
        }
    }

    #[test]
    fn arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
