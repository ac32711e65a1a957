//! Reads lists page by page.

use std::fmt;
use std::marker::PhantomData;

use futures_util::{Stream, stream};
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::peer::CallError;
use mcpgen_runtime::router::RequestService;
use mcpgen_types::codec::Cursor;
use mcpgen_types::v2026_07_28::ListToolsRequest;
use mcpgen_types::{Json, JsonObject, Request, counted};

use super::handle::Client;
use crate::protocol::header_params;

/// A list, read page by page. Created by [`Client::pages`].
#[must_use = "no page is requested before `try_next` is called"]
pub struct Pages<'c, S, R> {
    client: &'c Client<S>,
    /// The params of each request, without the cursor.
    params: JsonObject,
    /// The cursor of the next page: `Some(None)` for the first page, `None` after the last one.
    cursor: Option<Option<String>>,
    pages: usize,
    /// Size of all results so far, in bytes.
    bytes: usize,
    /// The names of the tools so far, and whether each runs only as a task.
    pub(super) task_support: Vec<(String, bool)>,
    request: PhantomData<fn() -> R>,
}

impl<S, R> fmt::Debug for Pages<'_, S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("cursor", &self.cursor).field("pages", &self.pages).finish_non_exhaustive()
    }
}

impl<'c, S, R> Pages<'c, S, R> {
    pub(super) fn new(client: &'c Client<S>, params: JsonObject) -> Self {
        Self { client, params, cursor: Some(None), pages: 0, bytes: 0, task_support: Vec::new(), request: PhantomData }
    }
}

impl<'c, S: RequestService, R: Request> Pages<'c, S, R> {
    /// Requests the next page. Returns `None` after the last one. After an error, call it again to retry the page.
    ///
    /// # Errors
    ///
    /// Fails if the call fails, and with [`Invalid`](CallError::Invalid) if the list exceeds
    /// [`Client::with_page_limits`] or the `nextCursor` of a page is the page's own cursor.
    pub async fn try_next(&mut self) -> Result<Option<R::Result>, CallError> {
        let Some(cursor) = self.cursor.clone() else { return Ok(None) };
        let invalid = |why: &str| CallError::Invalid(format!("{}: {why}", R::METHOD).into());
        let exceeds = |limit: usize, unit: &str| {
            let limit = counted(limit as u64, unit);
            invalid(&format!(
                "the list has more than {limit}; raise `{unit}` with `Client::with_page_limits` to read more"
            ))
        };
        let limits = self.client.page_limits;
        if self.pages >= limits.pages {
            return Err(exceeds(limits.pages, "pages"));
        }
        let mut params = self.params.clone();
        if let Some(cursor) = &cursor {
            params.insert("cursor", cursor);
        }
        let result = self.client.raw_call(R::METHOD, params).await?;
        let bytes = self.bytes.saturating_add(result.text().len());
        if bytes > limits.bytes {
            return Err(exceeds(limits.bytes, "bytes"));
        }
        let result = if R::METHOD == ListToolsRequest::METHOD { without_invalid_headers(result) } else { result };
        let next = result.read(|page| {
            let [next] = Picked::values(page, &["nextCursor"]);
            next.and_then(|next| next.string().ok())
        });
        let next = next.ok().flatten();
        if next.is_some() && next == cursor {
            return Err(invalid("`nextCursor` repeats the cursor of the page"));
        }
        // Advance only after decoding, so that a failed page can be requested again.
        let page = self.client.decode(R::METHOD, &result)?;
        if R::METHOD == ListToolsRequest::METHOD && self.client.has_tool_tasks() {
            self.task_support.extend(super::tool_task::task_support(&result));
        }
        self.cursor = next.map(Some);
        (self.pages, self.bytes) = (self.pages + 1, bytes);
        Ok(Some(page))
    }

    /// Converts the pages to a stream. After an error, the stream retries the page, like [`try_next`](Self::try_next).
    pub fn into_stream(self) -> impl Stream<Item = Result<R::Result, CallError>> + use<'c, S, R> {
        stream::unfold(self, |mut pages| async move { Some((pages.try_next().await.transpose()?, pages)) })
    }
}

fn without_invalid_headers(result: Json) -> Json {
    if !result.text().contains("x-mcp-header") {
        return result;
    }
    let valid_tools = result.read(|page| {
        let tools: Vec<_> = page.get("tools")?.elements().ok()?.collect();
        let valid: Vec<_> = tools.iter().copied().filter(|tool| has_valid_headers(*tool)).collect();
        (valid.len() < tools.len()).then(|| valid.into_iter().map(Cursor::to_json).collect::<Json>())
    });
    let Ok(Some(valid_tools)) = valid_tools else { return result };
    // The decoder will report the invalid page.
    let Ok(mut page) = result.decode::<JsonObject>() else { return result };
    page.insert("tools", valid_tools);
    page.into()
}

fn has_valid_headers(tool: Cursor<'_>) -> bool {
    match tool.get("inputSchema").map(header_params::headers) {
        Some(Err(why)) => {
            let name = tool.get("name").and_then(Cursor::as_str).unwrap_or_default();
            let name = &*name;
            tracing::warn!(tool = name, %why, "ignoring a tool with an invalid `x-mcp-header`");
            false
        }
        _ => true,
    }
}
