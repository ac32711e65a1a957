//! Requests, notifications and error codes.

use crate::direction::{MessageKind, Side};
use crate::types::{Shape, Struct, Type, TypeDef, TypeId};

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

/// What requests and notifications have in common.
#[derive(Clone, Copy, Debug)]
pub struct Message<'p> {
    /// The method.
    pub method: &'p str,
    /// The message's type.
    pub type_id: TypeId,
    /// The senders. Empty for a request that is embedded in other messages.
    pub senders: &'p [Side],
    /// The type of `params`, if the schema names it.
    pub params: Option<&'p Params>,
    /// The request, unless it is a notification.
    pub request: Option<&'p Request>,
}

impl<'p> Message<'p> {
    /// Returns its kind.
    pub fn kind(self) -> MessageKind {
        if self.request.is_some() { MessageKind::Request } else { MessageKind::Notification }
    }

    /// Returns the types of its params, its result and its task result.
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

fn constant<'p>(body: &'p Struct, name: &str) -> Option<&'p str> {
    body.member(name).filter(|member| member.required)?.constant()?.as_str()
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
