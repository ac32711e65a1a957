//! Errors of signatures and keys.

/// Why a signature or a key is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoseError {
    /// The text is not a compact JSON Web Signature.
    #[error("it is not a compact JSON Web Signature: {0}")]
    Malformed(&'static str),
    /// The algorithm is not supported.
    #[error("the algorithm `{0}` is not supported")]
    Algorithm(String),
    /// The key does not fit the algorithm, or is meant for another use.
    #[error("the key is not suitable: {0}")]
    Key(&'static str),
    /// The signature does not match.
    #[error("the signature does not match")]
    Signature,
    /// The system's random number generator failed.
    #[error("the system's random number generator failed")]
    Random,
}
