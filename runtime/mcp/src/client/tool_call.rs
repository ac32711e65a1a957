//! Tool calls with options.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::peer::{Call, CallError};
use mcpgen_runtime::router::RequestService;
use mcpgen_types::v2026_07_28::{CallToolRequest, CallToolResult, ContentBlock};
use mcpgen_types::{Json, JsonObject, Request};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::handle::Client;
use super::output_schema::OutputSchema;
use super::tool_cache::CachedTools;
use crate::protocol;
use crate::protocol::Progress;

/// A tool call, created by [`Client::tool`]. Await it to send it.
#[must_use = "a call is not sent before it is awaited"]
pub struct ToolCall<'c, S> {
    pub(super) client: &'c Client<S>,
    name: String,
    arguments: Result<JsonObject, CallError>,
    timeout: Option<Duration>,
    idle_timeout: Option<Option<Duration>>,
    pub(super) on_progress: Option<OnProgress>,
}

/// A tool failed. Returned by the methods that return only successful results; find it with
/// [`CallError::downcast_ref`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool {name} failed: {message}")]
#[non_exhaustive]
pub struct ToolFailed {
    /// The name of the tool.
    pub name: String,
    /// The text of the result.
    pub message: String,
}

impl From<ToolFailed> for CallError {
    fn from(error: ToolFailed) -> Self {
        Self::Protocol(Box::new(error))
    }
}

/// Called for progress in any round.
pub(super) type OnProgress = Arc<Mutex<Box<dyn FnMut(Progress) + Send>>>;

impl<S: RequestService> Client<S> {
    /// Prepares a tool call, in every revision. The client's handlers answer the server's requests for input in the
    /// meantime.
    ///
    /// If the tool fails, the result has [`is_error`](CallToolResult::is_error) set. [`text`](ToolCall::text),
    /// [`structured`](ToolCall::structured) and [`successful`](ToolCall::successful) return an error instead. Dropping
    /// the future cancels the call.
    ///
    /// ```
    /// # use mcpgen_sdk::{Client, Server, protocol::ContextExt};
    /// # use mcpgen_sdk::server::{RequestContext, ToolInfo};
    /// # use std::time::Duration;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// # let server = Server::builder("search", "1").tool("reindex", |context: RequestContext| async move {
    /// #     context.progress(1.0, Some(1.0), None).await;
    /// #     "indexed"
    /// # }).build();
    /// # let client = server.in_process(Client::builder("visitor", "1.0.0")).await?;
    /// let text = client
    ///     .tool("reindex")
    ///     .arguments(serde_json::json!({ "folder": "docs" }))
    ///     .on_progress(|progress| println!("{} of {:?}", progress.progress, progress.total))
    ///     .timeout(Duration::from_secs(300))
    ///     .text()
    ///     .await?;
    /// assert_eq!(text, "indexed");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn tool(&self, name: impl Into<String>) -> ToolCall<'_, S> {
        let (name, arguments) = (name.into(), Ok(JsonObject::new()));
        ToolCall { client: self, name, arguments, timeout: None, idle_timeout: None, on_progress: None }
    }
}

impl<'c, S: RequestService> ToolCall<'c, S> {
    /// Sets the arguments. They must serialize as a JSON object; otherwise the call fails.
    pub fn arguments(mut self, arguments: impl Serialize) -> Self {
        self.arguments = match Json::serialize(&arguments) {
            Ok(arguments) if arguments.is_null() => Ok(JsonObject::new()),
            Ok(arguments) => JsonObject::try_from(arguments).map_err(|_| {
                let why = format!("arguments of {}: expected a JSON object; use a struct or a map", self.name);
                CallError::Invalid(why.into())
            }),
            Err(error) => Err(CallError::Invalid(error.into())),
        };
        self
    }

    /// Requests progress reports and passes them to `report`.
    pub fn on_progress(mut self, report: impl FnMut(Progress) + Send + 'static) -> Self {
        self.on_progress = Some(Arc::new(Mutex::new(Box::new(report))));
        self
    }

    /// Limits the whole call, including all rounds and the time that the user takes to answer. Replaces the
    /// connection's [`Limits::call_timeout`](mcpgen_runtime::Limits::call_timeout) and
    /// [`Limits::idle_timeout`](mcpgen_runtime::Limits::idle_timeout).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets how long to wait for the response or the next progress report. `None` means no limit. The clock stops while
    /// the user is being asked. Defaults to [`Limits::idle_timeout`](mcpgen_runtime::Limits::idle_timeout).
    pub fn idle_timeout(mut self, idle_timeout: impl Into<Option<Duration>>) -> Self {
        self.idle_timeout = Some(idle_timeout.into());
        self
    }

    /// Sends the call and returns the result's text, one line per text block. Images and other content are left out.
    ///
    /// # Errors
    ///
    /// Fails like the call itself, and with [`ToolFailed`] if the tool failed.
    pub async fn text(self) -> Result<String, CallError> {
        Ok(text_of(&self.successful().await?))
    }

    /// Sends the call and decodes the result's structured content. If there is none, decodes the only content block as
    /// JSON text, which is how tools returned such content before 2025-06-18.
    ///
    /// # Errors
    ///
    /// Fails like the call itself, with [`ToolFailed`] if the tool failed, and with
    /// [`Invalid`](CallError::Invalid) if the content does not match `T`.
    pub async fn structured<T: DeserializeOwned>(self) -> Result<T, CallError> {
        let name = self.name.clone();
        let result = self.successful().await?;
        let content = match (result.structured_content, result.content.as_slice()) {
            (Some(content), _) => Json::from(&content),
            (None, [ContentBlock::TextContent(text)]) => mcpgen_types::from_str::<Json>(&text.text)
                .map_err(|_| CallError::Invalid(format!("{name}: the result has no structured content").into()))?,
            (None, _) => {
                return Err(CallError::Invalid(format!("{name}: the result has no structured content").into()));
            }
        };
        let decoded = content.deserialize();
        decoded.map_err(|error| CallError::Invalid(format!("{name}: structured content: {error}").into()))
    }

    /// Sends the call, and returns its result.
    ///
    /// # Errors
    ///
    /// Fails like the call itself, and with [`ToolFailed`] if the tool failed.
    pub async fn successful(self) -> Result<CallToolResult, CallError> {
        let name = self.name.clone();
        let result = self.send().await?;
        match result.is_error {
            Some(true) => Err(ToolFailed { name, message: text_of(&result) }.into()),
            _ => Ok(result),
        }
    }

    /// Sends the call and returns the result as JSON in the connection's revision, without validating it.
    ///
    /// # Errors
    ///
    /// Fails like the call itself. The result of a failed tool is not an error.
    pub async fn raw(mut self) -> Result<Json, CallError> {
        let request = self.request();
        within(request, self.timeout, self.raw_result()).await
    }

    pub(super) async fn send(self) -> Result<CallToolResult, CallError> {
        within(self.request(), self.timeout, self.run()).await
    }

    /// Names the call in a timeout error.
    fn request(&self) -> String {
        format!("{} {}", CallToolRequest::METHOD, self.name)
    }

    async fn run(mut self) -> Result<CallToolResult, CallError> {
        let result = self.raw_result().await?;
        let result = self.client.decode(CallToolRequest::METHOD, &result)?;
        let result = self.client.check_output(&self.name, result).await?;
        Ok(result)
    }

    async fn raw_result(&mut self) -> Result<Json, CallError> {
        let arguments = std::mem::replace(&mut self.arguments, Ok(JsonObject::new()))?;
        let params = JsonObject::from([("name", self.name.as_str().into()), ("arguments", arguments.into())]);
        let client = self.client;
        if let Some(tasks) = &client.task_results
            && client.requires_task(&self.name).await
        {
            let params = client.revisions().params(CallToolRequest::METHOD, &params);
            let result = self.run_as_task(&**tasks, &params.map_err(|error| CallError::Invalid(error.into()))?).await;
            return result.map_err(|error| client.peer.explain(error));
        }
        let send = |params| self.send_request(params);
        match client.finish::<CallToolRequest, _>(params.clone(), send).await {
            // Over HTTP, a tool may require headers that the client does not know, because the list of tools is stale
            // or was never requested. Request it and retry.
            Err(CallError::ErrorResponse(error)) if error.code.0 == protocol::errors::HEADER_MISMATCH => {
                client.tool_cache.clear();
                client.tools().await?;
                client.finish::<CallToolRequest, _>(params, send).await
            }
            result => result,
        }
    }

    pub(super) fn send_request(&self, params: Json) -> Call<Json> {
        let mut request = self.client.peer.raw_request(CallToolRequest::METHOD, Some(params));
        if let Some(limit) = self.timeout {
            request = request.timeout(limit).idle_timeout(None);
        }
        if let Some(limit) = self.idle_timeout {
            request = request.idle_timeout(limit);
        }
        if let Some(report) = self.on_progress.clone() {
            request = request.on_progress(move |progress| (report.lock())(progress));
        }
        request.send()
    }
}

impl<'c, S: RequestService + Sync> IntoFuture for ToolCall<'c, S> {
    type Output = Result<CallToolResult, CallError>;
    type IntoFuture = BoxFuture<'c, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.send().boxed()
    }
}

impl<S> fmt::Debug for ToolCall<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolCall").field("name", &self.name).finish_non_exhaustive()
    }
}

async fn within<T>(
    request: String,
    limit: Option<Duration>,
    call: impl Future<Output = Result<T, CallError>>,
) -> Result<T, CallError> {
    let result = match limit {
        Some(limit) => match tokio::time::timeout(limit, call).await {
            Ok(result) => result,
            Err(_) => return Err(CallError::Timeout { request, limit }),
        },
        None => call.await,
    };
    match result {
        Err(CallError::Timeout { limit, .. }) => Err(CallError::Timeout { request, limit }),
        result => result,
    }
}

/// Returns the text of a result, one line per text block.
fn text_of(result: &CallToolResult) -> String {
    let text = result.content.iter().filter_map(|block| match block {
        ContentBlock::TextContent(text) => Some(text.text.as_str()),
        _ => None,
    });
    text.collect::<Vec<_>>().join("\n")
}

impl<S: RequestService> Client<S> {
    /// Validates structured content against the output schema of a listed tool, and returns the result.
    async fn check_output(&self, name: &str, result: CallToolResult) -> Result<CallToolResult, CallError> {
        let Some(validator) = &self.validator else { return Ok(result) };
        let Some(CachedTools { list, output_schemas, .. }) = self.tool_cache.last() else { return Ok(result) };
        let listed = list.iter().zip(output_schemas.iter()).find(|(tool, _)| tool.name == name);
        let Some((tool, compiled)) = listed else { return Ok(result) };
        match compiled.get_or_init(|| OutputSchema::of(tool, Arc::clone(validator))).await {
            None => Ok(result),
            Some(schema) => schema.check(result).await.map_err(|why| {
                CallError::Invalid(format!("tools/call result of {name}: structuredContent: {why}").into())
            }),
        }
    }
}
