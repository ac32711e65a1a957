//! Imports and generates extensions in a temporary project.

use std::fs;
use std::path::Path;

use support::Project;

#[allow(dead_code, reason = "this test uses only a part of this module")]
mod support;

/// Repeats two definitions of the revision, one of them with another limit.
const EXTENSION: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {
        "Place": {"description": "Prose.", "type": "object", "properties": {"name": {"type": "string"}}},
        "Size": {"type": "integer", "minimum": 0, "maximum": 5},
        "WhereRequest": {
            "type": "object",
            "properties": {
                "jsonrpc": {"const": "2.0"}, "id": {"type": "string"}, "method": {"const": "where"},
                "params": {"type": "object", "properties": {"place": {"$ref": "#/$defs/Place"}}}
            },
            "required": ["jsonrpc", "id", "method", "params"]
        },
        "WhereResult": {"type": "object", "properties": {"size": {"$ref": "#/$defs/Size"}, "code": {"pattern": "^a"}}}
    }
}"##;

const REVISION: &str = r##"{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {
        "Place": {"properties": {"name": {"type": "string"}}, "additionalProperties": {}, "type": "object"},
        "Size": {"type": "integer", "minimum": 0, "maximum": 9}
    }
}"##;

const REASON: &str = "[where]\nreason = \"The exporter repeats it.\"\nlink = \"https://example.com\"\n";

const MESSAGES: &str = "[[request]]\ndefinition = \"WhereRequest\"\ndirection = \"client-to-server\"\n";

fn project() -> Project {
    let project = Project::empty();
    project.write("revision.json", REVISION);
    project.write("where.json", EXTENSION);
    project.write("messages.toml", MESSAGES);
    project.write("generated/Cargo.toml", "[features]\n# Kept by `mcpgen generate`: begin\n# end\n");
    let flags = ["--revision", "2020-01-01", "--status", "draft", "--root", "."];
    project.run(&[&["import", "revision.json"], &flags[..]].concat()).exits(0);
    project
}

fn import<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let given = ["import", "where.json", "--extension", "where", "--core", "2020-01-01"];
    [&given, more].concat()
}

#[test]
fn equal_definitions_become_types_of_the_revision() {
    let project = project();
    let flags = ["--version", "1.0", "--protocol", "messages.toml", "--upstream", "repository, where.json"];
    project.run(&import(&flags)).exits(0).prints(&["4 definitions, 1 of them from 2020-01-01, released: written"]);
    let row = project.read("schema/extensions.toml");
    for part in ["name = \"where\"", "version = \"1.0\"", "module = \"where_\"", "feature = \"ext-where\""] {
        assert!(row.contains(part), "{row}");
    }
    assert!(!project.read("schema/extensions/where/schema.json").contains("Prose"));
    project.run(&import(&flags)).exits(0).prints(&["unchanged"]);

    project.run(&["generate"]).exits(0);
    let module = project.read("generated/src/ext/where_/mod.rs");
    assert!(module.contains("pub use crate::v2020_01_01::Place;") && !module.contains("v2020_01_01::Size"), "{module}");
    let area = project.read("generated/src/ext/where_/base.rs");
    assert!(area.contains("; \"2020-01-01\" }"), "{area}");
    assert!(project.read("generated/src/revisions.rs").contains("pub mod ext;"));
    let features = project.read("generated/Cargo.toml");
    assert!(features.contains("all-extensions = [\"ext-where\"]"), "{features}");
    assert!(features.contains("ext-where = [\"v2020_01_01\", \"pattern\"]"), "{features}");
    project.run(&["generate", "--check"]).exits(0).prints(&["where: "]);
}

#[test]
fn inline_schemas_become_types_of_the_revision() {
    let project = project();
    let inline = r#"{"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": false}"#;
    let mode = r#"{"enum": ["fast", "slow"]}"#;
    let text =
        EXTENSION.replace(r##"{"$ref": "#/$defs/Size"}, "code""##, &format!("{inline}, \"mode\": {mode}, \"code\""));
    project
        .write("where.json", text.replace(r##""place": {"$ref": "#/$defs/Place"}"##, &format!("\"place\": {inline}")));
    project.run(&import(&["--version", "1.0", "--protocol", "messages.toml"])).exits(0);
    project.run(&["generate"]).exits(0);
    let code = || project.read("generated/src/ext/where_/base.rs");
    assert!(code().contains("pub struct WhereResultSize {"), "{}", code());

    project.write(
        "schema/names.toml",
        format!("{REASON}[where.objects]\nPlace = [\"name\"]\n[where.names]\nWhereResultMode = \"Speed\"\n"),
    );
    project.run(&["generate"]).exits(0);
    for expected in ["pub size: Option<Place>", "pub mode: Option<Speed>", "pub place: Option<Place>"] {
        assert!(code().contains(expected), "{expected}\n{}", code());
    }
    assert!(!code().contains("WhereResultSize"), "{}", code());
    // `diff` reads the file without its mapping, which says who sends what. The types are the same.
    project.run(&["diff", "where", "where.json"]).exits(0).prints(&["no differences"]);

    for (names, expected) in [
        (
            "[where.objects]\nPlace = [\"title\"]",
            "no inline schema of schema/extensions/where/schema.json matches the rule `Place`",
        ),
        ("[where.places]\n\"WhereResult/x\" = \"Place\"", "matches the rule `WhereResult/x`"),
        ("[where.names]\nWhereResultModus = \"Speed\"", "there is no inline type `WhereResultModus`"),
        ("[where.names]\nWhereResultMode = \"Place\"", "`WhereResultMode` cannot be named `Place`"),
        ("[where.names]\nWhereResultMode = \"a b\"", "`WhereResultMode` cannot be named `a b`"),
        ("[where.objects]\nMissing = [\"name\"]", "nor the revision has the definition `Missing`"),
        ("[wher.names]", "there is no revision or extension `wher`"),
        ("[2020-01-01.places]\nPlace = \"Size\"", "2020-01-01: "),
        ("[where.object]", "unknown field `object`"),
    ] {
        project.write("schema/names.toml", format!("{REASON}{names}"));
        project.run(&["generate"]).exits(2).prints(&[expected]);
    }
    project.write("schema/names.toml", "[where.objects]\nPlace = [\"name\"]\n");
    project.run(&["generate"]).exits(2).prints(&["where: say in `reason` why the schema repeats definitions"]);
}

#[test]
fn commands_accept_the_name_of_an_extension() {
    let project = project();
    project.run(&import(&["--version", "1.0", "--protocol", "messages.toml"])).exits(0);
    project.run(&["inspect", "where", "Size"]).exits(0).prints(&["at most 5"]);
    project.write("valid.json", "{\"size\": 5}");
    project.write("invalid.json", "{\"size\": 6}");
    project.run(&["validate", "WhereResult", "--schema", "where", "valid.json"]).exits(0);
    project.run(&["validate", "WhereResult", "--schema", "where", "invalid.json"]).exits(1).prints(&["at most 5"]);
    project.write("next.json", EXTENSION.replace("\"maximum\": 5", "\"maximum\": 4"));
    project.run(&["diff", "where", "next.json"]).prints(&["Size"]);
    project.run(&["docs", "--missing"]).exits(1).prints(&["missing: WhereResult (where)", "missing: module (where)"]);
    project.run(&["inspect", "wher"]).exits(2).prints(&["where"]);
}

#[test]
fn changes_an_extension_only_with_accept() {
    let project = project();
    project.run(&import(&[])).exits(0).prints(&["draft: written"]);
    let files = || ["schema/extensions.toml", "schema/extensions/where/schema.json"].map(|path| project.read(path));
    let before = files();
    project.write("where.json", EXTENSION.replace("\"maximum\": 5", "\"maximum\": 4"));
    project.run(&import(&[])).exits(1).prints(&["+      \"maximum\": 4", "--accept"]);
    assert_eq!(files(), before);
    project.run(&import(&["--accept"])).exits(0).prints(&["written"]);
}

#[test]
fn rejects_names_with_another_meaning() {
    let project = project();
    for (more, why) in [
        (["--feature", "all-revisions"], "cannot be the feature"),
        (["--feature", "v2020_01_01"], "which is taken"),
        (["--module", "type"], "which is taken"),
        (["--core", "2030-01-01"], "there is no revision"),
    ] {
        let arguments = ["import", "where.json", "--extension", "where"];
        let core = if more[0] == "--core" { vec![] } else { vec!["--core", "2020-01-01"] };
        project.run(&[&arguments[..], &core, &more].concat()).exits(2).prints(&[why]);
    }
    let taken = ["import", "where.json", "--extension", "2020-01-01", "--core", "2020-01-01"];
    project.run(&taken).exits(2).prints(&["which is taken"]);
    assert!(!Path::new(&project.path("schema/extensions.toml")).exists());
    assert!(fs::read_dir(project.path("schema")).expect("a folder").count() == 2);
}
