//! The extension `io.modelcontextprotocol/tasks` of 2026-07-28, and the tasks of `Server` in 2025-11-25.

#![cfg(feature = "tasks")]

use std::time::Duration;

use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::server::{RequestContext, ToolError, ToolInfo};
use mcpgen_runtime::tasks::{InMemoryTaskStore, TaskLimits, TaskSupport, Tasks, TasksExtension};
use mcpgen_runtime::{Client, ClientBuilder, Server, serve, transport};
use mcpgen_types::ext::tasks::{CancelTaskResult, CreateTaskResult, GetTaskResult, UpdateTaskResult};
use mcpgen_types::v2026_07_28::{ElicitRequestFormParams, ElicitResult, ElicitResultAction, Tool, ToolInputSchema};
use mcpgen_types::{ErrorCode, ErrorObject, RawJson, Revision};
use serde_json::{Value, json};

const IDENTIFIER: &str = "io.modelcontextprotocol/tasks";

fn tool(name: &str, support: TaskSupport) -> ToolInfo {
    ToolInfo::from(Tool::new(ToolInputSchema::new(), name)).task(support)
}

async fn greet(context: RequestContext) -> Result<String, ToolError> {
    let form = json!({ "message": "Who?", "requestedSchema": { "type": "object", "properties": {} } });
    let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
    let first = context.elicit("first", form.clone()).await?.action;
    let second = context.elicit("second", form).await?.action;
    Ok(format!("{first:?} {second:?}"))
}

fn server() -> Server {
    let limits = TaskLimits { poll_interval: Duration::from_millis(20), ..TaskLimits::default() };
    Server::builder("server", "1")
        .tasks(Tasks::new(InMemoryTaskStore::default(), limits))
        .tool_with_schema(tool("plain", TaskSupport::Forbidden), |_, _| async { "plain" })
        .tool_with_schema(tool("optional", TaskSupport::Optional), |_, _| async { "optional" })
        .tool_with_schema(tool("required", TaskSupport::Required), |_, _| async { "required" })
        .tool_with_schema(tool("fails", TaskSupport::Optional), |_, _| async { Err::<(), _>(ToolError::failed("no")) })
        .tool_with_schema(tool("breaks", TaskSupport::Optional), |_, _| async {
            Err::<(), ToolError>(ErrorObject::new(ErrorCode::INTERNAL_ERROR, "broken").into())
        })
        .tool_with_schema(tool("sleeps", TaskSupport::Optional), |_, _| std::future::pending::<String>())
        .tool_with_schema(tool("asks", TaskSupport::Optional), |context, _| greet(context))
        .build()
}

fn client(revision: Revision) -> ClientBuilder {
    Client::builder("client", "1")
        .options(|options| options.local_info.revisions = vec![revision])
        .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Decline)) })
}

async fn connect(client: ClientBuilder) -> Client {
    let (here, there) = transport::duplex();
    tokio::spawn(serve(server(), there));
    client.connect(here.0, here.1).await.expect("a connection")
}

async fn modern() -> Client {
    connect(client(Revision::V2026_07_28).tasks()).await
}

async fn send(client: &Client, method: &str, params: Value) -> Result<Value, ErrorObject> {
    match client.peer.raw_request(method, Some(RawJson::from(&params))).send().await {
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
        assert_eq!(error.data, Some(json!({ "requiredCapabilities": { "extensions": { IDENTIFIER: {} } } })));
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
async fn tasks_ask_for_input_one_request_after_the_other() {
    let client = modern().await;
    let id = start(&client, "asks").await;
    let update = async |responses: Value| {
        let params = json!({ "taskId": id, "inputResponses": responses });
        let ack = send(&client, "tasks/update", params).await.expect("an acknowledgement");
        mcpgen_types::from_value::<UpdateTaskResult>(ack).expect("valid")
    };
    let state = after(&client, &id, "working").await;
    assert_eq!(state["status"], "input_required", "{state}");
    assert_eq!(state["inputRequests"]["first"]["method"], "elicitation/create", "{state}");
    update(json!({ "second": { "action": "cancel" }, "other": { "action": "cancel" } })).await;
    assert_eq!(get(&client, &id).await["status"], "input_required", "only open requests count");
    update(json!({ "first": { "action": "accept" } })).await;
    let state = loop {
        let state = after(&client, &id, "working").await;
        if state["inputRequests"].get("first").is_none() {
            break state;
        }
    };
    assert!(state["inputRequests"].get("second").is_some(), "{state}");
    update(json!({ "second": { "action": "decline" } })).await;
    let state = after(&client, &id, "input_required").await;
    let state = if state["status"] == "working" { after(&client, &id, "working").await } else { state };
    assert_eq!(state["result"]["content"][0]["text"], "Accept Decline", "{state}");
}

#[tokio::test]
async fn the_client_waits_for_tasks_and_handles_their_input_requests() {
    let client = modern().await;
    let result = client.call_tool("asks", Default::default()).await.expect("a result");
    let text = mcpgen_types::to_value(&result.content).expect("content");
    assert_eq!(text[0]["text"], "Decline Decline");
    let error = client.call_tool("breaks", Default::default()).await.expect_err("an error");
    assert!(matches!(&error, CallError::ErrorResponse(error) if error.message == "broken"), "{error}");
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
    let error = send(&client, "tasks/cancel", cancel).await.expect_err("the task has ended");
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS, "{error}");
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
async fn declares_the_extension_only_in_modern_revisions() {
    let client = modern().await;
    assert!(client.peer.extension::<TasksExtension>().expect("settings").is_some());
    let capabilities = &client.peer.peer_info().expect("a server").capabilities;
    assert!(capabilities.get("tasks").is_none(), "{capabilities:?}");
    let tools = send(&client, "tools/list", json!({})).await.expect("tools");
    assert!(!tools.to_string().contains("taskSupport"), "{tools}");
}

#[tokio::test]
async fn runs_calls_as_tasks_in_the_legacy_revision_with_tasks() {
    let client = connect(client(Revision::V2025_11_25)).await;
    assert!(client.peer.peer_info().expect("a server").can(&["tasks", "requests", "tools", "call"]));
    let tools = send(&client, "tools/list", json!({})).await.expect("tools");
    let support = |name: &str| {
        let tools = tools["tools"].as_array().expect("tools");
        tools.iter().find(|tool| tool["name"] == name).map(|tool| tool["execution"]["taskSupport"].clone())
    };
    assert_eq!(support("plain"), Some(Value::Null));
    assert_eq!(support("required"), Some(json!("required")));
    assert_eq!(call(&client, "optional").await.expect("a result")["content"][0]["text"], "optional");
    assert_eq!(call(&client, "required").await.expect_err("an error").code, ErrorCode::METHOD_NOT_FOUND);
    let as_task = |name: &str| json!({ "name": name, "task": {} });
    let error = send(&client, "tools/call", as_task("plain")).await.expect_err("an error");
    assert_eq!(error.code, ErrorCode::METHOD_NOT_FOUND);
    let created = send(&client, "tools/call", as_task("required")).await.expect("a task");
    let id = created["task"]["taskId"].as_str().expect("an ID").to_owned();
    let result = send(&client, "tasks/result", json!({ "taskId": id })).await.expect("a result");
    assert_eq!(result["content"][0]["text"], "required", "{result}");
}

#[tokio::test]
async fn calls_run_directly_in_revisions_without_tasks() {
    let client = connect(client(Revision::V2025_06_18)).await;
    for name in ["optional", "required"] {
        assert_eq!(call(&client, name).await.expect("a result")["content"][0]["text"], name);
    }
}
