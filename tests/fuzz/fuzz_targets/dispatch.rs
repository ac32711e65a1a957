//! Sends arbitrary bytes as messages to a server or a client.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| mcpgen_proof::fuzz::run_dispatch(data));
