//! SARIF 2.1.0, for code scanning.

use mcpgen_schema::text::{visible_json, visible_lines};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::models::{Place, Rule, Verdict};
use crate::report::contents::Report;
use crate::report::explain;
use crate::report::judgement::{Judged, Suppressed};
use crate::report::source::Source;

pub(super) fn render(report: &Report) -> String {
    let mut rules: Vec<Rule> = report.findings.iter().map(|judged| judged.finding.rule).collect();
    rules.sort_by_key(|rule| rule.id());
    rules.dedup();
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "mcpgen",
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules.iter().map(|rule| descriptor(*rule)).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications(report),
            }],
            "results": report.findings.iter().map(|judged| result(report, judged, &rules)).collect::<Vec<_>>(),
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).expect("a log is text and numbers");
    text.push('\n');
    visible_json(text)
}

fn descriptor(rule: Rule) -> Value {
    json!({
        "id": rule.id(),
        "shortDescription": { "text": format!("{}.", explain::summary(rule)) },
        "fullDescription": { "text": rule.meaning() },
        "help": { "text": explain::text(rule), "markdown": explain::markdown(rule) },
        "defaultConfiguration": { "level": level(rule.worst()) },
    })
}

fn result(report: &Report, judged: &Judged, rules: &[Rule]) -> Value {
    let finding = &judged.finding;
    let mut result = json!({
        "ruleId": finding.rule.id(),
        "ruleIndex": rules.iter().position(|rule| *rule == finding.rule),
        "level": level(judged.severity),
        "message": { "text": message(&format!("{}\n{}", report.sentences(judged), report.verdicts(judged))) },
        "locations": locations(report, judged),
        "partialFingerprints": { "mcpgen/v1": judged.fingerprint },
    });
    if let Some(suppressed) = &judged.suppressed {
        let reason = match suppressed {
            Suppressed::Ignored(reason) => reason,
            Suppressed::InBaseline => "in the baseline",
        };
        result["suppressions"] = json!([{ "kind": "external", "justification": reason }]);
    }
    result
}

/// Returns the locations. The first is the one that viewers show: in the new schema, or, for a removed item, at its
/// former parent.
fn locations(report: &Report, judged: &Judged) -> Vec<Value> {
    let mut locations = Vec::new();
    let finding = &judged.finding;
    if let (None, Some(_), Some((file, line))) = (&finding.new, &report.new.file, report.shown(finding)) {
        locations.push(json!({
            "physicalLocation": physical(file, line),
            "message": { "text": message(&format!("new ({}): removed", report.new.label)) },
        }));
    }
    locations.extend(report.places(judged).rev().map(|(side, source, place)| location(side, source, place)));
    locations
}

fn location(side: &str, source: &Source, place: &Place) -> Value {
    let mut names = vec![json!({ "fullyQualifiedName": place.pointer, "kind": "member" })];
    if let Some(rust) = &place.rust {
        names.push(json!({ "fullyQualifiedName": rust, "kind": "type" }));
    }
    let mut location = json!({
        "logicalLocations": names,
        "message": { "text": message(&format!("{side} ({})", source.label)) },
    });
    if let Some(file) = &source.file {
        location["physicalLocation"] = physical(file, source.line(place));
    }
    location
}

fn physical(file: &str, line: usize) -> Value {
    json!({ "artifactLocation": { "uri": uri(file) }, "region": { "startLine": line } })
}

fn notifications(report: &Report) -> Vec<Value> {
    let notification = |level: &str, text: &String| json!({ "level": level, "message": { "text": message(text) } });
    let stale = report.stale.iter().map(|text| notification("error", text));
    stale.chain(report.notes.iter().map(|text| notification("note", text))).collect()
}

fn level(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Breaking | Verdict::Unknown => "error",
        Verdict::Dangerous => "warning",
        Verdict::Compatible => "note",
    }
}

/// Escapes a message. Viewers would show `[text](target)` as a link.
pub(super) fn message(text: &str) -> String {
    visible_lines(text).replace("](", "] (")
}

/// The characters that are escaped in the path of a URI.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// Returns a path as a URI reference, which is relative if the path is.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    format!("{scheme}{}", utf8_percent_encode(path, PATH))
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_are_uris() {
        assert_eq!(super::uri("schema/a b:c.json"), "schema/a%20b%3Ac.json");
        assert_eq!(super::uri("/x/ä.json"), "file:///x/%C3%A4.json");
    }
}
