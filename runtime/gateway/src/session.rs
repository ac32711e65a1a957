//! A client and its connections to the servers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use mcpgen_bridge::catalog::{Catalog, Kind, Lists, ServerList};
use mcpgen_bridge::{
    Downstream, LinkDown, LinkEvent, OnLinkEvent, Relay, RelayOptions, ResourceSubscriptions, ServerLink, Subscription,
};
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::protocol::Level;
use mcpgen_sdk::protocol::change::{Change, is_part};
use mcpgen_sdk::protocol::errors::resource_not_found;
use mcpgen_sdk::router::AnyNotification;
use mcpgen_sdk::util::error_chain;
use mcpgen_types::{ErrorCode, ErrorObject, Revision};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::connect::Upstream;
use crate::pins::COMPARE_TIMEOUT;
use crate::policy::Scopes;
use crate::servers::Servers;

/// How long a list waits for servers that are not connected yet. The client is notified once they are.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// A client and its connections to the servers, which end when this is dropped. If the configuration changes, a new
/// session of the client takes over the connections to unchanged servers.
pub(crate) struct Session {
    pub(crate) client: Arc<Downstream>,
    pub(crate) servers: Arc<Servers>,
    links: Vec<Arc<ServerLink>>,
    pub(crate) lists: Lists,
    /// Held while lists are read, so that concurrent calls do not read the same list twice.
    reading: tokio::sync::Mutex<()>,
    /// The log level that the client has set.
    level: Mutex<Option<Level>>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    /// Whether another session has replaced this one.
    is_replaced: AtomicBool,
}

/// The resources that the client has subscribed to, by the URI that it sees.
pub(crate) type Subscriptions = ResourceSubscriptions<Target>;

/// What a client has subscribed to.
#[derive(Clone)]
pub(crate) struct Target {
    caller: Caller,
    /// The name of the server and the URI that it uses, once they are known.
    resource: Option<(String, String)>,
}

/// Who asks for a resource.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) revision: Revision,
    pub(crate) scopes: Scopes,
}

impl Target {
    fn is_of(&self, server: &str) -> bool {
        self.resource.as_ref().is_some_and(|(name, _)| name == server)
    }
}

impl Session {
    pub(crate) fn new(client: Arc<Downstream>, servers: Arc<Servers>) -> Arc<Self> {
        Self::create(client, servers, None)
    }

    /// Creates the session that replaces this one when the configuration has changed.
    pub(crate) fn successor(&self, servers: Arc<Servers>) -> Arc<Self> {
        Self::create(Arc::clone(&self.client), servers, Some(self))
    }

    fn create(client: Arc<Downstream>, servers: Arc<Servers>, before: Option<&Self>) -> Arc<Self> {
        let kept = |upstream: &Arc<Upstream>| {
            before.and_then(|before| {
                Some((before, before.servers.upstreams.iter().position(|it| Arc::ptr_eq(it, upstream))?))
            })
        };
        let kept: Vec<Option<(&Self, usize)>> = servers.upstreams.iter().map(kept).collect();
        let link = |(upstream, kept): (&Arc<Upstream>, &Option<(&Self, usize)>)| match kept {
            Some((before, at)) => Arc::clone(&before.links[*at]),
            None => {
                let options = RelayOptions::default().with_server_name(Arc::clone(&upstream.name));
                let (connecting, processes) = (Arc::clone(upstream), servers.processes.clone());
                let connect = move |builder| {
                    let (upstream, processes) = (Arc::clone(&connecting), processes.clone());
                    async move { upstream.connect(builder, &processes).await }.boxed()
                };
                Arc::new(ServerLink::new(Arc::clone(&client), options, Arc::new(connect)))
            }
        };
        let lists =
            Lists::new(&servers.names, servers.config.prefix, &servers.memory, |kind, server| match kept[server] {
                // Read again: the pins may have changed, and changes during the takeover go to the old session.
                Some((before, at)) => {
                    let list = before.lists.get(kind, at);
                    ServerList { changes: list.changes + 1, ..list }
                }
                None => ServerList::default(),
            });
        let links: Vec<_> = servers.upstreams.iter().zip(&kept).map(link).collect();
        client.set_names_servers(servers.names.len() > 1);
        client.set_names_tasks(servers.names_tasks());
        let session = Arc::new(Self {
            links,
            client,
            lists,
            reading: tokio::sync::Mutex::default(),
            level: Mutex::new(before.and_then(|before| *before.level.lock())),
            subscriptions: before.map(|before| Arc::clone(&before.subscriptions)).unwrap_or_default(),
            is_replaced: AtomicBool::new(false),
            servers,
        });
        if let Some(before) = before {
            before.is_replaced.store(true, Ordering::SeqCst);
            // Ends subscriptions that the rules now forbid, or whose server is replaced.
            for subscribed in session.subscriptions.lock().values_mut() {
                let Some((name, uri)) = &subscribed.target.resource else { continue };
                let server = session.servers.names.iter().position(|known| known == name);
                let permits = |at: &usize| session.servers.permits_uri((*at, uri), &subscribed.target.caller.scopes);
                if server.filter(permits).is_none_or(|at| kept[at].is_none()) {
                    subscribed.watch = None;
                }
            }
        }
        for (server, link) in session.links.iter().enumerate() {
            let session = Arc::downgrade(&session);
            let on_event: OnLinkEvent = Arc::new(move |event| {
                let session = session.upgrade();
                async move {
                    if let Some(session) = session {
                        session.on_event(server, event).await;
                    }
                }
                .boxed()
            });
            link.set_on_event(on_event);
        }
        session
    }

    /// After a change to the configuration, subscribes to resources again, and notifies the client.
    pub(crate) async fn begin(&self) {
        if self.check_current().is_err() {
            return;
        }
        for server in 0..self.links.len() {
            if !self.pending(server).is_empty() {
                self.start(server);
                self.restore_subscriptions(server).await;
            }
        }
        self.notify_of_lists(Kind::ALL.into_iter()).await;
    }

    /// Begins to connect to a server, unless it has already begun.
    pub(crate) fn start(&self, server: usize) {
        self.links[server].start();
    }

    /// Connects to a server, if that is necessary.
    pub(crate) async fn connect(&self, server: usize) -> Result<Arc<Relay>, LinkDown> {
        self.links[server].relay().await
    }

    /// Like [`connect`](Self::connect), with an error to send to the client.
    pub(crate) async fn relay(&self, server: usize) -> Result<Arc<Relay>, ErrorObject> {
        let unavailable = |down: LinkDown| {
            let why = format!("server `{}` is not available: {}", self.servers.names[server], down.reason);
            ErrorObject::new(ErrorCode::INTERNAL_ERROR, why)
        };
        self.connect(server).await.map_err(unavailable)
    }

    /// Returns the connected servers.
    fn relays(&self) -> impl Iterator<Item = Arc<Relay>> {
        self.links.iter().filter_map(|link| link.connected())
    }

    async fn on_event(&self, server: usize, event: LinkEvent) {
        match event {
            LinkEvent::Connected => {
                let level = *self.level.lock();
                if let (Some(level), Some(relay)) = (level, self.links[server].connected()) {
                    let _ = tokio::time::timeout(LIST_TIMEOUT, relay.set_log_level(level)).await;
                }
                self.lists_changed(server, Kind::ALL.into_iter()).await;
                self.restore_subscriptions(server).await;
            }
            LinkEvent::Ended => {
                let name = &self.servers.names[server];
                for subscribed in self.subscriptions.lock().values_mut().filter(|it| it.target.is_of(name)) {
                    subscribed.watch = None;
                }
                for kind in Kind::ALL {
                    self.lists.update(kind, server, |list| list.is_available = false);
                }
                self.lists.rebuild();
                self.lists_changed(server, Kind::ALL.into_iter()).await;
            }
            LinkEvent::Changed(Change::Resource(uri)) => {
                for seen in self.seen_changes(server, &uri) {
                    self.notify_client(&Change::Resource(seen)).await;
                }
            }
            LinkEvent::Changed(change) => {
                self.lists_changed(server, Kind::ALL.into_iter().filter(|kind| kind.change() == change)).await;
            }
            _ => {}
        }
    }

    /// Returns the URIs under which the client sees a changed resource: one for each subscription to the resource, or
    /// to a resource that contains it. Leaves out what the rules forbid.
    fn seen_changes(&self, server: usize, uri: &str) -> Vec<String> {
        let subscriptions = self.subscriptions.lock();
        let of_server = subscriptions.iter().filter(|(_, it)| it.target.is_of(&self.servers.names[server]));
        let covering: Vec<_> = of_server
            .filter_map(|(seen, it)| {
                let (_, whole) = it.target.resource.as_ref().filter(|(_, whole)| is_part(uri, whole))?;
                Some((format!("{seen}{}", &uri[whole.len()..]), it.target.caller.scopes.clone()))
            })
            .collect();
        drop(subscriptions);
        let seen = match covering.is_empty() {
            true => vec![(self.lists.catalog().seen_uri(&self.servers.names, server, uri), None)],
            false => covering,
        };
        let permitted = seen.into_iter().filter(|(_, scopes)| self.servers.permits_uri((server, uri), scopes));
        permitted.map(|(seen, _)| seen).collect()
    }

    /// Records that lists of a server have changed, and notifies the client of those that it has asked for.
    async fn lists_changed(&self, server: usize, kinds: impl Iterator<Item = Kind> + Clone) {
        kinds.clone().for_each(|kind| self.lists.update(kind, server, |list| list.changes += 1));
        self.notify_of_lists(kinds).await;
    }

    async fn notify_of_lists(&self, kinds: impl Iterator<Item = Kind>) {
        let mut changes: Vec<_> = kinds.filter(|kind| self.lists.is_known(*kind)).map(Kind::change).collect();
        changes.dedup();
        for change in changes {
            self.notify_client(&change).await;
        }
    }

    /// Notifies the client of a change. A client that is not ready has not asked for lists yet, and is not waited for.
    async fn notify_client(&self, change: &Change) {
        if self.client.is_ready() {
            self.client.changed(change).await;
        }
    }

    /// Returns why lists of a server could not be read.
    pub(crate) fn list_failures(&self, server: usize) -> Vec<String> {
        let failure = |kind: Kind| Some(format!("{}: {}", kind.method(), self.lists.get(kind, server).failure?));
        Kind::ALL.into_iter().filter_map(failure).collect()
    }

    fn are_available(&self, kinds: &[Kind]) -> bool {
        let is_available = |kind, server| self.lists.get(kind, server).is_available;
        (0..self.links.len()).all(|server| kinds.iter().all(|kind| is_available(*kind, server)))
    }

    /// Returns the lists of these kinds. Asks servers whose lists are not known or have changed; with `all`, all servers.
    pub(crate) async fn list(&self, kinds: &[Kind], all: bool) -> Arc<Catalog> {
        let _reading = if all { None } else { Some(self.reading.lock().await) };
        let reads = kinds.iter().flat_map(|kind| (0..self.links.len()).map(|server| (*kind, server)));
        let reads: Vec<_> = reads.filter(|(kind, server)| all || !self.lists.is_current(*kind, *server)).collect();
        if reads.is_empty() {
            return self.lists.catalog();
        }
        join_all(reads.into_iter().map(|(kind, server)| self.read_list(kind, server))).await;
        self.lists.rebuild()
    }

    /// Reads a list of a server. The list of a server that is not available stays as it was, but clients do not see it.
    async fn read_list(&self, kind: Kind, server: usize) {
        let (upstream, Servers { pins, memory, .. }) = (&self.servers.upstreams[server], &*self.servers);
        let name = &upstream.name;
        let before = self.lists.get(kind, server).changes;
        let read = async {
            // The link has already logged why the server is not available.
            let relay = self.connect(server).await.map_err(|_| None)?;
            let items = relay.list(kind.method(), kind.member(), kind.capability()).await;
            let items = items.map_err(|error| Some(error_chain(&relay.server().peer().explain(error))))?;
            let too_large = || Some("the lists of all servers exceed `memory`".to_owned());
            upstream.share(kind, items, memory).ok_or_else(too_large)
        };
        let read = tokio::time::timeout(LIST_TIMEOUT, read).await;
        let read = read.unwrap_or_else(|_| Err(Some(format!("no response within {} s", LIST_TIMEOUT.as_secs()))));
        let findings = match (&read, pins) {
            (Ok(list), Some(pins)) if kind == Kind::Tool => {
                pins.findings(name, &list.items, Instant::now() + COMPARE_TIMEOUT).await
            }
            _ => HashMap::new(),
        };
        self.lists.update(kind, server, |list| {
            // The list also counts as current after a failure, until the server connects again or reports a change.
            list.read_at = Some(before);
            match read {
                Ok(items) => {
                    (list.items, list.failure, list.is_available, list.findings) = (Some(items), None, true, findings);
                }
                Err(why) => {
                    if let Some(why) = &why {
                        tracing::warn!("[{name}] {}: {why}", kind.method());
                    }
                    (list.is_available, list.failure) = (false, why.map(Into::into));
                }
            }
        });
    }

    /// Sets the log level of all servers.
    pub(crate) async fn set_level(&self, level: Level) {
        *self.level.lock() = Some(level);
        let relays: Vec<_> = self.relays().collect();
        // Errors are ignored, because not every server supports logging.
        let requests = join_all(relays.iter().map(|relay| relay.set_log_level(level)));
        let _ = tokio::time::timeout(LIST_TIMEOUT, requests).await;
    }

    /// Passes a notification of the client on to all servers.
    pub(crate) async fn notify(&self, notification: &AnyNotification) {
        if notification.method == "notifications/initialized" {
            return self.client.ready(notification.context.revision());
        }
        let relays: Vec<_> = self.relays().collect();
        join_all(relays.iter().map(|relay| relay.notify_server(notification.clone()))).await;
    }

    /// Returns the server of a resource, and the URI that the server uses.
    pub(crate) async fn resource(&self, seen: &str, caller: &Caller) -> Result<(usize, String), ErrorObject> {
        let not_found = || resource_not_found(caller.revision, seen);
        // URL parsers drop these characters, so the server could see a URI that the rules did not.
        if seen.trim() != seen || seen.contains(char::is_control) {
            return Err(not_found());
        }
        let catalog = self.list(&[Kind::Resource, Kind::Template], false).await;
        let found = catalog.resource(&self.servers.names, seen);
        found.filter(|(at, uri)| self.servers.permits_uri((*at, uri), &caller.scopes)).ok_or_else(not_found)
    }

    /// Subscribes to a resource. If its server is not available, the client is notified of changes once it is.
    pub(crate) async fn subscribe(&self, seen: &str, caller: Caller) -> Result<Subscription<Target>, ErrorObject> {
        let resource = match self.resource(seen, &caller).await {
            Ok((server, uri)) => Some((self.servers.names[server].clone(), uri)),
            // A server that is not available may have it.
            Err(_) if !self.are_available(&[Kind::Resource, Kind::Template]) => None,
            Err(unknown) => return Err(unknown),
        };
        let target = Target { caller, resource };
        let subscription = self.subscriptions.add(seen, target.clone())?;
        self.check_current()?;
        if !self.subscriptions.contains(seen) {
            self.watch(seen, target).await?;
        }
        Ok(subscription)
    }

    /// Fails if another session has replaced this one, which may have missed what this one has just changed.
    fn check_current(&self) -> Result<(), ErrorObject> {
        let changed = "the configuration has changed meanwhile; send the request again";
        match self.is_replaced.load(Ordering::SeqCst) {
            true => Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, changed)),
            false => Ok(()),
        }
    }

    /// Subscribes to a resource at its server. Returns `false` if the server is not available or not known.
    async fn watch(&self, seen: &str, Target { caller, resource }: Target) -> Result<bool, ErrorObject> {
        let known = match resource {
            Some((name, uri)) => {
                let server = self.servers.names.iter().position(|known| *known == name);
                server.zip(Some(uri)).filter(|(at, uri)| self.servers.permits_uri((*at, uri), &caller.scopes))
            }
            None => self.resource(seen, &caller).await.ok(),
        };
        let Some((server, uri)) = known else { return Ok(false) };
        let Some(relay) = self.links[server].connected() else { return Ok(false) };
        let watch = relay.watch_patiently(&uri, caller.revision).await?;
        let mut subscriptions = self.subscriptions.lock();
        // If another session has replaced this one, that session subscribes itself.
        if let (Some(subscribed), Ok(())) = (subscriptions.get_mut(seen), self.check_current()) {
            subscribed.target.resource = Some((self.servers.names[server].clone(), uri));
            subscribed.watch = Some(watch);
        }
        Ok(true)
    }

    /// Returns the client's subscriptions that are not active yet and may belong to a server.
    fn pending(&self, server: usize) -> Vec<(String, Target)> {
        let may_be_of = |it: &Target| it.resource.is_none() || it.is_of(&self.servers.names[server]);
        let subscriptions = self.subscriptions.lock();
        let pending = subscriptions.iter().filter(|(_, it)| it.watch.is_none() && may_be_of(&it.target));
        pending.map(|(seen, it)| (seen.clone(), it.target.clone())).collect()
    }

    /// Activates pending subscriptions at a server, and notifies the client, because the resources may have changed.
    async fn restore_subscriptions(&self, server: usize) {
        if self.subscriptions.lock().is_empty() {
            return;
        }
        let (names, catalog) = (&self.servers.names, self.list(&[Kind::Resource, Kind::Template], false).await);
        for (seen, subscribed) in self.subscriptions.lock().iter_mut() {
            let found = catalog.resource(names, seen).is_some_and(|(owner, _)| owner == server);
            // Another server seemed to own the resource while this one was not available.
            if found && !subscribed.target.is_of(&names[server]) {
                (subscribed.target.resource, subscribed.watch) = (None, None);
            }
        }
        for (seen, target) in self.pending(server) {
            match self.watch(&seen, target).await {
                Ok(true) => self.notify_client(&Change::Resource(seen)).await,
                Ok(false) => {}
                Err(error) => tracing::warn!("cannot subscribe to {seen:?} again: {error}"),
            }
        }
    }
}
