//! Compares the values of members whose names suggest permissions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use mcpgen_model::snapshot::Item;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::{counted, sha256};

use crate::lists::found::{Found, Step, excerpt, member_of, path_text};
use crate::lists::secrets::words;
use crate::models::Rule;

/// Words in the names of members that list what a tool may do.
const PERMISSIONS: [&str; 10] = [
    "scope",
    "scopes",
    "permission",
    "permissions",
    "effect",
    "effects",
    "capability",
    "capabilities",
    "privilege",
    "privileges",
];

/// Members that are not metadata.
const OTHERS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// The maximum number of permissions that a message names.
const MOST_NAMED: usize = 20;

/// The names of the members around a permission, then the permission itself.
type Permission<'v> = Vec<Cow<'v, str>>;

pub(super) fn compare(old: Option<&Item>, new: &Item) -> Vec<Found> {
    // A new tool has no earlier permissions to compare with.
    let Some(old) = old else { return Vec::new() };
    let (was, is) = (stated(old), stated(new));
    let none = BTreeSet::new();
    let paths: BTreeSet<&Vec<Step<'_>>> = was.keys().chain(is.keys()).collect();
    let differs = paths.into_iter().filter_map(|path| {
        let (before, after) = (was.get(path).unwrap_or(&none), is.get(path).unwrap_or(&none));
        let list = |values: &[&Permission<'_>]| {
            let named = values.iter().take(MOST_NAMED).map(|it| format!("`{}`", excerpt(&it.join(": "))));
            let named = named.collect::<Vec<_>>().join(", ");
            match values.len().saturating_sub(MOST_NAMED) {
                0 => named,
                more => format!("{named} and {}", counted(more as u64, "others")),
            }
        };
        let gained: Vec<_> = after.difference(before).collect();
        let lost: Vec<_> = before.difference(after).collect();
        // The detail also covers the permissions that the message does not name, so that a baseline cannot hide
        // different ones.
        let unnamed = gained.iter().skip(MOST_NAMED).chain(lost.iter().skip(MOST_NAMED));
        let unnamed: String = unnamed.map(|it| it.join(": ") + "\0").collect();
        let (gained, lost) = (list(&gained), list(&lost));
        let (rule, words) = match (gained.as_str(), lost.as_str()) {
            ("", "") => return None,
            ("", lost) => (Rule::PermissionChanged, format!("no longer has {lost}")),
            (gained, _) => (Rule::PermissionGained, format!("now has {gained}")),
        };
        let mut detail = format!("{gained} {lost}").trim().to_owned();
        if !unnamed.is_empty() {
            detail += &sha256(unnamed);
        }
        Some(Found { rule, member: member_of(path), path: path_text(path), detail, words })
    });
    differs.collect()
}

/// Returns the permissions that an item states, by the path of the member that states them.
fn stated(item: &Item) -> BTreeMap<Vec<Step<'_>>, BTreeSet<Permission<'_>>> {
    type Stated<'v> = BTreeMap<Vec<Step<'v>>, BTreeSet<Permission<'v>>>;
    fn walk<'v>(value: &'v Json, path: &mut Vec<Step<'v>>, found: &mut Stated<'v>) {
        match value {
            Json::Object(members) => members.iter().for_each(|(name, value)| member(name, value, path, found)),
            Json::Array(items) => {
                path.push(Step::Items);
                items.iter().for_each(|item| walk(item, path, found));
                path.pop();
            }
            _ => {}
        }
    }
    fn member<'v>(name: &'v str, value: &'v Json, path: &mut Vec<Step<'v>>, found: &mut Stated<'v>) {
        path.push(Step::Member(name));
        let own = words(name.rsplit(['/', '.']).next().unwrap_or(name));
        match own.iter().any(|word| PERMISSIONS.contains(&word.as_str())) {
            true => values(value, &mut Vec::new(), found.entry(path.clone()).or_default()),
            false => walk(value, path, found),
        }
        path.pop();
    }
    let mut found = BTreeMap::new();
    let metadata = item.members.iter().filter(|(name, _)| !OTHERS.contains(&name.as_str()));
    metadata.for_each(|(name, value)| member(name, value, &mut Vec::new(), &mut found));
    found
}

/// Collects what a value permits. Each word of a string is a permission, as in OAuth scopes, and a boolean permits
/// something if it is true.
fn values<'v>(value: &'v Json, names: &mut Vec<&'v str>, found: &mut BTreeSet<Permission<'v>>) {
    let permission = |word: Option<Cow<'v, str>>| {
        let names = names.iter().map(|name| Cow::Borrowed(*name));
        names.chain(word).collect::<Permission<'v>>()
    };
    match value {
        Json::Null | Json::Bool(false) => {}
        Json::Bool(true) => {
            let word = names.is_empty().then_some(Cow::Borrowed("true"));
            found.insert(permission(word));
        }
        Json::Number(number) => drop(found.insert(permission(Some(number.to_string().into())))),
        Json::String(text) => found.extend(text.split_whitespace().map(|word| permission(Some(word.into())))),
        Json::Array(items) => items.iter().for_each(|item| values(item, names, found)),
        Json::Object(members) => {
            for (name, value) in members {
                names.push(name);
                values(value, names, found);
                names.pop();
            }
        }
    }
}
