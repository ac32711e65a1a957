//! Tests clients and resource servers, with an authorization server in the same process.

mod authorization_server;
mod bad_tokens;
mod bodies;
mod discovery;
mod endpoints;
mod flow;
mod hostile;
mod introspection;
#[cfg(feature = "keyring")]
mod keyring_store;
mod loopback;
mod nonces;
mod oauth_messages;
mod peers;
mod recorder;
mod scopes;
mod secrets;
mod stores;
