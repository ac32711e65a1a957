//! `mcpgen docs`.

use std::fmt::Write;

use clap::Args;
use mcpgen_schema::Error;
use mcpgen_schema::text::counted;

use super::answer::Answer;
use super::root::Root;

/// Count the entries of schema/docs, and list missing and stale ones and wrong orders
///
/// An entry is missing for a definition, member, value, union variant or method without documentation. An entry is
/// stale if it documents an item that no revision has, or links to one. The order of a type is missing if its schema
/// lists members alphabetically, and stale if it names members that the type does not have.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  mcpgen docs --missing

Exit codes: 0 success, 1 missing or stale entries, or wrong orders (with --missing), 2 invalid input or usage.")]
pub(super) struct DocsArgs {
    /// List missing and stale entries and wrong orders, and exit with 1 if there are any
    #[arg(long)]
    missing: bool,
    #[command(flatten)]
    root: Root,
}

impl DocsArgs {
    pub(super) fn run(self) -> Result<Answer, Error> {
        let workspace = self.root.open()?;
        let mut models = workspace.models()?;
        models.extend(workspace.extension_models(&models)?);
        let (missing, stale) = (workspace.docs.missing(&models), workspace.docs.stale(&models));
        let unordered = workspace.docs.unordered(&models);
        let mut text = String::new();
        if self.missing {
            for (place, revisions) in &missing {
                line(&mut text, &format!("missing: {place} ({})", revisions.join(", ")));
            }
            for what in &stale {
                line(&mut text, &format!("stale: {what}"));
            }
            for what in &unordered {
                line(&mut text, &format!("order: {what}"));
            }
        }
        let differs = !(missing.is_empty() && stale.is_empty() && unordered.is_empty());
        let entries = counted(workspace.docs.len() as u64, "entries");
        let (missing, stale, orders) = (missing.len(), stale.len(), counted(unordered.len() as u64, "wrong orders"));
        line(&mut text, &format!("{entries}, {missing} missing, {stale} stale, {orders}"));
        Ok(Answer { text, notes: Vec::new(), differs: self.missing && differs })
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{line}").expect("writing to a String cannot fail");
}
