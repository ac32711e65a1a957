//! Decodes arbitrary bytes as a document.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpgen_proof::fuzz::run(data));
