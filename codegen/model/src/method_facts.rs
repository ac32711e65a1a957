//! Facts about methods that the model implies, such as the capability a method needs.

use std::collections::BTreeSet;

use heck::ToLowerCamelCase as _;
use mcpgen_schema::json::Json;

use crate::fixups::FIXUPS;
use crate::{Content, Member, Message, Params, Protocol, Shape, Side, Struct, Type};

/// What the model implies about a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodFacts {
    /// The method name.
    pub method: String,
    /// Whether this is a request, on its own or embedded in a result. Otherwise it is a notification.
    pub is_request: bool,
    /// The sides that may send the method as a message. Empty for requests embedded in results.
    pub senders: Vec<Side>,
    /// The path of the required capability. For a request, the receiver declares it; for a notification, the sender.
    pub capability: Vec<String>,
    /// Whether the receiver can declare support for running the method as a task.
    pub may_run_as_task: bool,
    /// The `params` field that names the target, e.g. the tool.
    pub subject: Option<&'static str>,
    /// Whether the result carries a cache hint.
    pub cacheable: bool,
    /// Whether the result may ask for input.
    pub may_require_input: bool,
    /// Paths of free-form JSON in the params.
    pub free_form_params: Vec<Path>,
    /// Paths of free-form JSON in the result.
    pub free_form_result: Vec<Path>,
}

/// Member names, outermost first. `*` stands for every element of an array.
pub type Path = Vec<String>;

const ELEMENTS: &str = "*";

/// Returns the facts about all methods of a revision, sorted by the length of the method, then alphabetically.
pub fn method_facts(protocol: &Protocol) -> Vec<MethodFacts> {
    let mut facts: Vec<MethodFacts> = protocol.messages().map(|message| facts_of(protocol, message)).collect();
    facts.sort_by(|a, b| (a.method.len(), &a.method).cmp(&(b.method.len(), &b.method)));
    facts
}

fn facts_of(protocol: &Protocol, message: Message<'_>) -> MethodFacts {
    let Message { method, senders, params, request, .. } = message;
    let is_request = request.is_some();
    let declared_by = if is_request { receivers(senders) } else { senders.to_vec() };
    let results = request.map_or_else(Vec::new, |request| structs(protocol, &request.result));
    let has = |names: &[&str]| results.iter().any(|body| names.iter().all(|name| body.member(name).is_some()));
    MethodFacts {
        method: method.to_owned(),
        is_request,
        senders: senders.to_vec(),
        capability: capability(protocol, &declared_by, method),
        may_run_as_task: is_request && may_run_as_task(protocol, &declared_by, method),
        subject: params.filter(|_| is_request).and_then(|params| subject(protocol, params)),
        cacheable: has(&["ttlMs", "cacheScope"]),
        may_require_input: has(&["inputRequests", "requestState"]),
        free_form_params: params.map_or_else(Vec::new, |params| free_form(protocol, &params.content)),
        free_form_result: request.map_or_else(Vec::new, |request| free_form(protocol, &request.result)),
    }
}

/// Returns who receives a request. Clients receive embedded requests.
fn receivers(senders: &[Side]) -> Vec<Side> {
    let of = |side: &Side| match side {
        Side::Client => Side::Server,
        Side::Server => Side::Client,
    };
    if senders.is_empty() { vec![Side::Client] } else { senders.iter().map(of).collect() }
}

/// Returns the path of the capability that a method needs. Its name is the method's first segment, singular or plural.
/// If the capability has a member with the name of the last segment, the path continues with it.
fn capability(protocol: &Protocol, declared_by: &[Side], method: &str) -> Vec<String> {
    if let Some(fixup) = FIXUPS.capabilities.iter().find(|fixup| fixup.method == method) {
        let exists = |side: &Side| find(protocol, *side, &fixup.capability).is_some();
        return if declared_by.iter().any(exists) { fixup.capability.clone() } else { Vec::new() };
    }
    let method = method.strip_prefix("notifications/").unwrap_or(method);
    let Some((area, action)) = method.split_once('/') else { return Vec::new() };
    let last = action.rsplit('/').next().unwrap_or(action).to_lower_camel_case();
    for side in declared_by {
        for name in [area.to_owned(), format!("{area}s")] {
            let whole = vec![name];
            let part = [whole.clone(), vec![last.clone()]].concat();
            if find(protocol, *side, &part).is_some() {
                return part;
            }
            if find(protocol, *side, &whole).is_some() {
                return whole;
            }
        }
    }
    Vec::new()
}

/// Returns whether a method may run as a task: `tasks.requests` has members for the segments of its name.
fn may_run_as_task(protocol: &Protocol, declared_by: &[Side], method: &str) -> bool {
    let path: Vec<String> = ["tasks", "requests"].into_iter().chain(method.split('/')).map(str::to_owned).collect();
    declared_by.iter().any(|side| find(protocol, *side, &path).is_some())
}

fn find<'p>(protocol: &'p Protocol, side: Side, path: &[String]) -> Option<&'p Member> {
    let definition = match side {
        Side::Client => "ClientCapabilities",
        Side::Server => "ServerCapabilities",
    };
    let id = protocol.types.named(definition)?;
    let (last, above) = path.split_last()?;
    let mut body = protocol.as_struct(&Type::Named(id))?;
    for name in above {
        body = protocol.as_struct(body.member(name)?.value()?)?;
    }
    body.member(last)
}

/// Returns the `params` field that names the target: `name` or `uri`, if it is a required string.
fn subject(protocol: &Protocol, params: &Params) -> Option<&'static str> {
    let bodies = structs(protocol, &params.content);
    ["name", "uri"].into_iter().find(|name| {
        let is_text = |member: &Member| match &member.content {
            Content::Value(content) => member.required && matches!(protocol.follow(content), Type::String),
            Content::Constant(value) => matches!(value, Json::String(_)),
        };
        bodies.iter().any(|body| body.member(name).is_some_and(is_text))
    })
}

/// Returns the paths that decoding leaves as JSON text, sorted: members of the value, and of the elements of its lists.
/// In a union, a path counts only if every variant that has it leaves it as text.
fn free_form(protocol: &Protocol, content: &Type) -> Vec<Path> {
    let (mut free, mut typed) = (BTreeSet::new(), BTreeSet::new());
    let mut add = |path: Path, content: &Type| {
        let paths = if is_free_form(protocol, content) { &mut free } else { &mut typed };
        paths.insert(path);
    };
    for body in structs(protocol, content) {
        for (name, content) in values(protocol, body) {
            add(vec![name.to_owned()], content);
            let element = if let Type::List(element) = content { protocol.as_struct(element) } else { None };
            for (inner, content) in element.into_iter().flat_map(|body| values(protocol, body)) {
                add([name, ELEMENTS, inner].map(str::to_owned).to_vec(), content);
            }
        }
    }
    let is_below = |path: &Path| path.len() > 1 && free.contains(&path[..1]);
    free.iter().filter(|path| !typed.contains(*path) && !is_below(path)).cloned().collect()
}

fn values<'p>(protocol: &'p Protocol, body: &'p Struct) -> impl Iterator<Item = (&'p str, &'p Type)> {
    body.members.iter().filter_map(|member| Some((&*member.wire, protocol.follow(member.value()?))))
}

fn is_free_form(protocol: &Protocol, content: &Type) -> bool {
    match content {
        Type::Any | Type::Object => true,
        Type::Named(id) => {
            matches!(protocol.types[*id].shape, Shape::Undecided(_))
                || protocol.as_struct(content).is_some_and(Struct::is_json_schema)
        }
        _ => false,
    }
}

fn structs<'p>(protocol: &'p Protocol, content: &'p Type) -> Vec<&'p Struct> {
    if let Some(body) = protocol.as_struct(content) {
        return vec![body];
    }
    let Type::Named(id) = protocol.follow(content) else { return Vec::new() };
    match &protocol.types[*id].shape {
        // A message set is not a result.
        Shape::Union(union) if union.messages.is_none() => {
            union.variants.iter().flat_map(|variant| protocol.as_struct(&variant.content)).collect()
        }
        _ => Vec::new(),
    }
}
