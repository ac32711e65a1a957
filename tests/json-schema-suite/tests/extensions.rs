//! Compares the generated types of MCP's extensions with a published validator, for random documents and for the
//! examples of the server card. `MCPGEN_INSTANCES` is the number of documents per definition, by default 200.

use std::collections::BTreeMap;
use std::path::Path;

use mcpgen_json_schema_suite::{DEFINITIONS, Definition};
use serde_json::Value;

#[allow(dead_code, reason = "this test uses only a part of this module")]
#[path = "../../../codegen/tests/support/documents.rs"]
mod documents;

#[derive(Debug, Default)]
struct Tally {
    definitions: usize,
    valid: usize,
    not_valid: usize,
    /// The number of valid documents that the decision of a union rejects.
    decided: usize,
}

fn compare(definition: &Definition, schema: &Value, count: u64, tally: &mut Tally, wrong: &mut Vec<String>) {
    let subject = documents::of_definition(schema, definition.pointer);
    // `format` is an annotation.
    let options = jsonschema::options().should_validate_formats(false);
    let judge = options.build(&subject).unwrap_or_else(|error| panic!("{}: {error}", definition.name));
    tally.definitions += 1;
    for seed in 0..count {
        let document = documents::document(schema, definition.pointer, definition.id, seed);
        let text = document.to_string();
        let place = || format!("{} {}: {text}", definition.file, definition.name);
        let is_valid = judge.is_valid(&document);
        if is_valid {
            tally.valid += 1;
        } else {
            tally.not_valid += 1;
        }
        match ((definition.decode)(&text), is_valid) {
            (Ok(again), true) => {
                let again: Value = serde_json::from_str(&again).expect("JSON");
                if again != document {
                    wrong.push(format!("{}\n  became {again}", place()));
                }
            }
            (Err(_), false) => {}
            (Err(_), true) if definition.overlapping => tally.decided += 1,
            (Err(error), true) => wrong.push(format!("{}\n  rejected: {error}", place())),
            (Ok(_), false) => wrong.push(format!("{}\n  accepted", place())),
        }
    }
}

#[test]
fn generated_types_agree_with_a_published_validator() {
    let count = std::env::var("MCPGEN_INSTANCES").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let mut schemas: BTreeMap<&str, (Value, Tally)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for definition in DEFINITIONS {
        let read = || documents::judged(&std::fs::read_to_string(definition.file).expect("a file"));
        let (schema, tally) = schemas.entry(definition.file).or_insert_with(|| (read(), Tally::default()));
        compare(definition, schema, count, tally, &mut wrong);
    }
    for (file, (_, tally)) in &schemas {
        println!("{file}: {tally:?}");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

#[test]
fn accepts_only_valid_examples_of_the_server_card() {
    let card = DEFINITIONS.iter().find(|it| it.name == "ServerCard").expect("the schema of server cards");
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/extensions/server-card-examples");
    if !examples.is_dir() {
        eprintln!("SKIPPED: {} is missing, so the published examples are not compared", examples.display());
        return;
    }
    for path in documents::files(&examples.join("valid")) {
        let text = std::fs::read_to_string(&path).expect("a file");
        let again = (card.decode)(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        assert_eq!(value(&again), value(&text), "{}", path.display());
    }
    for path in documents::files(&examples.join("invalid")) {
        let error = (card.decode)(&std::fs::read_to_string(&path).expect("a file")).expect_err("it is not valid");
        println!("{}: {error}", path.file_name().unwrap_or_default().display());
    }
}
