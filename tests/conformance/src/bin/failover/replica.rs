//! The server that is killed.

use std::net::Ipv4Addr;
use std::time::Duration;

use axum::serve::ListenerExt;
use mcpgen_redis::{RedisOptions, RedisStores};
use mcpgen_sdk::Server;
use mcpgen_sdk::http::server::{EndpointOptions, ServeHttp};
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::protocol::change::Change;
use mcpgen_sdk::replicas::Replicas;
use mcpgen_sdk::server::{Args, RequestContext, ToolError, ToolInfo};
use mcpgen_sdk::tasks::{ServeTasks, TaskLimits, TaskSupport, TaskToolExt, Tasks};
use mcpgen_types::v2026_07_28::{
    ElicitRequestFormParams, ElicitRequestFormParamsRequestedSchema, PrimitiveSchemaDefinition, StringSchema,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio::time::sleep;

/// The number up to which the tool `count` counts.
pub(crate) const COUNT: u64 = 12;

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text to return.
    text: String,
}

pub(crate) async fn run(port: u16, redis: &str) -> anyhow::Result<()> {
    let stores = RedisStores::connect(RedisOptions::new(redis)).await?;
    let limits = TaskLimits::default().with_poll_interval(Duration::from_millis(100));
    let server = Server::builder("failover", "1")
        .change_bus(stores.clone())
        .tasks(Tasks::new(stores.clone(), limits))
        .tool("echo", |Args(Text { text })| async { text })
        .tool("ask", ask)
        .tool(ToolInfo::new("slow").task(TaskSupport::Optional), |Args(Text { text })| async {
            sleep(Duration::from_millis(400)).await;
            text
        })
        .build();
    let changing = server.clone();
    server.add_tool("count", move |context: RequestContext, Args(Text { text })| {
        let server = changing.clone();
        async move {
            server.changed(&Change::Tools);
            for number in 1..=COUNT {
                context.progress(number as f64, None, None).await;
                sleep(Duration::from_millis(60)).await;
            }
            text
        }
    })?;
    let endpoint = server.http(
        EndpointOptions::default().with_replicas(Replicas::new(stores)).with_keep_alive(Duration::from_secs(2)),
    )?;
    let app = axum::Router::new().route_service("/mcp", endpoint);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    Ok(axum::serve(listener, app).await?)
}

async fn ask(context: RequestContext, Args(Text { text }): Args<Text>) -> Result<String, ToolError> {
    let answer = PrimitiveSchemaDefinition::from(StringSchema::new());
    let schema = ElicitRequestFormParamsRequestedSchema::new([("answer".to_owned(), answer)]);
    let result = context.elicit("question", ElicitRequestFormParams::new(text, schema)).await?;
    let answer = result.content.and_then(|content| mcpgen_types::to_value(&content).ok());
    let answer = answer.as_ref().and_then(|answer| answer["answer"].as_str());
    Ok(answer.unwrap_or("no answer").to_owned())
}
