//! Parses the body of a POST as far as the HTTP transport needs it.

use mcpgen_types::codec::Cursor;
use mcpgen_types::{ErrorId, ErrorObject, JsonObject, RawJson, RequestId};

use crate::http::headers;
use crate::jsonrpc::envelope::{Envelope, Frame, Invalid};
use crate::jsonrpc::json::Picked;
use crate::protocol::methods::state_change;
use crate::protocol::modern::{CLIENT_CAPABILITIES, PROTOCOL_VERSION as VERSION_KEY};
use crate::transport::Inbound;

/// The parts of a POST body that the HTTP transport uses.
pub(super) struct RequestBody {
    /// The ID and method of a single request or notification. The ID of a notification is `None`.
    pub(super) message: Option<(Option<RequestId>, String)>,
    /// The IDs of the requests in a batch.
    batch: Vec<RequestId>,
    pub(super) is_batch: bool,
    /// Whether this is an `initialize` request.
    pub(super) is_initialize: bool,
    /// Whether `_meta` has the per-request metadata of modern revisions.
    pub(super) has_metadata: bool,
    /// The protocol revision in `_meta`.
    pub(super) version: Option<String>,
    /// The tool name, prompt name or resource URI that [`NAME`](headers::NAME) repeats.
    pub(super) subject: Option<String>,
    arguments: Option<RawJson>,
    /// The key of the part of the session's state that the message changes, and whether it resets that part.
    pub(super) state_change: Option<(String, bool)>,
}

impl RequestBody {
    pub(super) fn read(inbound: &mut Inbound) -> Result<Self, (ErrorId, ErrorObject)> {
        let refused = |invalid: Invalid| (invalid.id, invalid.error);
        let document = inbound.document().map_err(refused)?;
        let frame = Frame::read(document).map_err(refused)?;
        let is_shallow = document.check_depth().is_ok();
        let mut posted = Self {
            message: None,
            batch: Vec::new(),
            is_batch: false,
            is_initialize: false,
            has_metadata: false,
            version: None,
            subject: None,
            arguments: None,
            state_change: None,
        };
        match frame {
            Frame::One(Envelope::Request { id, method, params }) => {
                posted.read_params(&method, params.filter(|_| is_shallow));
                posted.is_initialize = method == "initialize";
                posted.message = Some((Some(id), method.into_owned()));
            }
            Frame::One(Envelope::Notification { method, params }) => {
                posted.read_params(&method, params.filter(|_| is_shallow));
                posted.message = Some((None, method.into_owned()));
            }
            Frame::One(_) => {}
            Frame::Batch(messages) => {
                posted.is_batch = true;
                for message in messages {
                    match message {
                        Ok(Envelope::Request { id, .. }) => posted.batch.push(id),
                        Ok(_) => {}
                        Err(invalid) => return Err((invalid.id, invalid.error)),
                    }
                }
            }
        }
        Ok(posted)
    }

    /// Picks members from the params. Ignores members of the wrong type: decoding the params for the handler reports
    /// them.
    fn read_params(&mut self, method: &str, params: Option<Cursor<'_>>) {
        let Some(params) = params else {
            self.state_change = state_change(method, || None);
            return;
        };
        const NAMES: [&str; 5] = ["_meta", "name", "uri", "taskId", "arguments"];
        let [meta, name, uri, task, arguments] = Picked::values(params, &NAMES);
        if let Some(meta) = meta {
            let [version, capabilities] = Picked::values(meta, &[VERSION_KEY, CLIENT_CAPABILITIES]);
            self.has_metadata = version.is_some() || capabilities.is_some();
            self.version = version.and_then(|version| version.string().ok());
        }
        let subject = match headers::named_by(method) {
            Some("name") => name,
            Some("taskId") => task,
            Some(_) => uri,
            None => None,
        };
        self.subject = subject.and_then(|subject| subject.string().ok());
        self.arguments = arguments.map(Cursor::to_raw);
        self.state_change = state_change(method, || uri.and_then(|uri| uri.string().ok()));
    }

    pub(super) fn has_requests(&self) -> bool {
        matches!(&self.message, Some((Some(_), _))) || !self.batch.is_empty()
    }

    pub(super) fn ids(&self) -> Vec<RequestId> {
        match &self.message {
            Some((Some(id), _)) => vec![id.clone()],
            _ => self.batch.clone(),
        }
    }

    pub(super) fn arguments(&self) -> JsonObject {
        let arguments = self.arguments.as_ref().map(RawJson::decode);
        arguments.and_then(Result::ok).unwrap_or_default()
    }
}
