//! A proxy between a client and a server that it starts: `proxy COMMAND [ARGUMENT..]`. Relays messages unchanged, byte
//! for byte, and logs the kind of each message to standard error.

use futures_util::{SinkExt, StreamExt};
use mcpgen_runtime::jsonrpc::envelope::{Envelope, Frame, scan_bytes};
use mcpgen_runtime::transport::{ChildProcess, Incoming, Outgoing, lines, stdio};
use mcpgen_types::codec::Decode;
use mcpgen_types::v2026_07_28::{CallToolRequestParams, ClientRequestMethod};
use tokio::process::Command;

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next() else {
        return Err(std::io::Error::other("usage: proxy COMMAND [ARGUMENT..]"));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    let (server, from_server, to_server) = ChildProcess::start(command, lines::DEFAULT_LINE_LIMIT)?;
    let (from_client, to_client) = stdio::stdio(lines::DEFAULT_LINE_LIMIT)?;
    // When the client disconnects, this task closes the server's input. The server exits after its last message.
    let client_to_server = tokio::spawn(relay("client", from_client, to_server));
    relay("server", from_server, to_client).await;
    client_to_server.abort();
    server.close().await?;
    Ok(())
}

async fn relay(sender: &'static str, from: impl Incoming, to: impl Outgoing) {
    let (mut from, mut to) = (std::pin::pin!(from), std::pin::pin!(to));
    while let Some(Ok(message)) = from.next().await {
        let Ok(bytes) = message.into_bytes() else { continue };
        eprintln!("{sender}: {}", describe(&bytes));
        if to.send(bytes.into()).await.is_err() {
            return;
        }
    }
}

/// Returns a short description of a message.
fn describe(bytes: &[u8]) -> String {
    let document = match scan_bytes(bytes) {
        Ok(document) => document,
        Err(invalid) => return format!("invalid message: {invalid}"),
    };
    match Frame::read(&document) {
        Ok(Frame::One(Envelope::Request { id, method, params })) => {
            let known = if method.parse::<ClientRequestMethod>().is_ok() { "" } else { " (unknown method)" };
            let call = params.filter(|_| method == "tools/call");
            let tool = call.and_then(|params| CallToolRequestParams::decode(params).ok());
            format!(
                "request {id:?} {method}{known}{}",
                tool.map_or_else(String::new, |tool| format!(" of {}", tool.name))
            )
        }
        Ok(Frame::One(Envelope::Notification { method, .. })) => format!("notification {method}"),
        Ok(Frame::One(Envelope::Response { id, .. })) => format!("response to {id:?}"),
        Ok(Frame::One(Envelope::Error { id, error })) => format!("error for {id:?}: {error}"),
        Ok(Frame::Batch(messages)) => format!("batch of {} messages", messages.len()),
        Err(invalid) => format!("invalid message: {invalid}"),
    }
}
