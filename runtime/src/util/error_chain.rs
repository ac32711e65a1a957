//! Errors with their sources.

use std::error::Error;

/// Formats an error and its sources, outermost first, separated by colons. A source that its parent's message already
/// contains is left out.
#[must_use]
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut chain = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let message = error.to_string();
        if !chain.contains(&message) {
            chain = format!("{chain}: {message}");
        }
        source = error.source();
    }
    chain
}
