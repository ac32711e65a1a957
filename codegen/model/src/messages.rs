//! Requests, notifications and error codes.

use mcpgen_schema::json::Json;

use crate::direction::{MessageKind, Side};
use crate::types::{Content, Shape, Struct, Type, TypeDef, TypeId};

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

/// The member of a message that names its method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'p> {
    /// The member: `method`, or as in the Debug Adapter Protocol `command` or `event`.
    pub member: &'static str,
    /// The method.
    pub method: &'p str,
    /// The kind of message.
    pub kind: MessageKind,
}

impl Tag<'_> {
    /// Returns the tag of a definition, if it is a message: an object with the required constant member `method`, or
    /// with `command` beside the `type` `request`, or with `event` beside the `type` `event`.
    pub fn of(def: &TypeDef) -> Option<Tag<'_>> {
        let Shape::Struct(body) = &def.shape else { return None };
        if let Some(method) = constant(body, "method") {
            let is_notification =
                method.split('/').any(|part| part == "notifications") || def.name.ends_with("Notification");
            let kind = if is_notification { MessageKind::Notification } else { MessageKind::Request };
            return Some(Tag { member: "method", method, kind });
        }
        let (member, kind) = match constant(body, "type")? {
            "request" => ("command", MessageKind::Request),
            "event" => ("event", MessageKind::Notification),
            _ => return None,
        };
        constant(body, member).map(|method| Tag { member, method, kind })
    }
}

/// Returns the text of a required constant member.
fn constant<'p>(body: &'p Struct, name: &str) -> Option<&'p str> {
    let member = body.members.iter().find(|member| member.wire == name && member.required)?;
    match &member.content {
        Content::Constant(Json::String(text)) => Some(text),
        _ => None,
    }
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
