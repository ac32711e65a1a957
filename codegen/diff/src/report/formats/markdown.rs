//! Markdown for a comment on a pull request.

use std::fmt::Write as _;

use mcpgen_model::text::foreign;
use mcpgen_schema::text::visible;

use crate::models::{Axis, Bump, Verdict};
use crate::report::contents::{Report, axis_in_words};
use crate::report::judgement::{Judged, Suppressed};

/// The maximum number of characters in a comment on GitHub. We count bytes, which are never fewer.
const LIMIT: usize = 65_536;
/// The number of bytes that lists leave free for the text after them.
const RESERVE: usize = 1_024;
/// The number of items of a list that are not collapsed.
const OPEN: usize = 10;
const WORST_FIRST: [Verdict; 4] = [Verdict::Breaking, Verdict::Unknown, Verdict::Dangerous, Verdict::Compatible];
/// The maximum number of characters of a name or a sentence.
const WORDS: usize = 400;

pub(super) fn render(report: &Report) -> String {
    let mut text = head(report);
    let stale: Vec<String> = report.stale.iter().map(|stale| format!("- {}\n", prose(stale))).collect();
    section(&mut text, "Stale ignores", &stale, OPEN);
    for (severity, title) in WORST_FIRST.into_iter().zip(["Breaking", "Unknown", "Dangerous", "Compatible"]) {
        let entries = report.unsuppressed().filter(|judged| judged.severity == severity);
        let items: Vec<String> = report.groups(entries).into_iter().flat_map(|group| items(report, group)).collect();
        // Findings are collapsed unless they may be breaking or fail the run.
        let open = if report.fail_on.reached(severity) || severity >= Verdict::Unknown { OPEN } else { 0 };
        section(&mut text, title, &items, open);
    }
    let suppressed: Vec<String> = report.findings.iter().filter_map(|judged| quiet(report, judged)).collect();
    section(&mut text, "Suppressed", &suppressed, 0);
    let notes: Vec<String> = report.notes.iter().map(|note| format!("- {}\n", prose(note))).collect();
    section(&mut text, "Notes", &notes, OPEN);
    text
}

fn head(report: &Report) -> String {
    let mut text =
        format!("## {}: {} → {}\n\n", report.subject.title(), code(&report.old.label), code(&report.new.label));
    let counts = report.counts();
    let outcome = if report.fails() { "fails" } else { "passes" };
    let [(breaking, _), others @ ..] = counts.by_verdict();
    let others = others.map(|(count, verdict)| format!("{count} {verdict}"));
    let _ = write!(text, "**{breaking} breaking**, {}", others.join(", "));
    let suppressed = counts.suppressed();
    if !suppressed.is_empty() {
        let _ = write!(text, "; suppressed: {suppressed}");
    }
    let _ = write!(text, ". The check **{outcome}** (`--fail-on {}`).\n\n", report.fail_on.as_str());
    text.push_str("| | breaking | unknown | dangerous | compatible |\n|---|--:|--:|--:|--:|\n");
    for axis in report.axes.iter().filter(|axis| **axis != Axis::RustApi) {
        let count =
            |verdict| report.unsuppressed().filter(|judged| judged.finding.verdicts.on(*axis) == verdict).count();
        let counts = WORST_FIRST.map(count).map(|count| count.to_string());
        let _ = writeln!(text, "| {} | {} |", axis_in_words(*axis), counts.join(" | "));
    }
    if report.axes.contains(&Axis::RustApi) {
        let count = |bump| report.unsuppressed().filter(|judged| judged.finding.verdicts.rust_api == bump).count();
        let [major, minor, patch] = [Bump::Major, Bump::Minor, Bump::Patch].map(count);
        let _ =
            writeln!(text, "| {} | {major} major | | | {minor} minor, {patch} patch |", axis_in_words(Axis::RustApi));
    }
    text.push('\n');
    text
}

/// Adds a list with a title. It is collapsed after its first items, and cut at the maximum size of a comment.
fn section(text: &mut String, title: &str, items: &[String], open: usize) {
    if items.is_empty() {
        return;
    }
    let _ = write!(text, "### {title} ({})\n\n", items.len());
    let mut left = items.len();
    let mut folded = false;
    for item in items {
        if left == items.len().saturating_sub(open) && !folded {
            let (gap, more) = if open == 0 { ("", "Show") } else { ("\n", "Show more") };
            let _ = write!(text, "{gap}<details><summary>{more} ({left})</summary>\n\n");
            folded = true;
        }
        if text.len() + item.len() + RESERVE > LIMIT {
            let _ = writeln!(text, "- … and {left} more that do not fit in a comment");
            break;
        }
        // The first item of a group begins with an empty line, which is dropped if one is there already.
        text.push_str(if text.ends_with("\n\n") { item.trim_start_matches('\n') } else { item });
        left -= 1;
    }
    if folded {
        text.push_str("\n</details>\n");
    }
    text.push('\n');
}

/// Returns the findings about one tool or type, with its name before the first.
fn items(report: &Report, (name, findings): (String, Vec<&Judged>)) -> Vec<String> {
    let mut items: Vec<String> = findings.into_iter().map(|judged| item(report, judged)).collect();
    items[0].insert_str(0, &format!("\n**{}**\n\n", code(&name)));
    items
}

fn item(report: &Report, judged: &Judged) -> String {
    let finding = &judged.finding;
    let mut text = format!("- {}: {}", code(finding.rule.id()), prose(&finding.message));
    let places: Vec<String> = report
        .places(judged)
        .map(|(side, source, it)| format!("{side} {}", code(&source.place_in_words(it))))
        .collect();
    for shown in finding.shown() {
        let _ = write!(text, "<br>{}", prose(&shown));
    }
    let verdicts = report.verdicts(judged);
    let _ = write!(text, "<br>{}; {verdicts}", places.join(", "));
    let rust = report.places(judged).rev().find_map(|(_, _, place)| place.rust.as_ref());
    if let (true, Some(rust)) = (report.axes.contains(&Axis::RustApi), rust) {
        let _ = write!(text, " {}", code(rust));
    }
    text.push('\n');
    text
}

/// Returns a suppressed finding with the reason.
fn quiet(report: &Report, judged: &Judged) -> Option<String> {
    let why = match judged.suppressed.as_ref()? {
        Suppressed::Ignored(reason) => format!("ignored: {}", prose(reason)),
        Suppressed::InBaseline => "in the baseline".to_owned(),
    };
    Some(format!("{} — {why}\n", item(report, judged).trim_end()))
}

/// Wraps a name in a code span.
pub(super) fn code(name: &str) -> String {
    foreign::code(&clipped(name))
}

/// Escapes a message that contains names from a schema. Names in backticks become code.
pub(super) fn prose(sentence: &str) -> String {
    let sentence = clipped(sentence.trim());
    let parts: Vec<&str> = sentence.split('`').collect();
    let paired = parts.len() % 2 == 1;
    let mut text = String::new();
    for (at, part) in parts.iter().enumerate() {
        if paired && at % 2 == 1 && !part.is_empty() {
            text.push_str(&code(part));
        } else {
            text.extend(part.chars().flat_map(plain));
        }
        if !paired && at + 1 < parts.len() {
            text.push_str("&#96;");
        }
    }
    text
}

/// Escapes a character for Markdown.
fn plain(c: char) -> Vec<char> {
    match c {
        '&' | '<' | '>' | '@' | '#' | '~' => format!("&#{};", u32::from(c)).chars().collect(),
        '\\' | '*' | '_' | '[' | ']' | '|' | '!' => vec!['\\', c],
        c => vec![c],
    }
}

fn clipped(text: &str) -> String {
    let text = visible(text);
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_markup() {
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(prose("`A.b` is *gone*, @all <b>"), "`A.b` is \\*gone\\*, &#64;all &#60;b&#62;");
        assert_eq!(prose("one ` alone _x_"), "one &#96; alone \\_x\\_");
        assert_eq!(prose("a\nb"), "a\\\\nb");
    }

    #[test]
    fn cuts_lists_at_the_maximum_size() {
        let items: Vec<String> = (0..5_000).map(|at| format!("- item {at} {}\n", "x".repeat(100))).collect();
        let mut text = String::new();
        for title in ["One", "Two", "Three", "Four", "Five"] {
            section(&mut text, title, &items, 10);
        }
        assert!(text.len() <= LIMIT, "{}", text.len());
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        assert!(text.contains("more that do not fit in a comment"));
        let mut short = String::new();
        section(&mut short, "Short", &items[..2], 10);
        assert_eq!(short.lines().count(), 5, "{short}");
    }
}
