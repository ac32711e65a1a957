//! Tasks through bridges.

#![cfg(feature = "tasks")]
#![allow(deprecated, reason = "the newest revision deprecates kinds of input")]

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_bridge::Bridge;
use mcpgen_sdk::protocol::legacy::RELATED_TASK;
use mcpgen_sdk::protocol::{ContextExt, PeerExt};
use mcpgen_sdk::server::{RequestContext, ToolError, ToolInfo};
use mcpgen_sdk::tasks::{
    CallTasks, InMemoryTaskStore, ServeTasks, TaskLimits, TaskPeerExt, TaskSupport, TaskToolExt, Tasks, capability,
};
use mcpgen_sdk::{CallError, Client, ClientBuilder, Context, Server, serve, transport};
use mcpgen_types::v2025_11_25::{CreateMessageRequest, CreateMessageRequestParams, CreateMessageResult};
use mcpgen_types::v2026_07_28::{ElicitRequestFormParams, ElicitResult, ElicitResultAction, Tool, ToolInputSchema};
use mcpgen_types::{ErrorObject, Json, Revision};
use serde_json::{Value, json};
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(30);
const IDENTIFIER: &str = "io.modelcontextprotocol/tasks";

async fn in_time<T>(future: impl Future<Output = T>) -> T {
    timeout(DEADLINE, future).await.expect("in time")
}

fn tool(name: &str, support: TaskSupport) -> ToolInfo {
    ToolInfo::from(Tool::new(name, ToolInputSchema::new())).task(support)
}

fn limits() -> TaskLimits {
    TaskLimits::default().with_poll_interval(Duration::from_millis(20)).with_page_size(3)
}

fn tasks() -> Tasks {
    Tasks::new(InMemoryTaskStore::default(), limits())
}

fn server() -> Server {
    Server::builder("behind", "1")
        .setup(|setup| setup.declare_capability("tasks", capability(&["tools/call"], true)))
        .tasks(tasks())
        .tool(tool("plain", TaskSupport::Forbidden), || async { "plain" })
        .tool(tool("optional", TaskSupport::Optional), |context: RequestContext| async move {
            context.progress(1.0, Some(2.0), Some("half")).await;
            "optional"
        })
        .tool(tool("required", TaskSupport::Required), || async { "required" })
        .tool(tool("sleeps", TaskSupport::Optional), std::future::pending::<String>)
        .tool(tool("asks", TaskSupport::Optional), |context: RequestContext| ask(context))
        .tool(tool("must_ask", TaskSupport::Required), |context: RequestContext| ask(context))
        .tool(tool("delegates", TaskSupport::Optional), |context: RequestContext| delegate(context))
        .build()
}

async fn ask(context: RequestContext) -> Result<String, ToolError> {
    let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
    let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
    let first = context.elicit("first", form.clone()).await?.action;
    let second = context.elicit("second", form).await?.action;
    Ok(format!("{first:?} {second:?}"))
}

/// Lets the client sample in a task.
async fn delegate(context: RequestContext) -> Result<String, ToolError> {
    let params = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "hello" } }], "maxTokens": 5, "task": {},
    });
    let params: CreateMessageRequestParams = mcpgen_types::from_value(params).expect("params");
    let context: &Context = context.as_ref();
    let peer = context.peer();
    let created = peer.call_task::<CreateMessageRequest>(params).await?;
    let id = created.task.task_id;
    let request = |method: &str| peer.raw_request(method, Some(Json::from(&json!({ "taskId": id }))));
    let listed = peer.raw_request("tasks/list", None).await?;
    let result = peer.task_result::<CreateMessageRequest>(&id).await?;
    let state = request("tasks/get").await?.to_value();
    let unknown = peer.raw_request("tasks/get", Some(Json::from(&json!({ "taskId": "unknown" })))).await;
    Ok(format!(
        "{} of {} tasks, {}, cancelled: {}, unknown: {}",
        result.model,
        listed.to_value()["tasks"].as_array().map_or(0, Vec::len),
        state["status"],
        request("tasks/cancel").await.is_ok(),
        unknown.is_ok(),
    ))
}

/// What a client has received.
type Received = Arc<Mutex<Vec<Value>>>;

/// A client that records notifications and requests for input. It runs sampling as tasks in 2025-11-25.
fn client(revision: Revision, has_extension: bool) -> (ClientBuilder, Received) {
    let received = Received::default();
    let (asked, notified) = (Arc::clone(&received), Arc::clone(&received));
    let client = Client::builder("in front", "1")
        .revisions([revision])
        .on_elicitation(move |context: Context, _| {
            let related = context.meta().get(RELATED_TASK).map(|task| task.to_value());
            asked.lock().expect("no panic").push(json!({ "asked": related }));
            async { Ok(ElicitResult::new(ElicitResultAction::Accept)) }
        })
        .handlers(move |router| {
            ["tasks/status", "progress"].into_iter().fold(router, |router, name| {
                let notified = Arc::clone(&notified);
                router.custom_notification(format!("notifications/{name}"), move |_, params: Value| {
                    notified.lock().expect("no panic").push(json!({ name: params }));
                    async {}
                })
            })
        });
    if !revision.is_legacy() {
        return (if has_extension { client.tasks() } else { client }, received);
    }
    let sample = |_: Context, _: CreateMessageRequestParams| async {
        let result = json!({ "role": "assistant", "content": { "type": "text", "text": "hi" }, "model": "model" });
        Ok::<CreateMessageResult, ErrorObject>(mcpgen_types::from_value(result).expect("a result"))
    };
    let client = client
        .options(|options| {
            let capabilities = &mut options.local_info.capabilities;
            capabilities.insert("tasks", capability(&["sampling/createMessage"], true));
            capabilities.insert("sampling", json!({}));
        })
        .handlers(|router| tasks().on::<CreateMessageRequest>(router, |_| TaskSupport::Optional, sample));
    (client, received)
}

/// Connects a client to a server, directly or through a bridge.
async fn connect(client: ClientBuilder, behind: Revision, is_bridged: bool) -> Client {
    let (server_side, to_server) = transport::duplex();
    let server = server();
    let mut config = server.config().expect("valid definitions");
    config.local_info.revisions = vec![behind];
    tokio::spawn(serve((config, server.router()), server_side));
    if !is_bridged {
        return in_time(client.connect(to_server.0, to_server.1)).await.expect("a connection");
    }
    let (client_side, to_client) = transport::duplex();
    tokio::spawn(Bridge::new().run(to_client, |builder| builder.connect(to_server.0, to_server.1)));
    in_time(client.connect(client_side.0, client_side.1)).await.expect("a connection")
}

async fn send(client: &Client, method: &str, params: Value) -> Value {
    match in_time(client.peer().raw_request(method, Some(Json::from(&params))).send()).await {
        Ok(result) => result.to_value(),
        Err(CallError::ErrorResponse(error)) => {
            // Unlike the server, the bridge does not suggest similar methods.
            let message = error.message.split("; did you mean").next();
            json!({ "code": error.code.0, "message": message, "data": error.data })
        }
        Err(error) => json!({ "error": error.to_string() }),
    }
}

/// Polls a task until its status is none of `statuses`.
async fn after(client: &Client, id: &Value, statuses: &[&str]) -> Value {
    let poll = async {
        loop {
            let state = send(client, "tasks/get", json!({ "taskId": id })).await;
            if !statuses.iter().any(|status| state["status"] == *status) {
                return state;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(poll).await
}

/// Waits until the client has received what `wanted` finds.
async fn until<T>(received: &Received, wanted: impl Fn(&[Value]) -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(found) = wanted(&received.lock().expect("no panic")) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(wait).await
}

/// Replaces what differs between two runs: task IDs, times and cursors.
fn comparable(mut steps: Vec<Value>) -> Vec<Value> {
    fn walk(value: &mut Value, ids: &mut Vec<Value>) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    match name.as_str() {
                        "taskId" => {
                            let known = ids.iter().position(|id| id == value).unwrap_or_else(|| {
                                ids.push(value.clone());
                                ids.len() - 1
                            });
                            *value = json!(known);
                        }
                        "createdAt" | "lastUpdatedAt" | "nextCursor" => *value = json!("…"),
                        _ => walk(value, ids),
                    }
                }
            }
            Value::Array(elements) => elements.iter_mut().for_each(|element| walk(element, ids)),
            _ => {}
        }
    }
    let mut ids = Vec::new();
    steps.iter_mut().for_each(|step| walk(step, &mut ids));
    steps
}

fn is_status(message: &Value, id: &Value, status: &str) -> bool {
    message["tasks/status"]["taskId"] == *id && message["tasks/status"]["status"] == status
}

/// Uses tasks as a client of 2025-11-25 does. Returns what the client sees.
async fn legacy_steps(client: &Client, received: &Received) -> Vec<Value> {
    let mut steps = vec![send(client, "tools/list", json!({})).await];
    steps.push(client.peer().peer_info().expect("a server").capabilities.get("tasks").expect("tasks").to_value());
    let as_task = |name: &str| json!({ "name": name, "task": { "ttl": 60_000 }, "_meta": { "progressToken": "p" } });

    let created = send(client, "tools/call", as_task("optional")).await;
    let id = created["task"]["taskId"].clone();
    steps.push(created);
    steps.push(send(client, "tasks/result", json!({ "taskId": id })).await);
    steps.push(after(client, &id, &["working"]).await);
    // Progress and the status come after the response.
    for wanted in ["progress", "tasks/status"] {
        let found = |messages: &[Value]| messages.iter().find(|message| message.get(wanted).is_some()).cloned();
        steps.push(until(received, found).await);
    }
    steps.push(send(client, "tasks/cancel", json!({ "taskId": id })).await);

    let created = send(client, "tools/call", as_task("asks")).await;
    let id = created["task"]["taskId"].clone();
    after(client, &id, &["working"]).await;
    steps.push(send(client, "tasks/result", json!({ "taskId": id })).await);
    steps.push(after(client, &id, &["working", "input_required"]).await);
    for status in ["input_required", "completed"] {
        until(received, |messages| messages.iter().find(|it| is_status(it, &id, status)).map(|_| ())).await;
    }
    steps.extend(received.lock().expect("no panic").iter().filter(|message| message.get("asked").is_some()).cloned());

    let created = send(client, "tools/call", as_task("sleeps")).await;
    let id = created["task"]["taskId"].clone();
    steps.push(after(client, &id, &[]).await);
    for _ in 0..2 {
        steps.push(send(client, "tasks/cancel", json!({ "taskId": id })).await);
    }
    steps.push(send(client, "tasks/result", json!({ "taskId": id })).await);

    let created = send(client, "tools/call", as_task("delegates")).await;
    steps.push(send(client, "tasks/result", json!({ "taskId": created["task"]["taskId"] })).await);

    for name in ["plain", "required", "unknown"] {
        for params in [as_task(name), json!({ "name": name })] {
            let mut result = send(client, "tools/call", params).await;
            if let Some(task) = result.get("task") {
                result = after(client, &task["taskId"].clone(), &["working"]).await;
            }
            steps.push(result);
        }
    }
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        steps.push(send(client, method, json!({ "taskId": "unknown" })).await);
    }
    let first = send(client, "tasks/list", json!({})).await;
    let next = send(client, "tasks/list", json!({ "cursor": first["nextCursor"] })).await;
    steps.extend([first, next]);
    steps
}

/// Answers a task's open request for input.
async fn answer(client: &Client, id: &Value, key: &str) -> Value {
    let params = json!({ "taskId": id, "inputResponses": { key: { "action": "accept" } } });
    send(client, "tasks/update", params).await
}

/// Uses tasks as a client of 2026-07-28 with the extension does. Returns what the client sees.
async fn modern_steps(client: &Client, _: &Received) -> Vec<Value> {
    let mut steps = vec![send(client, "tools/list", json!({})).await];
    steps.push(client.peer().peer_info().expect("a server").capabilities.get("extensions").expect("some").to_value());
    let call = |name: &str| json!({ "name": name });
    steps.push(send(client, "tools/call", call("plain")).await);
    for name in ["optional", "required"] {
        let created = send(client, "tools/call", call(name)).await;
        let id = created["taskId"].clone();
        steps.push(created);
        steps.push(after(client, &id, &["working"]).await);
    }

    let id = send(client, "tools/call", call("asks")).await["taskId"].clone();
    let (sender, mut states) = tokio::sync::mpsc::unbounded_channel();
    let filter = json!({ "notifications": { "taskIds": ["unknown", id], "toolsListChanged": true } });
    let request = client.peer().raw_request("subscriptions/listen", Some(Json::from(&filter)));
    let _subscribed = request
        .idle_timeout(None)
        .timeout(None)
        .on_notification(Box::new(move |method, params| {
            let _ = sender.send((method.to_owned(), params.map(Json::to_value).unwrap_or_default()));
        }))
        .send();
    let (method, mut acknowledged) = in_time(states.recv()).await.expect("an acknowledgement");
    acknowledged.as_object_mut().expect("an object").remove("_meta");
    acknowledged["notifications"]["taskIds"] = json!(acknowledged["notifications"]["taskIds"] == json!([id]));
    steps.extend([json!(method), acknowledged]);
    for key in ["first", "second"] {
        let asks = async {
            loop {
                let (method, state) = states.recv().await.expect("a state");
                assert_eq!(method, "notifications/tasks");
                if state["inputRequests"].get(key).is_some() {
                    return state;
                }
            }
        };
        let mut state = in_time(asks).await;
        assert!(state["_meta"]["io.modelcontextprotocol/subscriptionId"].is_i64(), "{state}");
        state.as_object_mut().expect("an object").remove("_meta");
        steps.push(state);
        steps.push(answer(client, &id, key).await);
    }
    let completes = async {
        loop {
            let (_, state) = states.recv().await.expect("a state");
            if state["status"] == "completed" {
                return state["result"]["content"].clone();
            }
        }
    };
    steps.push(in_time(completes).await);
    steps.push(after(client, &id, &["working", "input_required"]).await);

    let id = send(client, "tools/call", call("sleeps")).await["taskId"].clone();
    for method in ["tasks/get", "tasks/cancel", "tasks/get", "tasks/cancel"] {
        steps.push(send(client, method, json!({ "taskId": id })).await);
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/list"] {
        steps.push(send(client, method, json!({ "taskId": "unknown", "inputResponses": {} })).await);
    }
    steps
}

/// Sends requests as a client of 2026-07-28 without the extension does. Returns what the client sees.
async fn steps_without_extension(client: &Client, _: &Received) -> Vec<Value> {
    let mut steps = vec![send(client, "tools/list", json!({})).await];
    for name in ["plain", "optional", "required"] {
        steps.push(send(client, "tools/call", json!({ "name": name })).await);
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/result", "tasks/list"] {
        steps.push(send(client, method, json!({ "taskId": "unknown", "inputResponses": {} })).await);
    }
    let filter = json!({ "notifications": { "taskIds": ["unknown"] } });
    steps.push(send(client, "subscriptions/listen", filter).await);
    steps
}

/// Compares what a client sees with and without a bridge.
async fn check<F: AsyncFn(&Client, &Received) -> Vec<Value>>(revision: Revision, has_extension: bool, steps: F) {
    let mut runs = Vec::new();
    for is_bridged in [false, true] {
        let (client, received) = client(revision, has_extension);
        let client = connect(client, revision, is_bridged).await;
        runs.push(comparable(steps(&client, &received).await));
    }
    let [direct, bridged] = &runs[..] else { panic!("two runs") };
    for (at, (direct, bridged)) in direct.iter().zip(bridged).enumerate() {
        assert_eq!(direct, bridged, "step {at}");
    }
    assert_eq!(direct.len(), bridged.len());
}

#[tokio::test]
async fn clients_use_tasks_as_without_a_bridge() {
    check(Revision::V2025_11_25, false, legacy_steps).await;
    check(Revision::V2026_07_28, true, modern_steps).await;
    check(Revision::V2026_07_28, false, steps_without_extension).await;
}

/// If the client and the server have different kinds of tasks, or one of them has none, calls wait for their results.
#[tokio::test]
async fn calls_wait_for_results_between_different_kinds() {
    const KINDS: [(Revision, bool); 4] = [
        (Revision::V2025_06_18, false),
        (Revision::V2025_11_25, false),
        (Revision::V2026_07_28, false),
        (Revision::V2026_07_28, true),
    ];
    for (front, has_extension) in KINDS {
        for behind in [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28] {
            let kind = (front == Revision::V2025_11_25, front == Revision::V2026_07_28);
            if kind == (behind == Revision::V2025_11_25, behind == Revision::V2026_07_28) {
                continue;
            }
            eprintln!("a client of {front} ({has_extension}) and a server of {behind}");
            let (client, _) = client(front, has_extension);
            let client = connect(client, behind, true).await;
            let info = client.peer().peer_info().expect("a server");
            // The bridge learns later which legacy revision the client has.
            let may_be_declared = front.is_legacy() && behind == Revision::V2025_11_25;
            assert!(!info.can(&["tasks"]) || may_be_declared, "{info:?}");
            assert!(!info.can(&["extensions", IDENTIFIER]), "{info:?}");
            let tools = send(&client, "tools/list", json!({})).await;
            assert!(!tools.to_string().contains("taskSupport"), "{tools}");
            for (tool, expected) in [
                ("plain", "plain"),
                ("optional", "optional"),
                ("required", "required"),
                ("asks", "Accept Accept"),
                ("must_ask", "Accept Accept"),
            ] {
                let result = in_time(client.call_tool(tool, Default::default())).await;
                let result = result.unwrap_or_else(|error| panic!("{tool}: {error}"));
                let content = mcpgen_types::to_value(&result.content).expect("content");
                assert_eq!(content[0]["text"], expected, "{tool}: {content}");
            }
            // A server that did not declare tasks ignores `task`.
            let result = send(&client, "tools/call", json!({ "name": "plain", "task": {} })).await;
            let is_not_sent = result["error"].to_string().contains("has not declared");
            assert!(result["content"][0]["text"] == "plain" || is_not_sent, "{result}");
            let error = send(&client, "tasks/get", json!({ "taskId": "1" })).await;
            let is_refused = error["code"] == -32601 || error["code"] == -32602;
            assert!(is_refused || error["error"].to_string().contains("has not declared"), "{error}");
        }
    }
}

/// The bridge runs the call as a task on the server, although the client does not know tasks of this kind.
#[tokio::test]
async fn a_dropped_call_cancels_the_task_of_the_bridge() {
    for (front, behind) in
        [(Revision::V2025_06_18, Revision::V2025_11_25), (Revision::V2025_11_25, Revision::V2026_07_28)]
    {
        let stopped = Arc::new(tokio::sync::Notify::new());
        let notified = Arc::clone(&stopped);
        let (begun, mut has_begun) = tokio::sync::mpsc::channel(1);
        let server = Server::builder("behind", "1")
            .tasks(tasks())
            .tool(tool("sleeps", TaskSupport::Required), move || {
                let stops = NotifyOnDrop(Arc::clone(&notified));
                let _ = begun.try_send(());
                async move {
                    let _stops = stops;
                    std::future::pending::<String>().await
                }
            })
            .build();
        let (server_side, to_server) = transport::duplex();
        let mut config = server.config().expect("valid definitions");
        config.local_info.revisions = vec![behind];
        tokio::spawn(serve((config, server.router()), server_side));
        let (client_side, to_client) = transport::duplex();
        tokio::spawn(Bridge::new().run(to_client, |builder| builder.connect(to_server.0, to_server.1)));
        let (client, _) = client(front, false);
        let client = in_time(client.connect(client_side.0, client_side.1)).await.expect("a connection");
        let call = tokio::spawn(async move { client.call_tool("sleeps", Default::default()).await });
        in_time(has_begun.recv()).await.expect("a task");
        call.abort();
        in_time(stopped.notified()).await;
    }
}

struct NotifyOnDrop(Arc<tokio::sync::Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
