//! Reads the first request of a client, which has the client's name and capabilities.

use std::io;
use std::pin::Pin;

use futures_util::StreamExt;
use mcpgen_mcp::protocol::info::PeerInfo;
use mcpgen_mcp::protocol::modern::{CLIENT_CAPABILITIES, CLIENT_INFO};
use mcpgen_runtime::jsonrpc::envelope::{Envelope, Frame};
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::transport::{Inbound, Incoming, ReceiveError};
use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::{JsonObject, Revision};

/// What a client declares about itself: in `initialize`, or in the metadata of each request.
#[derive(Clone, Debug, Default)]
pub struct Greeting {
    /// Whether the client begins with `initialize`.
    pub is_legacy: bool,
    /// Its capabilities.
    pub capabilities: JsonObject,
    /// Its name and version.
    pub implementation: JsonObject,
}

impl From<&PeerInfo> for Greeting {
    fn from(client: &PeerInfo) -> Self {
        let PeerInfo { revision, capabilities, implementation, .. } = client.clone();
        Self { is_legacy: revision.is_legacy(), capabilities, implementation }
    }
}

/// How many messages are read to find a request.
const MAX_MESSAGES: usize = 16;

impl Greeting {
    /// Reads messages up to the first request. Returns the messages as well, or `None` if the client sends nothing.
    pub(super) async fn read(incoming: &mut Pin<Box<impl Incoming>>) -> io::Result<Option<(Self, Vec<Inbound>)>> {
        let mut messages = Vec::new();
        while messages.len() < MAX_MESSAGES {
            let mut message = match incoming.next().await {
                None if messages.is_empty() => return Ok(None),
                None => break,
                Some(Ok(message)) => message,
                Some(Err(ReceiveError::Io(error))) => return Err(error),
                Some(Err(error)) => {
                    tracing::warn!(%error, "ignoring a message before the first request");
                    continue;
                }
            };
            let greeting = match message.frame() {
                Ok(Frame::One(Envelope::Request { method, params, .. })) => Some(Self::of(&method, params)),
                _ => None,
            };
            messages.push(message);
            if let Some(greeting) = greeting {
                return Ok(Some((greeting, messages)));
            }
        }
        Ok(Some((Self { is_legacy: has_legacy(), ..Self::default() }, messages)))
    }

    fn of(method: &str, params: Option<Cursor<'_>>) -> Self {
        let object = |json: Option<Cursor<'_>>| json.and_then(|json| JsonObject::decode(json).ok()).unwrap_or_default();
        let [capabilities, client_info, meta] =
            params.map_or([None; 3], |params| Picked::values(params, &["capabilities", "clientInfo", "_meta"]));
        if method == "initialize" {
            return Self { is_legacy: true, capabilities: object(capabilities), implementation: object(client_info) };
        }
        let meta = object(meta);
        let member = |name: &str| JsonObject::try_from(meta.get(name)?).ok();
        let (capabilities, implementation) = (member(CLIENT_CAPABILITIES), member(CLIENT_INFO));
        Self {
            is_legacy: capabilities.is_none() && has_legacy(),
            capabilities: capabilities.unwrap_or_default(),
            implementation: implementation.unwrap_or_default(),
        }
    }
}

fn has_legacy() -> bool {
    Revision::ALL.iter().any(|revision| revision.is_legacy())
}
