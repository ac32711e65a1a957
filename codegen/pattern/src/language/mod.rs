//! Sets of texts: their shortest members, or a proof that a set is empty.
//!
//! `alphabet` divides the characters into groups that no pattern tells apart. `machine` follows one pattern, a limit of the
//! length or a list of words from character to character. `search` follows all of them at once.

mod alphabet;
mod machine;
mod search;

use std::error;
use std::fmt;
use std::sync::Arc;

use crate::Regex;
use crate::steps::TooExpensive;

/// A set of texts.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use mcpgen_pattern::{Language, Regex};
///
/// let letters = Language::Matching(Arc::new(Regex::new("^[a-z]+$")?));
/// let long = Language::Length { min: 3, max: None };
/// let both = Language::All(vec![letters, long]);
/// assert_eq!(both.words(2)?, ["aaa", "aab"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub enum Language {
    /// The texts of which a part matches.
    Matching(Arc<Regex>),
    /// The texts with a number of characters.
    Length {
        /// The minimum.
        min: u64,
        /// The maximum, if there is one.
        max: Option<u64>,
    },
    /// These texts.
    Words(Vec<String>),
    /// The texts that are in each of these sets.
    All(Vec<Language>),
    /// The texts that are in any of these sets.
    Any(Vec<Language>),
    /// All other texts.
    Not(Box<Language>),
}

impl Language {
    /// Returns the shortest texts in the set: `count` of them, or fewer if there are no more.
    ///
    /// # Errors
    /// Fails if a pattern has lookaround or backreferences, or if the search takes too many steps.
    pub fn words(&self, count: usize) -> Result<Vec<String>, Undecided> {
        search::words(self, count)
    }

    /// Calls `seen` for each set that is not composed of others.
    fn visit<'l>(&'l self, seen: &mut dyn FnMut(&'l Language)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.visit(seen)),
            Self::Not(part) => part.visit(seen),
            _ => seen(self),
        }
    }

    /// Returns whether a text is in the set, by the answers for the sets that it is composed of, in their order.
    fn combine(&self, answers: &mut impl Iterator<Item = bool>) -> bool {
        // Each part takes its answers, so none is skipped.
        match self {
            Self::All(parts) => parts.iter().filter(|part| !part.combine(answers)).count() == 0,
            Self::Any(parts) => parts.iter().filter(|part| part.combine(answers)).count() > 0,
            Self::Not(part) => !part.combine(answers),
            _ => answers.next().unwrap_or_default(),
        }
    }
}

/// The reason why the members of a [`Language`] were not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undecided {
    /// A pattern has lookaround or backreferences.
    Unsupported,
    /// The search takes too many steps.
    TooExpensive,
}

impl From<TooExpensive> for Undecided {
    fn from(_: TooExpensive) -> Self {
        Self::TooExpensive
    }
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unsupported => "lookaround and backreferences are not supported",
            Self::TooExpensive => "the search takes too many steps",
        })
    }
}

impl error::Error for Undecided {}
