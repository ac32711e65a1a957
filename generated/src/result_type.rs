//! The type of a result.

use std::borrow::Cow;
use std::fmt;

/// Whether a result is complete: `complete` (the default), `input_required`, or a type that a later revision adds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResultType(Cow<'static, str>);

impl ResultType {
    /// The request is complete.
    pub const COMPLETE: Self = Self(Cow::Borrowed("complete"));
    /// The server needs input before it can complete the request.
    pub const INPUT_REQUIRED: Self = Self(Cow::Borrowed("input_required"));

    /// Returns the type as it appears in JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for ResultType {
    fn default() -> Self {
        Self::COMPLETE
    }
}

impl From<&str> for ResultType {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<String> for ResultType {
    fn from(text: String) -> Self {
        Self(Cow::Owned(text))
    }
}

impl fmt::Display for ResultType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

crate::codec::serde_impls!(ResultType);
