//! `mcpgen explain`.

use clap::Args;
use mcpgen_diff::Rule;
use mcpgen_diff::report::explain;
use mcpgen_schema::Error;

use super::answer::Answer;

/// Explain a rule of `diff` with its verdicts and an example, or list all rules
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen explain
  mcpgen explain request-removed
  mcpgen explain tool-became-destructive")]
pub(super) struct ExplainArgs {
    /// The rule [default: list all rules]
    rule: Option<String>,
}

impl ExplainArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let text = match &self.rule {
            None => explain::list(Rule::ALL),
            Some(id) => match Rule::find(id) {
                Some(rule) => explain::text(rule),
                None => return Err(Error::Usage(explain::unknown(id, Rule::ALL))),
            },
        };
        Ok(Answer { text, ..Answer::default() })
    }
}
