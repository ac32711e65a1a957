//! Bridges between clients and servers of all revisions.

#![allow(deprecated, reason = "the newest revision deprecates what the bridge relays")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_bridge::Bridge;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::{ContextExt, Level, PeerExt, Progress};
use mcpgen_sdk::server::{RequestContext, ToolError};
use mcpgen_sdk::{CallError, Client, ClientBuilder, Server, serve, transport};
use mcpgen_types::v2026_07_28::{
    AudioContent, CallToolResult, ContentBlock, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestFormParams, ElicitRequestFormParamsRequestedSchema, ElicitResult, ElicitResultAction, Prompt,
    Resource, Role, SamplingMessage, SubscriptionFilter, TextContent, Tool, ToolInputSchema,
};
use mcpgen_types::{JsonObject, JsonRef, Revision};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(30);

/// A client and a server that a bridge connects.
struct Bridged {
    client: Client,
    server: Server,
    bridge: JoinHandle<()>,
}

fn tool(name: &str) -> Tool {
    Tool::new(name, ToolInputSchema::new()).with_title(name)
}

fn server() -> Server {
    Server::builder("behind", "1")
        .logging()
        .instructions("Greet.")
        .tool(tool("greet"), |context: RequestContext, arguments: JsonObject| async move {
            context.log(Level::Info, None, "greeting").await;
            format!("hello, {}", arguments.get("name").and_then(JsonRef::as_str).unwrap_or_default())
        })
        .tool(tool("count"), |context: RequestContext| async move {
            context.progress(1.0, Some(2.0), Some("half")).await;
            context.progress(2.0, Some(2.0), None).await;
            "counted"
        })
        .tool(tool("sound"), || async {
            CallToolResult::new([ContentBlock::from(AudioContent::new("").mime_type("audio/wav"))])
        })
        .tool(tool("wait"), |context: RequestContext| async move {
            context.progress(1.0, None, None).await;
            std::future::pending::<()>().await;
            "never"
        })
        .tool(tool("sample"), |context: RequestContext| async move {
            let message = SamplingMessage::new(Role::User, TextContent::new("hello"));
            let sampled = context.sample("model", CreateMessageRequestParams::new([message], 10)).await?;
            let roots = context.roots("roots").await?;
            Ok::<_, ToolError>(format!("{} with {} roots", sampled.model, roots.roots.len()))
        })
        .tool(tool("elicit"), |context: RequestContext| async move {
            let form = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            let form = ElicitRequestFormParams::new(
                "name?",
                mcpgen_types::from_value::<ElicitRequestFormParamsRequestedSchema>(form)?,
            );
            let answer = context.elicit("name", form).await?;
            Ok::<_, ToolError>(format!("{:?}", answer.action))
        })
        .resource(Resource::new("file:///note", "note"), || async { "a note" })
        .prompt(Prompt::new("ask"), || async { "ask me" })
        .completion(|| async { vec!["one".to_owned()] })
        .build()
}

fn client(revision: Revision) -> ClientBuilder {
    Client::builder("in front", "1")
        .revisions([revision])
        .on_sampling(|_, params| async move {
            assert_eq!(params.messages.len(), 1);
            Ok(CreateMessageResult::new(Role::Assistant, TextContent::new("hello"), "model"))
        })
        .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Accept)) })
        .roots([])
}

impl Bridged {
    async fn new(client: ClientBuilder, behind: Revision) -> Self {
        Self::with(client, server(), behind).await
    }

    async fn with(client: ClientBuilder, server: Server, behind: Revision) -> Self {
        let (server_side, to_server) = transport::duplex();
        let mut config = server.config().expect("valid definitions");
        config.local_info.revisions = vec![behind];
        tokio::spawn(serve((config, server.router()), server_side));
        let (client_side, to_client) = transport::duplex();
        let bridge = tokio::spawn(async move {
            let run = Bridge::new().run(to_client, |builder| builder.connect(to_server.0, to_server.1));
            run.await.expect("a connection");
        });
        let client = timeout(DEADLINE, client.connect(client_side.0, client_side.1)).await;
        Self { client: client.expect("in time").expect("a connection"), server, bridge }
    }

    async fn call(&self, tool: &str) -> Result<CallToolResult, CallError> {
        let arguments = JsonObject::from_iter([("name".to_owned(), "Ann".into())]);
        timeout(DEADLINE, self.client.call_tool(tool, arguments)).await.expect("in time")
    }

    async fn text(&self, tool: &str) -> String {
        let result = self.call(tool).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
        match &result.content[..] {
            [ContentBlock::TextContent(text)] => text.text.clone(),
            content => panic!("{tool}: {content:?}"),
        }
    }
}

/// Calls `check` for each pair of revisions.
async fn for_all_pairs<F: Future<Output = ()>>(check: impl Fn(Revision, Revision) -> F) {
    for &front in Revision::ALL {
        for &behind in Revision::ALL {
            eprintln!("a client of {front} and a server of {behind}");
            check(front, behind).await;
        }
    }
}

#[tokio::test]
async fn relays_calls_between_all_revisions() {
    for_all_pairs(|front, behind| async move {
        let bridged = Bridged::new(client(front), behind).await;
        let info = bridged.client.peer().peer_info().expect("a checked server");
        assert_eq!(info.implementation.get("name").expect("a name"), "behind");
        assert_eq!(info.revision, front);
        assert_eq!(info.instructions.as_deref(), Some("Greet."));
        assert_eq!(bridged.text("greet").await, "hello, Ann");
        let tools = bridged.client.tools().await.expect("tools");
        assert_eq!(tools.len(), 6);
        let keeps_title = front >= Revision::V2025_06_18 && behind >= Revision::V2025_06_18;
        assert_eq!(tools[0].title.is_some(), keeps_title);
        let note = bridged.client.read_resource("file:///note").await.expect("a resource");
        assert_eq!(note.contents.len(), 1);
        let unknown = bridged.client.read_resource("file:///nothing").await.expect_err("an unknown resource");
        let code = if front.has_resource_not_found_code() { -32002 } else { -32602 };
        assert!(matches!(unknown, CallError::ErrorResponse(error) if error.code.0 == code));
        let prompt = bridged.client.prompt("ask", [].into()).await.expect("a prompt");
        assert_eq!(prompt.messages.len(), 1);
        let reference = mcpgen_types::v2026_07_28::PromptReference::new("ask");
        let completed = bridged.client.complete_argument(reference, "a", "").await.expect("completions");
        assert_eq!(completed.total, Some(1));
    })
    .await;
}

#[tokio::test]
async fn converts_requests_of_the_server_for_all_revisions() {
    for_all_pairs(|front, behind| async move {
        let bridged = Bridged::new(client(front), behind).await;
        assert_eq!(bridged.text("sample").await, "model with 0 roots");
        let elicited = bridged.call("elicit").await;
        let can_elicit = |revision: Revision| revision.method("elicitation/create").is_some();
        if can_elicit(front) && can_elicit(behind) {
            assert_eq!(bridged.text("elicit").await, "Accept");
        } else {
            // A modern server responds with an error, because the client has not declared the capability.
            let failed = match &elicited {
                Ok(result) => result.is_error == Some(true),
                Err(error) => matches!(error, CallError::ErrorResponse(_)),
            };
            assert!(failed, "{elicited:?}");
        }
        // Two calls wait for input at the same time.
        let (first, second) = tokio::join!(bridged.text("sample"), bridged.text("sample"));
        assert_eq!(first, second);
    })
    .await;
}

#[tokio::test]
async fn names_what_a_revision_cannot_express() {
    let bridged = Bridged::new(client(Revision::V2024_11_05), Revision::LATEST).await;
    let error = bridged.call("sound").await.expect_err("content that the client does not know");
    let error = error.to_string();
    assert!(error.contains("/content/0") && error.contains("2024-11-05"), "{error}");
    assert_eq!(bridged.text("greet").await, "hello, Ann");
}

#[tokio::test]
async fn relays_progress_and_cancellation() {
    for_all_pairs(|front, behind| async move {
        let bridged = Bridged::new(client(front), behind).await;
        let reports = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&reports);
        let params = mcpgen_types::Json::from(&json!({ "name": "count", "arguments": {} }));
        let request = bridged.client.peer().raw_request("tools/call", Some(params));
        let call = request.on_progress(move |report: Progress| seen.lock().expect("no panic").push(report.progress));
        timeout(DEADLINE, call.send()).await.expect("in time").expect("a result");
        assert_eq!(*reports.lock().expect("no panic"), [1.0, 2.0]);
        let (begun, mut has_begun) = tokio::sync::mpsc::channel(1);
        let params = mcpgen_types::Json::from(&json!({ "name": "wait", "arguments": {} }));
        let request = bridged.client.peer().raw_request("tools/call", Some(params));
        let call = request
            .on_progress(move |_: Progress| {
                let _ = begun.try_send(());
            })
            .send();
        let call = tokio::spawn(call);
        timeout(DEADLINE, has_begun.recv()).await.expect("in time").expect("a report");
        call.abort();
        assert_eq!(bridged.text("greet").await, "hello, Ann");
    })
    .await;
}

#[tokio::test]
async fn relays_changes_and_log_messages() {
    for_all_pairs(|front, behind| async move {
        let (sender, mut received) = tokio::sync::mpsc::unbounded_channel();
        let changes = sender.clone();
        let client = client(front)
            .on_log(Level::Debug, move |params| {
                let _ = sender.send(format!("{:?}", params.data));
                async {}
            })
            .handlers(move |router| {
                ["tools/list_changed", "resources/updated"].into_iter().fold(router, |router, name| {
                    let changes = changes.clone();
                    router.custom_notification(format!("notifications/{name}"), move |_, _: Value| {
                        let _ = changes.send(name.to_owned());
                        async {}
                    })
                })
            });
        let bridged = Bridged::new(client, behind).await;
        let mut next = async || timeout(DEADLINE, received.recv()).await.expect("in time").expect("a message");
        assert_eq!(bridged.text("greet").await, "hello, Ann");
        assert!(next().await.contains("greeting"));
        if front.is_legacy() {
            let filter = SubscriptionFilter::new().with_resource_subscriptions(["file:///note".to_owned()]);
            let _subscribed = bridged.client.changes(filter).await.expect("a subscription");
            bridged.server.changed(&Change::Tools);
            bridged.server.changed(&Change::Resource("file:///note".to_owned()));
            let mut both = [next().await, next().await];
            both.sort();
            assert_eq!(both, ["resources/updated", "tools/list_changed"]);
        } else {
            let filter = SubscriptionFilter::new()
                .with_tools_list_changed(true)
                .with_resource_subscriptions(["file:///note".to_owned()]);
            let mut subscription = bridged.client.changes(filter).await.expect("a subscription");
            bridged.server.changed(&Change::Tools);
            bridged.server.changed(&Change::Resource("file:///note".to_owned()));
            let mut both = Vec::new();
            for _ in 0..2 {
                let change = timeout(DEADLINE, subscription.try_next()).await.expect("in time");
                both.extend(change.expect("an open subscription"));
            }
            both.sort();
            assert_eq!(both, [Change::Tools, Change::Resource("file:///note".to_owned())]);
        }
    })
    .await;
}

/// The server sends each log message immediately before its response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_the_log_messages_of_a_call_before_its_response() {
    const CALLS: usize = 50;
    for_all_pairs(|front, behind| async move {
        let (sender, mut logged) = tokio::sync::mpsc::unbounded_channel();
        let client = client(front).on_log(Level::Info, move |message| {
            let _ = sender.send(message.data);
            async {}
        });
        let bridged = Bridged::new(client, behind).await;
        for _ in 0..CALLS {
            assert_eq!(bridged.text("greet").await, "hello, Ann");
        }
        for call in 0..CALLS {
            let message = timeout(Duration::from_secs(5), logged.recv()).await;
            assert!(message.is_ok(), "{front} -> {behind}: {call} of {CALLS}");
        }
    })
    .await;
}

#[tokio::test]
async fn ends_with_either_side() {
    let bridged = Bridged::new(client(Revision::LATEST), Revision::V2025_06_18).await;
    bridged.client.close().await.expect("an orderly end");
    timeout(DEADLINE, bridged.bridge).await.expect("in time").expect("no panic");
}

#[cfg(all(unix, feature = "stdio"))]
#[tokio::test]
async fn reports_a_server_that_crashes() {
    let discovered = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#;
    let script = format!(
        r#"read first; echo '{{"jsonrpc":"2.0","id":1,"result":{discovered}}}'; read second; echo 'disk full' >&2; exit 7"#
    );
    let (client_side, to_client) = transport::duplex();
    let bridge = tokio::spawn(Bridge::new().run(to_client, move |builder| {
        let mut command = tokio::process::Command::new("sh");
        command.args(["-c", &script]);
        builder.connect_command(command)
    }));
    let client = timeout(DEADLINE, client(Revision::V2025_11_25).connect(client_side.0, client_side.1)).await;
    let client = client.expect("in time").expect("a connection");
    let error = client.tool("any").await.expect_err("the server exits").to_string();
    assert!(error.contains("exited with status 7; its last output on stderr was: disk full"), "{error}");
    let error =
        timeout(DEADLINE, bridge).await.expect("in time").expect("no panic").expect_err("the server has failed");
    assert_eq!(error.to_string(), "the connection to the server failed");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.starts_with("the server `sh "), "{cause}");
}

#[cfg(all(unix, feature = "stdio"))]
#[tokio::test]
async fn tells_the_client_why_the_server_did_not_start() {
    for revision in [Revision::V2025_11_25, Revision::LATEST] {
        let (client_side, to_client) = transport::duplex();
        let bridge = tokio::spawn(Bridge::new().run(to_client, |builder| {
            let mut command = tokio::process::Command::new("sh");
            command.args(["-c", "echo 'disk full' >&2; exit 7"]);
            builder.connect_command(command)
        }));
        let connected = timeout(DEADLINE, client(revision).connect(client_side.0, client_side.1)).await;
        let error = connected.expect("in time").expect_err("there is no server").to_string();
        assert!(error.contains("cannot connect to the server") && error.contains("disk full"), "{revision}: {error}");
        assert!(timeout(DEADLINE, bridge).await.expect("in time").expect("no panic").is_err());
    }
}

/// The error response has the code that the client's revision defines.
#[tokio::test]
async fn relays_refused_subscriptions() {
    for_all_pairs(|front, behind| async move {
        if !front.is_legacy() {
            return;
        }
        let server = Server::builder("behind", "1").resource(Resource::new("file:///note", "note"), || async { "" });
        let server = server.change_filter(|_, _| false).build();
        let bridged = Bridged::with(client(front), server, behind).await;
        let params = mcpgen_types::Json::from(&json!({ "uri": "file:///note" }));
        let refused = bridged.client.peer().raw_request("resources/subscribe", Some(params)).await;
        let Err(CallError::ErrorResponse(error)) = refused else { panic!("{front} -> {behind}: {refused:?}") };
        assert!(mcpgen_sdk::protocol::errors::is_resource_not_found(&error), "{front} -> {behind}: {error}");
        assert_eq!(error.code.0, -32002, "{front} -> {behind}: {error}");
    })
    .await;
}
