//! Relays requests of the client to the server.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use derive_setters::Setters;
use futures_util::future::BoxFuture;
use mcpgen_mcp::client::Client;
use mcpgen_mcp::protocol;
use mcpgen_mcp::protocol::change::Change;
use mcpgen_mcp::protocol::conversion::{ConversionError, Revisions};
use mcpgen_mcp::protocol::input_requests::InputNotProvided;
use mcpgen_mcp::protocol::modern::{CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL, PROTOCOL_VERSION};
use mcpgen_mcp::protocol::{ContextExt, Level, TYPES};
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::router::{AnyRequest, Router};
use mcpgen_types::v2026_07_28::{ListToolsRequest, SubscriptionsListenRequest};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, MethodSpec, Request, Revision};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::calls::Calls;
use super::capabilities::without_task_extension;
use super::downstream::Downstream;
use super::reason::short_reason;
use super::subscriptions::{ResourceSubscriptions, Watch};
use super::task_ids::{Newest, ProgressOfTasks};

/// The connection to one server on behalf of one client: passes requests and notifications on, in both directions.
pub struct Relay {
    pub(super) server: Client,
    pub(super) client: Arc<Downstream>,
    pub(super) options: RelayOptions,
    pub(super) calls: Arc<Calls>,
    /// The resources to which a legacy client is subscribed.
    pub(super) watched: Arc<ResourceSubscriptions<()>>,
    /// The subscription to the lists of the server.
    pub(super) lists: OnceLock<Watch>,
    /// The minimum level of the log messages that the server sends.
    level: Mutex<Option<Level>>,
    /// The metadata of requests for which the client has sent none.
    meta: JsonObject,
    /// The tasks that a legacy client runs for the server.
    pub(super) tasks_of_client: Newest<String>,
    pub(super) progress_to_client: ProgressOfTasks,
    pub(super) progress_to_server: ProgressOfTasks,
}

/// Settings of a [`Relay`] for one of several servers.
#[derive(Clone, Default, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct RelayOptions {
    /// The name of the server, for errors and log messages that reach the client. With a name, a server's failure is
    /// reported with its [`short_reason`](crate::short_reason), and logged with all causes. Default: none.
    #[setters(strip_option)]
    pub server_name: Option<Arc<str>>,
    /// Called with each change of the server. By default, the client is notified of it.
    #[setters(strip_option)]
    pub on_change: Option<OnChange>,
}

/// Takes a change of a server.
pub type OnChange = Arc<dyn Fn(Change) -> BoxFuture<'static, ()> + Send + Sync>;

impl fmt::Debug for RelayOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayOptions").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("server", &self.server).field("options", &self.options).finish_non_exhaustive()
    }
}

/// Receives the relay once the server is connected.
pub(super) type Slot = watch::Receiver<Option<Weak<Relay>>>;

impl Relay {
    pub(super) fn new(server: Client, client: Arc<Downstream>, options: RelayOptions) -> Self {
        let is_legacy = client.greeting().is_legacy;
        Self {
            calls: Calls::new(),
            watched: Arc::default(),
            lists: OnceLock::new(),
            // A legacy client gets all log messages until it sets a level.
            level: Mutex::new((is_legacy && !server.revision().is_legacy()).then_some(Level::Debug)),
            meta: meta_for_client(&server),
            tasks_of_client: Newest::default(),
            progress_to_client: Newest::default(),
            progress_to_server: Newest::default(),
            server,
            client,
            options,
        }
    }

    /// Returns the connection to the server.
    #[must_use]
    pub fn server(&self) -> &Client {
        &self.server
    }

    /// Waits until the server is connected, and returns the relay. `None` if the relay is gone.
    pub(super) async fn of(mut slot: Slot) -> Option<Arc<Self>> {
        slot.wait_for(Option::is_some).await.ok()?.as_ref().and_then(Weak::upgrade)
    }

    /// Returns a router that relays all requests and notifications of the client.
    pub(super) fn router(self: &Arc<Self>) -> Router {
        let (requests, notifications) = (Arc::clone(self), Arc::clone(self));
        Router::new()
            .fallback(move |request| {
                let relay = Arc::clone(&requests);
                async move { relay.request(request).await }
            })
            .notification_fallback(move |notification| {
                let relay = Arc::clone(&notifications);
                async move { relay.notify_server(notification).await }
            })
    }

    /// Sends a request of the client to the server, and returns the server's response, both converted.
    ///
    /// # Errors
    ///
    /// Fails with the error response of the server, with one that says why the connection to the server failed, or if one
    /// of the revisions cannot express the request or the result.
    pub async fn request(self: &Arc<Self>, request: AnyRequest) -> Result<Json, ErrorObject> {
        let AnyRequest { method, mut params, context } = request;
        let (ours, theirs) = (context.revision(), self.server.revision());
        if !ours.is_legacy() {
            self.client.ready(ours);
        }
        if method.starts_with("tasks/") {
            params = self.own_task_params(&method, params, ours)?;
        } else if ours.method(&method).is_none() && MethodSpec::newest(&method).is_some() {
            return Err(errors::method_not_found(&method));
        }
        let asks = |revision: Revision| revision.method(&method).is_some_and(|spec| spec.may_require_input);
        match &*method {
            "logging/setLevel" if !theirs.is_legacy() => self.set_level(params.as_ref()),
            "resources/subscribe" | "resources/unsubscribe" => {
                self.set_watched(&method, params.as_ref(), &context).await
            }
            SubscriptionsListenRequest::METHOD => self.listen(params, &context).await,
            _ if theirs.is_legacy() && asks(ours) => self.call_interactively(&method, params, &context).await,
            _ if ours.is_legacy() && asks(theirs) => {
                let _active = self.calls.add(&context, None);
                let params = self.server_params(&method, params, &context, TYPES).await?;
                let mut result = self.call_in_rounds(&method, params.clone(), &context).await;
                if is_header_mismatch(&result) {
                    self.learn_headers().await;
                    result = self.call_in_rounds(&method, params.clone(), &context).await;
                }
                if let Some(params) = self.with_extension(params.as_ref(), &result) {
                    result = self.call_in_rounds(&method, Some(params), &context).await;
                }
                self.finish(&method, result, &context).await
            }
            _ => {
                let _active = self.calls.add(&context, None);
                let params = self.server_params(&method, params, &context, theirs).await?;
                let call = |params| async { self.send_to_server(&method, params, &context).result(&context).await };
                let mut result = call(params.clone()).await;
                if is_header_mismatch(&result) {
                    self.learn_headers().await;
                    result = call(params.clone()).await;
                }
                if let Some(mut call) = self.retry_as_task(&method, params.as_ref(), &result, &context).await {
                    result = call.result(&context).await;
                }
                self.finish(&method, result, &context).await
            }
        }
    }

    /// Converts the server's response for the client, once the notifications that preceded it have been relayed.
    /// Changes are relayed by separate Tokio tasks, and can arrive later.
    pub(super) async fn finish(
        &self,
        method: &str,
        result: Result<Json, CallError>,
        context: &Context,
    ) -> Result<Json, ErrorObject> {
        // A client that is not ready may be waiting for this response, while notifications wait for the client.
        if self.client.is_ready() {
            self.server.peer().notifications_handled().await;
        }
        let revisions = Revisions { from: self.server.revision(), to: context.revision() };
        let result = result.map_err(|error| self.server_error(error, context.revision()))?;
        let result = self.with_seen_ids(method, self.name_server_in_input_requests(result));
        revisions.result(method, &result).map_err(ConversionError::into_response)
    }

    /// Returns the error response for a call that failed on the server's side.
    pub(super) fn server_error(&self, error: CallError, revision: Revision) -> ErrorObject {
        let error = self.server.peer().explain(error);
        match &self.options.server_name {
            Some(name) if !is_from_peer(&error) => {
                tracing::warn!("[{name}] a call has failed: {}", mcpgen_runtime::util::error_chain(&error));
                let reason = format!("server `{name}`: {}", short_reason(&error));
                ErrorObject::new(ErrorCode::INTERNAL_ERROR, reason)
            }
            _ => error_response(error, revision),
        }
    }

    /// Converts the params of a client's request to a revision. The metadata of the connection to the client is
    /// replaced by that of the connection to the server.
    pub(super) async fn server_params(
        &self,
        method: &str,
        params: Option<Json>,
        context: &Context,
        to: Revision,
    ) -> Result<Option<Json>, ErrorObject> {
        let mut members: JsonObject = params
            .as_ref()
            .map_or(Ok(JsonObject::new()), Json::decode)
            .map_err(|error| errors::invalid_params(&error))?;
        self.check_task_request(method, &mut members, context)?;
        let meta = members.remove("_meta").and_then(|meta| JsonObject::try_from(meta).ok());
        let mut meta = meta.unwrap_or_default();
        let asked = meta.get(LOG_LEVEL).and_then(|level| Level::from_name(&level.as_str()?));
        meta.remove("progressToken");
        if self.server.revision().is_legacy() {
            for member in [PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO, LOG_LEVEL] {
                meta.remove(member);
            }
            self.lower_level(asked).await;
        } else {
            meta.insert(PROTOCOL_VERSION, self.server.revision().as_str());
            for (name, value) in &self.meta {
                meta.insert_if_absent(name, value);
            }
            if let Some(level) = *self.level.lock() {
                meta.insert_if_absent(LOG_LEVEL, level.as_str());
            }
        }
        if !meta.is_empty() {
            members.insert("_meta", meta);
        } else if params.is_none() {
            return Ok(None);
        }
        let revisions = Revisions { from: context.revision(), to };
        let converted = revisions.params(method, &members).map_err(ConversionError::into_response)?;
        Ok(Some(converted))
    }

    /// Sets the log level of a legacy client for requests to a modern server.
    fn set_level(&self, params: Option<&Json>) -> Result<Json, ErrorObject> {
        *self.level.lock() = Level::of_params(params);
        Ok(Json::from(&JsonObject::new()))
    }

    /// Sets the minimum level of the log messages that the server sends, as `logging/setLevel` of a legacy client does.
    ///
    /// # Errors
    ///
    /// Fails if the call to a legacy server fails. A modern server gets the level with each request.
    pub async fn set_log_level(&self, level: Level) -> Result<(), CallError> {
        match self.server.revision().is_legacy() {
            true => self.server.set_level(level).await,
            false => {
                *self.level.lock() = Some(level);
                Ok(())
            }
        }
    }

    /// Makes a legacy server send the log messages that a modern client wants for a request. Other requests may want
    /// fewer, so the level is only ever lowered.
    async fn lower_level(&self, asked: Option<Level>) {
        let Some(asked) = asked else { return };
        if self.level.lock().is_some_and(|level| level <= asked) {
            return;
        }
        if let Err(error) = self.server.set_level(asked).await {
            tracing::debug!(%error, "the server does not change its log level");
        }
        *self.level.lock() = Some(asked);
    }

    /// Lists the server's tools, so that the transport learns which arguments it repeats in headers.
    async fn learn_headers(&self) {
        let mut pages = self.server.pages::<ListToolsRequest>();
        while let Ok(Some(_)) = pages.try_next().await {}
    }
}

/// Returns the metadata of the connection, without the tasks extension, which only the bridge's own requests use.
fn meta_for_client(server: &Client) -> JsonObject {
    let mut meta: JsonObject = Json::from(&server.meta()).decode().unwrap_or_default();
    if let Some(Ok(capabilities)) = meta.get(CLIENT_CAPABILITIES).map(JsonObject::try_from) {
        meta.insert(CLIENT_CAPABILITIES, without_task_extension(capabilities));
    }
    meta
}

fn is_header_mismatch(result: &Result<Json, CallError>) -> bool {
    matches!(result, Err(CallError::ErrorResponse(error)) if error.code.0 == protocol::errors::HEADER_MISMATCH)
}

/// Returns whether an error comes from the other side or from the protocol, and not from the connection.
pub(super) fn is_from_peer(error: &CallError) -> bool {
    matches!(error, CallError::ErrorResponse(_) | CallError::NotAllowed(_))
        || error.downcast_ref::<InputNotProvided>().is_some()
}

/// Returns the error response for a call that failed on the other side.
pub(super) fn error_response(error: CallError, revision: Revision) -> ErrorObject {
    match error {
        CallError::ErrorResponse(error) if protocol::errors::is_resource_not_found(&error) => {
            let code = match revision.has_resource_not_found_code() {
                true => ErrorCode::RESOURCE_NOT_FOUND,
                false => ErrorCode::INVALID_PARAMS,
            };
            ErrorObject { code, ..error }
        }
        CallError::ErrorResponse(error) => error,
        CallError::NotAllowed(why) => ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, why.to_string()),
        error => match error.downcast_ref::<InputNotProvided>() {
            Some(refused) => refused.error.clone(),
            None => ErrorObject::new(ErrorCode::INTERNAL_ERROR, mcpgen_runtime::util::error_chain(&error)),
        },
    }
}
