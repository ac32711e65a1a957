//! The client on whose behalf relays call their servers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::protocol::conversion::{ConversionError, Revisions};
use mcpgen_mcp::protocol::info::{LocalInfo, can};
use mcpgen_mcp::protocol::{ContextExt, TYPES};
use mcpgen_mcp::server::subscriptions::{SubscriptionSource, Subscriptions, check_size};
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_types::v2026_07_28::{SubscriptionsListenRequest, SubscriptionsListenRequestParams};
use mcpgen_types::{ErrorObject, Json, Params, Request, Revision};
use serde_json::json;
use tokio::sync::watch;

use super::greeting::Greeting;

/// A client, on whose behalf one or more [`Relay`](crate::Relay)s call their servers.
///
/// Clients of modern revisions have no session. Several with the same greeting and the same
/// [principal](mcpgen_runtime::Context::principal) can share one, because each request carries all that belongs to it.
#[derive(Debug)]
pub struct Downstream {
    greeting: Greeting,
    peer: OnceLock<Peer>,
    /// The revision of the client's last request, or of its handshake. `None` before the client is ready for messages.
    revision: watch::Sender<Option<Revision>>,
    /// Whether elicitation and sampling requests name the server that asks.
    names_servers: AtomicBool,
    /// The subscriptions of a modern client.
    subscriptions: Subscriptions,
    /// Whether the client was told that calls of tools can run as tasks, in 2025-11-25.
    may_ask_for_tasks: bool,
    /// Whether the IDs of tasks name their server.
    names_tasks: AtomicBool,
}

impl Downstream {
    /// Creates a client from its greeting. `ours` is what the bridge or gateway declares to it.
    #[must_use]
    pub fn new(ours: &LocalInfo, greeting: Greeting) -> Arc<Self> {
        Arc::new(Self {
            greeting,
            peer: OnceLock::new(),
            revision: watch::Sender::new(None),
            names_servers: AtomicBool::new(false),
            subscriptions: Subscriptions::of(ours),
            may_ask_for_tasks: can(ours.capabilities.as_ref(), &["tasks", "requests", "tools", "call"]),
            names_tasks: AtomicBool::new(false),
        })
    }

    /// Returns what the client has declared about itself.
    #[must_use]
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Returns the subscriptions of a client of a modern revision.
    #[must_use]
    pub fn subscriptions(&self) -> &Subscriptions {
        &self.subscriptions
    }

    /// Handles `subscriptions/listen` of a modern client: notifies it of changes, including those of `tasks`, until the
    /// client ends the subscription.
    ///
    /// # Errors
    ///
    /// Fails if the filter is invalid.
    pub async fn listen(
        &self,
        params: SubscriptionsListenRequestParams,
        tasks: impl SubscriptionSource,
        context: &Context,
    ) -> Result<Json, ErrorObject> {
        let result = (self.subscriptions.with_source(tasks).handler())(context.clone(), params).await?;
        let revisions = Revisions { from: TYPES, to: context.revision() };
        revisions.result(SubscriptionsListenRequest::METHOD, &result).map_err(ConversionError::into_response)
    }

    /// Sets the peer for messages that belong to no request. Only legacy clients have one over HTTP.
    pub fn connected(&self, peer: Peer) {
        let _ = self.peer.set(peer);
    }

    /// Sets whether elicitation and sampling requests name the server that asks. Set this if the client has several
    /// servers. Defaults to `false`.
    pub fn set_names_servers(&self, names_servers: bool) {
        self.names_servers.store(names_servers, Ordering::Relaxed);
    }

    pub(super) fn names_servers(&self) -> bool {
        self.names_servers.load(Ordering::Relaxed)
    }

    /// Sets whether the task IDs that the client sees name their server, as in `files/786512e2`. Set this if there are
    /// several servers. Defaults to `false`.
    pub fn set_names_tasks(&self, names_tasks: bool) {
        self.names_tasks.store(names_tasks, Ordering::Relaxed);
    }

    pub(super) fn names_tasks(&self) -> bool {
        self.names_tasks.load(Ordering::Relaxed)
    }

    pub(super) fn may_ask_for_tasks(&self) -> bool {
        self.may_ask_for_tasks
    }

    /// Records that the client is ready for messages: it has sent `notifications/initialized`, or a request of a modern
    /// revision.
    pub fn ready(&self, revision: Revision) {
        if *self.revision.borrow() != Some(revision) {
            self.revision.send_replace(Some(revision));
        }
    }

    /// Returns whether the client is ready for messages.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.revision.borrow().is_some()
    }

    /// Waits until the client is ready for messages, and returns its revision.
    pub(super) async fn revision(&self) -> Option<Revision> {
        *self.revision.subscribe().wait_for(Option::is_some).await.ok()?
    }

    /// Returns the peer for messages that belong to no request.
    pub(super) fn peer(&self) -> Option<&Peer> {
        self.peer.get()
    }

    /// Notifies the client of a change, once it is ready for messages. A modern client is notified if it has subscribed.
    pub async fn changed(&self, change: &Change) {
        if !self.greeting.is_legacy {
            return self.subscriptions.changed(change);
        }
        let (Some(to), Some(peer)) = (self.revision().await, self.peer()) else { return };
        let method = change.method();
        let params = match change {
            Change::Resource(uri) => Some(Json::from(&json!({ "uri": uri }))),
            _ => None,
        };
        match params.map(|params| Revisions { from: TYPES, to }.params(method, &params)).transpose() {
            Ok(params) => log_failure(method, peer.raw_notify(method, params).await),
            Err(error) => tracing::debug!(method, %error, "the client does not support a notification"),
        }
    }
}

/// Reads the params of `subscriptions/listen`.
///
/// # Errors
///
/// Fails if they are invalid, or if the filter exceeds the limits of a subscription.
pub fn listen_params(params: Option<Json>, context: &Context) -> Result<SubscriptionsListenRequestParams, ErrorObject> {
    let types = Revisions { from: context.revision(), to: TYPES };
    let params = params.map(|params| types.params(SubscriptionsListenRequest::METHOD, &params)).transpose();
    let params = params.map_err(ConversionError::into_response)?;
    let params = SubscriptionsListenRequestParams::from_member(params.as_ref());
    let params = params.map_err(|error| errors::invalid_params(&error))?;
    check_size(&params.notifications)?;
    Ok(params)
}

pub(super) fn log_failure(method: &str, sent: Result<(), CallError>) {
    if let Err(error) = sent {
        tracing::debug!(method, %error, "a notification was not relayed");
    }
}
