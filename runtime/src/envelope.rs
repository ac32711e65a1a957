//! What arrived: one JSON-RPC message, or in revision 2025-03-26 several at once.
//!
//! One pass over the bytes finds the members; whatever is not needed to tell messages apart stays text until somebody
//! knows its type.

use std::borrow::Cow;
use std::fmt;
use std::str::Utf8Error;

use mcpgen_types::{ErrorCode, ErrorId, ErrorObject, RequestId};
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::json;
use serde_json::value::RawValue;

use crate::json::{Picked, string};
use crate::reserved_keys;

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
        params: Option<&'a RawValue>,
    },
    /// Asks for nothing.
    Notification {
        /// What it is about.
        method: Cow<'a, str>,
        /// Not decoded yet; `None` if absent.
        params: Option<&'a RawValue>,
    },
    /// Answers a request.
    Response {
        /// The id of the request.
        id: RequestId,
        /// Not decoded yet: what it must be, the request says.
        result: &'a RawValue,
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
    /// It is no JSON, no message, or an array of nothing or of more than [`MOST_IN_BATCH`].
    pub fn read(bytes: &'a [u8]) -> Result<Self, Invalid> {
        let text = std::str::from_utf8(bytes).map_err(not_text)?;
        match Self::is_batch(bytes) {
            false => Envelope::read(text).map(Self::One),
            true => batch(text).map(Self::Batch),
        }
    }
}

/// Reads a batch.
pub(crate) fn batch(text: &str) -> Result<Vec<Result<Envelope<'_>, Invalid>>, Invalid> {
    let mut json = serde_json::Deserializer::from_str(text);
    match json.deserialize_seq(FirstFew).and_then(|messages| json.end().map(|()| messages)) {
        Ok(messages) if messages.is_empty() => Err(invalid("a batch of no messages")),
        Ok(messages) if messages.len() > MOST_IN_BATCH => {
            Err(invalid(&format!("a batch of more than {MOST_IN_BATCH} messages")))
        }
        Ok(messages) => Ok(messages.into_iter().map(|message| Envelope::read(message.get())).collect()),
        Err(error) => Err(parse_error(error.to_string())),
    }
}

impl<'a> Envelope<'a> {
    /// Reads one message.
    ///
    /// # Errors
    ///
    /// It is no JSON, or no message.
    pub fn read(text: &'a str) -> Result<Self, Invalid> {
        let mut members = Members(Picked::of(NAMES));
        let mut json = serde_json::Deserializer::from_str(text);
        let read = members.0.read(&mut json).and_then(|()| match members.0.twice {
            Some(name) => Err(serde_json::Error::custom(format!("`{name}` is given twice"))),
            None => json.end(),
        });
        match read {
            Ok(()) => match reserved_keys::find(text) {
                None => members.message().map_err(|why| members.blame(invalid(why))),
                Some(key) => Err(members.blame(reserved(&key.error(text)))),
            },
            Err(error) if error.is_data() => Err(members.blame(invalid(&error.to_string()))),
            Err(error) => Err(parse_error(error.to_string())),
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

/// The members that JSON-RPC names, as text.
struct Members<'a>(Picked<'a, { NAMES.len() }>);

const NAMES: [&str; 6] = ["jsonrpc", "id", "method", "params", "result", "error"];

impl<'a> Members<'a> {
    fn message(&self) -> Result<Envelope<'a>, &'static str> {
        let [version, id, method, params, result, error] = self.0.values;
        match version {
            Some(version) if string(version).as_deref() == Some("2.0") => {}
            Some(_) => return Err("`jsonrpc` is not \"2.0\""),
            None => return Err("there is no `jsonrpc`"),
        }
        match (method, result, error) {
            (Some(method), None, None) => {
                let method = string(method).ok_or("`method` is no string")?;
                match id {
                    None => Ok(Envelope::Notification { method, params }),
                    Some(_) => Ok(Envelope::Request { id: self.id()?, method, params }),
                }
            }
            (None, Some(result), None) => Ok(Envelope::Response { id: self.id()?, result }),
            (None, None, Some(error)) => {
                let error = mcpgen_types::from_str(error.get())
                    .map_err(|_| "`error` is no object with an integer `code` and a string `message`")?;
                let id = if id.is_some() { self.error_id() } else { ErrorId::Absent };
                Ok(Envelope::Error { id, error })
            }
            (None, None, None) => Err("it has no `method`, `result` or `error`"),
            _ => Err("it has two of `method`, `result` and `error`"),
        }
    }

    fn id(&self) -> Result<RequestId, &'static str> {
        let [_, id, ..] = self.0.values;
        let id = id.ok_or("there is no `id`")?;
        mcpgen_types::from_str(id.get()).map_err(|_| "`id` is no string and no integer")
    }

    /// Whose fault it is: that of a request, which is answered, or of an answer, which is not.
    fn blame(&self, invalid: Invalid) -> Invalid {
        let [_, _, method, _, result, error] = self.0.values;
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

/// The elements of an array, no more than one too many.
struct FirstFew;

impl<'de> Visitor<'de> for FirstFew {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(element) = seq.next_element()? {
            if found.len() <= MOST_IN_BATCH {
                found.push(element);
            }
        }
        Ok(found)
    }
}
