//! `mcpgen changelog`.

use clap::Args;
use mcpgen_diff::Axis;
use mcpgen_diff::report::compared::{Compared, Models, Subject};
use mcpgen_diff::report::contents::Report;
use mcpgen_diff::report::examples::examples;
use mcpgen_diff::report::formats::changelog;
use mcpgen_diff::report::judgement::FailOn;
use mcpgen_diff::report::policy::Policy;
use mcpgen_model::conversions::Rules;
use mcpgen_schema::Error;

use super::answer::Answer;
use super::root::Root;

/// Write a changelog in Markdown for people who upgrade, grouped by what they have to do
///
/// OLD and NEW are the same as in `mcpgen diff`. For each definition whose required members changed, the changelog
/// shows the smallest document before and after.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mcpgen changelog 2025-11-25 2026-07-28
  mcpgen changelog git:v1.0:schema.json schema.json > CHANGES.md
  mcpgen changelog --tools git:v1.0:tools.json tools.json")]
pub(super) struct ChangelogArgs {
    /// The old schema or snapshot
    #[arg(value_name = "OLD")]
    old: String,
    /// The new schema or snapshot
    #[arg(value_name = "NEW")]
    new: String,
    /// Compare snapshots of a server's lists
    #[arg(long)]
    tools: bool,
    #[command(flatten)]
    root: Root,
}

impl ChangelogArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let subject = if self.tools { Subject::Lists } else { Subject::Schemas };
        let compared = Compared::read(subject, (&self.old, &self.new), None, |revision, documented| {
            self.root.source(revision, documented)
        })?;
        let diff = compared.diff();
        // Every change is listed, even those that the project's configuration accepts.
        let axes = compared.subject().axes().iter().copied().filter(|axis| *axis != Axis::Trust).collect::<Vec<_>>();
        let mut judgement = Policy::default().judge(diff.findings, &axes, jiff::civil::Date::MIN);
        judgement.notes = diff.notes;
        let examples = match &compared.models {
            Models::Schemas(protocols) => {
                let [old, new] = &**protocols;
                let rules = match self.root.open() {
                    Ok(workspace) => Rules::read(&workspace.root)?,
                    // Outside a project, new members get placeholder values.
                    Err(_) => Rules::default(),
                };
                examples(old, new, &rules)
            }
            Models::Lists(_) => Vec::new(),
        };
        let report = Report::new(compared, &axes, FailOn::None, diff.types, judgement);
        Ok(Answer { text: changelog(&report, &examples), ..Answer::default() })
    }
}
