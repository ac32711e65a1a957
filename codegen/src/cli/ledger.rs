//! `mcpgen ledger`.

use clap::{Args, ValueEnum};
use mcpgen::vendored::site::ledger_of;
use mcpgen_schema::Error;
use mcpgen_schema::text::visible_lines;

use super::answer::Answer;
use super::root::Root;

/// Count how much of an SDK is generated, is data, or is written by hand
///
/// Also lists the rules of the specification that no schema states. Code is counted for each layer of
/// codegen/site/ledger.toml; a file that belongs to no layer is an error.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen ledger
  mcpgen ledger --format json")]
pub(super) struct LedgerArgs {
    /// The output format
    #[arg(long, default_value = "text", value_enum)]
    format: LedgerFormat,
    #[command(flatten)]
    root: Root,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LedgerFormat {
    /// For terminals.
    Text,
    /// For programs.
    Json,
}

impl LedgerArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let ledger = ledger_of(&self.root.open()?)?;
        let text = match self.format {
            LedgerFormat::Text => visible_lines(&ledger.to_text()),
            LedgerFormat::Json => ledger.to_json(),
        };
        Ok(Answer { text, ..Answer::default() })
    }
}
