//! Finds changes that affect whether to trust a tool: hidden characters and instructions in texts, changed permissions,
//! and new secrets. `hints` compares what a tool says about its behaviour.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use mcpgen_model::snapshot::Item;
use mcpgen_schema::json::Json;
use mcpgen_schema::text::{counted, sha256, visible};

use crate::lists::found::{Found, Step, member_of, path_text};
use crate::lists::secrets::listed;
use crate::lists::{permissions, secrets};
use crate::models::Rule;

/// Phrases that tell a model what to do, rather than what a tool does. Lowercase, with single spaces.
const INSTRUCTIONS: &str = "
    ignore previous; ignore all previous; ignore any previous; ignore the previous; ignore your instructions;
    disregard; override your; system prompt; <important>; <system>; [system]; do not tell; don't tell;
    do not mention; don't mention; do not inform; do not reveal; do not ask; without telling; without asking;
    without informing; the user must not; hide this; secretly; you must; you should always; always call;
    always use this tool; before using any; before calling any; before any other tool; conversation history; .ssh/;
    id_rsa
";

/// The maximum number of findings by one rule about one item. A malicious list can have thousands of members that state
/// permissions.
const MOST_FOUND: usize = 50;

/// Compares two versions of an item. A new item has no old version.
pub(super) fn compare(old: Option<&Item>, new: &Item) -> Vec<Found> {
    let mut found = texts(old, new);
    found.extend(permissions::compare(old, new));
    found.extend(secrets::compare(old, new));
    let mut by_rule: BTreeMap<Rule, Vec<Found>> = BTreeMap::new();
    found.into_iter().for_each(|it| by_rule.entry(it.rule).or_default().push(it));
    by_rule.into_iter().flat_map(|(rule, found)| first(rule, found)).collect()
}

/// Returns the first findings by a rule, and one that stands for all others.
fn first(rule: Rule, mut found: Vec<Found>) -> Vec<Found> {
    let others = found.split_off(found.len().min(MOST_FOUND));
    if !others.is_empty() {
        let words = format!("has {} of this rule", counted(others.len() as u64, "other findings"));
        let all: String = others.iter().map(|it| format!("{}\0{}\0", it.path, it.detail)).collect();
        found.push(Found { rule, member: String::new(), path: String::new(), detail: sha256(all), words });
    }
    found
}

/// Finds hidden characters and instructions that no text of the old version has.
fn texts(old: Option<&Item>, new: &Item) -> Vec<Found> {
    let (mut known, mut known_phrases) = (BTreeSet::new(), BTreeSet::new());
    let mut remember = |_: &[Step<'_>], text: &str| {
        known.extend(hidden(text));
        let words = normal(text);
        known_phrases.extend(listed(INSTRUCTIONS).filter(|phrase| words.contains(phrase)));
    };
    old.into_iter().for_each(|old| each_text(old, &mut remember));
    let mut found = Vec::new();
    let mut compare = |path: &[Step<'_>], text: &str| {
        let mut find = |rule, detail: &str, words| {
            let member = member_of(path);
            found.push(Found { rule, member, path: path_text(path), detail: detail.to_owned(), words });
        };
        if let Some(first) = hidden(text).filter(|c| !known.contains(c)).min() {
            let words = format!("has hidden characters, such as U+{:04X}", u32::from(first));
            find(Rule::TextGainedHiddenCharacters, "", words);
        }
        let words = normal(text);
        let mut phrases = listed(INSTRUCTIONS).filter(|phrase| !known_phrases.contains(phrase));
        if let Some((phrase, at)) = phrases.find_map(|phrase| Some((phrase, words.find(phrase)?))) {
            let excerpt: String = words[at..].chars().take(80).collect();
            find(Rule::TextGainedInstructions, phrase, format!("may instruct models: \"{excerpt}\""));
        }
    };
    each_text(new, &mut compare);
    found
}

/// Visits the strings in an item, and those names of members that contain hidden characters.
fn each_text(item: &Item, visit: &mut dyn FnMut(&[Step<'_>], &str)) {
    fn walk<'v>(value: &'v Json, path: &mut Vec<Step<'v>>, visit: &mut dyn FnMut(&[Step<'_>], &str)) {
        match value {
            Json::String(text) => visit(path, text),
            Json::Array(items) => {
                path.push(Step::Items);
                items.iter().for_each(|item| walk(item, path, visit));
                path.pop();
            }
            Json::Object(members) => {
                for (name, value) in members {
                    path.push(Step::Member(name));
                    if hidden(name).next().is_some() {
                        visit(path, name);
                    }
                    walk(value, path, visit);
                    path.pop();
                }
            }
            _ => {}
        }
    }
    item.members.iter().for_each(|(name, value)| walk(value, &mut vec![Step::Member(name)], visit));
}

/// Returns the characters that people do not see, except joiners where a script or an emoji needs them.
fn hidden(text: &str) -> impl Iterator<Item = char> + '_ {
    let before = [None].into_iter().chain(text.chars().map(Some));
    let after = text.chars().skip(1).map(Some).chain([None]);
    let near = text.chars().zip(before).zip(after);
    let is_found = |&((c, before), after): &((char, Option<char>), Option<char>)| {
        is_hidden(c) || (is_joiner(c) && ![before, after].into_iter().all(|c| c.is_some_and(is_joined)))
    };
    near.filter(is_found).map(|((c, _), _)| c)
}

/// Returns whether a character is invisible to people. Line breaks and tabs are layout, so they do not count.
fn is_hidden(c: char) -> bool {
    let is_layout = matches!(c, ' '..='~' | '\n' | '\r' | '\t');
    let is_selector = matches!(c, '\u{fe00}'..='\u{fe0d}' | '\u{e0100}'..='\u{e01ef}');
    let is_filler = matches!(c, '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}');
    let is_invisible = || matches!(visible(c.encode_utf8(&mut [0; 4])), Cow::Owned(_));
    !is_layout && (is_selector || is_filler || is_invisible())
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Returns whether a character can be a part of what a joiner joins: a letter, a combining mark, or an emoji.
fn is_joined(c: char) -> bool {
    let is_punctuation = matches!(c, '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}');
    !c.is_ascii() && !c.is_whitespace() && !is_punctuation && !is_hidden(c)
}

/// Returns a text in lowercase, with single spaces and straight apostrophes.
fn normal(text: &str) -> String {
    text.to_lowercase().replace('\u{2019}', "'").split_whitespace().collect::<Vec<_>>().join(" ")
}
