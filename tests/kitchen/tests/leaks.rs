//! Decoding keeps nothing: values that fields have before they are decoded are dropped or hold nothing.

use mcpgen_kitchen::registry::REGISTRY;
use mcpgen_tests::registry::Entry;
use mcpgen_tests::{Proof, schema};
use peak_alloc::PeakAlloc;
use serde_json::Value;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const SEED: u64 = 20_261_123;
const DOCUMENTS: u64 = 12;

/// The schema of `schemas/NAME.json`, or of the official revision of this name.
fn proof(name: &str) -> Proof {
    match std::fs::read_to_string(format!("{}/schemas/{name}.json", env!("CARGO_MANIFEST_DIR"))) {
        Ok(text) => {
            let schema = serde_json::from_str::<Value>(&text).expect("the schema is JSON");
            Proof::new(&schema, mcpgen_kitchen::decisions::decisions(name))
        }
        Err(_) => Proof::new(&schema(name), &[]),
    }
}

/// How many bytes more are in use after decoding and dropping.
fn kept(entry: &Entry, text: &str) -> usize {
    let decode = || drop((entry.text)(text));
    // What is allocated once.
    decode();
    let before = HEAP.current_usage();
    for _ in 0..4 {
        decode();
    }
    HEAP.current_usage().saturating_sub(before)
}

#[test]
fn decoding_keeps_no_memory() {
    let mut wrong = Vec::new();
    let mut decoded = 0;
    let all: Vec<&Entry> = REGISTRY.iter().chain(mcpgen_tests::registry::REGISTRY).collect();
    for entries in all.chunk_by(|a, b| a.revision == b.revision) {
        let proof = proof(entries[0].revision);
        for entry in entries {
            for (_, _, document) in proof.documents(entry.definition, SEED, DOCUMENTS) {
                let text = document.to_string();
                let kept = kept(entry, &text);
                decoded += 1;
                if kept > 0 {
                    wrong.push(format!("{} {}: {kept} bytes: {text}", entry.revision, entry.definition));
                    break;
                }
            }
        }
    }
    println!("{decoded} documents");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
