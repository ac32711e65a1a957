//! `mcpgen diff` and `mcpgen explain`: inputs, reports, policy and exit codes.
//!
//! `MCPGEN_BLESS=1 cargo test -p mcpgen --test diff` rewrites the reports in `tests/diff/`.

mod support;
#[cfg(unix)]
#[allow(dead_code, reason = "the tests of mcpgen-probe use the rest")]
#[path = "support/terminal.rs"]
mod terminal;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use mcpgen_diff::{Rule, RuleVerdicts};
use serde_json::Value;
use support::{Answer, FOREIGN, Project};

/// Formats, and the extensions of their files in `tests/diff`.
const FORMATS: [(&str, &str); 7] = [
    ("text", "txt"),
    ("json", "json"),
    ("markdown", "md"),
    ("html", "html"),
    ("github", "github.txt"),
    ("sarif", "sarif"),
    ("junit", "junit.xml"),
];

const OLD: &str = include_str!("diff/old.json");
const NEW: &str = include_str!("diff/new.json");

impl Project {
    fn new() -> Project {
        let project = Project::empty();
        project.write("old.json", OLD);
        project.write("new.json", NEW);
        project
    }

    /// Imports both schemas as the drafts `before` and `after`.
    fn with_revisions() -> Project {
        let project = Project::new();
        for (file, name) in [("old.json", "before"), ("new.json", "after")] {
            project.run(&["import", file, "--revision", name, "--root", "."]).exits(0);
        }
        project
    }

    /// Creates a Git repository: `main` has the old schema as `schema.json`, the working tree the new one.
    fn with_git() -> Option<Project> {
        let project = Project::new();
        if Command::new("git").arg("--version").output().is_err() {
            eprintln!("skipped: git is not installed, so git:REF:PATH is not tested");
            return None;
        }
        project.write("deep/er/schema.json", OLD);
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["add", "deep"]);
        project.git(&["commit", "--quiet", "--message=old"]);
        project.git(&["branch", "feature/x"]);
        project.write("deep/er/schema.json", NEW);
        Some(project)
    }

    fn git(&self, arguments: &[&str]) {
        let mut git = Command::new("git");
        git.args(arguments).current_dir(self.home.path());
        for (name, value) in [("NAME", "a"), ("EMAIL", "a@example.org")] {
            git.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for name in FOREIGN {
            git.env_remove(name);
        }
        let output = git.output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Runs mcpgen with this text on stdin.
    fn feed(&self, arguments: &[&str], text: &str) -> Answer {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("mcpgen runs");
        // With invalid arguments, mcpgen does not read stdin.
        let _ = child.stdin.take().expect("a pipe").write_all(text.as_bytes());
        Answer { arguments: arguments.join(" "), output: child.wait_with_output().expect("mcpgen ends") }
    }

    fn diff(&self, options: &[&str]) -> Answer {
        self.run(&[&["diff", "old.json", "new.json"], options].concat())
    }
}

impl Answer {
    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_slice(&self.output.stdout).unwrap_or_else(|error| panic!("{error}: {}", self.out()))
    }
}

/// Returns the parts of a report that do not depend on where the schemas come from.
fn essence(report: &Value) -> Vec<String> {
    let line = |place: &Value| place["line"].to_string();
    let findings = report["findings"].as_array().expect("findings");
    let essence = findings.iter().map(|it| {
        format!("{} {} {} {} {}", it["rule"], it["fingerprint"], it["message"], line(&it["old"]), line(&it["new"]))
    });
    essence.collect()
}

fn findings(report: &Value) -> &Vec<Value> {
    report["findings"].as_array().expect("findings")
}

#[test]
fn reads_every_kind_of_source() {
    let project = Project::new();
    let expected = project.diff(&["--format", "json"]).exits(1).json();
    assert!(findings(&expected).len() > 4, "the fixtures differ in several ways");
    let absolute = project.path("new.json").display().to_string();
    let same = |answer: Answer, old: Value, new: Value| {
        let report = answer.exits(1).json();
        assert_eq!(essence(&report), essence(&expected));
        assert_eq!((&report["old"]["file"], &report["new"]["file"]), (&old, &new));
        let of =
            |side: &str| findings(&report).iter().find_map(|it| it[side].as_object()).expect("a place")["file"].clone();
        assert_eq!((of("old"), of("new")), (old, new));
    };
    let json = |old: &str, new: &str| project.run(&["diff", old, new, "--format", "json"]);
    same(json("./old.json", &absolute), "./old.json".into(), absolute.clone().into());
    let stdin = |old, new, text| project.feed(&["diff", old, new, "--format", "json"], text);
    same(stdin("-", "new.json", OLD), Value::Null, "new.json".into());
    same(stdin("old.json", "-", NEW), "old.json".into(), Value::Null);
    same(stdin("-", "new.json", &format!("\u{feff}{OLD}")), Value::Null, "new.json".into());

    let vendored = Project::with_revisions();
    let report = vendored.run(&["diff", "before", "after", "--format", "json"]).exits(1).json();
    let short =
        |report: &Value| findings(report).iter().map(|it| it["fingerprint"].to_string()).collect::<Vec<String>>();
    assert_eq!(short(&report), short(&expected), "vendored files are formatted differently, so lines differ");
    assert_eq!(report["old"]["file"].as_str().map(|file| file.ends_with("schema/before/schema.json")), Some(true));
    vendored.run(&["diff", "before", "new.json"]).exits(1).prints(&["request-removed"]);
}

#[test]
fn reads_files_in_commits() {
    let Some(project) = Project::with_git() else { return };
    let expected = project.diff(&["--format", "json"]).exits(1).json();
    for (old, folder, new, file) in [
        ("git:main:deep/er/schema.json", ".", "deep/er/schema.json", "deep/er/schema.json"),
        ("git:HEAD:deep/er/schema.json", "deep", "er/schema.json", "deep/er/schema.json"),
        ("git:feature/x:./er/schema.json", "deep", "../new.json", "new.json"),
        ("git:main:../deep/er/schema.json", "deep", "./er/schema.json", "deep/er/schema.json"),
    ] {
        let mut command = project.command(&["diff", old, new, "--format", "json"]);
        let output = command.current_dir(project.path(folder)).output().expect("mcpgen runs");
        let report = Answer { arguments: old.into(), output }.exits(1).json();
        assert_eq!(essence(&report), essence(&expected), "{old}");
        assert_eq!(report["old"]["file"], "deep/er/schema.json", "{old}");
        assert_eq!(report["new"]["file"], file, "{new}");
        assert_eq!(report["old"]["label"], old);
    }
    for (old, parts) in [
        ("git:nowhere:deep/er/schema.json", &["git:nowhere:deep/er/schema.json: git reports", "fetch"][..]),
        ("git:main:gone.json", &["gone.json", "git reports"]),
        ("git:main:deep", &["git reports", "deep"]),
        ("git:main", &["git:REF:PATH"]),
        ("git:--help:x", &["git:REF:PATH"]),
    ] {
        project.run(&["diff", old, "new.json"]).exits(2).prints(parts);
    }
    let elsewhere = Project::new();
    let output = elsewhere.command(&["diff", "git:main:x.json", "new.json"]).env("GIT_DIR", "gone").output();
    Answer { arguments: "outside".into(), output: output.expect("mcpgen runs") }.exits(2).prints(&["git reports"]);
}

/// References resolve relative to each schema.
#[test]
fn compares_schemas_in_several_files() {
    let project = Project::empty();
    for (folder, size) in
        [("old", r#"{"type": "integer", "maximum": 9}"#), ("new", r#"{"type": "integer", "maximum": 5}"#)]
    {
        project.write(&format!("{folder}/schema.json"), r#"{"definitions": {"Box": {"$ref": "size.json"}}}"#);
        project.write(&format!("{folder}/size.json"), size);
    }
    project.run(&["diff", "old/schema.json", "new/schema.json"]).exits(1).prints(&["limit-tightened"]);
}

#[test]
fn compares_different_dialects() {
    let project = Project::new();
    let older = |text: &str| {
        let text =
            text.replace("https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#");
        text.replace("$defs", "definitions")
    };
    project.write("old-07.json", older(OLD));
    project.write("new-07.json", older(NEW));
    let expected = essence(&project.diff(&["--format", "json"]).exits(1).json());
    for (old, new) in [("old-07.json", "new.json"), ("old.json", "new-07.json"), ("old-07.json", "new-07.json")] {
        let report = project.run(&["diff", old, new, "--format", "json"]).exits(1).json();
        assert_eq!(essence(&report), expected, "{old} {new}");
    }
    // Removed definitions are reported at their container, whose name depends on the dialect.
    let lines = |new: &str| {
        let out = project.run(&["diff", "old-07.json", new, "--format", "github"]).exits(1).out();
        out.lines().map(|line| line.split(",title").next().unwrap_or_default().replace("-07", "")).collect::<Vec<_>>()
    };
    assert_eq!(lines("new.json"), lines("new-07.json"));
    project.run(&["diff", "old.json", "old-07.json", "--fail-on", "any"]).exits(0);
}

#[test]
fn reports_match_the_reviewed_ones() {
    let project = Project::new();
    project.write(
        "mcpgen.toml",
        "[severity]\nlimit-loosened = \"dangerous\"\n\n[[ignore]]\nrule = \"request-removed\"\nsubject = \"ping\"\n\
         reason = \"nobody | used it\"\n\n[[ignore]]\nrule = \"type-removed\"\nsubject = \"Gone\"\nreason = \"old\"\n",
    );
    for (format, name) in FORMATS {
        let axes = ["--axis", "old-client-new-server,new-client-old-server", "--axis", "rust-api"];
        let answer = project.diff(&[&["--all", "--format", format], &axes[..]].concat()).exits(1);
        let report = unversioned(&answer.out());
        if format == "text" {
            assert_eq!(answer.err(), "");
        } else {
            assert!(
                answer.err().contains("stale ignore of type-removed Gone"),
                "the log names the stale ignore: {}",
                answer.err()
            );
        }
        is_reviewed(&report, &format!("report.{name}"));
    }
}

/// Compares a text with a file in `tests/diff`.
fn is_reviewed(text: &str, name: &str) {
    let path = format!("{}/tests/diff/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("MCPGEN_BLESS").is_some() {
        fs::write(&path, text).expect("blessed");
    }
    let reviewed = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, reviewed, "{path} is not the report; if the change is intended, see the top of this file");
}

#[test]
fn changelogs_list_what_to_do() {
    let project = Project::new();
    // The policy must not shorten a changelog.
    project.write("mcpgen.toml", "[[ignore]]\nrule = \"request-removed\"\nreason = \"nobody used it\"\n");
    let answer = project.run(&["changelog", "old.json", "new.json"]).exits(0).prints(&["## Replace what was removed"]);
    is_reviewed(&answer.out(), "changelog.md");
    // The server must now send `sum`, so callers have something new to use, and nothing to send.
    for (name, required) in [("old-tools.json", "[]"), ("new-tools.json", r#"["sum"]"#)] {
        let properties = if required == "[]" { "{}" } else { r#"{"sum":{"type":"integer"}}"# };
        let schema = format!(r#"{{"type":"object","properties":{properties},"required":{required}}}"#);
        project.write(
            name,
            format!(r#"{{"tools":[{{"name":"add","inputSchema":{{"type":"object"}},"outputSchema":{schema}}}]}}"#),
        );
    }
    let answer = project.run(&["changelog", "--tools", "old-tools.json", "new-tools.json"]).exits(0);
    let text = answer.out();
    assert!(text.contains("## Use what is new") && !text.contains("## Send"), "{text}");
    project.run(&["changelog", "old.json", "old.json"]).exits(0).prints(&["There is nothing to do."]);
    project.run(&["changelog", "old.json", "gone.json"]).exits(2).prints(&["gone.json"]);
    project.run(&["changelog", "--tools", "old.json", "new.json"]).exits(2).prints(&["the object has no list"]);
}

/// In every changelog between revisions, the examples before and after are valid.
#[test]
fn changelogs_have_valid_examples() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let folders = std::fs::read_dir(format!("{root}/schema")).expect("the vendored schemas");
    let names = folders.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut revisions: Vec<String> = names.filter(|name| name.starts_with("20")).collect();
    revisions.sort();
    let project = Project::empty();
    let mut count = 0;
    for [old, new] in revisions.windows(2).map(|pair| [&pair[0], &pair[1]]) {
        let changelog = project.run(&["changelog", old, new, "--root", root]).exits(0).out();
        let examples = changelog.split_once("\n## Before and after\n").map_or("", |(_, examples)| examples);
        // One line names the definition, another the revision of the document that follows.
        let (mut definition, mut name) = ("", "");
        for part in examples.split("\n\n") {
            let Some(document) = part.strip_prefix("```json\n").and_then(|rest| rest.split("\n```").next()) else {
                match part.split('`').nth(1) {
                    Some(quoted) if quoted == old || quoted == new => name = quoted,
                    quoted => definition = quoted.unwrap_or_default(),
                }
                continue;
            };
            let answer = project.feed(&["validate", definition, "--schema", name, "--root", root], document);
            assert_eq!(answer.output.status.code(), Some(0), "{name}: {definition}: {document}{}", answer.out());
            count += 1;
        }
    }
    assert!(count > 10, "only {count} documents");
}

fn without(text: String, begin: &str, end: &str) -> String {
    match (text.find(begin), text.rfind(end)) {
        (Some(from), Some(to)) => format!("{}{}", &text[..from], &text[to..]),
        _ => text,
    }
}

/// Strips the version, and the number of rules without findings.
fn unversioned(report: &str) -> String {
    let version = format!("\"semanticVersion\": {:?}", env!("CARGO_PKG_VERSION"));
    let report = report.replace(&version, "\"semanticVersion\": \"0.0.0\"");
    let report = report.replace(concat!("mcpgen ", env!("CARGO_PKG_VERSION")), "mcpgen 0.0.0");
    // Styles and scripts are the same in every report.
    let report = without(without(report, "<style>", "</style>"), "<script>", "</script>");
    let quiet = "name=\"no finding\"";
    let cases = report.matches("<testcase ").count();
    let found = cases - report.matches(quiet).count();
    let report = report.replace(&format!(" tests=\"{cases}\""), &format!(" tests=\"{found}\""));
    report.lines().filter(|line| !line.contains(quiet)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn one_run_writes_all_reports() {
    let project = Project::new();
    let names: Vec<String> = FORMATS.iter().map(|(format, _)| format!("{format}={format}.out")).collect();
    let options: Vec<&str> = names.iter().flat_map(|name| ["--output", name]).collect();
    let text = project.diff(&options).exits(1).out();
    assert_eq!(text, project.diff(&[]).exits(1).out(), "standard output has the text");
    for (format, _) in FORMATS {
        let alone = project.diff(&["--format", format]).exits(1).out();
        assert_eq!(project.read(&format!("{format}.out")), alone, "{format}");
        assert_eq!(project.diff(&["--output", &format!("{format}=-")]).exits(1).out(), alone, "{format}");
    }
    let json = project.diff(&["--format", "json", "--output", "text=log.txt", "--color", "always"]).exits(1);
    json.json();
    assert_eq!(project.read("log.txt"), text, "files are not coloured");
}

#[test]
fn colours_text_on_request() {
    let project = Project::new();
    let colored = |options: &[&str], variables: &[(&str, &str)]| {
        let arguments = [&["diff", "old.json", "new.json"], options].concat();
        let mut command = project.command(&arguments);
        let output = command.envs(variables.iter().copied()).output().expect("mcpgen runs");
        Answer { arguments: arguments.join(" "), output }.exits(1).out().contains('\u{1b}')
    };
    assert!(!colored(&[], &[]), "a pipe is not a terminal");
    assert!(colored(&["--color", "always"], &[("NO_COLOR", "1")]), "the option overrides the variable");
    assert!(!colored(&["--color", "never"], &[("CLICOLOR_FORCE", "1")]));
    assert!(colored(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!colored(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    for format in ["json", "markdown", "github", "sarif", "junit"] {
        assert!(!colored(&["--color", "always", "--format", format], &[]), "{format}");
    }
}

#[cfg(unix)]
#[test]
fn colours_are_for_terminals_unless_no_color_is_set() {
    let project = Project::new();
    let shown = |variables: &[(&str, &str)]| {
        let command = project.command(&["diff", "old.json", "new.json"]);
        terminal::run(command, terminal::Stream::Stdout, variables, &[])
    };
    let coloured = shown(&[]);
    assert!(coloured.contains("\u{1b}[1m\u{1b}[31mbreaking\u{1b}[0m"), "{coloured:?}");
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let plain = shown(&[(name, value)]);
        assert!(plain.contains("breaking") && !plain.contains('\u{1b}'), "{name}: {plain:?}");
    }
}

#[test]
fn exit_codes_follow_the_threshold() {
    let project = Project::new();
    let dangerous = OLD.replace("\"due|date\": { \"type\": \"string\" }", "\"more\": { \"type\": \"string\" }");
    project.write("dangerous.json", dangerous);
    let compatible = OLD.replace("\"id\": {", "\"extra\": { \"type\": \"string\" }, \"id\": {");
    project.write("compatible.json", compatible);
    // The new schema, and the exit codes with `--fail-on` breaking, dangerous, any and none.
    for (new, codes) in [
        ("new.json", [1, 1, 1, 0]),
        ("dangerous.json", [0, 1, 1, 0]),
        ("compatible.json", [0, 0, 1, 0]),
        ("old.json", [0, 0, 0, 0]),
    ] {
        project.run(&["diff", "old.json", new]).exits(codes[0]);
        for (fail_on, code) in ["breaking", "dangerous", "any", "none"].into_iter().zip(codes) {
            for (format, _) in FORMATS {
                let answer =
                    project.run(&["diff", "old.json", new, "--fail-on", fail_on, "--format", format]).exits(code);
                if format == "json" {
                    assert_eq!(answer.json()["fails"], code == 1, "{new} {fail_on}");
                }
            }
        }
    }
    project.run(&["diff", "old.json", "old.json"]).exits(0).prints(&["no differences"]);
    // A change can break Rust code but not the wire, or vice versa.
    project.run(&["diff", "old.json", "compatible.json", "--axis", "rust-api"]).exits(1);
    let loosened = OLD.replace("\"maximum\": 5", "\"maximum\": 6");
    project.write("loosened.json", loosened);
    project.run(&["diff", "old.json", "loosened.json", "--axis", "rust-api"]).exits(0).prints(&["--all shows them"]);
    project.run(&["diff", "old.json", "loosened.json", "--axis", "new-client-old-server"]).exits(1);
}

#[test]
fn finds_the_policy() {
    let project = Project::new();
    let count = |report: &Value, severity: &str| report["summary"][severity].as_u64().expect("a count");
    let plain = project.diff(&["--format", "json"]).exits(1).json();
    let rules: BTreeSet<&str> = findings(&plain)
        .iter()
        .filter(|it| it["severity"] != "compatible")
        .map(|it| it["rule"].as_str().expect("a name"))
        .collect();
    let severities: String = rules.iter().map(|rule| format!("{rule} = \"compatible\"\n")).collect();
    project.write("mcpgen.toml", format!("[severity]\n{severities}"));
    let report = project.diff(&["--format", "json"]).exits(0).json();
    assert_eq!((count(&report, "breaking"), count(&report, "dangerous")), (0, 0));
    fs::create_dir_all(project.path("deep/er")).expect("a folder");
    let mut below = project.command(&["diff", "../../old.json", "../../new.json"]);
    let output = below.current_dir(project.path("deep/er")).output().expect("mcpgen runs");
    Answer { arguments: "below".into(), output }.exits(0);
    project.write("other.toml", "");
    project.diff(&["--config", "other.toml"]).exits(1);
    project.diff(&["--config", "gone.toml"]).exits(2).prints(&["reading gone.toml"]);
    project.write("deep/mcpgen.toml", "[severity]\nno-such-rule = \"breaking\"\n");
    let mut below = project.command(&["diff", "../../old.json", "../../new.json"]);
    let output = below.current_dir(project.path("deep/er")).output().expect("mcpgen runs");
    Answer { arguments: "below".into(), output }.exits(2).prints(&["../mcpgen.toml: severity: there is no rule"]);
}

#[test]
fn reports_stale_ignores() {
    let project = Project::new();
    let report = project.diff(&["--format", "json"]).exits(1).json();
    let failing: Vec<&Value> = findings(&report).iter().filter(|it| it["fails"] == true).collect();
    let ignore = |it: &Value, more: &str| {
        let (rule, subject) = (&it["rule"], &it["subject"]);
        format!("[[ignore]]\nrule = {rule}\nsubject = {subject}\nreason = \"agreed\"\n{more}\n")
    };
    let all: String = failing.iter().map(|it| ignore(it, "expires = 2026-12-31")).collect();
    project.write("mcpgen.toml", &all);
    let accepted = project.diff(&["--today", "2026-12-31", "--format", "json"]).exits(0).json();
    assert_eq!(accepted["summary"]["ignored"], failing.len());
    let expired = project.diff(&["--today", "2027-01-01"]).exits(1);
    expired.prints(&["mcpgen.toml:2: stale ignore of ", "expired after 2026-12-31"]);
    // A stale ignore fails the run, except with `--fail-on none`.
    project.write("mcpgen.toml", format!("{}{all}", ignore(failing[0], "").replace("subject = ", "subject = 'x' # ")));
    let stale = project.diff(&["--today", "2026-12-31", "--format", "json"]).exits(1).prints(&["matches no finding"]);
    assert_eq!(stale.json()["stale_ignores"].as_array().map(Vec::len), Some(1));
    project.diff(&["--today", "2026-12-31", "--fail-on", "none"]).exits(0).prints(&["matches no finding"]);
    // --today defaults to the current day.
    project.write("mcpgen.toml", ignore(failing[0], "expires = 2000-01-01"));
    project.diff(&[]).exits(1).prints(&["expired after 2000-01-01"]);
}

#[test]
fn baselines_survive_moved_lines() {
    let project = Project::new();
    let written = project.diff(&["--write-baseline", "baseline.txt", "--format", "json"]).exits(0).json();
    let count = written["summary"]["in_baseline"].as_u64().expect("a count");
    assert!(count > 0);
    let lines = project.read("baseline.txt").lines().filter(|line| !line.starts_with('#')).count();
    assert_eq!(lines as u64, count);
    project.diff(&["--baseline", "baseline.txt", "--fail-on", "dangerous"]).exits(0).prints(&["in the baseline"]);
    // Moves everything to other lines, below an unrelated definition.
    let definitions =
        NEW.replacen("\"$defs\": {", "\"$defs\": {\n\n\n    \"Unrelated\": { \"type\": \"string\" },\n", 1);
    project.write("new.json", definitions);
    project.diff(&["--baseline", "baseline.txt"]).exits(0);
    // A new finding fails the run. A note mentions baseline entries without a finding.
    project.write("new.json", NEW.replace("\"const\": \"tasks/add\"", "\"const\": \"tasks/insert\""));
    project.diff(&["--baseline", "baseline.txt"]).exits(1);
    project
        .run(&["diff", "old.json", "old.json", "--baseline", "baseline.txt"])
        .exits(0)
        .prints(&[&format!("baseline.txt: {count} of {count} entries match no finding")]);
    project.write("broken.txt", "what\n");
    project.diff(&["--baseline", "broken.txt"]).exits(2).prints(&["broken.txt:1: "]);
    project.diff(&["--baseline", "gone.txt"]).exits(2).prints(&["reading gone.txt"]);
    project.diff(&["--baseline", "baseline.txt", "--write-baseline", "x.txt"]).exits(2);
    project.diff(&["--write-baseline", "gone/x.txt"]).exits(2).prints(&["writing gone/x.txt"]);
}

#[test]
fn errors_exit_with_2() {
    let project = Project::new();
    project.write("bad.json", "{");
    project.write("odd.json", NEW.replace("\"maximum\"", "\"unheardOf\""));
    project.write("bad/mcpgen.toml", "[[ignore]]\nrule = \"type-removed\"\n");
    let cases: &[(&[&str], &[&str])] = &[
        (&["diff"], &["OLD", "NEW"]),
        (&["diff", "old.json"], &["NEW"]),
        (&["diff", "old.json", "gone.json"], &["reading gone.json"]),
        (&["diff", "gone.json", "new.json"], &["reading gone.json"]),
        (&["diff", "old.json", "bad.json"], &["bad.json:1:", "invalid JSON"]),
        (&["diff", "old.json", "odd.json"], &["odd.json#/$defs/", "unheardOf"]),
        (&["diff", "old.json", "."], &["schema/revisions.toml"]),
        (&["diff", "old.json", "2025-11-25"], &["schema/revisions.toml", "--root DIR"]),
        (&["diff", "-", "-"], &["standard input"]),
        (&["diff", "-", "new.json"], &["standard input:1:", "invalid JSON"]),
        (&["diff", "old.json", "new.json", "--format", "yaml"], &["yaml", "json"]),
        (&["diff", "old.json", "new.json", "--axis", "wire"], &["wire", "rust-api"]),
        (&["diff", "old.json", "new.json", "--fail-on", "sometimes"], &["sometimes", "dangerous"]),
        (&["diff", "old.json", "new.json", "--color", "red"], &["red", "always"]),
        (&["diff", "old.json", "new.json", "--output", "json"], &["FORMAT=FILE"]),
        (&["diff", "old.json", "new.json", "--output", "yaml=x"], &["not a format", "sarif"]),
        (&["diff", "old.json", "new.json", "--output", "json="], &["name of the file is empty"]),
        (
            &["diff", "old.json", "new.json", "--output", "json=x", "--output", "sarif=x"],
            &["two files would be written to x"],
        ),
        (&["diff", "old.json", "new.json", "--output", "json=-", "--output", "text=-"], &["two reports"]),
        (&["diff", "old.json", "new.json", "--output", "json=-", "--format", "json"], &["two reports"]),
        (&["diff", "old.json", "new.json", "--output", "json=gone/x.json"], &["writing gone/x.json"]),
        (&["diff", "old.json", "new.json", "--format", "json", "--output", "sarif=."], &["writing ."]),
        (&["diff", "old.json", "new.json", "--config", "bad/mcpgen.toml"], &["bad/mcpgen.toml", "reason"]),
        (&["diff", "old.json", "new.json", "--config", "bad.json"], &["bad.json"]),
        (&["diff", "old.json", "new.json", "--today", "tomorrow"], &["tomorrow"]),
    ];
    for (arguments, parts) in cases {
        project.run(arguments).exits(2).prints(parts);
        let json = [*arguments, &["--fail-on", "none"]].concat();
        if !arguments.contains(&"--fail-on") {
            project.run(&json).exits(2);
        }
    }
    assert!(!project.path("x").exists(), "a rejected command writes nothing");
}

#[test]
fn exits_correctly_when_output_fails() {
    let project = Project::new();
    for (new, code) in [("new.json", 1), ("old.json", 0)] {
        let mut command = project.command(&["diff", "old.json", new]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mcpgen runs");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("mcpgen ends");
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(code), &b""[..]), "{new}");
    }
    match fs::OpenOptions::new().write(true).open("/dev/full") {
        Ok(full) => {
            let output = project.command(&["diff", "old.json", "old.json"]).stdout(full).output().expect("mcpgen runs");
            Answer { arguments: "> /dev/full".into(), output }.exits(2).prints(&["writing to stdout"]);
        }
        Err(_) => eprintln!("skipped: there is no /dev/full, so a full disk is not tested"),
    }
}

#[test]
fn explains_rules() {
    let project = Project::new();
    let list = project.run(&["explain"]).exits(0).out();
    assert_eq!(list.lines().count(), Rule::ALL.len());
    for rule in Rule::ALL {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(rule.id())), "{rule}");
        let text = project.run(&["explain", rule.id()]).exits(0).out();
        assert!(text.starts_with(&format!("{rule}\n")), "{text}");
        let verdicts = match rule.verdicts() {
            RuleVerdicts::Lists(_) => ["remembered list: ", "stored workflow: ", "trust: "].map(str::to_owned).to_vec(),
            RuleVerdicts::Trust { .. } => vec!["trust: ".to_owned()],
            RuleVerdicts::Schemas(it) => {
                let bump = format!("Rust API: {}", it.rust_api);
                ["client ", "server ", "both ", &bump].map(str::to_owned).to_vec()
            }
        };
        for part in verdicts.into_iter().chain(["Example, old:", "Example, new:"].map(str::to_owned)) {
            assert!(text.contains(&part), "{text}\ndoes not print {part:?}");
        }
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let meaning = rule.meaning().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&meaning), "{text}");
    }
    project
        .run(&["explain", "enum-value-aded"])
        .exits(2)
        .prints(&["\"enum-value-aded\"", "did you mean `enum-value-added`"]);
    let nothing = project.run(&["explain", "zzz"]).exits(2);
    assert!(!nothing.err().contains("did you mean"), "{}", nothing.err());
}

/// Schemas without messages are compared for readers of documents. A mapping says who sends messages.
#[test]
fn compares_schemas_by_what_they_define() {
    let project = Project::new();
    let schema = |kind: &str| {
        format!(
            r#"{{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {{"Log": {{"type": "object",
                "required": ["level"], "properties": {{"level": {{"type": "{kind}"}}}}}}}}}}"#
        )
    };
    project.write("old.json", schema("integer"));
    project.write("new.json", schema("number"));
    let text = project.diff(&[]).exits(1).out();
    assert!(text.contains("new-reader-old-documents: compatible, old-reader-new-documents: breaking"), "{text}");
    project.diff(&["--axis", "new-reader-old-documents"]).exits(0);
    // Message axes are accepted too, because a configuration may cover several schemas.
    project.diff(&["--axis", "old-client-new-server"]).exits(1);

    project.write(
        "log.toml",
        "[[notification]]\ndefinition = \"Log\"\nmethod = \"log\"\ndirection = \"client-to-server\"\n",
    );
    let text = project.diff(&["--protocol", "log.toml"]).exits(1).out();
    assert!(text.contains("old-client-new-server: compatible, new-client-old-server: breaking"), "{text}");
    project.write("log.toml", "[[notification]]\ndefinition = \"Lgo\"\nmethod = \"log\"\n");
    let answer = project.diff(&["--protocol", "log.toml"]).exits(2).err();
    assert!(answer.contains("log.toml: neither schema has the definition `Lgo`"), "{}", answer);
}

/// As in MCP, who sends a message decides who breaks.
#[test]
fn compares_other_contracts_with_senders() {
    let project = Project::new();
    let keywords = |params: &str, result: &str| {
        let definition = |name: &str, of: &str| {
            format!(
                r#""{name}": {{"type": "object", "x-method": "session/prompt", "x-side": "agent",
                    "properties": {{"x": {{"type": "{of}"}}}}}}"#
            )
        };
        format!(
            r#"{{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {{{}, {}}}}}"#,
            definition("PromptRequest", params),
            definition("PromptResponse", result)
        )
    };
    let meta_model = |params: &str, result: &str| {
        let base = |of: &str| if of == "number" { "decimal" } else { "integer" };
        let structure = |name: &str, of: &str| {
            let kind = base(of);
            format!(
                r#"{{"name": "{name}", "properties": [{{"name": "x", "type": {{"kind": "base", "name": "{kind}"}}}}]}}"#
            )
        };
        format!(
            r#"{{"metaData": {{"version": "3.17.0"}}, "requests": [{{"method": "a/b", "messageDirection": "clientToServer",
                "params": {{"kind": "reference", "name": "P"}}, "result": {{"kind": "reference", "name": "R"}}}}],
                "notifications": [], "structures": [{}, {}], "enumerations": [], "typeAliases": []}}"#,
            structure("P", params),
            structure("R", result)
        )
    };
    let open_rpc = |params: &str, result: &str| {
        format!(
            r#"{{"openrpc": "1.2.6", "info": {{"title": "t", "version": "1"}}, "methods": [{{"name": "add",
                "params": [{{"name": "x", "required": true, "schema": {{"type": "{params}"}}}}],
                "result": {{"name": "sum", "schema": {{"type": "{result}"}}}}}}]}}"#
        )
    };
    type Contract<'c> = &'c dyn Fn(&str, &str) -> String;
    for contract in [&keywords as Contract<'_>, &meta_model, &open_rpc] {
        project.write("old.json", contract("integer", "integer"));
        for (params, result, expected) in [
            ("number", "integer", "old-client-new-server: compatible, new-client-old-server: breaking"),
            ("integer", "number", "old-client-new-server: breaking, new-client-old-server: compatible"),
        ] {
            project.write("new.json", contract(params, result));
            let text = project.diff(&[]).exits(1).out();
            let verdicts: Vec<&str> = text.lines().map(str::trim).filter(|it| it.starts_with("old-client-")).collect();
            let is_expected = !verdicts.is_empty() && verdicts.iter().all(|it| *it == expected);
            assert!(is_expected, "{}\n{text}", contract(params, result));
        }
    }
}
