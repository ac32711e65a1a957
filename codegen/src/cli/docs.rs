//! `mcpgen docs`.

use std::fmt::Write;

use clap::Args;
use mcpgen_schema::Error;
use mcpgen_schema::text::counted;

use super::answer::Answer;
use super::root::Root;

/// Count the entries of schema/docs, and list missing and stale ones
///
/// An entry is missing for a definition, member, value, union variant or method without documentation. An entry is stale
/// if it documents an item that no revision has, or links to one.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen docs --missing

Exit codes: 0 success, 1 missing or stale entries (with --missing), 2 invalid input or usage.")]
pub(super) struct DocsArgs {
    /// List missing and stale entries, and exit with 1 if there are any
    #[arg(long)]
    missing: bool,
    #[command(flatten)]
    root: Root,
}

impl DocsArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let workspace = self.root.open()?;
        let mut models = workspace.models()?;
        models.extend(workspace.extension_models()?);
        let (missing, stale) = (workspace.docs.missing(&models), workspace.docs.stale(&models));
        let mut text = String::new();
        if self.missing {
            for (place, revisions) in &missing {
                line(&mut text, &format!("missing: {place} ({})", revisions.join(", ")));
            }
            for what in &stale {
                line(&mut text, &format!("stale: {what}"));
            }
        }
        let entries = counted(workspace.docs.len() as u64, "entries");
        line(&mut text, &format!("{entries}, {} missing, {} stale", missing.len(), stale.len()));
        Ok(Answer { text, notes: Vec::new(), differs: self.missing && !(missing.is_empty() && stale.is_empty()) })
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}
