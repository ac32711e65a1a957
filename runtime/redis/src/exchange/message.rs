//! Messages between replicas: a line of JSON, then bytes.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcpgen_sdk::replicas::StoreError;
use serde::{Deserialize, Serialize};

use crate::error::corrupt;

pub(super) struct Message {
    pub(super) head: Head,
    pub(super) body: Bytes,
}

/// `id` is unique among the requester's exchanges.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Head {
    /// To the responder: a request, whose body is the message's body.
    Request(RequestHead),
    /// To the responder: the requester has consumed this many frames.
    Consumed { from: String, id: u64, frames: u64 },
    /// To the responder: the requester no longer waits.
    Cancel { from: String, id: u64 },
    /// To the responder: asks about the state of exchanges.
    Probe { from: String, ids: Vec<u64> },
    /// To the requester: the request has arrived, and its response takes a while.
    Accepted { id: u64 },
    /// To the requester: the responder does not accept requests.
    Refused { id: u64 },
    /// To the requester: the head of the response. If `is_whole`, the message's body is the response's body, and
    /// nothing follows.
    Response { id: u64, status: u16, headers: Headers, is_whole: bool },
    /// To the requester: part of the body. Numbers start at 0.
    Frame { id: u64, number: u64 },
    /// To the requester: the body ended after this many frames.
    End { id: u64, frames: u64, failed: bool },
    /// To the previous home of a session: the sender is its home now.
    Moved { session: String },
    /// To the requester: exchanges that continue, with the number of frames sent, and exchanges that do not exist.
    State { sent: Vec<(u64, u64)>, gone: Vec<u64> },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RequestHead {
    pub(super) from: String,
    pub(super) id: u64,
    pub(super) method: String,
    pub(super) uri: String,
    pub(super) headers: Headers,
    pub(super) owner: Option<String>,
    pub(super) principal: Option<String>,
}

/// Names and values of headers. Each character of a value is a byte, because values need not be UTF-8.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Headers(Vec<(String, String)>);

impl From<&HeaderMap> for Headers {
    fn from(headers: &HeaderMap) -> Self {
        let text = |value: &HeaderValue| value.as_bytes().iter().map(|byte| char::from(*byte)).collect();
        Self(headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect())
    }
}

impl Headers {
    pub(super) fn decode(self) -> Result<HeaderMap, StoreError> {
        let mut headers = HeaderMap::with_capacity(self.0.len());
        for (name, value) in self.0 {
            let bytes: Result<Vec<u8>, _> = value.chars().map(u8::try_from).collect();
            let value = HeaderValue::from_maybe_shared(Bytes::from(bytes.map_err(corrupt)?)).map_err(corrupt)?;
            headers.append(HeaderName::try_from(name).map_err(corrupt)?, value);
        }
        Ok(headers)
    }
}

impl Message {
    pub(super) fn encode(head: &Head, body: &[u8]) -> Result<Vec<u8>, StoreError> {
        let mut bytes = serde_json::to_vec(head).map_err(corrupt)?;
        bytes.reserve(body.len() + 1);
        bytes.push(b'\n');
        bytes.extend_from_slice(body);
        Ok(bytes)
    }

    pub(super) fn decode(bytes: Bytes) -> Result<Self, StoreError> {
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| corrupt("a message has no head"))?;
        let head = serde_json::from_slice(&bytes[..end]).map_err(corrupt)?;
        Ok(Self { head, body: bytes.slice(end + 1..) })
    }
}
