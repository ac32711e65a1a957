//! JSON-RPC's errors.

use std::fmt;

use serde_json::Value;

use crate::codec::{Decode, Encode, Event, Members, Node, Object, required};
use crate::{Error, Extra, KnownMembers, RequestId};

/// What a peer says went wrong with a request: the `error` member of an error response.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorObject {
    /// The kind of error, for programs.
    pub code: ErrorCode,
    /// One sentence, for people.
    pub message: String,
    /// Whatever else the code says comes with it. `null` is a value; `None` is no member.
    pub data: Option<Value>,
    /// Members that JSON-RPC does not name.
    pub extra: Extra<Self>,
}

impl ErrorObject {
    /// An error without data.
    #[must_use]
    pub fn new(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), data: None, extra: Extra::default() }
    }

    /// The same error with data.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Value>) -> Self {
        self.data = Some(data.into());
        self
    }
}

impl std::error::Error for ErrorObject {}

impl fmt::Display for ErrorObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl KnownMembers for ErrorObject {
    const MEMBERS: &'static [&'static str] = &["code", "message", "data"];
}

impl Decode for ErrorObject {
    const NAME: &'static str = "ErrorObject";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        let mut code = None;
        let mut message = None;
        let mut data = None;
        let mut extra = Extra::default();
        event.object(Self::MEMBERS, &mut [&mut code, &mut message, &mut data], &mut extra)?;
        Ok(Self { code: required("code", code)?, message: required("message", message)?, data, extra })
    }
}

impl Encode for ErrorObject {
    fn encode(&self) -> Node<'_> {
        Node::Object(self)
    }
}

impl Object for ErrorObject {
    fn members(&self, out: &mut Members<'_>) {
        out.member("code", &self.code);
        out.member("message", &self.message);
        out.optional("data", &self.data);
        out.extra(&self.extra);
    }
}

/// The number of a JSON-RPC error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// What arrived is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// What arrived is not a JSON-RPC message.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// There is no such method here.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The method does not take these parameters.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The receiver failed for reasons of its own.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// There is no such resource: the code of the revisions up to 2025-11-25.
    pub const RESOURCE_NOT_FOUND: Self = Self(-32002);
}

impl From<i64> for ErrorCode {
    fn from(code: i64) -> Self {
        Self(code)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Decode for ErrorCode {
    const NAME: &'static str = "ErrorCode";

    fn decode(event: Event<'_>) -> Result<Self, Error> {
        i64::decode(event).map(Self)
    }
}

impl Encode for ErrorCode {
    fn encode(&self) -> Node<'_> {
        Node::Signed(self.0)
    }
}

/// The id in an error response, which has none if the request could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ErrorId {
    /// There is no member `id`.
    #[default]
    Absent,
    /// The member `id` is `null`.
    Null,
    /// The id of the request.
    Id(RequestId),
}

impl From<RequestId> for ErrorId {
    fn from(id: RequestId) -> Self {
        Self::Id(id)
    }
}

crate::codec::serde_impls!(ErrorCode, ErrorObject);
