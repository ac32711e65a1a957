//! The integration tests of the runtime, in one binary because each binary takes long to link.

mod support;

mod app;
mod bridge;
mod budgets;
mod cancellation;
mod change_filter;
mod client;
mod client_methods;
mod connect_command;
mod connection;
#[cfg(feature = "tasks")]
mod contracts;
mod dialect;
mod discovery;
mod dual_protocol;
mod elicitation;
mod envelope;
mod extension;
mod http;
mod http_client;
mod http_client_answers;
mod http_client_limits;
mod http_limits;
mod http_sse;
mod legacy;
mod line_limit;
mod listen;
mod messages;
mod modern;
mod multi_round;
mod new_session;
mod rate_limit;
mod replicas;
mod reserved_keys;
mod server;
mod skills;
mod skills_client;
mod stdio;
mod subscriptions;
mod task_extension;
mod tasks;
mod tool_call;
