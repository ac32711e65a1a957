//! What [`contains`](super::contains) takes and returns: checks with their definitions, a budget, and a verdict.

use std::fmt;

use crate::check::{Check, Definitions};
use crate::json::Json;

/// A check with the definitions it refers to.
#[derive(Clone, Copy, Debug)]
pub struct Scoped<'a> {
    /// The check to compare.
    pub check: &'a Check,
    /// The definitions. None may refer to itself without an array or object in between.
    pub definitions: &'a Definitions,
}

impl Scoped<'_> {
    /// Returns whether a document is valid, or `None` if evaluation stopped at a limit.
    pub(super) fn accepts(self, document: &Json) -> Option<bool> {
        match self.check.check(document, self.definitions) {
            Err(failure) if failure.is_given_up() => None,
            result => Some(result.is_ok()),
        }
    }
}

/// How much work a search may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The number of steps. A step takes a few microseconds.
    pub steps: u64,
}

impl Default for Budget {
    /// 50,000 steps, enough for schemas with hundreds of definitions.
    fn default() -> Self {
        Budget { steps: 50_000 }
    }
}

/// The answer to a question about two schemas.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// True for every document.
    Proved,
    /// False for this document. The evaluator has confirmed it.
    Refuted(Json),
    /// Neither proof nor counterexample was found.
    Unknown(Reason),
}

impl Verdict {
    /// Returns whether the answer is [`Verdict::Proved`].
    pub fn is_proved(&self) -> bool {
        matches!(self, Verdict::Proved)
    }
}

/// Why a question stays unanswered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The search takes too many steps or nests too deeply.
    Budget,
    /// A pattern uses lookaround or backreferences, or takes too many steps.
    Pattern,
    /// A number has too many digits.
    Number,
    /// Too many conditions decide what is unevaluated.
    Unevaluated,
    /// The evaluator does not confirm the document that was found.
    Invalid,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Budget => "the search takes too many steps",
            Reason::Pattern => "a regular expression cannot be analysed",
            Reason::Number => "a number has too many digits",
            Reason::Unevaluated => "what is unevaluated depends on too many conditions",
            Reason::Invalid => "the document that was found is not valid",
        })
    }
}
