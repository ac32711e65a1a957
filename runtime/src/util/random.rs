//! Random bytes.

use std::io;

/// Random bytes for keys and identifiers.
///
/// # Errors
///
/// The operating system has no source of randomness.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map(|()| bytes).map_err(|error| io::Error::other(error.to_string()))
}
