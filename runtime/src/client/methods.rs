//! What clients do most, in every revision and in the types of the newest one.

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

/// What a client keeps of its server.
#[derive(Debug, Default)]
pub(super) struct Kept {
    tools: Mutex<Option<Tools>>,
    /// How often the list has changed: what was asked for before may be the old one.
    changed: AtomicU64,
}

#[derive(Clone, Debug)]
struct Tools {
    until: Option<Instant>,
    list: Arc<Vec<Tool>>,
    #[cfg(feature = "validate")]
    output_schemas: OutputSchemas,
}

/// The output schemas of listed tools, in the order of the list. Each is compiled when the tool is called first.
#[cfg(feature = "validate")]
type OutputSchemas = Arc<[tokio::sync::OnceCell<Option<crate::server::OutputSchema>>]>;

impl Kept {
    /// A list has changed.
    pub(super) fn list_changed(&self, method: &str) {
        if method == "notifications/tools/list_changed" {
            let mut tools = self.tools.lock();
            self.changed.fetch_add(1, Ordering::SeqCst);
            tools.take();
        }
    }
}

/// A list, page by page.
#[must_use = "nothing is asked for before the first page is"]
pub struct Pages<'c, S, R> {
    client: &'c Client<S>,
    /// `None` once the last page was read.
    cursor: Option<Option<String>>,
    /// What was read so far.
    pages: usize,
    bytes: usize,
    request: std::marker::PhantomData<fn() -> R>,
}

/// How much a client reads of a list, by [`Client::tools`] and the like or by [`Client::pages`]: a server could send pages
/// without end. Set it as [`Client::page_limits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimits {
    /// Pages of one list. Default: 1,000.
    pub pages: usize,
    /// Bytes of the results of all pages of one list. Default: 64 MiB.
    pub bytes: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self { pages: 1000, bytes: 64 << 20 }
    }
}

impl<S: RequestService, R: Request> Pages<'_, S, R> {
    /// The next page; `None` after the last one. After an error the same page is asked for again.
    ///
    /// # Errors
    ///
    /// Those of a call; [`Invalid`](CallError::Invalid) if the list exceeds the client's [`PageLimits`] or a page leads to
    /// itself.
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
            return Err(invalid("a page leads to itself"));
        }
        // Until then the same page may be asked for again.
        let page = self.client.read(R::METHOD, &result)?;
        self.cursor = next.map(Some);
        (self.pages, self.bytes) = (self.pages + 1, bytes);
        Ok(Some(page))
    }
}

impl<S: RequestService> Client<S> {
    /// The tools, and how they are called. They are kept for as long as the server says that they are fresh; in the older
    /// revisions until it says that they have changed, if it says so. A tool with an `x-mcp-header` that is not as it must be
    /// is left out.
    ///
    /// # Errors
    ///
    /// Those of a call.
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

    /// Calls a tool. What the server asks for meanwhile is answered by what answers requests here.
    ///
    /// A failure of the tool is a result, with [`is_error`](CallToolResult::is_error). With the feature `validate`
    /// structured content is held against the tool's schema, once [`tools`](Self::tools) were listed. The schema is compiled
    /// when the tool is called first. A schema beyond the limits of [`Server::tool_with_schema`](crate::Server::tool_with_schema) is
    /// logged, and results are not checked against it. A check that takes more than 2 seconds is an error.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn call_tool(&self, name: &str, arguments: JsonObject) -> Result<CallToolResult, CallError> {
        let params =
            JsonObject::from_iter([("name".to_owned(), name.into()), ("arguments".to_owned(), arguments.into())]);
        let result = match self.finish::<CallToolRequest, CallToolResult>(params.clone()).await {
            // Over HTTP the tool may want to have other headers than when it was listed, or was never listed.
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

    /// The resources.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn resources(&self) -> Result<Vec<Resource>, CallError> {
        self.all::<ListResourcesRequest, _>(|page| page.resources).await
    }

    /// The templates of the URIs of resources.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn resource_templates(&self) -> Result<Vec<ResourceTemplate>, CallError> {
        self.all::<ListResourceTemplatesRequest, _>(|page| page.resource_templates).await
    }

    /// Reads a resource. One that is not there is an error that
    /// [`is_resource_not_found`](crate::jsonrpc::errors::is_resource_not_found) knows.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn read_resource(&self, uri: &str) -> Result<ReadResourceResult, CallError> {
        let params = JsonObject::from_iter([("uri".to_owned(), uri.into())]);
        self.finish::<ReadResourceRequest, ReadResourceResult>(params).await
    }

    /// Hears of changes of a resource from now on, by a handler of `notifications/resources/updated`; in the older revisions,
    /// where it is the connection that subscribes. In 2026-07-28 there is [`listen`](Self::listen).
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn subscribe(&self, uri: &str) -> Result<(), CallError> {
        let params = JsonObject::from_iter([("uri".to_owned(), uri.into())]);
        self.ask("resources/subscribe", params).await.map(drop)
    }

    /// Hears of them no longer.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), CallError> {
        let params = JsonObject::from_iter([("uri".to_owned(), uri.into())]);
        self.ask("resources/unsubscribe", params).await.map(drop)
    }

    /// The prompts.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn prompts(&self) -> Result<Vec<Prompt>, CallError> {
        self.all::<ListPromptsRequest, _>(|page| page.prompts).await
    }

    /// Has a prompt filled in.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn prompt(&self, name: &str, arguments: BTreeMap<String, String>) -> Result<GetPromptResult, CallError> {
        let arguments: JsonObject = arguments.into_iter().map(|(name, value)| (name, value.into())).collect();
        let params =
            JsonObject::from_iter([("name".to_owned(), name.into()), ("arguments".to_owned(), arguments.into())]);
        self.finish::<GetPromptRequest, GetPromptResult>(params).await
    }

    /// How an argument of a prompt, or a variable of a template, may go on.
    ///
    /// # Errors
    ///
    /// Those of a call.
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

    /// Asks whether the server is there: by `ping`, or by `server/discover`, which took its place.
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn ping(&self) -> Result<(), CallError> {
        let method = if self.revision().is_legacy() { "ping" } else { "server/discover" };
        self.peer.raw_request(method, None).await.map(drop)
    }

    /// From which level on the server tells of events, in the revisions where that is said once for all. In later ones each
    /// request says it: [`LocalInfo::level`](crate::LocalInfo::level).
    ///
    /// # Errors
    ///
    /// Those of a call.
    pub async fn set_level(&self, level: Level) -> Result<(), CallError> {
        let params = RawJson::from(&json!({ "level": level.as_str() }));
        self.peer.raw_request("logging/setLevel", Some(params)).await.map(drop)
    }

    /// A list, page by page, of a request such as [`ListToolsRequest`], whose pages are without what [`tools`](Self::tools)
    /// leaves out.
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

    /// A request that may take several rounds.
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

    /// A result of whichever revision, as the newest one has it.
    fn read<T: Decode>(&self, method: &str, result: &RawJson) -> Result<T, CallError> {
        let newest = if self.revision().is_legacy() { newer(result) } else { None };
        let (decoded, repairs) = decode(newest.as_ref().unwrap_or(result), self.policy)
            .map_err(|error| CallError::Invalid(error.with_type_name(format!("{method} result")).into()))?;
        for repair in repairs {
            tracing::warn!(method, %repair, "a result was repaired");
            (self.on_repair)(method, &repair);
        }
        Ok(decoded)
    }

    /// Whether the server says when a list changes.
    fn tells(&self, list: &str) -> bool {
        self.peer.peer_info().is_some_and(|peer_info| peer_info.can(&[list, "listChanged"]))
    }

    /// Checks structured content against the output schema of a listed tool, and returns the result.
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

/// What older revisions do not say.
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

/// A page of tools without those that may be shown to nobody: whose `x-mcp-header` is not as it must be.
fn sound(result: RawJson) -> RawJson {
    if !result.text().contains("x-mcp-header") {
        return result;
    }
    // What is no page is for the decoder to say.
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
            tracing::warn!(tool = name, %why, "a tool is left out");
            false
        }
        _ => true,
    }
}

/// What is done when a result was repaired.
pub(super) type OnRepair = Arc<dyn Fn(&str, &Repair) + Send + Sync>;

/// How a client reads.
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
