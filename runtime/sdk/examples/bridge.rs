//! Connects a client of any revision, on standard input and output, to a server of any other. `bridge COMMAND
//! [ARGUMENT..]` starts the server; `bridge URL` connects to one over HTTP.

use mcpgen_bridge::Bridge;
use mcpgen_sdk::prelude::*;
use mcpgen_sdk::transport::{lines, stdio};
use tokio::process::Command;

type Failure = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().ok_or("usage: bridge URL | COMMAND [ARGUMENT..]")?;
    let client = stdio::stdio(lines::DEFAULT_LINE_LIMIT)?;
    let connect = |builder| async {
        if server.starts_with("http://") || server.starts_with("https://") {
            return connect_http(builder, &server).await;
        }
        let mut command = Command::new(&server);
        command.args(arguments);
        Ok(builder.connect_command(command).await?)
    };
    Ok(Bridge::new().run(client, connect).await?)
}

#[cfg(feature = "http-client")]
async fn connect_http(builder: ClientBuilder, url: &str) -> Result<Client, Failure> {
    Ok(builder.connect_http(url, mcpgen_sdk::http::client::ClientOptions::default()).await?)
}

#[cfg(not(feature = "http-client"))]
async fn connect_http(_: ClientBuilder, _: &str) -> Result<Client, Failure> {
    Err("built without the feature http-client".into())
}
