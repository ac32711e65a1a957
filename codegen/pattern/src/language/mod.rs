//! Sets of texts: finds their shortest members, or proves a set empty.
//!
//! `alphabet` partitions the characters into interchangeable groups. `machine` tracks one pattern, length limit or word
//! list, character by character. `search` runs all machines in parallel.

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
    /// Texts in which some part matches.
    Matching(Arc<Regex>),
    /// Texts whose number of characters is in this range.
    Length {
        /// The minimum.
        min: u64,
        /// The maximum, if there is one.
        max: Option<u64>,
    },
    /// Exactly these texts.
    Words(Vec<String>),
    /// Texts that are in all of these sets.
    All(Vec<Language>),
    /// Texts that are in any of these sets.
    Any(Vec<Language>),
    /// Texts that are not in this set.
    Not(Box<Language>),
}

impl Language {
    /// Returns the shortest texts in the set: `count` of them, or fewer if the set is smaller.
    ///
    /// # Errors
    /// Fails if a pattern uses lookaround or backreferences, or if the search takes too many steps.
    pub fn words(&self, count: usize) -> Result<Vec<String>, Undecided> {
        search::words(self, count)
    }

    /// Visits the sets that are not composed of others.
    fn visit<'l>(&'l self, seen: &mut dyn FnMut(&'l Language)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.visit(seen)),
            Self::Not(part) => part.visit(seen),
            _ => seen(self),
        }
    }

    /// Returns whether a text is in the set, given the answers for the sets it is composed of, in visiting order.
    fn combine(&self, answers: &mut impl Iterator<Item = bool>) -> bool {
        // Every part must consume its answers, so this must not stop early.
        match self {
            Self::All(parts) => parts.iter().filter(|part| !part.combine(answers)).count() == 0,
            Self::Any(parts) => parts.iter().filter(|part| part.combine(answers)).count() > 0,
            Self::Not(part) => !part.combine(answers),
            _ => answers.next().unwrap_or_default(),
        }
    }
}

/// Why the members of a [`Language`] could not be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undecided {
    /// A pattern uses lookaround or backreferences.
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
