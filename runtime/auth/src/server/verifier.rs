//! The trait for token verifiers.

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tower::BoxError;

use super::identity::Identity;

/// Verifies access tokens. Implemented by [`JwtVerifier`](super::JwtVerifier) and
/// [`IntrospectionVerifier`](super::IntrospectionVerifier).
pub trait TokenVerifier: Send + Sync + 'static {
    /// Checks that a token is an access token, that a trusted issuer issued it for this server, and that it has not
    /// expired. The layer takes care of scopes and DPoP proofs.
    ///
    /// # Errors
    ///
    /// Fails if the token is not valid, or cannot be verified at the moment.
    fn verify<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Identity, TokenError>>;
}

/// Why a verifier could not be created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifierError {
    /// The issuer is not a URL.
    #[error("`{0}` is not the URL of an issuer; write one such as `https://login.example.com`")]
    Issuer(String),
    /// The HTTP client cannot be created.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// Why a token is not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is not valid. The client is told the reason.
    #[error("{0}")]
    Invalid(&'static str),
    /// The token cannot be verified at the moment, for example because the issuer does not respond.
    #[error("the token cannot be verified now")]
    Unavailable(#[source] BoxError),
}

/// Accepts a token if any of the verifiers does.
impl TokenVerifier for Vec<Box<dyn TokenVerifier>> {
    fn verify<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Identity, TokenError>> {
        Box::pin(async move {
            let mut refused = TokenError::Invalid("no verifier accepts the token");
            for verifier in self {
                match verifier.verify(token).await {
                    Ok(identity) => return Ok(identity),
                    Err(TokenError::Invalid(_)) if matches!(refused, TokenError::Unavailable(_)) => {}
                    Err(error) => refused = error,
                }
            }
            Err(refused)
        })
    }
}
