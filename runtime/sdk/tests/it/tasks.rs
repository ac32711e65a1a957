//! Requests that run as tasks (2025-11-25), in servers and in clients.
#![cfg(feature = "tasks")]

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use mcpgen_sdk::context::Context;
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::protocol::{ContextExt, Level, RouterExt};
use mcpgen_sdk::tasks::{
    InMemoryTaskStore, StoredTask, TaskChange, TaskLimits, TaskPeerExt, TaskStore, TaskSupport, Tasks, capability,
};
use mcpgen_sdk::{Limits, LocalInfo, Router, connect, serve, transport};
use mcpgen_types::v2025_11_25::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelTaskRequest, CancelTaskRequestParams,
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, GetTaskRequest, GetTaskRequestParams,
    ListRootsRequest, ListTasksRequest, Role, SamplingMessage, Task, TaskStatus, TextContent,
};
use mcpgen_types::{ErrorObject, JsonRef, Revision};
use serde_json::{Value, json};

use crate::support::{self, RawPeer};

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()])
}

async fn tool(context: Context, params: CallToolRequestParams) -> Result<CallToolResult, ErrorObject> {
    match params.name.as_str() {
        "work" => {
            context.progress(1.0, None, None).await;
            context.log(Level::Info, None, "working").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(text("done").with_meta([("mine", 1.into())]))
        }
        "hang" => std::future::pending().await,
        "ask" => match context.peer().call::<ListRootsRequest>(None).await {
            Ok(result) => Ok(text(format!("{} roots", result.roots.len()))),
            Err(error) => Ok(text(error.to_string()).with_is_error(true)),
        },
        "ask often" => {
            let reporter = context.clone();
            tokio::spawn(async move {
                for step in 1..1000 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    reporter.log(Level::Error, None, step).await;
                }
            });
            let call = |_: usize| context.peer().call::<ListRootsRequest>(None);
            for _ in 0..2 {
                let calls = futures_util::future::join_all((0..3).map(call).map(IntoFuture::into_future));
                calls.await.into_iter().collect::<Result<Vec<_>, _>>().map_err(to_error_object)?;
            }
            Ok(text("done"))
        }
        "ask shortly" => {
            let call = context.peer().request::<ListRootsRequest>(None).timeout(Duration::from_millis(20));
            Ok(text(call.await.expect_err("a timeout").to_string()))
        }
        "large" => Ok(text("x".repeat(200))),
        "wrong" => Ok(text("it went wrong").with_is_error(true)),
        "fail" => Err(ErrorObject::new(-7, "failed").with_data(json!([1]))),
        "panic" => panic!("a bug"),
        "panic in drop" => {
            let _panics = PanicsInDrop;
            std::future::pending().await
        }
        _ => Ok(text("immediate")),
    }
}

/// Panics when it is dropped.
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

fn support(name: Option<&str>) -> TaskSupport {
    match name {
        Some("never") => TaskSupport::Forbidden,
        Some("always") => TaskSupport::Required,
        _ => TaskSupport::Optional,
    }
}

fn router(tasks: &Tasks) -> Router {
    tasks.on::<CallToolRequest>(Router::new(), support, tool)
}

fn local_info() -> LocalInfo {
    LocalInfo::new("server", "1")
        .capability("logging", json!({}))
        .capability("tasks", capability(&["tools/call"], true))
}

async fn server_of(local_info: LocalInfo, tasks: Tasks) -> RawPeer {
    let handlers = router(&tasks);
    let protocol =
        Arc::new(ServerConfig::from(local_info).protocol(&handlers.handled(mcpgen_sdk::protocol::Role::Server)));
    let (mut remote, _) = RawPeer::connect(|pipe| support::run(handlers, protocol, Limits::default(), pipe));
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "roots": {} }, "clientInfo": { "name": "c", "version": "1" },
    });
    remote.request(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()).await;
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    remote
}

async fn server() -> RawPeer {
    server_of(local_info(), Tasks::default()).await
}

fn call(id: impl Into<Value>, name: &str, task: Option<Value>) -> String {
    let mut params = json!({ "name": name, "_meta": { "progressToken": "p" } });
    if let Some(task) = task {
        params["task"] = task;
    }
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "tools/call", "params": params }).to_string()
}

fn task_request(id: impl Into<Value>, method: &str, task: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": format!("tasks/{method}"), "params": { "taskId": task } })
        .to_string()
}

/// Receives messages until the response to a request. Also returns the earlier messages.
async fn response(remote: &mut RawPeer, id: impl Into<Value>) -> (Value, Vec<Value>) {
    let (id, mut before) = (id.into(), Vec::new());
    loop {
        let message = remote.receive().await;
        if message["id"] == id && message.get("method").is_none() {
            return (message, before);
        }
        before.push(message);
    }
}

async fn create_task(remote: &mut RawPeer, name: &str) -> Value {
    remote.send(&call(1, name, Some(json!({})))).await;
    let (created, before) = response(remote, 1).await;
    assert!(before.is_empty(), "{before:?}");
    created["result"]["task"]["taskId"].clone()
}

fn related(task: &Value) -> Value {
    json!({ "taskId": task })
}

const RELATED: &str = "io.modelcontextprotocol/related-task";

#[tokio::test]
async fn creates_a_task_and_returns_its_result_later() {
    let mut remote = server().await;
    remote.send(&call("c", "work", Some(json!({ "ttl": 60000 })))).await;
    let (created, _) = response(&mut remote, "c").await;
    let task = created["result"]["task"].clone();
    assert_eq!(
        (&task["status"], &task["ttl"], &task["pollInterval"]),
        (&json!("working"), &json!(60000), &json!(1000))
    );
    assert!(task["taskId"].is_string());
    for time in ["createdAt", "lastUpdatedAt"] {
        let time = task[time].as_str().expect("a time");
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    }
    assert!(created["result"].get("content").is_none(), "the result comes later");

    let id = &task["taskId"];
    remote.send(&task_request("g", "get", id)).await;
    remote.send(&task_request("r", "result", id)).await;
    let (result, before) = response(&mut remote, "r").await;
    // Messages from the task's handler carry metadata with the task's ID. Messages about the task do not.
    let by = |method: &str| -> Vec<&Value> { before.iter().filter(|message| message["method"] == method).collect() };
    for method in ["notifications/progress", "notifications/message"] {
        assert_eq!(by(method)[0]["params"]["_meta"][RELATED], related(id), "{before:?}");
    }
    let statuses = by("notifications/tasks/status");
    assert_eq!((statuses[0]["params"]["status"].as_str(), &statuses[0]["params"]["taskId"]), (Some("completed"), id));
    assert!(statuses[0]["params"].get("_meta").is_none());
    let got = before.iter().find(|message| message["id"] == "g").expect("a response while the task is working");
    assert_eq!((&got["result"]["status"], got["result"].get("_meta")), (&json!("working"), None));

    let expected = json!({
        "content": [{ "type": "text", "text": "done" }],
        "_meta": { "mine": 1, RELATED: related(id) },
    });
    assert_eq!(result["result"], expected);
    remote.send(&task_request("r2", "result", id)).await;
    assert_eq!(response(&mut remote, "r2").await.0["result"], expected, "the result can be requested again");
    remote.send(&task_request("g2", "get", id)).await;
    let got = response(&mut remote, "g2").await.0["result"].clone();
    assert_eq!(
        (&got["status"], &got["ttl"], &got["createdAt"]),
        (&json!("completed"), &json!(60000), &task["createdAt"])
    );
}

#[tokio::test]
async fn rejects_a_negative_ttl() {
    let mut remote = server().await;
    remote.send(&call("c", "work", Some(json!({ "ttl": -5 })))).await;
    let error = response(&mut remote, "c").await.0["error"].clone();
    assert_eq!(error["code"], -32602, "{error}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("params.task.ttl") && message.contains("-5"), "{message}");
}

#[tokio::test]
async fn a_task_result_is_the_result_of_its_request() {
    let mut remote = server().await;
    for (name, status, expected) in [
        ("other", "completed", json!({ "content": [{ "type": "text", "text": "immediate" }] })),
        ("wrong", "failed", json!({ "content": [{ "type": "text", "text": "it went wrong" }], "isError": true })),
        ("fail", "failed", json!({ "code": -7, "message": "failed", "data": [1] })),
        ("panic", "failed", json!({ "code": -32603, "message": "internal error" })),
    ] {
        let id = create_task(&mut remote, name).await;
        remote.send(&task_request("r", "result", &id)).await;
        let (mut result, _) = response(&mut remote, "r").await;
        match result.get("error") {
            Some(error) => assert_eq!(*error, expected, "{name}"),
            None => {
                let meta = result["result"].as_object_mut().expect("an object").remove("_meta");
                assert_eq!(meta, Some(json!({ RELATED: related(&id) })), "{name}");
                assert_eq!(result["result"], expected, "{name}");
            }
        }
        remote.send(&task_request("g", "get", &id)).await;
        assert_eq!(response(&mut remote, "g").await.0["result"]["status"], status, "{name}");
    }
}

#[tokio::test]
async fn a_cancelled_task_stays_cancelled() {
    let mut remote = server().await;
    let id = create_task(&mut remote, "hang").await;
    remote.send(&task_request("r", "result", &id)).await;
    remote.send(&task_request("c", "cancel", &id)).await;
    let mut responses = vec![remote.receive().await, remote.receive().await, remote.receive().await];
    responses.sort_by_key(|message| message["id"].to_string());
    assert_eq!(responses[0]["result"]["status"], "cancelled");
    assert!(responses[2]["params"]["status"] == "cancelled", "{responses:?}");
    assert!(responses[1]["error"]["message"].as_str().is_some_and(|message| message.contains("cancelled")));
    remote.send(&task_request("c2", "cancel", &id)).await;
    assert_eq!(response(&mut remote, "c2").await.0["error"]["code"], -32602, "the task has ended");
    // A completed task cannot be cancelled.
    let id = create_task(&mut remote, "other").await;
    remote.send(&task_request("r", "result", &id)).await;
    response(&mut remote, "r").await;
    remote.send(&task_request("c", "cancel", &id)).await;
    assert_eq!(response(&mut remote, "c").await.0["error"]["code"], -32602);
    remote.send(&task_request("g", "get", &id)).await;
    assert_eq!(response(&mut remote, "g").await.0["result"]["status"], "completed");
}

/// A store whose operations take time. Its first updates fail.
struct Slow {
    inside: InMemoryTaskStore,
    delay: Duration,
    failures: std::sync::atomic::AtomicUsize,
}

impl Slow {
    fn new(delay: Duration, failures: usize) -> Arc<Self> {
        Arc::new(Self { inside: InMemoryTaskStore::default(), delay, failures: failures.into() })
    }
}

impl TaskStore for Slow {
    fn create(&self, entry: StoredTask) -> BoxFuture<'_, Result<(), ErrorObject>> {
        Box::pin(async {
            tokio::time::sleep(self.delay).await;
            self.inside.create(entry).await
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        Box::pin(async {
            tokio::time::sleep(self.delay).await;
            self.inside.get(id).await
        })
    }

    fn change<'a>(&'a self, id: &'a str, change: TaskChange) -> BoxFuture<'a, Result<Option<StoredTask>, ErrorObject>> {
        Box::pin(async move {
            tokio::time::sleep(self.delay).await;
            let fails = |left: usize| left.checked_sub(1);
            let failures = &self.failures;
            let order = std::sync::atomic::Ordering::SeqCst;
            if failures.fetch_update(order, order, fails).is_ok() {
                return Err(ErrorObject::new(-9, "the disk is full"));
            }
            self.inside.change(id, change).await
        })
    }

    fn list<'a>(
        &'a self,
        owner: &'a str,
        after: Option<&'a str>,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Task>, ErrorObject>> {
        self.inside.list(owner, after, most)
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_request_leaves_no_task() {
    let store = Slow::new(Duration::from_millis(30), 0);
    let limits = TaskLimits::default().with_running(2);
    let mut remote = server_of(local_info(), Tasks::new(Arc::clone(&store), limits)).await;
    for id in 0..5 {
        remote.send(&call(id, "hang", Some(json!({})))).await;
        // By now, the store is creating the task.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        remote.send(&cancelled.to_string()).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let id = create_task(&mut remote, "work").await;
    remote.send(&task_request("r", "result", &id)).await;
    assert_eq!(response(&mut remote, "r").await.0["result"]["content"][0]["text"], "done");
    let tasks = store.list("", None, 100).await.expect("tasks");
    let working = tasks.iter().filter(|task| task.status == TaskStatus::Working).count();
    assert_eq!((tasks.len(), working), (6, 0), "the cancelled requests must leave no working task");
}

#[tokio::test(start_paused = true)]
async fn a_failing_store_loses_no_result() {
    let mut remote = server_of(local_info(), Tasks::new(Slow::new(Duration::ZERO, 3), TaskLimits::default())).await;
    let id = create_task(&mut remote, "other").await;
    remote.send(&task_request("r", "result", &id)).await;
    assert_eq!(response(&mut remote, "r").await.0["result"]["content"][0]["text"], "immediate");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_stops_even_if_its_cancel_request_is_cancelled() {
    let tasks = Tasks::new(Slow::new(Duration::from_millis(30), 0), TaskLimits::default().with_running(1));
    let mut remote = server_of(local_info(), tasks).await;
    let id = create_task(&mut remote, "hang").await;
    remote.send(&task_request("c", "cancel", &id)).await;
    tokio::time::sleep(Duration::from_millis(45)).await;
    remote.send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let status = remote.receive().await;
    assert_eq!((&status["params"]["taskId"], &status["params"]["status"]), (&id, &json!("cancelled")));
    create_task(&mut remote, "hang").await;
}

#[tokio::test(start_paused = true)]
async fn ends_a_cancelled_task_whose_handler_panics_in_drop() {
    let tasks = Tasks::new(InMemoryTaskStore::default(), TaskLimits::default().with_running(1));
    let mut remote = server_of(local_info(), tasks).await;
    let id = create_task(&mut remote, "panic in drop").await;
    remote.send(&task_request("r", "result", &id)).await;
    remote.send(&task_request("c", "cancel", &id)).await;
    let (result, _) = response(&mut remote, "r").await;
    assert!(result["error"]["message"].as_str().is_some_and(|message| message.contains("cancelled")), "{result}");
    // Another task can run.
    create_task(&mut remote, "hang").await;
}

#[tokio::test(start_paused = true)]
async fn sends_status_notifications_in_order() {
    let tasks = Tasks::new(Slow::new(Duration::from_millis(10), 0), TaskLimits::default());
    let mut remote = server_of(local_info(), tasks).await;
    let id = create_task(&mut remote, "ask often").await;
    let mut statuses = Vec::new();
    let mut requests = 0;
    while statuses.last().is_none_or(|status| status != "completed") {
        let message = remote.receive().await;
        assert_eq!(
            message["method"].as_str().map(|method| method.contains("status")),
            Some(message.get("id").is_none())
        );
        match message.get("id") {
            Some(id) => {
                requests += 1;
                remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [] } }).to_string()).await;
            }
            None => statuses.push(message["params"]["status"].as_str().expect("a status").to_owned()),
        }
    }
    assert_eq!(requests, 6);
    assert_eq!(statuses.first().map(String::as_str), Some("input_required"), "{statuses:?}");
    assert!(statuses.windows(2).all(|pair| pair[0] != pair[1]), "{statuses:?}");
    // Log messages after the end of the task are dropped.
    remote.send(&task_request("g", "get", &id)).await;
    let (got, before) = response(&mut remote, "g").await;
    assert!(before.is_empty(), "{before:?}");
    assert_eq!(got["result"]["status"], "completed");
}

#[tokio::test]
async fn messages_of_a_task_carry_related_task_metadata() {
    let mut remote = server().await;
    let meta = json!({ RELATED: { "taskId": "other" } });
    let params = json!({ "name": "other", "_meta": meta });
    remote.send(&json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params }).to_string()).await;
    assert_eq!(response(&mut remote, "x").await.0["result"]["_meta"][RELATED], json!({ "taskId": "other" }));
    // Cancellations of the task's own requests carry the metadata, too.
    let id = create_task(&mut remote, "ask shortly").await;
    let mut received = Vec::new();
    while received.last().is_none_or(|message: &Value| message["method"] != "notifications/cancelled") {
        received.push(remote.receive().await);
    }
    let cancelled = received.last().expect("a message");
    assert_eq!(cancelled["params"]["_meta"][RELATED], related(&id), "{received:?}");
}

#[tokio::test]
async fn limits_the_tasks_of_each_owner() {
    let owner =
        |context: &Context| context.meta().get("user").and_then(JsonRef::as_str).unwrap_or_default().into_owned();
    let limits = TaskLimits::default().with_running_per_owner(2).with_result_bytes(100);
    let mut remote = server_of(local_info(), Tasks::owned_by(InMemoryTaskStore::new(10, 3), limits, owner)).await;
    let create_request = |user: &'static str, name: &'static str| {
        let params = json!({ "name": name, "task": {}, "_meta": { "user": user } });
        json!({ "jsonrpc": "2.0", "id": user, "method": "tools/call", "params": params }).to_string()
    };
    for (user, name, ok) in [
        ("ann", "other", true),
        ("ann", "hang", true),
        ("ann", "hang", true),
        ("ann", "hang", false),
        ("bob", "hang", true),
        ("bob", "other", true),
    ] {
        remote.send(&create_request(user, name)).await;
        let created = response(&mut remote, user).await.0;
        assert_eq!(created.get("result").is_some(), ok, "{user} {name}: {created}");
        // Let the immediate tasks complete.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    remote.send(&create_request("eve", "large")).await;
    let id = response(&mut remote, "eve").await.0["result"]["task"]["taskId"].clone();
    let params = json!({ "taskId": id, "_meta": { "user": "eve" } });
    remote.send(&json!({ "jsonrpc": "2.0", "id": "r", "method": "tasks/result", "params": params }).to_string()).await;
    assert_eq!(response(&mut remote, "r").await.0["error"]["code"], -32603, "the result is too large for the store");
}

#[tokio::test]
async fn a_task_with_a_pending_request_is_input_required() {
    let mut remote = server().await;
    let id = create_task(&mut remote, "ask").await;
    let status = remote.receive().await;
    assert_eq!(status["params"]["status"], "input_required");
    let request = remote.receive().await;
    assert_eq!((&request["method"], &request["params"]["_meta"][RELATED]), (&json!("roots/list"), &related(&id)));
    remote.send(&task_request("g", "get", &id)).await;
    assert_eq!(response(&mut remote, "g").await.0["result"]["status"], "input_required");
    remote.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "roots": [] } }).to_string()).await;
    remote.send(&task_request("r", "result", &id)).await;
    let (result, _) = response(&mut remote, "r").await;
    assert_eq!(result["result"]["content"][0]["text"], "0 roots");
}

#[tokio::test]
async fn rejects_unknown_tasks_and_cursors() {
    let mut remote = server().await;
    for method in ["get", "result", "cancel"] {
        for id in [json!("none"), json!(""), json!("0".repeat(32))] {
            remote.send(&task_request("x", method, &id)).await;
            assert_eq!(response(&mut remote, "x").await.0["error"]["code"], -32602, "{method} {id}");
        }
    }
    for cursor in ["x", "", "../../etc", &"g".repeat(32)] {
        let list = json!({ "jsonrpc": "2.0", "id": "l", "method": "tasks/list", "params": { "cursor": cursor } });
        remote.send(&list.to_string()).await;
        assert_eq!(response(&mut remote, "l").await.0["error"]["code"], -32602, "{cursor}");
    }
    for task in [json!(1), json!({ "ttl": "long" }), json!(null)] {
        remote.send(&call("t", "work", Some(task.clone()))).await;
        assert_eq!(response(&mut remote, "t").await.0["error"]["code"], -32602, "{task}");
    }
}

#[tokio::test]
async fn enforces_the_task_support_of_tools() {
    let mut remote = server().await;
    for (name, task, code) in [
        ("never", true, Some(-32601)),
        ("never", false, None),
        ("always", true, None),
        ("always", false, Some(-32601)),
        ("other", true, None),
        ("other", false, None),
    ] {
        remote.send(&call("c", name, task.then(|| json!({})))).await;
        let response = response(&mut remote, "c").await.0;
        assert_eq!(response["error"]["code"].as_i64(), code, "{name} {task}");
        assert_eq!(response["result"].get("task").is_some(), task && code.is_none());
    }
}

#[tokio::test]
async fn ignores_task_params_without_the_capability() {
    for local_info in
        [LocalInfo::new("server", "1"), LocalInfo::new("s", "1").capability("tasks", json!({ "list": {} }))]
    {
        let mut remote = server_of(local_info, Tasks::default()).await;
        for name in ["other", "always"] {
            remote.send(&call("c", name, Some(json!({ "ttl": 1 })))).await;
            assert_eq!(response(&mut remote, "c").await.0["result"]["content"][0]["text"], "immediate", "{name}");
        }
    }
}

#[tokio::test]
async fn lists_tasks_in_pages_and_removes_expired_tasks() {
    let limits = TaskLimits::default().with_page_size(2).with_max_ttl(Duration::from_millis(300));
    let mut remote = server_of(local_info(), Tasks::new(InMemoryTaskStore::new(5, 5), limits)).await;
    let mut created = Vec::new();
    for _ in 0..5 {
        created.push(create_task(&mut remote, "hang").await);
    }
    remote.send(&call("full", "hang", Some(json!({})))).await;
    assert_eq!(response(&mut remote, "full").await.0["error"]["code"], errors::BUSY, "the store is full");
    let (mut listed, mut cursor) = (Vec::new(), None::<Value>);
    loop {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let list = json!({ "jsonrpc": "2.0", "id": "l", "method": "tasks/list", "params": params });
        remote.send(&list.to_string()).await;
        let page = response(&mut remote, "l").await.0["result"].clone();
        let tasks = page["tasks"].as_array().expect("a page");
        assert!(tasks.len() <= 2);
        listed.extend(tasks.iter().map(|task| task["taskId"].clone()));
        assert!(tasks.iter().all(|task| task["ttl"] == 300), "the TTL is limited");
        cursor = page.get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    let by_text = |ids: &mut Vec<Value>| ids.sort_by_key(Value::to_string);
    by_text(&mut listed);
    by_text(&mut created);
    assert_eq!(listed, created);
    tokio::time::sleep(Duration::from_millis(320)).await;
    remote.send(&task_request("g", "get", &created[0])).await;
    assert_eq!(response(&mut remote, "g").await.0["error"]["code"], -32602, "the task has expired");
    assert!(create_task(&mut remote, "hang").await.is_string(), "the store has space again");
}

#[tokio::test]
async fn tasks_belong_to_their_owner() {
    let owner =
        |context: &Context| context.meta().get("user").and_then(JsonRef::as_str).unwrap_or_default().into_owned();
    let tasks = Tasks::owned_by(InMemoryTaskStore::default(), TaskLimits::default(), owner);
    let mut remote = server_of(local_info(), tasks).await;
    let request = |id: &str, method: &str, user: &str, mut params: Value| {
        params["_meta"] = json!({ "user": user });
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    remote.send(&request("c", "tools/call", "ann", json!({ "name": "hang", "task": {} }))).await;
    let id = response(&mut remote, "c").await.0["result"]["task"]["taskId"].clone();
    for (user, sees) in [("ann", true), ("bob", false)] {
        for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
            if !sees || method == "tasks/get" {
                remote.send(&request("x", method, user, json!({ "taskId": id }))).await;
                let code = response(&mut remote, "x").await.0["error"]["code"].as_i64();
                assert_eq!(code, (!sees).then_some(-32602), "{user} {method}");
            }
        }
        remote.send(&request("l", "tasks/list", user, json!({}))).await;
        let listed = response(&mut remote, "l").await.0["result"]["tasks"].as_array().expect("tasks").len();
        assert_eq!(listed == 1, sees, "{user}");
    }
}

#[tokio::test]
async fn clients_and_servers_can_both_run_tasks() {
    let (here, there) = transport::duplex();
    let handlers = Router::new().request::<CallToolRequest>(|context, _| async move {
        // The server runs a sampling request as a task of the client.
        let message = SamplingMessage::new(Role::User, TextContent::new("?"));
        let params = CreateMessageRequestParams::new(vec![message], 1);
        let created = context.peer().call_task::<CreateMessageRequest>(params).await.map_err(to_error_object)?;
        let id = created.task.task_id;
        let response = context.peer().task_result::<CreateMessageRequest>(&id).await.map_err(to_error_object)?;
        let listed = context.peer().call::<ListTasksRequest>(None).await.map_err(to_error_object)?;
        Ok::<_, ErrorObject>(text(format!("{} {}", response.model, listed.tasks.len())))
    });
    let server = LocalInfo::new("server", "1").retain_revisions(Revision::is_legacy);
    let server_tasks = Tasks::default();
    let handlers = server_tasks.on::<CallToolRequest>(handlers.clone(), support, move |context, params| {
        let router = handlers.clone();
        async move {
            let request = mcpgen_sdk::router::AnyRequest {
                method: "tools/call".into(),
                params: Some(mcpgen_types::Json::from(&params)),
                context,
            };
            let result = router.handle_request(request).await?;
            result.decode::<CallToolResult>().map_err(|error| ErrorObject::new(-1, error.to_string()))
        }
    });
    let server = server.capability("tasks", capability(&["tools/call"], true));
    tokio::spawn(serve((server, handlers), there));

    let client_tasks = Tasks::default();
    let samples = client_tasks.on::<CreateMessageRequest>(
        Router::new(),
        |_| TaskSupport::Optional,
        |_, _| async {
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, ErrorObject>(CreateMessageResult::new(Role::Assistant, TextContent::new(""), "model"))
        },
    );
    let local_info = LocalInfo::new("client", "1")
        .retain_revisions(Revision::is_legacy)
        .capability("tasks", capability(&["sampling/createMessage"], true));
    let client =
        connect(local_info, samples.clone(), samples, here.0, here.1, Limits::default()).await.expect("connected");
    let created =
        client.peer().call_task::<CallToolRequest>(CallToolRequestParams::new("think")).await.expect("a task");
    let id = created.task.task_id;
    let result = client.peer().task_result::<CallToolRequest>(&id).await.expect("a result");
    let value = mcpgen_types::to_value(&result).expect("JSON");
    assert_eq!(value["content"][0]["text"], "model 1");
    let task = client.peer().call::<GetTaskRequest>(GetTaskRequestParams::new(&*id)).await.expect("a task");
    assert_eq!(task.status, TaskStatus::Completed);
    let cancelled = client.peer().call::<CancelTaskRequest>(CancelTaskRequestParams::new(&*id)).await;
    assert!(matches!(cancelled, Err(CallError::ErrorResponse(error)) if error.code.0 == -32602));
}

fn to_error_object(error: CallError) -> ErrorObject {
    ErrorObject::new(-2, error.to_string())
}
