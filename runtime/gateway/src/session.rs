//! A client and its connections to the servers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use mcpgen_bridge::catalog::{Catalog, Kind, Memory, Prefix, ServerList};
use mcpgen_bridge::{Downstream, LinkDown, LinkEvent, OnLinkEvent, Relay, RelayOptions, ServerLink, Watch};
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::protocol::Level;
use mcpgen_sdk::protocol::change::{Change, is_part};
use mcpgen_sdk::router::AnyNotification;
use mcpgen_sdk::server::subscriptions::{MAX_RESOURCE_SUBSCRIPTIONS, MAX_SUBSCRIPTION_BYTES};
use mcpgen_sdk::util::error_chain;
use mcpgen_types::{ErrorCode, ErrorObject, Revision};
use parking_lot::Mutex;

use crate::connect::{Processes, Upstream};
use crate::pins::Pins;
use crate::policy::Rules;

/// How long a list waits for servers that are not connected yet. The client is notified when they are.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// What all clients share.
pub(crate) struct Servers {
    pub(crate) names: Vec<String>,
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    /// The rules of each server for its tools, prompts and resources.
    pub(crate) rules: Vec<[Rules; 3]>,
    pub(crate) prefix: Prefix,
    pub(crate) pins: Option<Arc<Pins>>,
    pub(crate) processes: Processes,
    pub(crate) memory: Arc<Memory>,
}

/// A client and its connections to the servers. Dropping it ends them. If the configuration changes, another session of the
/// client takes over the connections to unchanged servers.
pub(crate) struct Session {
    pub(crate) client: Arc<Downstream>,
    pub(crate) servers: Arc<Servers>,
    links: Vec<Arc<ServerLink>>,
    lists: Mutex<Lists>,
    /// Locked while lists are read that several calls need.
    reading: tokio::sync::Mutex<()>,
    /// The log level that the client has set.
    level: Mutex<Option<Level>>,
    pub(crate) subscriptions: Arc<Subscriptions>,
}

/// What the servers list, as far as the client has asked for it.
#[derive(Default)]
struct Lists {
    of_kind: [Vec<ServerList>; 4],
    /// Counts the changes of each list.
    changes: [Vec<u64>; 4],
    /// The number of changes when each list was last read; `None` if it was not.
    read_at: [Vec<Option<u64>>; 4],
    catalog: Arc<Catalog>,
}

/// The resources that the client has subscribed to, by the URI that it sees.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<HashMap<String, Subscribed>>);

/// A resource that the client has subscribed to.
struct Subscribed {
    /// The number of subscriptions.
    count: usize,
    upstream: Arc<Upstream>,
    uri: String,
    revision: Revision,
    /// `None` while the server is not connected.
    watch: Option<Watch>,
}

impl Subscriptions {
    /// Ends a subscription to a resource.
    pub(crate) fn remove(&self, seen: &str) {
        let mut subscriptions = self.0.lock();
        if let Some(subscribed) = subscriptions.get_mut(seen) {
            subscribed.count -= 1;
            if subscribed.count == 0 {
                subscriptions.remove(seen);
            }
        }
    }

    /// Returns whether the client has subscribed to a resource, and is notified of its changes.
    pub(crate) fn contains(&self, seen: &str) -> bool {
        self.0.lock().get(seen).is_some_and(|subscribed| subscribed.watch.is_some())
    }

    /// Fails if another resource would exceed the limits of a client.
    fn check_space(&self, seen: &str) -> Result<(), ErrorObject> {
        let subscriptions = self.0.lock();
        let bytes: usize = subscriptions.keys().map(String::len).sum();
        let is_full = subscriptions.len() >= MAX_RESOURCE_SUBSCRIPTIONS || bytes + seen.len() > MAX_SUBSCRIPTION_BYTES;
        match is_full && !subscriptions.contains_key(seen) {
            true => Err(errors::limit_exceeded("too many resource subscriptions; unsubscribe from others first")),
            false => Ok(()),
        }
    }

    /// Removes the watches of a server, and returns its resources: as the client sees them, their URI, and the revision of the
    /// client.
    fn lose(&self, upstream: &Arc<Upstream>) -> Vec<(String, String, Revision)> {
        let mut subscriptions = self.0.lock();
        let of_server = subscriptions.iter_mut().filter(|(_, it)| Arc::ptr_eq(&it.upstream, upstream));
        let lost = of_server.map(|(seen, it)| {
            it.watch = None;
            (seen.clone(), it.uri.clone(), it.revision)
        });
        lost.collect()
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
        let position = |upstream: &Arc<Upstream>| {
            before.and_then(|before| before.servers.upstreams.iter().position(|it| Arc::ptr_eq(it, upstream)))
        };
        let kept: Vec<Option<(&Self, usize)>> =
            servers.upstreams.iter().map(|upstream| before.zip(position(upstream))).collect();
        let link = |(upstream, kept): (&Arc<Upstream>, &Option<(&Self, usize)>)| match kept {
            Some((before, at)) => Arc::clone(&before.links[*at]),
            None => {
                let options = RelayOptions::default()
                    .with_server_name(Arc::clone(&upstream.name))
                    .with_names_asking_server(servers.names.len() > 1);
                let (connecting, processes) = (Arc::clone(upstream), servers.processes.clone());
                let connect = move |builder| {
                    let (upstream, processes) = (Arc::clone(&connecting), processes.clone());
                    async move { upstream.connect(builder, &processes).await }.boxed()
                };
                Arc::new(ServerLink::new(Arc::clone(&client), options, Arc::new(connect)))
            }
        };
        let mut lists = Lists::default();
        for kind in Kind::ALL.map(|kind| kind as usize) {
            for kept in &kept {
                let (list, changes, read_at) = kept.map_or_else(Default::default, |(before, at)| {
                    let lists = before.lists.lock();
                    (lists.of_kind[kind][at].clone(), lists.changes[kind][at], lists.read_at[kind][at])
                });
                lists.of_kind[kind].push(list);
                // The pins may have changed, and changes during the takeover go to the session before.
                lists.changes[kind].push(changes + u64::from(kept.is_some()));
                lists.read_at[kind].push(read_at);
            }
        }
        let links: Vec<_> = servers.upstreams.iter().zip(&kept).map(link).collect();
        client.name_tasks(servers.name_tasks());
        let session = Arc::new(Self {
            links,
            client,
            lists: Mutex::new(lists),
            reading: tokio::sync::Mutex::default(),
            level: Mutex::new(before.and_then(|before| *before.level.lock())),
            subscriptions: before.map(|before| Arc::clone(&before.subscriptions)).unwrap_or_default(),
            servers,
        });
        session.rebuild(&mut session.lists.lock());
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

    /// Subscribes to resources of servers that were replaced, and notifies the client, after a change of the configuration.
    pub(crate) async fn begin(&self) {
        let is_ours = |it: &Subscribed| self.servers.upstreams.iter().any(|known| Arc::ptr_eq(known, &it.upstream));
        for subscribed in self.subscriptions.0.lock().values_mut().filter(|it| !is_ours(it)) {
            subscribed.watch = None;
            let name = &subscribed.upstream.name;
            if let Some(server) = self.servers.upstreams.iter().position(|upstream| upstream.name == *name) {
                subscribed.upstream = Arc::clone(&self.servers.upstreams[server]);
                self.start(server);
            }
        }
        let mut changes: Vec<_> = Kind::ALL.into_iter().filter(|kind| self.is_known(*kind)).map(Kind::change).collect();
        changes.dedup();
        for change in changes {
            self.notify_client(&change).await;
        }
    }

    /// Begins to connect to a server, unless it has already begun.
    pub(crate) fn start(&self, server: usize) {
        self.links[server].start();
    }

    /// Connects to a server, if that is necessary.
    pub(crate) async fn connect(&self, server: usize) -> Result<Arc<Relay>, LinkDown> {
        self.links[server].relay().await
    }

    /// Does the same, with an error for clients.
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
                self.restore_subscriptions(server).await;
                self.lists_changed(server, Kind::ALL.into_iter()).await;
            }
            LinkEvent::Ended => {
                self.subscriptions.lose(&self.servers.upstreams[server]);
                {
                    let mut lists = self.lists.lock();
                    for of_kind in &mut lists.of_kind {
                        of_kind[server].is_available = false;
                    }
                    self.rebuild(&mut lists);
                }
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

    /// Returns a changed resource as the client sees it: under each URI by which it has subscribed to the resource, or to one
    /// that it is a part of.
    fn seen_changes(&self, server: usize, uri: &str) -> Vec<String> {
        let upstream = &self.servers.upstreams[server];
        let subscriptions = self.subscriptions.0.lock();
        let covering =
            subscriptions.iter().filter(|(_, it)| Arc::ptr_eq(&it.upstream, upstream) && is_part(uri, &it.uri));
        let seen: Vec<_> = covering.map(|(seen, it)| format!("{seen}{}", &uri[it.uri.len()..])).collect();
        drop(subscriptions);
        match seen.is_empty() {
            true => vec![self.catalog().seen_uri(&self.servers.names, server, uri)],
            false => seen,
        }
    }

    /// Records that lists of a server have changed, and notifies the client of those that it knows.
    async fn lists_changed(&self, server: usize, kinds: impl Iterator<Item = Kind>) {
        let mut changes = Vec::new();
        for kind in kinds {
            self.lists.lock().changes[kind as usize][server] += 1;
            if self.is_known(kind) && !changes.contains(&kind.change()) {
                changes.push(kind.change());
            }
        }
        for change in changes {
            self.notify_client(&change).await;
        }
    }

    /// Returns whether the client has asked for lists of this kind.
    fn is_known(&self, kind: Kind) -> bool {
        self.lists.lock().read_at[kind as usize].iter().any(Option::is_some)
    }

    /// Notifies the client of a change. A client that is not ready has not asked for lists yet, and is not waited for.
    async fn notify_client(&self, change: &Change) {
        if self.client.is_ready() {
            self.client.changed(change).await;
        }
    }

    fn rebuild(&self, lists: &mut Lists) {
        let Servers { names, prefix, memory, .. } = &*self.servers;
        lists.catalog = Arc::new(Catalog::new(names, &lists.of_kind, *prefix, memory));
    }

    /// Returns whether a list of a server has not changed since it was read.
    pub(crate) fn is_current(&self, kind: Kind, server: usize) -> bool {
        let lists = self.lists.lock();
        lists.read_at[kind as usize][server] == Some(lists.changes[kind as usize][server])
    }

    /// Returns whether a list of a server has been read since the server was connected.
    pub(crate) fn is_listed(&self, kind: Kind, server: usize) -> bool {
        self.lists.lock().of_kind[kind as usize][server].is_available
    }

    /// Returns what the servers have listed so far.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.lists.lock().catalog)
    }

    /// Returns why lists of a server could not be read.
    pub(crate) fn list_failures(&self, server: usize) -> Vec<String> {
        let lists = self.lists.lock();
        let failures = Kind::ALL.into_iter().filter_map(|kind| {
            let failure = lists.of_kind[kind as usize][server].failure.as_ref()?;
            Some(format!("{}: {failure}", kind.method()))
        });
        failures.collect()
    }

    /// Returns the lists of these kinds. Asks servers whose lists are not known or have changed; with `all`, all servers.
    pub(crate) async fn list(&self, kinds: &[Kind], all: bool) -> Arc<Catalog> {
        let _reading = if all { None } else { Some(self.reading.lock().await) };
        let reads = kinds.iter().flat_map(|kind| (0..self.links.len()).map(|server| (*kind, server)));
        let reads: Vec<_> = reads.filter(|(kind, server)| all || !self.is_current(*kind, *server)).collect();
        if reads.is_empty() {
            return self.catalog();
        }
        join_all(reads.into_iter().map(|(kind, server)| self.read_list(kind, server))).await;
        let mut lists = self.lists.lock();
        self.rebuild(&mut lists);
        Arc::clone(&lists.catalog)
    }

    /// Reads a list of a server. The list of a server that is not available stays as it was, but clients do not see it.
    async fn read_list(&self, kind: Kind, server: usize) {
        let (upstream, Servers { pins, memory, .. }) = (&self.servers.upstreams[server], &*self.servers);
        let name = &upstream.name;
        let before = self.lists.lock().changes[kind as usize][server];
        let read = async {
            // The log says why a server is not available.
            let relay = self.connect(server).await.map_err(|_| None)?;
            let items = relay.list(kind.method(), kind.member(), kind.capability()).await;
            let items = items.map_err(|error| Some(error_chain(&relay.server().peer().explain(error))))?;
            let too_large = || Some("the lists of all servers exceed `memory`".to_owned());
            upstream.share(kind, items, memory).ok_or_else(too_large)
        };
        let read = tokio::time::timeout(LIST_TIMEOUT, read).await;
        let read = read.unwrap_or_else(|_| Err(Some(format!("no response within {} s", LIST_TIMEOUT.as_secs()))));
        let findings = match (&read, pins) {
            (Ok(list), Some(pins)) if kind == Kind::Tool => pins.findings(name, &list.items).await,
            _ => HashMap::new(),
        };
        let mut lists = self.lists.lock();
        // After a failure, the list is read again once the server is connected or says that the list has changed.
        lists.read_at[kind as usize][server] = Some(before);
        let list = &mut lists.of_kind[kind as usize][server];
        match read {
            Ok(items) => *list = ServerList { items: Some(items), failure: None, is_available: true, findings },
            Err(why) => {
                if let Some(why) = &why {
                    tracing::warn!("[{name}] {}: {why}", kind.method());
                }
                (list.is_available, list.failure) = (false, why.map(Into::into));
            }
        }
    }

    /// Sets the log level of all servers.
    pub(crate) async fn set_level(&self, level: Level) {
        *self.level.lock() = Some(level);
        let relays: Vec<_> = self.relays().collect();
        // Not every server has log messages.
        let requests = join_all(relays.iter().map(|relay| relay.set_log_level(level)));
        let _ = tokio::time::timeout(LIST_TIMEOUT, requests).await;
    }

    /// Passes a notification of the client on to all servers.
    pub(crate) async fn notify(&self, notification: &AnyNotification) {
        let relays: Vec<_> = self.relays().collect();
        join_all(relays.iter().map(|relay| relay.notify_server(notification.clone()))).await;
    }

    /// Subscribes to a resource.
    pub(crate) async fn subscribe(
        &self,
        seen: &str,
        (server, uri): (usize, String),
        revision: Revision,
    ) -> Result<(), ErrorObject> {
        self.subscriptions.check_space(seen)?;
        let watch = match self.subscriptions.contains(seen) {
            true => None,
            false => Some(self.relay(server).await?.watch(&uri, revision).await?),
        };
        let upstream = Arc::clone(&self.servers.upstreams[server]);
        let new = Subscribed { count: 0, upstream, uri, revision, watch: None };
        let mut subscriptions = self.subscriptions.0.lock();
        let subscribed = subscriptions.entry(seen.to_owned()).or_insert(new);
        subscribed.count += 1;
        subscribed.watch = watch.or_else(|| subscribed.watch.take());
        Ok(())
    }

    /// Subscribes again after a server was lost. Its resources may have changed meanwhile.
    async fn restore_subscriptions(&self, server: usize) {
        let (upstream, Some(relay)) = (&self.servers.upstreams[server], self.links[server].connected()) else { return };
        for (seen, uri, revision) in self.subscriptions.lose(upstream) {
            match relay.watch(&uri, revision).await {
                Ok(watch) => {
                    if let Some(subscribed) = self.subscriptions.0.lock().get_mut(&seen) {
                        subscribed.watch = Some(watch);
                    }
                    self.notify_client(&Change::Resource(seen)).await;
                }
                Err(error) => tracing::warn!("[{}] cannot subscribe to {uri:?} again: {error}", upstream.name),
            }
        }
    }
}
