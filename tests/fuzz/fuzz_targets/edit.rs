//! Decodes edited valid documents.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpgen_proof::fuzz::run_edited(data));
