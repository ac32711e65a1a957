//! A client and its connections to the servers.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use mcpgen_bridge::{Downstream, Relay, Watch};
use mcpgen_sdk::CallError;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::conversion::Revisions;
use mcpgen_sdk::protocol::{PeerExt, TYPES};
use mcpgen_sdk::router::{AnyNotification, AnyRequest};
use mcpgen_sdk::util::error_chain;
use mcpgen_types::{ErrorCode, ErrorObject, JsonObject, JsonRef, Revision};
use parking_lot::Mutex;

use crate::catalog::{Catalog, ServerList};
use crate::config::Prefix;
use crate::connect::{Processes, Upstream};
use crate::kind::Kind;
use crate::pins::Pins;
use crate::server_link::{Event, OnEvent, ServerLink};

/// How long a list waits for servers that are not connected yet. The client is notified when they are.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);
/// The limits of the list of one server.
const MAX_PAGES: usize = 100;
const MAX_ITEMS: usize = 10_000;
const MAX_BYTES: usize = 16 << 20;

/// What all clients share.
pub(crate) struct Servers {
    pub(crate) names: Vec<String>,
    pub(crate) upstreams: Vec<Arc<Upstream>>,
    pub(crate) prefix: Prefix,
    pub(crate) pins: Option<Arc<Pins>>,
    pub(crate) processes: Processes,
}

/// A client and its connections to the servers. Dropping it ends them.
pub(crate) struct Session {
    pub(crate) client: Arc<Downstream>,
    pub(crate) servers: Arc<Servers>,
    links: Vec<ServerLink>,
    lists: Mutex<Lists>,
    /// Locked while lists are read that several calls need.
    reading: tokio::sync::Mutex<()>,
    /// The last `logging/setLevel` of the client.
    level: Mutex<Option<AnyRequest>>,
    subscriptions: Mutex<HashMap<String, Subscribed>>,
    myself: Weak<Self>,
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

/// A resource that the client has subscribed to.
struct Subscribed {
    /// The number of subscriptions.
    count: usize,
    server: usize,
    uri: String,
    revision: Revision,
    /// `None` while the server is not connected.
    watch: Option<Watch>,
}

impl Session {
    pub(crate) fn new(client: Arc<Downstream>, servers: Arc<Servers>) -> Arc<Self> {
        let count = servers.names.len();
        let lists = Lists {
            of_kind: std::array::from_fn(|_| vec![ServerList::default(); count]),
            changes: std::array::from_fn(|_| vec![0; count]),
            read_at: std::array::from_fn(|_| vec![None; count]),
            catalog: Arc::default(),
        };
        Arc::new_cyclic(|myself| Self {
            client,
            links: servers.upstreams.iter().map(ServerLink::new).collect(),
            servers,
            lists: Mutex::new(lists),
            reading: tokio::sync::Mutex::default(),
            level: Mutex::default(),
            subscriptions: Mutex::default(),
            myself: myself.clone(),
        })
    }

    /// Begins to connect to a server, unless that was done before.
    pub(crate) fn start(&self, server: usize) {
        self.links[server].start(&self.client, &self.servers.processes, || {
            let session = self.myself.clone();
            let on_event: OnEvent = Arc::new(move |event| {
                let session = session.upgrade();
                async move {
                    if let Some(session) = session {
                        session.on_event(server, event).await;
                    }
                }
                .boxed()
            });
            on_event
        });
    }

    /// Connects to a server, if that is necessary.
    pub(crate) async fn relay(&self, server: usize) -> Result<Arc<Relay>, ErrorObject> {
        if let Some(relay) = self.links[server].connected() {
            return Ok(relay);
        }
        self.start(server);
        let unavailable = |why| ErrorObject::new(ErrorCode::INTERNAL_ERROR, why);
        self.links[server].relay().await.map_err(unavailable)
    }

    /// Returns the connected servers.
    fn relays(&self) -> impl Iterator<Item = Arc<Relay>> {
        self.links.iter().filter_map(ServerLink::connected)
    }

    async fn on_event(&self, server: usize, event: Event) {
        match event {
            Event::Connected => {
                let level = self.level.lock().clone();
                if let (Some(level), Some(relay)) = (level, self.links[server].connected()) {
                    let _ = tokio::time::timeout(LIST_TIMEOUT, relay.request(level)).await;
                }
                self.restore_subscriptions(server).await;
                self.lists_changed(server, Kind::ALL.into_iter()).await;
            }
            Event::Ended => {
                for subscribed in self.subscriptions.lock().values_mut().filter(|it| it.server == server) {
                    subscribed.watch = None;
                }
                {
                    let mut lists = self.lists.lock();
                    for of_kind in &mut lists.of_kind {
                        of_kind[server].is_available = false;
                    }
                    self.rebuild(&mut lists);
                }
                self.lists_changed(server, Kind::ALL.into_iter()).await;
            }
            Event::Changed(Change::Resource(uri)) => {
                let uri = self.catalog().seen_uri(&self.servers.names, server, &uri);
                self.notify_client(&Change::Resource(uri)).await;
            }
            Event::Changed(change) => {
                self.lists_changed(server, Kind::ALL.into_iter().filter(|kind| kind.change() == change)).await;
            }
        }
    }

    /// Records that lists of a server have changed, and notifies the client of those that it knows.
    async fn lists_changed(&self, server: usize, kinds: impl Iterator<Item = Kind>) {
        let mut changes = Vec::new();
        {
            let mut lists = self.lists.lock();
            for kind in kinds {
                lists.changes[kind as usize][server] += 1;
                let is_known = lists.read_at[kind as usize].iter().any(Option::is_some);
                if is_known && !changes.contains(&kind.change()) {
                    changes.push(kind.change());
                }
            }
        }
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

    fn rebuild(&self, lists: &mut Lists) {
        lists.catalog = Arc::new(Catalog::new(&self.servers.names, &lists.of_kind, self.servers.prefix));
    }

    /// Returns whether a list of a server has not changed since it was read.
    pub(crate) fn is_current(&self, kind: Kind, server: usize) -> bool {
        let lists = self.lists.lock();
        lists.read_at[kind as usize][server] == Some(lists.changes[kind as usize][server])
    }

    /// Returns whether a list of a server was read since the server is connected.
    pub(crate) fn is_listed(&self, kind: Kind, server: usize) -> bool {
        self.lists.lock().of_kind[kind as usize][server].is_available
    }

    /// Returns what the servers have listed so far.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.lists.lock().catalog)
    }

    /// Returns the lists of these kinds. Asks servers whose lists are not known or have changed; with `all`, all servers.
    pub(crate) async fn list(&self, kinds: &[Kind], all: bool) -> Arc<Catalog> {
        let _reading = if all { None } else { Some(self.reading.lock().await) };
        let reads = kinds.iter().flat_map(|kind| (0..self.links.len()).map(|server| (*kind, server)));
        let reads = reads.filter(|(kind, server)| {
            let lists = self.lists.lock();
            all || lists.read_at[*kind as usize][*server] != Some(lists.changes[*kind as usize][*server])
        });
        let reads: Vec<_> = reads.collect();
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
        let name = &self.servers.names[server];
        let before = self.lists.lock().changes[kind as usize][server];
        let read = async {
            // The log says why a server is not available.
            let relay = self.relay(server).await.map_err(|_| None)?;
            let items = items(&relay, kind).await;
            items.map_err(|error| Some(error_chain(&relay.server().peer().explain(error))))
        };
        let read = tokio::time::timeout(LIST_TIMEOUT, read).await;
        match read.unwrap_or_else(|_| Err(Some(format!("no response within {} s", LIST_TIMEOUT.as_secs())))) {
            Ok(items) => {
                let findings = match &self.servers.pins {
                    Some(pins) if kind == Kind::Tool => pins.findings(name, &items).await,
                    _ => HashMap::new(),
                };
                let mut lists = self.lists.lock();
                lists.of_kind[kind as usize][server] = ServerList { items: items.into(), is_available: true, findings };
                lists.read_at[kind as usize][server] = Some(before);
            }
            Err(why) => {
                if let Some(why) = why {
                    tracing::warn!("[{name}] {}: {why}", kind.method());
                }
                let mut lists = self.lists.lock();
                lists.of_kind[kind as usize][server].is_available = false;
                // The list is read again once the server is connected or says that the list has changed.
                lists.read_at[kind as usize][server] = Some(before);
            }
        }
    }

    /// Sets the log level of all servers.
    pub(crate) async fn set_level(&self, request: AnyRequest) {
        *self.level.lock() = Some(request.clone());
        let relays: Vec<_> = self.relays().collect();
        // Not every server has log messages.
        let requests = join_all(relays.iter().map(|relay| relay.request(request.clone())));
        let _ = tokio::time::timeout(LIST_TIMEOUT, requests).await;
    }

    /// Passes a notification of the client on to all servers.
    pub(crate) async fn notify(&self, notification: &AnyNotification) {
        for relay in self.relays() {
            relay.notify_server(notification.clone()).await;
        }
    }

    /// Subscribes to a resource.
    pub(crate) async fn subscribe(
        &self,
        seen: &str,
        target: (usize, String),
        revision: Revision,
    ) -> Result<(), ErrorObject> {
        if let Some(subscribed) = self.subscriptions.lock().get_mut(seen) {
            subscribed.count += 1;
            return Ok(());
        }
        let (server, uri) = target;
        let watch = self.relay(server).await?.watch(&uri, revision).await?;
        let new = Subscribed { count: 0, server, uri, revision, watch: Some(watch) };
        self.subscriptions.lock().entry(seen.to_owned()).or_insert(new).count += 1;
        Ok(())
    }

    /// Ends a subscription to a resource.
    pub(crate) fn unsubscribe(&self, seen: &str) {
        let mut subscriptions = self.subscriptions.lock();
        if let Some(subscribed) = subscriptions.get_mut(seen) {
            subscribed.count -= 1;
            if subscribed.count == 0 {
                subscriptions.remove(seen);
            }
        }
    }

    /// Returns the number of subscriptions to a resource, and that of all subscribed resources.
    pub(crate) fn subscriptions(&self, seen: &str) -> (usize, usize) {
        let subscriptions = self.subscriptions.lock();
        (subscriptions.get(seen).map_or(0, |subscribed| subscribed.count), subscriptions.len())
    }

    /// Subscribes again after a server was lost. Its resources may have changed meanwhile.
    async fn restore_subscriptions(&self, server: usize) {
        let Some(relay) = self.links[server].connected() else { return };
        let of_server = |(seen, it): (&String, &Subscribed)| {
            (it.server == server && it.watch.is_none()).then(|| (seen.clone(), it.uri.clone(), it.revision))
        };
        let lost: Vec<_> = self.subscriptions.lock().iter().filter_map(of_server).collect();
        for (seen, uri, revision) in lost {
            match relay.watch(&uri, revision).await {
                Ok(watch) => {
                    if let Some(subscribed) = self.subscriptions.lock().get_mut(&seen) {
                        subscribed.watch = Some(watch);
                    }
                    self.notify_client(&Change::Resource(seen)).await;
                }
                Err(error) => {
                    tracing::warn!("[{}] cannot subscribe to {uri} again: {error}", self.servers.names[server])
                }
            }
        }
    }
}

/// Reads a list of a server, in the newest revision.
async fn items(relay: &Relay, kind: Kind) -> Result<Vec<JsonObject>, CallError> {
    let server = relay.server();
    if !server.peer().peer_info().is_some_and(|info| info.can(&[kind.capability()])) {
        return Ok(Vec::new());
    }
    let revisions = Revisions { from: server.revision(), to: TYPES };
    let (mut items, mut cursor, mut bytes) = (Vec::new(), None::<String>, 0);
    for _ in 0..MAX_PAGES {
        let params: JsonObject = cursor.iter().map(|cursor| ("cursor", cursor.into())).collect();
        let page = match server.raw_call(kind.method(), params).await {
            Err(CallError::ErrorResponse(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => break,
            page => page?,
        };
        bytes += page.text().len();
        let page = revisions.result(kind.method(), &page).map_err(|error| CallError::Invalid(error.into()))?;
        items.extend(
            page.get(kind.member())
                .into_iter()
                .flat_map(JsonRef::elements)
                .filter_map(|item| JsonObject::try_from(item).ok()),
        );
        if items.len() > MAX_ITEMS || bytes > MAX_BYTES {
            return Err(CallError::Invalid(
                format!("the list has more than {MAX_ITEMS} items or {MAX_BYTES} bytes").into(),
            ));
        }
        let next = page.get("nextCursor").and_then(JsonRef::as_str).map(|next| next.into_owned());
        if next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    Ok(items)
}
