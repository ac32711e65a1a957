//! Apps: their resources, their tools and what clients declare.

#![cfg(feature = "apps")]

use mcpgen_sdk::server::{APP_MIME_TYPE, App, Apps, RequestContext, ToolInfo};
use mcpgen_sdk::{Client, Server, serve, transport};
use mcpgen_types::ext::apps::{McpUiResourceCsp, McpUiToolVisibility};
use mcpgen_types::{JsonObject, Revision};
use serde_json::{Value, json};

const URI: &str = "ui://clock/page.html";

fn server() -> Server {
    let csp = McpUiResourceCsp::new().with_connect_domains(["https://example.com".to_owned()]);
    Server::builder("clock", "1")
        .app(App::new(URI, "clock", "<!doctype html>").csp(csp).prefers_border(true))
        .tool(ToolInfo::new("current").app(URI), |context: RequestContext| async move {
            if Apps::are_shown_by(context.context()) { "an app" } else { "text" }
        })
        .tool(ToolInfo::new("refresh").app(URI).visibility([McpUiToolVisibility::App]), || async { "" })
        .build()
}

fn value(document: &impl mcpgen_types::codec::Encode) -> Value {
    mcpgen_types::to_value(document).expect("a value")
}

#[tokio::test]
async fn lists_apps_and_their_tools_in_every_revision() {
    for &revision in Revision::ALL {
        for has_apps in [false, true] {
            let (here, there) = transport::duplex();
            tokio::spawn(serve(server(), there));
            let client = Client::builder("host", "1").revisions([revision]);
            let client = if has_apps { client.extension(Apps) } else { client };
            let client = client.connect(here.0, here.1).await.expect("a connection");

            let tools = client.tools().await.expect("tools");
            let meta: Vec<Value> = tools.iter().map(|tool| value(tool)["_meta"]["ui"].clone()).collect();
            if revision >= Revision::V2025_06_18 {
                let refresh = json!({ "resourceUri": URI, "visibility": ["app"] });
                assert_eq!(meta, [json!({ "resourceUri": URI }), refresh], "{revision}");
            }
            let ui = json!({ "csp": { "connectDomains": ["https://example.com"] }, "prefersBorder": true });
            let contents = &client.read_resource(URI).await.expect("a page").contents;
            let expected =
                json!([{ "uri": URI, "mimeType": APP_MIME_TYPE, "text": "<!doctype html>", "_meta": { "ui": ui } }]);
            if revision >= Revision::V2025_06_18 {
                assert_eq!(value(contents), expected, "{revision}");
            }
            let result = client.call_tool("current", JsonObject::new()).await.expect("a result");
            let text = if has_apps { "an app" } else { "text" };
            assert_eq!(value(&result)["content"][0]["text"], text, "{revision}");
        }
    }
}
