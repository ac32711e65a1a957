//! Runs the Language Server Protocol (LSP) on the runtime: a client and a server whose types come from its metaModel.
//! The peers are published servers and a published client library.
#![cfg(published)]

mod peers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_protocols::lsp::{
    DidChangeTextDocumentParams, ExitNotification, HoverParams, InitializeRequest, InitializedNotification,
    ProgressNotification, PublishDiagnosticsParams, ShutdownRequest, TextDocumentCompletionRequest,
    TextDocumentDidChangeNotification, TextDocumentDidOpenNotification, TextDocumentHoverRequest,
    TextDocumentPublishDiagnosticsNotification, WorkspaceConfigurationRequest,
};
use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::jsonrpc::errors;
use mcpgen_runtime::peer::{CallError, Peer};
use mcpgen_runtime::protocol::{Admission, Cancellation, Effect, Notice, Protocol, Received, Rules, Sending};
use mcpgen_runtime::router::AnyRequest;
use mcpgen_runtime::transport::content_length;
use mcpgen_runtime::{Context, Router};
use mcpgen_types::codec::Decode;
use mcpgen_types::{ErrorCode, ErrorObject, Json, Request, RequestId, Version};
use serde_json::{Value, json};
use tokio::sync::watch;

/// In LSP, both clients and servers can cancel a request. The peer then responds to it. Progress notifications have a
/// token.
struct Lsp;

const VERSION: Version = InitializeRequest::VERSION;

impl Protocol for Lsp {
    type Scope = ();

    fn rules(&self) -> Rules {
        Rules {
            null_params: true,
            cancelled: Some(ErrorObject::new(ErrorCode(-32800), "the request was cancelled")),
            ..Rules::default()
        }
    }

    fn admit(&self, _: &Received<'_>) -> Result<Admission<()>, ErrorObject> {
        Ok(Admission::Handle(VERSION, ()))
    }

    fn classify(&self, notification: &Received<'_>) -> Option<Notice<()>> {
        let id = |name: &str| notification.param(name).and_then(|id| id.decode().ok());
        let effect = match notification.method {
            "$/cancelRequest" => id("id").map(Effect::Cancel),
            "$/progress" => id("token").zip(notification.param("value")).map(|(id, value)| Effect::Progress(id, value)),
            _ => None,
        };
        Some(Notice::new(VERSION, ()).with_effect(effect.unwrap_or(Effect::None)))
    }

    fn before_send(&self, message: &mut Sending<'_>) -> Result<(), CallError> {
        match message.id.filter(|_| message.wants_progress).cloned() {
            Some(id) => message.set_param("workDoneToken", &id),
            None => Ok(()),
        }
    }

    fn cancellation(&self, id: &RequestId, _: Option<&Context>) -> Option<Cancellation> {
        let id = mcpgen_types::to_value(id).ok()?;
        Some(Cancellation::new("$/cancelRequest", &Json::from(&json!({ "id": id }))))
    }
}

fn run(router: Router, input: tokio::process::ChildStdin, output: tokio::process::ChildStdout) -> Peer {
    // A request must see all earlier edits, however long they take.
    let limits = Limits::default().with_notification_wait(None);
    let connection = Connection::new(router, Lsp).limits(limits);
    let peer = connection.peer().clone();
    tokio::spawn(connection.run(content_length::receive(output, 16 << 20), content_length::send(input)));
    peer
}

fn typed<T: Decode>(json: Value) -> T {
    mcpgen_types::from_value(json).expect("a valid value")
}

fn json<T: mcpgen_types::codec::Encode>(value: &T) -> Value {
    serde_json::from_str(&mcpgen_types::to_string(value)).expect("JSON")
}

/// What a published server must find in a file, and what it must complete.
struct Case {
    server: &'static [&'static str],
    language: &'static str,
    file: &'static str,
    text: &'static str,
    /// The line and column of the completion.
    position: [u32; 2],
    completion: &'static str,
    diagnostic: &'static str,
}

const SERVERS: [Case; 2] = [
    Case {
        server: &["node_modules/typescript-language-server/lib/cli.mjs", "--stdio"],
        language: "typescript",
        file: "a.ts",
        text: "const count: number = \"äöü\";\ncount.\n",
        position: [1, 6],
        completion: "toFixed",
        diagnostic: "Type 'string' is not assignable to type 'number'.",
    },
    Case {
        server: &["node_modules/pyright/langserver.index.js", "--stdio"],
        language: "python",
        file: "a.py",
        text: "count: int = \"äöü\"\ncount.\n",
        position: [1, 6],
        completion: "bit_length",
        diagnostic: "is not assignable to declared type \"int\"",
    },
];

/// Returns a client that collects diagnostics and answers the requests of servers.
fn client() -> (Router, watch::Receiver<Vec<PublishDiagnosticsParams>>) {
    let (published, diagnostics) = watch::channel(Vec::new());
    let router = Router::new()
        .notification::<TextDocumentPublishDiagnosticsNotification>(move |_, params| {
            published.send_modify(|known: &mut Vec<PublishDiagnosticsParams>| known.push(params));
            async {}
        })
        .request::<WorkspaceConfigurationRequest>(|_, params| async move {
            Ok::<_, ErrorObject>(typed(json!(vec![json!({}); params.items.len()])))
        })
        // Answers registrations, progress bars and messages to users.
        .fallback(|_: AnyRequest| async { Ok(Json::from(&Value::Null)) });
    (router, diagnostics)
}

async fn check(case: &Case) {
    let Some((program, arguments)) = case.server.split_first() else { return };
    let Some(server) = peers::node(program, arguments) else { return };
    let (router, mut diagnostics) = client();
    let peer = run(router, server.input, server.output);
    let root = format!("file://{}", server.folder.display());
    let capabilities = json!({ "textDocument": { "publishDiagnostics": {} }, "workspace": { "configuration": true } });
    let params = json!({ "processId": std::process::id(), "rootUri": root, "capabilities": capabilities });
    let initialized = peer.request::<InitializeRequest>(typed(params)).await.expect("a result");
    assert!(json(&initialized)["capabilities"].is_object());
    peer.notify::<InitializedNotification>(typed(json!({}))).await.expect("sent");
    let document = json!({
        "uri": format!("{root}/{}", case.file),
        "languageId": case.language,
        "version": 1,
        "text": case.text
    });
    peer.notify::<TextDocumentDidOpenNotification>(typed(json!({ "textDocument": document }))).await.expect("sent");
    let found = |known: &Vec<PublishDiagnosticsParams>| {
        known.iter().flat_map(|published| &published.diagnostics).any(|it| it.message.contains(case.diagnostic))
    };
    let found = tokio::time::timeout(Duration::from_secs(120), diagnostics.wait_for(found)).await;
    assert!(found.expect("diagnostics in time").is_ok(), "the server has ended");
    let [line, character] = case.position;
    let at =
        json!({ "textDocument": { "uri": document["uri"] }, "position": { "line": line, "character": character } });
    // Dropping a call cancels it, and the server keeps working.
    drop(peer.request::<TextDocumentCompletionRequest>(typed(at.clone())).send());
    let completed = peer.request::<TextDocumentCompletionRequest>(typed(at)).await.expect("a result");
    let items = json(&completed);
    let items = items["items"].as_array().or(items.as_array()).expect("items");
    assert!(items.iter().any(|item| item["label"] == case.completion), "{} items", items.len());
    peer.request::<ShutdownRequest>(None).await.expect("a result");
    peer.notify::<ExitNotification>(None).await.expect("sent");
    let ended = tokio::time::timeout(Duration::from_secs(30), server.reports.exited());
    assert!(ended.await.expect("an end in time"), "the server fails");
}

#[tokio::test]
async fn our_client_drives_published_servers() {
    for case in &SERVERS {
        check(case).await;
    }
}

type Documents = Arc<Mutex<HashMap<String, String>>>;

/// Returns a server that marks each `TODO` and completes the text of the document.
fn server(documents: &Documents) -> Router {
    let [opened, changed, completed] = [(); 3].map(|()| Arc::clone(documents));
    Router::new()
        .request::<InitializeRequest>(|_, _| async {
            Ok::<_, ErrorObject>(typed(json!({ "capabilities": { "textDocumentSync": 1, "completionProvider": {} } })))
        })
        .notification::<InitializedNotification>(|_, _| async {})
        .notification::<TextDocumentDidOpenNotification>(move |context: Context, params| {
            let (uri, text) = (params.text_document.uri, params.text_document.text);
            let todo = |(line, text): (usize, &str)| {
                let start = text.find("TODO")?;
                let range = json!({
                    "start": { "line": line, "character": start },
                    "end": { "line": line, "character": start + 4 }
                });
                Some(json!({ "range": range, "message": "to do" }))
            };
            let diagnostics: Vec<Value> = text.lines().enumerate().filter_map(todo).collect();
            opened.lock().expect("no panic").insert(uri.clone(), text);
            async move {
                let found = typed(json!({ "uri": uri, "diagnostics": diagnostics }));
                context.peer().notify::<TextDocumentPublishDiagnosticsNotification>(found).await.expect("sent");
            }
        })
        .notification::<TextDocumentDidChangeNotification>(move |_, params: DidChangeTextDocumentParams| {
            let changed = Arc::clone(&changed);
            async move {
                // An edit that takes a while.
                tokio::time::sleep(Duration::from_millis(5)).await;
                let text = json(&params.content_changes)[0]["text"].as_str().expect("a text").to_owned();
                changed.lock().expect("no panic").insert(params.text_document.uri.clone(), text);
            }
        })
        .request::<TextDocumentCompletionRequest>(move |_, params| {
            let text = completed.lock().expect("no panic").get(&params.text_document.uri).cloned();
            async move {
                let text = text.ok_or_else(|| errors::invalid_params_in_words("the document is not open"))?;
                Ok::<_, ErrorObject>(typed(json!([{ "label": text }])))
            }
        })
        .request::<TextDocumentHoverRequest>(|context: Context, params: HoverParams| async move {
            if params.position.line == 99 {
                std::future::pending::<()>().await;
            }
            let peer = context.peer();
            let items = json!({ "items": [{ "section": "a" }, { "section": "b" }] });
            let configured = peer.request::<WorkspaceConfigurationRequest>(typed(items)).await;
            let configured = configured.map_err(|error| errors::invalid_request(&error.to_string()))?;
            if let Some(token) = params.work_done_token {
                for value in [json!({ "kind": "begin", "title": "hover" }), json!({ "kind": "end" })] {
                    let progress = json!({ "token": json(&token), "value": value });
                    peer.notify::<ProgressNotification>(typed(progress)).await.expect("sent");
                }
            }
            Ok::<_, ErrorObject>(typed(json!({ "contents": json(&configured).to_string() })))
        })
        .request::<ShutdownRequest>(|_, _| async { Ok::<(), ErrorObject>(()) })
}

#[tokio::test]
async fn a_published_client_drives_our_server() {
    let Some(mut client) = peers::node("lsp-client.mjs", &[]) else { return };
    run(server(&Documents::default()), client.input, client.output);
    let range =
        |line: u32| json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 4 } });
    let todo = |line: u32| json!({ "range": range(line), "message": "to do" });
    let words: Vec<Value> = (2..12).map(|version| json!([format!("word{version}")])).collect();
    let expected = [
        json!({ "step": "initialize", "value": { "textDocumentSync": 1, "completionProvider": {} } }),
        json!({ "step": "diagnostics", "value": [todo(0), todo(1)] }),
        json!({ "step": "completions", "value": words }),
        json!({ "step": "hover", "value": { "contents": r#"["a","b"]"# } }),
        json!({ "step": "progress", "value": ["begin", "end"] }),
        json!({ "step": "cancelled", "value": -32800 }),
        json!({ "step": "unknown method", "value": -32601 }),
        json!({ "step": "shutdown", "value": null }),
    ];
    for expected in expected {
        assert_eq!(client.reports.next().await, expected);
    }
    assert!(client.reports.exited().await);
}
