//! A proxy between a client and a server that it starts: `proxy COMMAND [ARGUMENT..]`. Relays messages byte for byte,
//! and logs each one to standard error: its method, the type of a result, and anything invalid.
//!
//! Sessions of all legacy revisions are read with the types of 2025-11-25.

use std::sync::{Arc, Mutex};

use futures_util::{SinkExt, StreamExt};
use mcpgen_sdk::client::ChildProcess;
use mcpgen_sdk::transport::{Incoming, Outgoing, lines, stdio};
use mcpgen_types::traffic::{Event, Traffic};
use mcpgen_types::{
    ErrorId, ErrorMessage, MethodSet, NotificationSet, RequestMessage, RequestSet, from_slice, v2025_11_25 as legacy,
    v2026_07_28 as modern,
};
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
    let log = Arc::<Mutex<Log>>::default();
    // When the client disconnects, this task closes the server's input, and the server exits after its last message.
    let client_to_server = tokio::spawn(relay(Sender::Client, from_client, to_server, Arc::clone(&log)));
    relay(Sender::Server, from_server, to_client, Arc::clone(&log)).await;
    client_to_server.abort();
    server.close().await?;
    if let Ok(log) = log.lock() {
        log.end();
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
enum Sender {
    Client,
    Server,
}

async fn relay(sender: Sender, from: impl Incoming, to: impl Outgoing, log: Arc<Mutex<Log>>) {
    let (mut from, mut to) = (std::pin::pin!(from), std::pin::pin!(to));
    while let Some(Ok(message)) = from.next().await {
        let Ok(bytes) = message.into_bytes() else { continue };
        if let Ok(mut log) = log.lock() {
            log.message(sender, &bytes);
        }
        if to.send(bytes.into()).await.is_err() {
            return;
        }
    }
}

/// The connection's requests, to be paired with responses.
#[derive(Default)]
struct Log {
    legacy: Traffic<legacy::ClientRequest, legacy::ServerRequest>,
    modern: Traffic<modern::ClientRequest, modern::ServerRequest>,
    /// Whether the client has sent `initialize`, which 2026-07-28 does not have.
    is_legacy: bool,
}

impl Log {
    fn message(&mut self, sender: Sender, bytes: &[u8]) {
        self.is_legacy |= is_initialize(bytes);
        let Self { legacy, modern, is_legacy } = self;
        let line = match (sender, *is_legacy) {
            (Sender::Client, true) => from_slice(bytes).map(|it: legacy::ClientMessage| describe(legacy.client(it))),
            (Sender::Client, false) => from_slice(bytes).map(|it: modern::ClientMessage| describe(modern.client(it))),
            (Sender::Server, true) => from_slice(bytes).map(|it: legacy::ServerMessage| describe(legacy.server(it))),
            (Sender::Server, false) => from_slice(bytes).map(|it: modern::ServerMessage| describe(modern.server(it))),
        };
        eprintln!("{sender:?}: {}", line.unwrap_or_else(|error| format!("invalid {error}")));
    }

    fn end(&self) {
        let legacy = self.legacy.pending_client_requests().map(|it| (it.id(), it.request().method()));
        let modern = self.modern.pending_client_requests().map(|it| (it.id(), it.request().method()));
        for (id, method) in legacy.chain(modern) {
            eprintln!("Client: request {id} {method} has no response");
        }
    }
}

fn is_initialize(bytes: &[u8]) -> bool {
    let message = from_slice::<RequestMessage<legacy::ClientRequest>>(bytes);
    message.is_ok_and(|message| matches!(message.request(), legacy::ClientRequest::Initialize(_)))
}

fn describe<R: RequestSet, N: NotificationSet, P: RequestSet>(event: Event<'_, R, N, P>) -> String {
    match event {
        Event::Request { message, is_duplicate } => {
            let note = if is_duplicate { ", although another request has this ID" } else { "" };
            format!("request {} {}{note}", message.id(), message.request().method())
        }
        Event::Notification(message) => format!("notification {}", message.notification().method()),
        Event::Response { request, response } => match request.request().check_result(&response) {
            Ok(name) => format!("response {} {}: {}", request.id(), request.request().method(), name.unwrap_or("any")),
            Err(error) => format!("response {} invalid {error}", request.id()),
        },
        Event::Error { request, error } => {
            format!("error {} {}: {}", request.id(), request.request().method(), error.error)
        }
        Event::UnpairedResponse(response) => format!("response {} without a request", response.id),
        Event::UnpairedError(ErrorMessage { id: ErrorId::Id(id), error, .. }) => {
            format!("error {id} without a request: {error}")
        }
        Event::UnpairedError(error) => format!("error without a request: {}", error.error),
    }
}
