//! Checks that decoding does not leak memory: the initial values of fields are dropped or have nothing to free.

use mcpgen_own_schemas::registry::REGISTRY;
use mcpgen_proof::judge::fixed_up;
use mcpgen_proof::registry::Entry;
use mcpgen_proof::{Proof, schema};
use peak_alloc::PeakAlloc;
use serde_json::Value;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const SEED: u64 = 20_261_123;
const DOCUMENTS: u64 = 12;

/// Returns the proof for `schemas/NAME.json`, or for the official revision with this name.
fn proof(name: &str) -> Proof {
    match std::fs::read_to_string(format!("{}/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"))) {
        Ok(text) => {
            let schema = serde_json::from_str::<Value>(&text).expect("the schema is valid JSON");
            Proof::new(&schema, mcpgen_own_schemas::decisions::decisions(name))
        }
        Err(_) => Proof::new(&fixed_up(name, &schema(name)), &[]),
    }
}

/// Returns the number of bytes that remain allocated after decoding and dropping.
fn leaked(entry: &Entry, text: &str) -> usize {
    let decode = || drop((entry.text)(text));
    // The first run may allocate memory that is never freed.
    decode();
    let before = HEAP.current_usage();
    for _ in 0..4 {
        decode();
    }
    HEAP.current_usage().saturating_sub(before)
}

#[test]
fn decoding_leaks_no_memory() {
    let mut failures = Vec::new();
    let mut decoded = 0;
    let all: Vec<&Entry> = REGISTRY.iter().chain(mcpgen_proof::registry::REGISTRY).collect();
    for entries in all.chunk_by(|a, b| a.revision == b.revision) {
        let proof = proof(entries[0].revision);
        for entry in entries {
            for (_, _, document) in proof.documents(entry.definition, SEED, DOCUMENTS) {
                let text = document.to_string();
                let leaked = leaked(entry, &text);
                decoded += 1;
                if leaked > 0 {
                    failures.push(format!("{} {}: {leaked} bytes: {text}", entry.revision, entry.definition));
                    break;
                }
            }
        }
    }
    println!("decoded {decoded} documents");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
