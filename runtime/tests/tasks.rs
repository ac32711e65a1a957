//! Requests that are run as tasks (2025-11-25), for a client and for a server.

mod support;

use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::protocol::Level;
use mcpgen_runtime::protocol::config::ServerConfig;
use mcpgen_runtime::service::context::Context;
use mcpgen_runtime::tasks::{Entry, InMemoryTaskStore, Outcome, TaskLimits, TaskStore, TaskSupport, Tasks, capability};
use mcpgen_runtime::{Limits, LocalInfo, Router, connect, serve, transport};
use mcpgen_types::v2025_11_25::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelTaskRequest, CancelTaskRequestParams,
    CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult, GetTaskRequest, GetTaskRequestParams,
    ListRootsRequest, ListTasksRequest, Role, SamplingMessage, Task, TaskStatus, TextContent,
};
use mcpgen_types::{ErrorObject, Revision};
use serde_json::{Value, json};
use support::Wire;

fn text(text: impl Into<String>) -> CallToolResult {
    CallToolResult::new(vec![TextContent::new(text).into()])
}

async fn tool(context: Context, params: CallToolRequestParams) -> Result<CallToolResult, ErrorObject> {
    match params.name.as_str() {
        "work" => {
            context.progress(1.0, None, None).await;
            context.log(Level::Info, None, "working").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            Ok(text("done").with_meta(mcpgen_types::JsonObject::from_iter([("mine".to_owned(), json!(1))])))
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
            let ask = |_: usize| context.peer().call::<ListRootsRequest>(None);
            for _ in 0..2 {
                let asked = futures_util::future::join_all((0..3).map(ask).map(IntoFuture::into_future));
                asked.await.into_iter().collect::<Result<Vec<_>, _>>().map_err(refused)?;
            }
            Ok(text("asked"))
        }
        "ask shortly" => {
            let call = context.peer().request::<ListRootsRequest>(None).timeout(Duration::from_millis(20));
            Ok(text(call.await.expect_err("nobody answers").to_string()))
        }
        "large" => Ok(text("x".repeat(200))),
        "wrong" => Ok(text("it went wrong").with_is_error(true)),
        "fail" => Err(ErrorObject::new(-7, "failed").with_data(json!([1]))),
        "panic" => panic!("a bug"),
        "panic in drop" => {
            let _panics = PanicsInDrop;
            std::future::pending().await
        }
        _ => Ok(text("at once")),
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

fn ours() -> LocalInfo {
    LocalInfo::new("server", "1")
        .capability("logging", json!({}))
        .capability("tasks", capability(&["tools/call"], true))
}

async fn server_of(ours: LocalInfo, tasks: Tasks) -> Wire {
    let handlers = router(&tasks);
    let protocol =
        Arc::new(ServerConfig::from(ours).protocol(&handlers.handled(mcpgen_runtime::protocol::Role::Server)));
    let (mut wire, _) = Wire::to(|pipe| support::run(handlers, protocol, Limits::default(), pipe));
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": { "roots": {} }, "clientInfo": { "name": "c", "version": "1" },
    });
    wire.ask(&json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }).to_string()).await;
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    wire
}

async fn server() -> Wire {
    server_of(ours(), Tasks::default()).await
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

/// The answer to a request, and what was heard before it.
async fn answer(wire: &mut Wire, id: impl Into<Value>) -> (Value, Vec<Value>) {
    let (id, mut before) = (id.into(), Vec::new());
    loop {
        let message = wire.hear().await;
        if message["id"] == id && message.get("method").is_none() {
            return (message, before);
        }
        before.push(message);
    }
}

async fn begin(wire: &mut Wire, name: &str) -> Value {
    wire.say(&call(1, name, Some(json!({})))).await;
    let (created, before) = answer(wire, 1).await;
    assert!(before.is_empty(), "{before:?}");
    created["result"]["task"]["taskId"].clone()
}

fn related(task: &Value) -> Value {
    json!({ "taskId": task })
}

const RELATED: &str = "io.modelcontextprotocol/related-task";

#[tokio::test]
async fn a_task_is_made_at_once_and_its_result_fetched_later() {
    let mut wire = server().await;
    wire.say(&call("c", "work", Some(json!({ "ttl": 60000 })))).await;
    let (created, _) = answer(&mut wire, "c").await;
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
    wire.say(&task_request("g", "get", id)).await;
    wire.say(&task_request("r", "result", id)).await;
    let (result, before) = answer(&mut wire, "r").await;
    // What is said of it says so; what is about it as a whole does not.
    let by = |method: &str| -> Vec<&Value> { before.iter().filter(|message| message["method"] == method).collect() };
    for method in ["notifications/progress", "notifications/message"] {
        assert_eq!(by(method)[0]["params"]["_meta"][RELATED], related(id), "{before:?}");
    }
    let statuses = by("notifications/tasks/status");
    assert_eq!((statuses[0]["params"]["status"].as_str(), &statuses[0]["params"]["taskId"]), (Some("completed"), id));
    assert!(statuses[0]["params"].get("_meta").is_none());
    let got = before.iter().find(|message| message["id"] == "g").expect("an answer while it works");
    assert_eq!((&got["result"]["status"], got["result"].get("_meta")), (&json!("working"), None));

    let expected = json!({
        "content": [{ "type": "text", "text": "done" }],
        "_meta": { "mine": 1, RELATED: related(id) },
    });
    assert_eq!(result["result"], expected);
    wire.say(&task_request("r2", "result", id)).await;
    assert_eq!(answer(&mut wire, "r2").await.0["result"], expected, "as often as one likes");
    wire.say(&task_request("g2", "get", id)).await;
    let got = answer(&mut wire, "g2").await.0["result"].clone();
    assert_eq!(
        (&got["status"], &got["ttl"], &got["createdAt"]),
        (&json!("completed"), &json!(60000), &task["createdAt"])
    );
}

#[tokio::test]
async fn rejects_a_negative_ttl() {
    let mut wire = server().await;
    wire.say(&call("c", "work", Some(json!({ "ttl": -5 })))).await;
    let error = answer(&mut wire, "c").await.0["error"].clone();
    assert_eq!(error["code"], -32602, "{error}");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("params.task.ttl") && message.contains("-5"), "{message}");
}

#[tokio::test]
async fn the_result_of_a_task_is_that_of_its_request() {
    let mut wire = server().await;
    for (name, status, expected) in [
        ("other", "completed", json!({ "content": [{ "type": "text", "text": "at once" }] })),
        ("wrong", "failed", json!({ "content": [{ "type": "text", "text": "it went wrong" }], "isError": true })),
        ("fail", "failed", json!({ "code": -7, "message": "failed", "data": [1] })),
        ("panic", "failed", json!({ "code": -32603, "message": "internal error" })),
    ] {
        let id = begin(&mut wire, name).await;
        wire.say(&task_request("r", "result", &id)).await;
        let (mut result, _) = answer(&mut wire, "r").await;
        match result.get("error") {
            Some(error) => assert_eq!(*error, expected, "{name}"),
            None => {
                let meta = result["result"].as_object_mut().expect("an object").remove("_meta");
                assert_eq!(meta, Some(json!({ RELATED: related(&id) })), "{name}");
                assert_eq!(result["result"], expected, "{name}");
            }
        }
        wire.say(&task_request("g", "get", &id)).await;
        assert_eq!(answer(&mut wire, "g").await.0["result"]["status"], status, "{name}");
    }
}

#[tokio::test]
async fn a_cancelled_task_stays_cancelled() {
    let mut wire = server().await;
    let id = begin(&mut wire, "hang").await;
    wire.say(&task_request("r", "result", &id)).await;
    wire.say(&task_request("c", "cancel", &id)).await;
    let mut answers = vec![wire.hear().await, wire.hear().await, wire.hear().await];
    answers.sort_by_key(|message| message["id"].to_string());
    assert_eq!(answers[0]["result"]["status"], "cancelled");
    assert!(answers[2]["params"]["status"] == "cancelled", "told: {answers:?}");
    assert!(answers[1]["error"]["message"].as_str().is_some_and(|message| message.contains("cancelled")));
    wire.say(&task_request("c2", "cancel", &id)).await;
    assert_eq!(answer(&mut wire, "c2").await.0["error"]["code"], -32602, "it has ended");
    // One that is over already stays what it is.
    let id = begin(&mut wire, "other").await;
    wire.say(&task_request("r", "result", &id)).await;
    answer(&mut wire, "r").await;
    wire.say(&task_request("c", "cancel", &id)).await;
    assert_eq!(answer(&mut wire, "c").await.0["error"]["code"], -32602);
    wire.say(&task_request("g", "get", &id)).await;
    assert_eq!(answer(&mut wire, "g").await.0["result"]["status"], "completed");
}

/// A store that takes its time, and that fails the first times.
struct Slow {
    inside: InMemoryTaskStore,
    takes: Duration,
    failures: std::sync::atomic::AtomicUsize,
}

impl Slow {
    fn new(takes: Duration, failures: usize) -> Arc<Self> {
        Arc::new(Self { inside: InMemoryTaskStore::default(), takes, failures: failures.into() })
    }
}

impl TaskStore for Slow {
    fn create(&self, entry: Entry) -> BoxFuture<'_, Result<(), ErrorObject>> {
        Box::pin(async {
            tokio::time::sleep(self.takes).await;
            self.inside.create(entry).await
        })
    }

    fn get<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<Entry>, ErrorObject>> {
        Box::pin(async {
            tokio::time::sleep(self.takes).await;
            self.inside.get(id).await
        })
    }

    fn advance(&self, task: Task, outcome: Option<Outcome>) -> BoxFuture<'_, Result<bool, ErrorObject>> {
        Box::pin(async {
            tokio::time::sleep(self.takes).await;
            let fails = |left: usize| left.checked_sub(1);
            let failures = &self.failures;
            let order = std::sync::atomic::Ordering::SeqCst;
            if failures.fetch_update(order, order, fails).is_ok() {
                return Err(ErrorObject::new(-9, "the disk is full"));
            }
            self.inside.advance(task, outcome).await
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
async fn a_request_that_is_taken_back_leaves_no_task_and_takes_no_room() {
    let store = Slow::new(Duration::from_millis(30), 0);
    let limits = TaskLimits { running: 2, ..TaskLimits::default() };
    let mut wire = server_of(ours(), Tasks::new(Arc::clone(&store), limits)).await;
    for id in 0..5 {
        wire.say(&call(id, "hang", Some(json!({})))).await;
        // It has reached the store by then.
        tokio::time::sleep(Duration::from_millis(10)).await;
        let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
        wire.say(&cancelled.to_string()).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let id = begin(&mut wire, "work").await;
    wire.say(&task_request("r", "result", &id)).await;
    assert_eq!(answer(&mut wire, "r").await.0["result"]["content"][0]["text"], "done");
    let kept = store.list("", None, 100).await.expect("tasks");
    let working = kept.iter().filter(|task| task.status == TaskStatus::Working).count();
    assert_eq!((kept.len(), working), (6, 0), "nobody knows of those that were taken back");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_loses_no_result() {
    let mut wire = server_of(ours(), Tasks::new(Slow::new(Duration::ZERO, 3), TaskLimits::default())).await;
    let id = begin(&mut wire, "other").await;
    wire.say(&task_request("r", "result", &id)).await;
    assert_eq!(answer(&mut wire, "r").await.0["result"]["content"][0]["text"], "at once");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_task_is_stopped_though_nobody_waits_for_it() {
    let tasks = Tasks::new(Slow::new(Duration::from_millis(30), 0), TaskLimits { running: 1, ..TaskLimits::default() });
    let mut wire = server_of(ours(), tasks).await;
    let id = begin(&mut wire, "hang").await;
    wire.say(&task_request("c", "cancel", &id)).await;
    tokio::time::sleep(Duration::from_millis(45)).await;
    wire.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}"#).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let status = wire.hear().await;
    assert_eq!((&status["params"]["taskId"], &status["params"]["status"]), (&id, &json!("cancelled")));
    begin(&mut wire, "hang").await;
}

#[tokio::test(start_paused = true)]
async fn ends_a_cancelled_task_whose_handler_panics_in_drop() {
    let tasks = Tasks::new(InMemoryTaskStore::default(), TaskLimits { running: 1, ..TaskLimits::default() });
    let mut wire = server_of(ours(), tasks).await;
    let id = begin(&mut wire, "panic in drop").await;
    wire.say(&task_request("r", "result", &id)).await;
    wire.say(&task_request("c", "cancel", &id)).await;
    let (result, _) = answer(&mut wire, "r").await;
    assert!(result["error"]["message"].as_str().is_some_and(|message| message.contains("cancelled")), "{result}");
    // Its place is free again.
    begin(&mut wire, "hang").await;
}

#[tokio::test(start_paused = true)]
async fn states_are_told_in_their_order_and_the_last_one_is_the_end() {
    let tasks = Tasks::new(Slow::new(Duration::from_millis(10), 0), TaskLimits::default());
    let mut wire = server_of(ours(), tasks).await;
    let id = begin(&mut wire, "ask often").await;
    let mut told = Vec::new();
    let mut asked = 0;
    while told.last().is_none_or(|status| status != "completed") {
        let message = wire.hear().await;
        assert_eq!(
            message["method"].as_str().map(|method| method.contains("status")),
            Some(message.get("id").is_none())
        );
        match message.get("id") {
            Some(id) => {
                asked += 1;
                wire.say(&json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": [] } }).to_string()).await;
            }
            None => told.push(message["params"]["status"].as_str().expect("a status").to_owned()),
        }
    }
    assert_eq!(asked, 6);
    assert_eq!(told.first().map(String::as_str), Some("input_required"), "{told:?}");
    assert!(told.windows(2).all(|pair| pair[0] != pair[1]), "{told:?}");
    // A reporter that was left behind says nothing more.
    wire.say(&task_request("g", "get", &id)).await;
    let (got, before) = answer(&mut wire, "g").await;
    assert!(before.is_empty(), "{before:?}");
    assert_eq!(got["result"]["status"], "completed");
}

#[tokio::test]
async fn what_answers_a_task_says_so() {
    let mut wire = server().await;
    let meta = json!({ RELATED: { "taskId": "theirs" } });
    let params = json!({ "name": "other", "_meta": meta });
    wire.say(&json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params }).to_string()).await;
    assert_eq!(answer(&mut wire, "x").await.0["result"]["_meta"][RELATED], json!({ "taskId": "theirs" }));
    // A call that is taken back, too.
    let id = begin(&mut wire, "ask shortly").await;
    let mut received = Vec::new();
    while received.last().is_none_or(|message: &Value| message["method"] != "notifications/cancelled") {
        received.push(wire.hear().await);
    }
    let cancelled = received.last().expect("the last one");
    assert_eq!(cancelled["params"]["_meta"][RELATED], related(&id), "{received:?}");
}

#[tokio::test]
async fn one_owner_leaves_room_for_others() {
    let owner = |context: &Context| context.meta().get("user").and_then(Value::as_str).unwrap_or_default().to_owned();
    let limits = TaskLimits { running_each: 2, result_bytes: 100, ..TaskLimits::default() };
    let mut wire = server_of(ours(), Tasks::owned_by(InMemoryTaskStore::new(10, 3), limits, owner)).await;
    let made = |user: &'static str, name: &'static str| {
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
        wire.say(&made(user, name)).await;
        let created = answer(&mut wire, user).await.0;
        assert_eq!(created.get("result").is_some(), ok, "{user} {name}: {created}");
        // So that those that end have ended.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    wire.say(&made("eve", "large")).await;
    let id = answer(&mut wire, "eve").await.0["result"]["task"]["taskId"].clone();
    let params = json!({ "taskId": id, "_meta": { "user": "eve" } });
    wire.say(&json!({ "jsonrpc": "2.0", "id": "r", "method": "tasks/result", "params": params }).to_string()).await;
    assert_eq!(answer(&mut wire, "r").await.0["error"]["code"], -32603, "too large to be kept");
}

#[tokio::test]
async fn a_task_that_asks_waits_for_input() {
    let mut wire = server().await;
    let id = begin(&mut wire, "ask").await;
    let status = wire.hear().await;
    assert_eq!(status["params"]["status"], "input_required");
    let asked = wire.hear().await;
    assert_eq!((&asked["method"], &asked["params"]["_meta"][RELATED]), (&json!("roots/list"), &related(&id)));
    wire.say(&task_request("g", "get", &id)).await;
    assert_eq!(answer(&mut wire, "g").await.0["result"]["status"], "input_required");
    wire.say(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "roots": [] } }).to_string()).await;
    wire.say(&task_request("r", "result", &id)).await;
    let (result, _) = answer(&mut wire, "r").await;
    assert_eq!(result["result"]["content"][0]["text"], "0 roots");
}

#[tokio::test]
async fn what_is_not_there_is_refused() {
    let mut wire = server().await;
    for method in ["get", "result", "cancel"] {
        for id in [json!("none"), json!(""), json!("0".repeat(32))] {
            wire.say(&task_request("x", method, &id)).await;
            assert_eq!(answer(&mut wire, "x").await.0["error"]["code"], -32602, "{method} {id}");
        }
    }
    for cursor in ["x", "", "../../etc", &"g".repeat(32)] {
        let list = json!({ "jsonrpc": "2.0", "id": "l", "method": "tasks/list", "params": { "cursor": cursor } });
        wire.say(&list.to_string()).await;
        assert_eq!(answer(&mut wire, "l").await.0["error"]["code"], -32602, "{cursor}");
    }
    for task in [json!(1), json!({ "ttl": "long" }), json!(null)] {
        wire.say(&call("t", "work", Some(task.clone()))).await;
        assert_eq!(answer(&mut wire, "t").await.0["error"]["code"], -32602, "{task}");
    }
}

#[tokio::test]
async fn tools_say_whether_they_may_be_tasks() {
    let mut wire = server().await;
    for (name, task, code) in [
        ("never", true, Some(-32601)),
        ("never", false, None),
        ("always", true, None),
        ("always", false, Some(-32601)),
        ("other", true, None),
        ("other", false, None),
    ] {
        wire.say(&call("c", name, task.then(|| json!({})))).await;
        let answer = answer(&mut wire, "c").await.0;
        assert_eq!(answer["error"]["code"].as_i64(), code, "{name} {task}");
        assert_eq!(answer["result"].get("task").is_some(), task && code.is_none());
    }
}

#[tokio::test]
async fn without_the_capability_the_request_is_an_ordinary_one() {
    for ours in [LocalInfo::new("server", "1"), LocalInfo::new("s", "1").capability("tasks", json!({ "list": {} }))] {
        let mut wire = server_of(ours, Tasks::default()).await;
        for name in ["other", "always"] {
            wire.say(&call("c", name, Some(json!({ "ttl": 1 })))).await;
            assert_eq!(answer(&mut wire, "c").await.0["result"]["content"][0]["text"], "at once", "{name}");
        }
    }
}

#[tokio::test]
async fn tasks_are_listed_in_pages_and_forgotten_in_time() {
    let limits = TaskLimits { page: 2, longest_ttl: Duration::from_millis(300), ..TaskLimits::default() };
    let mut wire = server_of(ours(), Tasks::new(InMemoryTaskStore::new(5, 5), limits)).await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(begin(&mut wire, "hang").await);
    }
    wire.say(&call("full", "hang", Some(json!({})))).await;
    assert_eq!(answer(&mut wire, "full").await.0["error"]["code"], errors::BUSY, "there is no room");
    let (mut listed, mut cursor) = (Vec::new(), None::<Value>);
    loop {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let list = json!({ "jsonrpc": "2.0", "id": "l", "method": "tasks/list", "params": params });
        wire.say(&list.to_string()).await;
        let page = answer(&mut wire, "l").await.0["result"].clone();
        let tasks = page["tasks"].as_array().expect("a page");
        assert!(tasks.len() <= 2);
        listed.extend(tasks.iter().map(|task| task["taskId"].clone()));
        assert!(tasks.iter().all(|task| task["ttl"] == 300), "no longer than that");
        cursor = page.get("nextCursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    let by_text = |ids: &mut Vec<Value>| ids.sort_by_key(Value::to_string);
    by_text(&mut listed);
    by_text(&mut made);
    assert_eq!(listed, made);
    tokio::time::sleep(Duration::from_millis(320)).await;
    wire.say(&task_request("g", "get", &made[0])).await;
    assert_eq!(answer(&mut wire, "g").await.0["error"]["code"], -32602, "forgotten");
    assert!(begin(&mut wire, "hang").await.is_string(), "there is room again");
}

#[tokio::test]
async fn tasks_belong_to_whoever_has_asked_for_them() {
    let owner = |context: &Context| context.meta().get("user").and_then(Value::as_str).unwrap_or_default().to_owned();
    let tasks = Tasks::owned_by(InMemoryTaskStore::default(), TaskLimits::default(), owner);
    let mut wire = server_of(ours(), tasks).await;
    let request = |id: &str, method: &str, user: &str, mut params: Value| {
        params["_meta"] = json!({ "user": user });
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    wire.say(&request("c", "tools/call", "ann", json!({ "name": "hang", "task": {} }))).await;
    let id = answer(&mut wire, "c").await.0["result"]["task"]["taskId"].clone();
    for (user, sees) in [("ann", true), ("bob", false)] {
        for method in ["tasks/get", "tasks/cancel", "tasks/result"] {
            if !sees || method == "tasks/get" {
                wire.say(&request("x", method, user, json!({ "taskId": id }))).await;
                let code = answer(&mut wire, "x").await.0["error"]["code"].as_i64();
                assert_eq!(code, (!sees).then_some(-32602), "{user} {method}");
            }
        }
        wire.say(&request("l", "tasks/list", user, json!({}))).await;
        let listed = answer(&mut wire, "l").await.0["result"]["tasks"].as_array().expect("tasks").len();
        assert_eq!(listed == 1, sees, "{user}");
    }
}

#[tokio::test]
async fn either_side_runs_tasks_for_the_other() {
    let (here, there) = transport::duplex();
    let handlers = Router::new().request::<CallToolRequest>(|context, _| async move {
        // The server has the client's model work on something meanwhile.
        let message = SamplingMessage::new(TextContent::new("?"), Role::User);
        let params = CreateMessageRequestParams::new(1, vec![message]);
        let created = context.peer().call_task::<CreateMessageRequest>(params).await.map_err(refused)?;
        let id = created.task.task_id;
        let answer = context.peer().task_result::<CreateMessageRequest>(&id).await.map_err(refused)?;
        let listed = context.peer().call::<ListTasksRequest>(None).await.map_err(refused)?;
        Ok::<_, ErrorObject>(text(format!("{} {}", answer.model, listed.tasks.len())))
    });
    let server = LocalInfo::new("server", "1").retain_revisions(Revision::is_legacy);
    let server_tasks = Tasks::default();
    let handlers = server_tasks.on::<CallToolRequest>(handlers.clone(), support, move |context, params| {
        let router = handlers.clone();
        async move {
            let request = mcpgen_runtime::service::router::AnyRequest {
                method: "tools/call".into(),
                params: Some(mcpgen_types::RawJson::from(&params)),
                context,
            };
            let result = router.answer(request).await?;
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
            Ok::<_, ErrorObject>(CreateMessageResult::new(TextContent::new(""), "model", Role::Assistant))
        },
    );
    let ours = LocalInfo::new("client", "1")
        .retain_revisions(Revision::is_legacy)
        .capability("tasks", capability(&["sampling/createMessage"], true));
    let client = connect(ours, samples.clone(), samples, here.0, here.1, Limits::default()).await.expect("connected");
    let created = client.peer.call_task::<CallToolRequest>(CallToolRequestParams::new("think")).await.expect("a task");
    let id = created.task.task_id;
    let result = client.peer.task_result::<CallToolRequest>(&id).await.expect("a result");
    let value = mcpgen_types::to_value(&result).expect("JSON");
    assert_eq!(value["content"][0]["text"], "model 1");
    let task = client.peer.call::<GetTaskRequest>(GetTaskRequestParams::new(&*id)).await.expect("a task");
    assert_eq!(task.status, TaskStatus::Completed);
    let cancelled = client.peer.call::<CancelTaskRequest>(CancelTaskRequestParams::new(&*id)).await;
    assert!(matches!(cancelled, Err(CallError::ErrorResponse(error)) if error.code.0 == -32602));
}

fn refused(error: CallError) -> ErrorObject {
    ErrorObject::new(-2, error.to_string())
}
