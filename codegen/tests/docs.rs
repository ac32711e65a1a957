//! `mcpgen docs`, documentation in generated code, completions and manuals.

mod support;

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use support::Project;

/// Two definitions, an enum and a method, without prose.
const SMALL: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$defs": {
    "PingRequest": {
      "type": "object",
      "properties": { "method": { "const": "ping" }, "params": { "$ref": "#/$defs/PingParams" } },
      "required": ["method"]
    },
    "PingParams": {
      "type": "object",
      "properties": { "title": { "type": "string" }, "how": { "$ref": "#/$defs/How" } }
    },
    "How": { "enum": ["loud", "quiet"] },
    "ClientRequest": { "anyOf": [{ "$ref": "#/$defs/PingRequest" }] }
  }
}
"##;

/// Documents everything in the schema.
const ENTRIES: &str = r#"
order = ["method", "...", "title"]

[members]
params = "The params of the request."

[methods.ping]
doc = """
Checks the connection.

[`How`] exists, and [`Missing`] does not.
"""

[types.PingParams]
doc = "The params of a ping. All are optional."
example = "assert_eq!(1 + 1, 2);"
[types.PingParams.members]
title = { doc = "The display title.", deprecated_since = "2030-01-01", replacement = "Use [`How`]." }
how = "The tone of the ping."

[types.How]
order = ["quiet", "loud"]
doc = "A tone."
[types.How.values]
loud = "A loud tone."
quiet = { doc = "A quiet tone.", deprecated_since = "2031-01-01" }
[types.How.in."2030-01-01"]
doc = "A tone of voice."

[types.ClientRequest]
doc = "The requests of a client."
"#;

fn project(entries: &str) -> Project {
    let project = Project::empty();
    project.write("small.json", SMALL);
    project.run(&["import", "small.json", "--revision", "2030-01-01", "--status", "draft", "--root", "."]).exits(0);
    project.write("schema/docs/all.toml", entries);
    project
}

#[test]
fn lists_missing_and_stale_entries() {
    let whole = ENTRIES.replace(", and [`Missing`] does not", "").replace("2031-01-01", "2030-01-01");
    project(&whole).run(&["docs", "--missing"]).exits(0).prints(&["0 missing, 0 stale, 0 wrong orders"]);
    let cases: [(&str, &str, &[&str]); 12] = [
        ("params = \"The params of the request.\"", "", &["missing: PingRequest.params (2030-01-01)"]),
        ("[methods.ping]", "[methods.pong]", &["missing: method ping", "stale: method pong"]),
        ("how = \"The tone of the ping.\"", "", &["missing: PingParams.how"]),
        ("loud = \"A loud tone.\"", "", &["missing: How = loud"]),
        ("[types.ClientRequest]", "[types.Client]", &["missing: ClientRequest", "stale: Client"]),
        ("title = {", "titel = {", &["missing: PingParams.title", "stale: PingParams.titel"]),
        ("[`How`] exists", "[`Hou`] exists", &["stale: method ping: links to `Hou`, which no revision has"]),
        ("in.\"2030-01-01\"", "in.\"2029-01-01\"", &["stale: How in 2029-01-01"]),
        (
            "deprecated_since = \"2030-01-01\"",
            "deprecated_since = \"2028-01-01\"",
            &["stale: PingParams.title: deprecated since"],
        ),
        ("order = [\"quiet\", \"loud\"]", "", &["order: How: there is no order for loud, quiet"]),
        ("order = [\"quiet\", \"loud\"]", "order = [\"quiet\"]", &["order: How: the order lacks loud"]),
        ("\"loud\"]", "\"loud\", \"soft\"]", &["order: How: the order names `soft`, which no revision has"]),
    ];
    for (old, new, expected) in cases {
        assert!(whole.contains(old), "{old}");
        let project = project(&whole.replace(old, new));
        project.run(&["docs", "--missing"]).exits(1).prints(expected);
        project.run(&["docs"]).exits(0);
    }
}

#[test]
fn rejects_malformed_entries() {
    let cases: [(&str, &[&str]); 3] = [
        ("[types.How]\ndok = \"A tone.\"", &["all.toml", "dok"]),
        ("[types.How]\ndoc = 1", &["all.toml"]),
        ("[types.How", &["all.toml"]),
    ];
    for (text, expected) in cases {
        project(text).run(&["docs"]).exits(2).prints(expected);
    }
    let twice = project(ENTRIES);
    twice.write("schema/docs/more.toml", "[types.How]\ndoc = \"Another tone.\"\n");
    twice.run(&["docs"]).exits(2).prints(&["more.toml", "the type How has two entries"]);
    twice.write("schema/docs/more.toml", "order = [\"...\"]\n");
    twice.run(&["docs"]).exits(2).prints(&["more.toml", "the shared order is in another file as well"]);
}

#[test]
fn entries_become_documentation() {
    let project = project(ENTRIES);
    project.run(&["generate"]).exits(0);
    let areas = fs::read_dir(project.path("generated/src/v2030_01_01")).expect("the module");
    let names = areas.map(|entry| entry.expect("a file").file_name().into_string().expect("a name"));
    let code: String = names.map(|name| project.read(&format!("generated/src/v2030_01_01/{name}"))).collect();
    for expected in [
        "/// Checks the connection.\n",
        // Links to types that the revision lacks are removed.
        "and `Missing` does not.",
        "/// A tone of voice.\n",
        "/// `\"quiet\"`: A quiet tone.\n",
        "Since revision 2030-01-01.",
        "#[deprecated(note = \"since revision 2030-01-01: Use How.\")]",
        "/// `ping` ([`PingRequest`])",
    ] {
        let flat: String = code.lines().map(|line| format!("{}\n", line.trim_start())).collect();
        assert!(flat.contains(expected), "{expected}\n{flat}");
    }
    for (first, second) in [("pub how:", "pub title:"), ("    Quiet,", "    Loud,")] {
        let place = |text: &str| code.find(text).unwrap_or_else(|| panic!("{text}\n{code}"));
        assert!(place(first) < place(second), "{first} {second}");
    }
    // `quiet` is deprecated later, in 2031. Without a released revision, there are no examples.
    assert_eq!(code.matches("#[deprecated").count(), 2, "the field and its setter");
    assert!(!code.contains("1 + 1"));
    project
        .run(&["inspect", "2030-01-01", "PingParams"])
        .exits(0)
        .prints(&["The params of a ping.", "The display title."]);
}

/// Runs a shell script in the project, with mcpgen in `PATH` and its completions in `completions`. Returns `None` if
/// the shell is not installed.
fn run_shell(project: &Project, shell: &str, options: &[&str], script: &str) -> Option<String> {
    project.write("completions", project.run(&["completions", shell]).exits(0).out());
    let folder = Path::new(env!("CARGO_BIN_EXE_mcpgen")).parent().expect("the folder of mcpgen");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = std::process::Command::new(shell);
    command.args(options).args(["-c", script]).current_dir(project.home.path());
    match command.env("PATH", format!("{}:{path}", folder.display())).output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("NOTE: {shell} is not installed, so its completions are not tested");
            None
        }
        output => {
            let output = output.expect("the shell runs");
            assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
    }
}

/// Command lines and candidates for the last word. A leading `!` means: not offered.
const LINES: [(&str, &[&str]); 9] = [
    ("mcpgen explain request-r", &["request-removed", "!request-added"]),
    ("mcpgen explain tool-became-d", &["tool-became-destructive"]),
    ("mcpgen inspect 20", &["2030-01-01"]),
    ("mcpgen inspect sm", &["!2030-01-01"]),
    ("mcpgen diff 2030-01-01 20", &["2030-01-01"]),
    ("mcpgen changelog 20", &["2030-01-01"]),
    ("mcpgen validate How --schema 20", &["2030-01-01"]),
    ("mcpgen import small.json --core 20", &["2030-01-01"]),
    ("mcpgen import small.json --revision 20", &["2030-01-01"]),
];

fn check_candidates(shell: &str, line: &str, expected: &[&str], candidates: &str) {
    let candidates: Vec<&str> = candidates.split_whitespace().collect();
    for name in expected {
        let (name, is_offered) = name.strip_prefix('!').map_or((*name, true), |name| (name, false));
        assert_eq!(candidates.contains(&name), is_offered, "{shell}: {line}: {name}: {candidates:?}");
    }
}

#[test]
fn bash_completes_rules_and_revisions() {
    let project = project(ENTRIES);
    for (line, expected) in LINES {
        let script = format!(
            "source completions; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
             _mcpgen mcpgen \"${{COMP_WORDS[-1]}}\" \"${{COMP_WORDS[-2]}}\" 2>/dev/null; echo \"${{COMPREPLY[@]}}\""
        );
        let candidates = run_shell(&project, "bash", &["--norc"], &script).expect("bash is installed");
        check_candidates("bash", line, expected, &candidates);
        if line.ends_with(" sm") {
            assert_eq!(candidates.trim(), "", "bash completes files if there are no candidates");
        }
    }
    let registered = run_shell(&project, "bash", &["--norc"], "source completions; complete -p mcpgen");
    assert!(registered.expect("bash is installed").contains("-o default"), "bash completes files");
    // Outside a project, there are no names to complete.
    let script = "cd /; source completions; COMP_WORDS=(mcpgen inspect ''); COMP_CWORD=2
        _mcpgen mcpgen '' inspect; echo \"${COMPREPLY[@]}\"";
    let script = script.replace("source completions", &format!("source {}", project.path("completions").display()));
    let candidates = run_shell(&project, "bash", &["--norc"], &script).expect("bash is installed");
    check_candidates("bash", "outside a project", &["--format", "!2030-01-01"], &candidates);
}

#[test]
fn fish_completes_rules_revisions_and_files() {
    let project = project(ENTRIES);
    let files: [(&str, &[&str]); 4] = [
        ("mcpgen inspect sm", &["small.json"]),
        ("mcpgen validate How --schema sm", &["small.json"]),
        ("mcpgen import small.json --core sm", &["!small.json"]),
        ("mcpgen explain sm", &["!small.json"]),
    ];
    for (line, expected) in LINES.into_iter().chain(files) {
        let script = format!("source completions; complete -C '{line}'");
        let Some(candidates) = run_shell(&project, "fish", &["--no-config"], &script) else { return };
        check_candidates("fish", line, expected, &candidates);
    }
}

#[test]
fn zsh_completes_rules_revisions_and_files() {
    let project = project(ENTRIES);
    // Real completion needs a terminal, so replace the zsh function that receives the candidates.
    let script =
        "compdef() {}; _alternative() { print -r -- $@ }; source ./completions; _mcpgen_names; _mcpgen_revisions";
    let Some(candidates) = run_shell(&project, "zsh", &["-f"], script) else { return };
    assert_eq!(candidates, "names:name:(2030-01-01) files:file:_files\nrevisions:revision:(2030-01-01)\n");
    let script = project.read("completions");
    for argument in [
        ":subject -- A vendored revision or extension, or a schema file:_mcpgen_names",
        ":old -- The old schema or snapshot:_mcpgen_names",
        ":NAME|FILE:_mcpgen_names",
        ":REV:_mcpgen_revisions",
        "list all rules\\]:(request-added request-removed",
    ] {
        assert!(script.contains(argument), "{argument}\n{script}");
    }
}

#[test]
fn prints_completions_manuals_and_types() {
    let project = project(ENTRIES);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = project.run(&["completions", shell]).exits(0).prints(&["generate", "inspect", "docs"]).out();
        assert!(!script.contains("MCPGEN_"), "{shell}: a marker is not replaced");
    }
    project.run(&["completions", "tcsh"]).exits(2);
    project.run(&["completions"]).exits(2).prints(&["<SHELL>"]);
    project.run(&["man"]).exits(0).prints(&[".TH mcpgen", "generate"]);
    project.run(&["man", "diff"]).exits(0).prints(&[".TH mcpgen-diff", "baseline"]);
    project.run(&["man", "dif"]).exits(2).prints(&["no command `dif`", "diff"]);
    project.run(&["inspect", "2030-01-02"]).exits(2).prints(&["did you mean `2030-01-01`?"]);
    project.run(&["inspect", "2030-01-01", "PingParam"]).exits(2).prints(&["did you mean `PingParams`?"]);
    project.run(&["--help"]).exits(0).prints(&["Example:"]);
}
