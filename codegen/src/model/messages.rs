//! Requests, notifications and error codes.

use crate::model::direction::Side;
use crate::model::types::{Type, TypeId};

/// A request and its results.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The request's type.
    pub type_id: TypeId,
    /// The senders. Empty if it is embedded in other messages.
    pub senders: Vec<Side>,
    /// The type of `params`, if the schema names it.
    pub params: Option<Params>,
    /// The result.
    pub result: Type,
    /// The result if the params had `task`.
    pub task_result: Option<Type>,
}

/// A notification.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The method.
    pub method: String,
    /// The notification's type.
    pub type_id: TypeId,
    /// The senders.
    pub senders: Vec<Side>,
    /// The type of `params`, if the schema names it.
    pub params: Option<Params>,
}

/// The `params` of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Their type.
    pub content: Type,
    /// Whether they must be present.
    pub required: bool,
}

/// An error code in the schema.
#[derive(Clone, Debug)]
pub struct ErrorCode {
    /// The code.
    pub code: i64,
    /// The definition with the code.
    pub type_id: TypeId,
    /// The Rust name of the constant.
    pub rust: String,
}
