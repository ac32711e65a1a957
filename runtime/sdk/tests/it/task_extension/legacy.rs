//! The tasks of a server in legacy revisions.

use mcpgen_sdk::protocol::{ContextExt, PeerExt};
use mcpgen_sdk::server::RequestContext;

use super::*;

#[tokio::test]
async fn runs_calls_as_tasks_in_the_legacy_revision_with_tasks() {
    let client = connect(client(Revision::V2025_11_25)).await;
    assert!(client.peer().peer_info().expect("a server").can(&["tasks", "requests", "tools", "call"]));
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
async fn a_server_without_tasks_ignores_the_request_for_a_task() {
    let tool = Tool::new("plain", ToolInputSchema::new());
    let server = Server::builder("server", "1").tool(tool, || async { "plain" }).build();
    let mut remote = raw_peer(&server);
    let message = |id: u32, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let client = json!({ "name": "client", "version": "1" });
    let initialize = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    remote.request(&message(1, "initialize", initialize)).await;
    let response = remote.request(&message(2, "tools/call", json!({ "name": "plain", "task": {} }))).await;
    assert_eq!(response["result"]["content"][0]["text"], "plain", "{response}");
}

#[tokio::test]
async fn calls_run_directly_in_revisions_without_tasks() {
    let client = connect(client(Revision::V2025_06_18)).await;
    for name in ["optional", "required"] {
        assert_eq!(call(&client, name).await.expect("a result")["content"][0]["text"], name);
    }
}

#[tokio::test]
async fn the_client_runs_a_tool_that_requires_a_task_as_one() {
    let server = Server::builder("server", "1")
        .tasks(Tasks::new(InMemoryTaskStore::default(), limits()))
        .tool(tool("plain", TaskSupport::Optional), || async { "plain" })
        .tool(tool("reports", TaskSupport::Required), |context: RequestContext| async move {
            for step in 1..=3 {
                tokio::time::sleep(Duration::from_millis(30)).await;
                context.progress(f64::from(step), Some(3.0), None).await;
            }
            "done"
        })
        .tool(tool("asks", TaskSupport::Required), |context: RequestContext| greet(context))
        .tool(tool("fails", TaskSupport::Required), || async { Err::<(), _>(ToolError::failed("no")) })
        .tool(tool("breaks", TaskSupport::Required), || async {
            Err::<(), ToolError>(ErrorObject::new(ErrorCode(-7), "broken").into())
        })
        .build();
    let client = connect_to(server, client(Revision::V2025_11_25).tasks()).await;
    let text = |result: &CallToolResult| mcpgen_types::to_value(&result.content[0]).expect("JSON")["text"].clone();

    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let reports = client.tool("reports").on_progress(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    assert_eq!(text(&reports.await.expect("a result")), "done");
    assert_eq!(steps.load(Ordering::SeqCst), 3);
    let result = client.call_tool("plain", Default::default()).await.expect("a result");
    assert_eq!(text(&result), "plain");
    // The server requests input while the client waits for the result.
    let result = client.call_tool("asks", Default::default()).await.expect("a result");
    assert_eq!(text(&result), "Decline Decline");
    let result = client.call_tool("fails", Default::default()).await.expect("a result");
    assert_eq!((result.is_error, text(&result)), (Some(true), json!("no")));
    match client.call_tool("breaks", Default::default()).await {
        Err(CallError::ErrorResponse(error)) => assert_eq!(error.code, ErrorCode(-7)),
        other => panic!("expected the error of the tool, found {other:?}"),
    }
    let raw = client.tool("reports").raw().await.expect("a result").decode::<Value>().expect("JSON");
    assert_eq!((&raw["content"][0]["text"], raw.get("resultType")), (&json!("done"), None), "{raw}");
}

#[tokio::test]
async fn a_dropped_call_of_a_tool_that_requires_a_task_cancels_the_task() {
    let limits = limits().with_running(1);
    let server = Server::builder("server", "1")
        .tasks(Tasks::new(InMemoryTaskStore::default(), limits))
        .tool(tool("sleeps", TaskSupport::Required), std::future::pending::<String>)
        .tool(tool("required", TaskSupport::Required), || async { "required" })
        .build();
    let client = connect_to(server, client(Revision::V2025_11_25).tasks()).await;
    let call = client.tool("sleeps").timeout(Duration::from_millis(200));
    assert!(matches!(call.await, Err(CallError::Timeout { .. })));
    while client.call_tool("required", Default::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Connects to a server whose only tool requires a task, and which adds the tool after the first `tools/list`. Also
/// returns the number of these requests.
async fn connect_to_late_tool() -> (Client, Arc<AtomicUsize>) {
    let (here, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let (mut remote, lists) = (RawPeer::new(here), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&lists);
    tokio::spawn(async move {
        let time = "2026-01-01T00:00:00Z";
        let task = |status: &str| json!({ "taskId": "1", "status": status, "createdAt": time, "lastUpdatedAt": time, "ttl": null, "pollInterval": 20 });
        loop {
            let request = remote.receive().await;
            let Some(id) = request.get("id") else { continue };
            let result = match request["method"].as_str().expect("a method") {
                "initialize" => json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": { "tools": {}, "tasks": { "requests": { "tools": { "call": {} } } } },
                    "serverInfo": { "name": "s", "version": "1" },
                }),
                "tools/list" if counted.fetch_add(1, Ordering::SeqCst) == 0 => json!({ "tools": [] }),
                "tools/list" => {
                    let execution = json!({ "taskSupport": "required" });
                    let schema = json!({ "type": "object" });
                    json!({ "tools": [{ "name": "late", "inputSchema": schema, "execution": execution }] })
                }
                "tools/call" if request["params"].get("task").is_some() => json!({ "task": task("working") }),
                "tools/call" => json!({ "content": [], "isError": true }),
                "tasks/get" => task("completed"),
                _ => json!({ "content": [] }),
            };
            remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
        }
    });
    let client = client(Revision::V2025_11_25).tasks();
    let client = client.connect(transport::lines::receive(reader, 1 << 20), transport::lines::send(writer)).await;
    (client.expect("a connection"), lists)
}

#[tokio::test]
async fn the_client_finds_tools_that_are_added_after_the_handshake() {
    let (client, lists) = connect_to_late_tool().await;
    let calls = (0..4).map(|_| client.call_tool("late", Default::default()));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(result.expect("a result").is_error, None);
    }
    // The client remembers that the tool requires a task, although it does not cache the list.
    let before = lists.load(Ordering::SeqCst);
    assert!(before > 1);
    client.call_tool("late", Default::default()).await.expect("a result");
    assert_eq!(lists.load(Ordering::SeqCst), before);
}
