//! An outgoing message and the headers that repeat parts of it.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use mcpgen_mcp::protocol::header_params::Header;
use mcpgen_mcp::protocol::modern::PROTOCOL_VERSION as VERSION_KEY;
use mcpgen_mcp::protocol::params::RequestView;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::{Json, JsonObject, RequestId};
use tokio::sync::watch;

use crate::headers::{self, METHOD, NAME};

pub(super) struct OutgoingMessage {
    pub(super) bytes: Vec<u8>,
    /// The method of a request or notification. `None` for responses.
    pub(super) method: Option<String>,
    /// The revision in the message's metadata, if it has any.
    pub(super) version: Option<String>,
    pub(super) headers: HeaderMap,
    pub(super) progress: watch::Sender<Progress>,
}

/// How far sending a message has progressed.
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

/// The parts of the params that are repeated in HTTP headers.
#[derive(Default)]
pub(super) struct Repeated {
    /// The revision in the message's metadata.
    pub(super) version: Option<String>,
    /// The name of the tool or prompt, the URI of the resource, or the ID of the task.
    subject: Option<String>,
    /// The arguments of a tool call.
    arguments: JsonObject,
}

impl Repeated {
    pub(super) fn of(method: &str, params: Cursor<'_>) -> Self {
        let view = RequestView::of(method, params);
        let version = view.meta.and_then(|meta| Picked::values(meta, &[VERSION_KEY])[0]);
        let arguments = view.arguments.filter(|_| method == "tools/call");
        Self {
            version: version.and_then(|version| version.string().ok()),
            subject: headers::name(method, &view),
            arguments: arguments.and_then(|arguments| JsonObject::decode(arguments).ok()).unwrap_or_default(),
        }
    }

    /// Creates the headers. `tool_headers` looks up which arguments of a tool are repeated in headers.
    pub(super) fn headers(&self, method: &str, tool_headers: impl Fn(&str) -> Option<Arc<Vec<Header>>>) -> HeaderMap {
        let mut found = HeaderMap::new();
        found.extend(HeaderValue::from_str(method).ok().map(|method| (METHOD, method)));
        let Some(subject) = &self.subject else { return found };
        found.insert(NAME, headers::encode(subject));
        if method == "tools/call"
            && let Some(repeated) = tool_headers(subject)
        {
            found.extend(headers::params(&repeated, &self.arguments));
        }
        found
    }
}

pub(super) fn cancelled_id(params: &Json) -> Option<RequestId> {
    let id = params.read(|params| {
        let [id] = Picked::values(params, &["requestId"]);
        RequestId::decode(id?).ok()
    });
    id.ok().flatten()
}
