//! Requests, notifications and error codes.

use crate::direction::{MessageKind, Side};
use crate::types::{Shape, Struct, Type, TypeDef, TypeId};

/// A request with its results.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method name.
    pub method: String,
    /// The type of the whole message.
    pub type_id: TypeId,
    /// Who sends the request. Empty if it is embedded in other messages.
    pub senders: Vec<Side>,
    /// The type of `params`, if the schema has them.
    pub params: Option<Params>,
    /// The type of the result.
    pub result: Type,
    /// The type of the result if the params ask for a task.
    pub task_result: Option<Type>,
}

/// A notification.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The method name.
    pub method: String,
    /// The type of the whole message.
    pub type_id: TypeId,
    /// Who sends the notification.
    pub senders: Vec<Side>,
    /// The type of `params`, if the schema has them.
    pub params: Option<Params>,
}

/// The common part of a request and a notification.
#[derive(Clone, Copy, Debug)]
pub struct Message<'p> {
    /// The method name.
    pub method: &'p str,
    /// The type of the whole message.
    pub type_id: TypeId,
    /// Who sends the message. Empty for a request embedded in other messages.
    pub senders: &'p [Side],
    /// The type of `params`, if the schema has them.
    pub params: Option<&'p Params>,
    /// The request, unless this is a notification.
    pub request: Option<&'p Request>,
}

impl<'p> Message<'p> {
    /// Returns whether it is a request or a notification.
    pub fn kind(self) -> MessageKind {
        if self.request.is_some() { MessageKind::Request } else { MessageKind::Notification }
    }

    /// Returns the types of params, result and task result.
    pub fn contents(self) -> impl Iterator<Item = &'p Type> {
        let results = self.request.into_iter().flat_map(|it| [Some(&it.result), it.task_result.as_ref()]);
        self.params.map(|params| &params.content).into_iter().chain(results.flatten())
    }
}

/// The `params` of a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Their type.
    pub content: Type,
    /// Whether they are required.
    pub required: bool,
}

/// The member that names a message's method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'p> {
    /// Its name: `method`, or `command` or `event` in the Debug Adapter Protocol.
    pub member: &'static str,
    /// The method name.
    pub method: &'p str,
    /// The kind of message.
    pub kind: MessageKind,
}

impl Tag<'_> {
    /// Returns the tag if a definition is a message: an object with the required constant `method`, or with `command`
    /// next to `"type": "request"`, or `event` next to `"type": "event"`.
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

fn constant<'p>(body: &'p Struct, name: &str) -> Option<&'p str> {
    body.member(name).filter(|member| member.required)?.constant()?.as_str()
}

/// An error code from the schema.
#[derive(Clone, Debug)]
pub struct ErrorCode {
    /// The number.
    pub code: i64,
    /// The definition that contains it.
    pub type_id: TypeId,
    /// The Rust name of the constant.
    pub rust: String,
}
