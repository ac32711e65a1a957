//! Replicas that share their state through [`OnRedis`].

use std::collections::BTreeMap;
use std::time::Duration;

use mcpgen_redis::{OnRedis, RedisStores};
use mcpgen_sdk::http::server::{Endpoint, EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::server::{RequestContext, ToolError, ToolInfo};
use mcpgen_sdk::tasks::{TaskSupport, TaskToolExt};
use mcpgen_sdk::{Server, ServerBuilder};
use mcpgen_types::JsonObject;
use mcpgen_types::v2026_07_28::{
    ElicitRequestFormParams, ElicitRequestFormParamsRequestedSchema, Tool, ToolInputSchema,
};
use serde_json::{Value, json};

use crate::http::{call, modern_call, read_until, send, session};
use crate::redis_server::RedisServer;

/// How many calls a caller may make in an hour.
const CALLS: u32 = 12;

fn tool(name: &str) -> Tool {
    Tool::new(name, ToolInputSchema::new())
}

fn builder() -> ServerBuilder {
    let slow = ToolInfo::from(tool("slow")).task(TaskSupport::Optional);
    Server::builder("shared", "1")
        .tool(tool("echo"), |arguments: JsonObject| async move { mcpgen_types::to_string(&arguments) })
        .tool(tool("ask"), |context: RequestContext| async move {
            let schema = ElicitRequestFormParamsRequestedSchema::new(BTreeMap::new());
            let response = context.elicit("name", ElicitRequestFormParams::new("who are you?", schema)).await?;
            Ok::<_, ToolError>(response.action.as_str().to_owned())
        })
        .tool(slow, || async { "slow" })
}

async fn replica(redis: &RedisServer) -> (Server, Endpoint) {
    let stores = RedisStores::connect(redis.options()).await.expect("a connection");
    let server = builder().on_stores(&stores).await.expect("an available store");
    let server = server.rate_limiter(stores.rate_limiter(CALLS, Duration::from_secs(3600))).build();
    let endpoint = server.http(EndpointOptions::default()).expect("a sound server");
    (server, endpoint)
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_call_shares_everything() {
    let Some(redis) = RedisServer::start().await else { return };
    let ((_, a), (server, b)) = (replica(&redis).await, replica(&redis).await);

    // A session, and the changes that reach it.
    let id = session(&a).await;
    let mut stream = send(&b, "GET", &[("mcp-session-id", &id)], "").await;
    server.changed(&Change::Tools);
    read_until(&mut stream, "notifications/tools/list_changed").await;
    let (status, response) = call(&b, &id, "tools/call", json!({ "name": "echo", "arguments": { "n": 1 } })).await;
    assert_eq!((status, text(&response)), (200, r#"{"n":1}"#));
    assert_eq!((a.sessions(), b.sessions()), (1, 0));

    // A task.
    let task = json!({ "name": "slow", "arguments": {}, "task": { "ttl": 60_000 } });
    let (_, created) = call(&a, &id, "tools/call", task).await;
    let task = json!({ "taskId": created["result"]["task"]["taskId"] });
    let other = session(&b).await;
    let (_, result) = call(&b, &other, "tasks/result", task).await;
    assert_eq!(text(&result), "slow", "{created} {result}");

    // Request states: any replica can continue a call, and each state works only once.
    let (_, asked) = modern_call(&a, "ask", json!({})).await;
    let state = &asked["result"]["requestState"];
    assert!(state.is_string(), "{asked}");
    let answer = json!({ "inputResponses": { "name": { "action": "decline" } }, "requestState": state });
    let (_, declined) = modern_call(&b, "ask", answer.clone()).await;
    assert_eq!(text(&declined), "decline", "{declined}");
    let (_, again) = modern_call(&a, "ask", answer).await;
    assert_eq!(again["error"]["code"], -32602, "{again}");

    // The quota: 5 calls are charged so far.
    let mut allowed = 5;
    for endpoint in [&a, &b].into_iter().cycle().take(CALLS as usize) {
        let (_, response) = call(endpoint, &id, "tools/call", json!({ "name": "echo", "arguments": {} })).await;
        allowed += u32::from(text(&response) == "{}");
    }
    assert_eq!(allowed, CALLS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_home_that_was_considered_dead_stops_running_its_sessions() {
    let Some(redis) = RedisServer::start().await else { return };
    let stores = RedisStores::connect(redis.options()).await.expect("a connection");
    let server = builder().on_stores(&stores).await.expect("an available store").build();
    let a = server.http(EndpointOptions::default()).expect("a sound server");
    let ((_, b), (_, c)) = (replica(&redis).await, replica(&redis).await);
    let id = session(&a).await;
    let echo = async |endpoint: &Endpoint| {
        let (status, response) = call(endpoint, &id, "tools/call", json!({ "name": "echo", "arguments": {} })).await;
        assert_eq!((status, text(&response)), (200, "{}"), "{response}");
    };
    echo(&c).await;
    while b.sessions() == 0 {
        redis.command(&format!("DEL mcpgen:replica:{{{}}}", stores.replica_id())).await;
        echo(&b).await;
    }
    let until = tokio::time::Instant::now() + Duration::from_secs(20);
    while a.sessions() > 0 {
        assert!(tokio::time::Instant::now() < until, "the old home still runs the session");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Both replicas still remember the old home.
    echo(&a).await;
    echo(&c).await;
    assert_eq!((a.sessions(), b.sessions(), c.sessions()), (0, 1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn declares_tasks_only_if_a_tool_can_run_as_a_task() {
    let Some(redis) = RedisServer::start().await else { return };
    let plain = Server::builder("plain", "1").tool(tool("echo"), || async { "echo" });
    for (builder, expected) in [(plain, false), (builder(), true)] {
        let server = builder.on_redis(redis.url()).await.expect("a connection").build();
        let config = server.config().expect("a sound server");
        assert_eq!(config.local_info.capabilities.contains_key("tasks"), expected);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_server_leaves() {
    let Some(redis) = RedisServer::start().await else { return };
    let (server, endpoint) = replica(&redis).await;
    assert_eq!(redis.keys("mcpgen:replica:*").await.len(), 1);
    drop((server, endpoint));
    for _ in 0..200 {
        if redis.keys("mcpgen:replica:*").await.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the replica still renews its lease");
}

/// Retrying does not help, so the error says what to change.
#[tokio::test]
async fn wrong_options_are_not_unavailable() {
    for (url, part) in [
        ("localhost", "write a URL such as `redis://localhost:6379/`"),
        ("", "write a URL such as"),
        ("localhost:6379", "write a URL such as"),
        ("http://localhost", "write a URL such as"),
        ("redis://", "write a URL such as"),
        ("redis://localhost/database", "write a URL such as"),
    ] {
        let error = builder().on_redis(url).await.map(drop).expect_err(url);
        assert!(error.is_configuration() && !error.is_unavailable(), "{url}: {error}");
        assert!(error.to_string().contains(part), "{url}: {error}");
    }
    let Some(redis) = RedisServer::start().await else { return };
    let url = redis.url();
    let separator = if url.contains('?') { '&' } else { '?' };
    let url = match url.starts_with("redis+unix:") {
        true => format!("{url}{separator}user=nobody&pass=wrong"),
        false => url.replacen("redis://", "redis://nobody:wrong@", 1),
    };
    let error = builder().on_redis(url.as_str()).await.map(drop).expect_err("no such user");
    assert!(error.is_configuration() && error.to_string().contains("Redis refuses the user"), "{error:?}");
    assert!(!error.to_string().contains("wrong"), "{error}");
}

#[tokio::test]
async fn an_unavailable_redis_is_an_error() {
    let error = builder().on_redis("redis+unix:///nowhere").await.map(drop).expect_err("no server listens there");
    assert!(error.is_unavailable(), "{error}");
}
