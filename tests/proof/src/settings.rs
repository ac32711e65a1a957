//! Environment variables that determine how many samples the tests use.

use std::env;

/// Returns whether `MCPGEN_THOROUGH` is set, as in CI. Otherwise, the longest tests use fewer samples.
#[must_use]
pub fn is_thorough() -> bool {
    env::var_os("MCPGEN_THOROUGH").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns the number in an environment variable. If it is not set, returns `thorough` if [`is_thorough`], and
/// otherwise `quick`.
///
/// # Panics
///
/// Panics if the variable is not a number.
#[must_use]
pub fn setting(name: &str, quick: u64, thorough: u64) -> u64 {
    match env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}; set it to a number")),
        Err(_) if is_thorough() => thorough,
        Err(_) => quick,
    }
}
