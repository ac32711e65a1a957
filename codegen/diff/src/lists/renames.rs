//! Recognises renamed tools.

use std::collections::{HashMap, HashSet};

use mcpgen_model::snapshot::Item;
use mcpgen_schema::json::Json;

use crate::lists::annotations::assertions;

/// A tool and its name.
pub(super) type Named<'i> = (&'i str, &'i Item);

/// Returns the new names of removed tools, by the old ones.
pub(super) fn renamed<'i>(removed: &[Named<'i>], added: &[Named<'i>]) -> HashMap<&'i str, &'i str> {
    let [removed, added] = [removed, added].map(|tools| tools.iter().map(Tool::of).collect::<Vec<_>>());
    let mut renamed = HashMap::new();
    // Equal descriptions are matched first, so that no tool takes the name of another.
    let mut equal: HashMap<(&str, Option<&str>), Vec<&'i str>> = HashMap::new();
    for new in added.iter().rev() {
        equal.entry((&new.schemas, new.description)).or_default().push(new.name);
    }
    for old in removed.iter().filter(|old| old.description.is_some() || old.has_arguments) {
        if let Some(name) = equal.get_mut(&(&*old.schemas, old.description)).and_then(Vec::pop) {
            renamed.insert(old.name, name);
        }
    }
    let taken: HashSet<&str> = renamed.values().copied().collect();
    let mut similar: HashMap<&str, Vec<&Tool<'i>>> = HashMap::new();
    for new in added.iter().rev().filter(|new| new.has_arguments && !taken.contains(new.name)) {
        similar.entry(&new.schemas).or_default().push(new);
    }
    for old in &removed {
        if !renamed.contains_key(old.name)
            && let Some(candidates) = similar.get_mut(&*old.schemas)
            && let Some(at) = best(old, candidates)
        {
            renamed.insert(old.name, candidates.remove(at).name);
        }
    }
    renamed
}

/// A tool's name, and what else identifies it.
struct Tool<'i> {
    name: &'i str,
    description: Option<&'i str>,
    /// A text that is the same for tools whose schemas differ only in annotations.
    schemas: String,
    has_arguments: bool,
}

impl<'i> Tool<'i> {
    fn of(&(name, item): &Named<'i>) -> Tool<'i> {
        let schema = |name: &str| item.get(name).map_or(Json::Null, assertions);
        let properties = item.get("inputSchema").and_then(|schema| schema.get("properties"));
        Tool {
            name,
            description: item.get("description").and_then(Json::as_str),
            schemas: Json::Array(vec![schema("inputSchema"), schema("outputSchema")]).key(),
            has_arguments: properties.and_then(Json::as_object).is_some_and(|properties| !properties.is_empty()),
        }
    }
}

/// The maximum number of new tools to compare with a removed one. A malicious list can have thousands that look the
/// same.
const MOST_CANDIDATES: usize = 50;

/// Returns the new tool whose description is most like that of an old one, if it is recognisably the same tool. If
/// several are equally similar, returns the last.
fn best(old: &Tool<'_>, candidates: &[&Tool<'_>]) -> Option<usize> {
    let first = candidates.len().saturating_sub(MOST_CANDIDATES);
    let scored = candidates.iter().enumerate().skip(first).map(|(at, new)| (likeness(old, new), at));
    scored.max().filter(|(likeness, _)| *likeness >= ALIKE).map(|(_, at)| at)
}

/// A removed and a new tool count as one renamed tool if their descriptions have at least this percentage of words in
/// common.
const ALIKE: usize = 80;

/// In descriptions of up to this many words, a single replaced word means a different tool.
const SHORT: usize = 20;

/// The maximum number of words that are compared.
const MOST_WORDS: usize = 500;

/// Returns the percentage of common words in the descriptions of two tools. It is 0 if they are not recognisably the
/// same, for example if their first words differ: the first word usually says what the tool does.
fn likeness(old: &Tool<'_>, new: &Tool<'_>) -> usize {
    let (Some(before), Some(after)) = (old.description, new.description) else { return 0 };
    let words = |text: &str| text.split_whitespace().take(MOST_WORDS).map(str::to_lowercase).collect::<Vec<_>>();
    let verb = |text: &str| text.split_whitespace().next().map(str::to_lowercase);
    if verb(before) != verb(after) {
        return 0;
    }
    let (was, is) = (words(before), words(after));
    let mut counts: HashMap<&str, usize> = HashMap::new();
    was.iter().for_each(|word| *counts.entry(word).or_default() += 1);
    let mut common = 0;
    for word in &is {
        if let Some(count) = counts.get_mut(word.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            common += 1;
        }
    }
    let fewer = was.len().min(is.len());
    if fewer <= SHORT && common < fewer { 0 } else { 200 * common / (was.len() + is.len()).max(1) }
}
