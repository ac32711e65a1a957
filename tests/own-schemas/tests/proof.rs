//! Compares the types generated from our schemas with the judge, as `tests/proof/tests/it/proof.rs` does for the
//! official revisions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mcpgen_own_schemas::{decisions::decisions, registry::REGISTRY};
use mcpgen_proof::registry::Entry;
use mcpgen_proof::settings::setting;
use mcpgen_proof::{Kind, Proof, Tally, json_equal};
use serde_json::Value;

/// The number of instances per definition and kind.
fn count() -> u64 {
    setting("MCPGEN_INSTANCES", 75, 300)
}

const SEED: u64 = 20_261_121;

fn schema(name: &str) -> Value {
    let path = format!("{}/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn entries(schema: &str) -> impl Iterator<Item = &'static Entry> {
    REGISTRY.iter().filter(move |entry| entry.revision == schema)
}

/// Checks all definitions of a schema. Continues after failures, so that one run reports all of them.
fn prove(name: &str) {
    let proof = Proof::new(&schema(name), decisions(name));
    let (mut total, mut failed) = (Tally::default(), Vec::new());
    for entry in entries(name) {
        let check = || proof.check(name, entry.definition, SEED, count(), |document| entry.recode(document));
        match catch_unwind(AssertUnwindSafe(check)) {
            Ok(tally) => total += tally,
            Err(_) => failed.push(entry.definition),
        }
    }
    println!("{name}: {total:?}");
    assert!(failed.is_empty(), "{name}: failed definitions: {failed:?}");
}

/// Checks that `new`, the setters and `extra.insert` can build every valid object.
fn rebuild(name: &str) {
    let proof = Proof::new(&schema(name), decisions(name));
    for entry in entries(name) {
        let Some(rebuild) = entry.rebuild else { continue };
        for (index, kind, document) in proof.documents(entry.definition, SEED, 60) {
            if kind != Kind::Valid || (entry.value)(document.clone()).is_err() {
                continue;
            }
            let built = rebuild(&document)
                .unwrap_or_else(|error| panic!("{name} {} {index}: {error}\n{document}", entry.definition));
            assert!(json_equal(&built, &document), "{name} {} {index}:\n{document}\n{built}", entry.definition);
        }
    }
}

macro_rules! schemas {
    ($($name:ident)*) => {
        $(mod $name {
            #[test]
            fn types_are_exact_and_lossless() {
                super::prove(stringify!($name));
            }

            #[test]
            fn constructors_build_every_valid_object() {
                super::rebuild(stringify!($name));
            }
        })*

        /// Checks that the list of schemas and the registry are complete.
        #[test]
        fn covers_every_schema_and_definition() {
            let known = [$(stringify!($name)),*];
            let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas")).expect("readable directory");
            for file in files {
                let file = file.expect("readable directory entry").file_name();
                let name = file.to_str().and_then(|name| name.strip_suffix(".json")).expect("a JSON file");
                assert!(known.contains(&name), "{name}");
                let schema = schema(name);
                let definitions = schema.get("$defs").or_else(|| schema.get("definitions")).and_then(Value::as_object);
                let definitions = definitions.expect("a schema with definitions");
                assert!(definitions.keys().all(|definition| entries(name).any(|entry| entry.definition == definition)));
            }
        }
    };
}

schemas! { composition names objects older prose recursion scalars unions }
