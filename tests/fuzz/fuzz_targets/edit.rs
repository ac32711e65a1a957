//! Decodes valid documents after editing them.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpgen_proof::fuzz::run_edited(data));
