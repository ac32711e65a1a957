//! Reads the lists of a server.

use mcpgen_mcp::protocol::conversion::Revisions;
use mcpgen_mcp::protocol::{PeerExt, TYPES};
use mcpgen_runtime::peer::CallError;
use mcpgen_types::{ErrorCode, Json, JsonObject, JsonRef};

use super::relay::Relay;

/// The limits of a list of one server.
const MAX_PAGES: usize = 100;
const MAX_ITEMS: usize = 10_000;
const MAX_BYTES: usize = 16 << 20;

impl Relay {
    /// Reads all pages of a list, such as `tools/list`, and returns its items in the revision [`TYPES`]. `member` is
    /// the member of the result with the items, and `capability` the one that a server with the list declares. An
    /// invalid item is logged and left out. A server without the list has no items.
    ///
    /// # Errors
    ///
    /// Fails if a call fails, or if the list has more than 100 pages, 10,000 items or 16 MiB.
    pub async fn list(&self, method: &str, member: &str, capability: &str) -> Result<Vec<JsonObject>, CallError> {
        let server = self.server();
        if !server.peer().peer_info().is_some_and(|info| info.can(&[capability])) {
            return Ok(Vec::new());
        }
        let (mut items, mut cursor, mut bytes) = (Vec::new(), None::<String>, 0);
        for _ in 0..MAX_PAGES {
            let params: JsonObject = cursor.iter().map(|cursor| ("cursor", cursor.into())).collect();
            let page = match server.raw_call(method, params).await {
                Err(CallError::ErrorResponse(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => return Ok(items),
                page => page?,
            };
            bytes += page.text().len();
            items.extend(self.page_items(method, member, &page));
            if items.len() > MAX_ITEMS || bytes > MAX_BYTES {
                return Err(CallError::Invalid(
                    format!("the list has more than {MAX_ITEMS} items or {MAX_BYTES} bytes").into(),
                ));
            }
            let next = page.get("nextCursor").and_then(JsonRef::as_str).map(|next| next.into_owned());
            if next.is_none() || next == cursor {
                return Ok(items);
            }
            cursor = next;
        }
        Err(CallError::Invalid(format!("the list has more than {MAX_PAGES} pages").into()))
    }

    /// Returns the valid items of a page.
    fn page_items(&self, method: &str, member: &str, page: &Json) -> Vec<JsonObject> {
        let revisions = Revisions { from: self.server().revision(), to: TYPES };
        let items_of = |page: &Json| -> Vec<JsonObject> {
            let items = page.get(member).into_iter().flat_map(JsonRef::elements);
            items.filter_map(|item| JsonObject::try_from(item).ok()).collect()
        };
        // The types lack the member that says which tools run as tasks.
        let has_tasks = self.server().has_tool_tasks();
        let with_execution = |(mut item, original): (JsonObject, JsonRef<'_>)| {
            if let Some(execution) = original.get("execution").filter(|_| has_tasks) {
                item.insert("execution", execution);
            }
            item
        };
        if let Ok(converted) = revisions.result(method, page) {
            let originals = page.get(member).into_iter().flat_map(JsonRef::elements);
            return items_of(&converted).into_iter().zip(originals).map(with_execution).collect();
        }
        let items = page.get(member).into_iter().flat_map(JsonRef::elements);
        let converted = items.filter_map(|item| {
            let mut one: JsonObject = page.decode().ok()?;
            one.insert(member, Json::from_iter([item.to_json()]));
            match revisions.result(method, &one) {
                Ok(page) => items_of(&page).pop().map(|converted| with_execution((converted, item))),
                Err(error) => {
                    let name = self.options.server_name.as_deref().unwrap_or_default();
                    let item: String = item.text().chars().take(200).collect();
                    tracing::warn!("[{name}] {method}: an invalid item is left out: {error}: {item}");
                    None
                }
            }
        });
        converted.collect()
    }
}
