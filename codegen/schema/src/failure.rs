//! Schema violations, worded exactly like the errors of the generated types.

use std::fmt;

use serde_json::Number;

use crate::json::{Json, Numeric};
use crate::text::words::{json_text, key_text, path_text};

/// A schema violation. Its [`Display`](fmt::Display) output equals that of the generated types' errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(Box<Inner>);

// Boxed, so that results are small and nested checks use less stack.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    /// The innermost step comes first.
    path: Vec<Step>,
    /// The value at which `path` starts, until [`Failure::located_from`] adds the steps that lead to it.
    place: Option<Place>,
    message: String,
    is_given_up: bool,
}

/// The address of a value in memory.
pub(crate) type Place = usize;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Failure {
    /// Creates a failure at the root.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure(Box::new(Inner { path: Vec::new(), place: None, message: message.into(), is_given_up: false }))
    }

    /// Creates a failure that reads "expected …, found …".
    pub fn expected(expected: impl fmt::Display, found: impl fmt::Display) -> Failure {
        Failure::new(format!("expected {expected}, found {found}"))
    }

    pub(crate) fn too_expensive(pattern: &str) -> Failure {
        let pattern = json_text(pattern);
        let message =
            format!("pattern too expensive: {pattern} takes too many steps; shorten the text, or simplify the pattern");
        Failure::given_up(message)
    }

    /// Creates a failure for a value whose validity was too expensive to determine.
    pub(crate) fn given_up(message: impl Into<String>) -> Failure {
        let mut failure = Failure::new(message);
        failure.0.is_given_up = true;
        failure
    }

    /// Creates a failure for a value of the wrong JSON type.
    pub fn mismatch(expected: &str, found: &Json) -> Failure {
        Failure::expected(expected, describe_type(found, expected.contains("integer")))
    }

    /// Returns whether evaluation stopped at a limit, so that the value may or may not be valid.
    pub(crate) fn is_given_up(&self) -> bool {
        self.0.is_given_up
    }

    /// Prepends the member `key` to the path.
    pub fn at_key(mut self, key: &str) -> Failure {
        self.0.path.push(Step::Key(key.to_owned()));
        self
    }

    /// Prepends the array index `index` to the path.
    pub fn at_index(mut self, index: usize) -> Failure {
        self.0.path.push(Step::Index(index));
        self
    }

    /// Records the value that failed, unless one is recorded already.
    pub(crate) fn at_place(mut self, place: Place) -> Failure {
        self.0.place = self.0.place.or(Some(place));
        self
    }

    /// Turns a failure of a member's name into a failure of the member.
    pub(crate) fn in_name(mut self) -> Failure {
        self.0.place = None;
        if !self.0.is_given_up {
            self.0.message.insert_str(0, "name: ");
        }
        self
    }

    /// Prepends the path from `root` to the recorded value.
    pub(crate) fn located_from(mut self, root: &Json) -> Failure {
        if let Some(place) = self.0.place.take() {
            find(root, place, &mut self.0.path);
        }
        self
    }
}

/// Appends the steps from `json` to the value at `place`, innermost first. Returns whether the value was found.
fn find(json: &Json, place: Place, path: &mut Vec<Step>) -> bool {
    if std::ptr::from_ref(json) as usize == place {
        return true;
    }
    let step = match json {
        Json::Object(members) => {
            let found = members.iter().find(|(_, member)| find(member, place, path));
            found.map(|(name, _)| Step::Key(name.clone()))
        }
        Json::Array(items) => items.iter().position(|item| find(item, place, path)).map(Step::Index),
        _ => None,
    };
    let is_found = step.is_some();
    path.extend(step);
    is_found
}

/// Describes a value: strings, numbers and booleans as JSON text, other values by type.
pub fn describe(value: &Json) -> String {
    match value {
        Json::String(text) => json_text(text),
        Json::Number(number) => number_text(number),
        Json::Bool(_) => value.to_string(),
        other => other.type_name().to_owned(),
    }
}

/// Describes the type of a value, and the value too if it is a number where an integer is expected.
pub(crate) fn describe_type(value: &Json, is_integer_expected: bool) -> String {
    match value {
        Json::Number(number) if is_integer_expected => format!("number {}", number_text(number)),
        other => other.type_name().to_owned(),
    }
}

/// Formats a number the way the generated types do.
pub fn number_text(number: &Number) -> String {
    Numeric(number).to_string()
}

/// Formats a constant as JSON text, with long strings shortened.
pub fn literal(value: &Json) -> String {
    match value {
        Json::String(text) => json_text(text),
        Json::Number(number) => number_text(number),
        other => other.to_string(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.path.is_empty() {
            let steps = self.0.path.iter().rev().map(|step| match step {
                Step::Index(index) => format!("[{index}]"),
                Step::Key(key) => key_text(key),
            });
            write!(f, "{}: ", path_text(steps.collect()))?;
        }
        f.write_str(&self.0.message)
    }
}
