//! A client's common operations, with the newest types in every revision.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_runtime::peer::{Call, CallError};
use mcpgen_runtime::router::RequestService;
use mcpgen_types::codec::Decode;
use mcpgen_types::v2026_07_28::{
    CallToolResult, CompleteRequestParamsArgument, GetPromptRequest, GetPromptResult, ListPromptsRequest,
    ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, Prompt, PromptOrResourceTemplateReference,
    ReadResourceRequest, ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use mcpgen_types::{Json, JsonObject, Request};
use serde_json::json;
use tokio::time::Instant;

use super::completion::ArgumentCompletion;
use super::handle::Client;
use super::mrtr::{MultiRoundTrip, Rounds};
use super::pages::Pages;
use crate::protocol::{Level, NotAllowed, PeerExt, Role};

impl<S: RequestService> Client<S> {
    /// Lists the server's tools.
    ///
    /// The list is cached: in modern revisions for the server's `ttlMs`; in legacy revisions until the server reports a
    /// change, provided that it declares such notifications. Tools with an invalid `x-mcp-header` are left out.
    ///
    /// # Errors
    ///
    /// Returns an error if a call fails, or if the list exceeds its [limits](Self::with_page_limits).
    pub async fn tools(&self) -> Result<Arc<Vec<Tool>>, CallError> {
        if let Some(list) = self.tool_cache.unexpired() {
            return Ok(list);
        }
        self.request_tools().await
    }

    /// Always sends the request, and caches the list.
    pub(super) async fn request_tools(&self) -> Result<Arc<Vec<Tool>>, CallError> {
        let changes = self.tool_cache.changes();
        let (mut list, mut time_to_live) = (Vec::new(), Duration::MAX);
        let mut pages = self.pages::<ListToolsRequest>();
        while let Some(page) = pages.try_next().await? {
            time_to_live = time_to_live.min(Duration::from_millis(page.ttl_ms));
            list.extend(page.tools);
        }
        self.tool_cache.store_task_support(pages.task_support, changes);
        let list = Arc::new(list);
        match self.revision().is_legacy() {
            true if self.notifies_of_changes("tools") => self.tool_cache.store(&list, None, changes),
            true => {}
            false => {
                if let Some(expires) = Instant::now().checked_add(time_to_live) {
                    self.tool_cache.store(&list, Some(expires), changes);
                }
            }
        }
        Ok(list)
    }

    /// Calls a tool with arguments. For typed arguments, progress and timeouts, use [`tool`](Self::tool). The client's
    /// handlers answer the server's requests for input in the meantime.
    ///
    /// If the tool fails, the result has [`is_error`](CallToolResult::is_error) set.
    ///
    /// A tool that requires a task runs as one if the client can await tasks; see
    /// [`ClientBuilder::task_results`](crate::ClientBuilder::task_results). In 2025-11-25 this depends on the list of
    /// tools, which is requested unless [`tools`](Self::tools) was called before.
    ///
    /// With [`ClientBuilder::validate`](crate::ClientBuilder::validate), structured content is validated against the
    /// tool's output schema if [`tools`](Self::tools) has listed the tool. The schema is compiled on the tool's first
    /// call. A schema that exceeds the limits of [`ServerBuilder::tool`](crate::ServerBuilder::tool) is logged, and the
    /// results are not validated.
    ///
    /// # Errors
    ///
    /// Fails if the call fails. With a validator, also fails if the structured content is invalid or its validation
    /// takes more than 2 seconds.
    pub async fn call_tool(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, CallError> {
        self.tool(name).arguments(arguments).send().await
    }

    /// Lists the server's resources.
    ///
    /// # Errors
    ///
    /// Returns an error if a call fails, or if the list exceeds its [limits](Self::with_page_limits).
    pub async fn resources(&self) -> Result<Vec<Resource>, CallError> {
        self.all::<ListResourcesRequest, _>(|page| page.resources).await
    }

    /// Lists the server's resource templates.
    ///
    /// # Errors
    ///
    /// Returns an error if a call fails, or if the list exceeds its [limits](Self::with_page_limits).
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>, CallError> {
        self.all::<ListResourceTemplatesRequest, _>(|page| page.resource_templates).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails. [`is_resource_not_found`](crate::protocol::errors::is_resource_not_found)
    /// tells whether that is because the resource does not exist.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, CallError> {
        let params = JsonObject::from([("uri", uri.into())]);
        self.finish_request::<ReadResourceRequest, ReadResourceResult>(params).await
    }

    /// Lists the server's prompts.
    ///
    /// # Errors
    ///
    /// Returns an error if a call fails, or if the list exceeds its [limits](Self::with_page_limits).
    pub async fn prompts(&self) -> Result<Vec<Prompt>, CallError> {
        self.all::<ListPromptsRequest, _>(|page| page.prompts).await
    }

    /// Gets a prompt with these arguments.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails.
    pub async fn prompt(&self, name: &str, arguments: BTreeMap<String, String>) -> Result<GetPromptResult, CallError> {
        let arguments: JsonObject = arguments.into_iter().map(|(name, value)| (name, value.into())).collect();
        let params = JsonObject::from([("name", name.into()), ("arguments", arguments.into())]);
        self.finish_request::<GetPromptRequest, GetPromptResult>(params).await
    }

    /// Requests completions for an argument of a prompt or a variable of a resource template. The request is sent when
    /// the returned value is awaited.
    ///
    /// ```
    /// # use mcpgen_sdk::{Client, Server};
    /// # use mcpgen_sdk::types::{Prompt, PromptArgument, PromptReference};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let review = Prompt::new("review").with_arguments(["language", "version"].map(PromptArgument::new));
    /// # let server = Server::builder("reviewer", "1").prompt(review, || async { "" }).completion(|params: mcpgen_sdk::types::CompleteRequestParams| async move {
    /// #     vec![params.context.and_then(|context| context.arguments?.get("language").cloned()).unwrap_or_default()]
    /// # }).build();
    /// # let client = server.in_process(Client::builder("visitor", "1.0.0")).await?;
    /// let versions =
    ///     client.complete_argument(PromptReference::new("review"), "version", "1.").argument("language", "rust").await?;
    /// # assert_eq!(versions.values.get(), &["rust".to_owned()]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails.
    pub fn complete_argument(
        &self,
        of: impl Into<PromptOrResourceTemplateReference>,
        argument: impl Into<String>,
        value: impl Into<String>,
    ) -> ArgumentCompletion<'_, S> {
        ArgumentCompletion::new(self, of.into(), CompleteRequestParamsArgument::new(argument).value(value))
    }

    /// Checks that the server responds. Sends `ping` in legacy revisions, and `server/discover` in modern ones.
    ///
    /// # Errors
    ///
    /// Returns an error if the call fails.
    pub async fn ping(&self) -> Result<(), CallError> {
        let method = if self.revision().is_legacy() { "ping" } else { "server/discover" };
        self.peer.raw_request(method, None).await.map(drop)
    }

    /// Sets the minimum level of the server's log messages, in legacy revisions.
    /// With [`ClientBuilder::on_log`](crate::ClientBuilder::on_log), the client does this when it connects.
    ///
    /// # Errors
    ///
    /// Returns [`NotAllowed`](CallError::NotAllowed) in modern revisions, where each request carries the level set by
    /// `on_log`. Otherwise fails if the call fails.
    pub async fn set_level(&self, level: Level) -> Result<(), CallError> {
        if !self.revision().is_legacy() {
            let (method, role, revision) = ("logging/setLevel".to_owned(), Role::Client, self.revision());
            let remedy = ", where each request carries the level; set it with `ClientBuilder::on_log`";
            return Err(CallError::NotAllowed(NotAllowed::Revision { method, role, revision, remedy }.into()));
        }
        let params = Json::from(&json!({ "level": level.as_str() }));
        self.peer.raw_request("logging/setLevel", Some(params)).await.map(drop)
    }

    /// Sends `logging/setLevel` to a server of a legacy revision without waiting for the response. If the request
    /// fails, the server keeps its level.
    pub(super) fn request_log_level(&self, level: Option<Level>) {
        let has_logging = || self.peer.peer_info().is_some_and(|peer_info| peer_info.can(&["logging"]));
        let Some(level) = level.filter(|_| self.revision().is_legacy() && has_logging()) else { return };
        let params = Json::from(&json!({ "level": level.as_str() }));
        let call = self.peer.raw_request("logging/setLevel", Some(params)).send();
        tokio::spawn(async move {
            if let Err(error) = call.await {
                tracing::warn!(%error, "the server did not accept the log level");
            }
        });
    }

    /// Reads a list page by page, with a request such as [`ListToolsRequest`]. Like [`tools`](Self::tools), leaves out
    /// tools with an invalid `x-mcp-header`.
    pub fn pages<R: Request>(&self) -> Pages<'_, S, R> {
        Pages::new(self, JsonObject::new())
    }

    /// Like [`pages`](Self::pages), for a request with params besides the cursor.
    pub fn pages_with<R: Request>(&self, params: JsonObject) -> Pages<'_, S, R> {
        Pages::new(self, params)
    }

    async fn all<R: Request, T>(&self, items: impl Fn(R::Result) -> Vec<T>) -> Result<Vec<T>, CallError> {
        let (mut all, mut pages) = (Vec::new(), self.pages::<R>());
        while let Some(page) = pages.try_next().await? {
            all.extend(items(page));
        }
        Ok(all)
    }

    /// Completes all rounds of a request and decodes the final result.
    async fn finish_request<R, T>(&self, params: JsonObject) -> Result<T, CallError>
    where
        R: MultiRoundTrip<Complete = T>,
        T: Decode,
    {
        let send = |params| self.peer.raw_request(R::METHOD, Some(params)).send();
        self.decode(R::METHOD, &self.finish::<R, _>(params, send).await?)
    }

    /// Like [`finish_request`](Self::finish_request), but calls `send` for each round, and returns the final result in
    /// the connection's revision.
    pub(super) async fn finish<R, F>(&self, params: JsonObject, send: F) -> Result<Json, CallError>
    where
        R: MultiRoundTrip,
        F: Fn(Json) -> Call<Json>,
    {
        let result = match self.revision().is_legacy() {
            true => {
                let params = self.revisions().params(R::METHOD, &params);
                send(params.map_err(|error| CallError::Invalid(error.into()))?).await
            }
            false => {
                let (peer, requests, limits) = (&self.peer, self.requests.clone(), self.round_limits);
                let tasks = self.task_results.as_deref();
                let rounds = Rounds { peer, requests, limits, method: R::METHOD, revisions: self.revisions(), tasks };
                rounds.run(Some(Json::from(&self.with_meta(params))), send).await
            }
        };
        result.map_err(|error| self.peer.explain(error))
    }

    /// Returns whether the server declares that it reports changes to a list.
    fn notifies_of_changes(&self, list: &str) -> bool {
        self.peer.peer_info().is_some_and(|peer_info| peer_info.can(&[list, "listChanged"]))
    }
}
