//! Finds what someone who permits the use of a tool should know: hidden characters and instructions in texts, other permissions,
//! and new secrets. `hints` compares what a tool says about its behaviour.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use mcpgen_model::snapshot::Item;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::visible;

use crate::lists::annotations::subschemas;
use crate::models::Rule;

/// A difference: the rule, the member that differs, a detail that identifies the difference, and the end of the message.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) rule: Rule,
    /// The path in names, below the item.
    pub(super) path: String,
    pub(super) detail: String,
    pub(super) words: String,
}

/// Phrases that tell a model what to do, rather than what a tool does. Lowercase, with single spaces.
const INSTRUCTIONS: &str = "
    ignore previous; ignore all previous; ignore any previous; ignore the previous; ignore your instructions;
    disregard; override your; system prompt; <important>; <system>; [system]; do not tell; don't tell;
    do not mention; don't mention; do not inform; do not reveal; do not ask; without telling; without asking;
    without informing; the user must not; hide this; secretly; you must; you should always; always call;
    always use this tool; before using any; before calling any; before any other tool; conversation history; .ssh/;
    id_rsa
";

/// The words of names of secrets, without separators.
const SECRETS: &str = "
    password; passwd; passphrase; secret; token; apikey; accesskey; privatekey; credential; credentials;
    authorization; bearer
";

/// Words beside `token` in names of other things, such as pages.
const NO_SECRETS: &str = "page; next; continuation; progress; sync; count; max; min; limit";

fn listed(words: &'static str) -> impl Iterator<Item = &'static str> {
    words.split(';').map(str::trim)
}

/// Parts of the names of members that list what a tool may do.
const PERMISSIONS: [&str; 5] = ["scope", "permission", "effect", "capabilit", "privilege"];

/// Members that are not metadata.
const OTHERS: [&str; 6] = ["name", "title", "description", "inputSchema", "outputSchema", "annotations"];

/// Compares two versions of an item. A new item has no old version.
pub(super) fn compare(old: Option<&Item>, new: &Item) -> Vec<Found> {
    let mut found = texts(old, new);
    found.extend(permissions(old, new));
    found.extend(secrets(old, new));
    found
}

/// Finds hidden characters and instructions that no text of the old version has.
fn texts(old: Option<&Item>, new: &Item) -> Vec<Found> {
    let all = |item: &Item| {
        let mut all = Vec::new();
        item.members.iter().for_each(|(name, value)| strings(value, format!(".{name}"), &mut all));
        all
    };
    let was: Vec<(String, String)> = old.map(all).unwrap_or_default();
    let known: BTreeSet<char> = was.iter().flat_map(|(_, text)| text.chars()).filter(|c| is_hidden(*c)).collect();
    let known_words: Vec<String> = was.iter().map(|(_, text)| normal(text)).collect();
    let mut found = Vec::new();
    for (path, text) in all(new) {
        let hidden: BTreeSet<char> = text.chars().filter(|c| is_hidden(*c) && !known.contains(c)).collect();
        if let Some(first) = hidden.first() {
            let (detail, words) =
                (String::new(), format!("has hidden characters, such as U+{:04X}", u32::from(*first)));
            found.push(Found { rule: Rule::TextGainedHiddenCharacters, path: path.clone(), detail, words });
        }
        let words = normal(&text);
        let gained = listed(INSTRUCTIONS).find_map(|phrase| {
            let at = words.find(phrase)?;
            (!known_words.iter().any(|text| text.contains(phrase))).then_some((phrase, at))
        });
        if let Some((phrase, at)) = gained {
            let excerpt: String = words[at..].chars().take(80).collect();
            let words = format!("may instruct models: \"{excerpt}\"");
            found.push(Found { rule: Rule::TextGainedInstructions, path, detail: phrase.to_owned(), words });
        }
    }
    found
}

/// Collects the strings in a value, and the names of members with hidden characters.
fn strings(value: &Json, path: String, found: &mut Vec<(String, String)>) {
    match value {
        Json::String(text) => found.push((path, text.clone())),
        Json::Array(items) => items.iter().for_each(|item| strings(item, format!("{path}[]"), found)),
        Json::Object(members) => {
            for (name, value) in members {
                let below = format!("{path}.{name}");
                if name.chars().any(is_hidden) {
                    found.push((below.clone(), name.clone()));
                }
                strings(value, below, found);
            }
        }
        _ => {}
    }
}

/// Returns whether people do not see a character. Line breaks are layout.
fn is_hidden(c: char) -> bool {
    let is_layout = matches!(c, ' '..='~' | '\n' | '\r' | '\t');
    let is_selector = matches!(c, '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}');
    !is_layout && (is_selector || matches!(visible(c.encode_utf8(&mut [0; 4])), Cow::Owned(_)))
}

fn normal(text: &str) -> String {
    text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Compares the values of members whose names speak of permissions.
fn permissions(old: Option<&Item>, new: &Item) -> Vec<Found> {
    // What a new tool may do is new with the tool.
    let Some(old) = old else { return Vec::new() };
    let (was, is) = (stated(old), stated(new));
    let none = BTreeSet::new();
    let paths: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let differs = paths.into_iter().filter_map(|path| {
        let (before, after) = (was.get(path).unwrap_or(&none), is.get(path).unwrap_or(&none));
        let list = |values: Vec<&String>| values.into_iter().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ");
        let (gained, lost) = (list(after.difference(before).collect()), list(before.difference(after).collect()));
        let (rule, words) = match (gained.as_str(), lost.as_str()) {
            ("", "") => return None,
            ("", lost) => (Rule::PermissionChanged, format!("no longer has {lost}")),
            (gained, _) => (Rule::PermissionGained, format!("now has {gained}")),
        };
        Some(Found { rule, path: path.clone(), detail: format!("{gained} {lost}").trim().to_owned(), words })
    });
    differs.collect()
}

/// Returns the permissions that an item states, by the path of the member that states them.
fn stated(item: &Item) -> BTreeMap<String, BTreeSet<String>> {
    fn walk(name: &str, value: &Json, path: &str, found: &mut BTreeMap<String, BTreeSet<String>>) {
        let path = format!("{path}.{name}");
        let own = name.rsplit(['/', '.']).next().unwrap_or(name).to_lowercase();
        if PERMISSIONS.iter().any(|part| own.contains(part)) {
            return values(value, "", found.entry(path).or_default());
        }
        match value {
            Json::Object(members) => members.iter().for_each(|(name, value)| walk(name, value, &path, found)),
            Json::Array(items) => {
                let objects = items.iter().filter(|item| matches!(item, Json::Object(_)));
                objects.for_each(|item| walk("[]", item, &path, found));
            }
            _ => {}
        }
    }
    let mut found = BTreeMap::new();
    let metadata = item.members.iter().filter(|(name, _)| !OTHERS.contains(&name.as_str()));
    metadata.for_each(|(name, value)| walk(name, value, "", &mut found));
    found
}

/// Collects what a value permits. A scope of OAuth is a word of a text, and a switch permits if it is on.
fn values(value: &Json, name: &str, found: &mut BTreeSet<String>) {
    let below = |inner: &str| if name.is_empty() { inner.to_owned() } else { format!("{name}: {inner}") };
    match value {
        Json::Null | Json::Bool(false) => {}
        Json::Bool(true) => drop(found.insert(if name.is_empty() { "true".to_owned() } else { name.to_owned() })),
        Json::Number(number) => drop(found.insert(below(&number.to_string()))),
        Json::String(text) => found.extend(text.split_whitespace().map(below)),
        Json::Array(items) => items.iter().for_each(|item| values(item, name, found)),
        Json::Object(members) => members.iter().for_each(|(inner, value)| values(value, &below(inner), found)),
    }
}

/// Finds secrets that are now required.
fn secrets(old: Option<&Item>, new: &Item) -> Vec<Found> {
    let required = |item: &Item| {
        let schema = item.get("inputSchema").cloned().unwrap_or(Json::Null);
        let mut all = BTreeSet::new();
        for subschema in subschemas(&schema).into_values() {
            let Some(Json::Array(names)) = subschema.keywords.get("required") else { continue };
            let members = subschema.keywords.get("properties");
            let is_secret = |name: &&str| is_secret(name, members.and_then(|members| members.get(name)));
            let names = names.iter().filter_map(Json::as_str).filter(is_secret);
            all.extend(names.map(|name| format!(".arguments{}.{name}", subschema.path)));
        }
        let arguments = item.prompt_arguments().into_iter();
        let is_required = |argument: &Json| argument.get("required") == Some(&Json::Bool(true));
        let arguments = arguments.filter(|(name, (_, argument))| is_required(argument) && is_secret(name, None));
        all.extend(arguments.map(|(name, _)| format!(".{name}")));
        all
    };
    let was = old.map(required).unwrap_or_default();
    let new = required(new).into_iter().filter(|path| !was.contains(path));
    let found = |path| Found {
        rule: Rule::SecretRequired,
        path,
        detail: String::new(),
        words: "is a secret that is now required".to_owned(),
    };
    new.map(found).collect()
}

/// Returns whether a member is a secret by its name or its schema.
fn is_secret(name: &str, schema: Option<&Json>) -> bool {
    let keyword = |name: &str| schema.and_then(|schema| schema.get(name));
    if keyword("writeOnly") == Some(&Json::Bool(true)) || keyword("format").and_then(Json::as_str) == Some("password") {
        return true;
    }
    let words = words(name);
    let pairs = words.windows(2).map(|pair| pair.concat());
    let is_listed = words.iter().cloned().chain(pairs).any(|word| listed(SECRETS).any(|it| it == word));
    is_listed && !words.iter().any(|word| listed(NO_SECRETS).any(|it| it == word))
}

/// Splits a name in any case into its words, in lowercase.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let (true, Some(last)) = (c.is_alphanumeric(), words.last_mut()) {
            last.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}
