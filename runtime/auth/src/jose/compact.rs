//! The compact serialization of a JSON Web Signature (RFC 7515).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::error::JoseError;
use super::jwk::{Algorithm, Jwk};

/// A compact JSON Web Signature that is not verified yet.
#[derive(Debug)]
pub struct Jws<'t> {
    /// The protected header.
    pub header: Header,
    signed: &'t str,
    payload: Vec<u8>,
    signature: Vec<u8>,
}

/// The members of a protected header that we use. A header with `crit` is rejected.
#[derive(Clone, Debug, Deserialize)]
pub struct Header {
    /// The algorithm's name, possibly an unsupported one.
    pub alg: String,
    /// The ID of the key.
    #[serde(default)]
    pub kid: Option<String>,
    /// The type of the token.
    #[serde(default)]
    pub typ: Option<String>,
    /// A public key that the sender included.
    #[serde(default)]
    pub jwk: Option<serde_json::Value>,
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

/// Maximum length of a token in bytes, roughly what servers accept in headers.
const LONGEST: usize = 32 << 10;

impl<'t> Jws<'t> {
    /// Parses a compact signature without verifying it.
    ///
    /// # Errors
    ///
    /// Fails if the text is longer than 32 KiB or not a compact signature, or if its header is invalid or has `crit`.
    pub fn parse(text: &'t str) -> Result<Self, JoseError> {
        if text.len() > LONGEST {
            return Err(JoseError::Malformed("it is longer than 32 KiB"));
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(JoseError::Malformed("it has no signature"))?;
        let (header, payload) = signed.split_once('.').ok_or(JoseError::Malformed("it has no payload"))?;
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| JoseError::Malformed("it is not base64url"));
        let header: Header =
            serde_json::from_slice(&decode(header)?).map_err(|_| JoseError::Malformed("its header is not valid"))?;
        if header.crit.is_some() {
            return Err(JoseError::Malformed("its header has critical extensions"));
        }
        Ok(Self { header, signed, payload: decode(payload)?, signature: decode(signature)? })
    }

    /// Returns the algorithm.
    ///
    /// # Errors
    ///
    /// Returns an error if the algorithm is not supported.
    pub fn algorithm(&self) -> Result<Algorithm, JoseError> {
        self.header.alg.parse()
    }

    /// Verifies the signature with a public key.
    ///
    /// # Errors
    ///
    /// Fails if the algorithm is unsupported or does not fit the key, or if the signature does not match.
    pub fn verify(&self, key: &Jwk) -> Result<(), JoseError> {
        key.verify(self.algorithm()?, self.signed.as_bytes(), &self.signature)
    }

    /// Decodes the payload. Call [`verify`](Self::verify) first.
    ///
    /// # Errors
    ///
    /// Fails if the payload is not a JSON object of this type.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T, JoseError> {
        serde_json::from_slice(&self.payload).map_err(|_| JoseError::Malformed("its claims are not valid"))
    }
}
