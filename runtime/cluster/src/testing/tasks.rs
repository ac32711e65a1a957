//! The contract of task stores.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use mcpgen_types::v2025_11_25::{Task, TaskStatus};
use mcpgen_types::{ErrorObject, Json, Map};
use serde_json::json;
use tokio::time::sleep;

use super::unique;
use mcpgen_tasks::{StoredTask, TaskChange, TaskStore};

/// Tests a [`TaskStore`].
pub async fn task_store<S: TaskStore>(replica: impl AsyncFn() -> S) {
    keeps_tasks_exactly(&replica).await;
    lists_tasks_of_an_owner(&replica).await;
    expires(&replica).await;
    applies_concurrent_changes(&replica).await;
}

/// Tests that a [`TaskStore`] for at most `max` tasks per owner rejects further ones.
pub async fn task_limit<S: TaskStore>(replica: impl AsyncFn() -> S, max: usize) {
    let store = replica().await;
    let (owner, other) = (unique("owner"), unique("other"));
    for n in 0..max {
        store.create(task(&owner, 60)).await.unwrap_or_else(|error| panic!("task {n} of {max}: {error:?}"));
    }
    let refused = store.create(task(&owner, 60)).await.expect_err("the owner has too many tasks");
    assert!(!refused.message.is_empty());
    store.create(task(&other, 60)).await.expect("a task of another owner");
    let listed = store.list(&owner, None, max + 1).await.expect("an available store");
    assert_eq!(listed.len(), max, "the rejected task is not stored");
}

/// Creates a task that expires after this many seconds.
fn task(owner: &str, seconds: i64) -> StoredTask {
    let now = Timestamp::now();
    let created = format!("{now:.3}");
    StoredTask {
        task: Task::new(unique("task"), TaskStatus::Working, created.clone(), Some(seconds * 1000))
            .last_updated_at(created),
        owner: owner.to_owned(),
        until: now + SignedDuration::from_secs(seconds),
        outcome: None,
        input_requests: Map::new(),
        input_responses: Map::new(),
    }
}

fn object(key: &str) -> Map<String, Json> {
    Map::from([(key, json!({ "é\n": [1, 2.5, null] }).into())])
}

async fn get(store: &impl TaskStore, id: &str) -> Option<StoredTask> {
    store.get(id).await.expect("an available store")
}

async fn change(store: &impl TaskStore, id: &str, change: TaskChange) -> Option<StoredTask> {
    store.change(id, change).await.expect("an available store")
}

async fn keeps_tasks_exactly<S: TaskStore>(replica: &impl AsyncFn() -> S) {
    let (a, b) = (replica().await, replica().await);
    let entry = task(&unique("owner {}\n"), 60);
    let id = entry.task.task_id.clone();
    assert!(get(&a, &id).await.is_none() && change(&b, &id, TaskChange::request(object("a"))).await.is_none());
    a.create(entry.clone()).await.expect("a new task");
    assert_eq!(get(&b, &id).await.expect("the task").to_json(), entry.to_json(), "all replicas find the task");
    let changed = change(&b, &id, TaskChange::request(object("a"))).await.expect("a changed task");
    assert_eq!((changed.task.status, &changed.input_requests), (TaskStatus::InputRequired, &object("a")));
    assert_eq!(get(&a, &id).await.expect("the task").to_json(), changed.to_json());
    let changed = change(&a, &id, TaskChange::respond(object("a"))).await.expect("a changed task");
    assert_eq!((changed.task.status, &changed.input_responses), (TaskStatus::Working, &object("a")));
    // Results keep their exact text.
    let result: Json = mcpgen_types::from_str(r#"{"b": 1.0, "a":  [12345678901234567890]}"#).expect("JSON");
    let end = TaskChange::end(TaskStatus::Completed, Some("done".to_owned()), Ok(result.clone()));
    let ended = change(&b, &id, end.clone()).await.expect("an ended task");
    assert_eq!(ended.outcome.as_ref().and_then(|outcome| outcome.as_ref().ok()).map(Json::text), Some(result.text()));
    assert_eq!(get(&a, &id).await.expect("the task").to_json(), ended.to_json());
    for late in [end, TaskChange::respond(object("a")), TaskChange::status(TaskStatus::Cancelled)] {
        assert!(change(&a, &id, late).await.is_none(), "a task that has ended does not change");
    }
    assert_eq!(get(&b, &id).await.expect("the task").to_json(), ended.to_json());
    // IDs come from clients and may contain anything.
    for id in ["", "{", "}:", "*", "a\nb", "é"] {
        assert!(get(&a, id).await.is_none(), "{id:?}");
    }
}

async fn lists_tasks_of_an_owner<S: TaskStore>(replica: &impl AsyncFn() -> S) {
    let (a, b) = (replica().await, replica().await);
    let (owner, other) = (unique("owner"), unique("owner"));
    let mut expected = Vec::new();
    for n in 0..25 {
        let entry = task(if n % 5 == 4 { &other } else { &owner }, 60);
        if entry.owner == owner {
            expected.push(entry.task.task_id.clone());
        }
        let store = if n % 2 == 0 { &a } else { &b };
        store.create(entry).await.expect("a new task");
    }
    expected.sort_unstable();
    for size in [1, 7, 100] {
        let mut listed: Vec<String> = Vec::new();
        loop {
            let after = listed.last().cloned();
            let page = b.list(&owner, after.as_deref(), size).await.expect("an available store");
            assert!(page.len() <= size);
            if page.is_empty() {
                break;
            }
            listed.extend(page.into_iter().map(|task| task.task_id));
        }
        assert_eq!(listed, expected, "pages of {size}");
    }
    assert!(a.list(&unique("nobody"), None, 10).await.expect("an available store").is_empty());
    assert!(a.list(&owner, None, 0).await.expect("an available store").is_empty());
}

async fn expires<S: TaskStore>(replica: &impl AsyncFn() -> S) {
    let (a, owner) = (replica().await, unique("owner"));
    let entry = task(&owner, 1);
    let id = entry.task.task_id.clone();
    a.create(entry).await.expect("a new task");
    a.create(task(&owner, 60)).await.expect("a new task");
    assert!(change(&a, &id, TaskChange::request(object("a"))).await.is_some());
    sleep(Duration::from_millis(1200)).await;
    assert!(get(&a, &id).await.is_none(), "it has expired");
    assert!(change(&a, &id, TaskChange::respond(object("a"))).await.is_none());
    let listed = a.list(&owner, None, 10).await.expect("an available store");
    assert!(listed.len() == 1 && listed[0].task_id != id);
}

async fn applies_concurrent_changes<S: TaskStore>(replica: &impl AsyncFn() -> S) {
    let replicas: Vec<_> = join_all((0..4).map(|_| replica())).await.into_iter().map(Arc::new).collect();
    let entry = task(&unique("owner"), 60);
    let id = entry.task.task_id.clone();
    replicas[0].create(entry).await.expect("a new task");
    let all = async |changes: Vec<TaskChange>| {
        let changes = changes.into_iter().enumerate().map(|(n, each)| {
            let (store, id) = (Arc::clone(&replicas[n % 4]), id.clone());
            tokio::spawn(async move { change(&*store, &id, each).await })
        });
        let changed = join_all(changes).await.into_iter().filter(|it| it.as_ref().expect("no panic").is_some());
        changed.count()
    };
    let requests = (0..40).map(|n| TaskChange::request(object(&format!("key {n}")))).collect();
    assert_eq!(all(requests).await, 40);
    assert_eq!(get(&*replicas[1], &id).await.expect("the task").input_requests.len(), 40, "no change is lost");
    let responses = (0..40).map(|n| TaskChange::respond(object(&format!("key {n}")))).collect();
    assert_eq!(all(responses).await, 40);
    let stored = get(&*replicas[2], &id).await.expect("the task");
    assert_eq!((stored.input_responses.len(), stored.task.status), (40, TaskStatus::Working));
    let error = ErrorObject::new(-1, "failed");
    let ends = vec![TaskChange::end(TaskStatus::Failed, None, Err(error)); 12];
    assert_eq!(all(ends).await, 1, "a task ends once");
}
