//! The tasks of a server in legacy revisions.

use super::*;

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
async fn a_server_without_tasks_ignores_the_request_for_a_task() {
    let tool = Tool::new(ToolInputSchema::new(), "plain");
    let server = Server::builder("server", "1").tool_with_schema(tool, |_, _| async { "plain" }).build();
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
