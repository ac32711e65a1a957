//! `mcpgen bindings`.

use std::path::PathBuf;

use clap::Args;
use mcpgen::{Bindings, BindingsWritten};
use mcpgen_diff::report::source::Source;
use mcpgen_schema::Error;
use mcpgen_schema::text::counted;

use super::answer::Answer;

/// Write Rust functions for the tools of a server, with types for their arguments and results
///
/// The code needs the crates mcpgen-sdk and mcpgen-types. A schema that mcpgen cannot read becomes JSON, with a note.
/// A tool that is malformed is skipped, with a note.
/// `mcpgen-probe snapshot` writes snapshots.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen bindings tools.json --out src/tools
  mcpgen bindings git:main:tools.json --out src/tools --check

Exit codes: 0 success, 1 a tool is skipped or the files differ with --check, 2 invalid input or usage.")]
pub(super) struct BindingsArgs {
    /// A snapshot of the server's lists: a file, `-` for standard input, or git:REF:PATH
    #[arg(value_name = "SNAPSHOT")]
    snapshot: String,
    /// The folder of the module: DIR/mod.rs and its files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Compare the files instead of writing them
    #[arg(long)]
    check: bool,
}

impl BindingsArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let source = Source::read(&self.snapshot)?;
        let bindings = Bindings::parse(source.name(), source.text.as_bytes())?;
        let written = if self.check { bindings.compare_with(&self.out)? } else { bindings.write_to(&self.out)? };
        let BindingsWritten { tools, skipped, notes, changes, .. } = written;
        let differs = self.check && !changes.changes.is_empty();
        let mut answer = Answer { differs: differs || !skipped.is_empty(), ..Answer::default() };
        answer.notes.extend(skipped.into_iter().chain(notes).map(|note| format!("note: {note}")));
        if self.check {
            answer.text.push_str(&changes.diff(&self.out.display().to_string()));
        }
        let state = match (changes.changes.len(), self.check) {
            (0, _) => "unchanged".to_owned(),
            (changed, true) => format!("differences in {}", counted(changed as u64, "files")),
            (changed, false) => format!("{} written or removed", counted(changed as u64, "files")),
        };
        answer.text.push_str(&format!("{}: {state}\n", counted(tools as u64, "tools")));
        if differs {
            answer.notes.push("generated files differ; run the command without --check to write them".to_owned());
        }
        Ok(answer)
    }
}
