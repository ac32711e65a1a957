//! The number of operations that Redis executes.

use std::collections::BTreeMap;

use mcpgen_redis::OnRedis;
use mcpgen_runtime::Server;
use mcpgen_runtime::http::server::{Endpoint, EndpointOptions};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use serde_json::json;

use crate::http::{call, session};
use crate::redis_server::RedisServer;

async fn replica(redis: &RedisServer) -> Endpoint {
    let echo = |_, arguments| async move { mcpgen_types::to_string(&arguments) };
    let server = Server::builder("s", "1").tool_with_schema(Tool::new(ToolInputSchema::new(), "echo"), echo);
    let server = server.on_redis(redis.options()).await.expect("a connection").build();
    server.http(EndpointOptions::default()).expect("a sound server")
}

/// Returns how often each command was executed since the last call.
async fn commands(redis: &RedisServer) -> BTreeMap<String, u64> {
    let stats: String = redis.query("INFO commandstats").await;
    redis.command("CONFIG RESETSTAT").await;
    let counts = stats.lines().filter_map(|line| {
        let (name, stats) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        Some((name.to_owned(), stats.split(',').next()?.parse().ok()?))
    });
    counts.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forwarded_request_needs_few_operations() {
    const REQUESTS: u64 = 50;
    let Some(redis) = RedisServer::start().await else { return };
    let (a, b) = (replica(&redis).await, replica(&redis).await);
    let id = session(&a).await;
    let echo = async |endpoint: &Endpoint| {
        let (status, response) = call(endpoint, &id, "tools/call", json!({ "name": "echo", "arguments": {} })).await;
        assert_eq!((status, response["result"]["content"][0]["text"].as_str()), (200, Some("{}")), "{response}");
    };
    echo(&b).await;
    commands(&redis).await;
    for _ in 0..REQUESTS {
        echo(&b).await;
    }
    // Others are executed in the background.
    let found = commands(&redis).await;
    let counts = ["hmget", "exists", "publish"].map(|command| found.get(command).copied().unwrap_or_default());
    eprintln!("{REQUESTS} forwarded requests: {found:?}");
    // The request and its response. A slow one has a confirmation, and may need a check.
    let [located, alive, published] = counts;
    assert!(located <= 1 && alive <= 10, "the home is looked up once: {found:?}");
    assert!((2 * REQUESTS..3 * REQUESTS).contains(&published), "{found:?}");

    commands(&redis).await;
    for _ in 0..REQUESTS {
        echo(&a).await;
    }
    let found = commands(&redis).await;
    assert_eq!(found.get("publish"), None, "the home needs no operation: {found:?}");
}
