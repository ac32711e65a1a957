//! Errors with their sources.

/// Implements `Debug` for errors that `main` may return, as the messages of the error and its sources: the standard
/// library prints such an error with `Debug`.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_message {
    ($($error:ty),*) => {$(
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::util::error_chain(self))
            }
        }
    )*};
}

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
