//! Routes requests about tasks to the server that the task ID names.

use std::collections::BTreeSet;
use std::sync::Arc;

use mcpgen_bridge::catalog::{Prefix, replace_uris};
use mcpgen_bridge::{SeenResult, SubscribedTasks, list_tasks, replace_result, server_of_task};
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::protocol::change::TASK_IDS;
use mcpgen_sdk::router::AnyRequest;
use mcpgen_types::v2026_07_28::SubscriptionsListenRequestParams;
use mcpgen_types::{ErrorObject, Json, JsonRef};

use crate::servers::Servers;
use crate::session::Session;

impl Servers {
    /// Returns whether the task IDs that clients see name the server.
    pub(crate) fn names_tasks(&self) -> bool {
        self.names.len() > 1 || self.config.prefix == Prefix::Always
    }

    fn of_task(&self, id: &str) -> Option<usize> {
        match self.names_tasks() {
            true => server_of_task(&self.names, id),
            false => Some(0).filter(|_| !self.names.is_empty()),
        }
    }
}

impl Session {
    /// Handles a request about a task, or for the list of tasks.
    pub(crate) async fn task(&self, request: AnyRequest) -> Result<Json, ErrorObject> {
        if request.method == "tasks/list" {
            return list_tasks(&self.servers.names, request, |server| async move { self.relay(server).await.ok() })
                .await;
        }
        let id = request.params.as_ref().and_then(|params| params.get("taskId")?.as_str());
        let id = id.ok_or_else(|| errors::invalid_params_in_words("params.taskId: expected a string"))?;
        let server = self.servers.of_task(&id);
        let server = server.ok_or_else(|| errors::invalid_params_in_words(&format!("unknown task {id:?}")))?;
        let has_result = request.method == "tasks/result";
        let result = self.relay(server).await?.request(request).await?;
        let seen = self.seen_result(server);
        Ok(if has_result { seen(result) } else { replace_result(result, &*seen) })
    }

    /// Returns a function that replaces the URIs in the results of a server's tasks.
    fn seen_result(&self, server: usize) -> SeenResult {
        if !self.servers.names_tasks() {
            return Arc::new(|result| result);
        }
        let (servers, catalog) = (Arc::clone(&self.servers), self.lists.catalog());
        Arc::new(move |result| replace_uris(result, &|uri| catalog.seen_uri(&servers.names, server, uri)))
    }

    /// Connects to the servers whose tasks a client subscribes to. Servers that are not available are left out.
    pub(crate) async fn subscribed_tasks(&self, params: &SubscriptionsListenRequestParams) -> SubscribedTasks {
        let ids = params.notifications.extra.get(TASK_IDS).into_iter().flat_map(JsonRef::elements);
        let servers: BTreeSet<usize> = ids.filter_map(|id| self.servers.of_task(&id.as_str()?)).collect();
        let mut relays = Vec::new();
        for server in servers {
            if let Ok(relay) = self.relay(server).await {
                relays.push((relay, self.seen_result(server)));
            }
        }
        SubscribedTasks::new(relays)
    }
}
