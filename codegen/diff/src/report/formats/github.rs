//! GitHub workflow commands: an annotation for each finding that is not suppressed.

use std::fmt::Write as _;

use mcpgen_schema::text::{visible, visible_lines};

use crate::models::Verdict;
use crate::report::contents::Report;
use crate::report::judgement::Judged;

pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    for judged in report.unsuppressed() {
        annotation(&mut text, report, judged);
    }
    for stale in &report.stale {
        let _ = writeln!(text, "::error title=stale ignore::{}", message(&visible(stale)));
    }
    // Notes are not annotations, because a step can have only ten of each kind. `note:` is not a command.
    for note in &report.notes {
        let _ = writeln!(text, "note: {}", visible(note));
    }
    text
}

fn annotation(text: &mut String, report: &Report, judged: &Judged) {
    let finding = &judged.finding;
    let command = match judged.severity {
        // By default, a finding that may be breaking also fails the run.
        Verdict::Breaking | Verdict::Unknown => "error",
        Verdict::Dangerous => "warning",
        Verdict::Compatible => "notice",
    };
    let mut properties = Vec::new();
    if let Some((file, line)) = report.shown(&judged.finding) {
        properties.push(format!("file={}", property(file)));
        properties.push(format!("line={line}"));
    }
    let title = format!("{} {}: {}", judged.severity, finding.rule, finding.subject);
    properties.push(format!("title={}", property(&title)));
    let words = format!("{}\n{}", report.sentences(judged), report.verdicts(judged));
    let _ = writeln!(text, "::{command} {}::{}", properties.join(","), message(&words));
}

/// Escapes the text of each line, the line breaks, which would end the command, and `%`, which begins an escape.
pub(super) fn message(text: &str) -> String {
    visible_lines(text).replace('%', "%25").replace('\n', "%0A")
}

/// Escapes a property like a message, and also colons and commas, which would end it.
pub(super) fn property(text: &str) -> String {
    message(&visible(text)).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_commands() {
        assert_eq!(super::message("100%\r\n::error::x, y"), "100%25\\r%0A\\u{3a}:error::x, y");
        assert_eq!(super::property("a:b,c\n%3A\u{9b}"), "a%3Ab%2Cc\\n%253A\\u{9b}");
    }
}
