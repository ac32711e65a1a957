//! Assigns each type to an area of the protocol. Each area becomes a file.

use std::collections::BTreeSet;

use crate::build::methods::Messages;
use crate::build::names::words;
use crate::text::names::module_name;
use crate::{ErrorCode, Shape, TypeDef, TypeId, Types};

/// Types shared by several areas.
pub const COMMON: &str = "common";
/// Definitions that checks refer to. This area exports no types.
pub const CHECKS: &str = "checks";
/// `JsonSchema` implementations.
pub const JSON_SCHEMA: &str = "json_schema";
/// Message and method enums of all areas.
pub const MESSAGES: &str = "messages";
/// Methods without a namespace, such as `initialize`, `ping` and `notifications/cancelled`.
pub const BASE: &str = "base";
/// Error types that have a code.
pub const ERRORS: &str = "errors";
/// What clients and servers declare about themselves, such as their capabilities.
pub const CAPABILITIES: &str = "capabilities";
/// JSON-RPC envelopes.
pub const JSON_RPC: &str = "json_rpc";

pub(super) fn areas(types: &Types, messages: &Messages, error_codes: &[ErrorCode]) -> Vec<String> {
    let count = types.len();
    let uses: Vec<Vec<TypeId>> = (0..count).map(|id| types.uses(id)).collect();
    let mut users: Vec<BTreeSet<String>> = vec![BTreeSet::new(); count];
    let roots = roots(messages);
    let messages: BTreeSet<TypeId> = roots.iter().flat_map(|(_, types)| types).copied().collect();
    for (area, roots) in roots {
        for id in reachable(&uses, roots, &messages) {
            users[id].insert(area.clone());
        }
    }
    // Types that no message uses, such as responses, follow the types that they use.
    let unused: Vec<TypeId> = (0..count).filter(|&id| users[id].is_empty()).collect();
    let own: Vec<String> = types.iter().zip(&users).map(|(def, users)| area_of(def, users)).collect();
    let mut areas = own.clone();
    for id in unused {
        let def = &types[id];
        let area = if def.is_message_set() || ["ClientResult", "ServerResult"].contains(&def.name.as_str()) {
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
        areas[id] = area;
    }
    split_common(types, error_codes, &uses, areas)
}

/// Moves types to smaller areas, mostly out of [`COMMON`]:
///
/// * error types with a code, to [`ERRORS`];
/// * a union, its variants, and types whose names start with the same word, to an area named after that word;
/// * types of members such as `clientInfo` and `capabilities`, to [`CAPABILITIES`];
/// * types used by only one of these areas, to that area.
fn split_common(types: &Types, error_codes: &[ErrorCode], uses: &[Vec<TypeId>], mut areas: Vec<String>) -> Vec<String> {
    let mut claims: Vec<(String, TypeId)> = Vec::new();
    claims.extend(error_codes.iter().map(|error| (ERRORS.to_owned(), error.type_id)));
    for (id, def) in types.iter().enumerate().filter(|(id, _)| areas[*id] == COMMON) {
        if let Shape::Union(union) = &def.shape {
            let word = words(&def.rust)[0];
            let area = area_name(&word.to_lowercase());
            let same_word = (0..types.len()).filter(|other| words(&types[*other].rust)[0] == word);
            let variants = union.variants.iter().filter_map(|variant| variant.content.by_value());
            claims.extend([id].into_iter().chain(variants).chain(same_word).map(|id| (area.clone(), id)));
        }
    }
    claims.extend(declarations(types).map(|id| (CAPABILITIES.to_owned(), id)));
    let mut new: BTreeSet<String> = BTreeSet::new();
    for (area, id) in claims {
        if may_move(&areas[id], &area) {
            areas[id].clone_from(&area);
            new.insert(area);
        }
    }
    let users = types.users();
    loop {
        let only = |id: TypeId| {
            let found: BTreeSet<&String> = users[id].iter().map(|user| &areas[*user]).collect();
            (found.len() == 1).then(|| found.into_iter().next().filter(|area| new.contains(*area)).cloned()).flatten()
        };
        let moves = (0..uses.len()).filter_map(|id| Some((id, only(id)?)));
        let moves: Vec<(TypeId, String)> = moves.filter(|(id, area)| may_move(&areas[*id], area)).collect();
        if moves.is_empty() {
            return areas;
        }
        moves.into_iter().for_each(|(id, area)| areas[id] = area);
    }
}

fn may_move(from: &str, to: &str) -> bool {
    from == COMMON || (to == CAPABILITIES && from != CAPABILITIES)
}

fn declarations(types: &Types) -> impl Iterator<Item = TypeId> {
    let bodies = types.iter().filter_map(|def| match &def.shape {
        Shape::Struct(body) => Some(body),
        _ => None,
    });
    let members = bodies.flat_map(|body| &body.members).filter(|member| is_declaration(&member.wire));
    members.filter_map(|member| member.value()?.by_value())
}

fn is_declaration(member: &str) -> bool {
    let last = words(member).last().copied().unwrap_or_default().to_lowercase();
    ["capabilities", "info"].contains(&last.as_str())
}

/// Returns the messages of each area, requests together with their results.
fn roots(messages: &Messages) -> Vec<(String, Vec<TypeId>)> {
    let mut roots = Vec::new();
    for request in &messages.requests {
        let mut types = vec![request.type_id];
        request.result.visit(&mut |id| types.push(id));
        roots.push((area_of_method(&request.method), types));
    }
    for notification in &messages.notifications {
        roots.push((area_of_method(&notification.method), vec![notification.type_id]));
    }
    roots
}

/// Returns the area of a method: `tools` for `tools/call` and `notifications/tools/list_changed`.
pub fn area_of_method(method: &str) -> String {
    let path = method.strip_prefix("notifications/").unwrap_or(method);
    match path.split_once('/') {
        Some((area, _)) => area_name(area),
        None => BASE.to_owned(),
    }
}

fn area_name(name: &str) -> String {
    match module_name(name) {
        taken if [COMMON, MESSAGES, JSON_RPC, CHECKS, JSON_SCHEMA, "mod"].contains(&taken.as_str()) => {
            format!("{taken}_")
        }
        free => free,
    }
}

/// Returns the types reachable from the roots, without following embedded messages.
fn reachable(uses: &[Vec<TypeId>], roots: Vec<TypeId>, messages: &BTreeSet<TypeId>) -> BTreeSet<TypeId> {
    let mut seen: BTreeSet<TypeId> = roots.iter().copied().collect();
    let mut stack = roots;
    while let Some(id) = stack.pop() {
        stack.extend(uses[id].iter().copied().filter(|next| !messages.contains(next) && seen.insert(*next)));
    }
    seen
}

/// Returns the area that uses a type. If several areas use it, one whose name is part of the type's name wins, such as
/// `tools` for `ToolUse`. If there is none, returns [`COMMON`].
fn area_of(def: &TypeDef, users: &BTreeSet<String>) -> String {
    if users.len() == 1 {
        return users.iter().next().expect("one area").clone();
    }
    let words: Vec<String> = words(&def.rust).into_iter().map(str::to_lowercase).collect();
    let named = users.iter().find(|area| {
        let singular = area.strip_suffix('s').unwrap_or(area);
        words.iter().any(|word| word == singular || word == *area)
    });
    named.cloned().unwrap_or_else(|| COMMON.to_owned())
}
