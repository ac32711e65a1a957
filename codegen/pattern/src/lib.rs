//! Regular expressions of ECMA-262, as `pattern` of JSON Schema uses them, matched in a bounded number of steps.
//!
//! Patterns and texts may come from strangers. A backtracking engine needs exponential time for some of them: `^(a+)+$` on
//! forty `a` and a `!` takes hours. Here, a match takes at most as many [`Steps`] as its text allows.
//!
//! * A pattern without backreferences is matched in linear time: at each character of the text, each state of the pattern
//!   is visited at most once. Lookaround is part of it.
//! * A pattern with backreferences is matched by backtracking, and may fail with [`TooExpensive`].
//!
//! `parse` reads the structure of a pattern, and `program` compiles it. `simulate` and `backtrack` execute a program. The
//! crate `regress` checks the syntax, and decides which characters belong to a class such as `\w` or `[^\p{L}]`.

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
    /// Compiles a pattern with the flag `u`, as JSON Schema requires. A pattern that is valid only without this flag is
    /// compiled without it, because many patterns in use are.
    ///
    /// # Errors
    /// Fails if the pattern is not a regular expression of ECMA-262, if it is longer than 64 KiB, or if it has more than
    /// 32,768 states. Repetitions multiply: `(a{9}){9}` has 81.
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

    /// Returns whether a part of the text matches.
    ///
    /// # Errors
    /// Fails if the match takes more than [`Steps::for_text`] of this text.
    pub fn is_match(&self, text: &str) -> Result<bool, TooExpensive> {
        self.is_match_within(text, &Steps::for_text(text.len()))
    }

    /// Returns whether a part of the text matches. Takes its steps from a number that several matches can share.
    ///
    /// # Errors
    /// Fails if no steps are left, and so does each later match with the same steps.
    pub fn is_match_within(&self, text: &str, steps: &Steps) -> Result<bool, TooExpensive> {
        steps.with(|fuel| match self.0.has_back_references {
            false => simulate::is_match(&self.0, text, fuel),
            true => backtrack::is_match(&self.0, text, fuel),
        })
    }
}

/// The maximum length of a pattern, which bounds the time to compile it.
const MAX_BYTES: usize = 64 << 10;

/// A pattern cannot be compiled. Displays the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl error::Error for Error {}
