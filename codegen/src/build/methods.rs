//! Requests, notifications and error codes. They are derived from the message sets and other definitions.

use std::collections::BTreeMap;

use crate::json::{Json, integer};
use crate::model::{
    Content, Era, ErrorCode, MessageKind, MessageSet, Notification, Origin, Params, Protocol, Request, Shape, Struct,
    Type, TypeId,
};
use crate::text::names::{Namespace, constant_name};

/// Sets the requests, notifications, error codes and the era.
pub(super) fn collect(protocol: &mut Protocol, names: &BTreeMap<String, TypeId>) {
    for messages in MessageSet::ALL {
        let Some(&union) = names.get(messages.definition()) else { continue };
        for type_id in protocol.uses(union) {
            add(protocol, names, type_id, Some(messages));
        }
    }
    for type_id in embedded(protocol) {
        add(protocol, names, type_id, None);
    }
    protocol.era = match protocol.requests.iter().any(|request| request.method == "initialize") {
        true => Era::Legacy,
        false => Era::Modern,
    };
    protocol.error_codes = error_codes(protocol);
}

fn add(protocol: &mut Protocol, names: &BTreeMap<String, TypeId>, type_id: TypeId, messages: Option<MessageSet>) {
    let Some(method) = method(protocol, type_id) else { return };
    let side = messages.map(|messages| messages.sender);
    let params = member(protocol, type_id, "params");
    if messages.is_none_or(|messages| messages.kind == MessageKind::Request) {
        if let Some(known) = protocol.requests.iter_mut().find(|known| known.type_id == type_id) {
            known.senders.extend(side);
            return;
        }
        let task_result = task_result(protocol, names, params.as_ref());
        let result = result(protocol, names, &protocol.types[type_id].name);
        protocol.requests.push(Request {
            method,
            type_id,
            senders: side.into_iter().collect(),
            params,
            result,
            task_result,
        });
    } else {
        if let Some(known) = protocol.notifications.iter_mut().find(|known| known.type_id == type_id) {
            known.senders.extend(side);
            return;
        }
        protocol.notifications.push(Notification { method, type_id, senders: side.into_iter().collect(), params });
    }
}

/// Returns the definitions with a constant method that are in no message set. They are embedded in other messages.
fn embedded(protocol: &Protocol) -> Vec<TypeId> {
    let listed = |id: &TypeId| {
        protocol.requests.iter().any(|known| known.type_id == *id)
            || protocol.notifications.iter().any(|known| known.type_id == *id)
    };
    (0..protocol.types.len())
        .filter(|id| protocol.types[*id].origin == Origin::Definition && !listed(id))
        .filter(|id| method(protocol, *id).is_some_and(|method| !method.starts_with("notifications/")))
        .collect()
}

fn body(protocol: &Protocol, type_id: TypeId) -> Option<&Struct> {
    protocol.as_struct(&Type::Named(type_id))
}

fn method(protocol: &Protocol, type_id: TypeId) -> Option<String> {
    let Shape::Struct(body) = &protocol.types[type_id].shape else { return None };
    let member = body.members.iter().find(|member| member.wire == "method" && member.required)?;
    match &member.content {
        Content::Constant(Json::String(method)) => Some(method.clone()),
        _ => None,
    }
}

fn member(protocol: &Protocol, type_id: TypeId, wire: &str) -> Option<Params> {
    let member = body(protocol, type_id)?.members.iter().find(|member| member.wire == wire)?;
    match &member.content {
        Content::Value(content) => Some(Params { content: content.clone(), required: member.required }),
        Content::Constant(_) => Some(Params { content: Type::Any, required: member.required }),
    }
}

/// Returns the result of a request: for `XRequest` the result of `XResultResponse`, otherwise `XResult`, otherwise
/// `EmptyResult`.
fn result(protocol: &Protocol, names: &BTreeMap<String, TypeId>, request: &str) -> Type {
    let stem = request.strip_suffix("Request").unwrap_or(request);
    if let Some(&response) = names.get(&format!("{stem}ResultResponse"))
        && let Some(Params { content, .. }) = member(protocol, response, "result")
    {
        return content;
    }
    let named = names.get(&format!("{stem}Result")).or_else(|| names.get("EmptyResult"));
    named.map_or(Type::Object, |&id| Type::Named(id))
}

/// Returns the task result of a request whose params have a member `task`.
fn task_result(protocol: &Protocol, names: &BTreeMap<String, TypeId>, params: Option<&Params>) -> Option<Type> {
    let carries_task = |content: &Type| {
        protocol.as_struct(content).is_some_and(|body| body.members.iter().any(|member| member.wire == "task"))
    };
    let content = protocol.follow(&params?.content);
    let any = match content {
        Type::Named(id) => match &protocol.types[*id].shape {
            Shape::Union(union) => union.variants.iter().any(|variant| carries_task(&variant.content)),
            _ => carries_task(content),
        },
        _ => false,
    };
    let task = *names.get("CreateTaskResult")?;
    any.then_some(Type::Named(task))
}

/// Returns the error codes that are constants in a definition, as its member `code` or as `code` in its member `error`.
fn error_codes(protocol: &Protocol) -> Vec<ErrorCode> {
    let mut codes: Vec<ErrorCode> = Vec::new();
    let mut names = Namespace::default();
    for (type_id, def) in protocol.types.iter().enumerate().filter(|(_, def)| def.origin == Origin::Definition) {
        let Some(body) = body(protocol, type_id) else { continue };
        let inner =
            body.members.iter().find(|member| member.wire == "error").and_then(|member| match &member.content {
                Content::Value(content) => protocol.as_struct(content),
                Content::Constant(_) => None,
            });
        let Some(code) = code(body).or_else(|| code(inner?)) else { continue };
        codes.push(ErrorCode { code, type_id, rust: names.claim(&constant_name(&def.name)) });
    }
    codes
}

fn code(body: &Struct) -> Option<i64> {
    let member = body.members.iter().find(|member| member.wire == "code")?;
    match &member.content {
        Content::Constant(Json::Number(number)) => i64::try_from(integer(number)?).ok(),
        _ => None,
    }
}
