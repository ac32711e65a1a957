//! Reads the operation of a request, which determines the scopes that it needs.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use tower::BoxError;

/// A JSON-RPC request or notification in an HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Operation {
    /// The method, such as `tools/call`.
    pub(super) method: String,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(super) subject: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    params: Option<Subject>,
}

#[derive(Deserialize)]
struct Subject {
    #[serde(default)]
    name: Option<serde_json::Value>,
    #[serde(default)]
    uri: Option<serde_json::Value>,
}

/// The time limit for reading a request body.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Reads a body of at most `most` bytes.
pub(super) async fn read<B>(body: B, most: usize) -> Result<Bytes, BoxError>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    let read = tokio::time::timeout(TIMEOUT, Limited::new(body, most).collect()).await;
    Ok(read.map_err(|_| "the body did not arrive in time")??.to_bytes())
}

/// Returns the operations of a message or batch. Fails if the body is not JSON-RPC, or if a relevant member occurs
/// twice.
pub(super) fn operations(body: &[u8]) -> Result<Vec<Operation>, serde_json::Error> {
    let is_batch = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
    let messages: Vec<Message> =
        if is_batch { serde_json::from_slice(body)? } else { vec![serde_json::from_slice(body)?] };
    let operation = |message: Message| {
        let subject = message.params.and_then(|params| params.name.or(params.uri));
        let subject = subject.and_then(|subject| subject.as_str().map(ToOwned::to_owned));
        Some(Operation { method: message.method?, subject })
    };
    Ok(messages.into_iter().filter_map(operation).collect())
}
