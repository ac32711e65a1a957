//! A server for notes in SQLite. `notes FILE` serves standard input and output, and `notes FILE ADDRESS` serves HTTP.

use std::sync::{Arc, Mutex};

use mcpgen_sdk::http::server::EndpointOptions;
use mcpgen_sdk::prelude::*;
use mcpgen_sdk::types::{CompleteRequestParams, Prompt, ResourceTemplate};
use rusqlite::{Connection, OptionalExtension, Row};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Adds a note.
#[derive(Deserialize, JsonSchema)]
struct AddNote {
    title: String,
    /// The text, in Markdown.
    text: String,
}

#[derive(Deserialize, JsonSchema, Serialize)]
struct Note {
    id: i64,
    title: String,
    text: String,
}

/// The argument of `delete_note`, and the variable of the resource template.
#[derive(Deserialize, JsonSchema)]
struct NoteId {
    id: i64,
}

/// The question of `delete_note`.
#[derive(Deserialize, JsonSchema)]
struct Confirm {
    /// Deleted notes cannot be restored.
    delete: bool,
}

#[derive(Deserialize, JsonSchema)]
struct Summarize {
    title: String,
}

/// The server's state.
#[derive(Clone)]
struct Notes(Arc<Mutex<Connection>>);

impl Notes {
    fn open(path: &str) -> rusqlite::Result<Self> {
        let db = Connection::open(path)?;
        db.execute_batch("CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, title TEXT, text TEXT)")?;
        Ok(Self(Arc::new(Mutex::new(db))))
    }

    /// Runs a query on a thread where it may block.
    async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, BoxError> {
        let db = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || Ok(query(&*db.lock().map_err(|_| "a query has panicked")?)?)).await?
    }

    async fn text(&self, id: i64) -> Result<Option<String>, BoxError> {
        let select = "SELECT text FROM note WHERE id = ?1";
        self.query(move |db| db.query_row(select, [id], |row| row.get(0)).optional()).await
    }

    async fn add(self, context: RequestContext, Args(note): Args<AddNote>) -> ToolResult<Structured<Note>> {
        let insert = "INSERT INTO note (title, text) VALUES (?1, ?2) RETURNING *";
        let note = self.query(move |db| db.query_row(insert, [note.title, note.text], read_row)).await?;
        context.server().changed(&Change::Resource(format!("note:///{}", note.id)));
        Ok(Structured(note))
    }

    async fn delete(self, context: RequestContext, Args(NoteId { id }): Args<NoteId>) -> ToolResult<String> {
        let text = self.text(id).await?.ok_or("there is no such note")?;
        let Some(Confirm { delete: true }) = context.elicit_as("confirm", format!("Delete {text:?}?")).await? else {
            return Ok("The user wants to keep the note.".to_owned());
        };
        self.query(move |db| db.execute("DELETE FROM note WHERE id = ?1", [id])).await?;
        context.server().changed(&Change::Resource(format!("note:///{id}")));
        Ok(format!("deleted note {id}"))
    }

    /// If the client cancels the call, this function is dropped at an `await`.
    async fn export(self, context: RequestContext) -> ToolResult<String> {
        let total: i64 = self.query(|db| db.query_row("SELECT count(*) FROM note", [], |row| row.get(0))).await?;
        let (select, mut lines, mut last) = ("SELECT * FROM note WHERE id > ?1 ORDER BY id LIMIT 100", Vec::new(), 0);
        loop {
            let page = move |db: &Connection| db.prepare_cached(select)?.query_map([last], read_row)?.collect();
            let page: Vec<Note> = self.query(page).await?;
            let Some(note) = page.last() else { return Ok(lines.join("\n")) };
            last = note.id;
            lines.extend(page.iter().map(|note| serde_json::json!(note).to_string()));
            context.progress(lines.len() as f64, Some(total as f64), None).await;
        }
    }

    /// `None`, for an unknown note, becomes the error "resource not found".
    async fn read(self, Args(NoteId { id }): Args<NoteId>) -> Result<Option<String>, BoxError> {
        self.text(id).await
    }

    async fn summarize(self, Args(Summarize { title }): Args<Summarize>) -> Result<String, BoxError> {
        let select = "SELECT text FROM note WHERE title = ?1 ORDER BY id DESC";
        let text = self.query(move |db| db.query_row(select, [title], |row| row.get(0)).optional()).await?;
        let text: String = text.ok_or_else(|| ErrorObject::new(ErrorCode::INVALID_PARAMS, "no note has this title"))?;
        Ok(format!("Summarize this note in one sentence:\n\n{text}"))
    }

    async fn complete_title(self, params: CompleteRequestParams) -> Result<Vec<String>, BoxError> {
        let select = "SELECT DISTINCT title FROM note WHERE substr(title, 1, length(?1)) = ?1 ORDER BY title";
        self.query(move |db| db.prepare(select)?.query_map([params.argument.value], |row| row.get(0))?.collect()).await
    }
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<Note> {
    Ok(Note { id: row.get(0)?, title: row.get(1)?, text: row.get(2)? })
}

fn server(notes: Notes) -> Server {
    let (delete, export) = (ToolInfo::new("delete_note"), ToolInfo::new("export_notes"));
    Server::builder("notes", "1.0.0")
        .state(notes)
        .tool("add_note", Notes::add)
        .tool(delete.description("Deletes a note, after asking the user."), Notes::delete)
        .tool(export.description("Returns all notes, as lines of JSON."), Notes::export)
        .resource_template(ResourceTemplate::new("note:///{id}", "note"), Notes::read)
        .prompt(Prompt::new("summarize").with_description("Summarizes a note."), Notes::summarize)
        .prompt_completion("summarize", "title", Notes::complete_title)
        .build()
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let server = server(Notes::open(&arguments.next().ok_or("usage: notes FILE [ADDRESS]")?)?);
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or(()) };
    let Some(address) = arguments.next() else { return Ok(server.serve_stdio_until(stop).await?) };
    let endpoint = server.http(EndpointOptions::default())?;
    let app = axum::Router::new().route_service("/mcp", endpoint.clone());
    let shutdown = async move {
        stop.await;
        endpoint.close().await; // completes the requests in flight
    };
    let listener = tokio::net::TcpListener::bind(address).await?;
    Ok(axum::serve(listener, app).with_graceful_shutdown(shutdown).await?)
}

#[tokio::test]
async fn serves_notes() -> Result<(), BoxError> {
    use mcpgen_sdk::types::{ElicitResult, ElicitResultAction, PromptReference, SubscriptionFilter};
    use serde_json::json;
    let notes = Notes::open(":memory:")?;
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
        INSERT INTO note SELECT i, 'Note ' || i, 'Buy bread.' FROM n";
    notes.0.lock().expect("no query has panicked").execute_batch(fill)?;
    let client = Client::builder("test", "1.0.0").on_elicitation(|_, _| async {
        Ok(ElicitResult::new(ElicitResultAction::Accept).with_content([("delete".to_owned(), true.into())]))
    });
    let client = server(notes).in_process(client).await?;
    let filter = SubscriptionFilter::new().with_resource_subscriptions(["note:///".to_owned()]);
    let mut changes = client.changes(filter).await?;
    let shopping = json!({ "title": "Shopping", "text": "Buy milk." });
    client.tool("add_note").arguments(shopping).structured::<Note>().await?;
    assert_eq!(changes.try_next().await?, Some(Change::Resource("note:///10001".to_owned())));
    let titles = client.complete_argument(PromptReference::new("summarize"), "title", "Sh").await?.values;
    assert_eq!(titles.get(), &["Shopping"]);
    assert_eq!(client.prompt("summarize", [("title".into(), "Shopping".into())].into()).await?.messages.len(), 1);
    // Cancels the export after the first progress report.
    let (reports, mut received) = tokio::sync::mpsc::unbounded_channel();
    let export = client.tool("export_notes").on_progress(move |report| reports.send(report).unwrap_or(()));
    tokio::select! { _ = export.text() => unreachable!("it takes 100 steps"), _ = received.recv() => {} }
    assert_eq!(client.tool("export_notes").text().await?.lines().count(), 10_001);
    assert_eq!(client.tool("delete_note").arguments(json!({ "id": 10_001 })).text().await?, "deleted note 10001");
    assert!(client.read_resource("note:///1").await.is_ok() && client.read_resource("note:///10001").await.is_err());
    Ok(())
}
