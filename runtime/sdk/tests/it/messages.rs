//! Messages that users see when something is wrong, in full.

use mcpgen_sdk::protocol::RouterExt;
use mcpgen_sdk::server::Args;
use mcpgen_sdk::{LocalInfo, ServerBuilder};
use mcpgen_types::Revision;
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use serde_json::json;

use crate::support::{RawPeer, run};

/// Connects to a server that supports these revisions.
fn connect(is_supported: impl Fn(Revision) -> bool, add: impl FnOnce(ServerBuilder) -> ServerBuilder) -> RawPeer {
    let local_info = LocalInfo::new("notes", "1").retain_revisions(is_supported);
    let server = add(ServerBuilder::from(local_info)).build();
    let (router, config) = (server.router(), server.config().expect("a valid server"));
    let handled = mcpgen_sdk::Router::new().handled(mcpgen_sdk::protocol::Role::Server);
    let protocol = std::sync::Arc::new(config.protocol(&handled));
    RawPeer::connect(|pipe| run(router, protocol, mcpgen_sdk::Limits::default(), pipe)).0
}

fn add_note(server: ServerBuilder) -> ServerBuilder {
    server.tool(Tool::new("add_note", ToolInputSchema::new()), || async {})
}

#[tokio::test]
async fn a_client_that_does_not_begin_with_initialize_learns_so() {
    type IsSupported = fn(Revision) -> bool;
    let table: [(IsSupported, i64, &str); 3] = [
        (Revision::is_legacy, -32600, "the connection is not initialized yet; send `initialize` first"),
        (
            |_| true,
            -32602,
            "invalid params: params._meta[\"io.modelcontextprotocol/protocolVersion\"]: missing required member; a client of a revision \
             before 2026-07-28 must send `initialize` first",
        ),
        (
            |revision| !revision.is_legacy(),
            -32602,
            "invalid params: params._meta[\"io.modelcontextprotocol/protocolVersion\"]: missing required member; a client of a revision \
             before 2026-07-28 must send `initialize` first",
        ),
    ];
    for (is_supported, code, expected) in table {
        let mut remote = connect(is_supported, add_note);
        for method in ["tools/list", "tools/call"] {
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "name": "add_note" } });
            let response = remote.request(&request.to_string()).await;
            let error = &response["error"];
            assert_eq!((&error["code"], &error["message"]), (&json!(code), &json!(expected)), "{method}");
        }
    }
}

#[tokio::test]
async fn invalid_arguments_name_the_tool_and_the_argument() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    struct Note {
        text: String,
        tags: Vec<String>,
        stars: Option<u8>,
    }
    let types = [
        (json!({}), "missing field `text`"),
        (json!({ "text": "a" }), "missing field `tags`"),
        (json!({ "text": "a", "tag": [] }), "missing field `tags` (unknown argument \"tag\"; did you mean \"tags\"?)"),
        (json!({ "text": "a", "other": [] }), "missing field `tags`"),
        (json!({ "text": 1, "tags": [] }), "argument text: invalid type: integer `1`, expected string"),
        (json!({ "text": "a", "tags": ["b", 2] }), "argument tags[1]: invalid type: integer `2`, expected string"),
        (
            json!({ "text": "a", "tags": [], "stars": 256 }),
            "argument stars: invalid value: integer `256`, expected integer from 0 to 255",
        ),
    ];
    // A validator checks arguments against their schema before they are decoded.
    let schemas = [
        (json!({}), "\"text\" is a required property; \"tags\" is a required property"),
        (json!({ "text": "a" }), "\"tags\" is a required property"),
        (
            json!({ "txet": "a", "tags": [] }),
            "\"text\" is a required property (unknown argument \"txet\"; did you mean \"text\"?)",
        ),
        (json!({ "text": 1, "tags": [] }), "/text: 1 is not of type \"string\""),
        (json!({ "text": "a", "tags": ["b", 2] }), "/tags/1: 2 is not of type \"string\""),
        (json!({ "text": "a", "tags": [], "stars": 256 }), "/stars: 256 is greater than the maximum of 255"),
    ];
    let add_note = |server: ServerBuilder| server.tool("add_note", |_: Args<Note>| async {});
    let validated = |server: ServerBuilder| add_note(server).validate(mcpgen_validate::JsonSchema);
    let remotes = [connect(Revision::is_legacy, add_note), connect(Revision::is_legacy, validated)];
    for (mut remote, table) in remotes.into_iter().zip([&types[..], &schemas[..]]) {
        let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" },
        } });
        remote.request(&initialize.to_string()).await;
        remote.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        for (arguments, expected) in table {
            let params = json!({ "name": "add_note", "arguments": arguments });
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            let result = remote.request(&request.to_string()).await["result"].clone();
            let expected = format!("invalid arguments for add_note: {expected}. Correct them and call the tool again.");
            let found = (&result["isError"], &result["content"][0]["text"]);
            assert_eq!(found, (&json!(true), &json!(expected)), "{arguments}");
        }
    }
}
