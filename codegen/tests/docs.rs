//! Tests `mcpgen docs`, the documentation in generated code, and commands for people.

mod support;

use std::fs;

use support::Project;

/// Two definitions, an enumeration and a method, without prose.
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

/// Entries for everything in the schema.
const ENTRIES: &str = r#"
[members]
params = "What it is asked with."

[methods.ping]
doc = """
Asks whether anybody is there.

Then [`How`] matters, and [`Nobody`] does not.
"""

[types.PingParams]
doc = "The details. Of which there are few."
example = "assert_eq!(1 + 1, 2);"
[types.PingParams.members]
title = { doc = "For people.", deprecated_since = "2030-01-01", replacement = "Use [`How`]." }
how = "How it is asked."

[types.How]
doc = "A tone."
[types.How.values]
loud = "With a shout."
quiet = { doc = "With a whisper.", deprecated_since = "2031-01-01" }
[types.How.in."2030-01-01"]
doc = "A tone of voice."

[types.ClientRequest]
doc = "All that a client asks."
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
    let whole = ENTRIES.replace(", and [`Nobody`] does not", "").replace("2031-01-01", "2030-01-01");
    project(&whole).run(&["docs", "--missing"]).exits(0).prints(&["0 missing, 0 stale"]);
    let cases: [(&str, &str, &[&str]); 9] = [
        ("params = \"What it is asked with.\"", "", &["missing: PingRequest.params (2030-01-01)"]),
        ("[methods.ping]", "[methods.pong]", &["missing: method ping", "stale: method pong"]),
        ("how = \"How it is asked.\"", "", &["missing: PingParams.how"]),
        ("loud = \"With a shout.\"", "", &["missing: How = loud"]),
        ("[types.ClientRequest]", "[types.Client]", &["missing: ClientRequest", "stale: Client"]),
        ("title = {", "titel = {", &["missing: PingParams.title", "stale: PingParams.titel"]),
        ("[`How`] matters", "[`Hou`] matters", &["stale: method ping: links to `Hou`, which no revision has"]),
        ("in.\"2030-01-01\"", "in.\"2029-01-01\"", &["stale: How in 2029-01-01"]),
        (
            "deprecated_since = \"2030-01-01\"",
            "deprecated_since = \"2028-01-01\"",
            &["stale: PingParams.title: deprecated since"],
        ),
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
    twice.run(&["docs"]).exits(2).prints(&["more.toml", "another entry for the type How"]);
}

#[test]
fn entries_become_documentation() {
    let project = project(ENTRIES);
    project.run(&["generate"]).exits(0);
    let areas = fs::read_dir(project.path("generated/src/v2030_01_01")).expect("the module");
    let names = areas.map(|entry| entry.expect("a file").file_name().into_string().expect("a name"));
    let code: String = names.map(|name| project.read(&format!("generated/src/v2030_01_01/{name}"))).collect();
    for expected in [
        "/// Asks whether anybody is there.\n",
        // Links to types that the revision does not have are removed.
        "and `Nobody` does not.",
        "/// A tone of voice.\n",
        "/// `\"quiet\"`: With a whisper.\n",
        "Since revision 2030-01-01.",
        "#[deprecated(note = \"since revision 2030-01-01: Use How.\")]",
        "| `ping` | [`PingRequest`]",
    ] {
        let flat: String = code.lines().map(|line| format!("{}\n", line.trim_start())).collect();
        assert!(flat.contains(expected), "{expected}\n{flat}");
    }
    // The member is deprecated in a later revision, and without a released revision there are no examples.
    assert_eq!(code.matches("#[deprecated").count(), 2, "the field and its setter");
    assert!(!code.contains("1 + 1"));
    project.run(&["inspect", "2030-01-01", "PingParams"]).exits(0).prints(&["The details.", "For people."]);
}

#[test]
fn prints_completions_manuals_and_types() {
    let project = project(ENTRIES);
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        project.run(&["completions", shell]).exits(0).prints(&["generate", "inspect", "docs"]);
    }
    project.run(&["completions", "tcsh"]).exits(2);
    project.run(&["man"]).exits(0).prints(&[".TH mcpgen", "generate"]);
    project.run(&["man", "diff"]).exits(0).prints(&[".TH mcpgen-diff", "baseline"]);
    project.run(&["man", "dif"]).exits(2).prints(&["no command `dif`", "diff"]);
    project.run(&["inspect", "2030-01-02"]).exits(2).prints(&["did you mean `2030-01-01`?"]);
    project.run(&["inspect", "2030-01-01", "PingParam"]).exits(2).prints(&["did you mean `PingParams`?"]);
    project.run(&["--help"]).exits(0).prints(&["Example:"]);
}
