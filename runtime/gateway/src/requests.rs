//! Routes the requests of a client to the servers.

use std::sync::Arc;

use mcpgen_auth::server::Identity;
use mcpgen_bridge::catalog::{Entry, Kind, Prefix, replace_uris, unambiguous};
use mcpgen_bridge::listen_params;
use mcpgen_sdk::Context;
use mcpgen_sdk::jsonrpc::errors;
use mcpgen_sdk::protocol::{ContextExt, Level};
use mcpgen_sdk::replicas::Decision;
use mcpgen_sdk::router::AnyRequest;
use mcpgen_sdk::util::did_you_mean;
use mcpgen_types::v2026_07_28::SubscriptionsListenRequest;
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, JsonRef, MethodSpec, Request};

use crate::call_log::CallRecord;
use crate::config::WhenChanged;
use crate::policy::Scopes;
use crate::session::{Caller, Session};

/// The number of items on a page. Many clients read only the first page.
const PAGE_SIZE: usize = 250;

impl Session {
    /// Handles a request of the client.
    pub(crate) async fn request(self: Arc<Self>, request: AnyRequest) -> Result<Json, ErrorObject> {
        let context = request.context.clone();
        let revision = context.revision();
        if !revision.is_legacy() {
            self.client.ready(revision);
        }
        let method = request.method.clone();
        if method.starts_with("tasks/") {
            return self.task(request).await;
        }
        if revision.method(&method).is_none() && MethodSpec::newest(&method).is_some() {
            return Err(errors::method_not_found(&method));
        }
        if let Some(kind) = Kind::listed_by(&method) {
            return self.page(kind, request.params.as_ref(), &context).await;
        }
        match &*method {
            "tools/call" => self.call(Some(Kind::Tool), request).await,
            "prompts/get" => self.call(Some(Kind::Prompt), request).await,
            "resources/read" => self.call(Some(Kind::Resource), request).await,
            "completion/complete" => self.complete(request).await,
            "resources/subscribe" | "resources/unsubscribe" => self.set_subscribed(&request).await,
            SubscriptionsListenRequest::METHOD => self.listen(request).await,
            "logging/setLevel" => {
                self.set_level(Level::of_params(request.params.as_ref()).unwrap_or(Level::Debug)).await;
                Ok(Json::from(&JsonObject::new()))
            }
            // A method of an extension. With several servers, the gateway could not tell which one is meant.
            _ if self.servers.names.len() == 1 => self.call(None, request).await,
            method => Err(errors::method_not_found(method)),
        }
    }

    /// Returns a page of the lists of all servers.
    async fn page(&self, kind: Kind, params: Option<&Json>, context: &Context) -> Result<Json, ErrorObject> {
        let cursor = params.and_then(|params| params.get("cursor")?.as_str().map(|cursor| cursor.into_owned()));
        let catalog = match &cursor {
            // Whether a URI clashes depends on both lists.
            None if matches!(kind, Kind::Resource | Kind::Template) => {
                self.list(&[Kind::Resource, Kind::Template], true).await
            }
            None => self.list(&[kind], true).await,
            Some(_) => self.list(&[kind], false).await,
        };
        let scopes = scopes(context);
        let visible = catalog.entries(kind).iter().filter(|entry| self.shows(kind, entry, &scopes));
        let size = self.servers.config.page_size.unwrap_or(PAGE_SIZE).max(1);
        let (visible, revision) = (visible.collect::<Vec<_>>(), context.revision());
        catalog.page(&self.servers.names, (kind, &visible), (cursor.as_deref(), size), revision)
    }

    /// Returns whether the server of an item is available, and the caller sees the item.
    fn shows(&self, kind: Kind, entry: &Entry, scopes: &Scopes) -> bool {
        entry.is_available && self.servers.permits(kind, entry, scopes)
    }

    /// Handles a call, a prompt, a read, or an extension's request, within the rate limit. Counts and logs it.
    async fn call(&self, kind: Option<Kind>, request: AnyRequest) -> Result<Json, ErrorObject> {
        let key = kind.map_or("", Kind::key);
        let mut record = CallRecord::begin(&self.servers.metrics, self.servers.log.as_ref(), (&request, key));
        let allowed = self.check_rate(&request.context).await;
        let result = match (allowed, kind) {
            (Ok(()), Some(kind)) => self.call_item(kind, request, &mut record).await,
            (Ok(()), None) => {
                record.server = self.servers.names.first().map(|name| &**name);
                async { self.relay(0).await?.request(request).await }.await
            }
            (Err(refused), _) => Err(refused),
        };
        record.set_result(&result);
        result
    }

    /// Fails if the caller has made too many calls.
    async fn check_rate(&self, context: &Context) -> Result<(), ErrorObject> {
        let Some(limiter) = &self.servers.limiter else { return Ok(()) };
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

    /// Handles a call, a prompt or a read. Sets the server of the record.
    async fn call_item<'s>(
        &'s self,
        kind: Kind,
        mut request: AnyRequest,
        record: &mut CallRecord<'s>,
    ) -> Result<Json, ErrorObject> {
        let expected = || errors::invalid_params_in_words(&format!("params.{}: expected a string", kind.key()));
        let mut params = unambiguous(request.params, &["name", "uri", "arguments", "_meta"])?;
        let seen = params.get(kind.key()).and_then(JsonRef::as_str).ok_or_else(expected)?.into_owned();
        let (server, key) = match kind {
            Kind::Resource | Kind::Template => self.resource(&seen, &caller(&request.context)).await?,
            Kind::Tool | Kind::Prompt => self.named(kind, &seen, &request.context).await?,
        };
        record.server = Some(&self.servers.names[server]);
        if key != seen {
            params.insert(kind.key(), key);
        }
        request.params = Some(params.into());
        let result = self.relay(server).await?.request(request).await?;
        if self.servers.names.len() == 1 && self.servers.config.prefix == Prefix::Clash {
            return Ok(result);
        }
        let catalog = self.lists.catalog();
        Ok(replace_uris(result, &|uri| catalog.seen_uri(&self.servers.names, server, uri)))
    }

    /// Returns the server of a tool or prompt, and the name that the server uses.
    async fn named(&self, kind: Kind, seen: &str, context: &Context) -> Result<(usize, String), ErrorObject> {
        let scopes = scopes(context);
        let servers = &self.servers.names;
        let known = self.lists.catalog();
        let mut entry = known.find(servers, kind, seen).filter(|entry| self.lists.is_current(kind, entry.server));
        let read;
        if entry.is_none() {
            read = self.list(&[kind], false).await;
            entry = read.find(servers, kind, seen);
        }
        match entry.filter(|entry| self.servers.permits(kind, entry, &scopes)) {
            Some(Entry { finding: Some(finding), .. }) if self.servers.when_changed() == Some(WhenChanged::Refuse) => {
                let why = format!("{} {seen:?} has changed since it was pinned: {finding}", kind.noun());
                Err(ErrorObject::new(ErrorCode::INTERNAL_ERROR, why))
            }
            Some(entry) => Ok((entry.server, entry.key.clone())),
            None => {
                // A server whose list is not known may still have an item with its prefix.
                if let Some((server, _)) = kind.split_prefix(servers, seen) {
                    self.relay(server).await?;
                    // Listing gives up on a slow server before `relay` does, so the list may have been missed.
                    if !self.lists.get(kind, server).is_available {
                        self.list(&[kind], true).await;
                        if self.lists.get(kind, server).is_available {
                            return Box::pin(self.named(kind, seen, context)).await;
                        }
                    }
                }
                let catalog = self.lists.catalog();
                let visible = catalog.entries(kind).iter().filter(|entry| self.shows(kind, entry, &scopes));
                let similar = did_you_mean(seen, visible.map(|entry| &*entry.seen));
                let why = format!("unknown {} {seen:?}{similar}", kind.noun());
                Err(errors::invalid_params_in_words(&why))
            }
        }
    }

    /// Completes an argument of a prompt or a variable of a resource template.
    async fn complete(&self, mut request: AnyRequest) -> Result<Json, ErrorObject> {
        self.check_rate(&request.context).await?;
        let mut params = unambiguous(request.params, &["ref", "argument", "context", "_meta"])?;
        let mut reference = unambiguous(params.get("ref").map(JsonRef::to_json), &["type", "name", "uri"])?;
        let text = |name: &str| reference.get(name).and_then(JsonRef::as_str).map(|text| text.into_owned());
        let (member, seen, (server, key)) = match (text("type").as_deref(), text("name"), text("uri")) {
            (Some("ref/prompt"), Some(name), _) => {
                let found = self.named(Kind::Prompt, &name, &request.context).await?;
                ("name", name, found)
            }
            (Some("ref/resource"), _, Some(uri)) => {
                let catalog = self.list(&[Kind::Resource, Kind::Template], false).await;
                let template = catalog.find(&self.servers.names, Kind::Template, &uri);
                let caller = caller(&request.context);
                let found = match template.filter(|it| self.servers.permits(Kind::Template, it, &caller.scopes)) {
                    Some(entry) => (entry.server, entry.key.clone()),
                    None => self.resource(&uri, &caller).await?,
                };
                ("uri", uri, found)
            }
            _ => return Err(errors::invalid_params_in_words("params.ref: expected a prompt or a resource template")),
        };
        if key != seen {
            reference.insert(member, key);
        }
        params.insert("ref", reference);
        request.params = Some(params.into());
        self.relay(server).await?.request(request).await
    }

    /// Handles `resources/subscribe` and `resources/unsubscribe` of a legacy client.
    async fn set_subscribed(&self, request: &AnyRequest) -> Result<Json, ErrorObject> {
        let Some(seen) = request.params.as_ref().and_then(|params| params.get("uri")?.as_str()) else {
            return Err(errors::invalid_params_in_words("params.uri: expected a string"));
        };
        match &*request.method {
            "resources/unsubscribe" => self.subscriptions.remove(&seen),
            // Legacy clients have at most one subscription per resource.
            _ if self.subscriptions.contains(&seen) => {}
            _ => self.subscribe(&seen, caller(&request.context)).await?.keep(),
        }
        Ok(Json::from(&JsonObject::new()))
    }

    /// Handles `subscriptions/listen` of a modern client.
    async fn listen(self: Arc<Self>, request: AnyRequest) -> Result<Json, ErrorObject> {
        let AnyRequest { params, context, .. } = request;
        let (params, caller) = (listen_params(params, &context)?, caller(&context));
        (0..self.servers.names.len()).for_each(|server| self.start(server));
        let mut subscriptions = Vec::new();
        for seen in params.notifications.resource_subscriptions.iter().flatten() {
            subscriptions.push(self.subscribe(seen, caller.clone()).await?);
        }
        let tasks = self.subscribed_tasks(&params).await;
        let client = Arc::clone(&self.client);
        // Subscriptions outlive the session if the configuration changes, and must not keep its connections open.
        drop(self);
        client.listen(params, tasks, &context).await
    }
}

fn caller(context: &Context) -> Caller {
    Caller { revision: context.revision(), scopes: scopes(context) }
}

fn scopes(context: &Context) -> Scopes {
    Identity::of(context).map(|identity| identity.scopes.clone())
}
