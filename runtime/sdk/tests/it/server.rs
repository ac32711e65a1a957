//! `Server`: tools, resources and prompts in every revision.
#![allow(deprecated, reason = "what the newest revision deprecates is still served")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mcpgen_sdk::protocol::cache_hints::CacheHint;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::protocol::{ContextExt, Level, RouterExt};
use mcpgen_sdk::server::{
    Args, DefinitionError, InputRequired, RequestContext, ServeError, Structured, ToolError, ToolInfo,
};
use mcpgen_sdk::{Client, Limits, Router, Server, ServerBuilder, serve, transport};
use mcpgen_types::v2026_07_28::{
    Annotations, AudioContent, CallToolResult, CompleteRequest, CompleteRequestParams, CompleteResult, ContentBlock,
    CreateMessageRequestParams, ElicitRequestFormParams, ElicitResultAction, Icon, ImageContent, ListToolsRequest,
    Prompt, PromptArgument, PromptMessage, PromptReference, Resource, ResourceLink, ResourceTemplate, Role,
    SamplingMessage, TextContent, Tool, ToolAnnotations, ToolInputSchema,
};
use mcpgen_types::{
    ErrorCode, ErrorObject, JsonObject, Revision, v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28,
};
use serde_json::{Value, json};

use crate::support::{self, RawPeer};

fn tool(name: &str) -> Tool {
    Tool::new(name, ToolInputSchema::new())
}

fn form(message: &str) -> ElicitRequestFormParams {
    let params = json!({ "message": message, "requestedSchema": { "type": "object", "properties": {} } });
    mcpgen_types::from_value(params).expect("params")
}

fn icon() -> Icon {
    Icon::new("https://example.com/icon.png")
}

/// Returns annotations, some of which older revisions do not support.
fn annotated() -> Annotations {
    Annotations::new().with_audience([Role::User]).with_last_modified("2025-01-01T00:00:00Z")
}

fn meta() -> JsonObject {
    JsonObject::from([("com.example/x", 1.into())])
}

async fn request_input(context: RequestContext) -> Result<String, ToolError> {
    let name = context.elicit("name", form("who are you?")).await?;
    if name.action != ElicitResultAction::Accept {
        return Ok("nobody".to_owned());
    }
    let roots = context.roots("where").await?;
    let message = SamplingMessage::new(Role::User, TextContent::new("?"));
    let response = context.sample("what", CreateMessageRequestParams::new(vec![message], 1)).await?;
    let name = name.content.and_then(|content| mcpgen_types::to_value(&content).ok()).unwrap_or_default();
    Ok(format!("{}, {} roots, {}", name["name"], roots.roots.len(), response.model))
}

/// Returns a builder with tools, resources, templates, prompts and completions of every kind.
fn builder() -> ServerBuilder {
    let full = tool("full")
        .with_title("Full")
        .with_description("has all members")
        .with_icons([icon()])
        .with_meta(meta())
        .with_annotations(ToolAnnotations::new().with_read_only_hint(true));
    let output: v2026_07_28::ToolOutputSchema =
        mcpgen_types::from_value(json!({ "type": "object", "required": ["a"] })).expect("a schema");
    let readme = Resource::new("file:///readme", "readme")
        .with_title("Read me")
        .with_mime_type("text/plain")
        .with_icons([icon()])
        .with_meta(meta())
        .with_annotations(annotated());
    let notes = ResourceTemplate::new("note:///{name}", "notes")
        .with_title("Notes")
        .with_icons([icon()])
        .with_meta(meta())
        .with_annotations(annotated());
    let argument = PromptArgument::new("language").with_title("Language").with_required(true);
    let review =
        Prompt::new("review").with_title("Review").with_icons([icon()]).with_meta(meta()).with_arguments([argument]);
    Server::builder("everything", "1")
        .logging()
        .instructions("use it")
        .tool(full.with_output_schema(output), || async {
            let content: Vec<ContentBlock> = vec![
                TextContent::new("text").with_meta(meta()).with_annotations(annotated()).into(),
                ImageContent::new("").mime_type("image/png").into(),
            ];
            CallToolResult::new(content).with_structured_content(json!({ "a": 1 }))
        })
        .tool(tool("audio"), || async { ContentBlock::from(AudioContent::new("").mime_type("audio/wav")) })
        .tool(tool("link"), || async { ContentBlock::from(ResourceLink::new("file:///a").name("name")) })
        .tool(tool("number"), || async { Structured(7) })
        .tool(tool("text"), |arguments: JsonObject| async move { format!("{} arguments", arguments.len()) })
        .tool(tool("nothing"), || async {})
        .tool(tool("fails"), || async {
            "x".parse::<u8>().map(|_| "parsed").map_err(|error| std::io::Error::other(Box::new(error)))
        })
        .tool(tool("rejects"), || async { Err::<(), _>(ErrorObject::new(-7, "rejected")) })
        .tool(tool("asks"), |context: RequestContext| request_input(context))
        .tool(tool("logs"), |context: RequestContext| async move {
            context.log(Level::Info, None, "an event").await;
            context.progress(1.0, None, None).await;
        })
        .resource(readme, || async { "read me" })
        .resource(Resource::new("file:///bytes", "bytes"), || async { vec![1_u8, 2, 3] })
        .resource(Resource::new("file:///gone", "gone"), || async { None::<String> })
        .resource(Resource::new("file:///fails", "fails"), || async { "x".parse::<u8>().map(|_| "parsed") })
        .resource_template(notes, |variables: BTreeMap<String, String>| async move {
            (variables["name"] == "today").then(|| format!("note of {}", variables["name"]))
        })
        .resource_template(
            ResourceTemplate::new("path:///{+path}", "path"),
            |variables: BTreeMap<String, String>| async move { variables["path"].clone() },
        )
        .prompt(review, |arguments: BTreeMap<String, String>| async move {
            vec![PromptMessage::new(
                Role::User,
                TextContent::new(format!("review {}", arguments["language"])).with_meta(meta()),
            )]
        })
        .prompt(Prompt::new("link"), || async {
            vec![PromptMessage::new(Role::User, ResourceLink::new("file:///a").name("name"))]
        })
        .completion(|params: CompleteRequestParams| async move {
            (0..150).map(|n| format!("{}{n}", params.argument.value)).collect::<Vec<_>>()
        })
}

fn server() -> Server {
    builder().build()
}

/// A connection that uses one revision.
struct Session {
    remote: RawPeer,
    revision: Revision,
    next: i64,
    capabilities: Value,
}

impl Session {
    async fn with(server: &Server, revision: Revision, capabilities: Value) -> Self {
        let (router, config) = (server.router(), server.config().expect("a valid server"));
        let protocol = Arc::new(config.protocol(&Router::new().handled(mcpgen_sdk::protocol::Role::Server)));
        let (mut remote, _) = RawPeer::connect(|pipe| support::run(router, protocol, Limits::default(), pipe));
        if revision.is_legacy() {
            let params = json!({
                "protocolVersion": revision.as_str(), "capabilities": capabilities,
                "clientInfo": { "name": "c", "version": "1" },
            });
            let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
            assert_eq!(remote.request(&initialize.to_string()).await["result"]["protocolVersion"], revision.as_str());
            remote.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        Self { remote, revision, next: 1, capabilities }
    }

    async fn of(server: &Server, revision: Revision) -> Self {
        Self::with(server, revision, json!({ "elicitation": {}, "sampling": {}, "roots": {} })).await
    }

    async fn send(&mut self, method: &str, mut params: Value) -> i64 {
        if !self.revision.is_legacy() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(self.revision.as_str());
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.remote.send(&request.to_string()).await;
        self.next
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let response = self.remote.receive().await;
        assert_eq!(response["id"], id, "{response}");
        response
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": name, "arguments": arguments })).await
    }
}

/// Reads all pages of a list.
async fn all(session: &mut Session, method: &str, member: &str) -> Vec<Value> {
    let (mut found, mut cursor) = (Vec::new(), None::<Value>);
    loop {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let page = session.request(method, params).await["result"].clone();
        found.extend(page[member].as_array().unwrap_or_else(|| panic!("{page}")).clone());
        match page.get("nextCursor").cloned() {
            Some(next) => cursor = Some(next),
            None => return found,
        }
    }
}

#[tokio::test]
async fn lists_entries_in_a_stable_order_and_in_pages() {
    let server = builder()
        .page_size(3)
        .cache_hint::<ListToolsRequest>(CacheHint { fresh_for: Duration::from_secs(1), public: true })
        .build();
    let names = ["asks", "audio", "fails", "full", "link", "logs", "nothing", "number", "rejects", "text"];
    for revision in Revision::ALL.iter().copied() {
        let mut session = Session::of(&server, revision).await;
        for _ in 0..2 {
            let tools = all(&mut session, "tools/list", "tools").await;
            assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), names, "{revision}");
        }
        let first = session.request("tools/list", json!({})).await["result"].clone();
        assert_eq!(first["tools"].as_array().map(Vec::len), Some(3));
        assert_eq!(first.get("ttlMs").is_some(), !revision.is_legacy(), "{first}");
        assert_eq!(all(&mut session, "resources/list", "resources").await.len(), 4);
        assert_eq!(all(&mut session, "resources/templates/list", "resourceTemplates").await.len(), 2);
        assert_eq!(all(&mut session, "prompts/list", "prompts").await.len(), 2);
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            let error = session.request(method, json!({ "cursor": "3" })).await;
            assert_eq!(error["error"]["code"], -32602, "{method}");
        }
    }
}

#[tokio::test]
async fn results_have_only_the_members_of_the_revision() {
    let server = server();
    macro_rules! check {
        ($($revision:ident: $name:ident),* $(,)?) => {$({
            let mut session = Session::of(&server, Revision::$name).await;
            let result = session.request("tools/list", json!({})).await["result"].clone();
            let typed: $revision::ListToolsResult = mcpgen_types::from_value(result.clone()).expect("a valid result");
            assert!(typed.extra.is_empty() && typed.tools.iter().all(|tool| tool.extra.is_empty()), "{result}");
            let result = session.request("resources/list", json!({})).await["result"].clone();
            let typed: $revision::ListResourcesResult = mcpgen_types::from_value(result.clone()).expect("a valid result");
            assert!(typed.extra.is_empty() && typed.resources.iter().all(|it| it.extra.is_empty()), "{result}");
            let result = session.request("resources/templates/list", json!({})).await["result"].clone();
            let typed: $revision::ListResourceTemplatesResult =
                mcpgen_types::from_value(result.clone()).expect("a valid result");
            assert!(typed.resource_templates.iter().all(|it| it.extra.is_empty()), "{result}");
            let result = session.request("prompts/list", json!({})).await["result"].clone();
            let typed: $revision::ListPromptsResult = mcpgen_types::from_value(result.clone()).expect("a valid result");
            let is_exact = |prompt: &$revision::Prompt| {
                prompt.extra.is_empty() && prompt.arguments.iter().flatten().all(|it| it.extra.is_empty())
            };
            assert!(typed.prompts.iter().all(is_exact), "{result}");
            let result = session.call("full", json!({})).await["result"].clone();
            let typed: $revision::CallToolResult = mcpgen_types::from_value(result.clone()).expect("a valid result");
            assert!(typed.extra.is_empty(), "{result}");
            assert_eq!(result["content"][0].get("_meta").is_some(), Revision::$name >= Revision::V2025_06_18);
            assert_eq!(result.get("structuredContent").is_some(), Revision::$name >= Revision::V2025_06_18);
            let modified = &result["content"][0]["annotations"]["lastModified"];
            assert_eq!(modified.is_string(), Revision::$name >= Revision::V2025_06_18);
            let result = session.request("resources/read", json!({ "uri": "file:///readme" })).await["result"].clone();
            let typed: $revision::ReadResourceResult = mcpgen_types::from_value(result.clone()).expect("a valid result");
            assert!(typed.extra.is_empty(), "{result}");
            let params = json!({ "name": "review", "arguments": { "language": "Rust" } });
            let result = session.request("prompts/get", params).await["result"].clone();
            let typed: $revision::GetPromptResult = mcpgen_types::from_value(result.clone()).expect("a valid result");
            assert!(typed.extra.is_empty(), "{result}");
            let meta = result["messages"][0]["content"].get("_meta");
            assert_eq!(meta.is_some(), Revision::$name >= Revision::V2025_06_18);
        })*};
    }
    check! {
        v2024_11_05: V2024_11_05, v2025_03_26: V2025_03_26, v2025_06_18: V2025_06_18, v2025_11_25: V2025_11_25,
        v2026_07_28: V2026_07_28,
    }
}

#[tokio::test]
async fn rejects_content_that_the_revision_does_not_support() {
    let server = server();
    for revision in Revision::ALL.iter().copied() {
        let mut session = Session::of(&server, revision).await;
        for (name, since) in [("audio", Revision::V2025_03_26), ("link", Revision::V2025_06_18)] {
            let response = session.call(name, json!({})).await;
            match revision < since {
                true => {
                    let message = response["error"]["message"].as_str().expect("an error");
                    assert!(message.contains(revision.as_str()) && message.contains("/content/0"), "{message}");
                }
                false => assert!(response["result"]["content"][0].is_object(), "{response}"),
            }
        }
        let response = session.request("prompts/get", json!({ "name": "link" })).await;
        assert_eq!(response.get("error").is_some(), revision < Revision::V2025_06_18);
        // In legacy revisions, structured content other than an object becomes text.
        let result = session.call("number", json!({})).await["result"].clone();
        assert_eq!(result["content"][0]["text"], "7");
        assert_eq!(result.get("structuredContent").is_some(), revision >= Revision::V2026_07_28);
    }
}

#[tokio::test]
async fn reports_tool_failures_in_results_or_error_responses() {
    let server = server();
    for revision in Revision::ALL.iter().copied() {
        let mut session = Session::of(&server, revision).await;
        assert_eq!(session.call("text", json!({ "a": 1 })).await["result"]["content"][0]["text"], "1 arguments");
        assert_eq!(
            session.request("tools/call", json!({ "name": "text" })).await["result"]["content"][0]["text"],
            "0 arguments"
        );
        assert_eq!(session.call("nothing", json!({})).await["result"]["content"], json!([]));
        let failed = session.call("fails", json!({})).await["result"].clone();
        assert_eq!(
            (&failed["isError"], &failed["content"][0]["text"]),
            (&json!(true), &json!("invalid digit found in string"))
        );
        assert_eq!(session.call("rejects", json!({})).await["error"]["code"], -7);
        assert_eq!(session.call("no such", json!({})).await["error"]["code"], -32602);
        for params in [json!({}), json!({ "name": 1 }), json!({ "name": "text", "arguments": [] })] {
            assert_eq!(
                session.request("tools/call", params.clone()).await["error"]["code"],
                -32602,
                "{revision} {params}"
            );
        }
    }
}

#[tokio::test]
async fn requests_input_by_requests_or_by_results() {
    let server = server();
    for (action, expected) in [("accept", r#""ann", 1 roots, model"#), ("decline", "nobody")] {
        let respond_to = |method: &str| match method {
            "elicitation/create" if action == "accept" => json!({ "action": action, "content": { "name": "ann" } }),
            "elicitation/create" => json!({ "action": action }),
            "roots/list" => json!({ "roots": [{ "uri": "file:///" }] }),
            _ => json!({ "role": "assistant", "model": "model", "content": { "type": "text", "text": "" } }),
        };
        for revision in [Revision::V2025_06_18, Revision::V2025_11_25] {
            let mut session = Session::of(&server, revision).await;
            let id = session.send("tools/call", json!({ "name": "asks" })).await;
            let result = loop {
                let message = session.remote.receive().await;
                let Some(method) = message["method"].as_str() else { break message };
                let response = respond_to(method);
                session
                    .remote
                    .send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": response }).to_string())
                    .await;
            };
            assert_eq!((&result["id"], &result["result"]["content"][0]["text"]), (&json!(id), &json!(expected)));
        }
        let mut session = Session::of(&server, Revision::V2026_07_28).await;
        let mut params = json!({ "name": "asks" });
        let mut rounds = 0;
        let result = loop {
            let result = session.request("tools/call", params.clone()).await["result"].clone();
            if result["resultType"] == "complete" {
                break result;
            }
            rounds += 1;
            let requests = result["inputRequests"].as_object().expect("input requests");
            let responses = requests
                .iter()
                .map(|(key, request)| (key, respond_to(request["method"].as_str().expect("a method")).into()));
            let responses = responses.collect::<JsonObject>();
            params = json!({ "name": "asks", "requestState": result["requestState"], "inputResponses": responses });
        };
        assert_eq!((rounds, &result["content"][0]["text"]), (if action == "accept" { 3 } else { 1 }, &json!(expected)));
        // The request state is valid only for the same call.
        params["arguments"] = json!({ "other": true });
        assert_eq!(session.request("tools/call", params).await["error"]["code"].as_i64(), Some(-32602));
    }
    // If the revision does not support the request, the result is an error.
    let mut session = Session::of(&server, Revision::V2025_03_26).await;
    let result = session.call("asks", json!({})).await["result"].clone();
    assert_eq!(result["isError"], true);
    let message = result["content"][0]["text"].as_str().expect("text");
    assert!(message.contains("2025-03-26") && message.contains("elicitation"), "{message}");
    // The server requests no input for which the client has not declared the capability.
    let mut session = Session::with(&server, Revision::V2026_07_28, json!({})).await;
    assert_eq!(session.call("asks", json!({})).await["error"]["code"], -32021);
    let mut session = Session::with(&server, Revision::V2025_11_25, json!({})).await;
    assert_eq!(session.call("asks", json!({})).await["result"]["isError"], true);
}

#[tokio::test]
async fn reads_resources_by_uri_and_by_template() {
    let server = server();
    for revision in Revision::ALL.iter().copied() {
        let mut session = Session::of(&server, revision).await;
        let cases = [
            ("file:///readme", json!({ "text": "read me", "mimeType": "text/plain" })),
            ("file:///bytes", json!({ "blob": "AQID" })),
            ("note:///today", json!({ "text": "note of today" })),
            ("path:///a/b/c", json!({ "text": "a/b/c" })),
        ];
        for (uri, mut expected) in cases {
            expected["uri"] = json!(uri);
            let result = session.request("resources/read", json!({ "uri": uri })).await;
            assert_eq!(result["result"]["contents"], json!([expected]), "{result}");
        }
        let code = if revision.is_legacy() { -32002 } else { -32602 };
        for uri in ["file:///none", "file:///gone", "note:///tomorrow", "note:///a/b", ""] {
            let error = session.request("resources/read", json!({ "uri": uri })).await["error"].clone();
            assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(code), &json!(uri)), "{revision} {error}");
        }
        assert_eq!(session.request("resources/read", json!({ "uri": "file:///fails" })).await["error"]["code"], -32603);
        assert_eq!(session.request("resources/read", json!({})).await["error"]["code"], -32602);
    }
}

#[tokio::test]
async fn gets_prompts_and_completes_arguments() {
    let server = server();
    for revision in Revision::ALL.iter().copied() {
        let mut session = Session::of(&server, revision).await;
        let review = json!({ "name": "review", "arguments": { "language": "Rust" } });
        let result = session.request("prompts/get", review).await["result"].clone();
        assert_eq!(result["messages"][0]["content"]["text"], "review Rust");
        for params in [
            json!({ "name": "review" }),
            json!({ "name": "none" }),
            json!({}),
            json!({ "name": "review", "arguments": { "language": 1 } }),
        ] {
            assert_eq!(session.request("prompts/get", params.clone()).await["error"]["code"], -32602, "{params}");
        }
        let argument = json!({ "name": "language", "value": "R" });
        let complete = json!({ "ref": { "type": "ref/prompt", "name": "review" }, "argument": argument });
        let completion = session.request("completion/complete", complete).await["result"]["completion"].clone();
        assert_eq!(completion["values"].as_array().map(Vec::len), Some(100));
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(150), &json!(true)));
    }
}

#[tokio::test]
async fn notifies_legacy_and_modern_clients_of_changes() {
    let server = server();
    let mut legacy = Session::of(&server, Revision::V2025_11_25).await;
    let mut modern = Session::of(&server, Revision::V2026_07_28).await;
    let mut unsubscribed = Session::of(&server, Revision::V2026_07_28).await;
    assert_eq!(legacy.request("resources/subscribe", json!({ "uri": "note:///today" })).await["result"], json!({}));
    let filter =
        json!({ "toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["note:///today"] });
    modern.send("subscriptions/listen", json!({ "notifications": filter })).await;
    assert_eq!(modern.remote.receive().await["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(modern.request("resources/subscribe", json!({ "uri": "x" })).await["error"]["code"], -32601);
    assert_eq!(legacy.request("subscriptions/listen", json!({ "notifications": {} })).await["error"]["code"], -32601);

    server.add_tool(tool("new"), || async { "new" }).expect("a valid server");
    for session in [&mut legacy, &mut modern] {
        assert_eq!(session.remote.receive().await["method"], "notifications/tools/list_changed");
        assert_eq!(session.call("new", json!({})).await["result"]["content"][0]["text"], "new");
    }
    assert!(server.remove_tool("new") && !server.remove_tool("new"));
    for session in [&mut legacy, &mut modern] {
        assert_eq!(session.remote.receive().await["method"], "notifications/tools/list_changed");
        assert_eq!(session.call("new", json!({})).await["error"]["code"], -32602);
    }
    server.changed(&Change::Resource("note:///today".to_owned()));
    for session in [&mut legacy, &mut modern] {
        let notification = session.remote.receive().await;
        assert_eq!(
            (&notification["method"], &notification["params"]["uri"]),
            (&json!("notifications/resources/updated"), &json!("note:///today"))
        );
    }
    assert_eq!(legacy.request("resources/unsubscribe", json!({ "uri": "note:///today" })).await["result"], json!({}));
    server.changed(&Change::Resource("note:///today".to_owned()));
    assert!(server.remove_prompt("review") && server.remove_resource("file:///readme"));
    // The two notifications may come in any order.
    let methods = [legacy.remote.receive().await["method"].clone(), legacy.remote.receive().await["method"].clone()];
    for method in ["notifications/prompts/list_changed", "notifications/resources/list_changed"] {
        assert!(methods.contains(&json!(method)), "{methods:?}");
    }
    // A client without a subscription receives no notification.
    assert!(unsubscribed.request("tools/list", json!({})).await["result"].is_object());
}

#[tokio::test]
async fn rejects_methods_of_missing_features() {
    let builder = || Server::builder("bare", "1").tool(tool("one"), || async {});
    let server = builder().build();
    let methods = [
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "completion/complete",
        "logging/setLevel",
    ];
    for revision in Revision::ALL.iter().copied() {
        let mut session = Session::of(&server, revision).await;
        for method in methods {
            let response = session.request(method, json!({ "name": "x", "uri": "x", "level": "info" })).await;
            assert_eq!(response["error"]["code"], -32601, "{revision} {method}");
        }
        assert!(session.request("tools/list", json!({})).await["result"]["tools"].is_array());
        let mut session = Session::of(&builder().empty_lists(true).build(), revision).await;
        for (method, list) in [("prompts/list", "prompts"), ("resources/list", "resources")] {
            assert_eq!(session.request(method, json!({})).await["result"][list], json!([]), "{revision} {method}");
        }
    }
    let mut session = Session::of(&server, Revision::V2026_07_28).await;
    let discovered = session.request("server/discover", json!({})).await["result"].clone();
    assert_eq!(discovered["capabilities"], json!({ "tools": { "listChanged": true } }));
    // The list stays available after its last entry is removed.
    assert!(server.remove_tool("one"));
    assert_eq!(session.request("tools/list", json!({})).await["result"]["tools"], json!([]));
}

#[tokio::test]
async fn errors_suggest_similar_names() {
    let server = Server::builder("notes", "1")
        .tool(tool("add_note"), || async {})
        .prompt(Prompt::new("summary"), || async { "" })
        .build();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut session = Session::of(&server, revision).await;
        for (method, name, expected) in [
            ("tools/call", "addNote", "unknown tool \"addNote\"; did you mean \"add_note\"?"),
            ("tools/call", "weather", "unknown tool \"weather\""),
            ("prompts/get", "Summary", "unknown prompt \"Summary\"; did you mean \"summary\"?"),
            ("tool/call", "x", "unknown method \"tool/call\"; did you mean \"tools/call\"?"),
        ] {
            let response = session.request(method, json!({ "name": name })).await;
            assert_eq!(response["error"]["message"], expected, "{revision}");
        }
    }
}

#[tokio::test]
async fn tools_fail_with_text_and_boxed_errors() {
    let boxed = || Box::<dyn std::error::Error + Send + Sync>::from("boxed");
    let server = Server::builder("failing", "1")
        .tool(tool("text"), || async { Err::<(), _>("text") })
        .tool(tool("string"), || async { Err::<(), _>("string".to_owned()) })
        .tool(tool("boxed"), move || async move { Err::<(), _>(boxed()) })
        .tool(tool("io"), || async { Err::<(), _>(std::io::Error::other("io")) })
        .build();
    let mut session = Session::of(&server, Revision::V2026_07_28).await;
    for name in ["text", "string", "boxed", "io"] {
        let response = session.request("tools/call", json!({ "name": name })).await;
        let result = &response["result"];
        assert_eq!((&result["isError"], &result["content"][0]["text"]), (&json!(true), &json!(name)), "{response}");
    }
}

#[tokio::test]
async fn completes_each_argument_with_its_function() {
    let values = |values: &'static [&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    let server =
        Server::builder("review", "1")
            .prompt(Prompt::new("p").with_arguments([PromptArgument::new("a")]), || async { "" })
            .prompt_completion("p", "a", move |params: CompleteRequestParams| async move {
                vec![params.argument.value + "!"]
            })
            .resource_template(ResourceTemplate::new("x:///{name}", "x"), || async { "" })
            .template_completion("x:///{name}", "name", move || async move { values(&["n"]) })
            .build();
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let mut session = Session::of(&server, revision).await;
        for (reference, argument, expected) in [
            (json!({ "type": "ref/prompt", "name": "p" }), "a", json!(["v!"])),
            (json!({ "type": "ref/resource", "uri": "x:///{name}" }), "name", json!(["n"])),
            (json!({ "type": "ref/resource", "uri": "p" }), "a", json!([])),
        ] {
            let params = json!({ "ref": reference, "argument": { "name": argument, "value": "v" } });
            let response = session.request("completion/complete", params).await;
            assert_eq!(response["result"]["completion"]["values"], expected, "{revision}: {response}");
        }
        let params = json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "b", "value": "" } });
        let error = session.request("completion/complete", params).await["error"].take();
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!(-32602), &json!(r#"invalid params: params.argument.name: the prompt "p" has no argument "b""#))
        );
    }
}

/// Clients over HTTP learn that an added prompt completes its arguments.
#[test]
fn the_configuration_changes_with_the_completions() {
    #[derive(schemars::JsonSchema, serde::Deserialize)]
    enum Size {
        Small,
        Large,
    }
    #[derive(schemars::JsonSchema, serde::Deserialize)]
    struct Order {
        size: Size,
    }
    let server = Server::builder("shop", "1").prompt(Prompt::new("plain"), || async { "" }).build();
    let before = server.config_version();
    let order = |Args(Order { size }): Args<Order>| async move { (size as u8).to_string() };
    server.add_prompt(Prompt::new("order"), order).expect("a new prompt");
    assert_ne!(server.config_version(), before);
}

/// Arguments whose type is an enum are completed without a function.
#[tokio::test]
async fn completes_arguments_by_their_type() {
    #[derive(schemars::JsonSchema, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Language {
        /// A documented variant has a schema of its own.
        Python,
        Ruby,
        Rust,
    }
    #[derive(schemars::JsonSchema, serde::Deserialize)]
    struct Review {
        language: Language,
        other: Option<Language>,
        words: u32,
    }
    let review = |Args(Review { language, other, words }): Args<Review>| async move {
        let codes = [Some(language), other].map(|language| language.map(|language| language as u32));
        format!("{codes:?} {words}")
    };
    let server = Server::builder("reviewer", "1").prompt(Prompt::new("review"), review);
    // A function for other arguments does not replace them.
    let server = server.completion(|| async { Vec::<String>::new() }).build();
    let client = server.in_process(Client::builder("client", "1")).await.expect("a client");
    for (argument, value, expected) in [
        ("language", "ru", vec!["ruby", "rust"]),
        ("language", "", vec!["ruby", "rust", "python"]),
        ("other", "p", vec!["python"]),
        ("words", "1", vec![]),
    ] {
        let values =
            client.complete_argument(PromptReference::new("review"), argument, value).await.expect("values").values;
        assert_eq!(values.get().iter().map(String::as_str).collect::<Vec<_>>(), expected, "{argument} {value}");
    }
    let error = client.complete_argument(PromptReference::new("review"), "langauge", "").await.expect_err("misspelt");
    assert!(error.to_string().contains(r#"has no argument "langauge"; did you mean "language"?"#), "{error}");
}

mod types {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "the test prints it")]
    struct Review {
        /// The language of the code.
        language: String,
        most: Option<u8>,
        strict: Option<bool>,
    }

    #[tokio::test]
    async fn prompts_have_typed_arguments() {
        let server = Server::builder("review", "1")
            .prompt(Prompt::new("review"), |Args(review): Args<Review>| async move { format!("{review:?}") })
            .build();
        for revision in [Revision::V2024_11_05, Revision::V2026_07_28] {
            let mut session = Session::of(&server, revision).await;
            let listed = session.request("prompts/list", json!({})).await["result"]["prompts"][0]["arguments"].clone();
            let language = json!({ "name": "language", "description": "The language of the code.", "required": true });
            let mut expected = vec![language];
            expected.extend(["most", "strict"].map(|name| json!({ "name": name, "required": false })));
            assert_eq!(listed, json!(expected), "{revision}");
            for (arguments, expected) in [
                (
                    json!({ "language": "7", "most": "3" }),
                    Ok("Review { language: \"7\", most: Some(3), strict: None }"),
                ),
                (
                    json!({ "language": "c", "strict": "true" }),
                    Ok("Review { language: \"c\", most: None, strict: Some(true) }"),
                ),
                (json!({ "language": "c", "most": "x" }), Err("invalid arguments for review: most: ")),
                (json!({ "most": "1" }), Err("params.arguments.language: missing required argument")),
            ] {
                let params = json!({ "name": "review", "arguments": arguments });
                let response = session.request("prompts/get", params).await;
                match expected {
                    Ok(text) => assert_eq!(response["result"]["messages"][0]["content"]["text"], text, "{response}"),
                    Err(why) => {
                        let message = response["error"]["message"].as_str().unwrap_or_default();
                        assert!(message.contains(why) && !message.contains("u8"), "{response}");
                    }
                }
            }
        }
    }

    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct Numbers {
        small: u8,
        large: Vec<i64>,
        #[schemars(extend("format" = "date-time"))]
        format: String,
    }

    #[tokio::test]
    async fn schemas_have_only_formats_of_json_schema() {
        let server = Server::builder("numbers", "1").tool("add", |_: Args<Numbers>| async {}).build();
        let mut session = Session::of(&server, Revision::V2026_07_28).await;
        let schema = session.request("tools/list", json!({})).await["result"]["tools"][0]["inputSchema"].clone();
        let format = |name: &str| schema["properties"][name]["format"].clone();
        assert_eq!((format("small"), format("format")), (Value::Null, json!("date-time")), "{schema}");
        assert_eq!(schema["properties"]["large"]["items"], json!({ "type": "integer" }));
        let call = json!({ "name": "add", "arguments": { "small": "x", "large": [], "format": "" } });
        let message = session.request("tools/call", call).await["result"]["content"][0]["text"].clone();
        let message = message.as_str().unwrap_or_default();
        assert!(message.starts_with("invalid arguments for add: ") && !message.contains("u8"), "{message}");
    }
}

#[test]
fn reports_invalid_definitions() {
    let long = "x".repeat(129);
    for name in ["", "two words", "a,b", "ä", "a/b", long.as_str()] {
        let error = Server::builder("s", "1").build().add_tool(tool(name), || async {}).expect_err("an invalid name");
        assert!(matches!(error, DefinitionError::InvalidName(invalid) if invalid == name));
    }
    for name in ["getUser", "DATA_EXPORT_v2", "admin.tools.list", "a-b", &"x".repeat(128)] {
        Server::builder("s", "1").build().add_tool(tool(name), || async {}).expect("a name");
    }
    let header = json!({ "type": "object", "properties": { "a": { "type": "string", "x-mcp-header": "" } } });
    let with_header = Tool::new("t", mcpgen_types::from_value::<ToolInputSchema>(header).expect("a schema"));
    let twice = Server::builder("s", "1")
        .tool(tool("a"), || async {})
        .tool(tool("A"), || async {})
        .tool(tool("a"), || async {})
        .tool(with_header, || async {})
        .resource(Resource::new("x:", "x"), || async { "" })
        .resource(Resource::new("x:", "y"), || async { "" })
        .resource_template(ResourceTemplate::new("x:{", "t"), || async { "" })
        .resource_template(ResourceTemplate::new("x:{?query}", "u"), || async { "" })
        .prompt(Prompt::new("p"), || async { "" })
        .prompt(Prompt::new("p"), || async { "" })
        .build();
    let Err(ServeError::Definition(problems)) = twice.config() else { panic!("expected invalid definitions") };
    assert_eq!(problems.len(), 6, "{problems:?}");
    let message = ServeError::Definition(problems).to_string();
    for part in [
        "tool \"a\" is defined twice",
        "x-mcp-header of \"a\": must not be empty",
        "resource \"x:\"",
        "\"x:{\"",
        "\"x:{?query}\"",
        "prompt \"p\"",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn sends_log_messages_and_progress_before_the_result() {
    let server = server();
    let mut session = Session::of(&server, Revision::V2025_11_25).await;
    let meta = json!({ "progressToken": "p" });
    session.send("tools/call", json!({ "name": "logs", "_meta": meta })).await;
    let received = [session.remote.receive().await, session.remote.receive().await, session.remote.receive().await];
    let methods: Vec<_> = received.iter().map(|message| message["method"].as_str()).collect();
    assert_eq!(methods, [Some("notifications/message"), Some("notifications/progress"), None]);
}

#[tokio::test]
async fn changes_from_handlers_and_from_other_threads() {
    let server = server();
    let (inside, other) = (server.clone(), server.clone());
    let added = server.add_resource(Resource::new("file:///makes", "makes"), move || {
        inside.add_resource(Resource::new("file:///made", "made"), || async { "made" }).expect("a valid server");
        async { "makes" }
    });
    added.expect("a valid server");
    let mut session = Session::of(&server, Revision::V2025_11_25).await;
    let id = session.send("resources/read", json!({ "uri": "file:///makes" })).await;
    let received = [session.remote.receive().await, session.remote.receive().await];
    assert!(received.iter().any(|message| message["id"] == id && message["result"].is_object()), "{received:?}");
    assert!(received.iter().any(|message| message["method"] == "notifications/resources/list_changed"), "{received:?}");
    assert!(session.request("resources/read", json!({ "uri": "file:///made" })).await["result"].is_object());
    // Tools can be removed from a thread outside of the runtime.
    std::thread::spawn(move || assert!(other.remove_tool("text"))).join().expect("removed");
    assert_eq!(session.remote.receive().await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn coalesces_changes_while_a_client_does_not_read() {
    let server = server();
    let mut session = Session::of(&server, Revision::V2025_11_25).await;
    for _ in 0..50 {
        session.remote.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    }
    session.request("ping", json!({})).await;
    let before = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    for _ in 0..10_000 {
        server.changed(&Change::Tools);
    }
    let after = tokio::runtime::Handle::current().metrics().num_alive_tasks();
    assert_eq!(after, before);
    assert_eq!(session.remote.receive().await["method"], "notifications/tools/list_changed");
    assert_eq!(session.request("ping", json!({})).await["result"], json!({}), "no other message is pending");
}

#[tokio::test]
async fn limits_resource_subscriptions() {
    let server = server();
    let mut session = Session::of(&server, Revision::V2025_11_25).await;
    for n in 0..1024 {
        assert_eq!(
            session.request("resources/subscribe", json!({ "uri": format!("x:{n}") })).await["result"],
            json!({})
        );
    }
    let error = session.request("resources/subscribe", json!({ "uri": "x:one-more" })).await["error"].clone();
    assert_eq!(error["code"], -32005);
    assert!(error["message"].as_str().is_some_and(|message| message.contains("unsubscribe")), "{error}");
    assert_eq!(
        session.request("resources/subscribe", json!({ "uri": "x:0" })).await["result"],
        json!({}),
        "already subscribed"
    );
    server.changed(&Change::Resource("x:0".to_owned()));
    assert_eq!(session.remote.receive().await["params"]["uri"], "x:0");
    let long = "x".repeat(10_000);
    assert_eq!(session.request("resources/subscribe", json!({ "uri": long })).await["error"]["code"], -32602);
}

#[tokio::test]
async fn template_variables_match_one_segment() {
    let server = Server::builder("s", "1")
        .resource_template(
            ResourceTemplate::new("x:///{name}", "x"),
            |variables: BTreeMap<String, String>| async move { variables["name"].clone() },
        )
        .build();
    let mut session = Session::of(&server, Revision::V2026_07_28).await;
    for (uri, expected) in [
        ("x:///a", Some("a")),
        ("x:///a%20b", Some("a b")),
        ("x:///a+b:c@d", Some("a+b:c@d")),
        ("x:///%zz", None),
        ("x:///..%2F..%2Fetc", None),
        ("x:///..", None),
        ("x:///%2e%2e", None),
        ("x:///a%00", None),
        ("x:///a%5Cb", None),
        ("x:///", None),
        ("x:///a/b", None),
    ] {
        let response = session.request("resources/read", json!({ "uri": uri })).await;
        assert_eq!(response["result"]["contents"][0]["text"].as_str(), expected, "{uri}: {response}");
    }
    for (template, is_supported) in [
        ("x:///{a}/{a}", false),
        ("x:///{a}{b}", false),
        ("x:///{+a}{b}", false),
        ("x:///{a}{+b}", false),
        ("x:///{a}{#b}", true),
        ("x:///{a}-{b}", true),
    ] {
        let template = ResourceTemplate::new(template, "x");
        let server = Server::builder("s", "1").resource_template(template.clone(), || async { "" }).build();
        match server.config() {
            Ok(_) => assert!(is_supported, "{template:?}"),
            Err(error) => assert!(!is_supported && matches!(error, ServeError::Definition(_)), "{template:?}: {error}"),
        }
    }
}

#[tokio::test]
async fn changes_templates_while_serving() {
    let server = Server::builder("s", "1").build();
    let mut early = Session::of(&server, Revision::V2026_07_28).await;
    let read = json!({ "uri": "x:///a" });
    assert_eq!(early.request("resources/read", read.clone()).await["error"]["code"], -32601);
    let template = || ResourceTemplate::new("x:///{name}", "x");
    server.add_resource_template(template(), || async { "found" }).expect("a new template");
    let twice = server.add_resource_template(template(), || async { "" }).expect_err("the same template");
    assert!(matches!(&twice, DefinitionError::Duplicate { key, .. } if key == "x:///{name}"), "{twice}");
    assert_eq!(early.request("resources/read", read.clone()).await["result"]["contents"][0]["text"], "found");
    // The connection was opened before the first template was added.
    let filter = json!({ "resourcesListChanged": true });
    early.send("subscriptions/listen", json!({ "notifications": filter })).await;
    assert_eq!(early.remote.receive().await["params"]["notifications"], filter);
    assert!(server.remove_resource_template("x:///{name}") && !server.remove_resource_template("x:///{name}"));
    assert_eq!(early.remote.receive().await["method"], "notifications/resources/list_changed");
    assert_eq!(early.request("resources/read", read).await["error"]["code"], -32602);
}

#[tokio::test]
async fn declares_capabilities_of_the_application() {
    let tools = v2026_07_28::ServerCapabilitiesTools::new().with_list_changed(false);
    let experimental =
        [("com.example/x".to_owned(), JsonObject::new())].into_iter().collect::<std::collections::BTreeMap<_, _>>();
    let capabilities = v2026_07_28::ServerCapabilities::new().with_tools(tools).with_experimental(experimental);
    let server = builder().capabilities(&capabilities).build();
    let mut session = Session::of(&server, Revision::V2026_07_28).await;
    let discovered = session.request("server/discover", json!({})).await["result"]["capabilities"].clone();
    assert_eq!(discovered["tools"], json!({ "listChanged": false }));
    assert_eq!(discovered["experimental"], json!({ "com.example/x": {} }));
    assert_eq!(discovered["prompts"], json!({ "listChanged": true }));
}

#[tokio::test]
async fn lists_output_schemas_where_the_revision_allows_them() {
    // Since 2026-07-28, structured content can be any JSON value.
    let output: v2026_07_28::ToolOutputSchema = mcpgen_types::from_value(json!({ "type": "array" })).expect("a schema");
    let server = Server::builder("s", "1")
        .tool(tool("t").with_output_schema(output), || async { Structured(json!([1])) })
        .build();
    for revision in Revision::ALL.iter().copied() {
        let mut session = Session::of(&server, revision).await;
        let tools = session.request("tools/list", json!({})).await["result"]["tools"].clone();
        assert_eq!(tools[0].get("outputSchema").is_some(), revision >= Revision::V2026_07_28, "{revision}");
    }
}

#[tokio::test]
async fn rejects_input_required_results_in_legacy_revisions() {
    let server = Server::builder("s", "1")
        .tool(tool("by-hand"), || async {
            Err::<(), _>(InputRequired::new(v2026_07_28::InputRequiredResult::new().with_request_state("x")))
        })
        .build();
    let mut session = Session::of(&server, Revision::V2025_11_25).await;
    let error = session.call("by-hand", json!({})).await["error"].clone();
    assert!(error["message"].as_str().is_some_and(|message| message.contains("2025-11-25")), "{error}");
    let mut session = Session::of(&server, Revision::V2026_07_28).await;
    assert_eq!(session.call("by-hand", json!({})).await["result"]["requestState"], "x");
}

#[tokio::test]
async fn rejects_input_requests_that_the_revision_does_not_support() {
    let choice = json!({ "message": "?", "requestedSchema": { "type": "object", "properties": {
        "a": { "type": "array", "items": { "type": "string", "enum": ["x"] } },
    } } });
    let choice: ElicitRequestFormParams = mcpgen_types::from_value(choice).expect("params");
    let server = Server::builder("s", "1")
        .tool(tool("choice"), move |context: RequestContext| {
            let choice = choice.clone();
            async move { context.elicit("c", choice).await.map(|_| "answered") }
        })
        .tool(tool("audio"), |context: RequestContext| async move {
            let message = SamplingMessage::new(Role::User, AudioContent::new("").mime_type("audio/wav"));
            context.sample("s", CreateMessageRequestParams::new(vec![message], 1)).await.map(|_| "answered")
        })
        .build();
    for (name, revision) in [("choice", Revision::V2025_06_18), ("audio", Revision::V2024_11_05)] {
        let mut session = Session::of(&server, revision).await;
        let result = session.call(name, json!({})).await["result"].clone();
        assert_eq!(result["isError"], true, "{result}");
        assert!(
            result["content"][0]["text"].as_str().is_some_and(|message| message.contains(revision.as_str())),
            "{result}"
        );
    }
}

#[tokio::test]
async fn layers_can_reject_calls() {
    let guard = |request: mcpgen_sdk::router::AnyRequest| match request.context.subject() {
        Some("nothing") => Err(ErrorObject::new(-32001, "not for you")),
        _ => Ok(request),
    };
    let guarded = tower::layer::layer_fn(move |router: Router| tower::filter::Filter::new(router, guard));
    let (here, there) = mcpgen_sdk::transport::duplex();
    tokio::spawn(async move { serve(builder().layer(guarded).build(), there).await });
    let client = mcpgen_sdk::Client::builder("c", "1").connect(here.0, here.1).await.expect("connected");
    client.call_tool("text", JsonObject::new()).await.expect("allowed");
    let error = client.call_tool("nothing", JsonObject::new()).await.expect_err("an error response");
    assert!(error.to_string().contains("not for you"), "{error}");
}

mod typed {
    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::*;

    /// Adds numbers.
    #[derive(Deserialize, JsonSchema)]
    struct Add {
        /// The first number.
        a: i64,
        b: Vec<Item>,
    }

    #[derive(Deserialize, JsonSchema)]
    struct Item {
        value: i64,
    }

    #[derive(Serialize, JsonSchema)]
    struct Sum {
        sum: i64,
    }

    /// Has different names for input and output.
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Twofold {
        #[serde(rename(serialize = "written", deserialize = "read"))]
        value: i64,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    enum Shape {
        Circle { radius: f64 },
        Square { side: f64 },
    }

    fn server() -> Server {
        Server::builder("typed", "1")
            .tool("add", |Args(Add { a, b })| async move {
                let sum = b.iter().try_fold(a, |sum, item| sum.checked_add(item.value));
                sum.map(|sum| Structured(Sum { sum })).ok_or(ToolError::failed("too large"))
            })
            .tool(
                ToolInfo::new("area").title("Area").description("How large it is."),
                |Args(shape): Args<Shape>| async move {
                    match shape {
                        Shape::Circle { radius } => (radius * radius * 3.0).to_string(),
                        Shape::Square { side } => (side * side).to_string(),
                    }
                },
            )
            .tool("now", || async { "now" })
            .tool("twofold", |Args(it): Args<Twofold>| async move { Structured(it) })
            .build()
    }

    #[tokio::test]
    async fn derives_schemas_from_types() {
        for revision in Revision::ALL.iter().copied() {
            let mut session = Session::of(&server(), revision).await;
            let tools = session.request("tools/list", json!({})).await["result"]["tools"].clone();
            let (add, area, now) = (&tools[0], &tools[1], &tools[2]);
            assert_eq!(add["description"], "Adds numbers.");
            assert_eq!(tools[3]["inputSchema"]["required"], json!(["read"]));
            let required = tools[3].get("outputSchema").map(|schema| schema["required"].clone());
            assert_eq!(required, (revision >= Revision::V2025_06_18).then(|| json!(["written"])));
            let result = session.call("twofold", json!({ "read": 1 })).await["result"].clone();
            assert_eq!(result["content"][0]["text"], r#"{"written":1}"#, "{result}");
            assert_eq!(add["inputSchema"]["properties"]["a"]["description"], "The first number.");
            assert_eq!(add["inputSchema"]["required"], json!(["a", "b"]));
            assert!(add["inputSchema"].get("title").is_none());
            assert_eq!(add.get("outputSchema").is_some(), revision >= Revision::V2025_06_18);
            assert_eq!(
                (&area["inputSchema"]["type"], &area["description"]),
                (&json!("object"), &json!("How large it is."))
            );
            assert_eq!(
                (&now["inputSchema"]["type"], &now["inputSchema"]["additionalProperties"]),
                (&json!("object"), &json!(false))
            );
        }
    }

    #[tokio::test]
    async fn reports_invalid_arguments_to_the_model() {
        for revision in Revision::ALL.iter().copied() {
            let mut session = Session::of(&server(), revision).await;
            let sum = session.call("add", json!({ "a": 1, "b": [{ "value": 2 }] })).await["result"].clone();
            assert_eq!(sum["content"][0]["text"], r#"{"sum":3}"#);
            assert_eq!(sum["structuredContent"]["sum"].as_i64(), (revision >= Revision::V2025_06_18).then_some(3));
            assert_eq!(
                session.call("area", json!({ "kind": "Square", "side": 2.0 })).await["result"]["content"][0]["text"],
                "4"
            );
            assert_eq!(session.call("now", json!({})).await["result"]["content"][0]["text"], "now");
            for (tool, arguments, part) in [
                ("add", json!({ "a": 1 }), "missing field `b`"),
                ("add", json!({ "a": "x", "b": [] }), "argument a: "),
                ("add", json!({ "a": 1, "b": [{ "value": 2 }, { "value": "x" }] }), "argument b[1].value: "),
                ("add", json!({ "a": i64::MAX, "b": [{ "value": 1 }] }), "too large"),
                ("area", json!({ "kind": "Line" }), "unknown variant `Line`"),
                ("area", json!({}), "missing field `kind`"),
            ] {
                let result = session.call(tool, arguments.clone()).await["result"].clone();
                assert_eq!(result["isError"], true, "{revision} {arguments}");
                let message = result["content"][0]["text"].as_str().expect("text");
                assert!(message.contains(part), "{message}");
            }
        }
    }

    #[test]
    fn rejects_arguments_that_are_not_objects() {
        let error =
            Server::builder("s", "1").build().add_tool("t", |_: Args<String>| async {}).expect_err("not an object");
        assert!(matches!(error, DefinitionError::NotAnObject { .. }), "{error}");
    }
}

mod validated {
    use super::*;

    fn schema<T: mcpgen_types::codec::Decode>(schema: Value) -> T {
        mcpgen_types::from_value(schema).expect("a schema")
    }

    #[tokio::test]
    async fn validates_arguments_and_results() {
        let input = json!({
            "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": { "a": { "type": "integer", "maximum": 3 } },
        });
        let output = json!({ "type": "object", "required": ["b"] });
        let checked = Tool::new("checked", schema::<ToolInputSchema>(input))
            .with_output_schema(schema::<v2026_07_28::ToolOutputSchema>(output));
        let server = Server::builder("s", "1")
            .validate(mcpgen_validate::JsonSchema)
            .tool(checked, |arguments: JsonObject| async move {
                match arguments.get("a").and_then(|a| a.as_i64()) {
                    Some(1) => Ok(Structured(json!({ "b": 1 }))),
                    Some(2) => Ok(Structured(json!({}))),
                    _ => Err(ToolError::failed("three")),
                }
            })
            .build();
        let mut session = Session::of(&server, Revision::V2026_07_28).await;
        assert_eq!(session.call("checked", json!({ "a": 1 })).await["result"]["structuredContent"], json!({ "b": 1 }));
        assert_eq!(
            session.call("checked", json!({ "a": 2 })).await["error"]["code"],
            -32603,
            "the result does not match the output schema"
        );
        assert_eq!(session.call("checked", json!({ "a": 3 })).await["result"]["content"][0]["text"], "three");
        for (arguments, part) in [(json!({}), "\"a\""), (json!({ "a": 4 }), "/a: "), (json!({ "a": 1, "c": 1 }), "'c'")]
        {
            let result = session.call("checked", arguments).await["result"].clone();
            assert_eq!(result["isError"], true);
            let message = result["content"][0]["text"].as_str().expect("text");
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn rejects_invalid_schemas_and_remote_references() {
        for bad in [
            json!({ "type": "object", "properties": { "a": { "type": "nonsense" } } }),
            json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/schema.json" } } }),
        ] {
            let tool = Tool::new("t", schema::<ToolInputSchema>(bad.clone()));
            let error = Server::builder("s", "1")
                .validate(mcpgen_validate::JsonSchema)
                .build()
                .add_tool(tool, || async {})
                .expect_err("an invalid schema");
            assert!(matches!(error, DefinitionError::Schema { .. }), "{bad}: {error}");
        }
    }
}

#[test]
fn completions_belong_to_existing_arguments() {
    let prompt = || Prompt::new("review").with_arguments([PromptArgument::new("language")]);
    let template = || ResourceTemplate::new("note:///{user}/{id}", "note");
    for (argument, expected) in [
        ("language", None),
        ("langauge", Some(r#"the completion of prompt "review": it has no "langauge"; did you mean "language"?"#)),
    ] {
        let server = Server::builder("server", "1").prompt(prompt(), || async { "" });
        let server = server.prompt_completion("review", argument, || async { vec![] });
        let error = server.build().config().err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{argument}");
    }
    for (variable, expected) in [
        ("id", None),
        ("user", None),
        ("name", Some(r#"the completion of resource template "note:///{user}/{id}": it has no "name""#)),
    ] {
        let server = Server::builder("server", "1").resource_template(template(), || async { "" });
        let server = server.template_completion("note:///{user}/{id}", variable, || async { vec![] });
        let error = server.build().config().err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), expected, "{variable}");
    }
}

#[test]
fn completions_belong_to_existing_prompts_and_templates() {
    let server = || {
        let template = ResourceTemplate::new("note:///{id}", "note");
        let server = Server::builder("server", "1").prompt(Prompt::new("review"), || async { "" });
        server.resource_template(template, || async { "" })
    };
    for (name, expected) in [
        (
            "reviw",
            r#"the completion of prompt "reviw": there is no such prompt; did you mean "review"?; add it to the `ServerBuilder`"#,
        ),
        ("x", r#"the completion of prompt "x": there is no such prompt; add it to the `ServerBuilder`"#),
    ] {
        let server = server().prompt_completion(name, "a", || async { vec![] });
        assert_eq!(server.build().config().expect_err(name).to_string(), expected);
    }
    let server = server().template_completion("note:///{name}", "name", || async { vec![] });
    let error = server.build().config().expect_err("no such template").to_string();
    assert!(error.starts_with(r#"the completion of resource template "note:///{name}": there is no such "#), "{error}");
}

#[test]
fn resources_have_uris() {
    for (uri, is_valid) in [
        ("file:///notes/a%20b?c#d", true),
        ("urn:isbn:0451450523", true),
        ("git+ssh://host/päth", true),
        ("config", false),
        ("", false),
        ("/notes/today", false),
        ("://notes", false),
        ("1a:b", false),
        ("file:///a b", false),
        ("file:///{name}", false),
        ("C:\\notes.txt", false),
    ] {
        let resource = || Resource::new(uri, "the notes");
        let server = Server::builder("server", "1").resource(resource(), || async { "" }).build();
        let error = server.config().err().map(|error| error.to_string());
        let expected = format!("resource \"the notes\": {uri:?} is not a URI; a URI begins with a scheme");
        assert_eq!(error.is_none(), is_valid, "{uri:?}: {error:?}");
        assert!(error.is_none_or(|error| error.starts_with(&expected)), "{uri:?}");
        let server = Server::builder("server", "1").build();
        assert_eq!(server.add_resource(resource(), || async { "" }).is_ok(), is_valid, "{uri:?}");
    }
}

#[tokio::test]
async fn a_handler_of_one_revision_does_not_exclude_the_others() {
    let server = Server::builder("server", "1").tool("greet", || async { "hello" }).build();
    let busy = || ErrorObject::new(ErrorCode::INTERNAL_ERROR, "busy");
    let router =
        server.router().request::<CompleteRequest>(move |_, _| async move { Err::<CompleteResult, _>(busy()) });
    for &revision in Revision::ALL {
        let (ours, theirs) = transport::duplex();
        tokio::spawn(serve((server.config().expect("valid"), router.clone()), ours));
        let client = Client::builder("client", "1").revisions([revision]);
        let client = client.connect(theirs.0, theirs.1).await.unwrap_or_else(|error| panic!("{revision}: {error}"));
        assert_eq!(client.tools().await.expect("tools").len(), 1, "{revision}");
    }
}
