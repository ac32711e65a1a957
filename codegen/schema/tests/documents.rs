//! Documents that reference others, in every dialect.

use std::fs;
use std::path::Path;

use mcpgen_schema::normal::Kind;
use mcpgen_schema::{Dialect, Document, Error, Json, Normalised, ReadOptions, normalise};

fn read(path: &Path, options: &ReadOptions) -> Result<Normalised, Error> {
    normalise(Document::read_with(path, options)?)
}

/// Returns the names of the definitions, or the error.
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
    write("types/parts/group.json", r##"{"parts": {"lid": {"$ref": "lid.json#/definitions/Lid"}}}"##);
    write("types/latch.json", r##"{"$id": "https://example.com/latch.json", "$ref": "size.json"}"##);
    write("types/hinged.json", r##"{"$ref": "https://example.com/hinged.json"}"##);
    write("outside.json", r#"{"type": "string"}"#);
    write("types/old.json", r#"{"$schema": "http://json-schema.org/draft-04/schema#", "type": "string"}"#);
    write("store/shape.json", r#"{"type": "string"}"#);
    let schema = |reference: &str| {
        format!(
            r#"{{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {{"A": {{"$ref": "{reference}"}}}}}}"#
        )
    };
    let stored = ReadOptions { schema_folder: Some(home.path().join("store")), ..ReadOptions::default() };
    let circular = ReadOptions { schema_folder: Some(home.path().join("types")), ..ReadOptions::default() };
    for (reference, options, expected) in [
        // Directly, and through another file.
        ("./box.json#/definitions/Box", &ReadOptions::default(), Ok(vec!["A", "box", "size", "Box", "Size"])),
        ("https://example.com/shape.json", &stored, Ok(vec!["A", "shape"])),
        ("https://example.com/shape", &stored, Ok(vec!["A", "shape"])),
        ("https://example.com/shape.json", &ReadOptions::default(), Err("is not a reference to a definition")),
        // Relative to the file that contains the reference.
        ("parts/lid.json#/definitions/Lid", &ReadOptions::default(), Ok(vec!["A", "lid", "hinge", "Lid"])),
        // The file as a whole is not a schema, but this part is.
        (
            "parts/group.json#/parts/lid",
            &ReadOptions::default(),
            Ok(vec!["A", "group.parts.lid", "lid", "hinge", "Lid"]),
        ),
        // Before 2019-09, `$id` beside `$ref` is ignored.
        ("latch.json", &ReadOptions::default(), Ok(vec!["A", "latch", "size", "Size"])),
        // Metaschemas refer to themselves.
        (
            "http://json-schema.org/draft-06/schema#/definitions/schemaArray",
            &ReadOptions::default(),
            Ok(vec![
                "A",
                "json-schema-draft-06",
                "nonNegativeInteger",
                "nonNegativeIntegerDefault0",
                "schemaArray",
                "simpleTypes",
                "stringArray",
            ]),
        ),
        // The file of that name is the schema itself, so it cannot be the target.
        ("https://example.com/a.json", &circular, Err("save the document as \"a.json\" in a folder")),
        ("hinged.json", &circular, Err("\"https://example.com/hinged.json\" is not a reference to a definition")),
        ("https://example.com/b", &circular, Err("save the document as \"b.json\" in a folder")),
        // Neither files outside the folder nor other dialects are accepted.
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

/// Returns the definitions and what `A` refers to, or the error.
fn target(schema: &str) -> Result<(Vec<String>, Option<String>), String> {
    let normalised = Document::parse("a.json", schema.as_bytes()).and_then(normalise).map_err(|it| it.to_string())?;
    let target = match &normalised.definitions["A"].kind {
        Kind::Ref(name) => Some(name.clone()),
        _ => None,
    };
    Ok((normalised.definitions.into_keys().collect(), target))
}

#[test]
fn dynamic_references_are_static_or_refused() {
    let newest = "https://json-schema.org/draft/2020-12/schema";
    let older = "https://json-schema.org/draft/2019-09/schema";
    for (dialect, definitions, expected) in [
        // With a single such anchor, the target is fixed.
        (newest, r##""A": {"$dynamicRef": "#n"}, "N": {"$dynamicAnchor": "n", "type": "null"}"##, Ok("N")),
        // A pointer or a plain anchor: the same as `$ref`.
        (newest, r##""A": {"$dynamicRef": "#/$defs/N"}, "N": {"type": "null"}"##, Ok("N")),
        (newest, r##""A": {"$dynamicRef": "#n"}, "N": {"$anchor": "n", "type": "null"}"##, Ok("N")),
        (newest, r##""A": {"$dynamicRef": "#n"}, "N": {"type": "null"}"##, Err("there is no definition `n`")),
        (
            newest,
            r##""A": {"$dynamicRef": "#n"}, "N": {"$dynamicAnchor": "n"}, "M": {"$id": "m", "$dynamicAnchor": "n"}"##,
            Err(
                "\"#n\" can lead to any of 2 schemas with this `$dynamicAnchor`, depending on where it is reached from",
            ),
        ),
        (
            newest,
            r##""A": {"$dynamicRef": "#n"}, "N": {"$dynamicAnchor": "n"}, "M": {"$id": "m", "$dynamicAnchor": "k"}"##,
            Ok("N"),
        ),
        (
            newest,
            r##""A": {"$dynamicRef": "#%6E"}, "N": {"$dynamicAnchor": "n"}, "M": {"$id": "m", "$dynamicAnchor": "n"}"##,
            Err("\"#%6E\" can lead to any of 2 schemas"),
        ),
        // An anchor named `meta` would override the metaschema's own.
        (newest, &format!(r#""A": {{"$ref": "{newest}"}}"#), Ok("json-schema-2020-12")),
        (
            newest,
            &format!(r#""A": {{"$ref": "{newest}"}}, "M": {{"$dynamicAnchor": "meta"}}"#),
            Err("leads to a metaschema, but an anchor of this document changes what that refers to"),
        ),
        (older, r##""A": {"$recursiveRef": "#"}"##, Ok("a")),
        (older, r##""N": {"$id": "n", "$recursiveAnchor": true}, "A": {"$recursiveRef": "#"}"##, Ok("a")),
        (older, r##""A": {"$recursiveRef": "#/$defs/N"}, "N": {}"##, Err("\"#/$defs/N\" is not \"#\"")),
        (
            older,
            r##""A": {"$id": "a", "$recursiveAnchor": true, "items": {"$recursiveRef": "#"}},
                "N": {"$id": "n", "$recursiveAnchor": true}"##,
            Err("\"#\" can lead to any of 2 schemas with this `$recursiveAnchor`"),
        ),
        (older, &format!(r#""A": {{"$ref": "{newest}"}}"#), Ok("json-schema-2020-12")),
        // Each keyword exists in one dialect only.
        (
            older,
            r##""A": {"$dynamicRef": "#n"}, "N": {"$anchor": "n"}"##,
            Err("the dialect 2019-09 does not have this"),
        ),
        (newest, r##""A": {"$recursiveRef": "#"}"##, Err("the dialect 2020-12 does not have this keyword")),
    ] {
        let schema = format!(r#"{{"$schema": "{dialect}", "$defs": {{{definitions}}}}}"#);
        match (target(&schema), expected) {
            (Ok((_, found)), Ok(expected)) => assert_eq!(found.as_deref(), Some(expected), "{schema}"),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{schema}: {found}"),
            (found, expected) => panic!("{schema}: {found:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn anchors_in_other_files_change_metaschemas() {
    let home = tempfile::tempdir().expect("a folder");
    let newest = "https://json-schema.org/draft/2020-12/schema";
    for (other, accepted) in [("meta", false), ("other", true)] {
        let schema = format!(
            r#"{{"$schema": "{newest}", "$defs": {{"A": {{"$ref": "{newest}"}}, "B": {{"$ref": "b.json"}}}}}}"#
        );
        fs::write(home.path().join("a.json"), schema).expect("a file");
        fs::write(home.path().join("b.json"), format!(r#"{{"$dynamicAnchor": "{other}"}}"#)).expect("a file");
        let found = names(&home.path().join("a.json"), &ReadOptions::default());
        assert_eq!(found.is_ok(), accepted, "{other}: {found:?}");
    }
}

#[test]
fn groups_of_definitions_are_no_types() {
    for (definitions, expected) in [
        (
            r##""A": {"$ref": "#/definitions/g/N"}, "g": {"N": {"type": "null"}, "M": {"type": "array"}}"##,
            Ok(vec!["A", "g.N"]),
        ),
        (r#""A": {"type": "null"}, "//": {"see": "https://example.com"}"#, Ok(vec!["A"])),
        // `//` is a valid definition name.
        (r#""A": {"type": "null"}, "//": {"type": "null"}"#, Ok(vec!["A", "//"])),
        // Looks like a schema with an unknown keyword, because nothing refers into it.
        (r#""A": {"type": "null"}, "g": {"N": {"type": "null"}}"#, Err("does not implement this keyword")),
        // Referenced as a schema, so it is not just a group.
        (
            r##""A": {"$ref": "#/definitions/g/N"}, "B": {"$ref": "#/definitions/g"}, "g": {"N": {"type": "null"}}"##,
            Err("does not implement this keyword"),
        ),
        (
            r##""A": {"$ref": "#/definitions/g/N"}, "g": {"N": {"type": "null"}, "minimum": 1, "M": 1}"##,
            Err("does not implement this keyword"),
        ),
    ] {
        let schema = format!(r#"{{"definitions": {{{definitions}}}}}"#);
        match (target(&schema), expected) {
            (Ok((found, _)), Ok(expected)) => assert_eq!(found, expected, "{schema}"),
            (Err(found), Err(expected)) => assert!(found.contains(expected), "{schema}: {found}"),
            (found, expected) => panic!("{schema}: {found:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn metaschemas_accept_the_schemas_of_their_dialect() {
    let old = "http://json-schema.org/draft-04/schema#";
    let newest = "https://json-schema.org/draft/2020-12/schema";
    for (metaschema, document, valid) in [
        (old, r#"{"exclusiveMinimum": true, "minimum": 1}"#, true),
        (old, r#"{"exclusiveMinimum": true}"#, false),
        (old, "true", false),
        (old, r#"{"multipleOf": 0}"#, false),
        ("http://json-schema.org/draft-06/schema", r#"{"if": 1}"#, true),
        ("http://json-schema.org/draft-07/schema#", r#"{"if": 1}"#, false),
        ("http://json-schema.org/draft-07/schema#", r#"{"items": [{"not": {"type": "int"}}]}"#, false),
        ("http://json-schema.org/draft-07/schema#", r#"{"items": [{"not": {"type": "integer"}}]}"#, true),
        ("https://json-schema.org/draft/2019-09/schema", r##"{"$recursiveAnchor": true, "items": [true]}"##, true),
        (newest, r##"{"$recursiveAnchor": true}"##, false),
        (newest, r##"{"items": [true]}"##, false),
        (newest, r##"{"$id": "a#b"}"##, false),
        (newest, r##"{"$defs": {"a": {"prefixItems": []}}}"##, false),
    ] {
        for dialect in Dialect::ALL {
            let schema = format!(r#"{{"definitions": {{"A": {{"$ref": "{metaschema}"}}}}}}"#);
            let options = ReadOptions { dialect: Some(dialect), ..ReadOptions::default() };
            let read = Document::parse_with("a.json", schema.as_bytes(), &options);
            let checks = read.and_then(normalise).unwrap_or_else(|error| panic!("{schema}: {error}")).checks;
            let found = checks["A"].accepts(&Json::parse(document).expect("JSON"), &checks);
            assert_eq!(found, valid, "{metaschema} in {dialect}: {document}");
        }
    }
}

#[test]
fn remedies_work() {
    let newest = "https://json-schema.org/draft/2020-12/schema";
    let older = "https://json-schema.org/draft/2019-09/schema";
    for (refused, remedy, accepted) in [
        (
            r#"{"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}"#,
            "write the schema in draft-06 and declare it in `$schema`",
            r#"{"$schema": "http://json-schema.org/draft-06/schema#", "const": 1}"#,
        ),
        (
            &*format!(r#"{{"$schema": "{newest}", "additionalItems": false}}"#),
            "write the schema in 2019-09 and declare it in `$schema`",
            r#"{"$schema": "https://json-schema.org/draft/2019-09/schema", "additionalItems": false}"#,
        ),
        (r#"{"type": "string", "nullable": true}"#, "add \"null\" to `type`", r#"{"type": ["string", "null"]}"#),
        (
            &format!(
                r##"{{"$schema": "{newest}", "$ref": "#/$defs/A", "$defs": {{"A": {{"$dynamicRef": "#n"}},
                "N": {{"$dynamicAnchor": "n"}}, "M": {{"$id": "m", "$dynamicAnchor": "n"}}}}}}"##
            ),
            "refer to one of them with `$ref`",
            &format!(
                r##"{{"$schema": "{newest}", "$ref": "#/$defs/A", "$defs": {{"A": {{"$ref": "#/$defs/N"}},
                "N": {{"$dynamicAnchor": "n"}}, "M": {{"$id": "m", "$dynamicAnchor": "n"}}}}}}"##
            ),
        ),
        (
            &format!(r#"{{"$schema": "{newest}", "$ref": "{newest}", "$dynamicAnchor": "meta"}}"#),
            "rename the `$dynamicAnchor` \"meta\"",
            &format!(r#"{{"$schema": "{newest}", "$ref": "{newest}", "$dynamicAnchor": "mine"}}"#),
        ),
        (
            &format!(r#"{{"$schema": "{older}", "$ref": "{older}", "$recursiveAnchor": true}}"#),
            "remove `$recursiveAnchor`",
            &format!(r#"{{"$schema": "{older}", "$ref": "{older}"}}"#),
        ),
    ] {
        let read = |text: &str| Document::parse("a.json", text.as_bytes()).and_then(normalise);
        let error = read(refused).expect_err(refused).to_string();
        assert!(error.contains(remedy), "{refused}: {error}");
        read(accepted).unwrap_or_else(|error| panic!("{accepted}: {error}"));
    }
}

#[test]
fn long_lists_in_all_of_are_read() {
    let condition = |index: usize| {
        format!(r#"{{"if": {{"properties": {{"k": {{"const": {index}}}}}}}, "then": {{"required": ["m{index}"]}}}}"#)
    };
    let list: Vec<String> = (0..200).map(condition).collect();
    let schema = format!(r#"{{"type": "object", "allOf": [{}]}}"#, list.join(","));
    let checks = Document::parse("a.json", schema.as_bytes()).and_then(normalise).expect("a schema").checks;
    for (document, valid) in [(r#"{"k": 199, "m199": 1}"#, true), (r#"{"k": 199, "m198": 1}"#, false)] {
        assert_eq!(checks["a"].accepts(&Json::parse(document).expect("JSON"), &checks), valid, "{document}");
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
        ("//", &ReadOptions::default(), true),
        ("links", &ReadOptions::default(), true),
        ("existingJavaType", &ReadOptions::default(), true),
        ("$vocabulary", &ReadOptions::default(), true),
        ("ui", &ReadOptions::default(), false),
        ("ui", &declared, true),
        // OpenAPI gives this keyword a meaning.
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
        // The URI names no version.
        ("http://json-schema.org/schema#", Some(Dialect::Draft07)),
        ("http://json-schema.org/draft-03/schema#", None),
    ] {
        let text = format!(r#"{{"$schema": "{uri}", "type": "string"}}"#);
        let found = Document::parse("a.json", text.as_bytes()).ok().map(|document| document.dialect);
        assert_eq!(found, expected, "{uri}");
    }
}

/// The pointer of each schema repeats the names of all definitions and members around it.
#[test]
fn long_names_around_many_schemas_are_refused() {
    let schema = |length: usize| {
        let properties: Vec<String> = (0..2_000).map(|at| format!(r#""p{at}": {{}}"#)).collect();
        format!(r#"{{"properties": {{"{}": {{"properties": {{{}}}}}}}}}"#, "n".repeat(length), properties.join(", "))
    };
    assert!(Document::parse("a.json", schema(1_000).as_bytes()).is_ok());
    let error = Document::parse("a.json", schema(100_000).as_bytes()).map(drop).expect_err("200 MB of pointers");
    assert!(
        error.to_string().contains("the JSON pointers of its schemas have more than 67108864 bytes in all"),
        "{error}"
    );
}
