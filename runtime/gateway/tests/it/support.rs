//! Gateways in front of processes of the example `gateway_server`.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcpgen_gateway::{Config, Gateway, ServerConfig};
use mcpgen_sdk::{CallError, Client, ClientBuilder, transport};
use mcpgen_types::v2026_07_28::{
    CallToolResult, ContentBlock, CreateMessageResult, ElicitResult, ElicitResultAction, Role, TextContent,
};
use mcpgen_types::{JsonObject, Revision};
use tokio::time::timeout;

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A revision of each era.
pub(crate) const ERAS: [Revision; 3] = [Revision::V2024_11_05, Revision::V2025_11_25, Revision::V2026_07_28];

/// Returns the path of an example, which cargo builds for the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_mcpgen-gateway")).parent().expect("a folder");
    folder.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

pub(crate) fn server_path() -> PathBuf {
    example("gateway_server")
}

/// The configuration that starts the example as a process.
pub(crate) fn process(name: &str, revision: Revision, mode: &[&str]) -> ServerConfig {
    let arguments = [name, revision.as_str()].into_iter().chain(mode.iter().copied());
    ServerConfig::of_command(server_path().to_str().expect("UTF-8"), arguments)
}

/// The server `a` with everything, and `b` with what every server has.
pub(crate) fn two_servers(revision: Revision) -> Config {
    let mut config = Config::default();
    config.servers.insert("a".to_owned(), process("a", revision, &[]));
    config.servers.insert("b".to_owned(), process("b", revision, &["small"]));
    config
}

pub(crate) fn gateway(config: Config) -> Gateway {
    config.check().expect("a valid configuration");
    Gateway::new(config, Path::new("")).expect("a gateway")
}

pub(crate) fn client(revision: Revision) -> ClientBuilder {
    Client::builder("in front", "1")
        .revisions([revision])
        .on_sampling(|_, _| async { Ok(CreateMessageResult::new(Role::Assistant, TextContent::new("hello"), "model")) })
        .on_elicitation(|_, _| async { Ok(ElicitResult::new(ElicitResultAction::Accept)) })
        .roots([])
}

/// Connects a client to a gateway in this process.
pub(crate) async fn connect(gateway: &Gateway, client: ClientBuilder) -> Client {
    let (client_side, to_client) = transport::duplex();
    let gateway = gateway.clone();
    tokio::spawn(async move { gateway.serve_client(to_client, std::future::pending()).await });
    in_time(client.connect(client_side.0, client_side.1)).await.expect("a connection")
}

pub(crate) async fn in_time<T>(future: impl IntoFuture<Output = T>) -> T {
    timeout(DEADLINE, future.into_future()).await.expect("in time")
}

pub(crate) async fn call(client: &Client, tool: &str) -> Result<CallToolResult, CallError> {
    in_time(client.call_tool(tool, JsonObject::new())).await
}

/// Calls a tool, and returns the text of its result.
pub(crate) async fn text(client: &Client, tool: &str) -> String {
    let result = call(client, tool).await.unwrap_or_else(|error| panic!("{tool}: {error}"));
    match &result.content[..] {
        [ContentBlock::TextContent(text)] => text.text.clone(),
        content => panic!("{tool}: {content:?}"),
    }
}

pub(crate) async fn tool_names(client: &Client) -> Vec<String> {
    let tools = in_time(client.tools()).await.expect("tools");
    tools.iter().map(|tool| tool.name.clone()).collect()
}

/// Calls `check` for each pair of a client's era and the servers' era.
pub(crate) async fn for_all_eras<F: Future<Output = ()>>(check: impl Fn(Revision, Revision) -> F) {
    for front in ERAS {
        for behind in ERAS {
            eprintln!("a client of {front} and servers of {behind}");
            check(front, behind).await;
        }
    }
}
