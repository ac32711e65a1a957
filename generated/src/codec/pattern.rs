//! Regular expressions of schemas.

#[cfg(feature = "pattern")]
use std::sync::OnceLock;

#[cfg(feature = "pattern")]
use regress::Regex;

/// A regular expression of ECMA-262, which is compiled when it is first used.
#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    #[cfg(feature = "pattern")]
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    /// Creates a pattern. An invalid pattern matches nothing; the generator rejects invalid patterns.
    ///
    /// Generated code creates patterns in statics. Without the feature `pattern`, it does not compile.
    #[must_use]
    #[expect(clippy::assertions_on_constants, reason = "only code that creates patterns needs the feature")]
    pub const fn new(source: &'static str) -> Self {
        assert!(
            cfg!(feature = "pattern"),
            "the schema has regular expressions: enable the feature `pattern` of mcpgen-types"
        );
        Self {
            source,
            #[cfg(feature = "pattern")]
            compiled: OnceLock::new(),
        }
    }

    /// Returns the text of the expression.
    #[must_use]
    pub const fn source(&self) -> &'static str {
        self.source
    }

    /// Returns whether a part of the text matches.
    #[cfg(feature = "pattern")]
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        // JSON Schema requires the flag `u`, but many patterns in use are valid only without it.
        let compile = || Regex::with_flags(self.source, "u").or_else(|_| Regex::new(self.source)).ok();
        self.compiled.get_or_init(compile).as_ref().is_some_and(|regex| regex.find(text).is_some())
    }

    /// Returns false. Without the feature `pattern`, there are no patterns.
    #[cfg(not(feature = "pattern"))]
    #[must_use]
    pub const fn matches(&self, _text: &str) -> bool {
        false
    }
}
