//! Assigns each type to an area of the protocol. Each area is a file.

use std::collections::BTreeSet;

use crate::build::names::words;
use crate::model::{Protocol, Shape, TypeId};
use crate::text::names::module_name;

/// Types that several areas use.
pub(crate) const COMMON: &str = "common";
/// Message and method enums of all areas.
pub(crate) const MESSAGES: &str = "messages";
/// Methods without a namespace: `initialize`, `ping`, `notifications/cancelled`, ….
pub(crate) const BASE: &str = "base";
/// The envelope of JSON-RPC.
pub(crate) const JSON_RPC: &str = "json_rpc";

/// Assigns every type to an area.
pub(crate) fn assign(protocol: &mut Protocol) {
    let count = protocol.types.len();
    let uses: Vec<Vec<TypeId>> = (0..count).map(|id| protocol.uses(id)).collect();
    let mut users: Vec<BTreeSet<String>> = vec![BTreeSet::new(); count];
    let roots = roots(protocol);
    let messages: BTreeSet<TypeId> = roots.iter().flat_map(|(_, types)| types).copied().collect();
    for (area, roots) in roots {
        for id in reachable(&uses, roots, &messages) {
            users[id].insert(area.clone());
        }
    }
    // Types that no message uses (responses, bases) belong to the area of the types that they use.
    let unused: Vec<TypeId> = (0..count).filter(|&id| users[id].is_empty()).collect();
    let own: Vec<String> = (0..count).map(|id| area_of(protocol, id, &users[id])).collect();
    for (id, area) in own.iter().enumerate() {
        protocol.types[id].area.clone_from(area);
    }
    for id in unused {
        let def = &protocol.types[id];
        let is_messages = matches!(&def.shape, Shape::Union(union) if union.messages.is_some());
        let area = if is_messages || ["ClientResult", "ServerResult"].contains(&def.name.as_str()) {
            MESSAGES.to_owned()
        } else if def.rust.starts_with("JsonRpc") {
            JSON_RPC.to_owned()
        } else {
            let used: BTreeSet<&String> =
                uses[id].iter().map(|used| &own[*used]).filter(|area| *area != COMMON).collect();
            match used.len() {
                1 => (*used.iter().next().expect("one area")).clone(),
                _ => COMMON.to_owned(),
            }
        };
        protocol.types[id].area = area;
    }
}

/// Returns the messages of each area: its requests with their results, and its notifications.
fn roots(protocol: &Protocol) -> Vec<(String, Vec<TypeId>)> {
    let mut roots = Vec::new();
    for request in &protocol.requests {
        let mut types = vec![request.type_id];
        request.result.visit(&mut |id| types.push(id));
        roots.push((area_of_method(&request.method), types));
    }
    for notification in &protocol.notifications {
        roots.push((area_of_method(&notification.method), vec![notification.type_id]));
    }
    roots
}

/// `tools/call` and `notifications/tools/list_changed` belong to `tools`.
pub(crate) fn area_of_method(method: &str) -> String {
    let path = method.strip_prefix("notifications/").unwrap_or(method);
    match path.split_once('/') {
        Some((area, _)) => match module_name(area) {
            taken if [COMMON, MESSAGES, JSON_RPC, "mod", "json_schema", "checks"].contains(&taken.as_str()) => {
                format!("{taken}_")
            }
            free => free,
        },
        None => BASE.to_owned(),
    }
}

/// Returns the types that the roots use, except through embedded messages.
fn reachable(uses: &[Vec<TypeId>], roots: Vec<TypeId>, messages: &BTreeSet<TypeId>) -> BTreeSet<TypeId> {
    let mut seen: BTreeSet<TypeId> = roots.iter().copied().collect();
    let mut stack = roots;
    while let Some(id) = stack.pop() {
        stack.extend(uses[id].iter().copied().filter(|next| !messages.contains(next) && seen.insert(*next)));
    }
    seen
}

/// Returns the only area that uses a type. If there are several, it is the one whose name is in the name of the type
/// (`Tool` for `tools`), or else [`COMMON`].
fn area_of(protocol: &Protocol, id: TypeId, users: &BTreeSet<String>) -> String {
    if users.len() == 1 {
        return users.iter().next().expect("one area").clone();
    }
    let words: Vec<String> = words(&protocol.types[id].rust).into_iter().map(str::to_lowercase).collect();
    let named = users.iter().find(|area| {
        let singular = area.strip_suffix('s').unwrap_or(area);
        words.iter().any(|word| word == singular || word == *area)
    });
    named.cloned().unwrap_or_else(|| COMMON.to_owned())
}
