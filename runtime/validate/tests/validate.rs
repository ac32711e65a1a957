//! Validation of arguments and results against their schemas, and its limits.

#[path = "../../tests/support/raw_peer.rs"]
mod raw_peer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcpgen_sdk::server::DefinitionError;
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Client, Server, serve};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use mcpgen_types::{JsonObject, Revision};
use mcpgen_validate::JsonSchema;
use raw_peer::RawPeer;
use serde_json::{Map, Value, json};

/// Runs a test in a single-threaded runtime. Fails after a minute, even if the test blocks its thread.
fn within_a_minute<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + Send + 'static) {
    let (done, outcome) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(test());
        done.send(()).expect("an open channel");
    });
    outcome.recv_timeout(Duration::from_secs(60)).expect("the test passes in time");
}

/// A schema with definitions `d0` to `d{levels}`, each of which refers to the next.
fn definitions(levels: usize, last: Value, each: impl Fn(Value) -> Value) -> Value {
    let next = |level: usize| json!({ "$ref": format!("#/$defs/d{}", level + 1) });
    let mut definitions: Map<String, Value> =
        (0..levels).map(|level| (format!("d{level}"), each(next(level)))).collect();
    definitions.insert(format!("d{levels}"), last);
    json!({ "type": "object", "$defs": definitions, "$ref": "#/$defs/d0" })
}

/// A schema whose evaluation time doubles with each of 60 levels of the instance.
fn doubling_by_level() -> Value {
    definitions(60, json!({ "maxProperties": 5 }), |next| {
        let member = json!({ "properties": { "x": next } });
        json!({ "allOf": [member, member] })
    })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({ "x": inner }))
}

fn object(value: Value) -> JsonObject {
    value.try_into().expect("an object")
}

fn tool(input: Value) -> Tool {
    Tool::new("tool", mcpgen_types::from_value::<ToolInputSchema>(input).expect("a schema"))
}

async fn connected(server: Server) -> Client {
    let (here, there) = mcpgen_sdk::transport::duplex();
    tokio::spawn(async move { serve(server, there).await });
    Client::builder("client", "1").validate(JsonSchema).connect(here.0, here.1).await.expect("connected")
}

/// Connects to a server whose only tool has an output schema and returns its arguments as structured content.
async fn connected_to_tool_with(output: Value) -> Client {
    let (here, there) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(there);
    let mut remote = RawPeer::new(here);
    tokio::spawn(async move {
        loop {
            let request = remote.receive().await;
            let Some(id) = request.get("id") else { continue };
            let result = match request["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": "2025-11-25",
                    "capabilities": { "tools": { "listChanged": true } },
                    "serverInfo": { "name": "server", "version": "1" },
                }),
                Some("tools/list") => {
                    let tool = json!({ "name": "tool", "inputSchema": { "type": "object" }, "outputSchema": output });
                    json!({ "tools": [tool] })
                }
                _ => json!({ "content": [], "structuredContent": request["params"]["arguments"] }),
            };
            remote.send(&json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
        }
    });
    let builder = Client::builder("client", "1").validate(JsonSchema).revisions([Revision::V2025_11_25]);
    let client = builder.connect(lines::receive(reader, 1 << 20), lines::send(writer)).await.expect("connected");
    client.tools().await.expect("tools");
    client
}

fn definition_error(schema: Value) -> Option<String> {
    let added = Server::builder("server", "1").validate(JsonSchema).build().add_tool(tool(schema), || async {});
    added.err().map(|error| {
        assert!(matches!(&error, DefinitionError::Schema { schema: "inputSchema", .. }), "{error}");
        std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default()
    })
}

#[test]
fn rejects_schemas_that_expand_too_far() {
    within_a_minute(|| async {
        let twice = |keyword: &str| {
            let keyword = keyword.to_owned();
            definitions(40, json!(true), move |next| json!({ (keyword.clone()): [next, next] }))
        };
        let unevaluated =
            definitions(40, json!(true), |next| json!({ "anyOf": [next, next], "unevaluatedProperties": false }));
        for schema in [twice("allOf"), twice("anyOf"), twice("oneOf"), unevaluated] {
            let error = definition_error(schema.clone()).expect("an error");
            assert!(error.contains("more than 10000 subschemas apply to one value"), "{error}");
        }
        let unevaluated =
            definitions(10, json!(true), |next| json!({ "anyOf": [next, next], "unevaluatedProperties": false }));
        let error = definition_error(unevaluated).expect("an error");
        assert!(error.contains("inspect more than 5000 subschemas"), "{error}");
    });
}

#[test]
fn rejects_reference_loops_and_long_chains() {
    within_a_minute(|| async {
        for schema in [
            json!({ "type": "object", "$ref": "#" }),
            json!({ "type": "object", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } }, "$ref": "#/$defs/a" }),
            json!({ "type": "object", "not": { "anyOf": [{ "$dynamicRef": "#a" }] }, "$dynamicAnchor": "a" }),
            definitions(5_000, json!(true), |next| json!({ "allOf": [next] })),
        ] {
            let error = definition_error(schema).expect("an error");
            assert!(error.contains("a reference loop, or more than 100 nested subschemas"), "{error}");
        }
    });
}

#[test]
fn rejects_patterns_that_may_take_much_memory() {
    within_a_minute(|| async {
        for pattern in ["(((a{100}){100}){100}){10}", r"(\w{200}){200}"] {
            let error = definition_error(json!({ "type": "object", "properties": { "s": { "pattern": pattern } } }));
            let error = error.unwrap_or_else(|| panic!("{pattern} was accepted"));
            assert!(error.contains("patterns must compile to at most"), "{error}");
            let error = definition_error(json!({ "type": "object", "patternProperties": { (pattern): true } }));
            assert!(error.is_some(), "{pattern}");
        }
        for pattern in
            ["^(?!a)b", "^[a-z0-9._-]{1,255}$", r"^\d{4}-\d{2}-\d{2}T.*Z$", "^(a+)+$", r"^\p{L}+$", "^.{1,1000}$"]
        {
            let error = definition_error(json!({ "type": "object", "properties": { "s": { "pattern": pattern } } }));
            assert_eq!(error, None, "{pattern}");
        }
    });
}

#[test]
fn rejects_too_many_patterns_and_subschemas() {
    within_a_minute(|| async {
        let patterns: Vec<Value> = (0..251).map(|n| json!({ "pattern": format!("^{n}$") })).collect();
        let error = definition_error(json!({ "type": "object", "properties": { "s": { "anyOf": patterns } } }));
        assert!(error.expect("an error").contains("more than 250 patterns"));
        let properties: Map<String, Value> = (0..20_000).map(|n| (n.to_string(), json!({}))).collect();
        let error = definition_error(json!({ "type": "object", "properties": properties }));
        assert!(error.expect("an error").contains("more than 20000 subschemas"));
    });
}

#[test]
fn a_slow_check_fails_the_call_and_blocks_no_other() {
    within_a_minute(|| async {
        let server = Server::builder("server", "1")
            .validate(JsonSchema)
            .tool(tool(doubling_by_level()), || async { "called" })
            .tool(Tool::new("other", ToolInputSchema::new()), || async { "called" })
            .build();
        let client = Arc::new(connected(server).await);
        let slow = Arc::clone(&client);
        let slow = tokio::spawn(async move { slow.call_tool("tool", object(nested(60))).await });
        tokio::task::yield_now().await;
        client.call_tool("other", JsonObject::new()).await.expect("a result");
        assert!(!slow.is_finished(), "the other call completes first");
        let result = slow.await.expect("no panic").expect("a result");
        assert_eq!(result.is_error, Some(true));
        let result = mcpgen_types::to_value(&result).expect("JSON");
        assert_eq!(result["content"][0]["text"], "tool: checking the arguments against inputSchema took too long");
        // Most arguments are fast to check against the same schema.
        let result = client.call_tool("tool", object(nested(5))).await.expect("a result");
        assert_eq!(result.is_error, None, "{result:?}");
    });
}

#[test]
fn a_client_stops_a_slow_check() {
    within_a_minute(|| async {
        let client = connected_to_tool_with(doubling_by_level()).await;
        let error = client.call_tool("tool", object(nested(60))).await.expect_err("a timeout");
        assert!(error.to_string().contains("checking it against the tool's outputSchema took too long"), "{error}");
        client.call_tool("tool", object(nested(5))).await.expect("a valid result");
    });
}

#[test]
fn quotes_only_short_values_in_errors() {
    within_a_minute(|| async {
        let schema = json!({ "type": "object", "properties": { "s": { "maxLength": 3 }, "t": { "enum": ["a"] } } });
        let server =
            Server::builder("server", "1").validate(JsonSchema).tool(tool(schema), || async { "called" }).build();
        let client = connected(server).await;
        for (arguments, expected) in [
            (json!({ "s": "long" }), "/s: \"long\" is longer than 3 characters"),
            (json!({ "s": "é".repeat(100_000) }), "/s: value is longer than 3 characters"),
            (json!({ "t": "é".repeat(100_000) }), "/t: value is not one of \"a\""),
        ] {
            let result = client.call_tool("tool", object(arguments)).await.expect("a result");
            let result = mcpgen_types::to_value(&result).expect("JSON");
            let text = result["content"][0]["text"].as_str().expect("text");
            assert!(text.contains(expected) && text.len() < 500, "{}", text.chars().take(300).collect::<String>());
        }
    });
}

/// Counts warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn compiles_an_output_schema_once_per_listed_tool() {
    within_a_minute(|| async {
        let warnings = Warnings::default();
        let _logged = tracing::subscriber::set_default(warnings.clone());
        for unchecked in [
            json!({ "type": "object", "properties": { "s": { "pattern": r"(\w{200}){200}" } } }),
            json!({ "type": "object", "$ref": "https://example.com/schema.json" }),
        ] {
            warnings.0.store(0, Ordering::SeqCst);
            let client = connected_to_tool_with(unchecked.clone()).await;
            for _ in 0..3 {
                client.call_tool("tool", object(json!({ "s": "a".repeat(60) }))).await.expect("an unchecked result");
            }
            assert_eq!(warnings.0.load(Ordering::SeqCst), 1, "{unchecked}");
            client.tools().await.expect("the cached list");
            client.call_tool("tool", JsonObject::new()).await.expect("an unchecked result");
            assert_eq!(warnings.0.load(Ordering::SeqCst), 1, "{unchecked}");
        }
    });
}
