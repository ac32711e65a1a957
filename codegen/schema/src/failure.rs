//! Violations of a schema, with the same messages as the errors of the generated types.

use std::fmt;

use serde_json::Number;

use crate::json::Json;

/// A violation of a schema. Its [`Display`](fmt::Display) output equals that of the generated types' errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The path of the value, innermost step first.
    path: Vec<Step>,
    /// The expected and the found value.
    message: String,
    /// Whether a pattern was given up, so that the value may be valid or not.
    pub is_given_up: bool,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Failure {
    /// Creates a failure at the root.
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { path: Vec::new(), message: message.into(), is_given_up: false }
    }

    /// Creates a failure with an expected and a found value.
    pub fn expected(expected: impl fmt::Display, found: impl fmt::Display) -> Failure {
        Failure::new(format!("expected {expected}, found {found}"))
    }

    /// Creates a failure for a pattern that takes too many steps.
    pub fn too_expensive(pattern: &str) -> Failure {
        let pattern = json_text(pattern);
        let message =
            format!("pattern too expensive: {pattern} takes too many steps; shorten the text, or simplify the pattern");
        Failure { is_given_up: true, ..Failure::new(message) }
    }

    /// Creates a failure for a value of the wrong JSON type.
    pub fn mismatch(expected: &str, found: &Json) -> Failure {
        Failure::expected(expected, describe_type(found, expected.contains("integer")))
    }

    /// Prepends the member `key` to the path.
    pub fn at_key(mut self, key: &str) -> Failure {
        self.path.push(Step::Key(key.to_owned()));
        self
    }

    /// Adds to the message that the failure is about the name of a member.
    pub fn in_name(mut self) -> Failure {
        if !self.is_given_up {
            self.message.insert_str(0, "name: ");
        }
        self
    }

    /// Prepends the array index `index` to the path.
    pub fn at_index(mut self, index: usize) -> Failure {
        self.path.push(Step::Index(index));
        self
    }
}

/// Describes a value. Strings, numbers and booleans are JSON text; other values are described by their type.
pub fn describe(value: &Json) -> String {
    match value {
        Json::String(text) => json_text(text),
        Json::Number(number) => number_text(number),
        Json::Bool(_) => value.to_string(),
        other => other.type_name().to_owned(),
    }
}

/// Describes the type of a value. Includes the value of a number if an integer is expected.
pub fn describe_type(value: &Json, is_integer_expected: bool) -> String {
    match value {
        Json::Number(number) if is_integer_expected => format!("number {}", number_text(number)),
        other => other.type_name().to_owned(),
    }
}

/// Formats a number like the generated types: `1e300`, not `1e+300`.
pub fn number_text(number: &Number) -> String {
    number.to_string().replace("e+", "e")
}

/// Describes a constant as JSON text. Shortens long strings.
pub fn literal(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), json_text)
}

/// Returns a single value unchanged, and several as `one of a, b, c`.
pub fn one_of(values: &[String]) -> String {
    match values {
        [value] => value.clone(),
        _ => format!("one of {}", values.join(", ")),
    }
}

/// Returns the JSON text of a string, shortened if it is long.
pub fn json_text(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        // The count includes the opening quote.
        if quoted.chars().count() > WIDTH {
            quoted.push('…');
            break;
        }
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The maximum number of characters of a string in a message.
const WIDTH: usize = 60;
/// The maximum number of characters in a message at each end of a path.
const PATH_END_WIDTH: usize = 150;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps: Vec<String> = self.path.iter().rev().map(Step::text).collect();
        if let Some(first) = steps.first_mut().filter(|first| first.starts_with('.')) {
            first.remove(0);
        }
        let begin = fitting(steps.iter());
        let end = steps.len() - fitting(steps.iter().rev());
        if begin >= end {
            f.write_str(&steps.concat())?;
        } else {
            write!(f, "{}…{}", steps[..begin].concat(), steps[end..].concat())?;
        }
        if !steps.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&self.message)
    }
}

/// Returns the number of steps that fit into [`PATH_END_WIDTH`].
fn fitting<'a>(steps: impl Iterator<Item = &'a String>) -> usize {
    let widths = steps.scan(0, |width, step| {
        *width += step.chars().count();
        Some(*width)
    });
    widths.take_while(|width| *width <= PATH_END_WIDTH).count()
}

impl Step {
    fn text(&self) -> String {
        let is_word = |key: &str| {
            (1..=WIDTH).contains(&key.len()) && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
        };
        match self {
            Step::Index(index) => format!("[{index}]"),
            Step::Key(key) if is_word(key) => format!(".{key}"),
            Step::Key(key) => format!("[{}]", json_text(key)),
        }
    }
}
