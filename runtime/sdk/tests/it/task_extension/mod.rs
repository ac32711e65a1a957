//! The extension `io.modelcontextprotocol/tasks` of 2026-07-28, and the tasks of `Server` in 2025-11-25.

#![cfg(feature = "tasks")]

mod input;
mod legacy;
mod notifications;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[cfg(feature = "http-client")]
use mcpgen_sdk::http::client::ConnectHttp;
#[cfg(feature = "http-server")]
use mcpgen_sdk::http::server::ServeHttp;
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::config::ServerConfig;
use mcpgen_sdk::protocol::{ContextExt, PeerExt, RouterExt};
use mcpgen_sdk::server::{InputRequired, RequestContext, ToolError, ToolInfo};
use mcpgen_sdk::tasks::{
    CallTasks, InMemoryTaskStore, ServeTasks, TaskContextExt, TaskLimits, TaskSupport, TaskToolExt, Tasks,
    TasksExtension,
};
use mcpgen_sdk::{Client, ClientBuilder, Context, Limits, LocalInfo, Router, Server, serve, transport};
use mcpgen_types::ext::tasks::{
    CancelTaskResult, CreateTaskResult, GetTaskResult, TaskStatusNotification, UpdateTaskResult,
};
use mcpgen_types::v2026_07_28::{
    CallToolRequestParams, CallToolResult, ElicitRequest, ElicitRequestFormParams, ElicitResult, ElicitResultAction,
    InputRequests, InputRequiredOrCallToolResult, InputRequiredResult, SubscriptionFilter, TextContent, Tool,
    ToolInputSchema,
};
use mcpgen_types::{ErrorCode, ErrorObject, Json, Revision};
use serde_json::{Value, json};

use crate::support::{self, RawPeer};

const IDENTIFIER: &str = "io.modelcontextprotocol/tasks";

fn tool(name: &str, support: TaskSupport) -> ToolInfo {
    ToolInfo::from(Tool::new(name, ToolInputSchema::new())).task(support)
}

fn deferred(name: &str, support: TaskSupport) -> ToolInfo {
    ToolInfo::from(Tool::new(name, ToolInputSchema::new())).deferred_task(support)
}

async fn greet(context: RequestContext) -> Result<String, ToolError> {
    let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
    let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
    let first = context.elicit("first", form.clone()).await?.action;
    let second = context.elicit("second", form).await?.action;
    Ok(format!("{first:?} {second:?}"))
}

/// Asks two questions at once.
async fn ask_both(context: RequestContext) -> Result<String, ToolError> {
    let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
    let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
    let (first, second) = tokio::join!(context.elicit("first", form.clone()), context.elicit("second", form));
    Ok(format!("{:?} {:?}", first?.action, second?.action))
}

/// Asks by returning input requests, until the answer is `accept`.
async fn insist(context: RequestContext) -> Result<String, ToolError> {
    let answer = context.input::<ElicitRequest>("answer")?;
    if answer.is_some_and(|answer| answer.action == ElicitResultAction::Accept) {
        return Ok("thanks".to_owned());
    }
    let form = json!({ "message": "Please?", "requestedSchema": { "type": "object", "properties": {} } });
    let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
    let requests = InputRequests::from([("answer".to_owned(), ElicitRequest::new(form).into())]);
    Err(InputRequired::new(InputRequiredResult::new().with_input_requests(requests)).into())
}

fn limits() -> TaskLimits {
    TaskLimits::default().with_poll_interval(Duration::from_millis(20))
}

fn server() -> Server {
    server_with(Tasks::new(InMemoryTaskStore::default(), limits()))
}

fn server_with(tasks: Tasks) -> Server {
    let runs = AtomicUsize::new(0);
    Server::builder("server", "1")
        .tasks(tasks)
        .tool(tool("both", TaskSupport::Optional), move |context: RequestContext| {
            let run = runs.fetch_add(1, Ordering::SeqCst);
            async move { ask_both(context).await.map(|answers| format!("{answers} in run {run}")) }
        })
        .tool(deferred("defers", TaskSupport::Required), |context: RequestContext| async move {
            let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
            let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
            let first = context.elicit("first", form.clone()).await?.action;
            if first == ElicitResultAction::Cancel {
                return Ok("nothing to do".to_owned());
            }
            context.start_task()?;
            let second = context.elicit("second", form).await?.action;
            Ok::<_, ToolError>(format!("{first:?} {second:?}"))
        })
        .tool(tool("panics", TaskSupport::Optional), || async { panic!("a bug") as &str })
        .tool(tool("insists", TaskSupport::Optional), |context: RequestContext| insist(context))
        .tool(tool("plain", TaskSupport::Forbidden), || async { "plain" })
        .tool(tool("optional", TaskSupport::Optional), || async { "optional" })
        .tool(tool("required", TaskSupport::Required), || async { "required" })
        .tool(tool("fails", TaskSupport::Optional), || async { Err::<(), _>(ToolError::failed("no")) })
        .tool(tool("breaks", TaskSupport::Optional), || async {
            Err::<(), ToolError>(ErrorObject::new(ErrorCode::INTERNAL_ERROR, "broken").into())
        })
        .tool(tool("sleeps", TaskSupport::Optional), std::future::pending::<String>)
        .tool(tool("asks", TaskSupport::Optional), |context: RequestContext| greet(context))
        .build()
}

fn client(revision: Revision) -> ClientBuilder {
    Client::builder("client", "1")
        .revisions([revision])
        .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Decline)) })
}

async fn connect(client: ClientBuilder) -> Client {
    connect_to(server(), client).await
}

async fn connect_to(server: Server, client: ClientBuilder) -> Client {
    let (here, there) = transport::duplex();
    tokio::spawn(serve(server, there));
    client.connect(here.0, here.1).await.expect("a connection")
}

async fn modern() -> Client {
    connect(client(Revision::V2026_07_28).tasks()).await
}

async fn send(client: &Client, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match client.peer().raw_request(method, Some(Json::from(&params))).send().await {
        Ok(result) => Ok(result.decode().expect("JSON")),
        Err(CallError::ErrorResponse(error)) => Err(error),
        Err(error) => panic!("{method}: {error}"),
    }
}

async fn call(client: &Client, name: &str) -> Result<Value, ErrorObject> {
    send(client, "tools/call", json!({ "name": name })).await
}

/// Starts a call that becomes a task, and returns the ID of the task.
async fn start(client: &Client, name: &str) -> String {
    let created = call(client, name).await.expect("a task");
    assert_eq!(created["resultType"], "task", "{created}");
    let created: CreateTaskResult = mcpgen_types::from_value(created).expect("a valid task");
    created.task_id
}

async fn get(client: &Client, id: &str) -> Value {
    let state = send(client, "tasks/get", json!({ "taskId": id })).await.expect("a task");
    assert_eq!(state["resultType"], "complete");
    mcpgen_types::from_value::<GetTaskResult>(state.clone()).unwrap_or_else(|error| panic!("{error}: {state}"));
    state
}

/// Polls a task until its status is not the given one.
async fn after(client: &Client, id: &str, status: &str) -> Value {
    loop {
        let state = get(client, id).await;
        if state["status"] != status {
            return state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns a request with the metadata of a client, with or without the extension.
fn request(id: &str, method: &str, params: Value, has_extension: bool) -> String {
    let mut params = params;
    let capabilities = match has_extension {
        true => json!({ "elicitation": {}, "extensions": { IDENTIFIER: {} } }),
        false => json!({}),
    };
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn raw_peer(server: &Server) -> RawPeer {
    let router = server.router();
    let handled = router.handled(mcpgen_sdk::protocol::Role::Server);
    let protocol = Arc::new(server.config().expect("a valid server").protocol(&handled));
    RawPeer::connect(|pipe| support::run(router, protocol, Limits::default(), pipe)).0
}

#[tokio::test]
async fn runs_calls_as_tasks_for_clients_with_the_extension() {
    let client = modern().await;
    assert_eq!(call(&client, "plain").await.expect("a result")["content"][0]["text"], "plain");
    for name in ["optional", "required"] {
        let id = start(&client, name).await;
        let state = after(&client, &id, "working").await;
        assert_eq!((&state["status"], &state["result"]["content"][0]["text"]), (&json!("completed"), &json!(name)));
        assert_eq!((&state["taskId"], &state["pollIntervalMs"]), (&json!(id), &json!(20)));
    }
}

#[tokio::test]
async fn clients_without_the_extension_get_results_or_errors() {
    let client = connect(client(Revision::V2026_07_28)).await;
    assert_eq!(call(&client, "optional").await.expect("a result")["resultType"], "complete");
    for result in [
        call(&client, "required").await,
        send(&client, "tasks/get", json!({ "taskId": "x" })).await,
        send(&client, "tasks/update", json!({ "taskId": "x", "inputResponses": {} })).await,
        send(&client, "tasks/cancel", json!({ "taskId": "x" })).await,
    ] {
        let error = result.expect_err("an error");
        assert_eq!(error.code, ErrorCode(-32021), "{error}");
        let required = json!({ "requiredCapabilities": { "extensions": { IDENTIFIER: {} } } });
        assert_eq!(error.data, Some(required.into()));
    }
}

#[tokio::test]
async fn only_json_rpc_errors_fail_a_task() {
    let client = modern().await;
    let id = start(&client, "fails").await;
    let state = after(&client, &id, "working").await;
    assert_eq!((&state["status"], &state["result"]["isError"]), (&json!("completed"), &json!(true)), "{state}");
    let id = start(&client, "breaks").await;
    let state = after(&client, &id, "working").await;
    assert_eq!((&state["status"], &state["error"]["message"]), (&json!("failed"), &json!("broken")), "{state}");
    assert!(state.get("result").is_none(), "{state}");
}

#[tokio::test]
async fn cancels_tasks() {
    let client = modern().await;
    let id = start(&client, "sleeps").await;
    assert_eq!(get(&client, &id).await["status"], "working");
    let cancel = json!({ "taskId": id });
    let ack = send(&client, "tasks/cancel", cancel.clone()).await.expect("an acknowledgement");
    mcpgen_types::from_value::<CancelTaskResult>(ack.clone()).expect("valid");
    assert!(ack.get("taskId").is_none(), "{ack}");
    assert_eq!(after(&client, &id, "working").await["status"], "cancelled");
    send(&client, "tasks/cancel", cancel).await.expect("another acknowledgement");
    let id = start(&client, "optional").await;
    assert_eq!(after(&client, &id, "working").await["status"], "completed");
    send(&client, "tasks/cancel", json!({ "taskId": id })).await.expect("an acknowledgement");
    assert_eq!(get(&client, &id).await["status"], "completed");
}

#[tokio::test]
async fn rejects_unknown_tasks_and_removed_methods() {
    let client = modern().await;
    for (method, code) in [
        ("tasks/get", ErrorCode::INVALID_PARAMS),
        ("tasks/update", ErrorCode::INVALID_PARAMS),
        ("tasks/cancel", ErrorCode::INVALID_PARAMS),
        ("tasks/result", ErrorCode::METHOD_NOT_FOUND),
        ("tasks/list", ErrorCode::METHOD_NOT_FOUND),
    ] {
        let params = json!({ "taskId": "unknown", "inputResponses": {} });
        assert_eq!(send(&client, method, params).await.expect_err("an error").code, code, "{method}");
    }
}

#[tokio::test]
async fn modern_revisions_have_no_capability_or_member_for_tasks() {
    let client = modern().await;
    assert!(client.peer().extension::<TasksExtension>().expect("settings").is_some());
    let capabilities = &client.peer().peer_info().expect("a server").capabilities;
    assert!(capabilities.get("tasks").is_none(), "{capabilities:?}");
    let tools = send(&client, "tools/list", json!({})).await.expect("tools");
    assert!(!tools.to_string().contains("taskSupport"), "{tools}");
}

#[tokio::test]
async fn servers_with_a_shared_store_handle_the_requests_of_each_other() {
    let store = Arc::new(InMemoryTaskStore::default());
    let limits = limits().with_running(1);
    let replica = || server_with(Tasks::new(Arc::clone(&store), limits.clone()));
    let here = connect_to(replica(), client(Revision::V2026_07_28).tasks()).await;
    let there = connect_to(replica(), client(Revision::V2026_07_28).tasks()).await;

    let id = start(&here, "asks").await;
    for key in ["first", "second"] {
        while get(&there, &id).await["inputRequests"].get(key).is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let params = json!({ "taskId": id, "inputResponses": { key: { "action": "accept" } } });
        send(&there, "tasks/update", params).await.expect("an acknowledgement");
    }
    assert_eq!(after(&there, &id, "working").await["result"]["content"][0]["text"], "Accept Accept");

    let id = start(&here, "sleeps").await;
    let error = call(&here, "sleeps").await.expect_err("the only slot is taken");
    assert!(error.message.contains("too many tasks"), "{error}");
    send(&there, "tasks/cancel", json!({ "taskId": id })).await.expect("an acknowledgement");
    assert_eq!(get(&here, &id).await["status"], "cancelled");
    // The process that runs the task stops it soon, which frees the slot.
    while call(&here, "optional").await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn tasks_belong_to_their_owners() {
    let store = Arc::new(InMemoryTaskStore::default());
    let replica =
        |owner: &'static str| server_with(Tasks::owned_by(Arc::clone(&store), limits(), move |_| owner.to_owned()));
    let alice = connect_to(replica("alice"), client(Revision::V2026_07_28).tasks()).await;
    let bob = connect_to(replica("bob"), client(Revision::V2026_07_28).tasks()).await;
    let id = start(&alice, "sleeps").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": id, "inputResponses": {} });
        assert_eq!(send(&bob, method, params).await.expect_err("an error").code, ErrorCode::INVALID_PARAMS, "{method}");
    }
    assert_eq!(get(&alice, &id).await["status"], "working");
}

#[tokio::test]
async fn a_dropped_call_cancels_its_task() {
    let limits = limits().with_running(1);
    let server = server_with(Tasks::new(InMemoryTaskStore::default(), limits));
    let client = connect_to(server, client(Revision::V2026_07_28).tasks()).await;
    let call_and_drop =
        tokio::time::timeout(Duration::from_millis(200), client.call_tool("sleeps", Default::default()));
    call_and_drop.await.expect_err("the call does not end");
    while call(&client, "optional").await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_handler_of_a_router_runs_calls_as_tasks() {
    let extension = TasksExtension::new(Tasks::new(InMemoryTaskStore::default(), limits()));
    let support = |name: &str| match name {
        "never" => TaskSupport::Forbidden,
        _ => TaskSupport::Required,
    };
    let router = extension.tool_calls(Router::new(), support, |context: Context, params: CallToolRequestParams| {
        let answer = context.input::<ElicitRequest>("answer");
        async move {
            let form = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
            let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
            let requests = InputRequests::from([("answer".to_owned(), ElicitRequest::new(form).into())]);
            Ok::<InputRequiredOrCallToolResult, ErrorObject>(match (params.name.as_str(), answer?) {
                ("asks", None) => InputRequiredResult::new().with_input_requests(requests).into(),
                (name, _) => CallToolResult::new([TextContent::new(name).into()]).into(),
            })
        }
    });
    let info = LocalInfo::new("server", "1").capability("tools", json!({}));
    let config = ServerConfig::from(info).extension(&extension);
    let (here, there) = transport::duplex();
    tokio::spawn(serve((config.clone(), router.clone()), there));
    let with = client(Revision::V2026_07_28).tasks().connect(here.0, here.1).await.expect("a connection");
    assert_eq!(call(&with, "never").await.expect("a result")["content"][0]["text"], "never");
    assert_eq!(call(&with, "asks").await.expect("a task")["resultType"], "task");
    let result = with.call_tool("asks", Default::default()).await.expect("a result");
    assert_eq!(mcpgen_types::to_value(&result.content).expect("content")[0]["text"], "asks");

    let (here, there) = transport::duplex();
    tokio::spawn(serve((config, router), there));
    let without = client(Revision::V2026_07_28).connect(here.0, here.1).await.expect("a connection");
    assert_eq!(call(&without, "never").await.expect("a result")["content"][0]["text"], "never");
    assert_eq!(call(&without, "asks").await.expect_err("an error").code, ErrorCode(-32021));
}

#[tokio::test]
async fn a_panic_fails_the_task() {
    let client = modern().await;
    let id = start(&client, "panics").await;
    let state = after(&client, &id, "working").await;
    assert_eq!((&state["status"], &state["error"]["code"]), (&json!("failed"), &json!(-32603)), "{state}");
}

#[tokio::test]
async fn expired_tasks_stop_and_are_unknown() {
    let limits = limits().with_running(1).with_ttl(Duration::from_millis(200));
    let server = server_with(Tasks::new(InMemoryTaskStore::default(), limits));
    let client = connect_to(server, client(Revision::V2026_07_28).tasks()).await;
    let id = start(&client, "sleeps").await;
    assert_eq!(get(&client, &id).await["ttlMs"], 200);
    while call(&client, "optional").await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let error = send(&client, "tasks/get", json!({ "taskId": id })).await.expect_err("no task");
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{error}");
}

#[cfg(all(feature = "http-server", feature = "http-client"))]
#[tokio::test]
async fn clients_send_the_id_of_a_task_as_a_header() {
    let endpoint = server().http(Default::default()).expect("a valid server");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let names = Arc::<std::sync::Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&names);
    let app = axum::Router::new().route_service("/mcp", endpoint).layer(axum::middleware::from_fn(
        move |request: axum::extract::Request, next: axum::middleware::Next| {
            let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
            if header("mcp-method").is_some_and(|method| method.starts_with("tasks/")) {
                seen.lock().expect("names").push(header("mcp-name").unwrap_or("none").to_owned());
            }
            next.run(request)
        },
    ));
    tokio::spawn(async move { axum::serve(listener, app).await });
    let client = client(Revision::V2026_07_28).tasks();
    let client = client.connect_http(&url, Default::default()).await.expect("a server");
    // The server rejects a header that does not match the params.
    let result = client.call_tool("asks", Default::default()).await.expect("a result");
    assert_eq!(mcpgen_types::to_value(&result.content).expect("content")[0]["text"], "Decline Decline");
    let names = names.lock().expect("names").clone();
    assert!(names.len() >= 3 && names.iter().all(|name| name.len() == 32 && *name == names[0]), "{names:?}");
}
