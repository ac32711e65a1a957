//! Reads documents with references to others, and in every dialect.

use std::fs;
use std::path::Path;

use mcpgen_schema::{Dialect, Document, Error, Normalised, ReadOptions, normalise};

fn read(path: &Path, options: &ReadOptions) -> Result<Normalised, Error> {
    normalise(Document::read_with(path, options)?)
}

/// Returns the names of the definitions, or the reasons of the problems.
fn names(path: &Path, options: &ReadOptions) -> Result<Vec<String>, String> {
    match read(path, options) {
        Ok(normalised) => Ok(normalised.definitions.keys().cloned().collect()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn references_lead_to_files() {
    let home = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    };
    write("types/size.json", r##"{"definitions": {"Size": {"type": "integer", "minimum": 0}}}"##);
    write(
        "types/box.json",
        r##"{"definitions": {"Box": {"type": "object", "properties": {"size": {"$ref": "size.json#/definitions/Size"}}}}}"##,
    );
    write("types/parts/lid.json", r##"{"definitions": {"Lid": {"$ref": "hinge.json"}}}"##);
    write("types/parts/hinge.json", r#"{"type": "string"}"#);
    write("outside.json", r#"{"type": "string"}"#);
    write("types/old.json", r#"{"$schema": "http://json-schema.org/draft-04/schema#", "type": "string"}"#);
    write("store/shape.json", r#"{"type": "string"}"#);
    let schema = |reference: &str| {
        format!(
            r#"{{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {{"A": {{"$ref": "{reference}"}}}}}}"#
        )
    };
    let stored = ReadOptions { schema_folder: Some(home.path().join("store")), ..ReadOptions::default() };
    for (reference, options, expected) in [
        // Directly, and through another file.
        ("./box.json#/definitions/Box", &ReadOptions::default(), Ok(vec!["A", "box", "size", "Box", "Size"])),
        ("https://example.com/shape.json", &stored, Ok(vec!["A", "shape"])),
        ("https://example.com/shape", &stored, Ok(vec!["A", "shape"])),
        ("https://example.com/shape.json", &ReadOptions::default(), Err("is not a reference to a definition")),
        // The other file is beside the one that refers to it.
        ("parts/lid.json#/definitions/Lid", &ReadOptions::default(), Ok(vec!["A", "lid", "hinge", "Lid"])),
        // Nothing outside the folder, and nothing in another dialect.
        ("../outside.json", &ReadOptions::default(), Err("is not a reference to a definition")),
        ("old.json", &ReadOptions::default(), Err("it is written in draft-04, and the schema in draft-07")),
        ("absent.json", &ReadOptions::default(), Err("is not a reference to a definition")),
    ] {
        let path = write("types/a.json", &schema(reference));
        match (names(&path, options), expected) {
            (Ok(found), Ok(expected)) => {
                let found: std::collections::BTreeSet<&str> = found.iter().map(String::as_str).collect();
                assert_eq!(found, expected.into_iter().collect(), "{reference}");
            }
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{reference}: {found}"),
            (found, expected) => panic!("{reference}: {found:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn digests_cover_all_files() {
    let home = tempfile::tempdir().expect("a folder");
    let path = home.path().join("a.json");
    fs::write(&path, r#"{"$ref": "b.json"}"#).expect("a file");
    let digest = |other: &str| {
        fs::write(home.path().join("b.json"), other).expect("a file");
        Document::read(&path).expect("a schema").sha256
    };
    assert_ne!(digest(r#"{"type": "string"}"#), digest(r#"{"type": "number"}"#));
}

#[test]
fn annotations_are_ignored() {
    let check = |keyword: &str, options: &ReadOptions| {
        let text =
            format!(r#"{{"$schema": "http://json-schema.org/draft-07/schema#", "type": "string", "{keyword}": 1}}"#);
        Document::parse_with("a.json", text.as_bytes(), options).and_then(normalise).is_ok()
    };
    let declared = ReadOptions { annotations: vec!["ui".into()], ..ReadOptions::default() };
    for (keyword, options, accepted) in [
        ("x-anything", &ReadOptions::default(), true),
        ("markdownDescription", &ReadOptions::default(), true),
        ("id", &ReadOptions::default(), true),
        ("ui", &ReadOptions::default(), false),
        ("ui", &declared, true),
        // It has a meaning in OpenAPI.
        ("nullable", &ReadOptions::default(), false),
    ] {
        assert_eq!(check(keyword, options), accepted, "{keyword}");
    }
}

#[test]
fn reads_every_dialect() {
    for (uri, expected) in [
        ("http://json-schema.org/draft-04/schema#", Some(Dialect::Draft04)),
        ("http://json-schema.org/draft-06/schema#", Some(Dialect::Draft06)),
        ("http://json-schema.org/draft-07/schema", Some(Dialect::Draft07)),
        ("https://json-schema.org/draft/2020-12/schema", Some(Dialect::Draft202012)),
        // It names no version.
        ("http://json-schema.org/schema#", Some(Dialect::Draft07)),
        ("http://json-schema.org/draft-03/schema#", None),
    ] {
        let text = format!(r#"{{"$schema": "{uri}", "type": "string"}}"#);
        let found = Document::parse("a.json", text.as_bytes()).ok().map(|document| document.dialect);
        assert_eq!(found, expected, "{uri}");
    }
}
