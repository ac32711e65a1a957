//! The IDs of tasks: how clients see them, and where they occur in messages.

use std::collections::VecDeque;

use mcpgen_mcp::protocol::legacy::RELATED_TASK;
use mcpgen_runtime::jsonrpc::json::{Edit, Picked};
use mcpgen_types::codec::Cursor;
use mcpgen_types::{Json, ProgressToken, RequestId};
use parking_lot::Mutex;

/// What separates the name of a server from a task's own ID. Names of servers do not contain it.
const SEPARATOR: char = '/';

/// Returns the position of the server that the ID of a task names, if there are several.
#[must_use]
pub fn server_of_task(servers: &[String], id: &str) -> Option<usize> {
    let (server, _) = id.split_once(SEPARATOR)?;
    servers.iter().position(|known| known == server)
}

/// Returns the ID by which clients know a task of a server.
pub(super) fn with_server(server: &str, id: &str) -> String {
    format!("{server}{SEPARATOR}{id}")
}

/// Returns the ID that the server uses.
pub(super) fn without_server<'i>(server: &str, id: &'i str) -> Option<&'i str> {
    id.strip_prefix(server)?.strip_prefix(SEPARATOR)
}

/// Where a message has IDs of tasks, besides its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nowhere else.
    Metadata,
    /// In the task that a call has created.
    Created,
    /// In the message itself, which is a task, or has a list of them.
    Task,
}

/// Replaces the IDs for which `new` returns one. Returns the same message if there are none.
pub(super) fn replace_ids(message: Json, place: Place, new: &dyn Fn(&str) -> Option<String>) -> Json {
    if !message.text().contains("taskId") {
        return message;
    }
    let edited = message.read(|message| {
        let [id, task, tasks, kind, meta] =
            Picked::values(message, &["taskId", "task", "tasks", "resultType", "_meta"]);
        let is_task = match place {
            Place::Metadata => false,
            Place::Created => kind.and_then(Cursor::as_str).as_deref() == Some("task"),
            Place::Task => true,
        };
        let created = task.filter(|_| place == Place::Created).and_then(id_of);
        let listed = tasks.filter(|_| is_task).and_then(|tasks| tasks.elements().ok()).into_iter().flatten();
        let related = meta.and_then(|meta| meta.get(RELATED_TASK)).and_then(id_of);
        let mut edit = Edit::of(message);
        for id in id.filter(|_| is_task).into_iter().chain(created).chain(listed.filter_map(id_of)).chain(related) {
            if let Some(new) = id.as_str().and_then(|id| new(&id)) {
                edit.replace(id, Json::from(new).into_text());
            }
        }
        edit.done()
    });
    match edited {
        Ok(Ok(Some(edited))) => edited,
        _ => message,
    }
}

fn id_of(task: Cursor<'_>) -> Option<Cursor<'_>> {
    task.get("taskId")
}

/// Remembers the newest entries.
#[derive(Debug)]
pub(super) struct Newest<T>(Mutex<VecDeque<T>>);

const MAX_NEWEST: usize = 1024;

impl<T> Default for Newest<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Newest<T> {
    pub(super) fn add(&self, entry: T) {
        let mut entries = self.0.lock();
        if entries.len() == MAX_NEWEST {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    pub(super) fn find<R>(&self, wanted: impl Fn(&T) -> Option<R>) -> Option<R> {
        self.0.lock().iter().rev().find_map(wanted)
    }
}

/// The progress tokens of requests that run as tasks, by the ID of the relayed request. A task reports progress after
/// the response to its request, too.
pub(super) type ProgressOfTasks = Newest<(RequestId, ProgressToken)>;

impl ProgressOfTasks {
    /// Returns the params of a progress notification with the original sender's token, if the request runs as a task.
    pub(super) fn relayed(&self, params: &Json) -> Option<Json> {
        let id: RequestId = params.get("progressToken")?.decode().ok()?;
        let token = self.find(|(known, token)| (*known == id).then(|| mcpgen_types::to_string(token)))?;
        let edited = params.read(|params| {
            let mut edit = Edit::of(params);
            edit.set("progressToken", &token);
            edit.done()
        });
        edited.ok()?.ok()?
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replaces_ids_where_they_are() {
        let related = json!({ "_meta": { RELATED_TASK: { "taskId": "1", "other": 2 } }, "content": [] });
        let structured = json!({ "structuredContent": { "taskId": "1" }, "taskId": "1", "tasks": [{ "taskId": "1" }] });
        for (place, message, expected) in [
            (
                Place::Task,
                json!({ "taskId": "1", "status": "working" }),
                json!({ "taskId": "a/1", "status": "working" }),
            ),
            (
                Place::Task,
                json!({ "tasks": [{ "taskId": "1" }, { "taskId": "2" }, {}, 3] }),
                json!({ "tasks": [{ "taskId": "a/1" }, { "taskId": "a/2" }, {}, 3] }),
            ),
            (Place::Created, json!({ "task": { "taskId": "1" } }), json!({ "task": { "taskId": "a/1" } })),
            (
                Place::Created,
                json!({ "resultType": "task", "taskId": "\"" }),
                json!({ "resultType": "task", "taskId": "a/\"" }),
            ),
            (Place::Created, structured.clone(), structured.clone()),
            (Place::Metadata, structured.clone(), structured),
            (Place::Metadata, json!({ "task": { "taskId": "1" } }), json!({ "task": { "taskId": "1" } })),
            (
                Place::Metadata,
                related.clone(),
                json!({ "_meta": { RELATED_TASK: { "taskId": "a/1", "other": 2 } }, "content": [] }),
            ),
            (Place::Task, json!({ "taskId": 5 }), json!({ "taskId": 5 })),
            (Place::Task, json!({ "taskId": "kept" }), json!({ "taskId": "kept" })),
        ] {
            let new = |id: &str| (id != "kept").then(|| with_server("a", id));
            let replaced = replace_ids(Json::from(&message), place, &new);
            assert_eq!(replaced.to_value(), expected, "{place:?} {message}");
        }
    }

    #[test]
    fn names_the_server() {
        let servers = ["a", "b"].map(str::to_owned);
        for (id, server, own) in
            [("b/1", Some(1), Some("1")), ("b/a/1", Some(1), Some("a/1")), ("c/1", None, None), ("b", None, None)]
        {
            assert_eq!((server_of_task(&servers, id), without_server("b", id)), (server, own), "{id}");
        }
        assert_eq!(without_server("b", "bb/1"), None);
        assert_eq!(without_server("b", &with_server("b", "x/y")), Some("x/y"));
    }

    #[test]
    fn remembers_a_limited_number() {
        let newest = Newest::default();
        (0..=MAX_NEWEST).for_each(|number| newest.add(number));
        let find = |wanted| newest.find(|known| (*known == wanted).then_some(()));
        assert!(find(0).is_none() && find(1).is_some() && find(MAX_NEWEST).is_some());
    }
}
