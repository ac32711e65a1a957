//! JUnit XML: a test case for each finding, and one for each rule without findings.

use std::collections::BTreeSet;
use std::time::Duration;

use mcpgen_schema::text::visible;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use crate::models::Rule;
use crate::report::contents::Report;
use crate::report::judgement::Judged;

pub(super) fn render(report: &Report) -> String {
    let found: BTreeSet<Rule> = report.findings.iter().map(|judged| judged.finding.rule).collect();
    let others = report.subject.rules().into_iter().filter(|rule| !found.contains(rule) && rule.concerns(&report.axes));
    let mut suite = TestSuite::new(format!("{} -> {}", visible(&report.old.label), visible(&report.new.label)));
    suite.set_time(Duration::ZERO);
    suite.add_test_cases(report.findings.iter().map(|judged| finding(report, judged)));
    suite.add_test_cases(report.stale.iter().map(|stale| {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type("stale-ignore").set_message(&*visible(stale));
        case("mcpgen.toml", stale, status)
    }));
    suite.add_test_cases(others.map(|rule| case(rule.id(), "no finding", TestCaseStatus::success())));
    let mut all = quick_junit::Report::new("mcpgen diff");
    all.set_time(Duration::ZERO).add_test_suite(suite);
    all.to_string().expect("names and texts are XML strings")
}

fn finding(report: &Report, judged: &Judged) -> TestCase {
    let found = &judged.finding;
    let mut description = format!("{}: {}\n{}\n", judged.severity, report.sentences(judged), report.verdicts(judged));
    for (side, source, place) in report.places(judged) {
        description.push_str(&format!("{side}: {} {}\n", source.place_in_words(place), visible(&place.pointer)));
    }
    let (mut status, mut output) = (TestCaseStatus::success(), None);
    if let Some(suppressed) = &judged.suppressed {
        status = TestCaseStatus::skipped();
        status.set_message(suppressed.to_string());
    } else if report.fails_by(judged) {
        status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_type(judged.severity.as_str()).set_message(&*visible(&found.message)).set_description(description);
    } else {
        output = Some(description);
    }
    let name = format!("{} {} [{}]", found.subject, found.detail, judged.fingerprint).replace("  ", " ");
    let mut case = case(found.rule.id(), &name, status);
    if let Some(output) = output {
        case.set_system_out(output);
    }
    if let Some((file, line)) = report.shown(&judged.finding) {
        case.extra.insert("file".into(), (&*visible(file)).into());
        case.extra.insert("line".into(), line.to_string().into());
    }
    case
}

fn case(class: &str, name: &str, status: TestCaseStatus) -> TestCase {
    let mut case = TestCase::new(visible(name).trim(), status);
    case.set_classname(class).set_time(Duration::ZERO);
    case
}
