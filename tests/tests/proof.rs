//! The types against the judge: for every definition of every revision, what is accepted, what comes back, and what
//! constructors build.

use mcpgen_tests::registry::{Entry, REGISTRY};
use mcpgen_tests::{Kind, Proof, Tally, check, decisions::REVISIONS, json_equal};
use serde_json::Value;

/// Instances per definition and kind; `MCPGEN_INSTANCES` asks for more.
fn count() -> u64 {
    std::env::var("MCPGEN_INSTANCES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn seed() -> u64 {
    std::env::var("MCPGEN_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_121)
}

fn prove(revision: &str) {
    let (mut total, mut definitions) = (Tally::default(), 0);
    for entry in REGISTRY.iter().filter(|entry| entry.revision == revision) {
        total += check(revision, entry.definition, seed(), count(), |document| entry.recode(document));
        definitions += 1;
    }
    println!("{revision}: {definitions} definitions, {total:?}, 0 disagreements");
}

#[test]
fn exact_and_lossless_2024_11_05() {
    prove("2024-11-05");
}

#[test]
fn exact_and_lossless_2025_03_26() {
    prove("2025-03-26");
}

#[test]
fn exact_and_lossless_2025_06_18() {
    prove("2025-06-18");
}

#[test]
fn exact_and_lossless_2025_11_25() {
    prove("2025-11-25");
}

#[test]
fn exact_and_lossless_2026_07_28() {
    prove("2026-07-28");
}

/// Every definition of the vendored schemas is in the registry, so that every check above sees it.
#[test]
fn no_definition_is_forgotten() {
    for revision in REVISIONS {
        let schema = mcpgen_tests::schema(revision);
        let definitions = schema.get("$defs").or_else(|| schema.get("definitions")).and_then(Value::as_object);
        let definitions = definitions.expect("a schema has definitions");
        for name in definitions.keys() {
            assert!(Entry::find(revision, name).is_some(), "{revision} {name}");
        }
        assert_eq!(REGISTRY.iter().filter(|entry| entry.revision == revision).count(), definitions.len());
        let (mut accepted, mut refused) = (0, 0);
        for name in definitions.keys() {
            let proof = Proof::of(revision);
            for (_, kind, document) in proof.documents(name, seed(), 20) {
                match (kind, proof.accepts(name, &document)) {
                    (Kind::Valid, true) => accepted += 1,
                    (_, false) => refused += 1,
                    _ => {}
                }
            }
        }
        assert!(
            accepted > 15 * definitions.len() && refused > 10 * definitions.len(),
            "{revision}: {accepted}, {refused}"
        );
    }
}

/// `new`, the setters and `extra.insert` build every valid object, and nothing else is needed.
#[test]
fn constructors_build_what_decodes() {
    for entry in REGISTRY {
        let Some(rebuild) = entry.rebuild else { continue };
        let proof = Proof::of(entry.revision);
        let mut built = 0;
        for (index, kind, document) in proof.documents(entry.definition, seed(), 30) {
            if kind != Kind::Valid || (entry.value)(document.clone()).is_err() {
                continue;
            }
            let value = rebuild(&document)
                .unwrap_or_else(|error| panic!("{} {} {index}: {error}\n{document}", entry.revision, entry.definition));
            assert!(
                json_equal(&value, &document),
                "{} {} {index}:\n{document}\n{value}",
                entry.revision,
                entry.definition
            );
            built += 1;
        }
        assert!(built > 10, "{} {}: only {built} instances", entry.revision, entry.definition);
    }
}
