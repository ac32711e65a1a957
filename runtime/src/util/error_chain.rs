//! Errors with their sources.

use std::error::Error;

/// Formats an error and all its sources, from the outermost to the innermost, separated by colons. A source whose
/// message its parent already contains is omitted.
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
