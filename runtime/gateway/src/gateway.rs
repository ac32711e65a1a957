//! The gateway: routes the requests of clients to the servers.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_auth::server::Identity;
use mcpgen_cluster::InMemoryRateLimiter;
use mcpgen_sdk::Context;
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::protocol::config::ServerConfig as ProtocolConfig;
use mcpgen_sdk::protocol::conversion::{ConversionError, Revisions};
use mcpgen_sdk::protocol::errors::resource_not_found;
use mcpgen_sdk::protocol::info::LocalInfo;
use mcpgen_sdk::protocol::{ContextExt, TYPES};
use mcpgen_sdk::replicas::{Decision, RateLimiter};
use mcpgen_sdk::router::{AnyNotification, AnyRequest, Router};
use mcpgen_sdk::server::subscriptions::MAX_RESOURCE_SUBSCRIPTIONS;
use mcpgen_sdk::server::{decode_cursor, encode_cursor};
use mcpgen_sdk::util::did_you_mean;
use mcpgen_types::v2026_07_28::{SubscriptionsListenRequest, SubscriptionsListenRequestParams};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, JsonRef, MethodSpec, Params, Request};
use serde_json::json;
use tokio::time::Instant;

use crate::call_log::{CallLog, LoggedCall};
use crate::catalog::{Catalog, Entry};
use crate::config::{Config, ConfigError, Http, WhenChanged};
use crate::connect::{Processes, Upstream};
use crate::kind::Kind;
use crate::names;
use crate::pins::Pins;
use crate::policy::Rules;
use crate::session::{Servers, Session};
use crate::sessions::Sessions;
use crate::uris::replace_uris;

/// The number of items on a page. Many clients read only the first page.
const PAGE_SIZE: usize = 250;
/// The number of clients that are served at the same time on standard input and output.
const STDIO_CLIENTS: usize = 16;

/// A gateway. Clones share all state.
#[derive(Clone)]
pub struct Gateway(Arc<Shared>);

struct Shared {
    config: Config,
    ours: LocalInfo,
    servers: Arc<Servers>,
    sessions: Arc<Sessions>,
    log: Option<CallLog>,
    limiter: Option<InMemoryRateLimiter>,
}

/// The scopes of a caller, if authorization is configured.
type Scopes = Option<BTreeSet<String>>;

impl Gateway {
    /// Creates a gateway. Servers are connected when a client needs them. Relative paths start at `folder`.
    ///
    /// # Errors
    ///
    /// Fails if the log of calls cannot be opened, or the pins cannot be read.
    pub fn new(config: Config, folder: &Path) -> Result<Self, ConfigError> {
        let upstreams = config.servers.iter().map(|(name, server)| Arc::new(Upstream::new(name, server.clone())));
        let servers = Arc::new(Servers {
            names: config.servers.keys().cloned().collect(),
            upstreams: upstreams.collect(),
            prefix: config.prefix,
            pins: config.pins.as_ref().map(|pins| Pins::read(pins, folder).map(Arc::new)).transpose()?,
            processes: Processes::new(),
        });
        let mut ours = LocalInfo::new("mcpgen-gateway", env!("CARGO_PKG_VERSION"))
            .capability("tools", json!({ "listChanged": true }))
            .capability("prompts", json!({ "listChanged": true }))
            .capability("resources", json!({ "listChanged": true, "subscribe": true }))
            .capability("completions", json!({}))
            .capability("logging", json!({}));
        ours.instructions.clone_from(&config.instructions);
        let max = config.http.as_ref().map_or(STDIO_CLIENTS, Http::clients);
        Ok(Self(Arc::new(Shared {
            sessions: Sessions::new(ours.clone(), Arc::clone(&servers), max),
            log: CallLog::open(&config.calls, folder)?,
            limiter: config.calls.per_minute.map(|calls| InMemoryRateLimiter::new(calls, Duration::from_secs(60))),
            ours,
            servers,
            config,
        })))
    }

    pub(crate) fn config(&self) -> &Config {
        &self.0.config
    }

    pub(crate) fn servers(&self) -> &Arc<Servers> {
        &self.0.servers
    }

    /// Returns the number of clients that have connections to the servers.
    #[must_use]
    pub fn clients(&self) -> usize {
        self.0.sessions.len()
    }

    pub(crate) fn end_sessions(&self) {
        self.0.sessions.clear();
    }

    /// Returns what the gateway declares to clients.
    #[must_use]
    pub fn protocol_config(&self) -> ProtocolConfig {
        ProtocolConfig::from(self.0.ours.clone()).with_passes_log_level_on(true)
    }

    /// Returns the routes of the gateway, for a connection or an HTTP endpoint.
    #[must_use]
    pub fn router(&self) -> Router {
        let (requests, notifications) = (self.clone(), self.clone());
        Router::new()
            .fallback(move |request| {
                let gateway = requests.clone();
                async move { gateway.request(request).await }
            })
            .notification_fallback(move |notification| {
                let gateway = notifications.clone();
                async move { gateway.notification(notification).await }
            })
    }

    async fn notification(&self, notification: AnyNotification) {
        let Ok(Some(session)) = self.0.sessions.of(&notification.context) else { return };
        match &*notification.method {
            "notifications/initialized" => session.client.ready(notification.context.revision()),
            _ => session.notify(&notification).await,
        }
    }

    async fn request(&self, request: AnyRequest) -> Result<Json, ErrorObject> {
        let context = request.context.clone();
        let revision = context.revision();
        let session = self.0.sessions.of(&context)?.ok_or_else(errors::internal)?;
        if !revision.is_legacy() {
            session.client.ready(revision);
        }
        let method = request.method.clone();
        if revision.method(&method).is_none() && MethodSpec::newest(&method).is_some() {
            return Err(errors::method_not_found(&method));
        }
        if let Some(kind) = Kind::listed_by(&method) {
            return self.list(&session, kind, request.params.as_ref(), &context).await;
        }
        match &*method {
            "tools/call" => self.logged(&session, Kind::Tool, request).await,
            "prompts/get" => self.logged(&session, Kind::Prompt, request).await,
            "resources/read" => self.logged(&session, Kind::Resource, request).await,
            "completion/complete" => self.complete(&session, request).await,
            "resources/subscribe" | "resources/unsubscribe" => self.subscribe(&session, &request).await,
            SubscriptionsListenRequest::METHOD => self.listen(&session, request).await,
            "logging/setLevel" => {
                session.set_level(request).await;
                Ok(Json::from(&JsonObject::new()))
            }
            // A method of an extension. Of several servers, the gateway cannot know which one is meant.
            _ if self.0.servers.names.len() == 1 => session.relay(0).await?.request(request).await,
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
        let entries = catalog.entries(kind);
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let last = decode_cursor(kind.member(), &cursor)?;
                let (position, seen) = last.split_once(' ').unwrap_or_default();
                // The last item of the page before may have moved or may be gone.
                let at = catalog.position(kind, seen).or_else(|| position.parse().ok());
                at.map_or(0, |at: usize| at.saturating_add(1))
            }
        };
        let scopes = scopes(context);
        let visible = entries.iter().enumerate().skip(start).filter(|(_, entry)| self.shows(kind, entry, &scopes));
        let mut page: Vec<_> = visible.take(self.page_size() + 1).collect();
        let has_next = page.len() > self.page_size();
        page.truncate(self.page_size());
        let next = page.last().filter(|_| has_next).map(|(at, last)| format!("{at} {}", last.seen));
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
        let mut items: Vec<Json> = page.iter().map(|(_, entry)| self.listed(session, &catalog, kind, entry)).collect();
        result(&items).or_else(|_| {
            // An item that the client's revision cannot express must not hide those of other servers.
            items.retain(|item| result(std::slice::from_ref(item)).is_ok());
            result(&items).map_err(ConversionError::into_response)
        })
    }

    fn page_size(&self) -> usize {
        self.0.config.page_size.unwrap_or(PAGE_SIZE).max(1)
    }

    /// Returns an item under the name or URI that clients see.
    fn listed(&self, session: &Session, catalog: &Catalog, kind: Kind, entry: &Entry) -> Json {
        let mut item = entry.item.clone();
        if entry.seen != entry.key {
            item.insert(kind.key(), &entry.seen);
        }
        let app = item.get("_meta").and_then(|meta| meta.get("ui")?.get("resourceUri")?.as_str());
        if let Some(uri) = app.map(|uri| catalog.seen_uri(&session.servers.names, entry.server, &uri))
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
        !is_hidden && self.permits_name(kind, entry.server, (&entry.key, &entry.seen), &entry.item, scopes)
    }

    fn when_changed(&self) -> Option<WhenChanged> {
        self.0.servers.pins.as_ref().map(|pins| pins.when_changed)
    }

    /// Returns whether the rules show an item to a caller. Its name is its own and the one that clients see.
    fn permits_name(
        &self,
        kind: Kind,
        server: usize,
        (key, seen): (&str, &str),
        item: &JsonObject,
        scopes: &Scopes,
    ) -> bool {
        let config = &self.0.config;
        let of_all = rules(kind, &config.tools, &config.prompts, &config.resources);
        let server = &self.0.servers.upstreams[server].config;
        let of_server = rules(kind, &server.tools, &server.prompts, &server.resources);
        of_all.show(seen, item, scopes.as_ref()) && of_server.show(key, item, scopes.as_ref())
    }

    /// Handles a call, a prompt or a read, within the rate limit, and logs it.
    async fn logged(&self, session: &Session, kind: Kind, request: AnyRequest) -> Result<Json, ErrorObject> {
        let Shared { log, limiter, servers, .. } = &*self.0;
        if log.is_none() && limiter.is_none() {
            return self.call(session, kind, request, &mut None).await;
        }
        let AnyRequest { method, params, context } = request.clone();
        let name = params.as_ref().and_then(|params| params.get(kind.key())?.as_str()).unwrap_or_default();
        let mut logged = Logged {
            log: log.as_ref(),
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
        let mut server = None;
        let result = match limiter {
            Some(limiter) => match limiter.check(context.principal().map_or("", |principal| principal.name())).await {
                Ok(Decision::Allowed) => self.call(session, kind, request, &mut server).await,
                Ok(Decision::After(wait)) => {
                    let seconds = wait.as_secs() + 1;
                    Err(errors::limit_exceeded(&format!("too many calls; try again in {seconds} s")))
                }
                Err(_) => Err(errors::internal()),
            },
            None => self.call(session, kind, request, &mut server).await,
        };
        logged.call.server = server.map(|server: usize| &*servers.names[server]);
        logged.end(Some(&result));
        result
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
        if self.0.servers.names.len() == 1 {
            return Ok(result);
        }
        let catalog = session.catalog();
        Ok(replace_uris(result, &|uri| catalog.seen_uri(&self.0.servers.names, server, uri)))
    }

    /// Returns the server and the own name of a tool or prompt.
    async fn named(
        &self,
        session: &Session,
        kind: Kind,
        seen: &str,
        context: &Context,
    ) -> Result<(usize, String), ErrorObject> {
        let scopes = scopes(context);
        let servers = &self.0.servers.names;
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
                if let Some((server, _)) = names::split_prefix(servers, seen) {
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

    /// Returns the server and the own URI of a resource.
    async fn resource(&self, session: &Session, seen: &str, context: &Context) -> Result<(usize, String), ErrorObject> {
        let names = &self.0.servers.names;
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
                let template = catalog.find(&self.0.servers.names, Kind::Template, &uri);
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
        let (count, all) = session.subscriptions(&seen);
        match &*request.method {
            "resources/unsubscribe" => session.unsubscribe(&seen),
            // Legacy clients have one subscription to a resource.
            _ if count > 0 => {}
            _ if all >= MAX_RESOURCE_SUBSCRIPTIONS => {
                return Err(errors::limit_exceeded("too many resource subscriptions; unsubscribe from others first"));
            }
            _ => {
                let target = self.resource(session, &seen, &request.context).await?;
                session.subscribe(&seen, target, request.context.revision()).await?;
            }
        }
        Ok(Json::from(&JsonObject::new()))
    }

    /// Handles `subscriptions/listen` of a modern client.
    async fn listen(&self, session: &Arc<Session>, request: AnyRequest) -> Result<Json, ErrorObject> {
        const METHOD: &str = SubscriptionsListenRequest::METHOD;
        let AnyRequest { params, context, .. } = request;
        let types = Revisions { from: context.revision(), to: TYPES };
        let params = params.map(|params| types.params(METHOD, &params)).transpose();
        let params = params.map_err(ConversionError::into_response)?;
        let params = SubscriptionsListenRequestParams::from_member(params.as_ref());
        let params = params.map_err(|error| errors::invalid_params(&error))?;
        (0..self.0.servers.names.len()).for_each(|server| session.start(server));
        let mut subscribed = Unsubscribe(session, Vec::new());
        let uris = params.notifications.resource_subscriptions.iter().flatten();
        // The handler rejects a filter with too many.
        for seen in uris.take(MAX_RESOURCE_SUBSCRIPTIONS) {
            let target = self.resource(session, seen, &context).await?;
            session.subscribe(seen, target, context.revision()).await?;
            subscribed.1.push(seen.clone());
        }
        let result = (session.client.subscriptions().handler())(context.clone(), params).await?;
        types.reversed().result(METHOD, &result).map_err(ConversionError::into_response)
    }
}

/// Ends the subscriptions of a request when it ends.
struct Unsubscribe<'s>(&'s Arc<Session>, Vec<String>);

impl Drop for Unsubscribe<'_> {
    fn drop(&mut self) {
        self.1.iter().for_each(|seen| self.0.unsubscribe(seen));
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

fn rules<'r>(kind: Kind, tools: &'r Rules, prompts: &'r Rules, resources: &'r Rules) -> &'r Rules {
    match kind {
        Kind::Tool => tools,
        Kind::Prompt => prompts,
        Kind::Resource | Kind::Template => resources,
    }
}

fn scopes(context: &Context) -> Scopes {
    Identity::of(context).map(|identity| identity.scopes.clone())
}

fn with_member(object: Option<Json>, name: &str, value: impl Into<Json>) -> Option<Json> {
    let mut members: JsonObject = object?.decode().ok()?;
    members.insert(name, value);
    Some(members.into())
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("servers", &self.0.servers.names).finish_non_exhaustive()
    }
}
