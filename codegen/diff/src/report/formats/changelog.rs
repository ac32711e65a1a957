//! A changelog in Markdown, for people who upgrade: what they have to do.

use std::fmt::Write as _;

use indexmap::IndexMap;
use mcpgen_model::Side;

use super::markdown::{code, prose};
use crate::models::{Action, Finding, Rule, Senders};
use crate::report::compared::Subject;
use crate::report::contents::Report;
use crate::report::examples::Example;
use crate::report::judgement::Judged;

/// The sections, in the order in which a changelog has them.
const SECTIONS: [(Action, &str); 9] = [
    (Action::Send, "Send what is now required"),
    (Action::StopSending, "Stop sending what is no longer accepted"),
    (Action::Replace, "Replace what was removed"),
    (Action::Rename, "Use the new names"),
    (Action::Adapt, "Adapt to what changed"),
    (Action::Handle, "Handle what you may now receive"),
    (Action::Review, "Check whether these changes matter"),
    (Action::Plan, "Plan for removals"),
    (Action::Use, "Use what is new"),
];

/// Writes a changelog, with examples at the end.
pub fn render(report: &Report, examples: &[Example]) -> String {
    let mut text = format!("# From {} to {}\n", code(&report.old.label), code(&report.new.label));
    let mut count = 0;
    for (action, title) in SECTIONS {
        let entries: Vec<&Judged> = report
            .findings
            .iter()
            .filter(|it| action_of(report.subject, &it.finding) == action && matters(report, it))
            .collect();
        if entries.is_empty() {
            continue;
        }
        count += entries.len();
        let _ = writeln!(text, "\n## {title}");
        let mut areas: IndexMap<&str, Vec<&Judged>> = IndexMap::new();
        entries.iter().for_each(|judged| areas.entry(report.area(&judged.finding)).or_default().push(judged));
        areas.sort_unstable_keys();
        for (area, entries) in areas {
            let _ = writeln!(text, "\n### {area}\n");
            for judged in entries {
                let finding = &judged.finding;
                let who = who(report.subject, action, finding).map_or(String::new(), |who| format!("{who}: "));
                let _ = writeln!(text, "- {who}{}.", prose(&message(finding)));
            }
        }
    }
    if count == 0 {
        text.push_str("\nThere is nothing to do.\n");
    }
    if !examples.is_empty() {
        text.push_str(
            "\n## Before and after\n\nThe smallest document of each definition whose required members changed.\n",
        );
    }
    for Example { definitions, before, after } in examples {
        let [first, others @ ..] = definitions.as_slice() else { continue };
        let others: Vec<String> = others.iter().map(|name| code(name)).collect();
        let others = if others.is_empty() { String::new() } else { format!(" (also {})", others.join(", ")) };
        let _ = writeln!(text, "\n{}{others}:", code(first));
        for (label, document) in [(&report.old.label, before), (&report.new.label, after)] {
            let _ = write!(text, "\n{}:\n\n```json\n{}```\n", code(label), document.to_pretty());
        }
    }
    for note in &report.notes {
        let _ = writeln!(text, "\nNote: {}.", prose(note));
    }
    text
}

/// Returns the message with the subject as code.
fn message(finding: &Finding) -> String {
    let Finding { message, subject, .. } = finding;
    match message.contains('`') || subject.contains('`') || subject.is_empty() {
        true => message.clone(),
        false => message.replacen(subject.as_str(), &format!("`{subject}`"), 1),
    }
}

/// Returns whether a finding belongs in the changelog. Added and removed definitions of a schema do not: other findings
/// report the messages that use them.
fn matters(report: &Report, judged: &Judged) -> bool {
    let finding = &judged.finding;
    let about_names = [Rule::TypeAdded, Rule::TypeRemoved].contains(&finding.rule);
    report.subject == Subject::Lists || !about_names
}

/// Returns what the reader of the changelog has to do. Changelogs of lists are for clients: what a server now has to
/// send in results, they can use.
fn action_of(subject: Subject, finding: &Finding) -> Action {
    let is_in_result = subject == Subject::Lists && finding.senders == Senders::from(Side::Server);
    match finding.rule.action() {
        Action::Send if is_in_result => Action::Use,
        action => action,
    }
}

/// Returns who has to act.
fn who(subject: Subject, action: Action, finding: &Finding) -> Option<&'static str> {
    let Senders { client, server } = finding.senders;
    let (clients, servers) = match action {
        Action::Send | Action::StopSending => (client, server),
        Action::Handle => (server, client),
        _ => return None,
    };
    match (clients, servers) {
        _ if subject == Subject::Lists => None,
        (true, false) => Some("Clients"),
        (false, true) => Some("Servers"),
        (true, true) => Some("Clients and servers"),
        (false, false) => None,
    }
}
