//! Runs mcpgen on schemas and tool lists whose texts try to inject code, markup, links or commands.

mod support;
#[path = "support/hostile.rs"]
mod texts;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};
use support::Project;
use texts::{CODE, HOSTILE, active, has_command, is_hidden, random};

/// Returns all hostile texts that could be a name.
fn texts() -> impl Iterator<Item = String> {
    let known = HOSTILE.iter().chain(&CODE).filter(|text| !text.is_empty()).map(|text| (*text).to_owned());
    known.chain((0..40).map(random).filter(|text| !text.is_empty()))
}

fn reference(definition: &str) -> Value {
    let token = definition.replace('~', "~0").replace('/', "~1");
    let token: String = token.bytes().map(|byte| format!("%{byte:02X}")).collect();
    json!({ "$ref": format!("#/$defs/{token}") })
}

/// Returns a schema with the text wherever it could end up in documentation.
fn schema(text: &str) -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "title": text,
        "description": text,
        "$comment": text,
        "required": [text, "constant"],
        "properties": {
            text: { "type": "string", "title": text, "description": text, "default": text, "examples": [text] },
            "undescribed": { "enum": [text, "other"] },
            "constant": { "const": text },
            "optional_constant": { "const": format!("{text}!") },
            "reference": reference(text),
            "union": { "anyOf": [{ "const": text }, reference(text), { "type": "array", "items": { "const": text } }] },
            "undecided": { "anyOf": [
                { "type": "object", "properties": { text: { "type": "string", "maxLength": 3 } } },
                { "type": "object", "properties": { text: { "type": "string", "minLength": 2 } } },
            ] },
            "tuple": { "type": "array", "prefixItems": [reference(text)], "items": reference(text) },
            "bounded": { "type": "string", "description": text, "not": { "const": text } },
        },
        "patternProperties": { regex(text): { "type": "string" } },
    });
    let mut schema = schema.as_object().expect("an object").clone();
    let definition = json!({ "type": "object", "description": text, "properties": { "x": { "type": "integer" } } });
    schema.insert("$defs".to_owned(), json!({ text: definition }));
    schema
}

/// Returns a regular expression that matches exactly this text.
fn regex(text: &str) -> String {
    text.chars().flat_map(|c| c.is_ascii_punctuation().then_some('\\').into_iter().chain([c])).collect()
}

/// Returns a tool list with each text in every place.
fn tools(texts: &[String]) -> Value {
    let tools = texts.iter().map(|text| {
        json!({
            "name": text, "title": text, "description": text, "annotations": { "title": text },
            "inputSchema": schema(text), "outputSchema": schema(text),
        })
    });
    json!({ "tools": tools.collect::<Vec<_>>() })
}

/// Returns a protocol schema with the text in every name.
fn protocol(text: &str) -> Value {
    let message = |kind: &str| {
        let params = json!({ "type": "object", "properties": { text: reference(text) } });
        let properties = json!({ "method": { "const": format!("{text}{kind}") }, "params": params });
        json!({ "type": "object", "required": ["method", "params"], "properties": properties })
    };
    let names = ["Request", "Notification"].map(|kind| format!("{text}{kind}"));
    let mut definitions = Map::from_iter([
        (text.to_owned(), Value::Object(schema(text))),
        (format!("{text}Result"), Value::Object(schema(text))),
        ("ClientRequest".to_owned(), json!({ "anyOf": [reference(&names[0])] })),
        ("ServerNotification".to_owned(), json!({ "anyOf": [reference(&names[1])] })),
        (format!("{text}Alone"), message("Unsent")),
        (format!("{text}UnsentRequest"), message("Unsent")),
    ]);
    definitions.insert(names[0].clone(), message("Request"));
    definitions.insert(names[1].clone(), message("Notification"));
    json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions })
}

/// The core's macros document setters. Names and constants from a schema would not be escaped there.
#[test]
fn macros_document_members_by_their_rust_names() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../generated/src/codec/declare.rs");
    let text = std::fs::read_to_string(path).expect("the core of the types");
    let docs: Vec<&str> = text.lines().filter(|line| line.contains("#[doc = concat!")).collect();
    assert!(docs.len() > 3, "{docs:?}");
    let foreign: Vec<&&str> = docs.iter().filter(|line| line.contains("_wire") || line.contains("_value")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

/// Checks that the file contains only Rust that mcpgen meant to write.
fn check_rust(path: &str, text: &str) {
    assert!(!is_hidden(text), "{path}: {text:?}");
    let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
    let injected = file.items.iter().any(|item| matches!(item, syn::Item::Fn(it) if it.sig.ident == "injected"));
    assert!(
        !injected && !text.contains("#[doc") && !text.contains("#![doc") && !text.contains("/**"),
        "{path}: {text}"
    );
    let mut comment = Vec::new();
    for line in text.lines().chain([""]) {
        let bare = line.trim_start();
        match ["///", "//!"].iter().find_map(|mark| bare.strip_prefix(mark)) {
            Some(line) => comment.push(line),
            None => {
                let found = active(&unindented(&comment));
                let own =
                    |it: &String| ["", "type@"].iter().any(|kind| it.starts_with(&format!("a link to {kind}super::")));
                let found: Vec<String> =
                    found.into_iter().filter(|it| !own(it) && !it.starts_with("a link to self::")).collect();
                assert_eq!(found, [""; 0], "{path}:\n{}", comment.join("\n"));
                comment.clear();
            }
        }
    }
}

/// Removes common indentation, as rustdoc does.
fn unindented(lines: &[&str]) -> String {
    let indent = |line: &&&str| line.len() - line.trim_start_matches(' ').len();
    let common = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(&line)).min().unwrap_or(0);
    lines.iter().map(|line| line.get(common..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            match path.is_dir() {
                true => folders.push(path),
                false => drop(files.insert(path.display().to_string(), fs::read_to_string(&path).expect("text"))),
            }
        }
    }
    files
}

#[test]
fn documentation_of_tools_runs_nothing() {
    let home = tempfile::tempdir().expect("a folder");
    for (at, text) in texts().enumerate() {
        let out = home.path().join(at.to_string());
        let list = tools(std::slice::from_ref(&text)).to_string();
        // The file name is hostile too.
        let written = mcpgen::Bindings::parse("*/\n```\npub fn injected() {}\n.json", list.as_bytes())
            .and_then(|bindings| bindings.write_to(&out))
            .unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!((written.tools, written.skipped.len()), (1, 0), "{text:?}");
        assert!(written.notes.is_empty(), "{text:?}: {:?}", written.notes);
        for (path, rust) in files(&out) {
            check_rust(&path, &rust);
        }
    }
}

#[test]
fn documentation_of_schemas_runs_nothing() {
    let options = mcpgen::Options {
        support: "::mcpgen_types".into(),
        command: "mcpgen `\n```".into(),
        source: "a\n```\n.json".into(),
        vendored: None,
    };
    for text in texts() {
        let document = mcpgen::Document::parse("schema.json", protocol(&text).to_string().as_bytes());
        let protocol = document.and_then(|document| mcpgen::model(document, "draft", false));
        let protocol = protocol.unwrap_or_else(|error| panic!("{text:?}: {error}"));
        for (path, rust) in mcpgen::emit(&protocol, &options).expect("code") {
            check_rust(&path, &rust);
        }
    }
}

/// Commands that print names, with their exit codes.
const COMMANDS: [(&[&str], i32); 18] = [
    (&["bindings", "tools.json", "--out", "out"], 1),
    (&["bindings", "tools.json", "--out", "new", "--check"], 1),
    (&["bindings", "bad-tools.json", "--out", "out"], 2),
    (&["generate", "--schema", "schema.json", "--revision", "d", "--out", "types"], 0),
    (&["generate", "--schema", "bad.json", "--revision", "d", "--out", "types"], 2),
    (&["inspect", "schema.json"], 0),
    (&["inspect", "schema.json", "--format", "json"], 0),
    (&["inspect", "schema.json", "ClientRequest", "NAME"], 0),
    (&["inspect", "schema.json", "NAMEx"], 2),
    (&["inspect", "schema.json", "--check"], 0),
    (&["inspect", "bad.json", "--check"], 1),
    (&["validate", "NAME", "--schema", "schema.json", "document.json"], 1),
    (&["contains", "old.json", "schema.json", "--type", "ClientRequest"], 1),
    (&["diff", "--tools", "good-tools.json", "old-tools.json", "--all", "--fail-on", "none"], 0),
    (&["diff", "schema.json", "bad.json"], 2),
    (&["import", "bad.json", "--revision", "draft", "--root", "."], 2),
    (&["import", "schema.json", "--extension", "x", "--root", "."], 2),
    (&["diff", "schema.json", "old.json", "--format", "github", "--fail-on", "none"], 0),
];

#[test]
fn commands_print_only_text() {
    for text in HOSTILE.iter().filter(|text| !text.trim().is_empty()) {
        let project = Project::empty();
        let broken = json!({ "name": format!("{text}!"), "inputSchema": { "type": text } });
        let unknown =
            json!({ "name": format!("{text}?"), "inputSchema": { "type": "object", (*text): { "$ref": text } } });
        let good = tools(&[(*text).to_owned()]);
        let mut all = good.clone();
        all["tools"].as_array_mut().expect("tools").extend([broken.clone(), unknown]);
        let bad = json!({ "$defs": { (*text): { "type": "object", (*text): 1, "$ref": format!("#/$defs/{text}x") } } });
        for (name, value) in [
            ("tools.json", &all),
            ("good-tools.json", &good),
            ("old-tools.json", &json!({ "tools": [{ "name": "x", "inputSchema": { "type": "object" } }] })),
            ("bad-tools.json", &json!([broken])),
            ("schema.json", &protocol(text)),
            ("old.json", &protocol("plain")),
            ("bad.json", &bad),
            ("document.json", &json!({ (*text): 1, "constant": text })),
        ] {
            project.write(name, value.to_string());
        }
        for (arguments, code) in COMMANDS {
            // Arguments cannot contain NUL.
            let name = text.replace('\0', "");
            let arguments: Vec<String> = arguments.iter().map(|it| it.replace("NAME", &name)).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            if text.contains('\0') && arguments.iter().any(|it| it.contains(&name)) {
                continue;
            }
            let answer = project.run(&arguments).exits(code);
            let (out, err) = (answer.out(), answer.err());
            assert!(!is_hidden(&out) && !is_hidden(&err), "{arguments:?}: {out:?} {err:?}");
            let is_github = arguments.contains(&"github");
            assert!(is_github || !has_command(&out), "{arguments:?}: {out}");
            assert!(!has_command(&err), "{arguments:?}: {err}");
        }
    }
}

/// The part of the next test that runs in another process, so that the test can read what it prints for Cargo.
#[test]
#[ignore = "runs in another process"]
fn build_script() {
    let folder = std::env::var("MCPGEN_SCHEMAS").expect("the folder of the schemas");
    let schema = Path::new(&folder).join("schema.json");
    mcpgen::Generator::new(schema, "draft").build_script("protocol").expect("generated");
    let tools = Path::new(&folder).join("tools.json");
    mcpgen::Bindings::read(tools).and_then(|bindings| bindings.build_script("tools")).expect("written");
}

#[test]
fn names_are_no_instructions_for_cargo() {
    for text in HOSTILE.iter().filter(|text| !text.is_empty()) {
        let project = Project::empty();
        project.write("schema.json", protocol(text).to_string());
        let mut list = tools(&[(*text).to_owned()]);
        list["tools"].as_array_mut().expect("tools").push(json!({ "name": format!("{text}!") }));
        project.write("tools.json", list.to_string());
        let output = Command::new(std::env::current_exe().expect("this program"))
            .args(["build_script", "--exact", "--ignored", "--nocapture"])
            .env("MCPGEN_SCHEMAS", project.home.path())
            .env("OUT_DIR", project.path("out"))
            .stderr(Stdio::inherit())
            .output()
            .expect("the program runs");
        let out = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text:?}: {out}");
        let is_instruction = |line: &&str| line.starts_with("cargo:");
        let instructions: Vec<&str> = out.lines().filter(is_instruction).collect();
        assert_eq!(instructions.len(), 5, "{text:?}: {instructions:?}");
        for line in instructions {
            let known = ["cargo::warning=", "cargo::rerun-if-changed="].iter().any(|it| line.starts_with(it));
            assert!(known && !is_hidden(line), "{text:?}: {line:?}");
        }
    }
}

/// Runs `cargo test --doc` on a crate with all texts. Compiling it also proves that the code is valid.
#[test]
fn cargo_finds_no_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("doctests");
    let (krate, texts) = (scratch.join("crate"), HOSTILE.iter().chain(&CODE).filter(|text| !text.is_empty()));
    let _ = fs::remove_dir_all(&krate);
    fs::create_dir_all(krate.join("src")).expect("a folder");
    let texts: Vec<String> = texts.map(|text| (*text).to_owned()).collect();
    let manifest = format!(
        "[package]\nname = \"doctests\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n\
         mcpgen-sdk = {{ path = {:?}, default-features = false }}\n\
         mcpgen-types = {{ path = {:?}, features = [\"pattern\"] }}\n\n[workspace]\n",
        root.join("runtime/sdk"),
        root.join("generated"),
    );
    fs::write(krate.join("Cargo.toml"), manifest).expect("written");
    fs::copy(root.join("Cargo.lock"), krate.join("Cargo.lock")).expect("a copy");
    let bindings = mcpgen::Bindings::parse("tools.json", tools(&texts).to_string().as_bytes()).expect("tools");
    assert_eq!(bindings.write_to(krate.join("src/tools")).expect("written").tools, texts.len());
    let mut modules = "pub mod tools;\n".to_owned();
    // Compiling a module for every text would take minutes.
    for (at, text) in texts.iter().enumerate().step_by(5) {
        let schema = scratch.join("schema.json");
        fs::write(&schema, protocol(text).to_string()).expect("written");
        let name = format!("protocol{at}");
        mcpgen::Generator::new(&schema, "draft").write_to(krate.join("src").join(&name)).expect("generated");
        modules.push_str(&format!("pub mod {name};\n"));
    }
    fs::write(krate.join("src/lib.rs"), modules).expect("written");
    let output = Command::new(env!("CARGO"))
        .args(["test", "--doc", "--offline"])
        .current_dir(&krate)
        .env("CARGO_TARGET_DIR", scratch.join("target"))
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("running 0 tests"), "{out}\n{err}");
}

#[cfg(unix)]
#[test]
fn links_below_the_folder_are_not_followed() {
    use std::os::unix::fs::symlink;
    let project = Project::empty();
    project.write("tools.json", r#"{"tools": [{"name": "x", "inputSchema": {"type": "object"}}]}"#);
    project.write("schema.json", json!({ "$defs": { "A": { "type": "object" } } }).to_string());
    fs::create_dir(project.path("elsewhere")).expect("a folder");
    let bindings: &[&str] = &["bindings", "tools.json", "--out"];
    let generate: &[&str] = &["generate", "--schema", "schema.json", "--revision", "d", "--out"];
    for (arguments, link, target) in [
        (bindings, "out/x_arguments", "elsewhere"),
        (bindings, "out/x_arguments", "missing"),
        (bindings, "out/mod.rs", "tools.json"),
        (generate, "out/mod.rs", "missing"),
        (generate, "out/common.rs", "schema.json"),
    ] {
        let _ = fs::remove_dir_all(project.path("out"));
        fs::create_dir(project.path("out")).expect("a folder");
        symlink(project.path(target), project.path(link)).expect("a link");
        for check in [&[][..], &["--check"]] {
            let all = [arguments, &["out"], check].concat();
            project.run(&all).exits(2).prints(&[link, "was not written by mcpgen"]);
        }
        assert_eq!(fs::read_dir(project.path("elsewhere")).expect("a folder").count(), 0, "{link}");
        assert!(!project.path("missing").exists(), "{link}");
    }
    // The output folder itself may be a link, because the user chose it.
    symlink(project.path("elsewhere"), project.path("link")).expect("a link");
    project.run(&[bindings, &["link"]].concat()).exits(0);
    assert!(project.read("elsewhere/x_arguments/mod.rs").contains("the tool `x`"));
}
