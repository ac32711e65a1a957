//! Writes malicious names in every format, and checks that the output is valid and safe for its consumers.

use mcpgen_model::text::foreign;
use mcpgen_schema::Document;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::{visible, visible_json, visible_lines};
use quick_xml::events::Event;
use quick_xml::reader::Reader;
use serde_json::Value;

use super::hostile::{HOSTILE, active, has_command, is_hidden};
use super::{Format, TextOptions, github, markdown, sarif};
use crate::html;
use crate::models::{
    Axis, Evidence, Finding, Place, Rule, RuleVerdicts, SchemaVerdicts, Senders, TypeVerdict, Verdict, Version, Witness,
};
use crate::report::compared::{Models, Subject};
use crate::report::contents::Report;
use crate::report::judgement::{FailOn, Judged, Judgement, Suppressed};
use crate::report::source::Source;

/// A rule that always breaks, one whose new messages are dangerous, and one that never breaks.
const RULES: [Rule; 3] = [Rule::TypeChanged, Rule::ErrorCodeAdded, Rule::DocumentationChanged];

/// Creates a finding by one of the rules, about values that the client sends.
pub fn finding(rule: usize, subject: &str, detail: &str) -> Finding {
    let rule = RULES[rule];
    let RuleVerdicts::Schemas(SchemaVerdicts { old_to_new, new_to_old, rust_api }) = rule.verdicts() else { panic!() };
    let senders = Senders { client: true, server: false };
    let place = |name: &str| Place { pointer: format!("/$defs/{name}"), rust: Some(format!("{name}::x")) };
    Finding {
        rule,
        senders,
        verdicts: senders.verdicts(old_to_new, new_to_old, rust_api),
        evidence: Evidence::None,
        witnesses: vec![Witness {
            reader: Version::New,
            document: Json::String(subject.to_owned()),
            refused: format!("{detail}: expected `{subject}`"),
        }],
        by_convention: Vec::new(),
        undecided: None,
        items: Vec::new(),
        subject: subject.to_owned(),
        detail: detail.to_owned(),
        message: format!("`{subject}` is {detail} now"),
        old: Some(place("A")),
        new: (rule != Rule::TypeChanged).then(|| place("B")),
    }
}

/// Creates a report with these findings in every possible state.
fn report(findings: Vec<Finding>, files: bool) -> Report {
    let file = files.then_some("schema/ä, b:%.json");
    let source = |label: &str| Source {
        label: label.into(),
        file: file.map(str::to_owned),
        sha256: "0".repeat(64),
        ..Source::default()
    };
    let protocol = || {
        let schema = br#"{"$defs": {"A": {"type": "string"}, "B": {"type": "string"}}}"#;
        let document = Document::parse("schema.json", schema).expect("a schema");
        let mut protocol = mcpgen_model::model(document, "draft", false).expect("a model");
        protocol.areas.fill(HOSTILE[3].into());
        protocol
    };
    let judged = |(at, finding): (usize, Finding)| {
        let suppressed = match at % 7 {
            3 => Some(Suppressed::Ignored(HOSTILE[3].into())),
            5 => Some(Suppressed::InBaseline),
            _ => None,
        };
        let severity = finding.verdicts.worst(&Axis::SCHEMAS);
        Judged { fingerprint: finding.fingerprint(), severity, suppressed, finding }
    };
    Report {
        subject: Subject::Schemas,
        old: source(HOSTILE[1]),
        new: source("-"),
        models: Models::Schemas(Box::new([protocol(), protocol()])),
        axes: Axis::SCHEMAS.to_vec(),
        fail_on: FailOn::Dangerous,
        findings: findings.into_iter().enumerate().map(judged).collect(),
        types: vec![TypeVerdict {
            name: HOSTILE[2].into(),
            senders: Senders::BOTH,
            old_to_new: Verdict::Breaking,
            new_to_old: Verdict::Compatible,
        }],
        stale: vec![format!("mcpgen.toml:1: stale ignore of x {}", HOSTILE[1])],
        notes: HOSTILE.map(str::to_owned).to_vec(),
    }
}

/// Creates reports without findings, with malicious names (with and without files), and with many findings.
fn reports() -> Vec<Report> {
    let each =
        || HOSTILE.iter().enumerate().flat_map(|(at, name)| [finding(at % 3, name, name), finding(1, name, "x")]);
    let long = "x".repeat(10_000);
    let many = (0..800).map(|at| finding(at % 3, &format!("Type{at}.member"), &long[..at % 100])).collect();
    vec![
        report(Vec::new(), true),
        report(each().collect(), true),
        report(each().collect(), false),
        report((0..3).map(|rule| finding(rule, &long, &long)).collect(), true),
        report(many, true),
    ]
}

/// A place that foreign text reaches, and the one function that escapes it there.
struct Border {
    name: &'static str,
    escape: fn(&str) -> String,
    /// The number of lines of the escaped text, or `None` if it keeps the lines of the original.
    lines: Option<usize>,
    /// What the escaped text must not contain.
    forbidden: &'static [&'static str],
    /// Whether the text may be read as Markdown.
    markdown: bool,
}

const ONE_LINE: Border = Border {
    name: "",
    escape: |text| visible(text).into_owned(),
    lines: Some(1),
    forbidden: &["##["],
    markdown: false,
};

const BORDERS: &[Border] = &[
    Border { name: "terminal", ..ONE_LINE },
    Border { name: "terminal, several lines", escape: visible_lines, lines: None, ..ONE_LINE },
    Border { name: "JSON", escape: |text| visible_json(format!("{:#}", Value::from(text))), ..ONE_LINE },
    Border { name: "HTML", escape: html::escape, lines: None, forbidden: &["<", ">", "\"", "'"], ..ONE_LINE },
    Border { name: "Markdown", escape: markdown::prose, markdown: true, ..ONE_LINE },
    Border { name: "Markdown, code", escape: markdown::code, markdown: true, ..ONE_LINE },
    Border { name: "documentation", escape: foreign::prose, lines: None, markdown: true, ..ONE_LINE },
    Border { name: "documentation, a line", escape: foreign::line, markdown: true, ..ONE_LINE },
    Border { name: "documentation, code", escape: foreign::code, markdown: true, ..ONE_LINE },
    Border { name: "workflow, a message", escape: github::message, forbidden: &["%0D"], ..ONE_LINE },
    Border { name: "workflow, a property", escape: github::property, forbidden: &[":", ",", "%0A"], ..ONE_LINE },
    Border { name: "SARIF", escape: |text| sarif::message(text), lines: None, forbidden: &["]("], ..ONE_LINE },
];

#[test]
fn nothing_foreign_crosses_a_border_unescaped() {
    for Border { name, escape, lines, forbidden, markdown } in BORDERS {
        for hostile in HOSTILE {
            let text = escape(hostile);
            let shown = format!("{name}: {hostile:?}: {text:?}");
            assert!(!is_hidden(&text), "{shown}");
            assert!(
                lines.is_none_or(|lines| text.split('\n').count() == lines || text.lines().count() == lines),
                "{shown}"
            );
            assert!(!forbidden.iter().any(|part| text.contains(part)), "{shown}");
            assert_eq!(if *markdown { active(&text) } else { Vec::new() }, [""; 0], "{shown}");
            // The excluded texts are never a whole line of a log: they are a part of one, or go to a file.
            let is_log = !markdown && !["HTML", "terminal"].contains(name);
            assert!(!is_log || !has_command(&text), "{shown}");
        }
    }
}

#[test]
fn no_format_has_hidden_characters() {
    for report in reports() {
        let changelog = super::changelog(&report, &[]);
        for text in Format::ALL.map(|format| format.render(&report, TextOptions::default())).iter().chain([&changelog])
        {
            assert!(!is_hidden(text), "{text:?}");
        }
    }
}

#[test]
fn text_has_no_hidden_characters() {
    for report in reports() {
        for all in [false, true] {
            let text = Format::Text.render(&report, TextOptions { all, color: false });
            assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
            assert!(!has_command(&text), "{text}");
        }
        let plain = Format::Text.render(&report, TextOptions { all: true, color: false });
        let colored = Format::Text.render(&report, TextOptions { all: true, color: true });
        assert_eq!(anstream::adapter::strip_str(&colored).to_string(), plain);
        assert!(report.findings.is_empty() || colored != plain);
        for entry in &report.findings {
            assert!(plain.contains(&entry.fingerprint));
        }
    }
}

#[test]
fn json_matches_its_schema() {
    let text = include_str!("../../../schemas/diff-report.schema.json");
    let mut schema: Value = serde_json::from_str(text).expect("JSON");
    close(&mut schema);
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for report in reports() {
        let json: Value = serde_json::from_str(&Format::Json.render(&report, TextOptions::default())).expect("JSON");
        let problems: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{problems:?}");
        assert_eq!(json["findings"].as_array().map(Vec::len), Some(report.findings.len()));
        let summary = json["summary"].as_object().expect("counts");
        let sum: u64 = summary.values().filter_map(Value::as_u64).sum();
        assert_eq!(sum, report.findings.len() as u64, "every finding is counted once");
        assert_eq!(json["fails"], true, "an ignore is stale");
    }
    let with_more = serde_json::json!({"version": 1, "more": 1});
    assert!(!validator.is_valid(&with_more));
}

/// Makes the schema reject undocumented members.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.get("properties").is_some_and(Value::is_object) {
                members.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

#[test]
fn github_has_one_command_per_line() {
    for report in reports() {
        let text = Format::Github.render(&report, TextOptions::default());
        let counted = report.findings.iter().filter(|entry| entry.suppressed.is_none());
        assert_eq!(text.lines().count(), counted.count() + report.stale.len() + report.notes.len());
        for line in text.lines().filter(|line| !line.starts_with("note: ")) {
            let (properties, _) = line.strip_prefix("::").and_then(|line| line.split_once("::")).expect("a command");
            let (command, properties) = properties.split_once(' ').expect("properties");
            assert!(["error", "warning", "notice"].contains(&command), "{line}");
            let names: Vec<&str> =
                properties.split(',').map(|pair| pair.split_once('=').expect("a property").0).collect();
            assert!(names == ["file", "line", "title"] || names == ["title"], "{line}");
            assert!(!line.contains('\r'), "{line:?}");
        }
    }
}

#[test]
fn sarif_matches_the_standard() {
    let validator = official_sarif();
    for report in reports() {
        let text = Format::Sarif.render(&report, TextOptions::default());
        let log: serde_sarif::sarif::Sarif = serde_json::from_str(&text).expect("SARIF");
        let json: Value = serde_json::from_str(&text).expect("JSON");
        if let Some(validator) = &validator {
            let problems: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{problems:?}");
        }
        let run = &log.runs[0];
        let rules = run.tool.driver.rules.as_deref().unwrap_or_default();
        let results = run.results.as_deref().unwrap_or_default();
        assert_eq!(results.len(), report.findings.len());
        for (result, entry) in results.iter().zip(&report.findings) {
            let rule = &rules[result.rule_index.expect("an index") as usize];
            assert_eq!(result.rule_id.as_ref(), Some(&rule.id));
            let locations = result.locations.as_deref().unwrap_or_default();
            assert_eq!(locations.len(), if report.new.file.is_some() || entry.finding.new.is_some() { 2 } else { 1 });
            assert_eq!(result.suppressions.is_some(), entry.suppressed.is_some());
        }
    }
}

/// Returns the schema of the SARIF standard, from the sources of the crate that contains it.
fn official_sarif() -> Option<jsonschema::Validator> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let arguments = ["metadata", "--format-version", "1", "--offline", "--manifest-path", manifest];
    let output = std::process::Command::new(env!("CARGO")).args(arguments).output().ok();
    let schema = output.and_then(|output| {
        let metadata: Value = serde_json::from_slice(&output.stdout).ok()?;
        let packages = metadata["packages"].as_array()?;
        let package = packages.iter().find(|package| package["name"] == "serde-sarif")?;
        let manifest = std::path::Path::new(package["manifest_path"].as_str()?);
        std::fs::read_to_string(manifest.with_file_name("src/schema.json")).ok()
    });
    let Some(schema) = schema else {
        eprintln!("skipped: cargo metadata does not list the sources of serde-sarif, which contain the schema");
        return None;
    };
    let mut schema: Value = serde_json::from_str(&schema).expect("JSON");
    // The pattern for languages has an unbalanced bracket, so it is not a valid regular expression in ECMA-262.
    for definition in ["run", "toolComponent"] {
        let language = schema["definitions"][definition]["properties"]["language"].as_object_mut();
        language.expect("a schema").remove("pattern");
    }
    assert!(schema["title"].as_str().is_some_and(|title| title.contains("2.1.0")), "the schema of SARIF 2.1.0");
    Some(jsonschema::validator_for(&schema).expect("a schema"))
}

#[test]
fn junit_has_correct_counts() {
    for report in reports() {
        let text = Format::Junit.render(&report, TextOptions::default());
        let allowed = |c: char| matches!(c, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        assert!(text.chars().all(allowed), "XML 1.0 cannot hold every character");
        let mut reader = Reader::from_str(&text);
        let (mut cases, mut failures, mut skipped, mut depth) = (0, 0, 0, 0);
        let mut stated = Vec::new();
        loop {
            match reader.read_event().expect("XML") {
                Event::Start(tag) | Event::Empty(tag) => {
                    for attribute in tag.attributes() {
                        let attribute = attribute.expect("an attribute");
                        let value = attribute
                            .normalized_value(quick_xml::XmlVersion::Explicit1_0)
                            .expect("a value")
                            .into_owned();
                        if tag.name().as_ref() == "testsuite" {
                            stated.push((attribute.key.as_ref().to_owned(), value));
                        }
                    }
                    match tag.name().as_ref() {
                        "testcase" => cases += 1,
                        "failure" => failures += 1,
                        "skipped" => skipped += 1,
                        _ => {}
                    }
                }
                Event::Eof => break,
                Event::Decl(_) => depth += 1,
                _ => {}
            }
        }
        assert_eq!(depth, 1, "a declaration");
        let expected = [("tests", cases), ("failures", failures), ("errors", 0), ("skipped", skipped)];
        for (name, count) in expected {
            let found = stated.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
            assert_eq!(found, Some(count.to_string().as_str()), "{name}");
        }
        assert_eq!(failures, report.findings.iter().filter(|it| report.fails_by(it)).count() + report.stale.len());
        assert_eq!(skipped, report.findings.iter().filter(|it| it.suppressed.is_some()).count());
    }
}

#[test]
fn markdown_fits_a_comment() {
    for report in reports() {
        let text = Format::Markdown.render(&report, TextOptions::default());
        assert!(text.len() <= 65_536, "{}", text.len());
        let prose = without_code(&text);
        assert!(!prose.contains("<script>") && !prose.contains("@everybody"), "{prose}");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count());
        assert!(!text.contains("\n::"), "{text}");
        let counts = report.counts();
        assert!(text.contains(&format!("**{} breaking**", counts.breaking)), "{text}");
        let at = |title: &str| text.find(title);
        if let (Some(breaking), Some(dangerous)) = (at("### Breaking"), at("### Dangerous")) {
            assert!(breaking < dangerous);
        }
    }
}

#[test]
fn html_is_one_page_without_requests() {
    for report in reports() {
        let text = Format::Html.render(&report, TextOptions::default());
        assert!(!text.contains("<script>&amp;"), "names are escaped");
        assert_eq!(text.matches("<script>").count(), 1);
        assert!(!text.contains("src=") && !text.contains("http://") && !text.contains("@import"));
        assert_eq!(text.matches("<article ").count(), report.findings.len());
        let mut ids: Vec<&str> = text.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count, "ids are unique");
        let links = text.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next());
        links.for_each(|target| assert!(ids.contains(&target), "{target}"));
    }
}

/// Returns Markdown without its code spans. The next run of backticks with the same length closes a span.
fn without_code(text: &str) -> String {
    let mut prose = String::new();
    for mut line in text.lines() {
        while let Some(start) = line.find('`') {
            let rest = line[start..].trim_start_matches('`');
            let fence = &line[start..line.len() - rest.len()];
            prose.push_str(&line[..start]);
            let ends = rest.match_indices(fence).map(|(at, _)| at);
            let end =
                ends.filter(|at| !rest[..*at].ends_with('`')).find(|at| !rest[at + fence.len()..].starts_with('`'));
            line = end.map_or(rest, |at| &rest[at + fence.len()..]);
        }
        prose.push_str(line);
        prose.push('\n');
    }
    prose
}

#[test]
fn judgements_are_sorted_by_severity() {
    let findings = vec![finding(2, "a", ""), finding(1, "b", ""), finding(0, "c", ""), finding(0, "d", "")];
    let today = jiff::civil::date(2026, 1, 1);
    let Judgement { findings, .. } = crate::report::policy::Policy::default().judge(findings, &Axis::WIRE, today);
    let subjects: Vec<&str> = findings.iter().map(|judged| judged.finding.subject.as_str()).collect();
    assert_eq!(subjects, ["c", "d", "b", "a"]);
}
