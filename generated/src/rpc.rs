//! JSON-RPC errors.

use std::fmt;

use crate::codec::{self, Cursor, DecodeInPlace, MemberTable, Members, Object, ReadMember, Unread};
use crate::{Error, Extra, Json, KnownMembers, RequestId};

/// The `error` member of an error response.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorObject {
    /// The kind of error.
    pub code: ErrorCode,
    /// A description of the error, in one sentence.
    pub message: String,
    /// Additional data, whose form depends on the code. `None` leaves the member out, which differs from `null`.
    pub data: Option<Json>,
    /// Members that JSON-RPC does not define.
    pub extra: Extra<Self>,
}

impl ErrorObject {
    /// Creates an error without data.
    #[must_use]
    pub fn new(code: impl Into<ErrorCode>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), data: None, extra: Extra::default() }
    }

    /// Sets the data of the error.
    #[must_use]
    pub fn with_data(mut self, data: impl Into<Json>) -> Self {
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

impl DecodeInPlace for ErrorObject {
    fn blank(_: Unread) -> Self {
        Self::new(0, "")
    }

    fn read(&mut self, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        const TABLE: &MemberTable = &MemberTable::new(ErrorObject::MEMBERS, &[0, 1]);
        json.read_object(TABLE, &mut &mut *self, unread)
    }
}

impl ReadMember for ErrorObject {
    fn read_member(&mut self, index: usize, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        match index {
            0 => self.code.read(json, unread),
            1 => self.message.read(json, unread),
            2 => codec::read_optional(json, &mut self.data, unread),
            _ => Ok(()),
        }
    }

    fn read_other(&mut self, name: Cursor<'_>, value: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        codec::read_other(&mut self.extra, name, value, unread)
    }

    fn finish_others(&mut self, unread: Unread) {
        self.extra.finish(unread);
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

/// The code of a JSON-RPC error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub i64);

impl ErrorCode {
    /// The received text is not JSON.
    pub const PARSE_ERROR: Self = Self(-32700);
    /// The received JSON is not a JSON-RPC message.
    pub const INVALID_REQUEST: Self = Self(-32600);
    /// The receiver does not support the method.
    pub const METHOD_NOT_FOUND: Self = Self(-32601);
    /// The params are invalid for the method.
    pub const INVALID_PARAMS: Self = Self(-32602);
    /// The receiver failed internally.
    pub const INTERNAL_ERROR: Self = Self(-32603);
    /// The resource does not exist. Used by revisions up to 2025-11-25.
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

/// The ID in an error response. It is absent or `null` if the request's ID could not be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum ErrorId {
    /// The `id` member is absent.
    #[default]
    Absent,
    /// The `id` member is `null`.
    Null,
    /// The ID of the request.
    Id(RequestId),
}

impl From<RequestId> for ErrorId {
    fn from(id: RequestId) -> Self {
        Self::Id(id)
    }
}

crate::codec::serde_impls!(ErrorCode, ErrorObject);
