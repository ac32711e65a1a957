//! Compares findings with the tables of rules.

use std::fmt::Write as _;

use mcpgen_diff::{Axis, Diff, Finding, Place, Rule};
use mcpgen_schema::text::visible;

/// Checks that each example has the findings in its table, and shows its rule.
pub(crate) fn check_examples(examples: impl Iterator<Item = (Rule, Diff)>, axes: &[Axis]) {
    let mut wrong = String::new();
    for (rule, diff) in examples {
        let meaning = rule.meaning();
        assert!(meaning.ends_with('.') && !meaning.contains('\n'), "{rule}: {meaning}");
        let found: String = diff.findings.iter().map(|it| words(it, axes)).collect();
        if found != rule.finds() || diff.findings.iter().all(|it| it.rule != rule) {
            let _ = writeln!(wrong, "[{rule}]\nfinds = '''\n{found}'''\n");
        }
    }
    assert!(wrong.is_empty(), "these examples show other findings than their tables, or not their rules:\n{wrong}");
}

/// Describes a finding: its message, who sends the values, its verdicts, its places, and what shows the verdicts.
pub(crate) fn words(finding: &Finding, axes: &[Axis]) -> String {
    let place = |place: &Option<Place>| match place {
        None => "-".to_owned(),
        Some(Place { pointer, rust: None }) => pointer.clone(),
        Some(Place { pointer, rust: Some(rust) }) => format!("{pointer} ({rust})"),
    };
    let Finding { rule, senders, verdicts, message, subject, old, new, .. } = finding;
    let who = if rule.is_of_lists() || *axes == Axis::LISTS { subject } else { senders.as_str() };
    let words: Vec<&str> = axes.iter().map(|axis| verdicts.word(*axis)).collect();
    let message = visible(message);
    let mut text = format!("{rule}: {message}\n  {who}: {}\n  {} -> {}\n", words.join(", "), place(old), place(new));
    for shown in finding.shown() {
        let _ = writeln!(text, "  {shown}");
    }
    text
}
