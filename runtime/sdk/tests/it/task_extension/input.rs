//! Input requests of tasks.

use super::*;

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
    update(json!({ "second": { "action": "cancel" }, "other": { "ignored": true } })).await;
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
async fn a_function_waits_for_several_inputs_at_once() {
    let client = modern().await;
    let id = start(&client, "both").await;
    let update = async |responses: Value| {
        let params = json!({ "taskId": id, "inputResponses": responses });
        send(&client, "tasks/update", params).await.expect("an acknowledgement");
    };
    let state = loop {
        let state = get(&client, &id).await;
        if state["inputRequests"].as_object().is_some_and(|requests| requests.len() == 2) {
            break state;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(state["inputRequests"]["second"]["method"], "elicitation/create", "{state}");
    update(json!({ "second": { "action": "decline" } })).await;
    let state = get(&client, &id).await;
    assert_eq!(state["status"], "input_required");
    assert!(state["inputRequests"].get("second").is_none() && state["inputRequests"].get("first").is_some(), "{state}");
    update(json!({ "first": { "action": "accept" } })).await;
    let state = after(&client, &id, "working").await;
    assert_eq!(state["result"]["content"][0]["text"], "Accept Decline in run 0", "{state}");
}

#[tokio::test]
async fn a_result_that_requests_input_again_uses_another_key() {
    let client = modern().await;
    let id = start(&client, "insists").await;
    for (key, action) in [("answer", "decline"), ("answer-2", "cancel"), ("answer-3", "accept")] {
        let state = after(&client, &id, "working").await;
        assert!(state["inputRequests"].get(key).is_some(), "{key}: {state}");
        let params = json!({ "taskId": id, "inputResponses": { key: { "action": action } } });
        send(&client, "tasks/update", params).await.expect("an acknowledgement");
    }
    let state = after(&client, &id, "working").await;
    assert_eq!(state["result"]["content"][0]["text"], "thanks", "{state}");
}

#[tokio::test]
async fn fails_if_the_client_does_not_support_the_input() {
    let client = Client::builder("client", "1").tasks();
    let client = connect(client).await;
    let id = start(&client, "asks").await;
    let state = after(&client, &id, "working").await;
    assert_eq!((&state["status"], &state["error"]["code"]), (&json!("failed"), &json!(-32021)), "{state}");
}

#[tokio::test]
async fn a_function_can_ask_before_its_call_becomes_a_task() {
    let client = modern().await;
    for (action, is_task) in [("accept", true), ("cancel", false)] {
        let first = call(&client, "defers").await.expect("a request for input");
        assert_eq!(first["resultType"], "input_required", "{first}");
        let params = json!({
            "name": "defers",
            "inputResponses": { "first": { "action": action } },
            "requestState": first["requestState"],
        });
        let second = send(&client, "tools/call", params).await.expect("a result");
        if !is_task {
            assert_eq!(
                (&second["resultType"], &second["content"][0]["text"]),
                (&json!("complete"), &json!("nothing to do"))
            );
            continue;
        }
        let task: CreateTaskResult = mcpgen_types::from_value(second.clone()).expect("a task");
        assert!(second.get("requestState").is_none(), "{second}");
        let state = after(&client, &task.task_id, "working").await;
        assert!(state["inputRequests"].get("second").is_some(), "{state}");
        let params = json!({ "taskId": task.task_id, "inputResponses": { "second": { "action": "decline" } } });
        send(&client, "tasks/update", params).await.expect("an acknowledgement");
        let state = after(&client, &task.task_id, "working").await;
        assert_eq!(state["result"]["content"][0]["text"], "Accept Decline", "{state}");
    }
    let text = client.call_tool("defers", Default::default()).await.expect("a result").content;
    assert_eq!(mcpgen_types::to_value(&text).expect("content")[0]["text"], "Decline Decline");
}

#[tokio::test]
async fn a_call_that_may_become_a_task_keeps_its_arguments_in_all_rounds() {
    let client = modern().await;
    let with = |arguments: Value| json!({ "name": "defers", "arguments": arguments });
    let first = send(&client, "tools/call", with(json!({ "a": 1 }))).await.expect("a request for input");
    for (arguments, is_same) in [(json!({ "a": 2 }), false), (json!({ "a": 1 }), true)] {
        let mut params = with(arguments.clone());
        params["inputResponses"] = json!({ "first": { "action": "cancel" } });
        params["requestState"] = first["requestState"].clone();
        let second = send(&client, "tools/call", params).await;
        assert_eq!(second.is_ok(), is_same, "{arguments}: {second:?}");
    }
}
