//! The types against the judge: for every definition of every revision, what is accepted, what comes back, and what
//! constructors build.

use std::io::Write as _;

use mcpgen_tests::decisions::REVISIONS;
use mcpgen_tests::registry::{Entry, REGISTRY};
use mcpgen_tests::sweep::{chunks, sweep};
use mcpgen_tests::{Kind, Proof, json_equal};
use serde_json::Value;

/// Instances per definition and kind; `MCPGEN_INSTANCES` asks for more.
fn count() -> u64 {
    std::env::var("MCPGEN_INSTANCES").ok().and_then(|text| text.parse().ok()).unwrap_or(200)
}

fn seed() -> u64 {
    std::env::var("MCPGEN_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_121)
}

#[test]
fn exact_and_lossless() {
    let all = chunks(count(), 100);
    let threads = std::thread::available_parallelism().map_or(1, Into::into);
    let mut reports = Vec::new();
    let table = sweep(&all, seed(), threads, |_, outcome| reports.extend(outcome.disagreement.clone()));
    // Past the test harness, which keeps back what a passing test prints.
    let _ = write!(std::io::stderr(), "\n{table}seed {}\n", seed());
    assert!(reports.is_empty(), "{}", reports.join("\n\n"));
    assert!(table.is_complete(count()), "a definition was left out");
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
