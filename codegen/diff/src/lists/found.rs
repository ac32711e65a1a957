//! A difference that affects trust, and its place. Paths borrow names and become text only in findings, because a list
//! can have thousands of values below one long name.

use std::borrow::Cow;

use mcpgen_schema::text::sha256;

use crate::models::Rule;

/// A difference: the rule, the member that differs, a detail that identifies the difference, and the end of the
/// message.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) rule: Rule,
    /// The name of the item's member.
    pub(super) member: String,
    /// The names that lead to the value, such as `.arguments.users[].name`, relative to the item.
    pub(super) path: String,
    pub(super) detail: String,
    pub(super) words: String,
}

/// A step from a value to a part of it, such as a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step<'v> {
    Member(&'v str),
    Items,
    Others,
    Definition(&'v str),
}

/// The maximum number of characters of a name or path in a finding.
const MOST_SHOWN: usize = 200;

/// Returns the beginning of a path as text, such as `.arguments.users[].name`.
pub(super) fn path_text(path: &[Step<'_>]) -> String {
    let mut shown = String::new();
    for step in path {
        match step {
            Step::Member(name) => shown.extend([".", &beginning(name)]),
            Step::Items => shown.push_str("[]"),
            Step::Others => shown.push_str(".*"),
            Step::Definition(name) => shown.extend(["#", &beginning(name)]),
        }
        if shown.len() > MOST_SHOWN {
            break;
        }
    }
    beginning(&shown).into_owned()
}

/// Returns the name of the item's member at the start of a path.
pub(super) fn member_of(path: &[Step<'_>]) -> String {
    match path.first() {
        Some(Step::Member(name)) => (*name).to_owned(),
        _ => String::new(),
    }
}

/// Shortens a name that is too long for a finding. A digest replaces the rest, because names with the same beginning
/// must not share a fingerprint.
pub(crate) fn excerpt(name: &str) -> Cow<'_, str> {
    match beginning(name) {
        Cow::Owned(beginning) => Cow::Owned(beginning + &sha256(name)[..16]),
        whole => whole,
    }
}

fn beginning(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}
