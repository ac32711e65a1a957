//! What changed between any two revisions: the reports of `mcpgen diff`, and a matrix that links to them.

use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use jiff::civil::Date;
use mcpgen_diff::Verdict;
use mcpgen_diff::html::{Page, escape};
use mcpgen_diff::report::compared::{Compared, Models};
use mcpgen_diff::report::contents::Report;
use mcpgen_diff::report::formats::page;
use mcpgen_diff::report::judgement::FailOn;
use mcpgen_diff::report::policy::Policy;
use mcpgen_diff::report::source::Source;
use mcpgen_model::Protocol;
use mcpgen_schema::Error;

use crate::frame::{badge, link, table};
use crate::links::pair;

/// The comparison of two revisions.
pub(crate) struct Comparison<'p> {
    pub(crate) old: &'p str,
    pub(crate) new: &'p str,
    pub(crate) page: Page,
    worst: Verdict,
    findings: usize,
    /// For each finding: what differs, the verdict, the message, and the anchor in the report.
    pub(crate) messages: Vec<(String, Verdict, String, String)>,
}

impl Comparison<'_> {
    pub(crate) fn address(&self) -> String {
        pair("compare", self.old, self.new)
    }

    /// Returns the report as a page.
    pub(crate) fn as_page(&self) -> Page {
        let Page { title, header, navigation, main, script } = &self.page;
        let (title, header, main) = (title.clone(), header.clone(), main.clone());
        Page { title, header, navigation: navigation.clone(), main, script }
    }
}

/// A revision and the file of its schema.
pub(crate) type Side<'p> = (&'p Protocol, &'p Path);

/// Compares each revision with each later one.
pub(crate) fn comparisons<'p>(revisions: &[Side<'p>]) -> Result<Vec<Comparison<'p>>, Error> {
    let pairs =
        revisions.iter().enumerate().flat_map(|(at, old)| revisions[at + 1..].iter().map(move |new| (old, new)));
    thread::scope(|scope| {
        let threads: Vec<_> = pairs.map(|(old, new)| scope.spawn(|| compare(*old, *new))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|cause| resume_unwind(cause))).collect()
    })
}

fn compare<'p>((old, old_file): Side<'p>, (new, new_file): Side<'p>) -> Result<Comparison<'p>, Error> {
    let source = |protocol: &Protocol, file: &Path| Source::of_revision(&protocol.revision, file);
    let compared = Compared {
        old: source(old, old_file)?,
        new: source(new, new_file)?,
        models: Models::Schemas(Box::new([old.clone(), new.clone()])),
    };
    let axes = compared.subject().default_axes();
    let diff = compared.diff();
    // Without a policy, no ignore can expire, so the day does not matter.
    let mut judgement = Policy::default().judge(diff.findings, axes, Date::MIN);
    judgement.notes.extend(diff.notes);
    let report = Report::new(compared, axes, FailOn::Unknown, diff.types, judgement);
    let messages = report.findings.iter().map(|judged| {
        let finding = &judged.finding;
        (finding.subject.clone(), judged.severity, finding.message.clone(), format!("f-{}", judged.fingerprint))
    });
    Ok(Comparison {
        old: &old.revision,
        new: &new.revision,
        page: Page { header: header(&old.revision, &new.revision), ..page(&report) },
        worst: report.findings.iter().map(|judged| judged.severity).max().unwrap_or_default(),
        findings: report.findings.len(),
        messages: messages.collect(),
    })
}

/// Writes the title of a report, and what its verdicts mean. Unlike a run of `mcpgen diff`, this report neither passes
/// nor fails.
fn header(old: &str, new: &str) -> String {
    let word = |verdict: Verdict| badge(verdict.as_str(), verdict.as_str());
    format!(
        "<h1>{} → {}</h1>\n<p>{}: one side refuses a message of the other, and the report shows why. {}: neither this nor the \
         opposite was proved. {}: no message is refused, but its meaning may differ. {}: nothing breaks.</p>\n",
        escape(old),
        escape(new),
        word(Verdict::Breaking),
        word(Verdict::Unknown),
        word(Verdict::Dangerous),
        word(Verdict::Compatible),
    )
}

/// Writes the matrix of all comparisons.
pub(crate) fn index(revisions: &[Side<'_>], comparisons: &[Comparison<'_>]) -> Page {
    let mut columns = vec!["From"];
    columns.extend(revisions.iter().skip(1).map(|(protocol, _)| protocol.revision.as_str()));
    let last = revisions.len().saturating_sub(1);
    let rows = revisions[..last].iter().map(|(old, _)| {
        let cells = revisions[1..].iter().map(|(new, _)| {
            let is_cell = |it: &&Comparison<'_>| it.old == old.revision && it.new == new.revision;
            let Some(found) = comparisons.iter().find(is_cell) else { return String::new() };
            let words = format!("{} findings", found.findings);
            let target = format!("../{}", found.address());
            format!("{} {}", link(&target, &words), badge(found.worst.as_str(), found.worst.as_str()))
        });
        std::iter::once(escape(&old.revision)).chain(cells).collect()
    });
    let table = table("Comparisons", &columns, rows);
    let main = format!(
        "<p>Each cell leads to a report: what changed from the revision of its row to that of its column, who it breaks, and \
         a document that shows it. The word is the worst verdict on messages between old and new peers.</p>\n{table}"
    );
    let header = "<h1>Compare two revisions</h1>\n".to_owned();
    Page { title: "Compare".into(), header, navigation: Vec::new(), main, script: "" }
}
