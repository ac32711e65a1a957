//! JSON for programs. `schemas/diff-report.schema.json` is its schema, and a test validates reports against it.

use indexmap::IndexMap;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::visible_json;
use serde::Serialize;
use serde_json::Value;

use crate::models::{Axis, Evidence, Place, TypeVerdict, Verdict, Version, Witness};
use crate::report::contents::{Counts, Report, sides};
use crate::report::judgement::{Judged, Suppressed};
use crate::report::source::Source;

pub(super) fn render(report: &Report) -> String {
    let form = ReportJson {
        version: 1,
        subject: report.subject.as_str(),
        old: &report.old,
        new: &report.new,
        axes: &report.axes,
        fail_on: report.fail_on.as_str(),
        fails: report.fails(),
        summary: report.counts(),
        findings: report.findings.iter().map(|judged| FindingJson::of(report, judged)).collect(),
        types: report.types.iter().map(TypeJson::of).collect(),
        stale_ignores: &report.stale,
        notes: &report.notes,
    };
    let mut text = serde_json::to_string_pretty(&form).expect("a report is text and numbers");
    text.push('\n');
    visible_json(text)
}

#[derive(Serialize)]
struct ReportJson<'r> {
    version: u32,
    subject: &'static str,
    old: &'r Source,
    new: &'r Source,
    axes: &'r [Axis],
    fail_on: &'static str,
    fails: bool,
    summary: Counts,
    findings: Vec<FindingJson<'r>>,
    types: Vec<TypeJson<'r>>,
    stale_ignores: &'r [String],
    notes: &'r [String],
}

#[derive(Serialize)]
struct FindingJson<'r> {
    rule: &'static str,
    fingerprint: &'r str,
    severity: Verdict,
    fails: bool,
    subject: &'r str,
    detail: &'r str,
    message: &'r str,
    senders: Vec<&'static str>,
    verdicts: IndexMap<&'static str, &'static str>,
    evidence: Evidence,
    witnesses: Vec<WitnessJson<'r>>,
    unknown: Option<UnknownJson<'r>>,
    old: Option<PlaceJson<'r>>,
    new: Option<PlaceJson<'r>>,
    suppressed: Option<SuppressedJson<'r>>,
}

#[derive(Serialize)]
struct WitnessJson<'r> {
    reader: Version,
    document: Value,
    refused: &'r str,
}

#[derive(Serialize)]
struct UnknownJson<'r> {
    reason: &'r str,
    old: Option<Value>,
    new: Option<Value>,
}

#[derive(Serialize)]
struct PlaceJson<'r> {
    file: Option<&'r str>,
    line: usize,
    pointer: &'r str,
    rust: Option<&'r str>,
}

#[derive(Serialize)]
struct SuppressedJson<'r> {
    by: &'static str,
    reason: Option<&'r str>,
}

#[derive(Serialize)]
struct TypeJson<'r> {
    name: &'r str,
    senders: Vec<&'static str>,
    old_to_new: Verdict,
    new_to_old: Verdict,
}

impl<'r> TypeJson<'r> {
    fn of(verdict: &'r TypeVerdict) -> TypeJson<'r> {
        let TypeVerdict { name, senders, old_to_new, new_to_old } = verdict;
        TypeJson { name, senders: sides(*senders), old_to_new: *old_to_new, new_to_old: *new_to_old }
    }
}

impl<'r> FindingJson<'r> {
    fn of(report: &'r Report, judged: &'r Judged) -> FindingJson<'r> {
        let finding = &judged.finding;
        // A report without the axis `trust` contains no findings about trust, so it shows no verdicts on it.
        let is_compared = |axis: &&Axis| **axis != Axis::Trust || report.axes.contains(axis);
        let compared = report.subject.axes().iter().filter(is_compared);
        FindingJson {
            rule: finding.rule.id(),
            fingerprint: &judged.fingerprint,
            severity: judged.severity,
            fails: report.fails_by(judged),
            subject: &finding.subject,
            detail: &finding.detail,
            message: &finding.message,
            senders: sides(finding.senders),
            verdicts: compared.map(|axis| (axis.as_str(), finding.verdicts.word(*axis))).collect(),
            evidence: finding.evidence,
            witnesses: finding.witnesses.iter().map(WitnessJson::of).collect(),
            unknown: finding.undecided.as_deref().map(|reason| UnknownJson {
                reason,
                old: subschema(&report.old, finding.old.as_ref()),
                new: subschema(&report.new, finding.new.as_ref()),
            }),
            old: finding.old.as_ref().map(|place| PlaceJson::of(&report.old, place)),
            new: finding.new.as_ref().map(|place| PlaceJson::of(&report.new, place)),
            suppressed: judged.suppressed.as_ref().map(|suppressed| match suppressed {
                Suppressed::Ignored(reason) => SuppressedJson { by: "ignore", reason: Some(reason) },
                Suppressed::InBaseline => SuppressedJson { by: "baseline", reason: None },
            }),
        }
    }
}

impl<'r> WitnessJson<'r> {
    fn of(Witness { reader, document, refused }: &'r Witness) -> WitnessJson<'r> {
        WitnessJson { reader: *reader, document: value(document), refused }
    }
}

/// Returns the schema at a place.
fn subschema(source: &Source, place: Option<&Place>) -> Option<Value> {
    source.text.value(&place?.pointer).map(|json| value(&json))
}

fn value(json: &Json) -> Value {
    serde_json::to_value(json).unwrap_or_default()
}

impl<'r> PlaceJson<'r> {
    fn of(source: &'r Source, place: &'r Place) -> PlaceJson<'r> {
        let Place { pointer, rust } = place;
        PlaceJson { file: source.file.as_deref(), line: source.line(place), pointer, rust: rust.as_deref() }
    }
}
