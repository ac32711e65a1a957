#!/usr/bin/env bash
# Checks that the types, and the runtime without transports, compile for WebAssembly. Needs the target
# wasm32-unknown-unknown.
set -euo pipefail
cd "$(dirname "$0")/../.."
check() { cargo check --locked --target wasm32-unknown-unknown --target-dir target/wasm --no-default-features "$@"; }
check -p mcpgen-types --features all-revisions,all-extensions,convert
check -p mcpgen-runtime
check -p mcpgen-sdk -p mcpgen-bridge -p mcpgen-cluster -p mcpgen-validate --features mcpgen-sdk/skills,mcpgen-sdk/tasks
