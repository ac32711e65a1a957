//! `mcpgen validate` with server cards and `server.json` files.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use support::Project;

#[allow(dead_code, reason = "this test uses only a part of this module")]
mod support;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Validates a document against a vendored schema. Returns the exit code and the output.
fn validate(type_name: &str, schema: &str, document: &Path) -> (Option<i32>, String) {
    let root = root().display().to_string();
    let document = document.display().to_string();
    let answer = Project::empty().run(&["validate", type_name, "--schema", schema, "--root", &root, &document]);
    (answer.output.status.code(), format!("{}{}", answer.out(), answer.err()))
}

/// Checks that a document is valid, and that each change makes it invalid for the expected reason.
fn check(type_name: &str, schema: &str, valid: &Value, changes: &[(&str, Value, &str)]) {
    let project = Project::empty();
    project.write("document.json", valid.to_string());
    assert_eq!(validate(type_name, schema, &project.path("document.json")), (Some(0), String::new()));
    for (pointer, value, reason) in changes {
        let mut changed = valid.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = changed.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
        match value {
            Value::Null => drop(parent.remove(key)),
            value => drop(parent.insert(key.to_owned(), value.clone())),
        }
        project.write("document.json", changed.to_string());
        let (code, output) = validate(type_name, schema, &project.path("document.json"));
        assert_eq!(code, Some(1), "{pointer} = {value}: {output}");
        assert!(output.contains(reason), "{pointer} = {value}: {output}");
    }
}

#[test]
fn decides_server_cards() {
    let card = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": "com.example/weather",
        "description": "Forecasts for every place.",
        "version": "1.4.0",
        "icons": [{ "src": "https://example.com/icon.png", "sizes": ["48x48"] }],
        "remotes": [{
            "type": "streamable-http",
            "url": "https://{region}.example.com/mcp",
            "variables": { "region": { "choices": ["eu", "us"], "default": "eu" } },
            "headers": [{ "name": "X-Key", "isSecret": true, "isRequired": true }],
            "supportedProtocolVersions": ["2026-07-28"]
        }],
        "_meta": { "com.example/build": 7 }
    });
    let changes = [
        ("/$schema", Value::Null, "$schema"),
        ("/$schema", json!("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"), "$schema"),
        ("/name", Value::Null, "name"),
        ("/name", json!("weather"), "name"),
        ("/description", json!(""), "description"),
        ("/remotes/0/type", json!("stdio"), "remotes[0].type: expected one of"),
        ("/remotes/0/url", json!("ftp://example.com"), "remotes[0].url: expected a string that matches"),
        ("/remotes/0/variables/region/choices", json!("eu"), "remotes[0].variables.region.choices: expected array"),
    ];
    check("ServerCard", "server-card", &card, &changes);
}

#[test]
fn decides_files_of_the_registry() {
    let file = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "com.example/weather",
        "description": "Forecasts for every place.",
        "version": "1.4.0",
        "packages": [{
            "registryType": "npm",
            "identifier": "@example/weather",
            "version": "1.4.0",
            "transport": { "type": "stdio" },
            "packageArguments": [
                { "type": "named", "name": "--unit", "value": "{unit}", "variables": { "unit": { "default": "C" } } },
                { "type": "positional", "valueHint": "place" }
            ],
            "environmentVariables": [{ "name": "KEY", "isSecret": true }]
        }],
        "remotes": [{ "type": "sse", "url": "https://example.com/sse" }]
    });
    let changes = [
        ("/version", Value::Null, "version"),
        ("/packages/0/version", json!("latest"), "packages[0].version"),
        ("/packages/0/transport/type", json!("pipe"), "packages[0].transport.type"),
        ("/packages/0/fileSha256", json!("00"), "packages[0].fileSha256"),
        ("/packages/0/packageArguments/1/valueHint", Value::Null, "packages[0].packageArguments[1]"),
        ("/remotes/0/url", json!("example.com"), "remotes[0].url"),
    ];
    check("ServerDetail", "registry", &file, &changes);
}

#[test]
fn decides_the_published_examples_of_server_cards() {
    let examples = root().join("../shared/extensions/server-card-examples");
    if !examples.is_dir() {
        eprintln!("SKIPPED: {} is missing, so the published examples are not validated", examples.display());
        return;
    }
    for (folder, expected) in [("valid", 0), ("invalid", 1)] {
        let entries = fs::read_dir(examples.join(folder)).expect("a folder");
        let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
        assert!(paths.len() > 1, "{folder}: {} examples", paths.len());
        for path in paths {
            let (code, output) = validate("ServerCard", "server-card", &path);
            assert_eq!(code, Some(expected), "{}: {output}", path.display());
        }
    }
}
