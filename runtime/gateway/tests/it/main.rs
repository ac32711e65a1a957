//! Tests of the gateway: clients and servers of all eras, with processes of the example `gateway_server`.

#![allow(deprecated, reason = "2026-07-28 deprecates what the gateway relays")]

mod command;
mod composition;
mod configuration;
mod failures;
mod http;
mod peers;
mod policy;
mod published;
mod support;
