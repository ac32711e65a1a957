//! Tests clients and resource servers, with an authorization server in the same process.

mod authorization_server;
mod bad_tokens;
mod discovery;
mod endpoints;
mod flow;
mod hostile;
mod introspection;
mod loopback;
mod peers;
mod recorder;
mod scopes;
mod secrets;
mod stores;
