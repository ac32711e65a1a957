//! Random bytes.

/// Returns random bytes for keys and identifiers.
///
/// # Errors
///
/// Fails if the operating system cannot provide random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map(|()| bytes)
}
