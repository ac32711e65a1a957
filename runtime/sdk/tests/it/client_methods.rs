//! The methods of `Client`, in every revision.
#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcpgen_sdk::client::cache::Cache;
use mcpgen_sdk::peer::CallError;
use mcpgen_sdk::protocol::cache_hints::CacheHint;
use mcpgen_sdk::protocol::{ContextExt, Level};
use mcpgen_sdk::server::{RequestContext, ToolError};
use mcpgen_sdk::transport::{self, lines};
use mcpgen_sdk::{Client, ClientBuilder, Server, serve};
use mcpgen_types::v2026_07_28::{
    CompleteRequestParams, CreateMessageRequestParams, CreateMessageResult, ElicitRequestFormParams, ElicitResult,
    ElicitResultAction, ListPromptsRequest, ListToolsRequest, PaginatedRequestParams, Prompt, PromptArgument,
    PromptReference, ReadResourceRequest, ReadResourceRequestParams, Resource, ResourceTemplate, Role, Root,
    SamplingMessage, TextContent, Tool, ToolInputSchema,
};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};

use crate::support::RawPeer;

fn tool(name: &str) -> Tool {
    Tool::new(name, ToolInputSchema::new())
}

async fn request_input(context: RequestContext) -> Result<String, ToolError> {
    let form = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {} } });
    let form: ElicitRequestFormParams = mcpgen_types::from_value(form).expect("params");
    let response = match context.revision() >= Revision::V2025_06_18 {
        true => format!("{:?}", context.elicit("e", form).await?.action),
        false => "nobody".to_owned(),
    };
    let roots = context.roots("r").await?.roots.len();
    let message = SamplingMessage::new(Role::User, TextContent::new("?"));
    let sampled = context.sample("s", CreateMessageRequestParams::new(vec![message], 1)).await?;
    Ok(format!("{response} {roots} {}", sampled.model))
}

fn server() -> Server {
    let argument = PromptArgument::new("who").with_required(true);
    Server::builder("server", "1")
        .logging()
        .page_size(2)
        .cache_hint::<ListToolsRequest>(CacheHint { fresh_for: Duration::from_secs(60), public: true })
        .tool(tool("asks"), |context: RequestContext| request_input(context))
        .tool(tool("logs"), |context: RequestContext| async move { context.log(Level::Info, None, "event").await })
        .tool(tool("fails"), || async { Err::<(), _>(ToolError::failed("no")) })
        .resource(Resource::new("file:///a", "a"), || async { "a" })
        .resource(Resource::new("file:///b", "b"), || async { vec![1_u8] })
        .resource(Resource::new("file:///c", "c"), || async { "c" })
        .resource_template(ResourceTemplate::new("t:{x}", "t"), |variables: BTreeMap<String, String>| async move {
            variables["x"].clone()
        })
        .prompt(Prompt::new("greet").with_arguments([argument]), |arguments: BTreeMap<String, String>| async move {
            format!("hello {}", arguments["who"])
        })
        .completion(|params: CompleteRequestParams| async move { vec![params.argument.value + "!"] })
        .build()
}

fn builder() -> ClientBuilder {
    Client::builder("client", "1")
        .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Accept)) })
        .on_sampling(|_, _| async { Ok(CreateMessageResult::new(Role::Assistant, TextContent::new(""), "model")) })
        .roots([Root::new("file:///")])
}

async fn connected(server: &Server, builder: ClientBuilder, revision: Revision) -> Client {
    let (here, there) = transport::duplex();
    let server = server.clone();
    tokio::spawn(async move { serve(server, there).await });
    let builder = builder.revisions([revision]);
    let client = builder.connect(here.0, here.1).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
    assert_eq!(client.revision(), revision);
    client
}

#[tokio::test]
async fn all_methods_work_in_every_revision() {
    for revision in Revision::ALL.iter().copied() {
        let client = connected(&server(), builder(), revision).await;
        client.ping().await.expect("a response");
        let names: Vec<_> = client.tools().await.expect("tools").iter().map(|tool| tool.name.clone()).collect();
        assert_eq!(names, ["asks", "fails", "logs"], "{revision}");
        let result = client.call_tool("asks", JsonObject::new()).await.expect("a result");
        let text = mcpgen_types::to_value(&result).expect("JSON")["content"][0]["text"].clone();
        let expected = if revision >= Revision::V2025_06_18 { "Accept 1 model" } else { "nobody 1 model" };
        assert_eq!(text, expected, "{revision}");
        assert_eq!(client.call_tool("fails", JsonObject::new()).await.expect("a result").is_error, Some(true));
        let unknown = client.call_tool("none", JsonObject::new()).await;
        assert!(matches!(unknown, Err(CallError::ErrorResponse(error)) if error.code.0 == -32602));

        assert_eq!(client.resources().await.expect("resources").len(), 3);
        assert_eq!(client.resource_templates().await.expect("templates")[0].uri_template, "t:{x}");
        let read = client.read_resource("t:1").await.expect("contents");
        assert_eq!(mcpgen_types::to_value(&read).expect("JSON")["contents"][0]["text"], "1");
        let Err(CallError::ErrorResponse(error)) = client.read_resource("x:").await else {
            panic!("expected an error response")
        };
        assert!(mcpgen_sdk::protocol::errors::is_resource_not_found(&error), "{revision} {error}");

        assert_eq!(client.prompts().await.expect("prompts")[0].name, "greet");
        let greeting = client.prompt("greet", [("who".to_owned(), "ann".to_owned())].into()).await.expect("a prompt");
        assert_eq!(mcpgen_types::to_value(&greeting).expect("JSON")["messages"][0]["content"]["text"], "hello ann");
        let completion = client.complete_argument(PromptReference::new("greet"), "who", "a").await.expect("values");
        assert_eq!(completion.values.get(), &["a!".to_owned()]);

        let mut pages = client.pages::<ListPromptsRequest>();
        if !revision.is_legacy() {
            assert_eq!(pages.try_next().await.expect("a page").map(|page| page.prompts.len()), Some(1));
            assert!(pages.try_next().await.expect("the end of the list").is_none());
        }
    }
}

/// Older results lack members that some of the newest types have. The other types must not get them in `extra`.
#[tokio::test]
async fn results_of_older_servers_have_no_invented_members() {
    for revision in Revision::ALL.iter().copied() {
        let client = connected(&server(), builder(), revision).await;
        let called = client.call_tool("fails", JsonObject::new()).await.expect("a result");
        let read = client.read_resource("file:///a").await.expect("contents");
        let prompt = client.prompt("greet", [("who".to_owned(), "ann".to_owned())].into()).await.expect("a prompt");
        let page = client.pages::<ListToolsRequest>().try_next().await.expect("a page").expect("a first page");
        let extras = [called.extra.len(), read.extra.len(), prompt.extra.len(), page.extra.len()];
        assert_eq!(extras, [0; 4], "{revision}");
    }
}

#[tokio::test]
async fn receives_log_messages_of_a_level() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let received = Arc::new(Mutex::new(Vec::new()));
        let reader = Arc::clone(&received);
        let builder = builder().on_log(Level::Info, move |event| {
            reader.lock().expect("no panic").push(event.data);
            async {}
        });
        let client = connected(&server(), builder, revision).await;
        if !revision.is_legacy() {
            let refused = client.set_level(Level::Info).await;
            assert!(
                matches!(&refused, Err(CallError::NotAllowed(why)) if why.to_string().contains("on_log")),
                "{refused:?}"
            );
        }
        client.call_tool("logs", JsonObject::new()).await.expect("a result");
        client.ping().await.expect("a response");
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(*received.lock().expect("no panic"), [json!("event")], "{revision}");
    }
}

/// Connects to a server that calls `response` with the method and params of each request, and returns its result.
async fn connect_to(
    builder: ClientBuilder,
    revision: Revision,
    response: impl Fn(&str, &Value) -> Value + Send + 'static,
) -> Client {
    let (here, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let mut remote = RawPeer::new(here);
    tokio::spawn(async move {
        loop {
            let request = remote.receive().await;
            let Some(id) = request.get("id") else { continue };
            let method = request["method"].as_str().expect("a method");
            let result = match method {
                "initialize" => json!({
                    "protocolVersion": revision.as_str(),
                    "capabilities": { "tools": { "listChanged": true }, "prompts": {} },
                    "serverInfo": { "name": "s", "version": "1" },
                }),
                "server/discover" => {
                    json!({ "supportedVersions": [revision.as_str()], "capabilities": { "tools": {} } })
                }
                method => response(method, &request["params"]),
            };
            if method == "tools/list" && request["params"]["cursor"] == "change" {
                remote.send(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
            }
            remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
            if method == "tools/call" && request["params"]["name"] == "change" {
                remote.send(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await;
            }
        }
    });
    let builder = builder.revisions([revision]);
    builder.connect(lines::receive(reader, 1 << 20), lines::send(writer)).await.expect("connected")
}

#[tokio::test]
async fn caches_the_tool_list_until_it_changes() {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let client = connect_to(builder(), Revision::V2025_11_25, move |method, _| match method {
        "tools/list" => {
            count.fetch_add(1, Ordering::SeqCst);
            json!({ "tools": [] })
        }
        _ => json!({ "content": [] }),
    })
    .await;
    for _ in 0..3 {
        client.tools().await.expect("tools");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 1);
    client.call_tool("change", JsonObject::new()).await.expect("a result");
    while requests.load(Ordering::SeqCst) == 1 {
        client.tools().await.expect("tools");
        tokio::task::yield_now().await;
    }
    assert_eq!(requests.load(Ordering::SeqCst), 2);
    // A list that changes while it is read is not cached, even if the application handles the notification itself.
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let with_handler = builder()
        .handlers(|router| router.custom_notification("notifications/tools/list_changed", |_, _: Value| async {}));
    let client = connect_to(with_handler, Revision::V2025_11_25, move |method, _| match method {
        "tools/list" if count.fetch_add(1, Ordering::SeqCst) == 0 => json!({ "tools": [], "nextCursor": "change" }),
        "tools/list" => json!({ "tools": [] }),
        _ => json!({ "content": [] }),
    })
    .await;
    client.tools().await.expect("tools");
    assert_eq!(requests.load(Ordering::SeqCst), 2, "two pages");
    client.tools().await.expect("tools");
    assert_eq!(requests.load(Ordering::SeqCst), 3, "the first list was outdated");
    client.tools().await.expect("tools");
    assert_eq!(requests.load(Ordering::SeqCst), 3);
    // In the modern revision, the server decides how long the list is cached.
    for (ttl, expected) in [(0, 3), (60_000, 1)] {
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        let client = connect_to(builder(), Revision::V2026_07_28, move |_, _| {
            count.fetch_add(1, Ordering::SeqCst);
            json!({ "tools": [], "ttlMs": ttl, "cacheScope": "private" })
        })
        .await;
        for _ in 0..3 {
            client.tools().await.expect("tools");
        }
        assert_eq!(requests.load(Ordering::SeqCst), expected, "{ttl}");
    }
}

#[tokio::test]
async fn pages_can_be_retried_and_must_not_repeat() {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let client = connect_to(builder(), Revision::V2025_11_25, move |_, params| {
        match (count.fetch_add(1, Ordering::SeqCst), params["cursor"].as_str()) {
            (0, _) => json!({ "prompts": "none" }),
            (_, None) => json!({ "prompts": [{ "name": "a" }], "nextCursor": "b" }),
            _ => json!({ "prompts": [], "nextCursor": "b" }),
        }
    })
    .await;
    let mut pages = client.pages::<ListPromptsRequest>();
    assert!(pages.try_next().await.is_err());
    assert_eq!(pages.try_next().await.expect("a page").expect("a page").prompts.len(), 1);
    assert!(pages.try_next().await.is_err(), "the cursor repeats");
}

#[tokio::test]
async fn omits_tools_with_invalid_headers() {
    let client = connect_to(builder(), Revision::V2026_07_28, |_, _| {
        let tool = |name: &str, header: &str| {
            let properties = json!({ "a": { "type": "string", "x-mcp-header": header } });
            json!({ "name": name, "inputSchema": { "type": "object", "properties": properties } })
        };
        json!({ "tools": [tool("good", "A"), tool("bad", ""), tool("worse", "a b")], "ttlMs": 0, "cacheScope": "public" })
    })
    .await;
    let tools = client.tools().await.expect("tools");
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["good"]);
    let page = client.pages::<ListToolsRequest>().try_next().await.expect("a page").expect("tools");
    assert_eq!(page.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["good"]);
}

#[tokio::test]
async fn lenient_clients_repair_results() {
    let response = |method: &str, _: &Value| match method {
        "tools/list" => json!({ "tools": [{ "name": "a" }, { "inputSchema": {} }], "nextCursor": null }),
        _ => json!({ "structuredContent": { "a": 1 }, "isError": null }),
    };
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let strict = connect_to(builder(), revision, response).await;
        assert!(matches!(strict.tools().await, Err(CallError::Invalid(_))));
        assert!(matches!(strict.call_tool("a", JsonObject::new()).await, Err(CallError::Invalid(_))));

        let repairs = Arc::new(Mutex::new(Vec::new()));
        let reported = Arc::clone(&repairs);
        let lenient = builder().lenient(move |method, repair| {
            reported.lock().expect("no panic").push(format!("{method} {}", repair.path));
        });
        let lenient = connect_to(lenient, revision, move |method, params| {
            let mut result = response(method, params);
            if method == "tools/list" && !revision.is_legacy() {
                (result["ttlMs"], result["cacheScope"]) = (json!(0), json!("private"));
            }
            result
        })
        .await;
        let tools = lenient.tools().await.expect("a repaired result");
        assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["a"]);
        let result = lenient.call_tool("a", JsonObject::new()).await.expect("a repaired result");
        assert_eq!(mcpgen_types::to_value(&result).expect("JSON")["content"][0]["text"], r#"{"a":1}"#);
        let repairs = repairs.lock().expect("no panic").clone();
        for expected in [
            "tools/list /nextCursor",
            "tools/list /tools/0/inputSchema",
            "tools/list /tools/1",
            "tools/call /content",
            "tools/call /isError",
        ] {
            assert!(repairs.iter().any(|repair| repair == expected), "{expected}: {repairs:?}");
        }
    }
}

/// A result is checked against the negotiated revision. In these cases, that revision is stricter than the newest one,
/// or the conversion to the newest one would leave out an invalid member.
#[tokio::test]
async fn results_are_checked_against_the_negotiated_revision() {
    let result = |structured: Value| json!({ "content": [], "structuredContent": structured });
    let list = |schema: Value| json!({ "tools": [good_tool(), { "name": "b", "inputSchema": { "type": "object" }, "outputSchema": schema }] });
    let (old, new) = (Revision::V2025_11_25, Revision::V2026_07_28);
    let array_schema = "tools[1].outputSchema.type: expected constant \"object\", found \"array\"";
    for (revision, method, result, expected) in [
        (old, "tools/call", result(json!([1])), Some("structuredContent: expected object, found array")),
        (
            Revision::V2025_06_18,
            "tools/call",
            result(json!(1)),
            Some("structuredContent: expected object, found number"),
        ),
        // These revisions do not define the member.
        (Revision::V2025_03_26, "tools/call", result(json!([1])), None),
        (Revision::V2024_11_05, "tools/call", result(json!([1])), None),
        (new, "tools/call", result(json!([1])), None),
        (old, "tools/call", result(json!({})), None),
        (old, "tools/call", json!({ "content": [], "isError": null }), Some("isError: expected boolean, found null")),
        (old, "tools/list", list(json!({ "type": "array" })), Some(array_schema)),
        (Revision::V2025_06_18, "tools/list", list(json!({ "type": "array" })), Some(array_schema)),
        (Revision::V2025_03_26, "tools/list", list(json!({ "type": "array" })), None),
        (new, "tools/list", list(json!({ "type": "array" })), None),
        (old, "tools/list", list(json!({ "type": "object" })), None),
        (
            old,
            "tools/list",
            json!({ "tools": [{ "name": "a", "inputSchema": {} }] }),
            Some("tools[0].inputSchema.type: missing required member"),
        ),
    ] {
        let at = format!("{method} in {revision}: {result}");
        let answer = move |_: &str, _: &Value| result.clone();
        let repairs = Arc::new(Mutex::new(Vec::new()));
        let reported = Arc::clone(&repairs);
        let lenient = builder().lenient(move |_, repair| {
            reported.lock().expect("no panic").push(repair.to_string());
        });
        let strict = connect_to(builder(), revision, answer.clone()).await;
        let lenient = connect_to(lenient, revision, answer).await;
        let call = async |client: &Client| match method {
            "tools/list" => client.tools().await.map(|tools| tools.len()),
            _ => client.call_tool("a", JsonObject::new()).await.map(|_| 0),
        };
        match (call(&strict).await, expected) {
            (Ok(_), None) => {}
            (Err(CallError::Invalid(error)), Some(expected)) => {
                assert_eq!(error.to_string(), format!("{method} result of revision {revision}: {expected}"), "{at}");
            }
            (found, _) => panic!("{at}: {found:?}"),
        }
        let repaired = call(&lenient).await;
        let repairs: Vec<String> = repairs.lock().expect("no panic").clone();
        let is_hint = |repair: &String| repair.contains("ttlMs") || repair.contains("cacheScope");
        let repairs: Vec<String> = repairs.into_iter().filter(|repair| !is_hint(repair)).collect();
        // A lenient client reports each repair, and rejects what it cannot repair.
        assert_eq!(!repairs.is_empty() || repaired.is_err(), expected.is_some(), "{at}: {repairs:?} {repaired:?}");
        if expected == Some(array_schema) {
            let removed = format!("/tools/1: removed: {method} result of revision {revision}: {array_schema}");
            assert_eq!((repaired.expect("a list"), repairs), (1, vec![removed]), "{at}");
        }
    }
}

fn good_tool() -> Value {
    json!({ "name": "a", "inputSchema": { "type": "object" } })
}

/// Servers that leave out cache hints, or send invalid ones, are common.
#[tokio::test]
async fn strict_clients_accept_results_with_bad_cache_hints() {
    for hints in [json!({}), json!({ "ttlMs": -1 }), json!({ "ttlMs": "soon", "cacheScope": "shared" })] {
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        let client = connect_to(builder(), Revision::V2026_07_28, move |method, _| {
            count.fetch_add(1, Ordering::SeqCst);
            let mut result = hints.clone();
            let member = match method {
                "tools/list" => "tools",
                "resources/list" => "resources",
                "resources/templates/list" => "resourceTemplates",
                "prompts/list" => "prompts",
                _ => "contents",
            };
            result[member] = json!([]);
            result
        })
        .await;
        client.tools().await.expect("tools");
        client.tools().await.expect("tools");
        assert_eq!(requests.load(Ordering::SeqCst), 2, "nothing is cached without a valid `ttlMs`");
        client.resources().await.expect("resources");
        client.resource_templates().await.expect("resource templates");
        client.prompts().await.expect("prompts");
        client.read_resource("file:///a").await.expect("contents");
        let params = ReadResourceRequestParams::new("file:///a", client.meta());
        client.complete::<ReadResourceRequest>(params).await.expect("contents");
        let cache = Cache::new(1);
        let params = PaginatedRequestParams::new(client.meta());
        cache.call::<ListToolsRequest>(client.peer(), params).await.expect("tools");
    }
}

#[tokio::test]
async fn checks_structured_content_against_the_output_schema() {
    let client = connect_to(
        builder().validate(mcpgen_validate::JsonSchema),
        Revision::V2025_11_25,
        |method, params| match method {
            "tools/list" => {
                let output = json!({ "type": "object", "required": ["a"] });
                json!({ "tools": [{ "name": "t", "inputSchema": { "type": "object" }, "outputSchema": output }] })
            }
            _ => json!({ "content": [], "structuredContent": params["arguments"] }),
        },
    )
    .await;
    let arguments = |value: Value| JsonObject::try_from(value).expect("an object");
    client.call_tool("t", arguments(json!({}))).await.expect("the schema is not known yet");
    client.tools().await.expect("tools");
    client.call_tool("t", arguments(json!({ "a": 1 }))).await.expect("a valid result");
    let error = client.call_tool("t", arguments(json!({}))).await.expect_err("an invalid result");
    assert!(error.to_string().contains("\"a\""), "{error}");
}
