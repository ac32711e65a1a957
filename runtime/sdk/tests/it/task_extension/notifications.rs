//! Status notifications of tasks.

use super::*;

#[tokio::test]
async fn notifies_subscribers_of_each_status_in_full() {
    let mut remote = raw_peer(&server());
    let created = remote.request(&request("c", "tools/call", json!({ "name": "asks" }), true)).await;
    let id = created["result"]["taskId"].as_str().expect("a task").to_owned();
    let filter = json!({ "notifications": { "taskIds": ["unknown", id], "toolsListChanged": true } });
    let acknowledged = remote.request(&request("s", "subscriptions/listen", filter, true)).await;
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({ "taskIds": [id], "toolsListChanged": true }),
        "{acknowledged}"
    );
    for key in ["first", "second"] {
        loop {
            let notification = remote.receive().await;
            // Responses and notifications may arrive in any order.
            if notification.get("method").is_none() {
                continue;
            }
            assert_eq!(notification["method"], "notifications/tasks", "{notification}");
            assert_eq!(notification["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
            let decoded = mcpgen_types::from_value::<TaskStatusNotification>(notification.clone());
            decoded.unwrap_or_else(|error| panic!("{error}: {notification}"));
            if notification["params"]["inputRequests"].get(key).is_some() {
                break;
            }
            assert_eq!(notification["params"]["status"], "working", "{notification}");
        }
        let params = json!({ "taskId": id, "inputResponses": { key: { "action": "accept" } } });
        remote.send(&request(key, "tasks/update", params, true)).await;
    }
    let mut statuses = Vec::new();
    while statuses.last().is_none_or(|last| last != "completed") {
        let message = remote.receive().await;
        if message.get("method").is_some() {
            statuses.push(message["params"]["status"].clone());
            if message["params"]["status"] == "completed" {
                assert_eq!(message["params"]["result"]["content"][0]["text"], "Accept Accept");
            }
        }
    }
}

#[tokio::test]
async fn rejects_subscriptions_to_tasks_of_clients_without_the_extension() {
    let mut remote = raw_peer(&server());
    let filter = json!({ "notifications": { "taskIds": ["a"] } });
    let error = remote.request(&request("s", "subscriptions/listen", filter, false)).await["error"].clone();
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(error["data"], json!({ "requiredCapabilities": { "extensions": { IDENTIFIER: {} } } }));
}

#[tokio::test]
async fn clients_subscribe_to_tasks() {
    let client = modern().await;
    let id = start(&client, "asks").await;
    let mut filter = SubscriptionFilter::new();
    filter.extra.insert("taskIds", json!([id])).expect("a new member");
    let mut subscription = client.changes(filter).await.expect("a subscription");
    assert_eq!(subscription.acknowledged().extra.get("taskIds").expect("IDs"), json!([id]));
    while get(&client, &id).await["status"] != "completed" {
        assert_eq!(subscription.try_next().await.expect("a change"), Some(Change::Task(id.clone())));
        let open = get(&client, &id).await["inputRequests"].clone();
        for key in open.as_object().into_iter().flat_map(|open| open.keys()) {
            let params = json!({ "taskId": id, "inputResponses": { key: { "action": "accept" } } });
            send(&client, "tasks/update", params).await.expect("an acknowledgement");
        }
    }
}
