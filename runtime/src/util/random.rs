//! Random bytes.

use std::io;

/// Returns random bytes for keys and identifiers.
///
/// # Errors
///
/// Fails if the operating system cannot provide random bytes.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map(|()| bytes).map_err(|error| io::Error::other(error.to_string()))
}
