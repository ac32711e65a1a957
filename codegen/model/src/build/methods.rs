//! Derives requests, notifications and error codes from the message sets and other definitions.

use std::collections::{BTreeMap, BTreeSet};

use mcpgen_schema::Problem;

use crate::contract::{MappedMessage, Mapping};
use crate::text::names::{Namespace, constant_name};
use crate::{
    Era, ErrorCode, MessageKind, MessageSet, Notification, Origin, Params, Request, Shape, Side, Struct, Tag, Type,
    TypeId, Types,
};

#[derive(Default)]
pub(super) struct Messages {
    pub(super) requests: Vec<Request>,
    pub(super) notifications: Vec<Notification>,
}

impl Messages {
    pub(super) fn of(
        types: &Types,
        names: &BTreeMap<String, TypeId>,
        mapping: Option<&Mapping>,
    ) -> Result<Self, Vec<Problem>> {
        let mut collector = Collector { types, names, found: Messages::default() };
        for messages in MessageSet::ALL {
            if let Some(union) = types.iter().position(|def| def.message_set() == Some(messages)) {
                types.uses(union).into_iter().for_each(|type_id| collector.add(type_id, Some(messages)));
            }
        }
        let problems = mapping.map_or_else(Vec::new, |mapping| collector.add_mapped(mapping));
        if !problems.is_empty() {
            return Err(problems);
        }
        collector.unlisted().into_iter().for_each(|type_id| collector.add(type_id, None));
        Ok(collector.found)
    }

    pub(super) fn era(&self) -> Era {
        match self.requests.iter().any(|request| request.method == "initialize") {
            true => Era::Legacy,
            false => Era::Modern,
        }
    }
}

struct Collector<'a> {
    types: &'a Types,
    names: &'a BTreeMap<String, TypeId>,
    found: Messages,
}

impl Collector<'_> {
    fn add(&mut self, type_id: TypeId, messages: Option<MessageSet>) {
        let Some(Tag { method, kind, .. }) = Tag::of(&self.types[type_id]) else { return };
        let (method, kind) = (method.to_owned(), messages.map_or(kind, |messages| messages.kind));
        let side = messages.map(|messages| messages.sender);
        let Messages { requests, notifications } = &mut self.found;
        let known = match kind {
            MessageKind::Request => requests.iter_mut().find(|it| it.type_id == type_id).map(|it| &mut it.senders),
            _ => notifications.iter_mut().find(|it| it.type_id == type_id).map(|it| &mut it.senders),
        };
        if let Some(senders) = known {
            senders.extend(side);
            return;
        }
        let params = params(self.types, type_id);
        let result = (kind == MessageKind::Request).then(|| self.result(&self.types[type_id].name));
        self.push(method, type_id, side.into_iter().collect(), params, result);
    }

    /// Adds a request, or a notification if there is no result.
    fn push(
        &mut self,
        method: String,
        type_id: TypeId,
        senders: Vec<Side>,
        params: Option<Params>,
        result: Option<Type>,
    ) {
        match result {
            Some(result) => {
                let task_result = self.task_result(params.as_ref());
                self.found.requests.push(Request { method, type_id, senders, params, result, task_result });
            }
            None => self.found.notifications.push(Notification { method, type_id, senders, params }),
        }
    }

    /// Returns messages that are in no message set. In a schema that has message sets, these are requests embedded in
    /// other messages.
    fn unlisted(&self) -> Vec<TypeId> {
        let Self { types, found, .. } = self;
        let listed = |id: &TypeId| {
            found.requests.iter().any(|known| known.type_id == *id)
                || found.notifications.iter().any(|known| known.type_id == *id)
        };
        let has_sets = types.has_message_sets();
        (0..types.len())
            .filter(|id| types[*id].origin == Origin::Definition && !listed(id))
            .filter(|id| Tag::of(&types[*id]).is_some_and(|tag| !has_sets || tag.kind == MessageKind::Request))
            .collect()
    }

    fn add_mapped(&mut self, mapping: &Mapping) -> Vec<Problem> {
        let (mut problems, mut seen) = (Vec::new(), BTreeSet::new());
        for message in &mapping.messages {
            let twice = || "another entry has the same definition".to_owned();
            let added = match seen.insert(&message.entry.definition) {
                true => self.add_entry(message),
                false => Err(("definition", twice(), "remove one of the entries")),
            };
            if let Err((key, why, remedy)) = added {
                problems.push(mapping.problem(&message.entry, key, why, remedy));
            }
        }
        problems
    }

    fn add_entry(&mut self, MappedMessage { is_request, entry }: &MappedMessage) -> Result<(), Refusal> {
        let type_id = self.definition("definition", &entry.definition)?;
        let def = &self.types[type_id];
        if matches!(def.shape, Shape::Alias(..) | Shape::Core(_)) {
            return Err(("definition", "its Rust type is an alias".to_owned(), "map a definition that is an object"));
        }
        let tag = Tag::of(def);
        let method = match (&entry.method, &tag) {
            (Some(method), Some(tag)) if method != tag.method => {
                let why = format!("the method is {method:?}, but the definition has {:?}", tag.method);
                return Err(("method", why, "correct the method, or leave it out"));
            }
            (Some(method), _) => method.clone(),
            (None, Some(tag)) => tag.method.to_owned(),
            (None, None) => {
                let why = "the definition has no constant member `method` or `command`".to_owned();
                return Err(("method", why, "add `method`"));
            }
        };
        let params = match &entry.params {
            Some(name) => Some(Params { content: Type::Named(self.definition("params", name)?), required: true }),
            // A definition without a method describes the params, not the message.
            None if tag.is_none() => Some(Params { content: Type::Named(type_id), required: true }),
            None => params(self.types, type_id),
        };
        let result = match &entry.result {
            _ if !is_request => None,
            Some(name) => Some(self.result_of_response(self.definition("result", name)?)),
            None => Some(self.result(&entry.definition)),
        };
        let senders = entry.direction.map_or_else(Vec::new, |direction| direction.senders().to_vec());
        self.found.requests.retain(|known| known.type_id != type_id);
        self.found.notifications.retain(|known| known.type_id != type_id);
        self.push(method, type_id, senders, params, result);
        Ok(())
    }

    /// Finds the result for `XRequest`: the `result` in `XResultResponse`, or `XResult`, or the body of `XResponse`, or
    /// `EmptyResult`.
    fn result(&self, request: &str) -> Type {
        let Self { types, names, .. } = self;
        let stem = request.strip_suffix("Request").unwrap_or(request);
        if let Some(&response) = names.get(&format!("{stem}ResultResponse"))
            && let Some(Params { content, .. }) = member(types, response, "result")
        {
            return content;
        }
        if let Some(&result) = names.get(&format!("{stem}Result")) {
            return Type::Named(result);
        }
        if let Some(&response) = names.get(&format!("{stem}Response")) {
            return self.result_of_response(response);
        }
        names.get("EmptyResult").map_or(Type::Object, |&id| Type::Named(id))
    }

    /// Returns the result in a response: its `result`, or its `body` in the Debug Adapter Protocol. A response may also
    /// be a union with an error response. Any other type is the result itself.
    fn result_of_response(&self, response: TypeId) -> Type {
        let types = self.types;
        let response = Type::Named(response);
        let Type::Named(id) = types.follow(&response) else { return response };
        let has = |id: TypeId, name: &str| member(types, id, name);
        let variants: Vec<TypeId> = match &types[*id].shape {
            shape @ (Shape::Union(_) | Shape::Undecided(_)) => {
                shape.variants().iter().filter_map(|it| it.content.by_value()).collect()
            }
            _ => vec![*id],
        };
        let (failures, results): (Vec<TypeId>, Vec<TypeId>) =
            variants.iter().partition(|id| has(**id, "error").is_some() && has(**id, "result").is_none());
        match results.as_slice() {
            [only] if failures.len() + 1 == variants.len() => {
                let is_envelope = has(*only, "jsonrpc").is_some() || !failures.is_empty();
                let result = has(*only, "result").filter(|_| is_envelope).or_else(|| has(*only, "body"));
                result.map_or(response.clone(), |result| result.content)
            }
            _ => response,
        }
    }

    /// If the params have a member `task`, returns the result of running the request as a task.
    fn task_result(&self, params: Option<&Params>) -> Option<Type> {
        let Self { types, names, .. } = self;
        let carries_task = |content: &Type| types.as_struct(content).is_some_and(|body| body.member("task").is_some());
        let content = types.follow(&params?.content);
        let any = match content {
            Type::Named(id) => match &types[*id].shape {
                Shape::Union(union) => union.variants.iter().any(|variant| carries_task(&variant.content)),
                _ => carries_task(content),
            },
            _ => false,
        };
        let task = *names.get("CreateTaskResult")?;
        any.then_some(Type::Named(task))
    }

    fn definition(&self, key: &'static str, name: &str) -> Result<TypeId, Refusal> {
        let found = self.names.get(name).copied();
        found.ok_or_else(|| (key, format!("there is no definition `{name}`"), "correct the name"))
    }
}

/// The key of the entry, what is wrong, and a remedy.
type Refusal = (&'static str, String, &'static str);

fn body(types: &Types, type_id: TypeId) -> Option<&Struct> {
    types.as_struct(&Type::Named(type_id))
}

/// Returns the `params` of a message. In the Debug Adapter Protocol, they are called `arguments` or `body`.
fn params(types: &Types, type_id: TypeId) -> Option<Params> {
    let name = match Tag::of(&types[type_id]).map(|tag| tag.member) {
        Some("command") => "arguments",
        Some("event") => "body",
        _ => "params",
    };
    member(types, type_id, name)
}

fn member(types: &Types, type_id: TypeId, wire: &str) -> Option<Params> {
    let member = body(types, type_id)?.member(wire)?;
    Some(Params { content: member.value().cloned().unwrap_or(Type::Any), required: member.required })
}

/// Returns the definitions with a constant error code, either in `code` or in `error.code`.
pub(super) fn error_codes(types: &Types) -> Vec<ErrorCode> {
    let code_of = |type_id: TypeId| {
        let body = body(types, type_id)?;
        code(body).or_else(|| code(types.as_struct(body.member("error")?.value()?)?))
    };
    let definitions = (0..types.len()).filter(|id| types[*id].origin == Origin::Definition);
    let codes: Vec<(TypeId, i64)> = definitions.filter_map(|id| Some((id, code_of(id)?))).collect();
    let wanted = codes.iter().map(|(id, _)| types[*id].name.as_str()).map(|name| (name, constant_name(name)));
    let names = Namespace::default().claim_all(wanted);
    codes.into_iter().zip(names).map(|((type_id, code), rust)| ErrorCode { code, type_id, rust }).collect()
}

fn code(body: &Struct) -> Option<i64> {
    body.member("code")?.constant()?.as_i64()
}
