//! For programs. `schemas/diff-report.schema.json` documents it, and a test holds it to that.

use serde::Serialize;

use super::{Entry, Input, Location, Report, senders};
use crate::diff::policy::Suppressed;
use crate::diff::{Axis, TypeVerdict, Verdict, Verdicts};

pub(super) fn render(report: &Report) -> String {
    let counts = report.counts();
    let form = Form {
        version: 1,
        old: Schema::of(&report.old),
        new: Schema::of(&report.new),
        axes: &report.axes,
        fail_on: report.fail_on.as_str(),
        fails: report.fails(),
        summary: Summary {
            breaking: counts.breaking,
            dangerous: counts.dangerous,
            compatible: counts.compatible,
            ignored: counts.ignored,
            in_baseline: counts.in_baseline,
        },
        findings: report.findings.iter().map(|entry| Finding::of(report, entry)).collect(),
        types: report.types.iter().map(Type::of).collect(),
        stale_ignores: &report.stale,
        notes: &report.notes,
    };
    let mut text = serde_json::to_string_pretty(&form).expect("a report is text and numbers");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct Form<'r> {
    version: u32,
    old: Schema<'r>,
    new: Schema<'r>,
    axes: &'r [Axis],
    fail_on: &'static str,
    fails: bool,
    summary: Summary,
    findings: Vec<Finding<'r>>,
    types: Vec<Type<'r>>,
    stale_ignores: &'r [String],
    notes: &'r [String],
}

#[derive(Serialize)]
struct Schema<'r> {
    label: &'r str,
    file: Option<&'r str>,
    sha256: &'r str,
}

#[derive(Serialize)]
struct Summary {
    breaking: usize,
    dangerous: usize,
    compatible: usize,
    ignored: usize,
    in_baseline: usize,
}

#[derive(Serialize)]
struct Finding<'r> {
    rule: &'static str,
    fingerprint: &'r str,
    severity: Verdict,
    fails: bool,
    subject: &'r str,
    detail: &'r str,
    message: &'r str,
    senders: Vec<&'static str>,
    verdicts: Verdicts,
    old: Option<Place<'r>>,
    new: Option<Place<'r>>,
    suppressed: Option<Why<'r>>,
}

#[derive(Serialize)]
struct Place<'r> {
    file: Option<&'r str>,
    line: usize,
    pointer: &'r str,
    rust: Option<&'r str>,
}

#[derive(Serialize)]
struct Why<'r> {
    by: &'static str,
    reason: Option<&'r str>,
}

#[derive(Serialize)]
struct Type<'r> {
    name: &'r str,
    senders: Vec<&'static str>,
    old_to_new: Verdict,
    new_to_old: Verdict,
}

impl<'r> Type<'r> {
    fn of(verdict: &'r TypeVerdict) -> Type<'r> {
        let TypeVerdict { name, travel, old_to_new, new_to_old } = verdict;
        Type { name, senders: senders(*travel), old_to_new: *old_to_new, new_to_old: *new_to_old }
    }
}

impl<'r> Schema<'r> {
    fn of(input: &'r Input) -> Schema<'r> {
        Schema { label: &input.label, file: input.file.as_deref(), sha256: &input.sha256 }
    }
}

impl<'r> Finding<'r> {
    fn of(report: &Report, entry: &'r Entry) -> Finding<'r> {
        let judged = &entry.judged;
        let finding = &judged.finding;
        Finding {
            rule: finding.rule.id,
            fingerprint: &judged.fingerprint,
            severity: judged.severity,
            fails: report.fails_by(entry),
            subject: &finding.subject,
            detail: &finding.detail,
            message: &finding.message,
            senders: senders(finding.travel),
            verdicts: finding.verdicts,
            old: entry.old.as_ref().map(Place::of),
            new: entry.new.as_ref().map(Place::of),
            suppressed: judged.suppressed.as_ref().map(|suppressed| match suppressed {
                Suppressed::Ignored(reason) => Why { by: "ignore", reason: Some(reason) },
                Suppressed::InBaseline => Why { by: "baseline", reason: None },
            }),
        }
    }
}

impl<'r> Place<'r> {
    fn of(at: &'r Location) -> Place<'r> {
        Place { file: at.file.as_deref(), line: at.line, pointer: &at.pointer, rust: at.rust.as_deref() }
    }
}
