//! Tests of the gateway: clients and servers of all eras, with processes of the example `gateway_server`.

#![allow(deprecated, reason = "2026-07-28 deprecates what the gateway relays")]

#[allow(dead_code, reason = "the tests of mcpgen-auth use more of it")]
#[path = "../../../auth/tests/authorization_server.rs"]
mod authorization_server;
mod command;
mod composition;
mod configuration;
mod failures;
mod hostile;
mod http;
mod oauth;
#[cfg(feature = "otel")]
mod otel;
mod peers;
mod policy;
mod published;
#[cfg(all(feature = "redis", unix))]
mod redis;
mod reload;
mod sse;
mod support;
mod tasks;
