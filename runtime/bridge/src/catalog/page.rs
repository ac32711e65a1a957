//! The pages of the lists that clients see.

use mcpgen_mcp::protocol::TYPES;
use mcpgen_mcp::protocol::conversion::{ConversionError, Revisions};
use mcpgen_mcp::protocol::methods::may_run_as_task;
use mcpgen_mcp::server::{decode_cursor, encode_cursor};
use mcpgen_types::v2026_07_28::CallToolRequest;
use mcpgen_types::{ErrorObject, Json, JsonObject, Request, Revision};

use super::{Catalog, Entry, Kind};

impl Catalog {
    /// Returns a page of a list, as the result of its method. Cursors count only `visible`, the items that the client
    /// sees, so they reveal nothing else. An item that the client's revision cannot express is left out.
    ///
    /// # Errors
    ///
    /// Fails if the cursor is invalid.
    pub fn page(
        &self,
        servers: &[String],
        (kind, visible): (Kind, &[&Entry]),
        (cursor, size): (Option<&str>, usize),
        revision: Revision,
    ) -> Result<Json, ErrorObject> {
        let start = match cursor {
            None => 0,
            Some(cursor) => {
                let last = decode_cursor(kind.member(), cursor)?;
                let (position, seen) = last.split_once(' ').unwrap_or_default();
                // The last item of the previous page may have moved or be gone.
                let at = visible.iter().position(|entry| entry.seen == seen).or_else(|| position.parse().ok());
                at.map_or(0, |at: usize| at.saturating_add(1))
            }
        };
        let end = start.saturating_add(size).min(visible.len());
        let page = visible.get(start..end).unwrap_or_default();
        let next = page.last().filter(|_| end < visible.len()).map(|last| format!("{} {}", end - 1, last.seen));
        let revisions = Revisions { from: TYPES, to: revision };
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
        let mut items: Vec<Json> = page.iter().map(|entry| self.listed(servers, kind, entry, revision)).collect();
        result(&items).or_else(|_| {
            // One item must not hide those of other servers.
            items.retain(|item| result(std::slice::from_ref(item)).is_ok());
            result(&items).map_err(ConversionError::into_response)
        })
    }

    /// Returns an item under the name or URI that clients see.
    fn listed(&self, servers: &[String], kind: Kind, entry: &Entry, revision: Revision) -> Json {
        let mut item = entry.item().clone();
        if !may_run_as_task(revision, CallToolRequest::METHOD) {
            item.remove("execution");
        }
        if entry.seen != entry.key {
            item.insert(kind.key(), &entry.seen);
        }
        let app = item.get("_meta").and_then(|meta| meta.get("ui")?.get("resourceUri")?.as_str());
        if let Some(uri) = app.map(|uri| self.seen_uri(servers, entry.server, &uri))
            && let Some(Ok(mut meta)) = item.get("_meta").map(JsonObject::try_from)
            && let Some(Ok(mut ui)) = meta.get("ui").map(JsonObject::try_from)
        {
            ui.insert("resourceUri", uri);
            meta.insert("ui", ui);
            item.insert("_meta", meta);
        }
        item.into()
    }
}
