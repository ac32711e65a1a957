//! Private keys for creating signatures.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaEncoding, RsaKeyPair};
#[cfg(feature = "client")]
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::error::JoseError;
use super::jwk::{Algorithm, Jwk};

/// A private key and the algorithm that it signs with.
pub struct SigningKey {
    algorithm: Algorithm,
    key: PrivateKey,
    /// The key ID in the header of signatures.
    kid: Option<String>,
    /// PKCS #8 as base64.
    #[cfg(feature = "client")]
    pkcs8: SecretString,
}

enum PrivateKey {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(RsaKeyPair),
}

impl SigningKey {
    /// Generates a key for ES256.
    ///
    /// # Errors
    ///
    /// Returns an error if the system's random number generator fails.
    pub fn generate() -> Result<Self, JoseError> {
        let document = EcdsaKeyPair::generate_pkcs8(&signature::ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
        let document = document.map_err(|_| JoseError::Random)?;
        Self::from_der(document.as_ref(), Algorithm::Es256)
    }

    /// Parses a private key in PEM format (`-----BEGIN PRIVATE KEY-----`) for any of the algorithms.
    ///
    /// # Errors
    ///
    /// Fails if the text is not a PKCS #8 private key that fits the algorithm. Convert keys in other formats with
    /// `openssl pkcs8 -topk8 -nocrypt`.
    pub fn from_pem(pem: &str, algorithm: Algorithm) -> Result<Self, JoseError> {
        let wrong = || {
            JoseError::Key("it is not PEM of a PKCS #8 private key; convert it with `openssl pkcs8 -topk8 -nocrypt`")
        };
        let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----").ok_or_else(wrong)?;
        let (base64, _) = rest.split_once("-----END PRIVATE KEY-----").ok_or_else(wrong)?;
        let base64: String = base64.split_whitespace().collect();
        Self::from_der(&STANDARD.decode(base64).map_err(|_| wrong())?, algorithm)
    }

    fn from_der(der: &[u8], algorithm: Algorithm) -> Result<Self, JoseError> {
        let wrong = |_| JoseError::Key("it is not a PKCS #8 private key for this algorithm");
        let ecdsa = |of| EcdsaKeyPair::from_pkcs8(of, der, &SystemRandom::new()).map(PrivateKey::Ecdsa).map_err(wrong);
        let key = match algorithm {
            Algorithm::Es256 => ecdsa(&signature::ECDSA_P256_SHA256_FIXED_SIGNING)?,
            Algorithm::Es384 => ecdsa(&signature::ECDSA_P384_SHA384_FIXED_SIGNING)?,
            Algorithm::EdDsa => PrivateKey::Ed25519(Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(wrong)?),
            _ => PrivateKey::Rsa(RsaKeyPair::from_pkcs8(der).map_err(wrong)?),
        };
        Ok(Self {
            algorithm,
            key,
            kid: None,
            #[cfg(feature = "client")]
            pkcs8: STANDARD.encode(der).into(),
        })
    }

    /// Sets the key ID in the headers of signatures.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.kid = Some(kid.into());
        self
    }

    /// Returns the algorithm.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the public key of an ES256 key.
    ///
    /// # Errors
    ///
    /// Fails if the key is for another algorithm.
    pub fn public_key(&self) -> Result<Jwk, JoseError> {
        match (&self.key, self.algorithm) {
            (PrivateKey::Ecdsa(key), Algorithm::Es256) => Jwk::p256(key.public_key().as_ref()),
            _ => Err(JoseError::Key("only the public keys of ES256 keys can be exported")),
        }
    }

    /// The key as PKCS #8 in base64, for the store.
    #[cfg(feature = "client")]
    pub(crate) fn to_base64(&self) -> &SecretString {
        &self.pkcs8
    }

    /// Decodes an ES256 key from the output of [`to_base64`](Self::to_base64).
    #[cfg(feature = "client")]
    pub(crate) fn from_base64(text: &SecretString) -> Result<Self, JoseError> {
        let der = STANDARD.decode(text.expose_secret()).map_err(|_| JoseError::Key("it is not base64"))?;
        Self::from_der(&der, Algorithm::Es256)
    }

    /// Signs claims and returns a compact JSON Web Signature. Adds `alg`, and `kid` if it is set, to the header.
    ///
    /// # Errors
    ///
    /// Returns an error if the system's random number generator fails.
    pub fn sign(&self, mut header: Value, claims: &Value) -> Result<String, JoseError> {
        header["alg"] = self.algorithm.name().into();
        if let Some(kid) = &self.kid {
            header["kid"] = kid.as_str().into();
        }
        let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", encode(&header), encode(claims));
        let signature = self.signature(signed.as_bytes())?;
        Ok(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    fn signature(&self, message: &[u8]) -> Result<Vec<u8>, JoseError> {
        let random = SystemRandom::new();
        match &self.key {
            PrivateKey::Ecdsa(key) => Ok(key.sign(&random, message).map_err(|_| JoseError::Random)?.as_ref().to_vec()),
            PrivateKey::Ed25519(key) => Ok(key.sign(message).as_ref().to_vec()),
            PrivateKey::Rsa(key) => {
                let padding: &'static dyn RsaEncoding = match self.algorithm {
                    Algorithm::Rs384 => &signature::RSA_PKCS1_SHA384,
                    Algorithm::Rs512 => &signature::RSA_PKCS1_SHA512,
                    Algorithm::Ps256 => &signature::RSA_PSS_SHA256,
                    Algorithm::Ps384 => &signature::RSA_PSS_SHA384,
                    Algorithm::Ps512 => &signature::RSA_PSS_SHA512,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(padding, &random, message, &mut signature).map_err(|_| JoseError::Random)?;
                Ok(signature)
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("algorithm", &self.algorithm).field("kid", &self.kid).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "client"))]
mod tests {
    use serde_json::json;

    use super::super::Jws;
    use super::*;

    #[test]
    fn signs_what_its_public_key_verifies() {
        let (key, other) = (SigningKey::generate().expect("a key"), SigningKey::generate().expect("a key"));
        let token = key.sign(json!({ "typ": "t" }), &json!({ "a": 1 })).expect("a token");
        let jws = Jws::parse(&token).expect("a signature");
        assert_eq!(jws.verify(&key.public_key().expect("a key")), Ok(()));
        assert_eq!(jws.verify(&other.public_key().expect("a key")), Err(JoseError::Signature));
        assert_eq!(jws.payload::<Value>(), Ok(json!({ "a": 1 })));
        let again = SigningKey::from_base64(key.to_base64()).expect("the same key");
        assert_eq!(again.public_key(), key.public_key());
        assert!(!format!("{key:?}").contains(key.to_base64().expose_secret()));
    }
}
