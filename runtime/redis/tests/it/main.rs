//! Tests of the stores on a real `redis-server`, which each test starts.

#![cfg(unix)]

mod contracts;
mod failures;
mod http;
mod on_redis;
mod operations;
mod redis_server;
mod request_state;
#[cfg(feature = "tls")]
mod tls;
