//! Hearing of changes (2026-07-28): a client asks once, with `subscriptions/listen`, and is told until one side ends it.
//!
//! Nobody hears of a change twice before having looked at it, so neither side ever keeps more than what was subscribed to.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::future::Future;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mcpgen_types::v2026_07_28::{
    SubscriptionFilter, SubscriptionsAcknowledgedNotification, SubscriptionsListenRequest,
    SubscriptionsListenRequestParams, SubscriptionsListenResult, SubscriptionsListenResultMetaObject,
};
use mcpgen_types::{ErrorObject, JsonObject, Notification, RawJson, RequestId};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::service::context::Context;
use crate::jsonrpc::errors;
use crate::protocol::info::{Introduction, can};
use crate::protocol::modern::SUBSCRIPTION_ID;
use crate::peer::{CallError, InFlight, Peer};
use crate::service::router::AnyNotification;

/// Something that has changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The resource of this URI.
    Resource(String),
}

impl Change {
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource(_) => "notifications/resources/updated",
        }
    }

    pub(crate) fn of(method: &str, params: &JsonObject) -> Option<Self> {
        let resource = || params.get("uri")?.as_str().map(|uri| Self::Resource(uri.to_owned()));
        let lists = [Self::Tools, Self::Prompts, Self::Resources];
        lists
            .into_iter()
            .find(|list| list.method() == method)
            .or_else(|| resource().filter(|resource| resource.method() == method))
    }

    /// All changes that match a filter.
    fn all(filter: &SubscriptionFilter) -> impl Iterator<Item = Self> {
        let filter = Filter::from(filter);
        let lists = [Self::Tools, Self::Prompts, Self::Resources].into_iter().filter(|list| filter.matches(list));
        lists.collect::<Vec<_>>().into_iter().chain(filter.uris.into_iter().map(Self::Resource))
    }
}

/// How many URIs one subscription may name. This and [`MAX_SUBSCRIPTION_BYTES`] are also the limits of all
/// `resources/subscribe` requests of a connection.
pub const MAX_RESOURCE_SUBSCRIPTIONS: usize = 1024;

/// How many bytes the URIs of one subscription may have together.
pub const MAX_SUBSCRIPTION_BYTES: usize = 1 << 20;

/// Refuses a filter with more URIs, or more bytes of URIs, than a subscription may have.
fn check_size(filter: &SubscriptionFilter) -> Result<(), ErrorObject> {
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

/// The changes that a subscriber is notified of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
    /// A subscription to a resource covers its parts.
    pub(crate) uris: BTreeSet<String>,
}

impl From<&SubscriptionFilter> for Filter {
    fn from(filter: &SubscriptionFilter) -> Self {
        Self {
            tools: filter.tools_list_changed == Some(true),
            prompts: filter.prompts_list_changed == Some(true),
            resources: filter.resources_list_changed == Some(true),
            uris: filter.resource_subscriptions.iter().flatten().cloned().collect(),
        }
    }
}

impl Filter {
    pub(crate) fn matches(&self, change: &Change) -> bool {
        match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            Change::Resource(uri) => self.covering(uri).is_some(),
        }
    }

    /// The longest subscribed URI that is this resource or a whole that it is a part of.
    ///
    /// Such a URI is a prefix of `uri`. In sorted order every prefix is at or before `uri`, and all entries between it and
    /// `uri` begin with it, so a prefix of `uri` before an entry is also a prefix of what the two have in common. Each step
    /// goes to the last entry that is not after that.
    fn covering(&self, uri: &str) -> Option<&str> {
        let mut last = self.uris.range::<str, _>((Unbounded, Included(uri))).next_back()?;
        loop {
            if is_part(uri, last) {
                return Some(last);
            }
            let common = common_prefix(uri, last);
            let end = if common.len() == last.len() { Excluded(common) } else { Included(common) };
            last = self.uris.range::<str, _>((Unbounded, end)).next_back()?;
        }
    }
}

fn common_prefix<'a>(a: &'a str, b: &str) -> &'a str {
    let differs = a.char_indices().zip(b.chars()).find(|((_, a), b)| a != b);
    let end = differs.map_or(a.len().min(b.len()), |((at, _), _)| at);
    &a[..end]
}

/// Whether a resource is another one, or a part of it: whoever has subscribed to a resource hears of its parts too.
pub(crate) fn is_part(uri: &str, whole: &str) -> bool {
    let rest = uri.strip_prefix(whole);
    rest.is_some_and(|rest| rest.is_empty() || whole.ends_with('/') || rest.starts_with(['/', '#', '?']))
}

/// Changes that somebody has not heard of yet.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    changes: Mutex<BTreeSet<Change>>,
    some: Notify,
}

/// How many resources may have changed before one of the changes is told: parts have no number.
const MOST_PARTS: usize = 1024;

impl Pending {
    /// Where there are too many parts, the whole that they are of has changed.
    pub(crate) fn add(&self, change: Change, filter: &Filter) {
        let mut changes = self.lock();
        let change = match change {
            Change::Resource(uri) if changes.len() >= MOST_PARTS => {
                Change::Resource(filter.covering(&uri).map_or(uri.clone(), str::to_owned))
            }
            change => change,
        };
        changes.insert(change);
        self.some.notify_one();
    }

    fn take(&self) -> Option<Change> {
        self.lock().pop_first()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<Change>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next change, as soon as there is one.
    pub(crate) async fn next(&self) -> Change {
        loop {
            if let Some(change) = self.take() {
                return change;
            }
            self.some.notified().await;
        }
    }
}

/// Who has subscribed to what, on the server's side. Clones are the same.
#[derive(Clone, Debug)]
pub struct Subscriptions(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    offered: Mutex<JsonObject>,
    subscribers: Mutex<HashMap<u64, Subscriber>>,
    next: AtomicU64,
    closed: CancellationToken,
}

#[derive(Debug)]
struct Subscriber {
    wanted: Filter,
    pending: Arc<Pending>,
}

impl Subscriptions {
    /// What a server offers, by the capabilities that it has declared: `listChanged` of `tools`, `prompts` and `resources`,
    /// and `subscribe` of `resources`.
    #[must_use]
    pub fn of(ours: &Introduction) -> Self {
        Self(Arc::new(Shared {
            offered: Mutex::new(ours.capabilities.clone()),
            subscribers: Mutex::default(),
            next: AtomicU64::new(0),
            closed: CancellationToken::new(),
        }))
    }

    /// Tells everybody who has subscribed to it, or to a resource that it is a part of, such as `file:///notes/` of
    /// `file:///notes/today`.
    pub fn changed(&self, change: &Change) {
        for subscriber in self.subscribers().values().filter(|subscriber| subscriber.wanted.matches(change)) {
            subscriber.pending.add(change.clone(), &subscriber.wanted);
        }
    }

    /// Offers this from now on.
    pub(crate) fn offer(&self, ours: &Introduction) {
        *self.0.offered.lock().unwrap_or_else(PoisonError::into_inner) = ours.capabilities.clone();
    }

    /// How many subscriptions there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.subscribers().len()
    }

    /// Ends all subscriptions, and those that are still to come. What has changed is still told.
    pub fn close(&self) {
        self.0.closed.cancel();
    }

    /// The handler of `subscriptions/listen`.
    pub fn handler(
        &self,
    ) -> impl Fn(Context, SubscriptionsListenRequestParams) -> Listening + Clone + Send + Sync + 'static + use<> {
        let this = self.clone();
        move |context, params| {
            let this = this.clone();
            Box::pin(async move { this.listen(context, params.notifications).await })
        }
    }

    async fn listen(
        self,
        context: Context,
        asked: SubscriptionFilter,
    ) -> Result<SubscriptionsListenResult, ErrorObject> {
        let id = context.id().ok_or_else(errors::internal)?;
        check_size(&asked)?;
        let meta = json!({ SUBSCRIPTION_ID: mcpgen_types::to_value(id).unwrap_or_default() });
        let wanted = self.honoured(asked);
        let acknowledged =
            json!({ "_meta": meta, "notifications": mcpgen_types::to_value(&wanted).unwrap_or_default() });
        let subscribed = self.subscribe(Filter::from(&wanted));
        drop(wanted);
        // Whoever is gone needs no news; the connection's end ends this too.
        let tell = async |method, params: serde_json::Value| {
            let _ = context.peer().put(method, Some(RawJson::from(&params))).await;
        };
        tell(SubscriptionsAcknowledgedNotification::METHOD, acknowledged).await;
        let notify = async |change: Change| {
            let mut params = json!({ "_meta": meta });
            if let Change::Resource(uri) = &change {
                params["uri"] = json!(uri);
            }
            tell(change.method(), params).await;
        };
        loop {
            tokio::select! {
                biased;
                () = self.0.closed.cancelled() => break,
                () = context.peer().unheard() => break,
                change = subscribed.pending.next() => notify(change).await,
            }
        }
        while let Some(change) = subscribed.pending.take() {
            notify(change).await;
        }
        Ok(SubscriptionsListenResult::new(SubscriptionsListenResultMetaObject::new(id.clone())))
    }

    /// What of a filter is offered.
    fn honoured(&self, asked: SubscriptionFilter) -> SubscriptionFilter {
        let offered = self.0.offered.lock().unwrap_or_else(PoisonError::into_inner);
        let offers = |path: [&str; 2]| can(&offered, &path);
        let list = |asked: Option<bool>, what| asked.filter(|asked| *asked && offers([what, "listChanged"]));
        let mut wanted = SubscriptionFilter::new();
        wanted.tools_list_changed = list(asked.tools_list_changed, "tools");
        wanted.prompts_list_changed = list(asked.prompts_list_changed, "prompts");
        wanted.resources_list_changed = list(asked.resources_list_changed, "resources");
        wanted.resource_subscriptions = asked.resource_subscriptions.filter(|_| offers(["resources", "subscribe"]));
        wanted
    }

    fn subscribe(&self, wanted: Filter) -> Subscribed {
        let (key, pending) = (self.0.next.fetch_add(1, Ordering::Relaxed), Arc::<Pending>::default());
        self.subscribers().insert(key, Subscriber { wanted, pending: Arc::clone(&pending) });
        Subscribed { all: self.clone(), key, pending }
    }

    fn subscribers(&self) -> MutexGuard<'_, HashMap<u64, Subscriber>> {
        self.0.subscribers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the handler of `subscriptions/listen` returns.
pub type Listening = Pin<Box<dyn Future<Output = Result<SubscriptionsListenResult, ErrorObject>> + Send>>;

/// However a subscription ends, it is forgotten.
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

/// A subscription, on the client's side. Dropping it ends it.
pub struct Subscription {
    acknowledged: SubscriptionFilter,
    inbox: Arc<Inbox>,
    call: Result<InFlight<SubscriptionsListenResult>, Ended>,
}

/// How a subscription has ended: by the server, or with the connection.
type Ended = Option<CallError>;

#[derive(Debug)]
struct Inbox {
    asked: Filter,
    acknowledged: Mutex<Option<SubscriptionFilter>>,
    ready: Notify,
    pending: Pending,
}

impl Inbox {
    fn take(&self, message: &AnyNotification) {
        let params: JsonObject = message.params.as_ref().and_then(|params| params.decode().ok()).unwrap_or_default();
        if message.method == SubscriptionsAcknowledgedNotification::METHOD {
            let filter = params.get("notifications").cloned().unwrap_or_else(|| json!({}));
            let filter = mcpgen_types::from_value(filter).unwrap_or_default();
            *self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner) = Some(filter);
            self.ready.notify_one();
            return;
        }
        match Change::of(&message.method, &params).filter(|change| self.asked.matches(change)) {
            Some(change) => self.pending.add(change, &self.asked),
            None => tracing::warn!(method = &*message.method, "a notification that nobody has subscribed to"),
        }
    }
}

impl Subscription {
    /// Subscribes, and waits until the server has said what it will tell.
    pub(crate) async fn open(peer: &Peer, filter: SubscriptionFilter) -> Result<Self, CallError> {
        let params = json!({ "notifications": mcpgen_types::to_value(&filter).unwrap_or_default() });
        let inbox = Arc::new(Inbox {
            asked: Filter::from(&filter),
            acknowledged: Mutex::default(),
            ready: Notify::new(),
            pending: Pending::default(),
        });
        let take = Arc::clone(&inbox);
        let call = peer.call_with::<SubscriptionsListenRequest>(Some(RawJson::from(&params)));
        let patience = call.patience();
        let mut call =
            call.idle_timeout(None).timeout(None).on_notice(Box::new(move |message| take.take(message))).send();
        tokio::select! {
            biased;
            () = inbox.ready.notified() => {
                let acknowledged = inbox.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).take();
                Ok(Self { acknowledged: acknowledged.unwrap_or_default(), inbox, call: Ok(call) })
            }
            ended = &mut call => match ended {
                Ok(_) => Err(CallError::Withdrawn),
                Err(error) => Err(error),
            },
            limit = crate::connection::dispatcher::expired(patience) => Err(CallError::Timeout(limit)),
        }
    }

    /// What notifications belong to it by; `None` once it has ended.
    pub fn id(&self) -> Option<&RequestId> {
        self.call.as_ref().ok().map(InFlight::id)
    }

    /// What the server will tell of what it was asked for.
    pub fn acknowledged(&self) -> &SubscriptionFilter {
        &self.acknowledged
    }

    /// The next change; `None` once the server has ended the subscription. What has changed several times is told once.
    ///
    /// # Errors
    ///
    /// The connection is closed. It is said once; from then on there is nothing more.
    pub async fn next(&mut self) -> Result<Option<Change>, CallError> {
        if let Ok(call) = &mut self.call {
            let ended = tokio::select! {
                biased;
                change = self.inbox.pending.next() => return Ok(Some(change)),
                ended = call => ended,
            };
            self.call = Err(match ended {
                Ok(_) | Err(CallError::Withdrawn) => None,
                Err(error) => Some(error),
            });
        }
        // What was told before the end is heard before it.
        match (self.inbox.pending.take(), &mut self.call) {
            (Some(change), _) => Ok(Some(change)),
            (None, Err(ended)) => ended.take().map_or(Ok(None), Err),
            (None, Ok(_)) => Ok(None),
        }
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("call", &self.call).finish_non_exhaustive()
    }
}

/// A subscription that is made again whenever it has ended, on a new connection.
#[derive(Debug)]
pub struct Following<C> {
    connect: C,
    filter: SubscriptionFilter,
    current: Option<Current>,
    /// What may have changed while nobody listened.
    missed: Vec<Change>,
    /// Whether there was a subscription before.
    again: bool,
    /// How long to wait before the next connection.
    pause: Option<Duration>,
}

#[derive(Debug)]
struct Current {
    peer: Peer,
    subscription: Subscription,
    since: Instant,
}

/// Its connection is there for nothing else.
impl Drop for Current {
    fn drop(&mut self) {
        self.peer.disconnect();
    }
}

/// How long one waits before the second connection, and no longer before any other.
const PAUSES: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(30)];

/// Follows changes over connections that `connect` makes, one after another: servers keep nothing of a subscription. A
/// connection is closed when its subscription has ended.
pub fn follow<C, F, E>(connect: C, filter: SubscriptionFilter) -> Following<C>
where
    C: FnMut() -> F,
    F: Future<Output = Result<Peer, E>>,
    E: fmt::Display,
{
    Following { connect, filter, current: None, missed: Vec::new(), again: false, pause: None }
}

impl<C, F, E> Following<C>
where
    C: FnMut() -> F,
    F: Future<Output = Result<Peer, E>>,
    E: fmt::Display,
{
    /// The next change. After a new connection everything that was asked for may have changed, and is told. Nothing is lost
    /// if the future is dropped.
    pub async fn next(&mut self) -> Change {
        loop {
            if let Some(change) = self.missed.pop() {
                return change;
            }
            let Some(current) = &mut self.current else {
                self.subscribe().await;
                continue;
            };
            match current.subscription.next().await {
                Ok(Some(change)) => return change,
                ended => {
                    tracing::info!(?ended, "a subscription has ended");
                    if current.since.elapsed() > PAUSES[1] {
                        self.pause = None;
                    }
                    self.current = None;
                }
            }
        }
    }

    /// Subscribes, however long it takes, and never at once after another try.
    async fn subscribe(&mut self) {
        loop {
            if let Some(pause) = self.pause {
                tokio::time::sleep(pause).await;
            }
            self.pause = Some(self.pause.map_or(PAUSES[0], |pause| (pause * 2).min(PAUSES[1])));
            let opened = match (self.connect)().await {
                Ok(peer) => match Subscription::open(&peer, self.filter.clone()).await {
                    Ok(subscription) => {
                        self.current = Some(Current { peer, subscription, since: Instant::now() });
                        if std::mem::replace(&mut self.again, true) {
                            self.missed = Change::all(&self.filter).collect();
                        }
                        return;
                    }
                    Err(error) => {
                        peer.disconnect();
                        error.to_string()
                    }
                },
                Err(error) => error.to_string(),
            };
            tracing::warn!(error = opened, pause = ?self.pause, "not subscribed");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_resource_are_known_by_their_uri() {
        for (uri, whole, expected) in [
            ("file:///a", "file:///a", true),
            ("file:///a/b", "file:///a", true),
            ("file:///a/b", "file:///a/", true),
            ("file:///a#b", "file:///a", true),
            ("file:///ab", "file:///a", false),
            ("file:///a", "file:///a/", false),
            ("file:///a", "file:///a/b", false),
        ] {
            assert_eq!(is_part(uri, whole), expected, "{uri} of {whole}");
        }
        let filter = Filter { uris: ["a/".to_owned()].into(), ..Filter::default() };
        let pending = Pending::default();
        for part in 0..3 * MOST_PARTS {
            pending.add(Change::Resource(format!("a/{part}")), &filter);
        }
        assert_eq!(pending.lock().len(), MOST_PARTS + 1);
        assert!(pending.lock().contains(&Change::Resource("a/".to_owned())));
    }

    #[test]
    fn finds_the_subscription_that_covers_a_resource() {
        let uris = ["", "é", "file:///", "file:///a", "file:///a/b/", "file:///a/bc", "file:///a/bé", "file:///ab"];
        let filter = Filter { uris: uris.map(str::to_owned).into(), ..Filter::default() };
        let mut asked: Vec<String> = uris.map(str::to_owned).into();
        for end in ["", "/", "#x", "?x", "/b", "/b/c", "/bc/d", "b", "é/x", "ê", "\u{10ffff}"] {
            asked.extend(uris.map(|uri| format!("{uri}{end}")));
        }
        for uri in asked {
            let longest = uris.into_iter().filter(|whole| is_part(&uri, whole)).max_by_key(|whole| whole.len());
            assert_eq!(filter.covering(&uri), longest, "{uri}");
        }
    }
}
