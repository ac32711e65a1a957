//! Tool calls with options, subscriptions to changes, and in-process connections, with the same code in every revision.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_sdk::connection::Limits;
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::server::{RequestContext, Structured, ToolInfo};
use mcpgen_sdk::{Client, ClientBuilder, Server, serve, transport};
use mcpgen_types::v2026_07_28::{CallToolResult, ImageContent, Resource, SubscriptionFilter, TextContent};
use mcpgen_types::{JsonObject, JsonRef, Revision};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Deserialize, PartialEq, Serialize, schemars::JsonSchema)]
struct Sum {
    total: i64,
}

fn server() -> Server {
    Server::builder("server", "1")
        .tool("echo", |arguments: JsonObject| async move { arguments.to_string() })
        .tool("slow", |context: RequestContext, arguments: JsonObject| async move {
            for step in 0..arguments.get("steps").and_then(JsonRef::as_u64).unwrap_or_default() {
                tokio::time::sleep(Duration::from_secs(50)).await;
                context.progress(step as f64 + 1.0, Some(10.0), None).await;
            }
            "done"
        })
        .tool("sum", |arguments: JsonObject| async move {
            arguments.get("a").and_then(JsonRef::as_i64).map(|a| Structured(Sum { total: a + 1 })).ok_or("no number")
        })
        .tool("text", || async { r#"{"total":3}"# })
        .tool("words", || async { "no JSON" })
        .tool("mixed", || async {
            let image = ImageContent::new("").mime_type("image/png").into();
            CallToolResult::new(vec![TextContent::new("first").into(), image, TextContent::new("last").into()])
        })
        .tool("grow", |context: RequestContext| async move { context.server().add_tool("grown", || async {}) })
        .resource(Resource::new("file:///a", "a"), || async { "a" })
        .build()
}

async fn connect(server: &Server, client: ClientBuilder, revision: Revision) -> Client {
    let client = client.revisions([revision]);
    let client = server.in_process(client).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
    assert_eq!(client.revision(), revision);
    client
}

fn builder() -> ClientBuilder {
    Client::builder("client", "1")
}

#[tokio::test(start_paused = true)]
async fn calls_have_progress_and_timeouts_in_every_revision() {
    for revision in Revision::ALL.iter().copied() {
        let client = connect(&server(), builder(), revision).await;
        let echoed = client.tool("echo").arguments(Sum { total: 5 }).await.expect("a result");
        assert_eq!(mcpgen_types::to_value(&echoed).expect("JSON")["content"][0]["text"], r#"{"total":5}"#);
        let wrong = client.tool("echo").arguments("text").await;
        assert!(matches!(&wrong, Err(CallError::Invalid(why)) if why.to_string().contains("JSON object")), "{wrong:?}");

        let steps = |steps: u32| client.tool("slow").arguments(json!({ "steps": steps }));
        let reports = Arc::new(Mutex::new(Vec::new()));
        let reader = Arc::clone(&reports);
        let report = move |progress: mcpgen_sdk::protocol::Progress| {
            reader.lock().expect("no panic").push(progress.progress);
        };
        // Each step takes 50 seconds, less than the idle timeout of 60.
        steps(3).on_progress(report).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert_eq!(*reports.lock().expect("no panic"), [1.0, 2.0, 3.0], "{revision}");

        for (called, expected) in [
            (steps(2).await, Some(60)),
            (steps(2).timeout(Duration::from_secs(101)).await, None),
            (steps(2).timeout(Duration::from_secs(99)).await, Some(99)),
            (steps(2).idle_timeout(None).await, None),
            (steps(2).idle_timeout(Duration::from_secs(49)).on_progress(|_| {}).await, Some(49)),
            (steps(9).timeout(Duration::from_secs(99)).on_progress(|_| {}).await, Some(99)),
        ] {
            match (&called, expected) {
                (Ok(_), None) => {}
                (Err(CallError::Timeout { request, limit }), Some(expected)) if limit.as_secs() == expected => {
                    assert!(request.starts_with("tools/call "), "{request}");
                }
                _ => panic!("{revision}: expected {expected:?}, found {called:?}"),
            }
        }
    }
}

#[tokio::test]
async fn structured_content_has_a_type() {
    for revision in Revision::ALL.iter().copied() {
        let client = connect(&server(), builder(), revision).await;
        let sum = client.tool("sum").arguments(json!({ "a": 2 })).structured::<Sum>().await;
        assert_eq!(sum.unwrap_or_else(|error| panic!("{revision}: {error}")), Sum { total: 3 });
        let text = client.tool("text").structured::<Sum>().await;
        assert_eq!(text.unwrap_or_else(|error| panic!("{revision}: {error}")), Sum { total: 3 });
        for (tool, expected) in [
            ("sum", "the tool sum failed: no number"),
            ("words", "words: the result has no structured content"),
            ("grow", "grow: the result has no structured content"),
        ] {
            let error = client.tool(tool).structured::<Sum>().await.expect_err("no structured content");
            assert_eq!(error.to_string(), expected, "{revision}");
        }
        let error = client.tool("sum").arguments(json!({ "a": 2 })).structured::<Vec<u8>>().await;
        assert!(matches!(error, Err(CallError::Invalid(_))), "{revision}: {error:?}");
    }
}

#[tokio::test]
async fn text_is_that_of_all_text_blocks() {
    for revision in Revision::ALL.iter().copied() {
        let client = connect(&server(), builder(), revision).await;
        for (tool, expected) in
            [("words", Ok("no JSON")), ("mixed", Ok("first\nlast")), ("sum", Err("the tool sum failed: no number"))]
        {
            let text = client.tool(tool).text().await.map_err(|error| error.to_string());
            assert_eq!(text.as_deref().map_err(String::as_str), expected, "{revision}");
            let result = client.tool(tool).successful().await;
            assert_eq!(result.map(drop).map_err(|error| error.to_string()), text.map(drop), "{revision}");
        }
    }
}

#[tokio::test]
async fn hears_of_changes_in_every_revision() {
    for revision in Revision::ALL.iter().copied() {
        let server = server();
        let client = connect(&server, builder(), revision).await;
        let filter = SubscriptionFilter::new()
            .with_tools_list_changed(true)
            .with_resource_subscriptions(["file:///a".to_owned()]);
        let mut changes = client.changes(filter.clone()).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
        let mut more = client.changes(filter).await.expect("another subscription");
        let mut next = async |expected: Change| {
            for changes in [&mut changes, &mut more] {
                let change = tokio::time::timeout(Duration::from_secs(10), changes.try_next()).await;
                assert_eq!(change.expect("in time").expect("no error"), Some(expected.clone()), "{revision}");
            }
        };
        client.tool("grow").await.expect("a result");
        next(Change::Tools).await;
        assert!(client.tools().await.expect("tools").iter().any(|tool| tool.name == "grown"), "{revision}");
        server.changed(&Change::Resource("file:///b".to_owned()));
        server.changed(&Change::Resource("file:///a".to_owned()));
        next(Change::Resource("file:///a".to_owned())).await;
        drop(more);
        client.ping().await.expect("a response");
        server.changed(&Change::Resource("file:///a".to_owned()));
        let change = tokio::time::timeout(Duration::from_secs(10), changes.try_next()).await.expect("in time");
        assert_eq!(change.expect("no error"), Some(Change::Resource("file:///a".to_owned())), "{revision}");
        client.peer().disconnect();
        let end = tokio::time::timeout(Duration::from_secs(10), changes.try_next()).await.expect("in time");
        assert!(matches!(end, Ok(None)), "{revision}: {end:?}");
    }
}

/// A tool that adds tools must not keep its server alive.
#[tokio::test]
async fn a_server_is_dropped_with_its_last_handle() {
    let token = Arc::new(());
    let held = Arc::clone(&token);
    let server = Server::builder("server", "1")
        .tool("grow", move |context: RequestContext| {
            let _held = Arc::clone(&held);
            async move { context.server().add_tool("grown", || async {}) }
        })
        .build();
    let client = connect(&server, builder(), Revision::V2026_07_28).await;
    client.tool("grow").await.expect("a result");
    drop(server);
    client.close().await.expect("no error");
    for _ in 0..1000 {
        if Arc::strong_count(&token) == 1 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("the server is still alive");
}

#[tokio::test]
async fn invalid_servers_do_not_start_in_process() {
    let server = Server::builder("server", "1").tool("not a name", || async {}).build();
    let error = server.in_process(builder()).await.expect_err("an invalid name");
    let shown = error.to_string();
    assert!(shown.starts_with("tool \"not a name\": a name must have"), "{shown}");
}

/// A handler that blocks its thread must not delay other requests if handlers run in tasks.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn spawned_handlers_do_not_delay_other_requests() {
    let (release, blocked) = std::sync::mpsc::channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let server = Server::builder("server", "1")
        .limits(Limits::default().with_spawn_handlers(true))
        .tool("block", move || {
            let blocked = Arc::clone(&blocked);
            async move {
                let _ = blocked.lock().expect("no panic").recv_timeout(Duration::from_secs(20));
            }
        })
        .tool("quick", || async { "quick" })
        .build();
    let client = connect(&server, builder(), Revision::V2026_07_28).await;
    let blocking = client.clone();
    let blocking = tokio::spawn(async move { blocking.tool("block").await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    client.tool("quick").timeout(Duration::from_secs(10)).await.expect("a result while the other handler blocks");
    release.send(()).expect("a waiting handler");
    blocking.await.expect("no panic").expect("a result");
}

#[tokio::test]
async fn servers_stop_on_request() {
    let server = server();
    let (theirs, ours) = transport::duplex();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = tokio::spawn(mcpgen_sdk::server::serve_until(server, ours, async { drop(stopped.await) }));
    let client = builder().connect(theirs.0, theirs.1).await.expect("a connection");
    let slow = client.clone();
    let slow = tokio::spawn(async move { slow.tool("slow").arguments(json!({ "steps": 0 })).await });
    slow.await.expect("no panic").expect("a result");
    stop.send(()).expect("a server");
    let served = tokio::time::timeout(Duration::from_secs(10), serving).await.expect("in time");
    served.expect("no panic").expect("no error");
    client.closed().await;
}

#[tokio::test]
async fn schemas_by_hand() {
    let schema = |info: ToolInfo| async move {
        let server = Server::builder("server", "1").tool(info, |_: JsonObject| async {}).build();
        let client = server.in_process(builder()).await.map_err(|error| error.to_string())?;
        let tools = client.tools().await.map_err(|error| error.to_string())?;
        Ok::<_, String>(mcpgen_types::to_value(&tools[0].input_schema).expect("JSON"))
    };
    let text = || json!({ "type": "string" });
    let expected = json!({ "type": "object", "properties": { "a": text(), "b": text() }, "required": ["a"] });
    let by_hand = ToolInfo::new("t").required_property("a", text()).property("b", text());
    assert_eq!(schema(by_hand).await, Ok(expected.clone()));
    assert_eq!(schema(ToolInfo::new("t").input_schema(expected.clone())).await, Ok(expected));
    // Some clients and models need `properties`.
    assert_eq!(schema(ToolInfo::new("t")).await, Ok(json!({ "type": "object", "properties": {} })));
    let untyped = ToolInfo::new("t").input_schema(json!({ "properties": {} }));
    assert_eq!(schema(untyped).await, Ok(json!({ "type": "object", "properties": {} })));
    for (invalid, why) in [
        (ToolInfo::new("t").input_schema(json!({ "type": "array" })), "type: expected constant \"object\""),
        (ToolInfo::new("t").input_schema(json!([])), "expected object"),
        (ToolInfo::new("t").input_schema(json!({ "properties": 1 })).property("a", text()), "properties"),
    ] {
        let error = schema(invalid).await.expect_err("an invalid schema");
        assert!(error.contains("tool \"t\": inputSchema is invalid") && error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn failed_connections_have_a_reason() {
    let server = Server::builder("server", "1").tool("hang", std::future::pending::<()>).build();
    let (theirs, ours) = transport::duplex();
    tokio::spawn(async move { serve(server, ours).await });
    let (fail, failed) = tokio::sync::oneshot::channel::<()>();
    let broken = futures_util::stream::once(async move {
        let _ = failed.await;
        Err(transport::ReceiveError::Io(std::io::Error::other("the server `x` exited with status 1")))
    });
    let incoming = futures_util::stream::select(theirs.0, broken);
    let client = builder().connect(incoming, theirs.1).await.expect("a connection");
    let call = async {
        let called = client.tool("hang").await;
        let error = called.expect_err("a failed connection").to_string();
        assert_eq!(error, "the connection failed: the server `x` exited with status 1");
    };
    tokio::join!(call, async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        fail.send(()).expect("a client");
    });
    let later = client.tool("hang").await.expect_err("a failed connection").to_string();
    assert_eq!(later, "the connection failed: the server `x` exited with status 1");
}

#[test]
fn routers_that_no_client_can_reach_do_not_start() {
    use mcpgen_sdk::server::{IntoConnection, ServeError};
    use mcpgen_sdk::{LocalInfo, Router};
    use mcpgen_types::v2025_11_25::{ListToolsRequest, ListToolsResult};

    let router = || {
        Router::new()
            .request::<ListToolsRequest>(|_, _| async { Ok::<_, mcpgen_types::ErrorObject>(ListToolsResult::new([])) })
    };
    let info = |modern: bool| LocalInfo::new("server", "1").retain_revisions(|it| modern || it.is_legacy());
    assert!((info(true), router()).into_connection().is_ok());
    assert!((info(false), router()).into_connection().is_ok());
    let unreachable = LocalInfo::new("server", "1").retain_revisions(|it| !it.is_legacy());
    let error = (unreachable, router()).into_connection().err();
    assert!(matches!(&error, Some(ServeError::NoRevision(names)) if names == "2025-11-25"), "{error:?}");
}
