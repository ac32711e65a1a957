//! The trait of token verifiers.

use futures_util::future::BoxFuture;
use secrecy::SecretString;
use tower::BoxError;

use super::identity::Identity;

/// Verifies access tokens. [`JwtVerifier`](super::JwtVerifier) and
/// [`IntrospectionVerifier`](super::IntrospectionVerifier) are implementations.
pub trait TokenVerifier: Send + Sync + 'static {
    /// Verifies a token: that it was issued by a trusted issuer for this server, has not expired, and is an access
    /// token. The layer checks scopes and DPoP proofs.
    ///
    /// # Errors
    ///
    /// Returns an error if the token is not valid, or cannot be verified now.
    fn verify<'a>(&'a self, token: &'a SecretString) -> BoxFuture<'a, Result<Identity, TokenError>>;
}

/// An error of creating a verifier.
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

/// The reason why a token is not accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is not valid. The client receives the reason.
    #[error("{0}")]
    Invalid(&'static str),
    /// The token cannot be verified now, for example because the issuer does not respond.
    #[error("the token cannot be verified now")]
    Unavailable(#[source] BoxError),
}

/// Verifies a token with the first of several verifiers that accepts it.
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
