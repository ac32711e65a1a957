//! Compares the types with the judge for every definition of every revision and extension: which documents they accept,
//! what they encode, and what their constructors build.

use std::io::Write as _;

use mcpgen_proof::decisions::{EXTENSIONS, REVISIONS};
use mcpgen_proof::registry::{Entry, REGISTRY};
use mcpgen_proof::settings::setting;
use mcpgen_proof::sweep::{chunks, sweep};
use mcpgen_proof::{Kind, Proof, json_equal};
use serde_json::Value;

/// The number of instances per definition and kind.
fn count() -> u64 {
    setting("MCPGEN_INSTANCES", 50, 200)
}

fn seed() -> u64 {
    setting("MCPGEN_SEED", 20_261_121, 20_261_121)
}

#[test]
fn types_are_exact_and_lossless() {
    let all = chunks(count(), 100);
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let mut reports = Vec::new();
    let table = sweep(&all, seed(), threads, |_, outcome| reports.extend(outcome.disagreement.clone()));
    // Writes to stderr directly, because the test harness hides what a passing test prints.
    let _ = write!(std::io::stderr(), "\n{table}seed {}\n", seed());
    assert!(reports.is_empty(), "{}", reports.join("\n\n"));
    assert!(table.is_complete(count()), "some definitions were skipped");
}

/// The checks above cover only what the registry contains, so it must contain everything.
#[test]
fn registry_contains_every_definition() {
    for revision in REVISIONS.into_iter().chain(EXTENSIONS) {
        let schema = mcpgen_proof::judge::fixed_up(revision, &mcpgen_proof::schema(revision));
        let definitions = schema.get("$defs").or_else(|| schema.get("definitions")).and_then(Value::as_object);
        let definitions = definitions.expect("a schema has definitions");
        for name in definitions.keys() {
            assert!(Entry::find(revision, name).is_some(), "{revision} {name}");
        }
        assert_eq!(REGISTRY.iter().filter(|entry| entry.revision == revision).count(), definitions.len());
        let (mut accepted, mut rejected) = (0, 0);
        for name in definitions.keys() {
            let proof = Proof::of(revision);
            for (_, kind, document) in proof.documents(name, seed(), 20) {
                match (kind, proof.accepts(name, &document)) {
                    (Kind::Valid, true) => accepted += 1,
                    (_, false) => rejected += 1,
                    _ => {}
                }
            }
        }
        assert!(
            accepted > 15 * definitions.len() && rejected > 10 * definitions.len(),
            "{revision}: only {accepted} accepted, {rejected} rejected"
        );
    }
}

/// `new`, the setters and `extra.insert` are sufficient to build every valid object.
#[test]
fn constructors_build_every_valid_object() {
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
        // An object that forbids some of its members has fewer valid instances.
        assert!(built > 5, "{} {}: only {built} instances", entry.revision, entry.definition);
    }
}
