//! Parses as much of a POST body as the HTTP transport needs.

use mcpgen_mcp::protocol::modern::{CLIENT_CAPABILITIES, PROTOCOL_VERSION as VERSION_KEY};
use mcpgen_mcp::protocol::params::RequestView;
use mcpgen_runtime::jsonrpc::envelope::{Envelope, Frame, Invalid};
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_runtime::transport::Inbound;
use mcpgen_types::codec::Cursor;
use mcpgen_types::{ErrorId, ErrorObject, Json, JsonObject, RequestId};

use super::state_change::state_change;
use crate::headers;

pub(super) struct RequestBody {
    /// The ID and method of a single request or notification. A notification has no ID.
    pub(super) message: Option<(Option<RequestId>, String)>,
    batch: Vec<RequestId>,
    pub(super) is_batch: bool,
    pub(super) is_initialize: bool,
    /// Whether `_meta` has the metadata of modern revisions.
    pub(super) has_metadata: bool,
    /// The revision in `_meta`.
    pub(super) version: Option<String>,
    /// What [`NAME`](headers::NAME) must repeat.
    pub(super) subject: Option<String>,
    arguments: Option<Json>,
    pub(super) state_changes: Vec<StateChange>,
}

/// A message that changes its session's state if the receiver accepts it.
pub(super) struct StateChange {
    /// The ID of a request. `None` for a notification.
    pub(super) id: Option<RequestId>,
    /// Which part of the state it changes.
    pub(super) key: String,
    /// Whether it resets that part.
    pub(super) is_reset: bool,
    pub(super) message: String,
}

impl StateChange {
    fn of(id: Option<&RequestId>, method: &str, params: Option<Cursor<'_>>, message: Cursor<'_>) -> Option<Self> {
        let uri = || {
            let [uri] = Picked::values(params?, &["uri"]);
            uri?.string().ok()
        };
        let (key, is_reset) = state_change(method, uri)?;
        Some(Self { id: id.cloned(), key, is_reset, message: message.text().into_owned() })
    }
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
            state_changes: Vec::new(),
        };
        let root = document.root();
        match frame {
            Frame::One(Envelope::Request { id, method, params }) => {
                posted.read_params(&method, params.filter(|_| is_shallow));
                posted.state_changes.extend(StateChange::of(Some(&id), &method, params, root));
                posted.is_initialize = method == "initialize";
                posted.message = Some((Some(id), method.into_owned()));
            }
            Frame::One(Envelope::Notification { method, params }) => {
                posted.read_params(&method, params.filter(|_| is_shallow));
                posted.state_changes.extend(StateChange::of(None, &method, params, root));
                posted.message = Some((None, method.into_owned()));
            }
            Frame::One(_) => {}
            Frame::Batch(messages) => {
                posted.is_batch = true;
                for (message, element) in messages.into_iter().zip(root.elements().into_iter().flatten()) {
                    match message {
                        Ok(Envelope::Request { id, method, params }) => {
                            posted.state_changes.extend(StateChange::of(Some(&id), &method, params, element));
                            posted.batch.push(id);
                        }
                        Ok(Envelope::Notification { method, params }) => {
                            posted.state_changes.extend(StateChange::of(None, &method, params, element));
                        }
                        Ok(_) => {}
                        Err(invalid) => return Err((invalid.id, invalid.error)),
                    }
                }
            }
        }
        Ok(posted)
    }

    /// Ignores members of the wrong type, which are reported when the params are decoded for the handler.
    fn read_params(&mut self, method: &str, params: Option<Cursor<'_>>) {
        let Some(params) = params else { return };
        let view = RequestView::of(method, params);
        if let Some(meta) = view.meta {
            let [version, capabilities] = Picked::values(meta, &[VERSION_KEY, CLIENT_CAPABILITIES]);
            self.has_metadata = version.is_some() || capabilities.is_some();
            self.version = version.and_then(|version| version.string().ok());
        }
        self.subject = headers::name(method, &view);
        self.arguments = view.arguments.map(Cursor::to_json);
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
        let arguments = self.arguments.as_ref().map(Json::decode);
        arguments.and_then(Result::ok).unwrap_or_default()
    }
}
