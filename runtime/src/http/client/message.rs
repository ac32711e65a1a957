//! An outgoing message, and the headers that repeat parts of it.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::{JsonObject, RequestId};
use tokio::sync::watch;

use crate::http::headers::{self, METHOD, NAME};
use crate::jsonrpc::envelope::{Envelope, scan};
use crate::jsonrpc::json::Picked;
use crate::protocol::header_params::Header;
use crate::protocol::modern::PROTOCOL_VERSION as VERSION_KEY;

/// A message to send.
pub(super) struct OutgoingMessage {
    pub(super) bytes: Vec<u8>,
    /// `None` for responses.
    pub(super) method: Option<String>,
    /// The revision in the per-request metadata, if the message has any.
    pub(super) version: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) progress: watch::Sender<Progress>,
}

/// The progress of sending a message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Progress {
    Queued,
    Sending,
    /// The server has sent the headers of its response.
    Received,
}

impl OutgoingMessage {
    pub(super) fn new(bytes: Vec<u8>, method: Option<&str>) -> Self {
        let (progress, _) = watch::channel(Progress::Queued);
        Self { bytes, method: method.map(str::to_owned), version: None, headers: HeaderMap::new(), progress }
    }
}

/// Returns the headers that repeat parts of the body of a request.
pub(super) fn request_headers(
    method: &str,
    params: Option<Cursor<'_>>,
    annotated: impl Fn(&str) -> Option<Arc<Vec<Header>>>,
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.extend(HeaderValue::from_str(method).ok().map(|method| (METHOD, method)));
    let picked = params.map(|params| Picked::values(params, &["name", "uri", "arguments"]));
    let [name, uri, arguments] = picked.unwrap_or_default();
    let subject = match headers::named_by(method) {
        Some("name") => name.and_then(Cursor::as_str),
        Some(_) => uri.and_then(Cursor::as_str),
        None => None,
    };
    let Some(subject) = subject else { return headers };
    headers.insert(NAME, headers::encode(&subject));
    if method == "tools/call"
        && let Some(annotated) = annotated(&subject)
    {
        let arguments = arguments.and_then(|arguments| JsonObject::decode(arguments).ok());
        headers.extend(headers::params(&annotated, &arguments.unwrap_or_default()));
    }
    headers
}

/// Returns the ID of the request that a notification cancels.
pub(super) fn cancelled_id(bytes: &[u8]) -> Option<RequestId> {
    let document = scan(String::from_utf8_lossy(bytes)).ok()?;
    let Ok(Envelope::Notification { params: Some(params), .. }) = Envelope::read(&document) else { return None };
    let [id] = Picked::values(params, &["requestId"]);
    RequestId::decode(id?).ok()
}

/// Returns the revision in the per-request metadata of the params.
pub(super) fn request_version(params: Option<Cursor<'_>>) -> Option<String> {
    let [meta] = Picked::values(params?, &["_meta"]);
    let [version] = Picked::values(meta?, &[VERSION_KEY]);
    version?.string().ok()
}
