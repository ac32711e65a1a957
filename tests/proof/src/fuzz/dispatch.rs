//! Sends arbitrary bytes as messages to a server and to a client.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mcpgen_sdk::protocol::Level;
use mcpgen_sdk::server::Args;
use mcpgen_sdk::transport::lines;
use mcpgen_sdk::{Client, Router, Server, serve};
use mcpgen_types::v2026_07_28::{Tool, ToolInputSchema};
use mcpgen_types::{ErrorObject, JsonObject, RequestId, Revision};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const HANDSHAKE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":"handshake","method":"initialize","params":{"protocolVersion":"2025-03-26","#,
    r#""capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

/// Sends messages, one per line. The first byte chooses the receiver: a server, a server after the handshake, or a
/// client with two pending calls.
///
/// # Panics
///
/// Panics if a request does not receive exactly one response, if a call never ends, or if a handler receives data that
/// was not sent.
pub fn run_dispatch(data: &[u8]) {
    let Some((&receiver, messages)) = data.split_first() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        match receiver % 3 {
            0 => check_server(messages).await,
            1 => check_server(&[HANDSHAKE.as_bytes(), messages].concat()).await,
            _ => check_client(messages).await,
        }
    });
}

#[derive(Clone, Default)]
struct Received(Arc<Mutex<Vec<Value>>>);

impl Received {
    fn add(&self, value: Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }

    /// Panics unless each value occurs in a message, unchanged.
    fn check(&self, messages: &[Value]) {
        for value in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let sent = messages.iter().any(|message| contains(message, value));
            assert!(sent, "a handler received {value}, which is not in the messages {messages:?}");
        }
    }

    fn router(&self, router: Router) -> Router {
        let (requests, notifications) = (self.clone(), self.clone());
        router
            .custom_request("custom", move |_, params: Value| {
                requests.add(params);
                ready(Ok::<_, ErrorObject>(json!({})))
            })
            .custom_notification("notifications/custom", move |_, params: Value| {
                notifications.add(params);
                ready(())
            })
    }
}

fn contains(message: &Value, value: &Value) -> bool {
    // Absent params are decoded from `null`, and absent arguments are empty.
    let is_absent = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
    is_absent
        || message == value
        || match message {
            Value::Array(elements) => elements.iter().any(|element| contains(element, value)),
            Value::Object(members) => members.values().any(|member| contains(member, value)),
            _ => false,
        }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Arguments {
    any: Value,
}

fn server(received: &Received) -> Server {
    let (by_hand, typed) = (received.clone(), received.clone());
    Server::builder("fuzz", "1")
        .tool(Tool::new("by_hand", ToolInputSchema::new()), move |arguments: JsonObject| {
            by_hand.add(arguments.into());
            ready("called")
        })
        .tool("typed", move |Args(Arguments { any })| {
            typed.add(any);
            ready("called")
        })
        .build()
}

async fn check_server(sent: &[u8]) {
    let received = Received::default();
    let server = server(&received);
    let router = received.router(server.router());
    let config = server.config().expect("a valid server");
    let (written, mut read) = tokio::io::duplex(16 << 20);
    let incoming = lines::receive(std::io::Cursor::new(sent.to_vec()), 1 << 20);
    let served = serve((config, router), (incoming, lines::send(written)));
    served.await.expect("in-memory I/O does not fail");
    let mut output = Vec::new();
    read.read_to_end(&mut output).await.expect("in-memory I/O does not fail");
    let (sent, responses) = (messages(sent), messages(&output));
    received.check(&sent.messages);
    assert!(responses.invalid.is_empty(), "the server writes invalid lines {:?}", responses.invalid);
    check_responses(&sent, &responses);
}

/// The messages in the lines of a text. The messages of a batch are listed one by one.
#[derive(Default)]
struct Messages {
    messages: Vec<Value>,
    /// Lines that are not JSON or exceed the limits.
    invalid: Vec<String>,
}

fn messages(text: &[u8]) -> Messages {
    let mut found = Messages::default();
    let lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    for line in lines {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        match mcpgen_types::from_slice::<Value>(line) {
            Ok(Value::Array(batch)) => found.messages.extend(batch),
            Ok(message) => found.messages.push(message),
            Err(_) => found.invalid.push(String::from_utf8_lossy(line).into_owned()),
        }
    }
    found
}

/// Returns the IDs of messages, each with the number of messages that have it.
fn ids<'m>(messages: impl Iterator<Item = &'m Value>) -> BTreeMap<String, usize> {
    let mut ids = BTreeMap::new();
    for message in messages {
        if let Some(Ok(id)) = message.get("id").map(|id| mcpgen_types::from_value::<RequestId>(id.clone())) {
            *ids.entry(mcpgen_types::to_string(&id)).or_default() += 1;
        }
    }
    ids
}

/// Panics unless each request receives exactly one response. A message with an ID that is not a request may receive an
/// error response.
fn check_responses(sent: &Messages, received: &Messages) {
    let responses = ids(received.messages.iter().filter(|message| message.get("method").is_none()));
    // A response without an ID may answer a whole batch or an invalid line.
    let all_have_ids = sent.invalid.is_empty() && !received.messages.iter().any(|message| message["id"].is_null());
    let with_id = ids(sent.messages.iter());
    for (id, count) in &responses {
        let most = with_id.get(id).copied().unwrap_or_default();
        assert!(*count <= most || !all_have_ids, "{count} responses to {most} messages with ID {id}");
    }
    // A second session cancels the requests of the first one.
    let sessions = sent.messages.iter().filter(|message| message["method"] == "initialize").count();
    let has_cancelled = sent.messages.iter().any(|message| message["method"] == "notifications/cancelled");
    if !all_have_ids || has_cancelled || sessions > 1 {
        return;
    }
    let is_request = |message: &&Value| {
        let is_alone = message.get("result").is_none() && message.get("error").is_none();
        message["jsonrpc"] == "2.0" && message["method"].is_string() && is_alone
    };
    for (id, count) in &ids(sent.messages.iter().filter(is_request)) {
        let responses = responses.get(id).copied().unwrap_or_default();
        assert!(responses >= *count, "{responses} responses to {count} requests with ID {id}");
    }
}

async fn check_client(sent: &[u8]) {
    let received = Received::default();
    let logged = received.clone();
    let (client_end, mut server_end) = tokio::io::duplex(16 << 20);
    let (reader, writer) = tokio::io::split(client_end);
    let client = Client::builder("fuzz", "1")
        .options(|options| {
            (options.known_revision, options.check_known_revision) = (Some(Revision::V2026_07_28), false)
        })
        .handlers(|router| received.router(router))
        .on_log(Level::Debug, move |event| {
            logged.add(mcpgen_types::to_value(&event).unwrap_or_default().get("data").cloned().unwrap_or_default());
            ready(())
        });
    let client = client.connect(lines::receive(reader, 1 << 20), lines::send(writer)).await.expect("connected");
    let server = async {
        let mut requests = Vec::new();
        while requests.iter().filter(|byte| **byte == b'\n').count() < 2 {
            let count = server_end.read_buf(&mut requests).await.expect("in-memory I/O does not fail");
            assert!(count > 0, "the client ends before both calls are sent");
        }
        server_end.write_all(sent).await.expect("in-memory I/O does not fail");
        server_end.shutdown().await.expect("in-memory I/O does not fail");
        let mut rest = Vec::new();
        server_end.read_to_end(&mut rest).await.expect("in-memory I/O does not fail");
    };
    let calls = async {
        let raw = client.peer().raw_request("custom", None);
        // Both calls end, whatever the responses are.
        let _ = tokio::join!(client.call_tool("by_hand", JsonObject::new()), async { raw.await });
        client.peer().disconnect();
    };
    let both = tokio::time::timeout(Duration::from_secs(30), async { tokio::join!(server, calls) });
    assert!(both.await.is_ok(), "a call does not end");
    received.check(&messages(sent).messages);
}
