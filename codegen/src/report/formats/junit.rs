//! JUnit's XML: a test case for each finding, and one for each rule that found nothing.

use std::collections::BTreeSet;
use std::io::{self, Write};

use quick_xml::events::{BytesDecl, BytesText, Event};
use quick_xml::writer::Writer;

use crate::diff::RULES;
use crate::report::contents::{Report, Reported};
use crate::report::judgement::Suppressed;
use crate::text::visible;

pub(super) fn render(report: &Report) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    write(&mut writer, report).expect("memory takes what is written");
    let mut text = String::from_utf8(writer.into_inner()).expect("text goes in");
    text.push('\n');
    text
}

fn write<W: Write>(writer: &mut Writer<W>, report: &Report) -> io::Result<()> {
    let found: BTreeSet<&str> = report.findings.iter().map(|entry| entry.judged.finding.rule.id).collect();
    let quiet: Vec<&str> = RULES.iter().map(|rule| rule.id).filter(|id| !found.contains(id)).collect();
    let cases = report.findings.len() + quiet.len() + report.stale.len();
    let failures = report.findings.iter().filter(|entry| report.fails_by(entry)).count() + report.stale.len();
    let totals = [
        ("tests", cases.to_string()),
        ("failures", failures.to_string()),
        ("errors", "0".to_owned()),
        ("skipped", report.suppressed().count().to_string()),
        ("time", "0".to_owned()),
    ];
    let name = format!("{} -> {}", visible(&report.old.label), visible(&report.new.label));
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = totals.iter().map(|(name, value)| (*name, value.as_str()));
    let suites = writer.create_element("testsuites").with_attributes([("name", "mcpgen diff")]);
    suites.with_attributes(all.clone()).write_inner_content(|writer| {
        let suite = writer.create_element("testsuite").with_attributes([("name", name.as_str())]).with_attributes(all);
        suite.write_inner_content(|writer| {
            report.findings.iter().try_for_each(|entry| finding(writer, report, entry))?;
            for stale in &report.stale {
                let case = case(writer, "mcpgen.toml", stale);
                case.write_inner_content(|writer| failure(writer, "stale-ignore", stale, ""))?;
            }
            quiet.iter().try_for_each(|id| case(writer, id, "no finding").write_empty().map(drop))
        })?;
        Ok(())
    })?;
    Ok(())
}

fn finding<W: Write>(writer: &mut Writer<W>, report: &Report, entry: &Reported) -> io::Result<()> {
    let judged = &entry.judged;
    let found = &judged.finding;
    let name = format!("{} {} [{}]", found.subject, found.detail, judged.fingerprint);
    let mut case = case(writer, found.rule.id, &name.replace("  ", " "));
    if let Some(shown) = &entry.shown {
        let line = shown.line.to_string();
        case = case.with_attributes([("file", visible(&shown.file).as_ref()), ("line", line.as_str())]);
    }
    let mut words = format!("{}: {}\n{}\n", judged.severity, visible(&found.message), report.verdicts(entry));
    for (side, input, at) in report.places(entry) {
        words.push_str(&format!("{side}: {} {}\n", at.in_words(input), visible(&at.pointer)));
    }
    case.write_inner_content(|writer| match &judged.suppressed {
        Some(suppressed) => {
            let why = match suppressed {
                Suppressed::Ignored(reason) => format!("ignored: {}", visible(reason)),
                Suppressed::InBaseline => "in the baseline".to_owned(),
            };
            writer.create_element("skipped").with_attribute(("message", why.as_str())).write_empty().map(drop)
        }
        None if report.fails_by(entry) => failure(writer, judged.severity.as_str(), &found.message, &words),
        None => writer.create_element("system-out").write_text_content(BytesText::new(&words)).map(drop),
    })?;
    Ok(())
}

fn case<'w, W: Write>(writer: &'w mut Writer<W>, class: &str, name: &str) -> quick_xml::writer::ElementWriter<'w, W> {
    let name = visible(name);
    writer.create_element("testcase").with_attributes([("classname", class), ("name", name.trim()), ("time", "0")])
}

fn failure<W: Write>(writer: &mut Writer<W>, kind: &str, message: &str, words: &str) -> io::Result<()> {
    let message = visible(message);
    let element = writer.create_element("failure").with_attributes([("type", kind), ("message", message.as_ref())]);
    element.write_text_content(BytesText::new(words)).map(drop)
}
