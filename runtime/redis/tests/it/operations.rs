//! How many operations Redis executes.

use std::collections::BTreeMap;
use std::time::Duration;

use mcpgen_redis::{OnRedis, RedisStores};
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::replicas::{SessionStore, StoredSession};
use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use serde_json::json;

use crate::http::{call, session};
use crate::redis_server::RedisServer;

async fn replica(redis: &RedisServer) -> Endpoint {
    let echo = |arguments: JsonObject| async move { mcpgen_types::to_string(&arguments) };
    let server = Server::builder("s", "1").tool(Tool::new("echo", ToolInputSchema::new()), echo);
    let server = server.on_redis(redis.options()).await.expect("a connection").build();
    server.http(EndpointOptions::default()).expect("a sound server")
}

/// How many times each command was executed since the last call.
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
    // Other commands run in the background, so only these are checked.
    let found = commands(&redis).await;
    let counts = ["hmget", "exists", "publish"].map(|command| found.get(command).copied().unwrap_or_default());
    eprintln!("{REQUESTS} forwarded requests: {found:?}");
    // The request and its response. A slow request is also confirmed, and its replica may be checked.
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_renewed_long_before_they_expire() {
    const SESSIONS: u64 = 100;
    const LIFETIME: Duration = Duration::from_secs(30 * 60);
    let Some(redis) = RedisServer::start().await else { return };
    let mut options = redis.options();
    // With a short lease on a slow machine, the replica may find its lease expired, and renew all sessions.
    options.lease = Duration::from_secs(120);
    let stores = RedisStores::connect(options).await.expect("a connection");
    let ids: Vec<String> = (0..SESSIONS).map(|number| number.to_string()).collect();
    for id in &ids {
        assert!(SessionStore::create(&stores, StoredSession::new(id), LIFETIME).await.expect("an available store"));
    }
    // The lifetime, the number of renewals, and how many operations they need per session.
    for (lifetime, renewals, expected) in [(LIFETIME, 10, 1), (LIFETIME + LIFETIME / 4, 10, 0), (2 * LIFETIME, 10, 1)] {
        commands(&redis).await;
        for _ in 0..renewals {
            let lost = stores.renew(&ids, lifetime).await.expect("an available store");
            assert_eq!(lost, [""; 0]);
        }
        let found = commands(&redis).await;
        eprintln!("{renewals} renewals of {SESSIONS} sessions: {found:?}");
        let scripts = found.get("hget").copied().unwrap_or_default();
        assert_eq!(scripts, expected * SESSIONS, "{lifetime:?}: {found:?}");
        let left: u64 = redis.query("PTTL mcpgen:session:{0}").await;
        assert!(Duration::from_millis(left) + Duration::from_secs(5) >= lifetime, "{left} ms of {lifetime:?} are left");
    }
}
