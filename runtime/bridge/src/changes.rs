//! Relays notifications: changes, log messages and all others.

use std::collections::HashMap;
use std::sync::Arc;

use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::protocol::conversion::{ConversionError, Revisions};
use mcpgen_mcp::protocol::{ContextExt, Level, PeerExt, RequestScope, TYPES, request_scope};
use mcpgen_mcp::server::subscriptions::MAX_RESOURCE_SUBSCRIPTIONS;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::router::AnyNotification;
use mcpgen_types::v2026_07_28::{SubscriptionFilter, SubscriptionsListenRequest, SubscriptionsListenRequestParams};
use mcpgen_types::{ErrorObject, Json, JsonObject, Params, Request, Revision};
use serde_json::json;

use super::relay::{Relay, Watch, error_response};

impl Relay {
    /// Subscribes to the lists of the server.
    pub(super) async fn start(self: &Arc<Self>) {
        let is_legacy = self.server.revision().is_legacy();
        let offers = |list: &str| {
            let declares = || self.server.peer().peer_info().is_some_and(|info| info.can(&[list, "listChanged"]));
            // A legacy server sends changes without a subscription, and some do not declare it.
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

    /// Subscribes to changes of the server, and relays them.
    async fn follow(self: &Arc<Self>, filter: SubscriptionFilter) -> Result<Watch, CallError> {
        let mut changes = self.server.changes(filter).await?;
        let relay = Arc::downgrade(self);
        let task = tokio::spawn(async move {
            let ended = loop {
                match changes.try_next().await {
                    Ok(Some(change)) => {
                        let Some(relay) = relay.upgrade() else { return };
                        relay.changed(&change).await;
                    }
                    ended => break ended,
                }
            };
            tracing::debug!(?ended, "a subscription to the server has ended");
        });
        Ok(Watch(task.abort_handle()))
    }

    /// Subscribes to a resource of the server.
    async fn watch(self: &Arc<Self>, uri: &str) -> Result<Watch, CallError> {
        self.follow(SubscriptionFilter::new().with_resource_subscriptions([uri.to_owned()])).await
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
            self.watched.lock().remove(uri);
        } else if self.watched.lock().get(uri).is_none_or(|watch| watch.0.is_finished()) {
            if self.watched.lock().len() >= MAX_RESOURCE_SUBSCRIPTIONS {
                return Err(errors::limit_exceeded("too many resource subscriptions; unsubscribe from others first"));
            }
            let watch = self.watch(uri).await.map_err(|error| error_response(error, context.revision()))?;
            self.watched.lock().insert(uri.to_owned(), watch);
        }
        Ok(Json::from(&JsonObject::new()))
    }

    /// Handles `subscriptions/listen` of a modern client.
    pub(super) async fn listen(self: &Arc<Self>, params: Option<Json>, context: &Context) -> Result<Json, ErrorObject> {
        const METHOD: &str = SubscriptionsListenRequest::METHOD;
        let types = Revisions { from: context.revision(), to: TYPES };
        let params = params.map(|params| types.params(METHOD, &params)).transpose();
        let params = params.map_err(ConversionError::into_response)?;
        let params = SubscriptionsListenRequestParams::from_member(params.as_ref());
        let params = params.map_err(|error| errors::invalid_params(&error))?;
        let uris = params.notifications.resource_subscriptions.as_deref().unwrap_or_default();
        let mut watches = HashMap::new();
        // The handler rejects a filter with too many.
        if uris.len() <= MAX_RESOURCE_SUBSCRIPTIONS {
            let offers = self.server.peer().peer_info().is_some_and(|info| info.can(&["resources", "subscribe"]));
            for uri in uris.iter().filter(|_| offers) {
                let watch = self.watch(uri).await.map_err(|error| error_response(error, context.revision()))?;
                watches.insert(uri.clone(), watch);
            }
        }
        let result = (self.subscriptions.handler())(context.clone(), params).await?;
        drop(watches);
        types.reversed().result(METHOD, &result).map_err(ConversionError::into_response)
    }

    /// Notifies the client of a change.
    async fn changed(&self, change: &Change) {
        if !self.is_client_legacy {
            return self.subscriptions.changed(change);
        }
        let params = match change {
            Change::Resource(uri) => Some(Json::from(&json!({ "uri": uri }))),
            _ => None,
        };
        self.send_to_client(TYPES, change.method(), params).await;
    }

    /// Relays a notification of the server.
    pub(super) async fn notify_client(&self, notification: AnyNotification) {
        let AnyNotification { method, params, context } = notification;
        match &*method {
            // The connection has handled them.
            "notifications/cancelled" | "notifications/progress" => {}
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
        if self.is_client_legacy {
            let Some((client, revision)) = self.client().await else { return };
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

    async fn send_to_client(&self, from: Revision, method: &str, params: Option<Json>) {
        let Some((client, to)) = self.client().await else { return };
        match params.map(|params| Revisions { from, to }.params(method, &params)).transpose() {
            Ok(params) => log_failure(method, client.raw_notify(method, params).await),
            Err(error) => tracing::debug!(method, %error, "the client does not support a notification"),
        }
    }

    /// Relays a notification of the client.
    pub(super) async fn notify_server(&self, notification: AnyNotification) {
        let AnyNotification { method, params, context } = notification;
        let (from, to) = (context.revision(), self.server.revision());
        match &*method {
            // The connection has handled them.
            "notifications/cancelled" | "notifications/progress" => {}
            "notifications/initialized" => self.ready(from),
            method => match params.map(|params| Revisions { from, to }.params(method, &params)).transpose() {
                Ok(params) => log_failure(method, self.server.peer().raw_notify(method, params).await),
                Err(error) => tracing::debug!(method, %error, "the server does not support a notification"),
            },
        }
    }
}

fn log_failure(method: &str, sent: Result<(), CallError>) {
    if let Err(error) = sent {
        tracing::debug!(method, %error, "a notification was not relayed");
    }
}
