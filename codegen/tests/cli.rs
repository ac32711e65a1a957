//! The command line: output, written files and exit codes.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use support::Project;

const REVISIONS: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Two definitions and a method, with prose.
const SMALL: &str = r##"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "$defs": {
    "PingRequest": {
      "description": "Checks whether the peer responds.",
      "type": "object",
      "properties": { "method": { "const": "ping" }, "params": { "$ref": "#/$defs/PingParams" } },
      "required": ["method"]
    },
    "PingParams": { "type": "object", "properties": { "title": { "type": "string", "title": "prose" } } },
    "ClientRequest": { "anyOf": [{ "$ref": "#/$defs/PingRequest" }] }
  }
}
"##;

impl Project {
    fn with_small() -> Project {
        let project = Project::empty();
        project.write("small.json", SMALL);
        project.run(&["import", "small.json", "--revision", "draft", "--root", "."]).exits(0);
        project
    }

    /// Returns every file with its content and modification time.
    fn snapshot(&self) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
        fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    walk(&path, found);
                } else {
                    let changed = path.metadata().and_then(|metadata| metadata.modified()).expect("a time");
                    found.insert(path.clone(), (fs::read(&path).expect("a file"), changed));
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(self.home.path(), &mut found);
        found
    }
}

fn vendored(revision: &str) -> String {
    format!("{}/../schema/{revision}/schema.json", env!("CARGO_MANIFEST_DIR"))
}

fn schema(definitions: &str) -> String {
    format!(r#"{{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {{{definitions}}}}}"#)
}

#[test]
fn import_is_idempotent() {
    let project = Project::empty();
    for revision in REVISIONS {
        project.run(&["import", &vendored(revision), "--revision", revision, "--root", "."]).exits(0);
        let ours = fs::read_to_string(vendored(revision)).expect("vendored");
        assert_eq!(project.read(&format!("schema/{revision}/schema.json")), ours, "{revision}");
        assert!(ours.starts_with("{\n  \"$schema\"") && !ours.contains("\"$comment\""), "{revision}");
    }
    let before = project.snapshot();
    for revision in REVISIONS {
        project.run(&["import", &vendored(revision), "--revision", revision]).exits(0).prints(&["unchanged"]);
    }
    project
        .run(&["import", &vendored("2026-07-28"), "--revision", "draft"])
        .exits(0)
        .prints(&["the same as 2026-07-28"]);
    assert_eq!(project.snapshot(), before, "nothing is written again");

    let rows = project.read("schema/revisions.toml");
    let names: Vec<&str> = rows.lines().filter(|line| line.starts_with("name")).collect();
    assert_eq!(names, REVISIONS.map(|name| format!("name = \"{name}\"")));
    assert_eq!(rows.matches("era = \"legacy\"").count(), 4);
    assert_eq!(rows.matches("status = \"released\"").count(), 5);
}

/// Neither fixups nor documentation may show up as differences.
#[test]
fn a_revision_does_not_differ_from_its_file() {
    let root = format!("{}/..", env!("CARGO_MANIFEST_DIR"));
    let project = Project::empty();
    for revision in REVISIONS {
        for pair in [[revision, &vendored(revision)], [&vendored(revision), revision]] {
            let arguments = [&["diff"], &pair[..], &["--root", &root, "--all", "--fail-on", "any"]].concat();
            project.run(&arguments).exits(0).prints(&["no differences"]);
        }
    }
}

#[test]
fn import_changes_the_status_of_a_revision() {
    let project = Project::empty();
    let import = ["import", &vendored("2026-07-28"), "--revision", "2026-07-28", "--root", "."];
    project.run(&import).exits(0);
    let as_draft = [&import[..], &["--status", "draft"]].concat();
    project.run(&as_draft).exits(1).prints(&["nothing was written", "--accept"]);
    project.run(&[&as_draft[..], &["--accept"]].concat()).exits(0).prints(&["draft", "written"]);
    assert!(project.read("schema/revisions.toml").contains("status = \"draft\""));
}

#[test]
fn import_removes_prose_and_obeys_flags() {
    let project = Project::with_small();
    let kept = project.read("schema/draft/schema.json");
    assert!(!kept.contains("the peer") && !kept.contains("prose"), "{kept}");
    assert!(kept.contains(r#""title": {"#), "{kept}");
    assert!(
        project.read("schema/revisions.toml").contains("era = \"modern\"\nupstream = \"schema/draft/schema.json\"")
    );
    let flags = ["--status", "draft", "--era", "legacy", "--upstream", "old/schema.json"];
    project.run(&[&["import", "small.json", "--revision", "2020-01-01"], &flags[..]].concat()).exits(0);
    let rows = project.read("schema/revisions.toml");
    let row = "name = \"2020-01-01\"\nstatus = \"draft\"\nera = \"legacy\"\nupstream = \"old/schema.json\"";
    assert!(rows.contains(row), "{rows}");
}

#[test]
fn changes_a_revision_only_with_accept() {
    let project = Project::with_small();
    let before = project.snapshot();
    for (name, text, change) in [
        ("prose.json", SMALL.replace("the peer", "the server"), "-sha256 = "),
        ("facts.json", SMALL.replace("\"const\": \"ping\"", "\"const\": \"pong\""), "+          \"const\": \"pong\""),
    ] {
        project.write(name, text);
        let changed = project.run(&["import", name, "--revision", "draft"]).exits(1);
        changed.prints(&["--- a/schema/revisions.toml", change, "nothing was written", "--accept"]);
        fs::remove_file(project.path(name)).expect("removed");
    }
    assert_eq!(project.snapshot(), before);
    project.write("small.json", SMALL.replace("ping", "pong"));
    project.run(&["import", "small.json", "--revision", "draft", "--accept"]).exits(0).prints(&["written"]);
    project.run(&["import", "small.json", "--revision", "draft"]).exits(0).prints(&["unchanged"]);
    assert!(project.read("schema/draft/schema.json").contains("pong"));
}

#[test]
fn released_revisions_need_their_fixups() {
    let project = Project::empty();
    let text = fs::read_to_string(vendored("2025-11-25")).expect("vendored");
    let mut mended: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let place = "/$defs/ElicitResult/properties/content/additionalProperties/anyOf/1/type";
    *mended.pointer_mut(place).expect("the fixup's place") = serde_json::json!(["string", "number", "boolean"]);
    project.write("mended.json", mended.to_string());
    let import = ["import", "mended.json", "--root", ".", "--revision"];
    project
        .run(&[&import[..], &["2025-11-25"]].concat())
        .exits(2)
        .prints(&["elicit-content-fractions", "does not find"]);
    assert!(!project.path("schema").exists());
    project.run(&[&import[..], &["draft"]].concat()).exits(0);
    project
        .run(&["generate"])
        .exits(0)
        .prints(&["warning: draft: fixups that did not match", "elicit-content-fractions"]);
}

#[test]
fn generate_writes_checks_and_restores() {
    let project = Project::with_small();
    project.run(&["generate", "--check"]).exits(1).prints(&["--- /dev/null\n+++ b/generated/src/draft/mod.rs"]);
    assert!(!project.path("generated").exists(), "--check writes nothing");
    project.run(&["generate"]).exits(0).prints(&["draft: ", " types, 1 method, ", " written"]);
    project.run(&["generate", "--check"]).exits(0).prints(&["unchanged"]);
    let before = project.snapshot();
    project.write("deep/er/x", "");
    project.run_in("deep/er", &["generate"]).exits(0).prints(&["unchanged"]);
    fs::remove_dir_all(project.path("deep")).expect("removed");
    assert_eq!(project.snapshot(), before, "unchanged files keep their modification time");

    let text = project.read("generated/src/draft/mod.rs");
    project.write("generated/src/draft/mod.rs", format!("{text}// more\n"));
    project.run(&["generate", "--check"]).exits(1).prints(&["--- a/generated/src/draft/mod.rs", "-// more\n"]);
    project.run(&["generate"]).exits(0);
    assert_eq!(project.read("generated/src/draft/mod.rs"), text);
    for path in before.keys().filter(|path| path.starts_with(project.path("generated"))) {
        fs::remove_file(path).expect("removed");
        project.run(&["generate", "--check"]).exits(1);
        project.run(&["generate"]).exits(0);
        assert_eq!(fs::read(path).expect("restored"), before[path].0);
    }
}

#[test]
fn removes_only_generated_files() {
    let project = Project::with_small();
    project.write("generated/src/lib.rs", "//! By hand.\n");
    project.run(&["generate"]).exits(0);
    let before = project.snapshot();
    project.write("generated/src/draft/gone.rs", "// @generated by mcpgen\n");
    project.write("generated/src/v2000_01_01/deep/gone.rs", "// @generated by mcpgen 0.0.1 from elsewhere\n");
    project.run(&["generate", "--check"]).exits(1).prints(&["--- a/generated/src/draft/gone.rs\n+++ /dev/null"]);
    project.run(&["generate"]).exits(0);
    assert_eq!(project.snapshot(), before);
    assert!(!project.path("generated/src/v2000_01_01").exists(), "empty folders are removed");

    for (path, kind) in [
        ("generated/src/draft/mod.rs", "file"),
        ("generated/src/draft", "file"),
        ("generated/src/revisions.rs", "folder"),
    ] {
        let project = Project::with_small();
        match kind {
            "file" => project.write(path, "// By hand.\n"),
            _ => project.write(&format!("{path}/keep.txt"), "By hand.\n"),
        }
        let before = project.snapshot();
        project.run(&["generate"]).exits(2).prints(&["was not written by mcpgen", path]);
        assert_eq!(project.snapshot(), before, "{path}");
    }
}

#[test]
fn errors_leave_the_output_unchanged() {
    let project = Project::with_small();
    project.run(&["generate"]).exits(0);
    project.write("schema/draft/schema.json", schema(r##""A": {"$ref": "#/$defs/B"}, "C": {"unheardOf": {}}"##));
    let before = project.snapshot();
    let answer = project.run(&["generate"]).exits(2);
    answer.prints(&[
        "schema/draft/schema.json#/$defs/A/$ref: ",
        "there is no definition `B`",
        "definition `C`: keyword `unheardOf`",
    ]);
    assert_eq!(project.snapshot(), before);
}

#[test]
fn generates_one_schema_into_a_folder() {
    let project = Project::empty();
    project.write("small.json", SMALL);
    project.write("src/main.rs", "fn main() {}\n");
    let command = ["generate", "--schema", "small.json", "--revision", "2025-11-25", "--out", "src/protocol"];
    project.run(&command).exits(0).prints(&["2025-11-25: ", "written", "warning: ", "did not match"]);
    assert!(project.path("src/protocol/mod.rs").is_file());
    project.run(&[&command[..], &["--check"]].concat()).exits(0).prints(&["unchanged"]);
    project.run(&[&command[..], &["--check", "--support", "crate::mcp"]].concat()).exits(1);
    project.run(&[&command[..], &["--support", "no path"]].concat()).exits(2).prints(&["no path"]);
    project.run(&["generate", "--schema", "small.json"]).exits(2).prints(&["--revision", "--out"]);
    project.run(&["generate", "--out", "x"]).exits(2);
    let names = ["generate", "--schema", "small.json", "--out", "x", "--revision", "a/b"];
    project.run(&names).exits(2).prints(&["cannot be the name of a revision"]);
    assert_eq!(project.read("src/main.rs"), "fn main() {}\n");
    let left: Vec<_> =
        fs::read_dir(project.home.path()).expect("listed").map(|entry| entry.expect("entry").file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn names_the_kind_of_contract() {
    const CHAT: &str = r#"{"$defs": {
        "JoinRequest": { "type": "object", "x-method": "room/join", "x-side": "agent" },
        "JoinResponse": { "type": "object", "x-method": "room/join", "x-side": "agent" },
        "ClientRequest": { "type": "object" }
    }}"#;
    let project = Project::empty();
    project.write("chat.json", CHAT);
    let command = ["generate", "--schema", "chat.json", "--revision", "chat", "--out", "src/chat"];
    project.run(&command).exits(0).prints(&[
        "chat (JSON Schema with x-method): ",
        " 1 method, ",
        "note: chat: the schema has a definition ClientRequest, so the union of these messages is ClientRequestMessage",
    ]);
    let inspected = project.run(&["inspect", "chat.json"]);
    inspected.exits(0).prints(&["chat.json, JSON Schema with x-method", "room/join  (JoinRequest) -> JoinResponse"]);
}

#[test]
fn generates_what_a_schema_adds_to_a_revision() {
    const BASE: &str = r##"{
        "$defs": {
            "Place": { "type": "object", "properties": { "name": { "type": "string" } } },
            "Size": { "type": "integer", "minimum": 0, "maximum": 9 },
            "FindRequest": {
                "type": "object",
                "properties": { "method": { "const": "find" }, "params": { "$ref": "#/$defs/Place" } },
                "required": ["method"]
            },
            "FindResult": { "type": "object", "properties": { "size": { "$ref": "#/$defs/Size" } } },
            "ListRequest": {
                "type": "object",
                "properties": { "method": { "const": "list" }, "params": { "$ref": "#/$defs/Place" } },
                "required": ["method"]
            },
            "ListResult": { "type": "object", "properties": { "places": { "type": "array", "items": { "$ref": "#/$defs/Place" } } } },
            "ClientRequest": { "anyOf": [{ "$ref": "#/$defs/FindRequest" }, { "$ref": "#/$defs/ListRequest" }] }
        }
    }"##;
    let project = Project::empty();
    project.write("base.json", BASE);
    // `FindRequest` differs only in its result. Prose does not matter.
    project.write(
        "own.json",
        BASE.replace("\"maximum\": 9", "\"maximum\": 5").replace("\"string\"", "\"string\", \"title\": \"N\""),
    );
    let command = ["generate", "--schema", "own.json", "--revision", "own-1", "--out", "out"];
    let extends = |value: &'static str| [&command[..], &["--extends", value]].concat();
    project.run(&extends("2031-01-01=base.json")).exits(0).prints(&["own-1: ", " shared), 2 methods, "]);
    let root = project.read("out/mod.rs");
    let shared = root.split_once("pub use ::mcpgen_types::v2031_01_01::").expect("shared types").1;
    for (name, is_shared) in [
        ("Place", true),
        ("ListRequest", true),
        ("ListResult", true),
        ("Size", false),
        ("FindResult", false),
        ("FindRequest", false),
        ("ClientRequest", false),
        ("ClientRequestMethod", false),
    ] {
        let words: Vec<&str> = shared.split(|c: char| !c.is_ascii_alphanumeric()).collect();
        assert_eq!(words.contains(&name), is_shared, "{name}\n{root}");
    }
    for expected in [
        "--extends 2031-01-01=base.json`",
        "It shares types with revision `2031-01-01`.",
        "::V2031_01_01",
        ".has_schema(",
    ] {
        assert!(root.contains(expected), "{expected}\n{root}");
    }
    let messages = project.read("out/base.rs");
    assert!(messages.contains("; \"2031-01-01\""), "{messages}");
    project.run(&[&extends("2031-01-01=base.json")[..], &["--check"]].concat()).exits(0).prints(&["unchanged"]);
    project.run(&[&command[..], &["--check"]].concat()).exits(1);

    // A request that nobody sends is usually a mistake; a fixup that does not apply is not.
    let unsent = BASE.replace(r##"{ "$ref": "#/$defs/FindRequest" }, "##, "");
    project.write("unsent.json", unsent);
    let answer =
        project.run(&["generate", "--schema", "unsent.json", "--revision", "own-1", "--out", "unsent"]).exits(0);
    let expected = "warning: own-1: nobody sends FindRequest; add a reference to it to `anyOf` of ClientRequest or ServerRequest\n";
    assert_eq!(answer.err(), expected);
    project.write("renamed.json", BASE.replace("FindResult", "SearchResult"));
    let answer =
        project.run(&["generate", "--schema", "renamed.json", "--revision", "own-1", "--out", "renamed"]).exits(0);
    let expected = "warning: own-1: no request has the result SearchResult; name its request SearchRequest, or map the request \
                    with `result` in a mapping file\n";
    assert_eq!(answer.err(), expected);

    for value in ["2031-01-01", "=base.json", "2031-01-01="] {
        project.run(&extends(value)).exits(2).prints(&["2026-07-28=schema.json"]);
    }
    project.run(&extends("2031-01-01=none.json")).exits(2).prints(&["none.json"]);
    project.run(&extends("../x=base.json")).exits(2).prints(&["cannot be the name of a revision"]);
    // A released revision's fixups reveal that the file is another schema.
    project.run(&extends("2025-11-25=base.json")).exits(2).prints(&["check that this is the schema of 2025-11-25"]);
    project.run(&["generate", "--extends", "2031-01-01=base.json"]).exits(2).prints(&["--schema"]);
}

#[test]
fn names_the_remedy_outside_a_project() {
    let project = Project::empty();
    project.write("small.json", SMALL);
    for arguments in [&["generate"][..], &["inspect", "2025-11-25"], &["import", "small.json", "--revision", "draft"]] {
        project.run(arguments).exits(2).prints(&["schema/revisions.toml", "--root DIR"]);
    }
    project.run(&["generate", "--root", "."]).exits(2).prints(&["mcpgen import"]);
    project.run(&["inspect", "small.json"]).exits(0).prints(&["PingRequest"]);

    let project = Project::with_small();
    project.run(&["inspect", "2025-11-25"]).exits(2).prints(&[
        "there is no revision `2025-11-25`",
        "draft",
        "mcpgen import",
    ]);
    project.run(&["inspect", "gone.json"]).exits(2).prints(&["reading gone.json"]);
    project.write("schema/revisions.toml", "[[revision]]\nname = 1\n");
    project.run(&["generate"]).exits(2).prints(&["revisions.toml", "name = 1"]);
    project.run(&[]).output.status.code().filter(|code| *code == 2).expect("clap's usage error");
}

#[test]
fn inspects_as_text_and_json() {
    let root = format!("{}/..", env!("CARGO_MANIFEST_DIR"));
    let project = Project::empty();
    let definitions = [79, 83, 91, 145, 155];
    let mut schema = serde_json::from_str(include_str!("../model/schemas/inspect.schema.json")).expect("JSON");
    refuse_other_members(&mut schema);
    let documented = jsonschema::validator_for(&schema).expect("a schema");
    for (revision, count) in REVISIONS.into_iter().zip(definitions) {
        let text = project.run(&["inspect", revision, "--root", &root]).exits(0);
        text.prints(&[revision, &format!("Definitions ({count})"), "tools/call", "(CallToolRequestParams) -> "]);
        let json = project.run(&["inspect", revision, "--root", &root, "--format", "json"]).exits(0).out();
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let problems: Vec<String> = documented.iter_errors(&json).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{revision}: {problems:?}");
        assert_eq!((&json["version"], &json["definitions"]), (&1.into(), &count.into()));
        let kept = &json["conservation"];
        let sum = |outcome: &str| {
            kept[outcome].as_object().expect("counts").values().filter_map(|count| count.as_u64()).sum::<u64>()
        };
        let all = sum("emitted") + sum("absorbed") + kept["aliased"].as_u64().expect("a count");
        assert_eq!(all, count, "{revision}: counts add up");
        assert_eq!(kept["definitions"].as_array().map(Vec::len), Some(count as usize));
    }
    let path = vendored("2025-11-25");
    let json = project.run(&["inspect", &path, "--format", "json"]).exits(0).out();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let find = |list: &str, key: &str, value: &str| {
        let items = json[list].as_array().expect("a list");
        items.iter().find(|item| item[key] == value).unwrap_or_else(|| panic!("{list} has no {value}")).clone()
    };
    assert_eq!(
        find("requests", "method", "tools/call"),
        serde_json::json!({
            "method": "tools/call", "type": "CallToolRequest", "senders": ["client"], "params": "CallToolRequestParams",
            "params_required": true, "result": "CallToolResult", "task_result": "CreateTaskResult",
        })
    );
    assert_eq!(
        find("unions", "name", "TextOrBlobResourceContents"),
        serde_json::json!({
            "name": "TextOrBlobResourceContents",
            "schema_pointers": [
                "/$defs/EmbeddedResource/properties/resource", "/$defs/ReadResourceResult/properties/contents/items",
            ],
            "variants": ["TextResourceContents", "BlobResourceContents"],
            "overlapping": true,
            "guards": [
                {"when": [{"kind": "present", "path": ["text"]}], "variant": "TextResourceContents"},
                {"when": [{ "kind": "present", "path": ["blob"] }], "variant": "BlobResourceContents"},
            ],
            "absorbed": [],
        })
    );
}

#[test]
fn tolerates_a_closed_pipe() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpgen"));
    let path = vendored("2025-11-25");
    let mut child =
        command.args(["inspect", &path]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mcpgen runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("mcpgen ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn rejects_invalid_schemas() {
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let wrapped = format!("{}true{}", r#"{"items": "#.repeat(200), "}".repeat(200));
    let cases: &[(&str, String, &[&str])] = &[
        ("empty", String::new(), &["bad.json:1:0: invalid JSON"]),
        ("no schema", "[]".into(), &["expected a schema document"]),
        ("no types", schema(""), &["the document defines no types"]),
        ("key twice", schema(r#""A": {"type": "string", "type": "null"}"#), &["duplicate key \"type\"", "bad.json:1:"]),
        ("deep arrays", nested, &["recursion limit"]),
        ("deep schema", schema(&format!(r#""A": {wrapped}"#)), &["recursion limit"]),
        ("dangling", schema(r##""A": {"$ref": "#/$defs/b"}, "B": {}"##), &["/$defs/A/$ref", "there is `B`"]),
        (
            "circular",
            schema(r##""A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}"##),
            &["definition `A`", "break the cycle"],
        ),
        ("empty anyOf", schema(r#""A": {"anyOf": []}"#), &["#/$defs/A/anyOf", "the list is empty"]),
        (
            "both at once",
            schema(r#""A": {"anyOf": []}, "B": {"unheardOf": {}}"#),
            &["definition `A`", "definition `B`"],
        ),
        ("dialect", r#"{"$schema": "urn:x", "$defs": {"A": {}}}"#.into(), &["is not a dialect"]),
    ];
    for (name, text, parts) in cases {
        let project = Project::empty();
        project.write("bad.json", text);
        project.run(&["inspect", "bad.json"]).exits(2).prints(parts);
        let generate = ["generate", "--schema", "bad.json", "--revision", "x", "--out", "out"];
        project.run(&generate).exits(2).prints(parts);
        project.run(&["import", "bad.json", "--revision", "x", "--root", "."]).exits(2).prints(parts);
        assert_eq!(fs::read_dir(project.home.path()).expect("listed").count(), 1, "{name}: nothing is written");
    }
}

#[test]
fn accepts_a_byte_order_mark() {
    let project = Project::empty();
    project.write("bom.json", format!("\u{feff}{SMALL}"));
    project.run(&["import", "bom.json", "--revision", "draft", "--root", "."]).exits(0);
    assert!(project.read("schema/draft/schema.json").starts_with('{'));
}

#[test]
fn rejects_huge_files_without_reading_them() {
    let project = Project::empty();
    let file = fs::File::create(project.path("huge.json")).expect("created");
    file.set_len(40 * 1024 * 1024).expect("sized");
    let (answer, time) = timed(|| project.run(&["inspect", "huge.json"]));
    answer.exits(2).prints(&["41943040 bytes", "check the path"]);
    assert!(time < Duration::from_secs(2), "{time:?}");
}

#[test]
fn reads_ten_thousand_definitions_in_seconds() {
    let count = 10_000;
    let mut structs = String::new();
    for i in 0..count {
        let next = (i * 7 + 1) % count;
        let comma = if i == 0 { "" } else { "," };
        let properties = format!(r##""next": {{"$ref": "#/$defs/D{next}"}}, "name": {{"type": "string"}}"##);
        write!(structs, r#"{comma}"D{i}": {{"type": "object", "properties": {{{properties}}}, "required": ["name"]}}"#)
            .expect("written");
    }
    let project = Project::empty();
    project.write("many.json", schema(&structs));
    let (answer, time) = timed(|| project.run(&["inspect", "many.json"]));
    answer.exits(0).prints(&["10000 definitions"]);
    assert!(time < Duration::from_secs(20), "{time:?}");
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    (work(), start.elapsed())
}

/// Makes the schema reject undocumented members.
fn refuse_other_members(schema: &mut serde_json::Value) {
    match schema {
        serde_json::Value::Object(members) => {
            members.values_mut().for_each(refuse_other_members);
            if members.get("properties").is_some_and(serde_json::Value::is_object) {
                members.insert("additionalProperties".into(), false.into());
            }
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(refuse_other_members),
        _ => {}
    }
}

fn generated(schema: &str) -> String {
    let project = Project::empty();
    project.write("schema.json", schema);
    project.run(&["generate", "--schema", "schema.json", "--revision", "x", "--out", "out"]).exits(0);
    let files = fs::read_dir(project.path("out")).expect("the module");
    let names = files.map(|entry| entry.expect("a file").file_name().into_string().expect("a name"));
    names.map(|name| project.read(&format!("out/{name}"))).collect()
}

/// Enums do not implement `Ord`: the order in a schema means nothing, and would make `alert` less than `debug`.
#[test]
fn values_of_enumerations_have_no_order() {
    let code = generated(&schema(r#""Level": {"enum": ["alert", "debug"]}"#));
    assert!(code.contains("#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]\npub enum Level"), "{code}");
}

#[test]
fn escapes_hidden_characters_in_descriptions() {
    let code = generated(&schema(r#""Level": {"type": "string", "description": "a\u200eb\u061cc\u202ed"}"#));
    assert!(code.contains(r"/// a\u{200e}b\u{61c}c\u{202e}d"), "{code}");
}

/// A definition with a limit and a check.
const CARD: &str = r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"Card": {
  "type": "object",
  "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}, "tags": {"type": "array", "maxItems": 1}},
  "required": ["name"]
}}}"#;

#[test]
fn validates_documents() {
    let project = Project::empty();
    for (path, text) in [
        ("card.schema.json", CARD),
        ("good.json", r#"{"name": "a"}"#),
        ("bad.json", r#"{"name": "A"}"#),
        ("long.json", r#"{"name": "a", "tags": [1, 2]}"#),
        ("broken.json", "{"),
    ] {
        project.write(path, text);
    }
    let run = |documents: &[&str]| {
        let arguments: Vec<&str> =
            ["validate", "Card", "--schema", "card.schema.json"].iter().chain(documents).copied().collect();
        project.run(&arguments)
    };
    assert_eq!(run(&["good.json", "good.json"]).exits(0).out(), "");
    assert_eq!(
        run(&["bad.json", "good.json", "long.json"]).exits(1).out(),
        "bad.json: Card: name: expected a string that matches \"^[a-z]+$\", found \"A\"\n\
         long.json: Card: tags: expected at most 1 item, found 2\n"
    );
    run(&["broken.json"]).exits(1).prints(&["broken.json: Card: not readable as JSON"]);
    run(&["missing.json"]).exits(2).prints(&["missing.json"]);
    project.run(&["validate", "Crad", "--schema", "card.schema.json"]).exits(2).prints(&["`Crad`", "`Card`"]);
}

#[test]
fn validates_standard_input() {
    let project = Project::empty();
    project.write("card.schema.json", CARD);
    for (arguments, text, code, out) in [
        (&[][..], r#"{"name": "a"}"#, 0, ""),
        (&["-"][..], r#"{"tags": []}"#, 1, "standard input: Card: name: missing required member\n"),
    ] {
        let mut command = project.command(&["validate", "Card", "--schema", "card.schema.json"]);
        let mut child =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("mcpgen runs");
        let mut input = child.stdin.take().expect("standard input");
        std::io::Write::write_all(&mut input, text.as_bytes()).expect("written");
        drop(input);
        let output = child.wait_with_output().expect("mcpgen ends");
        assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).as_ref()), (Some(code), out));
    }
}

#[test]
fn contains_shows_proofs_and_witnesses() {
    let project = Project::empty();
    let write = |name: &str, schema: &str| {
        let start = r#"{"$schema": "https://json-schema.org/draft/2020-12/schema""#;
        project.write(name, schema.replacen('{', &format!("{start}, "), 1));
    };
    write("text.json", r#"{"type": "object", "additionalProperties": {"type": "string"}}"#);
    write(
        "port.json",
        r#"{"type": "object", "additionalProperties": {"type": "string"}, "properties": {"PORT": {"type": "integer"}}}"#,
    );
    write("ahead.json", r#"{"type": "string", "pattern": "^(?!a)"}"#);
    write("behind.json", r#"{"type": "string", "pattern": "^(?!b)"}"#);
    write("types.json", r#"{"$defs": {"A": {"type": "integer"}, "B": {"type": "number"}}}"#);
    project.write("anything.json", "{}");
    for (arguments, code, out) in [
        (&["text.json", "text.json"][..], 0, "contained\n"),
        (&["anything.json", "port.json"], 0, "contained\n"),
        (
            &["port.json", "text.json"],
            1,
            "not contained\nwitness: {\"PORT\":\"\"}\nrefused: PORT: expected integer, found string\n",
        ),
        (
            &["ahead.json", "behind.json"],
            1,
            "not contained\nwitness: \"a\"\nrefused: expected a string that matches \"^(?!a)\", found \"a\"\n",
        ),
        (&["types.json", "types.json", "--type", "A"], 0, "contained\n"),
        (
            &["port.json", "text.json", "--json"],
            1,
            "{\n  \"verdict\": \"not-contained\",\n  \"witness\": {\n    \"PORT\": \"\"\n  },\n  \
             \"refused\": \"PORT: expected integer, found string\"\n}\n",
        ),
        (&["text.json", "text.json", "--json"], 0, "{\n  \"verdict\": \"contained\"\n}\n"),
    ] {
        let arguments: Vec<&str> = ["contains"].iter().chain(arguments).copied().collect();
        assert_eq!(project.run(&arguments).exits(code).out(), out, "{arguments:?}");
    }
    write("letter.json", r#"{"type": "string", "pattern": "^(?=a)b"}"#);
    write("other.json", r#"{"type": "string", "const": false}"#);
    project
        .run(&["contains", "other.json", "letter.json"])
        .exits(1)
        .prints(&["unknown\nreason: a regular expression cannot"]);
    project.run(&["contains", "types.json", "text.json"]).exits(2).prints(&["types.json", "`--type`"]);
    project.run(&["contains", "types.json", "types.json", "--type", "a"]).exits(2).prints(&["`a`", "`A`"]);
    project.run(&["contains", "missing.json", "text.json"]).exits(2).prints(&["missing.json"]);
}

/// A schema without directions, and without a method for `Started`.
const MESSAGES: &str = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {
  "NextRequest": {
    "type": "object",
    "properties": {"type": {"const": "request"}, "command": {"const": "next"}, "arguments": {"$ref": "#/definitions/Arguments"}},
    "required": ["type", "command"]
  },
  "NextResponse": {"type": "object", "properties": {"body": {"$ref": "#/definitions/Body"}}, "required": ["body"]},
  "StoppedEvent": {
    "type": "object",
    "properties": {"type": {"const": "event"}, "event": {"const": "stopped"}, "body": {"type": "string"}},
    "required": ["type", "event"]
  },
  "Arguments": {"type": "object", "properties": {"id": {"type": "integer"}}},
  "Body": {"type": "object"},
  "Started": {"type": "object", "properties": {"at": {"type": "string"}}}
}}"##;

#[test]
fn reads_messages_from_a_mapping() {
    let project = Project::empty();
    project.write("messages.json", MESSAGES);
    // Without a mapping, nobody knows who sends what.
    let report: serde_json::Value =
        serde_json::from_str(&project.run(&["inspect", "messages.json", "--format", "json"]).exits(0).out())
            .expect("JSON");
    assert_eq!(report["requests"][0]["method"], "next");
    assert_eq!(report["requests"][0]["params"], "Arguments");
    assert_eq!(report["requests"][0]["result"], "Body");
    assert_eq!(report["requests"][0]["senders"], serde_json::json!([]));
    assert_eq!(report["notifications"][0]["method"], "stopped");
    project.write(
        "protocol.toml",
        "[[request]]\ndefinition = \"NextRequest\"\ndirection = \"client-to-server\"\n\
         [[notification]]\ndefinition = \"StoppedEvent\"\ndirection = \"server-to-client\"\n\
         [[request]]\ndefinition = \"Started\"\nmethod = \"start\"\nresult = \"Body\"\n",
    );
    let arguments = ["inspect", "messages.json", "--format", "json", "--protocol", "protocol.toml"];
    let report: serde_json::Value = serde_json::from_str(&project.run(&arguments).exits(0).out()).expect("JSON");
    let request = |method: &str| {
        let requests = report["requests"].as_array().expect("a list");
        requests.iter().find(|request| request["method"] == method).expect("the request").clone()
    };
    assert_eq!(request("next")["senders"], serde_json::json!(["client"]));
    assert_eq!(request("start")["params"], "Started");
    assert_eq!(request("start")["result"], "Body");
    let arguments = ["generate", "--schema", "messages.json", "--revision", "m", "--out", "out", "--protocol"];
    project.run(&[&arguments[..], &["protocol.toml"]].concat()).exits(0);
    let messages = project.read("out/messages.rs");
    assert!(messages.contains("pub enum ClientRequestMethod"), "{messages}");
    assert!(!messages.contains("ClientMessage"), "the messages have no JSON-RPC envelope: {messages}");
}

#[test]
fn rejects_invalid_mappings() {
    let project = Project::empty();
    project.write("messages.json", MESSAGES);
    for (text, expected) in [
        ("[[request]]\n", &["missing field `definition`", "write tables [[request]]"][..]),
        ("[[request]]\ndefinition = \"Next\"\n", &["there is no definition `Next`"]),
        ("[[request]]\ndefinition = \"Body\"\nmethod = \"x\"\n", &["its Rust type is an alias"]),
        ("[[request]]\ndefinition = \"Started\"\n", &["no constant member `method` or `command`", "add `method`"]),
        ("[[request]]\ndefinition = \"NextRequest\"\nmethod = \"x\"\n", &["\"x\", but the definition has \"next\""]),
        ("[[request]]\ndefinition = \"NextRequest\"\nresult = \"Bodi\"\n", &["there is no definition `Bodi`"]),
        ("[[notification]]\ndefinition = \"StoppedEvent\"\nresult = \"Body\"\n", &["a notification has no result"]),
    ] {
        project.write("protocol.toml", text);
        project.run(&["inspect", "messages.json", "--protocol", "protocol.toml"]).exits(2).prints(expected);
    }
}

/// The draft of 2025-11-14 has a map with `propertyNames`.
#[test]
fn accepts_property_names_of_maps() {
    let project = Project::empty();
    let map = r#""Meta": {"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "string"}}"#;
    project.write("schema.json", schema(map));
    project.run(&["inspect", "schema.json", "Meta"]).exits(0).prints(&["= map to string"]);
}

/// In the Agent Client Protocol, `ClientRequest` is a single message with any method.
#[test]
fn accepts_other_types_named_like_message_sets() {
    let project = Project::empty();
    let request =
        r#""ClientRequest": {"type": "object", "properties": {"method": {"type": "string"}}, "required": ["method"]}"#;
    project.write("schema.json", schema(request));
    project.run(&["inspect", "schema.json", "ClientRequest"]).exits(0).prints(&["method: string, required"]);
    let arguments = ["generate", "--schema", "schema.json", "--revision", "x", "--out", "out"];
    project.run(&arguments).exits(0);
    assert!(!project.path("out/messages.rs").exists(), "there are no message sets");
}
