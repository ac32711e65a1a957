//! Relays notifications: changes, log messages and all others.

use std::sync::Arc;
use std::time::Duration;

use mcpgen_mcp::client::Changes;
use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::protocol::conversion::Revisions;
use mcpgen_mcp::protocol::legacy::RELATED_TASK;
use mcpgen_mcp::protocol::{ContextExt, Level, PeerExt, RequestScope, request_scope};
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::router::AnyNotification;
use mcpgen_types::v2026_07_28::SubscriptionFilter;
use mcpgen_types::{ErrorObject, Json, JsonObject, JsonRef, Revision};
use tokio::time::Instant;

use super::downstream::{listen_params, log_failure};
use super::relay::{Relay, is_from_peer};
use super::subscriptions::Watch;
use super::tasks::{SeenResult, SubscribedTasks};

/// The first pause before a subscription is renewed, and the longest. The pause doubles with each attempt.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(30)];

fn of_resource(uri: &str) -> SubscriptionFilter {
    SubscriptionFilter::new().with_resource_subscriptions([uri.to_owned()])
}

/// Returns `None` if there is no subscription.
async fn next_of(changes: &mut Option<Changes>) -> Option<Result<Option<Change>, CallError>> {
    Some(changes.as_mut()?.try_next().await)
}

impl Relay {
    /// Subscribes to changes of the server's lists.
    pub(super) async fn start(self: &Arc<Self>) {
        let is_legacy = self.server.revision().is_legacy();
        let offers = |list: &str| {
            let declares = || self.server.peer().peer_info().is_some_and(|info| info.can(&[list, "listChanged"]));
            // Legacy servers send changes without a subscription, and some do not declare that they do.
            (is_legacy || declares()).then_some(true)
        };
        let mut filter = SubscriptionFilter::new();
        filter.tools_list_changed = offers("tools");
        filter.prompts_list_changed = offers("prompts");
        filter.resources_list_changed = offers("resources");
        if filter != SubscriptionFilter::new() {
            match self.follow(filter).await {
                Ok(watch) => drop(self.lists.set(watch)),
                Err(error) => tracing::warn!(%error, "cannot subscribe to the lists of the server"),
            }
        }
    }

    /// Subscribes to changes of the server, and relays them for as long as the connection lasts.
    async fn follow(self: &Arc<Self>, filter: SubscriptionFilter) -> Result<Watch, CallError> {
        let changes = self.server.changes(filter.clone()).await?;
        Ok(self.follow_from(Some(changes), filter))
    }

    /// Relays changes. Subscribes whenever there is no subscription, after a pause.
    fn follow_from(self: &Arc<Self>, mut changes: Option<Changes>, filter: SubscriptionFilter) -> Watch {
        let relay = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            let (mut pause, mut since) = (PAUSES[0], Instant::now());
            loop {
                while let Some(Ok(Some(change))) = next_of(&mut changes).await {
                    let Some(relay) = relay.upgrade() else { return };
                    relay.changed(change).await;
                }
                // A server that ends each subscription at once is not asked again at once.
                if since.elapsed() > PAUSES[1] {
                    pause = PAUSES[0];
                }
                tokio::time::sleep(pause).await;
                pause = (2 * pause).min(PAUSES[1]);
                let Some(relay) = relay.upgrade().filter(|relay| !relay.server.peer().is_closed()) else { return };
                match relay.server.changes(filter.clone()).await {
                    Ok(renewed) => {
                        tracing::debug!("subscribed to the server again");
                        since = Instant::now();
                        for change in Change::all(renewed.acknowledged()) {
                            relay.changed(change).await;
                        }
                        changes = Some(renewed);
                    }
                    Err(error) => tracing::debug!(%error, "cannot subscribe to the server again"),
                }
            }
        });
        Watch(task.abort_handle())
    }

    /// Subscribes to a resource of the server.
    ///
    /// # Errors
    ///
    /// Fails with the server's error. For an unknown resource, the error has the code of `revision`.
    pub async fn watch(self: &Arc<Self>, uri: &str, revision: Revision) -> Result<Watch, ErrorObject> {
        self.follow(of_resource(uri)).await.map_err(|error| self.server_error(error, revision))
    }

    /// Like [`watch`](Self::watch), but if the server is not available, keeps trying while the connection lasts. A
    /// connection over HTTP lasts until it is dropped.
    ///
    /// # Errors
    ///
    /// Fails if the server responds with an error.
    pub async fn watch_patiently(self: &Arc<Self>, uri: &str, revision: Revision) -> Result<Watch, ErrorObject> {
        match self.follow(of_resource(uri)).await {
            Err(error) if is_from_peer(&error) => Err(self.server_error(error, revision)),
            Err(_) => Ok(self.follow_from(None, of_resource(uri))),
            Ok(watch) => Ok(watch),
        }
    }

    /// Handles `resources/subscribe` and `resources/unsubscribe` of a legacy client.
    pub(super) async fn set_watched(
        self: &Arc<Self>,
        method: &str,
        params: Option<&Json>,
        context: &Context,
    ) -> Result<Json, ErrorObject> {
        let Some(uri) = params.and_then(|params| params.get("uri")?.as_str()) else {
            return Err(errors::invalid_params_in_words("params.uri: expected a string"));
        };
        let uri = &*uri;
        if method == "resources/unsubscribe" {
            self.watched.remove(uri);
        } else if !self.watched.contains(uri) {
            let subscription = self.watched.add(uri, ())?;
            subscription.set_watch(self.watch(uri, context.revision()).await?);
            subscription.keep();
        }
        Ok(Json::from(&JsonObject::new()))
    }

    /// Handles `subscriptions/listen` of a modern client.
    pub(super) async fn listen(self: &Arc<Self>, params: Option<Json>, context: &Context) -> Result<Json, ErrorObject> {
        let params = listen_params(params, context)?;
        let offers = self.server.peer().peer_info().is_some_and(|info| info.can(&["resources", "subscribe"]));
        let mut watches = Vec::new();
        for uri in params.notifications.resource_subscriptions.iter().flatten().filter(|_| offers) {
            watches.push(self.watch(uri, context.revision()).await?);
        }
        let unchanged: SeenResult = Arc::new(|result| result);
        let tasks = SubscribedTasks::new([(Arc::clone(self), unchanged)]);
        self.client.listen(params, tasks, context).await
    }

    /// Passes a change on.
    async fn changed(&self, change: Change) {
        match &self.options.on_change {
            Some(on_change) => on_change(change).await,
            None => self.client.changed(&change).await,
        }
    }

    /// Relays a notification of the server.
    pub(super) async fn notify_client(&self, notification: AnyNotification) {
        let AnyNotification { method, params, context } = notification;
        let params = self.seen_params(&method, params);
        match &*method {
            // The connection has handled it.
            "notifications/cancelled" => {}
            // The connection has handled progress of requests without a response.
            "notifications/progress" => {
                if let Some(params) = params.and_then(|params| self.progress_to_client.relayed(&params)) {
                    self.send_to_client(context.revision(), &method, Some(params)).await;
                }
            }
            "notifications/message" => self.log(context.revision(), params).await,
            method => {
                let members: JsonObject = params.as_ref().and_then(|params| params.decode().ok()).unwrap_or_default();
                // `follow` relays changes.
                if Change::of(method, &members).is_none() {
                    self.send_to_client(context.revision(), method, params).await;
                }
            }
        }
    }

    /// Relays a log message. A modern client gets it on behalf of the newest call that wants messages of its level.
    async fn log(&self, from: Revision, params: Option<Json>) {
        const METHOD: &str = "notifications/message";
        let level = params.as_ref().and_then(|params| params.get("level")?.as_str());
        let Some(level) = level.and_then(|level| Level::from_name(&level)) else {
            return tracing::warn!("ignoring a log message without a valid level");
        };
        let params = params.map(|params| self.with_server_name(params));
        if self.client.greeting().is_legacy {
            let Some((client, revision)) = self.client_peer(params.as_ref()).await else { return };
            if client.revision_rules().wants_log(&RequestScope::of(revision), level) {
                self.send_to_client(from, METHOD, params).await;
            }
            return;
        }
        let wants = |context: &Context| context.peer().revision_rules().wants_log(request_scope(context), level);
        let Some(context) = self.calls.find(wants) else {
            return tracing::debug!(level = level.as_str(), "no call of the client wants this log message");
        };
        let revisions = Revisions { from, to: context.revision() };
        let params = params.map(|params| revisions.params(METHOD, &params)).transpose();
        if let Ok(params) = params {
            log_failure(METHOD, context.peer().raw_notify(METHOD, params).await);
        }
    }

    /// Adds the name of the server to the logger of a log message.
    fn with_server_name(&self, params: Json) -> Json {
        let (Some(name), Ok(mut members)) = (&self.options.server_name, params.decode::<JsonObject>()) else {
            return params;
        };
        let logger = match members.get("logger").and_then(JsonRef::as_str) {
            Some(logger) => format!("{name}/{logger}"),
            None => name.to_string(),
        };
        members.insert("logger", logger);
        members.into()
    }

    /// Waits until the client is ready for messages. Returns the peer for a message of the server, and the client's
    /// revision. The message goes with the newest call, because over HTTP not every client opens a stream for others. If
    /// the message is about a task, it goes with a call that waits for a task's result, if there is one.
    pub(super) async fn client_peer(&self, params: Option<&Json>) -> Option<(Peer, Revision)> {
        let revision = self.client.revision().await?;
        let is_of_task = params.is_some_and(|params| params.text().contains(RELATED_TASK));
        let waiting = || self.calls.find(|context| context.method() == "tasks/result");
        let call = if is_of_task { waiting() } else { None };
        let peer = match call.or_else(|| self.calls.find(|_| true)) {
            Some(context) => context.peer(),
            None => self.client.peer()?.clone(),
        };
        Some((peer, revision))
    }

    async fn send_to_client(&self, from: Revision, method: &str, params: Option<Json>) {
        let Some((client, to)) = self.client_peer(params.as_ref()).await else { return };
        match params.map(|params| Revisions { from, to }.params(method, &params)).transpose() {
            Ok(params) => log_failure(method, client.raw_notify(method, params).await),
            Err(error) => tracing::debug!(method, %error, "the client does not support a notification"),
        }
    }

    /// Passes a notification of the client on to the server.
    pub async fn notify_server(&self, notification: AnyNotification) {
        let AnyNotification { method, params, context } = notification;
        let (from, to) = (context.revision(), self.server.revision());
        let Some(params) = self.own_params(&method, params) else { return };
        match &*method {
            // The connection has handled it.
            "notifications/cancelled" => {}
            "notifications/initialized" => self.client.ready(from),
            method => match params.map(|params| Revisions { from, to }.params(method, &params)).transpose() {
                Ok(params) => log_failure(method, self.server.peer().raw_notify(method, params).await),
                Err(error) => tracing::debug!(method, %error, "the server does not support a notification"),
            },
        }
    }
}
