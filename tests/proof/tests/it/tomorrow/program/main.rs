//! Uses the runtime with a revision that it does not know.

use std::error::Error;

use mcpgen_sdk::server::ToolError;
use mcpgen_sdk::{Client, LocalInfo, Router, Server, serve, transport};
use mcpgen_types::convert::{Conversion, Policy};
use mcpgen_types::v2026_07_28::{Annotations, CallToolResult, TextContent, Tool, ToolInputSchema};
use mcpgen_types::v2027_03_15::{EstimateToolRequest, EstimateToolRequestParams, EstimateToolResult, RequestMetaObject};
use mcpgen_types::{ErrorObject, Json, JsonObject, Revision};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    assert_eq!(Revision::LATEST, Revision::V2027_03_15);
    for &revision in Revision::ALL {
        a_server_serves_clients(revision).await.map_err(|error| format!("{revision}: {error}"))?;
    }
    a_client_calls_a_server_of_tomorrow().await?;
    a_new_request_is_routed().await?;
    conversions_know_the_changes()
}

/// A server with the types of today serves clients of every revision, with the help of the conversion tables.
async fn a_server_serves_clients(revision: Revision) -> Result<(), Box<dyn Error>> {
    let tool = Tool::new("greet", ToolInputSchema::new()).with_title("Greet");
    let server = Server::builder("server", "1")
        .tool(tool, || async {
            let annotations = Annotations::new().with_last_modified("2026-01-01T00:00:00Z");
            let hello = TextContent::new("hello").with_annotations(annotations);
            Ok::<_, ToolError>(CallToolResult::new([hello.into()]))
        })
        .build();
    let (ours, theirs) = transport::duplex();
    let serving = tokio::spawn(serve(server, theirs));
    let client = Client::builder("client", "1")
        .revisions([revision])
        .connect(ours.0, ours.1)
        .await?;
    assert_eq!(client.revision(), revision);
    let listed = client.peer().raw_request("tools/list", None).await?.decode::<serde_json::Value>()?;
    assert_eq!(listed["tools"][0].get("title").is_some(), revision >= Revision::V2025_06_18);
    let has_dates = [Revision::V2025_06_18, Revision::V2025_11_25, Revision::V2026_07_28].contains(&revision);
    let params = Json::from(&json!({ "name": "greet" }));
    let called = client.peer().raw_request("tools/call", Some(params)).await?.decode::<serde_json::Value>()?;
    let annotations = called["content"][0].get("annotations");
    assert_eq!(annotations.is_some_and(|it| it.get("lastModified").is_some()), has_dates, "{called}");
    assert_eq!(client.tools().await?.len(), 1);
    assert_eq!(client.call_tool("greet", JsonObject::new()).await?.content.len(), 1);
    client.close().await?;
    serving.await??;
    Ok(())
}

/// The methods of a client read results of the new revision as the types of today.
async fn a_client_calls_a_server_of_tomorrow() -> Result<(), Box<dyn Error>> {
    use mcpgen_types::v2027_03_15::{CallToolRequest, CallToolResult, ListToolsRequest, ListToolsResult, Tool, VideoContent};
    let router = Router::new()
        .request::<ListToolsRequest>(|_, _| async {
            let tool = Tool::new("film", mcpgen_types::v2027_03_15::ToolInputSchema::new()).with_costs(5);
            let scope = mcpgen_types::v2027_03_15::CacheScope::Private;
            Ok::<_, ErrorObject>(ListToolsResult::new([tool], 0, scope))
        })
        .request::<CallToolRequest>(|_, _| async {
            let video = VideoContent::new("").mime_type("video/mp4");
            Ok::<_, ErrorObject>(CallToolResult::new([video.into()]).into())
        });
    let (ours, theirs) = transport::duplex();
    let info = LocalInfo::new("server", "1").capability("tools", json!({}));
    let serving = tokio::spawn(serve((info, router), theirs));
    let client = Client::builder("client", "1").connect(ours.0, ours.1).await?;
    assert_eq!(client.revision(), Revision::V2027_03_15);
    let tools = client.tools().await?;
    assert_eq!(tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["film"]);
    let error = client.call_tool("film", JsonObject::new()).await.expect_err("content of a new type");
    let error = error.to_string();
    assert!(error.contains("/content/0") && error.contains("2026-07-28"), "{error}");
    client.close().await?;
    serving.await??;
    Ok(())
}

/// A request that no earlier revision has can be handled and sent.
async fn a_new_request_is_routed() -> Result<(), Box<dyn Error>> {
    let router = Router::new().request::<EstimateToolRequest>(|_, params| async move {
        assert_eq!(params.name, "greet");
        Ok::<_, ErrorObject>(EstimateToolResult::new(5))
    });
    let (ours, theirs) = transport::duplex();
    let info = LocalInfo::new("server", "1").capability("tools", json!({}));
    let serving = tokio::spawn(serve((info, router), theirs));
    let client = Client::builder("client", "1").connect(ours.0, ours.1).await?;
    let meta: RequestMetaObject = mcpgen_types::from_value(mcpgen_types::to_value(&client.meta())?)?;
    let result = client.peer().call::<EstimateToolRequest>(EstimateToolRequestParams::new("greet", meta)).await?;
    assert_eq!(result.seconds, 5);
    client.close().await?;
    serving.await??;
    Ok(())
}

fn conversions_know_the_changes() -> Result<(), Box<dyn Error>> {
    let (old, new) = (Revision::V2026_07_28, Revision::V2027_03_15);
    let tool = json!({ "name": "a", "inputSchema": { "type": "object" }, "costs": 1, "annotations": { "title": "A" } });
    let older = Conversion::of_definition("Tool", new, old).ok_or("a definition of both")?;
    let older = older.apply(&Json::from(&tool), Policy::Omit)?;
    let lost: Vec<&str> = older.lost.iter().map(|lost| lost.path.as_str()).collect();
    assert_eq!(lost, ["/costs"]);
    assert_eq!(older.value.decode::<serde_json::Value>()?["annotations"], json!({ "title": "A" }));
    let level = Conversion::of_definition("LoggingLevel", new, old).ok_or("a definition of both")?;
    assert!(level.apply(&Json::from(&json!("trace")), Policy::Omit).is_err());
    assert!(level.apply(&Json::from(&json!("debug")), Policy::Strict).is_ok());
    assert!(Conversion::of_params("tools/estimate", new, old).is_none(), "a method of the new revision");
    assert!(Conversion::of_params("notifications/tools/retired", new, new).is_some(), "a notification");
    Ok(())
}
