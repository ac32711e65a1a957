//! Incoming frames: a JSON-RPC message or, if the protocol allows it, a batch of messages.
//!
//! The text is scanned once. Messages borrow from the document; params and results are decoded later, when their types
//! are known.

use std::borrow::Cow;
use std::fmt;
use std::str::Utf8Error;

use mcpgen_types::codec::{Cursor, Decode, Document};
use mcpgen_types::{ErrorCode, ErrorId, ErrorObject, RequestId};
use serde_json::json;

use crate::jsonrpc::json::Picked;
use crate::jsonrpc::reserved_keys;

/// A JSON-RPC message, classified by its keys: a request has `method` and `id`, a notification has `method` without
/// `id`, a response has `result`, and an error response has `error`.
#[derive(Clone, Debug)]
pub enum Envelope<'a> {
    /// A request, which expects a response.
    Request {
        /// The ID, which the response repeats.
        id: RequestId,
        /// The requested method.
        method: Cow<'a, str>,
        /// The params, not decoded yet; `None` if absent.
        params: Option<Cursor<'a>>,
    },
    /// A notification, which has no response.
    Notification {
        /// The method of the notification.
        method: Cow<'a, str>,
        /// The params, not decoded yet; `None` if absent.
        params: Option<Cursor<'a>>,
    },
    /// A response with a result.
    Response {
        /// The ID of the request.
        id: RequestId,
        /// The result, not decoded yet: its type depends on the request.
        result: Cursor<'a>,
    },
    /// An error response.
    Error {
        /// The ID of the request. Absent or null if the peer could not read the ID.
        id: ErrorId,
        /// The error.
        error: ErrorObject,
    },
}

/// Input that is not a valid message, and the error to respond with.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// The ID for the error response: the request's ID if it could be read, otherwise null.
    pub id: ErrorId,
    /// The pending request, if the input is an invalid response. Such a response gets no error response: the peer would
    /// match the ID with one of its own requests.
    pub response_to: Option<RequestId>,
    /// The error. Its code is [`ErrorCode::PARSE_ERROR`] if the input is not JSON, and
    /// [`ErrorCode::INVALID_REQUEST`] if it is JSON but not a message.
    pub error: ErrorObject,
}

/// One unit of input: a message or a batch.
#[derive(Clone, Debug)]
pub enum Frame<'a> {
    /// A single message.
    One(Envelope<'a>),
    /// An array of messages, never empty. An invalid element does not affect the others.
    Batch(Vec<Result<Envelope<'a>, Invalid>>),
}

/// The maximum number of messages in a batch.
pub const MOST_IN_BATCH: usize = 1000;

impl<'a> Frame<'a> {
    /// Returns whether the first byte after white space is `[`.
    #[must_use]
    pub fn is_batch(bytes: &[u8]) -> bool {
        bytes.trim_ascii_start().starts_with(b"[")
    }

    /// Reads a frame.
    ///
    /// Batches are always accepted. Only the caller knows whether the protocol allows them, and must reject them if it
    /// does not.
    ///
    /// # Errors
    ///
    /// Fails if the document is not a message, or is an array without elements or with more than [`MOST_IN_BATCH`].
    pub fn read(document: &'a Document<'_>) -> Result<Self, Invalid> {
        match document.root().is_array() {
            false => Envelope::read(document).map(Self::One),
            true => batch(document).map(Self::Batch),
        }
    }
}

/// Scans the text of a message. Nesting is not limited, so that a request with too deeply nested params still gets an
/// error response with its ID.
///
/// # Errors
///
/// Fails if the text is not JSON.
pub fn scan<'a>(text: impl Into<Cow<'a, str>>) -> Result<Document<'a>, Invalid> {
    Document::read_any_depth(text).map_err(|error| parse_error(error.to_string()))
}

/// Scans the bytes of a message.
///
/// # Errors
///
/// Fails if the bytes are not UTF-8 or not JSON.
pub fn scan_bytes(bytes: &[u8]) -> Result<Document<'_>, Invalid> {
    scan(std::str::from_utf8(bytes).map_err(not_text)?)
}

/// Reads a batch. Fails if the document is not an array, is empty, or has more than [`MOST_IN_BATCH`] elements.
pub fn batch<'a>(document: &'a Document<'_>) -> Result<Vec<Result<Envelope<'a>, Invalid>>, Invalid> {
    let messages = document.root().elements().map_err(|_| invalid("expected an object or an array"))?;
    match messages.clone().take(MOST_IN_BATCH + 1).count() {
        0 => Err(invalid("the batch is empty")),
        count if count > MOST_IN_BATCH => Err(invalid(&format!("the batch has more than {MOST_IN_BATCH} messages"))),
        _ => Ok(messages.map(|message| Envelope::of(document, message)).collect()),
    }
}

impl<'a> Envelope<'a> {
    /// Reads one message.
    ///
    /// # Errors
    ///
    /// Fails if the document is not a message.
    pub fn read(document: &'a Document<'_>) -> Result<Self, Invalid> {
        Self::of(document, document.root())
    }

    fn of(document: &'a Document<'_>, message: Cursor<'a>) -> Result<Self, Invalid> {
        let picked = Picked::from(message, &NAMES).map_err(|error| invalid(&error.to_string()))?;
        let members = Members { document, picked };
        if let Some(name) = members.picked.twice {
            return Err(members.blame(invalid(&format!("`{name}` is given twice"))));
        }
        match reserved_keys::find(message) {
            None => members.message().map_err(|why| members.blame(invalid(why))),
            Some(error) => Err(members.blame(reserved(&error))),
        }
    }

    /// Returns the method of a request or a notification.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Request { method, .. } | Self::Notification { method, .. } => Some(method),
            _ => None,
        }
    }

    /// Returns the method up to its last slash: `tools` for `tools/call`, `notifications/tools` for
    /// `notifications/tools/list_changed`. `None` for a method without a slash, such as `ping`.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.method()?.rsplit_once('/').map(|(namespace, _)| namespace)
    }

    /// Returns whether this is a request.
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(self, Self::Request { .. })
    }

    /// Returns whether this is a notification.
    #[must_use]
    pub fn is_notification(&self) -> bool {
        matches!(self, Self::Notification { .. })
    }

    /// Returns whether this is a response, with a result or with an error.
    #[must_use]
    pub fn is_response(&self) -> bool {
        matches!(self, Self::Response { .. } | Self::Error { .. })
    }

    /// Returns whether this is an error response.
    #[must_use]
    pub fn has_error(&self) -> bool {
        matches!(self, Self::Error { .. })
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Invalid {}

pub(crate) fn not_text(error: Utf8Error) -> Invalid {
    parse_error(format!("invalid UTF-8 after byte {}", error.valid_up_to()))
}

fn parse_error(why: String) -> Invalid {
    Invalid {
        id: ErrorId::Null,
        response_to: None,
        error: ErrorObject::new(ErrorCode::PARSE_ERROR, format!("not JSON: {why}")),
    }
}

fn invalid(why: &str) -> Invalid {
    let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, format!("not a JSON-RPC message: {why}"));
    Invalid { id: ErrorId::Null, response_to: None, error }
}

/// Puts the JSON pointer of the reserved key into `data`.
fn reserved(error: &mcpgen_types::Error) -> Invalid {
    let error =
        ErrorObject::new(ErrorCode::INVALID_REQUEST, error.to_string()).with_data(json!({ "path": error.path() }));
    Invalid { id: ErrorId::Null, response_to: None, error }
}

struct Members<'a, 'd> {
    document: &'a Document<'d>,
    picked: Picked<'a, { NAMES.len() }>,
}

const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

impl<'a> Members<'a, '_> {
    fn message(&self) -> Result<Envelope<'a>, &'static str> {
        let [version, id, method, params, result, error] = self.picked.values;
        match version {
            Some(version) if version.as_str().as_deref() == Some("2.0") => {}
            Some(_) => return Err("`jsonrpc` must be \"2.0\""),
            None => return Err("missing required member `jsonrpc`"),
        }
        match (method, result, error) {
            (Some(method), None, None) => {
                let method = method.as_str().ok_or("`method` must be a string")?;
                match id {
                    None => Ok(Envelope::Notification { method, params }),
                    Some(_) => Ok(Envelope::Request { id: self.id()?, method, params }),
                }
            }
            (None, Some(result), None) => Ok(Envelope::Response { id: self.id()?, result }),
            (None, None, Some(error)) => {
                let error = self.document.check_depth().and_then(|()| ErrorObject::decode(error));
                let error = error.map_err(|_| "`error` must have an integer `code` and a string `message`")?;
                let id = if id.is_some() { self.error_id() } else { ErrorId::Absent };
                Ok(Envelope::Error { id, error })
            }
            (None, None, None) => Err("missing `method`, `result` or `error`"),
            _ => Err("only one of `method`, `result` and `error` is allowed"),
        }
    }

    fn id(&self) -> Result<RequestId, &'static str> {
        let [_, id, ..] = self.picked.values;
        let id = id.ok_or("missing required member `id`")?;
        RequestId::decode(id).map_err(|_| "`id` must be a string or an integer")
    }

    /// Sets `response_to` for a response and `id` for anything else: only a request may get an error response with its
    /// ID.
    fn blame(&self, invalid: Invalid) -> Invalid {
        let [_, _, method, _, result, error] = self.picked.values;
        match method {
            None if result.is_some() || error.is_some() => Invalid { response_to: self.id().ok(), ..invalid },
            _ => Invalid { id: self.error_id(), ..invalid },
        }
    }

    fn error_id(&self) -> ErrorId {
        self.id().map_or(ErrorId::Null, ErrorId::Id)
    }
}
