//! Questions and verdicts, and the limit of the work.

use std::fmt;

use crate::check::{Check, Definitions};
use crate::json::Json;

/// A check, with the definitions that it refers to.
#[derive(Clone, Copy, Debug)]
pub struct Scoped<'a> {
    /// The check.
    pub check: &'a Check,
    /// The definitions. None of them refers to itself without an array or an object in between.
    pub definitions: &'a Definitions,
}

impl Scoped<'_> {
    /// Returns whether a document is valid, or `None` if a pattern was given up.
    pub(super) fn accepts(self, document: &Json) -> Option<bool> {
        match self.check.check(document, self.definitions) {
            Err(failure) if failure.is_given_up() => None,
            result => Some(result.is_ok()),
        }
    }
}

/// The amount of work after which a search is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The number of steps. A step takes some microseconds.
    pub steps: u64,
}

impl Default for Budget {
    /// Enough for schemas with hundreds of definitions.
    fn default() -> Self {
        Budget { steps: 50_000 }
    }
}

/// The answer to a question about two schemas.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It holds for every document.
    Proved,
    /// It does not hold for this document, which was checked by evaluation.
    Refuted(Json),
    /// Neither was found.
    Unknown(Reason),
}

impl Verdict {
    /// Returns whether it is proved.
    pub fn is_proved(&self) -> bool {
        matches!(self, Verdict::Proved)
    }
}

/// Why a question was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The search takes too many steps, or is too deep.
    Budget,
    /// A pattern has lookaround or backreferences, or takes too many steps.
    Pattern,
    /// A number has too many digits.
    Number,
    /// What is unevaluated depends on too many conditions.
    Unevaluated,
    /// The evaluator did not confirm the document that was found.
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
