//! Relays tasks.
//!
//! A client and a server that both have the tasks of 2025-11-25, or both have the extension of 2026-07-28, use them as
//! if there were no bridge. Otherwise, a call runs as a task only if its tool cannot run in any other way, and the
//! bridge waits for the result.

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use futures_util::{FutureExt, StreamExt};
use mcpgen_mcp::client::{CreatedTask, RoundLimits, TaskResults};
use mcpgen_mcp::protocol::change::{Change, TASK_IDS, TASK_NOTIFICATION};
use mcpgen_mcp::protocol::extension::Extension;
use mcpgen_mcp::protocol::methods::may_run_as_task;
use mcpgen_mcp::protocol::modern::CLIENT_CAPABILITIES;
use mcpgen_mcp::protocol::{self, ContextExt, PeerExt};
use mcpgen_mcp::server::subscriptions::{MAX_RESOURCE_SUBSCRIPTIONS, SubscriptionSource, Updates};
use mcpgen_mcp::server::{decode_cursor, encode_cursor};
use mcpgen_runtime::context::Context;
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::router::{AnyRequest, Router};
use mcpgen_tasks::{TaskPolling, TasksExtension};
use mcpgen_types::v2026_07_28::{CallToolRequest, SubscriptionFilter};
use mcpgen_types::{ErrorCode, ErrorObject, Json, JsonObject, JsonRef, Request, Revision};

use super::calls::OpenCall;
use super::relay::Relay;
use super::task_ids::{Place, replace_ids, with_server, without_server};

/// The prefix of the methods of all requests about tasks.
pub(super) const METHODS: &str = "tasks/";
const LIST: &str = "tasks/list";
const STATUS: &str = "notifications/tasks/status";
const EXTENSION: [&str; 2] = ["extensions", TasksExtension::IDENTIFIER];

/// How long a list of tasks waits for a server.
const LIST_TIMEOUT: Duration = Duration::from_secs(20);

/// Returns whether a revision has a request about tasks, in the core or in the extension.
fn has_method(revision: Revision, method: &str) -> bool {
    match revision.is_legacy() {
        true => revision.method(method).is_some(),
        false => matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel"),
    }
}

fn unknown_task(id: &str) -> ErrorObject {
    errors::invalid_params_in_words(&format!("params.taskId: unknown task {id:?}"))
}

fn task_id(params: Option<&Json>) -> Option<String> {
    params?.get("taskId")?.as_str().map(|id| id.into_owned())
}

/// Requests of the client.
impl Relay {
    /// Returns the server's name if the client sees it in the IDs of its tasks.
    fn name_in_ids(&self) -> Option<&str> {
        self.options.server_name.as_deref().filter(|_| self.client.names_tasks())
    }

    /// Replaces the ID of a task in the params of a request about it with the one that the server uses.
    ///
    /// # Errors
    ///
    /// Fails if the client's revision has no such method, or the task cannot belong to this server.
    pub(super) fn own_task_params(
        &self,
        method: &str,
        params: Option<Json>,
        ours: Revision,
    ) -> Result<Option<Json>, ErrorObject> {
        let theirs = self.server.revision();
        if !has_method(ours, method) {
            return Err(errors::method_not_found(method));
        }
        let id = task_id(params.as_ref()).unwrap_or_default();
        let is_same_kind = ours.is_legacy() == theirs.is_legacy() && has_method(theirs, method);
        match self.name_in_ids() {
            _ if !is_same_kind => Err(unknown_task(&id)),
            Some(name) if method != LIST => match without_server(name, &id) {
                Some(_) => Ok(params.map(|params| replace_ids(params, Place::Task, &|id| self.own_id(id)))),
                None => Err(unknown_task(&id)),
            },
            _ => Ok(params),
        }
    }

    fn own_id(&self, id: &str) -> Option<String> {
        without_server(self.name_in_ids()?, id).map(str::to_owned)
    }

    /// Removes `task`, which asks for a task, from the params of a call unless both sides have the tasks of 2025-11-25.
    /// A server that did not declare them would ignore it.
    ///
    /// # Errors
    ///
    /// Fails if the client was told that tools can run as tasks, but those of this server cannot.
    pub(super) fn check_task_request(
        &self,
        method: &str,
        params: &mut JsonObject,
        context: &Context,
    ) -> Result<(), ErrorObject> {
        if method != CallToolRequest::METHOD || !params.text().contains("\"task\"") {
            return Ok(());
        }
        let is_legacy = may_run_as_task(context.revision(), method);
        if (is_legacy && self.server.has_tool_tasks()) || params.remove("task").is_none() {
            return Ok(());
        }
        if is_legacy && self.client.may_ask_for_tasks() {
            let why = "cannot run as a task; send the request without `task`";
            let tool = context.subject().unwrap_or_default();
            return Err(ErrorObject::new(ErrorCode::METHOD_NOT_FOUND, format!("{tool:?} {why}")));
        }
        Ok(())
    }

    /// Sends a request of the client. If it asks for a task and for progress, progress is also relayed after the response.
    pub(super) fn send_to_server(&self, method: &str, params: Option<Json>, context: &Context) -> OpenCall {
        let token = context.progress_token().filter(|_| asks_for_task(context.revision(), method, params.as_ref()));
        let call = OpenCall::send(self.server.peer(), method, params, context);
        if let Some((id, token)) = call.id().zip(token) {
            self.progress_to_client.add((id.clone(), token));
        }
        call
    }

    /// Replaces the IDs of tasks in a result of the server with those that the client sees.
    pub(super) fn with_seen_ids(&self, method: &str, result: Json) -> Json {
        let place = match method {
            CallToolRequest::METHOD => Place::Created,
            "tasks/result" => Place::Metadata,
            _ if method.starts_with(METHODS) => Place::Task,
            _ => return result,
        };
        self.see_ids(place, result)
    }

    fn see_ids(&self, place: Place, message: Json) -> Json {
        let Some(name) = self.name_in_ids() else { return message };
        replace_ids(message, place, &|id| (!self.is_task_of_client(id)).then(|| with_server(name, id)))
    }
}

/// Returns whether a request asks for a task.
fn asks_for_task(revision: Revision, method: &str, params: Option<&Json>) -> bool {
    may_run_as_task(revision, method) && params.is_some_and(|params| params.get("task").is_some())
}

/// Messages of the server, and tasks that a client of 2025-11-25 runs for it.
impl Relay {
    /// Returns whether a task is one of those that the client runs for the server.
    fn is_task_of_client(&self, id: &str) -> bool {
        self.tasks_of_client.find(|known| (known == id).then_some(())).is_some()
    }

    /// Replaces the IDs of tasks in the params of a message of the server with those that the client sees.
    pub(super) fn seen_params(&self, method: &str, params: Option<Json>) -> Option<Json> {
        let place = if method == STATUS { Place::Task } else { Place::Metadata };
        params.map(|params| self.see_ids(place, params))
    }

    /// Checks a request of the server about a task of the client. The client may also run tasks for other servers.
    ///
    /// # Errors
    ///
    /// Fails if the task does not belong to the server.
    pub(super) fn check_task_of_client(&self, method: &str, params: Option<&Json>) -> Result<(), ErrorObject> {
        if !method.starts_with(METHODS) || method == LIST || self.name_in_ids().is_none() {
            return Ok(());
        }
        let id = task_id(params).unwrap_or_default();
        if self.is_task_of_client(&id) { Ok(()) } else { Err(unknown_task(&id)) }
    }

    /// Sends a request of the server to the client, and returns its result.
    pub(super) async fn ask(
        &self,
        client: &Peer,
        method: &str,
        params: Option<Json>,
        context: &Context,
    ) -> Result<Json, CallError> {
        let asks_for_task = asks_for_task(context.revision(), method, params.as_ref());
        let mut call = OpenCall::send(client, method, params, context);
        if let Some((id, token)) = call.id().zip(context.progress_token().filter(|_| asks_for_task)) {
            self.progress_to_server.add((id.clone(), token));
        }
        let result = call.result(context).await?;
        if asks_for_task && let Some(id) = result.get("task").and_then(|task| task.get("taskId")?.as_str()) {
            self.tasks_of_client.add(id.into_owned());
        }
        let Some(name) = self.name_in_ids() else { return Ok(result) };
        if method == LIST {
            return Ok(self.only_tasks_of_server(result));
        }
        Ok(replace_ids(result, Place::Metadata, &|id| without_server(name, id).map(str::to_owned)))
    }

    fn only_tasks_of_server(&self, result: Json) -> Json {
        let is_ours = |task: &JsonRef<'_>| {
            task.get("taskId").and_then(JsonRef::as_str).is_some_and(|id| self.is_task_of_client(&id))
        };
        let Ok(mut members) = result.decode::<JsonObject>() else { return result };
        let tasks: Json = result.get("tasks").into_iter().flat_map(JsonRef::elements).filter(is_ours).collect();
        members.insert("tasks", tasks);
        members.into()
    }

    /// Returns the params of a notification of the client for the server, or `None` if it belongs to another server.
    pub(super) fn own_params(&self, method: &str, params: Option<Json>) -> Option<Option<Json>> {
        match (method, self.name_in_ids()) {
            ("notifications/progress", _) => self.progress_to_server.relayed(params.as_ref()?).map(Some),
            (_, None) => Some(params),
            (STATUS, Some(_)) => self.is_task_of_client(&task_id(params.as_ref())?).then_some(params),
            (_, Some(_)) => Some(params.map(|params| replace_ids(params, Place::Metadata, &|id| self.own_id(id)))),
        }
    }
}

/// Calls that run as tasks without the client's knowledge.
impl Relay {
    /// Sends a call to a server of 2025-11-25 again, as a task, if it was refused because its tool runs only as one. Returns
    /// `None` if that is not the reason, or if the client could have asked for a task itself.
    pub(super) async fn retry_as_task(
        &self,
        method: &str,
        params: Option<&Json>,
        result: &Result<Json, CallError>,
        context: &Context,
    ) -> Option<OpenCall> {
        let Err(CallError::ErrorResponse(error)) = result else { return None };
        let is_refused = [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_REQUEST].contains(&error.code);
        if !is_refused || method != CallToolRequest::METHOD || may_run_as_task(context.revision(), method) {
            return None;
        }
        let mut params: JsonObject = params?.decode().ok()?;
        let tool = params.get("name")?.as_str()?.into_owned();
        if !self.server.requires_task(&tool).await {
            return None;
        }
        params.insert("task", JsonObject::new());
        let (peer, revision) = (self.server.peer().clone(), self.server.revision());
        let call = async move {
            let created = peer.raw_request(CallToolRequest::METHOD, Some(params.into())).await?;
            if created.get("task").is_none() {
                return Ok(created);
            }
            // The server asks for input with requests, which reach the client like those of other calls.
            let task = CreatedTask::new(peer, revision, created, RoundLimits::default(), Router::new());
            TaskPolling.result(task).await
        };
        Some(OpenCall::of(call.boxed()))
    }

    /// Adds the extension to the capabilities in the params of a legacy client's call, if a server of 2026-07-28 has
    /// refused it because its tool runs only as a task.
    pub(super) fn with_extension(&self, params: Option<&Json>, result: &Result<Json, CallError>) -> Option<Json> {
        let Err(CallError::ErrorResponse(error)) = result else { return None };
        let required = error.data.as_ref()?.get("requiredCapabilities")?;
        if error.code.0 != protocol::errors::MISSING_CAPABILITY || !protocol::info::can(required, &EXTENSION) {
            return None;
        }
        let mut params: JsonObject = params?.decode().ok()?;
        let mut meta = JsonObject::try_from(params.get("_meta")?).ok()?;
        meta.insert(CLIENT_CAPABILITIES, Json::from(&self.server.meta()).get(CLIENT_CAPABILITIES)?);
        params.insert("_meta", meta);
        Some(params.into())
    }
}

/// Replaces the URIs in the result of a task.
pub type SeenResult = Arc<dyn Fn(Json) -> Json + Send + Sync>;

/// The servers of the tasks to which a client of 2026-07-28 subscribes in `subscriptions/listen`.
pub struct SubscribedTasks {
    /// Weak, because the subscription must not keep alive the connection to a server that is gone.
    relays: Vec<(Weak<Relay>, SeenResult)>,
}

impl fmt::Debug for SubscribedTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubscribedTasks").field("servers", &self.relays.len()).finish_non_exhaustive()
    }
}

type States = BoxStream<'static, (&'static str, JsonObject)>;

impl SubscribedTasks {
    /// Creates a source from the connections to the servers, each with a function that replaces the URIs in results of
    /// tasks with those that the client sees.
    #[must_use]
    pub fn new(relays: impl IntoIterator<Item = (Arc<Relay>, SeenResult)>) -> Self {
        Self { relays: relays.into_iter().map(|(relay, seen)| (Arc::downgrade(&relay), seen)).collect() }
    }
}

impl SubscriptionSource for SubscribedTasks {
    fn subscribe<'a>(
        &'a self,
        context: &'a Context,
        filter: &'a SubscriptionFilter,
    ) -> BoxFuture<'a, Result<Option<Updates>, ErrorObject>> {
        async move {
            let Some(ids) = filter.extra.get(TASK_IDS) else { return Ok(None) };
            context.require(&EXTENSION)?;
            let ids: Vec<String> = ids.decode().map_err(|error: mcpgen_types::Error| {
                errors::invalid_params(&error.at_key(TASK_IDS).at_key("notifications").at_key("params"))
            })?;
            if ids.len() > MAX_RESOURCE_SUBSCRIPTIONS {
                let why = format!("params.notifications.{TASK_IDS}: expected at most {MAX_RESOURCE_SUBSCRIPTIONS} IDs");
                return Err(errors::invalid_params_in_words(&why));
            }
            let (mut accepted, mut updates) = (Vec::new(), Vec::new());
            for (relay, seen) in &self.relays {
                let Some(relay) = relay.upgrade() else { continue };
                match relay.subscribe_to_tasks(&ids, Arc::clone(seen)).await {
                    Ok((ids, states)) => {
                        accepted.extend(ids);
                        updates.push(states);
                    }
                    Err(error) if self.relays.len() == 1 => {
                        return Err(relay.server_error(error, context.revision()));
                    }
                    Err(error) => tracing::warn!(%error, ?relay, "cannot subscribe to tasks"),
                }
            }
            let accepted = (TASK_IDS, accepted.into_iter().map(Json::from).collect());
            Ok(Some(Updates { accepted, notifications: stream::select_all(updates).boxed() }))
        }
        .boxed()
    }
}

impl Relay {
    /// Subscribes to those tasks that belong to the server. Returns the IDs that the server has accepted, as the client
    /// sees them, and a stream of the states of tasks that change.
    async fn subscribe_to_tasks(
        self: &Arc<Self>,
        ids: &[String],
        seen: SeenResult,
    ) -> Result<(Vec<String>, States), CallError> {
        let of_server = |id: &String| match self.name_in_ids() {
            Some(name) => without_server(name, id).map(str::to_owned),
            None => Some(id.clone()),
        };
        let own: Vec<String> = ids.iter().filter_map(of_server).collect();
        if own.is_empty() || self.server.revision().is_legacy() {
            return Ok((Vec::new(), stream::empty().boxed()));
        }
        let mut filter = SubscriptionFilter::new();
        let own: Json = own.into_iter().map(Json::from).collect();
        filter.extra.insert(TASK_IDS, own).map_err(|error| CallError::Invalid(error.into()))?;
        let changes = self.server.changes(filter).await?;
        let accepted: Vec<String> =
            changes.acknowledged().extra.get(TASK_IDS).and_then(|ids| ids.decode().ok()).unwrap_or_default();
        let accepted = accepted.into_iter().map(|id| match self.name_in_ids() {
            Some(name) => with_server(name, &id),
            None => id,
        });
        let watching = (changes, Arc::downgrade(self), seen);
        let states = stream::unfold(watching, |(mut changes, relay, seen)| async move {
            while let Ok(Some(change)) = changes.try_next().await {
                if let Change::Task(id) = change
                    && let Some(state) = relay.upgrade()?.state_of_task(&id, &*seen).await
                {
                    return Some(((TASK_NOTIFICATION, state), (changes, relay, seen)));
                }
            }
            None
        });
        Ok((accepted.collect(), states.boxed()))
    }

    /// Returns the state of a task of a server of 2026-07-28, as the client sees it.
    async fn state_of_task(&self, id: &str, seen: &(dyn Fn(Json) -> Json + Send + Sync)) -> Option<JsonObject> {
        const METHOD: &str = "tasks/get";
        let state = self.server.raw_call(METHOD, JsonObject::from([("taskId", id.into())])).await;
        // The task may have expired.
        let state = state.inspect_err(|error| tracing::debug!(%error, "cannot read a task that has changed")).ok()?;
        let state = self.with_seen_ids(METHOD, self.name_server_in_input_requests(state));
        let mut state: JsonObject = replace_result(state, seen).decode().ok()?;
        for member in ["resultType", "_meta"] {
            state.remove(member);
        }
        Some(state)
    }
}

/// Applies a function to the result in the state of a task of 2026-07-28.
#[must_use]
pub fn replace_result(state: Json, seen: &(dyn Fn(Json) -> Json + Send + Sync)) -> Json {
    let Some(result) = state.get("result").map(JsonRef::to_json) else { return state };
    let Ok(mut members) = state.decode::<JsonObject>() else { return state };
    members.insert("result", seen(result));
    members.into()
}

/// Returns a page of the tasks of several servers, for `tasks/list` of 2025-11-25. Each page has tasks of one server.
/// `relay` returns the connection to a server by its position. Servers that are not available, or do not list tasks, are
/// left out.
///
/// # Errors
///
/// Fails if the client's revision has no such list, or if the cursor is invalid.
pub async fn list_tasks<F: Future<Output = Option<Arc<Relay>>>>(
    servers: &[String],
    request: AnyRequest,
    relay: impl Fn(usize) -> F,
) -> Result<Json, ErrorObject> {
    let AnyRequest { method, params, context } = request;
    if !has_method(context.revision(), &method) {
        return Err(errors::method_not_found(&method));
    }
    let (mut at, mut cursor) = (0, None);
    if let Some(seen) = params.as_ref().and_then(|params| params.get("cursor")?.as_str()) {
        let known = decode_cursor("tasks", &seen)?;
        let (server, own) = known.split_once(SPACE).unwrap_or((&known, ""));
        // A server that is gone has no more pages.
        at = servers.iter().position(|name| name == server).unwrap_or(servers.len());
        cursor = Some(own.to_owned()).filter(|own| !own.is_empty());
    }
    while let Some(server) = servers.get(at) {
        let is_continued = cursor.is_some();
        let params: JsonObject = cursor.take().into_iter().map(|cursor| ("cursor", cursor.into())).collect();
        let request = AnyRequest { method: method.clone(), params: Some(params.into()), context: context.clone() };
        let connecting = relay(at);
        let page = async {
            let relay = connecting.await?;
            let info = relay.server().peer().peer_info()?;
            let has_list = info.revision.is_legacy() && has_method(info.revision, LIST) && info.can(&["tasks", "list"]);
            if has_list { Some(relay.request(request).await) } else { None }
        };
        at += 1;
        let mut page: JsonObject = match tokio::time::timeout(LIST_TIMEOUT, page).await {
            Ok(Some(Ok(page))) => page.decode().map_err(|_| errors::internal())?,
            Ok(Some(Err(error))) if is_continued && error.code == ErrorCode::INVALID_PARAMS => return Err(error),
            Ok(Some(Err(error))) => {
                tracing::warn!("[{server}] {LIST}: {error}");
                continue;
            }
            Ok(None) => continue,
            Err(_) => {
                tracing::warn!("[{server}] {LIST}: no response within {} s", LIST_TIMEOUT.as_secs());
                continue;
            }
        };
        let next = match page.get("nextCursor").and_then(JsonRef::as_str) {
            Some(own) => Some(format!("{server}{SPACE}{own}")),
            None if page.get("tasks").is_none_or(|tasks| tasks.elements().next().is_none()) => continue,
            None => servers.get(at).cloned(),
        };
        page.remove("nextCursor");
        if let Some(next) = next {
            page.insert("nextCursor", encode_cursor("tasks", &next));
        }
        return Ok(page.into());
    }
    Ok(JsonObject::from([("tasks", Json::from_iter::<[Json; 0]>([]))]).into())
}

/// Separates the name of a server from its own cursor.
const SPACE: char = ' ';
