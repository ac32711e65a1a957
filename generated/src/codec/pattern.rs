//! Regular expressions of schemas.

use std::sync::OnceLock;

use regress::Regex;

/// A regular expression of ECMA-262, which is compiled when it is first used.
#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Creates a pattern. An invalid pattern matches nothing; the generator rejects invalid patterns.
    #[must_use]
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// Returns the text of the expression.
    #[must_use]
    pub const fn source(&self) -> &'static str {
        self.source
    }

    /// Returns whether a part of the text matches.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        // JSON Schema requires the flag `u`, but many patterns in use are valid only without it.
        let compile = || Regex::with_flags(self.source, "u").or_else(|_| Regex::new(self.source)).ok();
        self.compiled.get_or_init(compile).as_ref().is_some_and(|regex| regex.find(text).is_some())
    }
}
