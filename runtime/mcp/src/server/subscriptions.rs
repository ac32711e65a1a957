//! Subscriptions to changes (2026-07-28). A client sends `subscriptions/listen`, and the server sends notifications
//! until either side ends the subscription.
//!
//! Extensions can add notifications with a [`SubscriptionSource`].
//!
//! Equal changes are merged while they are pending, so the memory of a subscription is bounded by what it subscribes
//! to.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_types::v2026_07_28::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotification, SubscriptionsListenRequestParams,
    SubscriptionsListenResult, SubscriptionsListenResultMetaObject,
};
use mcpgen_types::{ErrorObject, Json, JsonObject, Notification};
use parking_lot::{Mutex, MutexGuard};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::change_filter::CallerFilter;
use super::visibility::Affected;
use crate::protocol;
use crate::protocol::ContextExt;
use crate::protocol::change::{Change, Filter, Pending};
use crate::protocol::info::{LocalInfo, can};
use crate::protocol::modern::SUBSCRIPTION_ID;

/// Maximum number of URIs in one subscription. This and [`MAX_SUBSCRIPTION_BYTES`] also limit the total of a
/// connection's `resources/subscribe` requests.
pub const MAX_RESOURCE_SUBSCRIPTIONS: usize = 1024;

/// Maximum total length of a subscription's URIs, in bytes.
pub const MAX_SUBSCRIPTION_BYTES: usize = 1 << 20;

/// Enforces [`MAX_RESOURCE_SUBSCRIPTIONS`] and [`MAX_SUBSCRIPTION_BYTES`].
///
/// # Errors
///
/// Fails if a filter exceeds one of them.
pub fn check_size(filter: &SubscriptionFilter) -> Result<(), ErrorObject> {
    let uris = filter.resource_subscriptions.as_deref().unwrap_or_default();
    let why = if uris.len() > MAX_RESOURCE_SUBSCRIPTIONS {
        format!("at most {MAX_RESOURCE_SUBSCRIPTIONS} URIs, found {}", uris.len())
    } else if uris.iter().map(String::len).sum::<usize>() > MAX_SUBSCRIPTION_BYTES {
        format!("at most {MAX_SUBSCRIPTION_BYTES} bytes of URIs")
    } else {
        return Ok(());
    };
    let why = format!("params.notifications.resourceSubscriptions: expected {why}");
    Err(errors::invalid_params_in_words(&why))
}

/// A server's registry of subscriptions. Clones share their state.
#[derive(Clone, Debug)]
pub struct Subscriptions {
    shared: Arc<Shared>,
    source: Option<Arc<dyn SubscriptionSource>>,
}

/// Adds an extension's notifications to subscriptions.
pub trait SubscriptionSource: fmt::Debug + Send + Sync + 'static {
    /// Returns the notifications that a request subscribes to, or `None` if it wants nothing from this source.
    ///
    /// # Errors
    ///
    /// Fails if the filter is invalid, or if the sender may not subscribe.
    fn subscribe<'a>(
        &'a self,
        context: &'a Context,
        filter: &'a SubscriptionFilter,
    ) -> BoxFuture<'a, Result<Option<Updates>, ErrorObject>>;
}

/// A [`SubscriptionSource`]'s notifications for one subscription.
pub struct Updates {
    /// The member of the filter that the source accepted: its name and value.
    pub accepted: (&'static str, Json),
    /// Method and params of each notification. The server adds the subscription's ID.
    pub notifications: BoxStream<'static, (&'static str, JsonObject)>,
}

impl fmt::Debug for Updates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Updates").field("accepted", &self.accepted).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Shared {
    offered: Mutex<JsonObject>,
    subscribers: Mutex<HashMap<u64, Subscriber>>,
    next: AtomicU64,
    closed: CancellationToken,
}

#[derive(Debug)]
struct Subscriber {
    accepted: Filter,
    filter: CallerFilter,
    pending: Arc<Pending>,
}

impl Subscriber {
    fn notify(&self, change: Change, affected: &Affected) {
        if self.filter.notifies(&change, affected) {
            self.pending.add(change, &self.accepted);
        }
    }
}

impl Subscriptions {
    /// Creates the subscriptions that the server's declared capabilities allow: `listChanged` of `tools`, `prompts` and
    /// `resources`, and `subscribe` of `resources`.
    #[must_use]
    pub fn of(ours: &LocalInfo) -> Self {
        let shared = Arc::new(Shared {
            offered: Mutex::new(ours.capabilities.clone()),
            subscribers: Mutex::default(),
            next: AtomicU64::new(0),
            closed: CancellationToken::new(),
        });
        Self { shared, source: None }
    }

    /// Lets clients subscribe to an extension's notifications. Replaces an earlier source.
    #[must_use]
    pub fn with_source(&self, source: impl SubscriptionSource) -> Self {
        Self { shared: Arc::clone(&self.shared), source: Some(Arc::new(source)) }
    }

    /// Notifies subscribers of a change. A subscription to a resource covers its parts: `file:///notes/` covers
    /// `file:///notes/today`.
    pub fn changed(&self, change: &Change) {
        self.notify(change, &Affected::default());
    }

    pub(super) fn notify(&self, change: &Change, affected: &Affected) {
        for subscriber in self.subscribers().values().filter(|subscriber| subscriber.accepted.matches(change)) {
            subscriber.notify(change.clone(), affected);
        }
    }

    /// Notifies subscribers of everything they have subscribed to, because changes may have been missed.
    pub(super) fn everything_changed(&self, affected: impl Fn(&Change) -> Affected) {
        for subscriber in self.subscribers().values() {
            for change in subscriber.accepted.changes() {
                let affected = affected(&change);
                subscriber.notify(change, &affected);
            }
        }
    }

    /// Sets the declared capabilities for new subscriptions.
    pub(super) fn offer(&self, info: &LocalInfo) {
        *self.shared.offered.lock() = info.capabilities.clone();
    }

    /// Returns how many subscriptions are active.
    #[must_use]
    pub fn count(&self) -> usize {
        self.subscribers().len()
    }

    /// Ends all subscriptions, and any that begin later. Pending changes are still sent.
    pub fn close(&self) {
        self.shared.closed.cancel();
    }

    /// Returns the handler of `subscriptions/listen`.
    pub fn handler(
        &self,
    ) -> impl Fn(Context, SubscriptionsListenRequestParams) -> ListenFuture + Clone + Send + Sync + 'static + use<>
    {
        let this = self.clone();
        move |context, params| {
            let this = this.clone();
            Box::pin(this.listen(context, params.notifications, CallerFilter::default()))
        }
    }

    /// Runs a subscription until it ends. `filter` holds the server's filters for the caller.
    pub(super) async fn listen(
        self,
        context: Context,
        requested: SubscriptionFilter,
        filter: CallerFilter,
    ) -> Result<SubscriptionsListenResult, ErrorObject> {
        let id = context.id().ok_or_else(errors::internal)?;
        check_size(&requested)?;
        let mut updates = match &self.source {
            Some(source) => source.subscribe(&context, &requested).await?,
            None => None,
        };
        let accepted = self.accept(requested, &filter);
        let refused = |uri: &&String| !filter.allows(&Change::Resource((*uri).clone()));
        if let Some(uri) = accepted.resource_subscriptions.iter().flatten().find(refused) {
            return Err(protocol::errors::resource_not_found(context.revision(), uri));
        }
        let meta = json!({ SUBSCRIPTION_ID: mcpgen_types::to_value(id).unwrap_or_default() });
        let mut acknowledged =
            json!({ "_meta": meta, "notifications": mcpgen_types::to_value(&accepted).unwrap_or_default() });
        if let Some(Updates { accepted: (member, value), .. }) = &updates {
            acknowledged["notifications"][member] = mcpgen_types::to_value(value).unwrap_or_default();
        }
        let subscribed = self.subscribe(Filter::from(&accepted), filter);
        drop(accepted);
        // Sending fails only if the connection has ended, which ends this handler, too.
        let notify = async |method, params: serde_json::Value| {
            let _ = context.peer().notify_unchecked(method, Some(Json::from(&params))).await;
        };
        notify(SubscriptionsAcknowledgedNotification::METHOD, acknowledged).await;
        let notify_change = async |change: Change| {
            let mut params = json!({ "_meta": meta });
            if let Change::Resource(uri) = &change {
                params["uri"] = json!(uri);
            }
            notify(change.method(), params).await;
        };
        let peer = context.peer();
        loop {
            tokio::select! {
                biased;
                () = self.shared.closed.cancelled() => break,
                () = peer.receiving_ended() => break,
                change = subscribed.pending.next() => notify_change(change).await,
                (method, mut params) = next_of(&mut updates) => {
                    params.insert("_meta", &meta);
                    notify(method, params.into()).await;
                }
            }
        }
        while let Some(change) = subscribed.pending.take() {
            notify_change(change).await;
        }
        Ok(SubscriptionsListenResult::new(SubscriptionsListenResultMetaObject::new(id.clone())))
    }

    /// Returns the part of a filter that the server supports and the caller may learn of.
    fn accept(&self, requested: SubscriptionFilter, filter: &CallerFilter) -> SubscriptionFilter {
        let offered = self.shared.offered.lock();
        let offers = |path: [&str; 2]| can(offered.as_ref(), &path);
        let list = |requested: Option<bool>, what, change| {
            requested.filter(|requested| *requested && offers([what, "listChanged"]) && filter.allows(&change))
        };
        let mut accepted = SubscriptionFilter::new();
        accepted.tools_list_changed = list(requested.tools_list_changed, "tools", Change::Tools);
        accepted.prompts_list_changed = list(requested.prompts_list_changed, "prompts", Change::Prompts);
        accepted.resources_list_changed = list(requested.resources_list_changed, "resources", Change::Resources);
        accepted.resource_subscriptions =
            requested.resource_subscriptions.filter(|_| offers(["resources", "subscribe"]));
        accepted
    }

    fn subscribe(&self, accepted: Filter, filter: CallerFilter) -> Subscribed {
        let (key, pending) = (self.shared.next.fetch_add(1, Ordering::Relaxed), Arc::<Pending>::default());
        self.subscribers().insert(key, Subscriber { accepted, filter, pending: Arc::clone(&pending) });
        Subscribed { all: self.clone(), key, pending }
    }

    fn subscribers(&self) -> MutexGuard<'_, HashMap<u64, Subscriber>> {
        self.shared.subscribers.lock()
    }
}

/// Returns the next notification of a source. Waits forever if there is no source, and after the last notification.
async fn next_of(updates: &mut Option<Updates>) -> (&'static str, JsonObject) {
    if let Some(updates) = updates
        && let Some(next) = updates.notifications.next().await
    {
        return next;
    }
    std::future::pending().await
}

/// The future that the handler of `subscriptions/listen` returns.
pub type ListenFuture = Pin<Box<dyn Future<Output = Result<SubscriptionsListenResult, ErrorObject>> + Send>>;

/// Dropping this removes the subscription from the registry.
struct Subscribed {
    all: Subscriptions,
    key: u64,
    pending: Arc<Pending>,
}

impl Drop for Subscribed {
    fn drop(&mut self) {
        self.all.subscribers().remove(&self.key);
    }
}
