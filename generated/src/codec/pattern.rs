//! Regular expressions from schemas.

#[cfg(feature = "pattern")]
use std::sync::OnceLock;

use super::Cursor;
use crate::Error;
#[cfg(feature = "pattern")]
use crate::ErrorKind;

/// An ECMA-262 regular expression, compiled on first use.
#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    #[cfg(feature = "pattern")]
    compiled: OnceLock<Option<mcpgen_pattern::Regex>>,
}

/// The step budget that all patterns of a document share.
#[cfg(feature = "pattern")]
#[derive(Debug, Default)]
pub(super) struct Steps(OnceLock<mcpgen_pattern::Steps>);

#[cfg(feature = "pattern")]
impl Clone for Steps {
    /// The copy gets a separate budget.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Pattern {
    /// Creates a pattern. An invalid pattern matches nothing. The generator rejects such patterns.
    ///
    /// Generated code creates patterns in statics. This does not compile without the `pattern` feature.
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

    /// Returns whether some part of the text matches.
    ///
    /// Returns `false` if that would take too many [steps](ErrorKind::PatternTooExpensive).
    #[cfg(feature = "pattern")]
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        self.compiled().is_some_and(|regex| regex.is_match(text) == Ok(true))
    }

    /// Returns whether some part of the text matches. The steps count toward the budget of `place`'s document.
    #[cfg(feature = "pattern")]
    pub(super) fn matches_in(&self, place: Cursor<'_>, text: &str) -> Result<bool, Error> {
        let document = place.document;
        let steps = document.steps.0.get_or_init(|| mcpgen_pattern::Steps::for_text(document.text.len()));
        let is_match = self.compiled().map_or(Ok(false), |regex| regex.is_match_within(text, steps));
        is_match.map_err(|_| place.error(ErrorKind::PatternTooExpensive { pattern: self.source }))
    }

    #[cfg(feature = "pattern")]
    fn compiled(&self) -> Option<&mcpgen_pattern::Regex> {
        self.compiled.get_or_init(|| mcpgen_pattern::Regex::new(self.source).ok()).as_ref()
    }

    /// Returns `false`, because there are no patterns without the `pattern` feature.
    #[cfg(not(feature = "pattern"))]
    #[must_use]
    pub const fn matches(&self, _text: &str) -> bool {
        false
    }

    #[cfg(not(feature = "pattern"))]
    pub(super) const fn matches_in(&self, _place: Cursor<'_>, _text: &str) -> Result<bool, Error> {
        Ok(false)
    }
}
