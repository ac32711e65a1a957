//! Asks the client for input while a task of the extension runs.

use std::collections::BTreeMap;

use mcpgen_types::v2026_07_28::InputRequests;
use mcpgen_types::{ErrorObject, Json, JsonObject, Map};

use super::runner::cancelled;
use super::state::Tasks;
use super::store::{StoredTask, TaskChange};
use mcpgen_mcp::protocol;
use mcpgen_mcp::protocol::modern::missing_input_capabilities;

/// Asks the client of a running task for input. Clones belong to the same task.
///
/// Requests and responses go through the task store, so that any process can serve the client.
#[derive(Clone, Debug)]
pub(super) struct TaskInput {
    tasks: Tasks,
    id: String,
    /// What the client declared in the request that created the task.
    declared: JsonObject,
}

impl TaskInput {
    pub(super) fn new(tasks: Tasks, id: String, declared: JsonObject) -> Self {
        Self { tasks, id, declared }
    }

    /// Requests input and waits for all responses. If the task already used a key, the response to the earlier request
    /// counts.
    pub(super) async fn request(&self, requests: &InputRequests) -> Result<Map<String, Json>, ErrorObject> {
        self.send(self.encode(requests)?).await
    }

    /// Like [`request`](Self::request), but replaces keys that the task already used. Returns responses by the given
    /// keys.
    pub(super) async fn request_anew(&self, requests: &InputRequests) -> Result<Map<String, Json>, ErrorObject> {
        let stored = self.tasks.0.store.get(&self.id).await?.ok_or_else(cancelled)?;
        let mut keys = BTreeMap::new();
        let mut renamed = Map::new();
        for (key, request) in self.encode(requests)? {
            let unused = unused_key(&stored, &key);
            keys.insert(unused.clone(), key);
            renamed.insert(unused, request);
        }
        let responses = self.send(renamed).await?;
        Ok(responses.into_iter().filter_map(|(key, response)| Some((keys.remove(&key)?, response))).collect())
    }

    /// Checks that the client supports the requests.
    fn encode(&self, requests: &InputRequests) -> Result<Map<String, Json>, ErrorObject> {
        let missing = missing_input_capabilities(requests.values(), &self.declared);
        if !missing.is_empty() {
            return Err(protocol::errors::missing_capabilities(&missing));
        }
        Ok(requests.iter().map(|(key, request)| (key, Json::from(request))).collect())
    }

    async fn send(&self, requests: Map<String, Json>) -> Result<Map<String, Json>, ErrorObject> {
        let keys: Vec<String> = requests.keys().cloned().collect();
        let mut changes = self.tasks.changes(&self.id);
        let mut stored = self.tasks.change(&self.id, TaskChange::request(requests)).await?;
        loop {
            // If the task has ended, this future is about to be dropped.
            let task = stored.ok_or_else(cancelled)?;
            let response = |key: &String| Some((key.clone(), task.input_responses.get(key)?.clone()));
            if let Some(responses) = keys.iter().map(response).collect() {
                return Ok(responses);
            }
            changes.next().await;
            stored = match self.tasks.0.store.get(&self.id).await {
                Ok(stored) => stored,
                Err(error) => {
                    tracing::warn!(%error, id = self.id, "cannot read the responses to the input requests of a task");
                    Some(task)
                }
            };
        }
    }
}

/// Returns `key`, with a number if the task already used it.
fn unused_key(stored: &StoredTask, key: &str) -> String {
    let is_used = |key: &str| stored.input_requests.contains_key(key) || stored.input_responses.contains_key(key);
    let numbered = (2..).map(|number| format!("{key}-{number}"));
    std::iter::once(key.to_owned()).chain(numbered).find(|key| !is_used(key)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use mcpgen_types::Revision;
    use mcpgen_types::v2026_07_28::ListRootsRequest;
    use serde_json::json;

    use super::*;
    use crate::{InMemoryTaskStore, TaskLimits};
    use mcpgen_mcp::protocol::ContextExt;
    use mcpgen_runtime::context::Context;

    fn requests(keys: &[&str]) -> InputRequests {
        keys.iter().map(|key| ((*key).to_owned(), ListRootsRequest::new().into())).collect()
    }

    fn object(value: serde_json::Value) -> Map<String, Json> {
        mcpgen_types::from_value(value).expect("an object")
    }

    /// A new task's input, and a function that answers its requests in another process.
    async fn input(declared: serde_json::Value) -> (TaskInput, Tasks) {
        let store = std::sync::Arc::new(InMemoryTaskStore::default());
        let limits = TaskLimits { poll_interval: Duration::from_millis(50), ..TaskLimits::default() };
        let (here, elsewhere) = (Tasks::new(store.clone(), limits.clone()), Tasks::new(store, limits));
        let new = here.prepare(&Context::detached(Revision::LATEST), None).expect("a task");
        let id = new.entry.task.task_id.clone();
        here.0.store.create(new.entry).await.expect("stored");
        (TaskInput::new(here, id, declared.try_into().expect("an object")), elsewhere)
    }

    #[tokio::test(start_paused = true)]
    async fn reads_responses_that_another_process_received() {
        let (input, elsewhere) = input(json!({ "roots": {} })).await;
        let id = input.id.clone();
        let respond = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            for responses in [json!({ "a": 1, "unknown": 2 }), json!({ "a": 3, "b": 4 })] {
                elsewhere.change(&id, TaskChange::respond(object(responses))).await.expect("a task");
            }
        };
        let wanted = requests(&["a", "b"]);
        let (responses, ()) = tokio::join!(input.request(&wanted), respond);
        assert_eq!(responses.expect("responses"), object(json!({ "a": 1, "b": 4 })));
        let again = input.request(&requests(&["a"])).await.expect("the earlier response");
        assert_eq!(again, object(json!({ "a": 1 })));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_anew_under_other_keys() {
        let (input, elsewhere) = input(json!({ "roots": {} })).await;
        for (key, value) in [("a", 1), ("a-2", 2), ("a-3", 3)] {
            let respond = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let responses = object(json!({ key: value }));
                elsewhere.change(&input.id, TaskChange::respond(responses)).await.expect("a task");
            };
            let wanted = requests(&["a"]);
            let (responses, ()) = tokio::join!(input.request_anew(&wanted), respond);
            assert_eq!(responses.expect("responses"), object(json!({ "a": value })));
        }
    }

    #[tokio::test]
    async fn rejects_requests_that_the_client_does_not_support() {
        let (input, _) = input(json!({})).await;
        let error = input.request(&requests(&["a"])).await.expect_err("no capability");
        assert_eq!(error.code.0, protocol::errors::MISSING_CAPABILITY);
    }
}
