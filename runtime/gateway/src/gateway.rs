//! The gateway: routes the requests of clients to the servers.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_auth::server::Identity;
use mcpgen_bridge::catalog::{Catalog, Entry, Kind, Memory, Prefix, replace_uris, split_prefix};
use mcpgen_cluster::InMemoryRateLimiter;
use mcpgen_sdk::Context;
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::protocol::config::ServerConfig as ProtocolConfig;
use mcpgen_sdk::protocol::conversion::{ConversionError, Revisions};
use mcpgen_sdk::protocol::errors::resource_not_found;
use mcpgen_sdk::protocol::info::LocalInfo;
use mcpgen_sdk::protocol::methods::may_run_as_task;
use mcpgen_sdk::protocol::{ContextExt, Level, TYPES};
use mcpgen_sdk::replicas::{Decision, RateLimiter, Replicas};
use mcpgen_sdk::router::{AnyNotification, AnyRequest, Router};
use mcpgen_sdk::server::subscriptions::MAX_RESOURCE_SUBSCRIPTIONS;
use mcpgen_sdk::server::{decode_cursor, encode_cursor};
use mcpgen_sdk::util::did_you_mean;
use mcpgen_types::v2026_07_28::{SubscriptionsListenRequest, SubscriptionsListenRequestParams};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, JsonRef, MethodSpec, Params, Request, Revision};
use parking_lot::{Mutex, RwLock};
use serde_json::json;
use tokio::time::Instant;

use crate::call_log::{CallLog, LoggedCall, MAX_NAME, outcome, shortened};
use crate::config::{Authorization, Config, ConfigError, Http, ServerConfig, WhenChanged};
use crate::connect::{Processes, Upstream};
use crate::metrics::{Measured, Metrics};
use crate::pins::Pins;
use crate::policy::{Rules, Subject};
use crate::session::{Servers, Session, Subscriptions};
use crate::sessions::Sessions;

/// The number of items on a page. Many clients read only the first page.
const PAGE_SIZE: usize = 250;
/// The number of clients that are served at the same time on standard input and output.
const STDIO_CLIENTS: usize = 16;

const MINUTE: Duration = Duration::from_secs(60);
/// The default budget of [`Config::memory`].
const MEMORY: usize = 256 << 20;

/// A gateway. Clones share all state.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

/// What several replicas of a gateway share.
#[derive(Clone)]
pub struct Stores {
    /// The sessions of legacy clients.
    pub replicas: Replicas,
    /// Creates the limiter of a number of calls in a minute.
    pub limiter: Arc<dyn Fn(u32) -> Arc<dyn RateLimiter> + Send + Sync>,
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").field("replicas", &self.replicas).finish_non_exhaustive()
    }
}

struct Inner {
    ours: LocalInfo,
    stores: Option<Stores>,
    sessions: Arc<Sessions>,
    /// What follows from the configuration, which can change. A request keeps what it began with.
    shared: RwLock<Arc<Shared>>,
    /// Held during a reload, so that one follows another.
    reloading: Mutex<()>,
}

struct Shared {
    config: Config,
    servers: Arc<Servers>,
    sessions: Arc<Sessions>,
    log: Option<CallLog>,
    limiter: Option<Arc<dyn RateLimiter>>,
    metrics: Arc<Metrics>,
}

/// The scopes of a caller, if authorization is configured.
type Scopes = Option<BTreeSet<String>>;

impl Gateway {
    /// Creates a gateway. Servers are connected when a client needs them. Relative paths start at `folder`.
    ///
    /// # Errors
    ///
    /// Fails if the configuration contradicts itself, the log of calls cannot be opened, or the pins cannot be read.
    pub fn new(config: Config, folder: &Path) -> Result<Self, ConfigError> {
        Self::with_stores(config, folder, None)
    }

    /// Creates a replica of a gateway. Any replica can receive a request over HTTP. It passes those of a legacy session on to the
    /// replica that has it, and therefore its connections to the servers; if that replica ends, another one connects to
    /// them again. The limit of calls holds for all replicas together.
    ///
    /// # Errors
    ///
    /// Fails like [`new`](Self::new).
    pub fn with_stores(config: Config, folder: &Path, stores: Option<Stores>) -> Result<Self, ConfigError> {
        config.check()?;
        let mut ours = LocalInfo::new("mcpgen-gateway", env!("CARGO_PKG_VERSION"))
            .capability("tools", json!({ "listChanged": true }))
            .capability("prompts", json!({ "listChanged": true }))
            .capability("resources", json!({ "listChanged": true, "subscribe": true }))
            .capability("completions", json!({}))
            .capability("logging", json!({}))
            // Tools that run as tasks say so.
            .capability("tasks", json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } }))
            .capability("extensions", json!({ "io.modelcontextprotocol/tasks": {} }));
        ours.instructions.clone_from(&config.instructions);
        let max = config.http.as_ref().map_or(STDIO_CLIENTS, Http::clients);
        let memory = Memory::new(config.memory.unwrap_or(MEMORY));
        let servers = servers(&config, folder, None, (Processes::new(), memory))?;
        let sessions = Sessions::new(ours.clone(), Arc::clone(&servers), max);
        let limiter = limiter(&config, stores.as_ref());
        let (log, metrics) = (CallLog::open(&config.calls, folder)?, Arc::default());
        let shared = Shared { log, config, servers, sessions, limiter, metrics };
        let sessions = Arc::clone(&shared.sessions);
        Ok(Self(Arc::new(Inner {
            ours,
            stores,
            sessions,
            shared: RwLock::new(Arc::new(shared)),
            reloading: Mutex::default(),
        })))
    }

    /// Changes the configuration. Calls in flight complete. Servers whose settings have not changed stay connected, others are
    /// connected again when a client needs them, and clients are notified of changed lists. The pins and the log of calls are
    /// opened again. Call this in a tokio runtime.
    ///
    /// # Errors
    ///
    /// Fails, and changes nothing, like [`new`](Self::new), or if `[http]`, `[authorization]` or `memory` have changed, which
    /// needs another process. Changed instructions reach clients that connect later to another process.
    pub fn reload(&self, config: Config, folder: &Path) -> Result<(), ConfigError> {
        config.check()?;
        let _reloading = self.0.reloading.lock();
        let before = self.shared();
        let fixed = |config: &Config| (config.http.clone(), config.authorization.clone(), config.memory);
        if fixed(&config) != fixed(&before.config) {
            let why = "changes of [http], [authorization] and `memory` need a restart".to_owned();
            return Err(ConfigError::Contradiction(why));
        }
        let lasting = (before.servers.processes.clone(), Arc::clone(&before.servers.memory));
        let servers = servers(&config, folder, Some(&before.servers), lasting)?;
        let limiter = match config.calls.per_minute == before.config.calls.per_minute {
            true => before.limiter.clone(),
            false => limiter(&config, self.0.stores.as_ref()),
        };
        let sessions = Arc::clone(&before.sessions);
        let log = CallLog::open(&config.calls, folder)?;
        let (metrics, ours) = (Arc::clone(&before.metrics), Arc::clone(&servers));
        *self.0.shared.write() = Arc::new(Shared { config, servers: ours, sessions, log, limiter, metrics });
        self.0.sessions.replace_servers(&servers);
        Ok(())
    }

    fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.0.shared.read())
    }

    /// Returns the configuration and the session of the sender, if it is known. Waits while a reload has replaced only one of them,
    /// because the positions of servers can differ.
    async fn current(&self, context: &Context) -> Result<(Arc<Shared>, Option<Arc<Session>>), ErrorObject> {
        loop {
            let shared = self.shared();
            let session = shared.sessions.of(context)?;
            if session.as_ref().is_none_or(|session| Arc::ptr_eq(&session.servers, &shared.servers)) {
                return Ok((shared, session));
            }
            tokio::task::yield_now().await;
        }
    }

    pub(crate) fn stores(&self) -> Option<&Stores> {
        self.0.stores.as_ref()
    }

    pub(crate) fn authorization(&self) -> Option<Authorization> {
        self.shared().config.authorization.clone()
    }

    pub(crate) fn servers(&self) -> Arc<Servers> {
        Arc::clone(&self.shared().servers)
    }

    /// Returns the number of clients that have connections to the servers.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.0.sessions.len()
    }

    /// Returns the bytes of the lists of servers that the gateway holds, of the budget [`Config::memory`].
    #[must_use]
    pub fn memory(&self) -> usize {
        self.shared().servers.memory.used()
    }

    /// Returns metrics in the text format of Prometheus: the numbers and durations of calls by server and outcome, of clients, and
    /// of bytes of lists.
    #[must_use]
    pub fn metrics(&self) -> String {
        self.shared().metrics.text(&[
            ("mcpgen_gateway_clients", "Clients with connections to servers.", self.clients()),
            ("mcpgen_gateway_list_bytes", "Lists of servers that are held.", self.memory()),
        ])
    }

    pub(crate) fn end_sessions(&self) {
        self.0.sessions.clear();
    }

    /// Returns what the gateway declares to clients.
    #[must_use]
    pub fn protocol_config(&self) -> ProtocolConfig {
        let config = ProtocolConfig::from(self.0.ours.clone()).with_passes_log_level_on(true);
        config.with_result_types(vec!["task".to_owned()])
    }

    /// Returns the routes of the gateway, for a connection or an HTTP endpoint.
    #[must_use]
    pub fn router(&self) -> Router {
        let (requests, notifications) = (self.clone(), self.clone());
        Router::new()
            .fallback(move |request| {
                let gateway = requests.clone();
                async move {
                    let (shared, session) = gateway.current(&request.context).await?;
                    shared.request(session.ok_or_else(errors::internal)?, request).await
                }
            })
            .notification_fallback(move |notification| {
                let gateway = notifications.clone();
                async move {
                    if let Ok((_, Some(session))) = gateway.current(&notification.context).await {
                        notify(&session, &notification).await;
                    }
                }
            })
    }
}

/// Returns the servers of a configuration. Those that have not changed stay the same.
fn servers(
    config: &Config,
    folder: &Path,
    before: Option<&Arc<Servers>>,
    (processes, memory): (Processes, Arc<Memory>),
) -> Result<Arc<Servers>, ConfigError> {
    let upstream = |(name, server): (&String, &ServerConfig)| {
        let mut known = before.into_iter().flat_map(|before| &before.upstreams);
        let is_same = |known: &&Arc<Upstream>| *known.name == **name && known.is_connected_by(server);
        known.find(is_same).cloned().unwrap_or_else(|| Arc::new(Upstream::new(name, server.clone())))
    };
    Ok(Arc::new(Servers {
        names: config.servers.keys().cloned().collect(),
        upstreams: config.servers.iter().map(upstream).collect(),
        rules: config.servers.values().map(ServerConfig::rules).collect(),
        prefix: config.prefix,
        pins: config.pins.as_ref().map(|pins| Pins::read(pins, folder).map(Arc::new)).transpose()?,
        processes,
        memory,
    }))
}

fn limiter(config: &Config, stores: Option<&Stores>) -> Option<Arc<dyn RateLimiter>> {
    let calls = config.calls.per_minute?;
    match stores {
        Some(stores) => Some((stores.limiter)(calls)),
        None => Some(Arc::new(InMemoryRateLimiter::new(calls, MINUTE))),
    }
}

async fn notify(session: &Session, notification: &AnyNotification) {
    match &*notification.method {
        "notifications/initialized" => session.client.ready(notification.context.revision()),
        _ => session.notify(notification).await,
    }
}

impl Shared {
    async fn request(&self, session: Arc<Session>, request: AnyRequest) -> Result<Json, ErrorObject> {
        let context = request.context.clone();
        let revision = context.revision();
        if !revision.is_legacy() {
            session.client.ready(revision);
        }
        let method = request.method.clone();
        if method.starts_with("tasks/") {
            return session.task(request).await;
        }
        if revision.method(&method).is_none() && MethodSpec::newest(&method).is_some() {
            return Err(errors::method_not_found(&method));
        }
        if let Some(kind) = Kind::listed_by(&method) {
            return self.list(&session, kind, request.params.as_ref(), &context).await;
        }
        match &*method {
            "tools/call" => self.measured(&session, Kind::Tool, request).await,
            "prompts/get" => self.measured(&session, Kind::Prompt, request).await,
            "resources/read" => self.measured(&session, Kind::Resource, request).await,
            "completion/complete" => self.complete(&session, request).await,
            "resources/subscribe" | "resources/unsubscribe" => self.subscribe(&session, &request).await,
            SubscriptionsListenRequest::METHOD => self.listen(session, request).await,
            "logging/setLevel" => {
                let level =
                    request.params.as_ref().and_then(|params| Level::from_name(&params.get("level")?.as_str()?));
                // The protocol rules have checked the level.
                session.set_level(level.unwrap_or(Level::Debug)).await;
                Ok(Json::from(&JsonObject::new()))
            }
            // A method of an extension. Of several servers, the gateway cannot know which one is meant.
            _ if self.servers.names.len() == 1 => session.relay(0).await?.request(request).await,
            method => Err(errors::method_not_found(method)),
        }
    }

    /// Returns a page of the lists of all servers.
    async fn list(
        &self,
        session: &Session,
        kind: Kind,
        params: Option<&Json>,
        context: &Context,
    ) -> Result<Json, ErrorObject> {
        let cursor = params.and_then(|params| params.get("cursor")?.as_str().map(|cursor| cursor.into_owned()));
        let catalog = match &cursor {
            // The clash of a URI depends on both lists.
            None if matches!(kind, Kind::Resource | Kind::Template) => {
                session.list(&[Kind::Resource, Kind::Template], true).await
            }
            None => session.list(&[kind], true).await,
            Some(_) => session.list(&[kind], false).await,
        };
        let entries = catalog.entries(kind).iter();
        let scopes = scopes(context);
        // Cursors count only what the client sees, so that they reveal nothing else.
        let visible: Vec<_> = entries.filter(|entry| self.shows(kind, entry, &scopes)).collect();
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let last = decode_cursor(kind.member(), &cursor)?;
                let (position, seen) = last.split_once(' ').unwrap_or_default();
                // The last item of the page before may have moved or may be gone.
                let at = visible.iter().position(|entry| entry.seen == seen).or_else(|| position.parse().ok());
                at.map_or(0, |at: usize| at.saturating_add(1))
            }
        };
        let end = start.saturating_add(self.page_size()).min(visible.len());
        let page = visible.get(start..end).unwrap_or_default();
        let next = page.last().filter(|_| end < visible.len()).map(|last| format!("{} {}", end - 1, last.seen));
        let revisions = Revisions { from: TYPES, to: context.revision() };
        let result = |items: &[Json]| {
            let mut result = JsonObject::from([
                (kind.member(), items.iter().cloned().collect()),
                ("resultType", "complete".into()),
                ("ttlMs", 0.into()),
                ("cacheScope", "private".into()),
            ]);
            if let Some(next) = &next {
                result.insert("nextCursor", encode_cursor(kind.member(), next));
            }
            revisions.result(kind.method(), &result)
        };
        let mut items: Vec<Json> = page.iter().map(|entry| self.listed(context.revision(), &catalog, kind, entry)).collect();
        result(&items).or_else(|_| {
            // An item that the client's revision cannot express must not hide those of other servers.
            items.retain(|item| result(std::slice::from_ref(item)).is_ok());
            result(&items).map_err(ConversionError::into_response)
        })
    }

    fn page_size(&self) -> usize {
        self.config.page_size.unwrap_or(PAGE_SIZE).max(1)
    }

    /// Returns an item under the name or URI that clients see.
    fn listed(&self, revision: Revision, catalog: &Catalog, kind: Kind, entry: &Entry) -> Json {
        let mut item = entry.item().clone();
        if entry.seen != entry.key {
            item.insert(kind.key(), &entry.seen);
        }
        if !may_run_as_task(revision, "tools/call") {
            item.remove("execution");
        }
        let app = item.get("_meta").and_then(|meta| meta.get("ui")?.get("resourceUri")?.as_str());
        if let Some(uri) = app.map(|uri| catalog.seen_uri(&self.servers.names, entry.server, &uri))
            && let Some(Ok(mut meta)) = item.get("_meta").map(JsonObject::try_from)
            && let Some(Ok(mut ui)) = meta.get("ui").map(JsonObject::try_from)
        {
            ui.insert("resourceUri", uri);
            meta.insert("ui", ui);
            item.insert("_meta", meta);
        }
        item.into()
    }

    /// Returns whether the server of an item is available, and the caller sees the item.
    fn shows(&self, kind: Kind, entry: &Entry, scopes: &Scopes) -> bool {
        entry.is_available && self.permits(kind, entry, scopes)
    }

    fn permits(&self, kind: Kind, entry: &Entry, scopes: &Scopes) -> bool {
        let is_hidden = entry.finding.is_some() && self.when_changed() == Some(WhenChanged::Hide);
        !is_hidden && self.permits_name(kind, entry.server, (&entry.key, &entry.seen), entry.item(), scopes)
    }

    fn when_changed(&self) -> Option<WhenChanged> {
        self.servers.pins.as_ref().map(|pins| pins.when_changed)
    }

    /// Returns whether the rules show an item to a caller. The item is given by its own name and by the one that
    /// clients see.
    fn permits_name(
        &self,
        kind: Kind,
        server: usize,
        (key, seen): (&str, &str),
        item: &JsonObject,
        scopes: &Scopes,
    ) -> bool {
        let config = &self.config;
        let of_all = rules(kind, [&config.tools, &config.prompts, &config.resources]);
        let of_server = rules(kind, self.servers.rules[server].each_ref());
        let subject = if kind == Kind::Resource { Subject::uri } else { Subject::name };
        of_all.show(&subject(seen), item, scopes.as_ref()) && of_server.show(&subject(key), item, scopes.as_ref())
    }

    /// Handles a call, a prompt or a read, within the rate limit. Counts and logs it.
    async fn measured(&self, session: &Session, kind: Kind, request: AnyRequest) -> Result<Json, ErrorObject> {
        let mut measured = Measured::begin(&self.metrics);
        let mut server = None;
        let result = match (&self.log, self.check_rate(&request.context).await) {
            (Some(log), allowed) => self.logged(log, session, (kind, request, allowed), &mut server).await,
            (None, Ok(())) => self.call(session, kind, request, &mut server).await,
            (None, Err(refused)) => Err(refused),
        };
        measured.server = server.map(|server| &*self.servers.names[server]);
        measured.outcome = outcome(&result);
        result
    }

    /// Handles a call that may be allowed, and logs it.
    async fn logged(
        &self,
        log: &CallLog,
        session: &Session,
        (kind, request, allowed): (Kind, AnyRequest, Result<(), ErrorObject>),
        server: &mut Option<usize>,
    ) -> Result<Json, ErrorObject> {
        let AnyRequest { method, params, context } = request.clone();
        let name = params.as_ref().and_then(|params| params.get(kind.key())?.as_str()).unwrap_or_default();
        let mut logged = Logged {
            log: Some(log),
            began: Instant::now(),
            call: LoggedCall {
                method: &method,
                name: &name,
                server: None,
                principal: context.principal().map(|principal| principal.name()),
                client: context
                    .peer_info()
                    .and_then(|info| Some(info.implementation.get("name")?.as_str()?.into_owned())),
                revision: context.revision().as_str(),
                arguments: params.as_ref().and_then(|params| params.get("arguments")),
            },
        };
        let result = match allowed {
            Ok(()) => self.call(session, kind, request, server).await,
            Err(refused) => Err(refused),
        };
        logged.call.server = server.map(|server| &*self.servers.names[server]);
        logged.end(Some(&result));
        result
    }

    /// Fails if the caller has made too many calls.
    async fn check_rate(&self, context: &Context) -> Result<(), ErrorObject> {
        let Some(limiter) = &self.limiter else { return Ok(()) };
        match limiter.check(context.principal().map_or("", |principal| principal.name())).await {
            Ok(Decision::Allowed) => Ok(()),
            Ok(Decision::After(wait)) => {
                let seconds = wait.as_secs() + 1;
                Err(errors::limit_exceeded(&format!("too many calls; try again in {seconds} s")))
            }
            Err(error) => {
                tracing::error!(%error, "cannot check the limit of calls");
                Err(errors::internal())
            }
        }
    }

    /// Handles a call, a prompt or a read. Sets `called` to the position of its server.
    async fn call(
        &self,
        session: &Session,
        kind: Kind,
        mut request: AnyRequest,
        called: &mut Option<usize>,
    ) -> Result<Json, ErrorObject> {
        let expected = || errors::invalid_params_in_words(&format!("params.{}: expected a string", kind.key()));
        request.params = unambiguous(request.params, &["name", "uri", "arguments", "_meta"])?;
        let seen = request.params.as_ref().and_then(|params| params.get(kind.key())?.as_str()).ok_or_else(expected)?;
        let seen = seen.into_owned();
        let (server, key) = match kind {
            Kind::Resource | Kind::Template => self.resource(session, &seen, &request.context).await?,
            Kind::Tool | Kind::Prompt => self.named(session, kind, &seen, &request.context).await?,
        };
        *called = Some(server);
        if key != seen {
            request.params = with_member(request.params, kind.key(), key);
        }
        let result = session.relay(server).await?.request(request).await?;
        if self.servers.names.len() == 1 && self.config.prefix == Prefix::Clash {
            return Ok(result);
        }
        let catalog = session.catalog();
        Ok(replace_uris(result, &|uri| catalog.seen_uri(&self.servers.names, server, uri)))
    }

    /// Returns the server of a tool or prompt, and the name that the server uses.
    async fn named(
        &self,
        session: &Session,
        kind: Kind,
        seen: &str,
        context: &Context,
    ) -> Result<(usize, String), ErrorObject> {
        let scopes = scopes(context);
        let servers = &self.servers.names;
        let known = session.catalog();
        let mut entry = known.find(servers, kind, seen).filter(|entry| session.is_current(kind, entry.server));
        let read;
        if entry.is_none() {
            read = session.list(&[kind], false).await;
            entry = read.find(servers, kind, seen);
        }
        match entry.filter(|entry| self.permits(kind, entry, &scopes)) {
            Some(Entry { finding: Some(finding), .. }) if self.when_changed() == Some(WhenChanged::Refuse) => {
                let why = format!("{} {seen:?} has changed since it was pinned: {finding}", kind.noun());
                Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, why))
            }
            Some(entry) => Ok((entry.server, entry.key.clone())),
            None => {
                // The lists of a server that is not available are not known.
                if let Some((server, _)) = split_prefix(servers, seen) {
                    session.relay(server).await?;
                    // A list does not wait as long as this for a server that takes long to start.
                    if !session.is_listed(kind, server) {
                        session.list(&[kind], true).await;
                        if session.is_listed(kind, server) {
                            return Box::pin(self.named(session, kind, seen, context)).await;
                        }
                    }
                }
                let catalog = session.catalog();
                let visible = catalog.entries(kind).iter().filter(|entry| self.shows(kind, entry, &scopes));
                let similar = did_you_mean(seen, visible.map(|entry| &*entry.seen));
                let why = format!("unknown {} {seen:?}{similar}", kind.noun());
                Err(errors::invalid_params_in_words(&why))
            }
        }
    }

    /// Returns the server of a resource, and the URI that the server uses.
    async fn resource(&self, session: &Session, seen: &str, context: &Context) -> Result<(usize, String), ErrorObject> {
        // Parsers of URLs ignore these, so the rules could not hold for them.
        if seen.trim() != seen || seen.contains(char::is_control) {
            return Err(resource_not_found(context.revision(), seen));
        }
        let names = &self.servers.names;
        let catalog = session.list(&[Kind::Resource, Kind::Template], false).await;
        let nothing = JsonObject::new();
        let scopes = scopes(context);
        let found = catalog.resource(names, seen).filter(|(server, uri)| {
            // The rules for all servers hold for the URI that lists show, and for the other form of it.
            let listed = catalog.seen_uri(names, *server, uri);
            let permits = |seen| self.permits_name(Kind::Resource, *server, (uri, seen), &nothing, &scopes);
            permits(seen) && permits(&listed)
        });
        found.ok_or_else(|| resource_not_found(context.revision(), seen))
    }

    /// Completes an argument of a prompt or a variable of a resource template.
    async fn complete(&self, session: &Session, mut request: AnyRequest) -> Result<Json, ErrorObject> {
        self.check_rate(&request.context).await?;
        request.params = unambiguous(request.params, &["ref", "argument", "context", "_meta"])?;
        let reference = request.params.as_ref().and_then(|params| params.get("ref")).map(JsonRef::to_json);
        if let Some(reference) = unambiguous(reference, &["type", "name", "uri"])? {
            request.params = with_member(request.params, "ref", reference);
        }
        let text = |name: &str| {
            let reference = request.params.as_ref()?.get("ref")?;
            reference.get(name)?.as_str().map(|text| text.into_owned())
        };
        let (member, seen, (server, key)) = match (text("type").as_deref(), text("name"), text("uri")) {
            (Some("ref/prompt"), Some(name), _) => {
                let found = self.named(session, Kind::Prompt, &name, &request.context).await?;
                ("name", name, found)
            }
            (Some("ref/resource"), _, Some(uri)) => {
                let catalog = session.list(&[Kind::Resource, Kind::Template], false).await;
                let template = catalog.find(&self.servers.names, Kind::Template, &uri);
                let scopes = scopes(&request.context);
                match template.filter(|entry| self.permits(Kind::Template, entry, &scopes)) {
                    Some(entry) => ("uri", uri, (entry.server, entry.key.clone())),
                    None => {
                        let found = self.resource(session, &uri, &request.context).await?;
                        ("uri", uri, found)
                    }
                }
            }
            _ => return Err(errors::invalid_params_in_words("params.ref: expected a prompt or a resource template")),
        };
        if key != seen {
            let reference = request.params.as_ref().and_then(|params| params.get("ref")).map(JsonRef::to_json);
            let reference = with_member(reference, member, key);
            request.params = with_member(request.params, "ref", reference.unwrap_or_default());
        }
        session.relay(server).await?.request(request).await
    }

    /// Handles `resources/subscribe` and `resources/unsubscribe` of a legacy client.
    async fn subscribe(&self, session: &Session, request: &AnyRequest) -> Result<Json, ErrorObject> {
        let Some(seen) = request.params.as_ref().and_then(|params| params.get("uri")?.as_str()) else {
            return Err(errors::invalid_params_in_words("params.uri: expected a string"));
        };
        match &*request.method {
            "resources/unsubscribe" => session.subscriptions.remove(&seen),
            // Legacy clients have one subscription to a resource.
            _ if session.subscriptions.contains(&seen) => {}
            _ => {
                session.subscriptions.remove(&seen);
                let target = self.resource(session, &seen, &request.context).await?;
                session.subscribe(&seen, target, request.context.revision()).await?;
            }
        }
        Ok(Json::from(&JsonObject::new()))
    }

    /// Handles `subscriptions/listen` of a modern client.
    async fn listen(&self, session: Arc<Session>, request: AnyRequest) -> Result<Json, ErrorObject> {
        const METHOD: &str = SubscriptionsListenRequest::METHOD;
        let AnyRequest { params, context, .. } = request;
        let types = Revisions { from: context.revision(), to: TYPES };
        let params = params.map(|params| types.params(METHOD, &params)).transpose();
        let params = params.map_err(ConversionError::into_response)?;
        let params = SubscriptionsListenRequestParams::from_member(params.as_ref());
        let params = params.map_err(|error| errors::invalid_params(&error))?;
        (0..self.servers.names.len()).for_each(|server| session.start(server));
        let mut subscribed = Unsubscribe(Arc::clone(&session.subscriptions), Vec::new());
        let uris = params.notifications.resource_subscriptions.iter().flatten();
        // The handler rejects a filter with too many.
        for seen in uris.take(MAX_RESOURCE_SUBSCRIPTIONS) {
            let target = self.resource(&session, seen, &context).await?;
            session.subscribe(seen, target, context.revision()).await?;
            subscribed.1.push(seen.clone());
        }
        let tasks = session.subscribed_tasks(&params).await;
        let client = Arc::clone(&session.client);
        // The subscription outlives the session if the configuration changes, and must not keep its connections.
        drop(session);
        let result = (client.subscriptions().with_source(tasks).handler())(context.clone(), params).await?;
        types.reversed().result(METHOD, &result).map_err(ConversionError::into_response)
    }
}

/// Ends the subscriptions of a request when it ends.
struct Unsubscribe(Arc<Subscriptions>, Vec<String>);

impl Drop for Unsubscribe {
    fn drop(&mut self) {
        self.1.iter().for_each(|seen| self.0.remove(seen));
    }
}

/// Logs a call when it ends, even if it is cancelled.
struct Logged<'c> {
    log: Option<&'c CallLog>,
    began: Instant,
    call: LoggedCall<'c>,
}

impl Logged<'_> {
    fn end(&mut self, result: Option<&Result<Json, ErrorObject>>) {
        if let Some(log) = self.log.take() {
            log.write(&self.call, self.began.elapsed(), result);
        }
    }
}

impl Drop for Logged<'_> {
    fn drop(&mut self) {
        self.end(None);
    }
}

fn rules(kind: Kind, [tools, prompts, resources]: [&Rules; 3]) -> &Rules {
    match kind {
        Kind::Tool => tools,
        Kind::Prompt => prompts,
        Kind::Resource | Kind::Template => resources,
    }
}

fn scopes(context: &Context) -> Scopes {
    Identity::of(context).map(|identity| identity.scopes.clone())
}

/// Returns params in which each of these members occurs at most once. Fails if a name differs from one of them only in case:
/// some servers would read it instead, and the rules would not hold for what they read.
fn unambiguous(params: Option<Json>, members: &[&str]) -> Result<Option<Json>, ErrorObject> {
    let Some(params) = params else { return Ok(None) };
    // Upper case first: `ſ` and the Kelvin sign are equal to `s` and `k` for some servers.
    let fold = |name: &str| name.to_uppercase().to_lowercase();
    let mut unique = Vec::new();
    for (name, value) in params.members() {
        let folded = fold(&name);
        if members.iter().any(|member| *member == folded && *member != name) {
            let name = shortened(&name, MAX_NAME);
            return Err(errors::invalid_params_in_words(&format!("params.{name}: write {folded:?}")));
        }
        unique.push((name.into_owned(), value.to_json()));
    }
    Ok(Some(unique.into_iter().collect::<JsonObject>().into()))
}

fn with_member(object: Option<Json>, name: &str, value: impl Into<Json>) -> Option<Json> {
    let mut members: JsonObject = object?.decode().ok()?;
    members.insert(name, value);
    Some(members.into())
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("servers", &self.servers().names).finish_non_exhaustive()
    }
}
