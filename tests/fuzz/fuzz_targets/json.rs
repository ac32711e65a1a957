//! Parses arbitrary bytes as JSON text.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpgen_proof::fuzz::run_json(data));
