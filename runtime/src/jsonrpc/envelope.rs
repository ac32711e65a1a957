//! What arrived: one JSON-RPC message, or in revision 2025-03-26 several at once.
//!
//! The text is scanned once. A message refers to its document, from which params and results are decoded later, when
//! their types are known.

use std::borrow::Cow;
use std::fmt;
use std::str::Utf8Error;

use mcpgen_types::codec::{Cursor, Decode, Document};
use mcpgen_types::{ErrorCode, ErrorId, ErrorObject, RequestId};
use serde_json::json;

use crate::jsonrpc::json::Picked;
use crate::jsonrpc::reserved_keys;

/// One message, told apart by the keys that are there: `method` and `id`, a request; `method` alone, a notification;
/// `result`, a response; `error`, an error.
#[derive(Clone, Debug)]
pub enum Envelope<'a> {
    /// Asks for an answer.
    Request {
        /// What the answer will be known by.
        id: RequestId,
        /// What is asked for.
        method: Cow<'a, str>,
        /// Not decoded yet; `None` if absent.
        params: Option<Cursor<'a>>,
    },
    /// Asks for nothing.
    Notification {
        /// What it is about.
        method: Cow<'a, str>,
        /// Not decoded yet; `None` if absent.
        params: Option<Cursor<'a>>,
    },
    /// Answers a request.
    Response {
        /// The id of the request.
        id: RequestId,
        /// Not decoded yet: what it must be, the request says.
        result: Cursor<'a>,
    },
    /// Says why a request has no other answer.
    Error {
        /// The id of the request, as far as it is known.
        id: ErrorId,
        /// What went wrong.
        error: ErrorObject,
    },
}

/// Something that arrived and is no message; and what its sender is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Invalid {
    /// The id that the answer has: that of a request where it could be read, otherwise null.
    pub id: ErrorId,
    /// The call that this was meant to answer: an answer that is none has no answer by that id, which would be taken for
    /// one to another request.
    pub answers: Option<RequestId>,
    /// The code says whether it is no JSON ([`ErrorCode::PARSE_ERROR`]) or no message ([`ErrorCode::INVALID_REQUEST`]).
    pub error: ErrorObject,
}

/// All that arrived at once.
#[derive(Clone, Debug)]
pub enum Frame<'a> {
    /// A message by itself.
    One(Envelope<'a>),
    /// An array of messages, each of them read by itself. It is not empty.
    Batch(Vec<Result<Envelope<'a>, Invalid>>),
}

/// How many messages a batch may have.
pub const MOST_IN_BATCH: usize = 1000;

impl<'a> Frame<'a> {
    /// Whether bytes are meant to be several messages.
    #[must_use]
    pub fn is_batch(bytes: &[u8]) -> bool {
        bytes.trim_ascii_start().starts_with(b"[")
    }

    /// Reads a frame.
    ///
    /// Whether batches are allowed is for the receiver to say: it knows the revision.
    ///
    /// # Errors
    ///
    /// It is no message, or an array of nothing or of more than [`MOST_IN_BATCH`].
    pub fn read(document: &'a Document<'_>) -> Result<Self, Invalid> {
        match document.root().is_array() {
            false => Envelope::read(document).map(Self::One),
            true => batch(document).map(Self::Batch),
        }
    }
}

/// Scans the text of a message. Nesting is not limited yet, so that a request that is nested too deep can be answered.
///
/// # Errors
///
/// It is no JSON.
pub fn scan<'a>(text: impl Into<Cow<'a, str>>) -> Result<Document<'a>, Invalid> {
    Document::read_any_depth(text).map_err(|error| parse_error(error.to_string()))
}

/// Scans the bytes of a message.
///
/// # Errors
///
/// They are not UTF-8, or no JSON.
pub fn scan_bytes(bytes: &[u8]) -> Result<Document<'_>, Invalid> {
    scan(std::str::from_utf8(bytes).map_err(not_text)?)
}

/// Reads a batch.
pub(crate) fn batch<'a>(document: &'a Document<'_>) -> Result<Vec<Result<Envelope<'a>, Invalid>>, Invalid> {
    let messages = document.root().elements().map_err(|_| invalid("it is neither an object nor an array"))?;
    match messages.clone().take(MOST_IN_BATCH + 1).count() {
        0 => Err(invalid("a batch of no messages")),
        count if count > MOST_IN_BATCH => Err(invalid(&format!("a batch of more than {MOST_IN_BATCH} messages"))),
        _ => Ok(messages.map(|message| Envelope::of(document, message)).collect()),
    }
}

impl<'a> Envelope<'a> {
    /// Reads one message.
    ///
    /// # Errors
    ///
    /// It is no message.
    pub fn read(document: &'a Document<'_>) -> Result<Self, Invalid> {
        Self::of(document, document.root())
    }

    /// Reads a message that is a part of a document.
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

    /// The method of a request or a notification.
    #[must_use]
    pub fn method(&self) -> Option<&str> {
        match self {
            Self::Request { method, .. } | Self::Notification { method, .. } => Some(method),
            _ => None,
        }
    }

    /// The part of the method before its last slash, such as `tools` of `tools/call` and `notifications/tools` of
    /// `notifications/tools/list_changed`; `None` if it has none, as `ping`.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.method()?.rsplit_once('/').map(|(namespace, _)| namespace)
    }

    /// Whether it asks for an answer.
    #[must_use]
    pub fn is_request(&self) -> bool {
        matches!(self, Self::Request { .. })
    }

    /// Whether it has a method and asks for nothing.
    #[must_use]
    pub fn is_notification(&self) -> bool {
        matches!(self, Self::Notification { .. })
    }

    /// Whether it answers a request, be it with an error.
    #[must_use]
    pub fn is_response(&self) -> bool {
        matches!(self, Self::Response { .. } | Self::Error { .. })
    }

    /// Whether it says that something went wrong.
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

/// What is said of bytes that are no text.
pub(crate) fn not_text(error: Utf8Error) -> Invalid {
    parse_error(format!("not UTF-8 after byte {}", error.valid_up_to()))
}

fn parse_error(why: String) -> Invalid {
    Invalid {
        id: ErrorId::Null,
        answers: None,
        error: ErrorObject::new(ErrorCode::PARSE_ERROR, format!("not JSON: {why}")),
    }
}

fn invalid(why: &str) -> Invalid {
    let error = ErrorObject::new(ErrorCode::INVALID_REQUEST, format!("not a JSON-RPC message: {why}"));
    Invalid { id: ErrorId::Null, answers: None, error }
}

/// A message with a key that is not accepted. `data` has its place as a JSON pointer.
fn reserved(error: &mcpgen_types::Error) -> Invalid {
    let error =
        ErrorObject::new(ErrorCode::INVALID_REQUEST, error.to_string()).with_data(json!({ "path": error.path() }));
    Invalid { id: ErrorId::Null, answers: None, error }
}

/// The members that JSON-RPC names.
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
            Some(_) => return Err("`jsonrpc` is not \"2.0\""),
            None => return Err("there is no `jsonrpc`"),
        }
        match (method, result, error) {
            (Some(method), None, None) => {
                let method = method.as_str().ok_or("`method` is no string")?;
                match id {
                    None => Ok(Envelope::Notification { method, params }),
                    Some(_) => Ok(Envelope::Request { id: self.id()?, method, params }),
                }
            }
            (None, Some(result), None) => Ok(Envelope::Response { id: self.id()?, result }),
            (None, None, Some(error)) => {
                let error = self.document.check_depth().and_then(|()| ErrorObject::decode(error));
                let error = error.map_err(|_| "`error` is no object with an integer `code` and a string `message`")?;
                let id = if id.is_some() { self.error_id() } else { ErrorId::Absent };
                Ok(Envelope::Error { id, error })
            }
            (None, None, None) => Err("it has no `method`, `result` or `error`"),
            _ => Err("it has two of `method`, `result` and `error`"),
        }
    }

    fn id(&self) -> Result<RequestId, &'static str> {
        let [_, id, ..] = self.picked.values;
        let id = id.ok_or("there is no `id`")?;
        RequestId::decode(id).map_err(|_| "`id` is no string and no integer")
    }

    /// Whose fault it is: that of a request, which is answered, or of an answer, which is not.
    fn blame(&self, invalid: Invalid) -> Invalid {
        let [_, _, method, _, result, error] = self.picked.values;
        match method {
            None if result.is_some() || error.is_some() => Invalid { answers: self.id().ok(), ..invalid },
            _ => Invalid { id: self.error_id(), ..invalid },
        }
    }

    /// The id as far as it can be read.
    fn error_id(&self) -> ErrorId {
        self.id().map_or(ErrorId::Null, ErrorId::Id)
    }
}
