//! Proofs of possession of a key (DPoP, RFC 9449).

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use url::Url;

use crate::jose::{JoseError, SigningKey};
use crate::util::{now, random_text, sha256};

/// The header that carries a proof.
pub const DPOP: http::HeaderName = http::HeaderName::from_static("dpop");
/// The header in which a server provides a nonce for the next proof.
pub const DPOP_NONCE: http::HeaderName = http::HeaderName::from_static("dpop-nonce");

/// A key that access tokens are bound to.
pub struct DpopKey {
    key: SigningKey,
    jwk: serde_json::Value,
    thumbprint: String,
}

impl DpopKey {
    /// Generates a key.
    ///
    /// # Errors
    ///
    /// Returns an error if the system's random number generator fails.
    pub fn generate() -> Result<Self, JoseError> {
        Self::new(SigningKey::generate()?)
    }

    /// Decodes the output of [`to_base64`](Self::to_base64).
    pub(crate) fn from_base64(text: &SecretString) -> Result<Self, JoseError> {
        Self::new(SigningKey::from_base64(text)?)
    }

    fn new(key: SigningKey) -> Result<Self, JoseError> {
        let public = key.public_key()?;
        let jwk = serde_json::to_value(&public).map_err(|_| JoseError::Key("it cannot be encoded"))?;
        Ok(Self { key, jwk, thumbprint: public.thumbprint()? })
    }

    /// The private key, for the store.
    pub(crate) fn to_base64(&self) -> &SecretString {
        self.key.to_base64()
    }

    /// Returns the public key's thumbprint, which tokens are bound to.
    #[must_use]
    pub fn thumbprint(&self) -> &str {
        &self.thumbprint
    }

    /// Creates a proof for one request. Pass the access token for a request to a resource, and `None` for a token
    /// request.
    ///
    /// # Errors
    ///
    /// Returns an error if the system's random number generator fails.
    pub fn proof(
        &self,
        method: &str,
        url: &Url,
        nonce: Option<&str>,
        access_token: Option<&SecretString>,
    ) -> Result<String, JoseError> {
        let mut target = url.clone();
        target.set_query(None);
        target.set_fragment(None);
        let mut claims = json!({ "jti": random_text()?, "htm": method, "htu": target.as_str(), "iat": now() });
        if let Some(nonce) = nonce {
            claims["nonce"] = nonce.into();
        }
        if let Some(token) = access_token {
            claims["ath"] = sha256(token.expose_secret()).into();
        }
        self.key.sign(json!({ "typ": "dpop+jwt", "jwk": self.jwk }), &claims)
    }
}

impl fmt::Debug for DpopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DpopKey").field("thumbprint", &self.thumbprint).finish_non_exhaustive()
    }
}
