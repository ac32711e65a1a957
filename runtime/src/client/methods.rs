//! The common operations of clients, for all revisions, with the types of the newest one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mcpgen_types::codec::Decode;
use mcpgen_types::v2026_07_28::{
    CallToolRequest, CallToolResult, CompleteRequest, CompleteResultCompletion, GetPromptRequest, GetPromptResult,
    ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest, ListToolsRequest, Prompt,
    PromptOrResourceTemplateReference, ReadResourceRequest, ReadResourceResult, Resource, ResourceTemplate, Tool,
};
use mcpgen_types::{JsonObject, RawJson, Request, Value};
use serde_json::json;
use tokio::time::Instant;

use super::Client;
use crate::client::lenient::{DecodePolicy, Repair, decode};
use crate::client::mrtr::{self, MultiRoundTrip};
use crate::jsonrpc::errors;
use crate::jsonrpc::json::{Edit, Picked};
use crate::peer::CallError;
use crate::protocol::Level;
use crate::protocol::header_params;
use crate::service::router::RequestService;
use crate::util::lock::Mutex;

/// The server's tools, cached by a client.
#[derive(Debug, Default)]
pub(super) struct Kept {
    tools: Mutex<Option<Tools>>,
    /// The number of changes of the list. A list that was requested before a change is not cached, since it may be
    /// outdated.
    changed: AtomicU64,
}

#[derive(Clone, Debug)]
struct Tools {
    until: Option<Instant>,
    list: Arc<Vec<Tool>>,
    #[cfg(feature = "validate")]
    output_schemas: OutputSchemas,
}

/// The output schemas of listed tools, in the order of the list. Each is compiled at the first call of its tool.
#[cfg(feature = "validate")]
type OutputSchemas = Arc<[tokio::sync::OnceCell<Option<crate::server::OutputSchema>>]>;

impl Kept {
    /// Discards the cached tools if `method` is the notification that they have changed.
    pub(super) fn list_changed(&self, method: &str) {
        if method == "notifications/tools/list_changed" {
            let mut tools = self.tools.lock();
            self.changed.fetch_add(1, Ordering::SeqCst);
            tools.take();
        }
    }
}

/// Reads a list page by page. Created by [`Client::pages`].
#[must_use = "nothing is asked for before the first page is"]
pub struct Pages<'c, S, R> {
    client: &'c Client<S>,
    /// The cursor of the next page; `None` once the last page was read.
    cursor: Option<Option<String>>,
    /// The number of pages read so far.
    pages: usize,
    /// The total size of their results.
    bytes: usize,
    request: std::marker::PhantomData<fn() -> R>,
}

/// Limits how much of a list a client reads with [`Client::tools`], [`Client::pages`] and similar methods, since a
/// server could send pages without end. Set it with [`Client::page_limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// The maximum number of pages of one list. Default: 1,000.
    pub pages: usize,
    /// The maximum total size of the results of one list, in bytes. Default: 64 MiB.
    pub bytes: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { pages: 1000, bytes: 64 << 20 }
    }
}

impl<S: RequestService, R: Request> Pages<'_, S, R> {
    /// Requests the next page; returns `None` after the last one. After an error, the next call requests the same page
    /// again.
    ///
    /// # Errors
    ///
    /// The call fails. The error is [`Invalid`](CallError::Invalid) if the list exceeds the client's [`PageLimits`] or
    /// if the `nextCursor` of a page is the cursor of the same page.
    pub async fn next(&mut self) -> Result<Option<R::Result>, CallError> {
        let Some(cursor) = self.cursor.clone() else { return Ok(None) };
        let invalid = |why: &str| CallError::Invalid(format!("{}: {why}", R::METHOD).into());
        let exceeds = |limit: usize, unit: &str| {
            invalid(&format!("the list has more than {limit} {unit}; raise `Client::page_limits.{unit}` to read more"))
        };
        let limits = self.client.page_limits;
        if self.pages >= limits.pages {
            return Err(exceeds(limits.pages, "pages"));
        }
        let of = |cursor: String| JsonObject::from_iter([("cursor".to_owned(), cursor.into())]);
        let params = cursor.clone().map_or_else(JsonObject::new, of);
        let result = self.client.ask(R::METHOD, params).await?;
        let bytes = self.bytes.saturating_add(result.text().len());
        if bytes > limits.bytes {
            return Err(exceeds(limits.bytes, "bytes"));
        }
        let result = if R::METHOD == ListToolsRequest::METHOD { sound(result) } else { result };
        let next = result.read(|page| {
            let [next] = Picked::values(page, &["nextCursor"]);
            next.and_then(|next| next.string().ok())
        });
        let next = next.ok().flatten();
        if next.is_some() && next == cursor {
            return Err(invalid("`nextCursor` repeats the cursor of the page"));
        }
        // Advance only after the page was decoded, so that it can be requested again.
        let page = self.client.read(R::METHOD, &result)?;
        self.cursor = next.map(Some);
        (self.pages, self.bytes) = (self.pages + 1, bytes);
        Ok(Some(page))
    }
}

impl<S: RequestService> Client<S> {
    /// Lists the server's tools.
    ///
    /// The list is cached. In modern revisions it is cached while it is fresh, as declared by the server's `ttlMs`. In
    /// legacy revisions it is cached until the server notifies the client of a change, but only if the server declares
    /// that it sends such notifications. Tools with an invalid `x-mcp-header` are left out.
    ///
    /// # Errors
    ///
    /// A call fails, or the list exceeds the client's [`PageLimits`].
    pub async fn tools(&self) -> Result<Arc<Vec<Tool>>, CallError> {
        let kept = self.kept.tools.lock().clone();
        if let Some(Tools { list, .. }) = kept.filter(|kept| kept.until.is_none_or(|until| until > Instant::now())) {
            return Ok(list);
        }
        let changed = self.kept.changed.load(Ordering::SeqCst);
        let (mut list, mut fresh) = (Vec::new(), Duration::MAX);
        let mut pages = self.pages::<ListToolsRequest>();
        while let Some(page) = pages.next().await? {
            fresh = fresh.min(Duration::from_millis(page.ttl_ms));
            list.extend(page.tools);
        }
        let list = Arc::new(list);
        let until = match self.revision().is_legacy() {
            true => self.tells("tools").then_some(None),
            false => Instant::now().checked_add(fresh).map(Some),
        };
        if let Some(until) = until {
            let mut kept = self.kept.tools.lock();
            if self.kept.changed.load(Ordering::SeqCst) == changed {
                *kept = Some(Tools {
                    until,
                    #[cfg(feature = "validate")]
                    output_schemas: list.iter().map(|_| tokio::sync::OnceCell::new()).collect(),
                    list: Arc::clone(&list),
                });
            }
        }
        Ok(list)
    }

    /// Calls a tool. The client's handlers handle the server's requests for input in the meantime.
    ///
    /// A failure of the tool is a result with [`is_error`](CallToolResult::is_error) set.
    ///
    /// With the feature `validate`, structured content is validated against the tool's output schema if
    /// [`tools`](Self::tools) has listed the tool. The schema is compiled at the first call of the tool. If the schema
    /// exceeds the limits of [`ServerBuilder::tool_with_schema`](crate::ServerBuilder::tool_with_schema), this is
    /// logged, and results are not validated.
    ///
    /// # Errors
    ///
    /// The call fails. With the feature `validate`, also if the structured content is invalid, or if its validation
    /// takes more than 2 seconds.
    pub async fn call_tool(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, CallError> {
        let params =
            JsonObject::from_iter([("name".to_owned(), name.into()), ("arguments".to_owned(), arguments.into())]);
        let result = match self.finish::<CallToolRequest, CallToolResult>(params.clone()).await {
            // Over HTTP, the tool may require other headers than when it was listed, or was never listed. List the
            // tools again and retry.
            Err(CallError::Refused(error)) if error.code.0 == errors::HEADER_MISMATCH => {
                self.kept.list_changed("notifications/tools/list_changed");
                self.tools().await?;
                self.finish::<CallToolRequest, CallToolResult>(params).await?
            }
            result => result?,
        };
        #[cfg(feature = "validate")]
        let result = self.check_output(name, result).await?;
        Ok(result)
    }

    /// Lists the server's resources.
    ///
    /// # Errors
    ///
    /// A call fails, or the list exceeds the client's [`PageLimits`].
    pub async fn resources(&self) -> Result<Vec<Resource>, CallError> {
        self.all::<ListResourcesRequest, _>(|page| page.resources).await
    }

    /// Lists the server's resource templates.
    ///
    /// # Errors
    ///
    /// A call fails, or the list exceeds the client's [`PageLimits`].
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>, CallError> {
        self.all::<ListResourceTemplatesRequest, _>(|page| page.resource_templates).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// The call fails. If the resource does not exist,
    /// [`is_resource_not_found`](crate::jsonrpc::errors::is_resource_not_found) returns `true` for the error response.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, CallError> {
        let params = JsonObject::from_iter([("uri".to_owned(), uri.into())]);
        self.finish::<ReadResourceRequest, ReadResourceResult>(params).await
    }

    /// Subscribes to changes of a resource, in legacy revisions. Handle the server's notifications with a handler for
    /// `notifications/resources/updated`. In 2026-07-28, use [`listen`](Self::listen) instead.
    ///
    /// # Errors
    ///
    /// The call fails.
    pub async fn subscribe(&self, uri: &str) -> Result<(), CallError> {
        let params = JsonObject::from_iter([("uri".to_owned(), uri.into())]);
        self.ask("resources/subscribe", params).await.map(drop)
    }

    /// Ends a subscription that was made with [`subscribe`](Self::subscribe).
    ///
    /// # Errors
    ///
    /// The call fails.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), CallError> {
        let params = JsonObject::from_iter([("uri".to_owned(), uri.into())]);
        self.ask("resources/unsubscribe", params).await.map(drop)
    }

    /// Lists the server's prompts.
    ///
    /// # Errors
    ///
    /// A call fails, or the list exceeds the client's [`PageLimits`].
    pub async fn prompts(&self) -> Result<Vec<Prompt>, CallError> {
        self.all::<ListPromptsRequest, _>(|page| page.prompts).await
    }

    /// Gets a prompt with these arguments.
    ///
    /// # Errors
    ///
    /// The call fails.
    pub async fn prompt(&self, name: &str, arguments: BTreeMap<String, String>) -> Result<GetPromptResult, CallError> {
        let arguments: JsonObject = arguments.into_iter().map(|(name, value)| (name, value.into())).collect();
        let params =
            JsonObject::from_iter([("name".to_owned(), name.into()), ("arguments".to_owned(), arguments.into())]);
        self.finish::<GetPromptRequest, GetPromptResult>(params).await
    }

    /// Returns completions for an argument of a prompt or a variable of a resource template.
    ///
    /// # Errors
    ///
    /// The call fails.
    pub async fn complete_argument(
        &self,
        of: impl Into<PromptOrResourceTemplateReference>,
        argument: &str,
        value: &str,
    ) -> Result<CompleteResultCompletion, CallError> {
        let of = mcpgen_types::to_value(&of.into()).unwrap_or_default();
        let params = json!({ "ref": of, "argument": { "name": argument, "value": value } });
        let result = self.ask(CompleteRequest::METHOD, params.as_object().cloned().unwrap_or_default()).await?;
        let result = self.read::<mcpgen_types::v2026_07_28::CompleteResult>(CompleteRequest::METHOD, &result)?;
        Ok(result.completion)
    }

    /// Checks that the server responds. Sends `ping` in legacy revisions, and `server/discover` in modern ones.
    ///
    /// # Errors
    ///
    /// The call fails.
    pub async fn ping(&self) -> Result<(), CallError> {
        let method = if self.revision().is_legacy() { "ping" } else { "server/discover" };
        self.peer.raw_request(method, None).await.map(drop)
    }

    /// Sets the minimum level of the server's log messages, in legacy revisions. In modern revisions each request
    /// carries the level; set [`LocalInfo::level`](crate::LocalInfo::level) instead.
    ///
    /// # Errors
    ///
    /// The call fails.
    pub async fn set_level(&self, level: Level) -> Result<(), CallError> {
        let params = RawJson::from(&json!({ "level": level.as_str() }));
        self.peer.raw_request("logging/setLevel", Some(params)).await.map(drop)
    }

    /// Reads a list page by page, with a request such as [`ListToolsRequest`]. Leaves out the same tools as
    /// [`tools`](Self::tools).
    pub fn pages<R: Request>(&self) -> Pages<'_, S, R> {
        Pages { client: self, cursor: Some(None), pages: 0, bytes: 0, request: std::marker::PhantomData }
    }

    async fn all<R: Request, T>(&self, items: impl Fn(R::Result) -> Vec<T>) -> Result<Vec<T>, CallError> {
        let (mut all, mut pages) = (Vec::new(), self.pages::<R>());
        while let Some(page) = pages.next().await? {
            all.extend(items(page));
        }
        Ok(all)
    }

    /// Sends a request that may take multiple rounds, and decodes the final result.
    async fn finish<R, T>(&self, params: JsonObject) -> Result<T, CallError>
    where
        R: MultiRoundTrip<Complete = T>,
        T: Decode,
    {
        let result = match self.revision().is_legacy() {
            true => self.ask(R::METHOD, params).await?,
            false => {
                let params = Some(RawJson::from(&params));
                mrtr::rounds::<R>(&self.peer, self.requests.clone(), self.rounds, params).await?
            }
        };
        self.read(R::METHOD, &result)
    }

    async fn ask(&self, method: &str, params: JsonObject) -> Result<RawJson, CallError> {
        self.peer.raw_request(method, Some(RawJson::from(&params))).await
    }

    /// Decodes a result of any revision as a type of the newest one.
    fn read<T: Decode>(&self, method: &str, result: &RawJson) -> Result<T, CallError> {
        let newest = if self.revision().is_legacy() { newer(result) } else { None };
        let (decoded, repairs) = decode(newest.as_ref().unwrap_or(result), self.policy)
            .map_err(|error| CallError::Invalid(error.with_type_name(format!("{method} result")).into()))?;
        for repair in repairs {
            tracing::warn!(method, %repair, "repaired a result");
            (self.on_repair)(method, &repair);
        }
        Ok(decoded)
    }

    /// Returns whether the server declares that it sends notifications of changes of a list.
    fn tells(&self, list: &str) -> bool {
        self.peer.peer_info().is_some_and(|peer_info| peer_info.can(&[list, "listChanged"]))
    }

    /// Validates structured content against the output schema of a listed tool, and returns the result.
    #[cfg(feature = "validate")]
    async fn check_output(&self, name: &str, result: CallToolResult) -> Result<CallToolResult, CallError> {
        let kept = self.kept.tools.lock().clone();
        let Some(Tools { list, output_schemas, .. }) = kept else { return Ok(result) };
        let listed = list.iter().zip(output_schemas.iter()).find(|(tool, _)| tool.name == name);
        let Some((tool, compiled)) = listed else { return Ok(result) };
        match compiled.get_or_init(|| crate::server::OutputSchema::of(tool)).await {
            None => Ok(result),
            Some(schema) => schema.check(result).await.map_err(|why| {
                CallError::Invalid(format!("tools/call result of {name}: structuredContent: {why}").into())
            }),
        }
    }
}

/// Adds the members that the newest revision requires and legacy results lack. Returns `None` if none is missing.
fn newer(result: &RawJson) -> Option<RawJson> {
    let defaults = [("resultType", "\"complete\""), ("ttlMs", "0"), ("cacheScope", "\"private\"")];
    let edited = result.read(|result| {
        let picked = Picked::from(result, &["resultType", "ttlMs", "cacheScope"])?;
        let mut edit = Edit::of(result);
        for ((name, value), there) in defaults.into_iter().zip(picked.values) {
            if there.is_none() {
                edit.add(name, value);
            }
        }
        edit.done()
    });
    edited.and_then(|edited| edited).ok().flatten()
}

/// Removes the tools with an invalid `x-mcp-header` from a page of tools.
fn sound(result: RawJson) -> RawJson {
    if !result.text().contains("x-mcp-header") {
        return result;
    }
    // The decoder reports an invalid page.
    let Ok(mut page) = result.decode::<JsonObject>() else { return result };
    if let Some(Value::Array(tools)) = page.get_mut("tools") {
        tools.retain(is_sound);
    }
    RawJson::from(&page)
}

fn is_sound(tool: &Value) -> bool {
    let schema = tool.get("inputSchema").and_then(Value::as_object);
    match schema.map(header_params::headers) {
        Some(Err(why)) => {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            tracing::warn!(tool = name, %why, "ignoring a tool with an invalid `x-mcp-header`");
            false
        }
        _ => true,
    }
}

/// A callback for each repair, with the method of the request.
pub(super) type OnRepair = Arc<dyn Fn(&str, &Repair) + Send + Sync>;

/// How a client decodes results.
#[derive(Clone)]
pub(super) struct Reader {
    pub(super) policy: DecodePolicy,
    pub(super) on_repair: OnRepair,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("policy", &self.policy).finish_non_exhaustive()
    }
}

impl Default for Reader {
    fn default() -> Self {
        Self { policy: DecodePolicy::Strict, on_repair: Arc::new(|_, _| {}) }
    }
}
