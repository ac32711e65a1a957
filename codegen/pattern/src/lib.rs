//! ECMA-262 regular expressions, as in JSON Schema's `pattern`, matched in a bounded number of steps.
//!
//! Patterns and texts may be untrusted. A backtracking engine takes exponential time for some of them: `^(a+)+$` on
//! forty `a` followed by a `!` takes hours. Here, every match has a budget of [`Steps`] that depends on the length of
//! the text.
//!
//! * Patterns without backreferences match in linear time, even with lookaround: at each character, each state of the
//!   pattern is visited at most once.
//! * Patterns with backreferences need backtracking, and may fail with [`TooExpensive`].
//!
//! `parse` reads a pattern, and `program` compiles it. `simulate` or `backtrack` runs the program. The crate `regress`
//! checks the syntax, and decides which characters belong to a class such as `\w` or `[^\p{L}]`.

use std::error;
use std::fmt;

mod backtrack;
mod class;
mod language;
mod parse;
mod program;
mod simulate;
mod steps;

pub use language::{Language, Undecided};
use program::Program;
pub use steps::{Steps, TooExpensive};

/// A compiled regular expression.
///
/// # Examples
///
/// ```
/// use mcpgen_pattern::Regex;
///
/// let date = Regex::new(r"^\d{4}-\d{2}-\d{2}$")?;
/// assert_eq!(date.is_match("2026-07-28"), Ok(true));
/// # Ok::<(), mcpgen_pattern::Error>(())
/// ```
#[derive(Debug)]
pub struct Regex(Program);

impl Regex {
    /// Compiles a pattern with the `u` flag, as JSON Schema requires. Falls back to compiling without it, because many
    /// patterns in use are valid only that way.
    ///
    /// # Errors
    /// Fails if the pattern is not a valid regular expression, is longer than 64 KiB, or has more than 32,768 states.
    /// Repetitions multiply: `(a{9}){9}` has 81.
    pub fn new(pattern: &str) -> Result<Self, Error> {
        if pattern.len() > MAX_BYTES {
            return Err(Error(format!("the pattern is longer than {MAX_BYTES} bytes")));
        }
        let unicode = regress::Regex::with_flags(pattern, "u").is_ok();
        if !unicode {
            regress::Regex::new(pattern).map_err(|error| Error(error.text))?;
        }
        Program::new(parse::parse(pattern, unicode)?).map(Self)
    }

    /// Returns whether some part of the text matches.
    ///
    /// # Errors
    /// Fails if the match takes more steps than [`Steps::for_text`] allows for this text.
    pub fn is_match(&self, text: &str) -> Result<bool, TooExpensive> {
        self.is_match_within(text, &Steps::for_text(text.len()))
    }

    /// Like [`Self::is_match`], with a budget that several matches can share.
    ///
    /// # Errors
    /// Fails once the steps are used up, and so does every later match with the same budget.
    pub fn is_match_within(&self, text: &str, steps: &Steps) -> Result<bool, TooExpensive> {
        steps.with(|fuel| match self.0.has_back_references {
            false => simulate::is_match(&self.0, text, fuel),
            true => backtrack::is_match(&self.0, text, fuel),
        })
    }
}

/// Bounds the time that compiling takes.
const MAX_BYTES: usize = 64 << 10;

/// Why a pattern could not be compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Error {}
