//! JSON Web Keys (RFC 7517): public keys for verifying signatures.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::signature::{self, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::error::JoseError;

/// An asymmetric signature algorithm (RFC 7518).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// ECDSA with P-384 and SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
}

impl Algorithm {
    /// All supported algorithms.
    pub const ALL: [Self; 9] = [
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
    ];

    /// Returns the algorithm's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Es384 => "ES384",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
        }
    }
}

impl FromStr for Algorithm {
    type Err = JoseError;

    fn from_str(name: &str) -> Result<Self, JoseError> {
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        found.ok_or_else(|| JoseError::Algorithm(name.chars().take(32).filter(|char| !char.is_control()).collect()))
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A public key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Jwk {
    kty: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crv: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    x: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    y: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    e: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kid: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    alg: Option<String>,
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
}

impl Jwk {
    pub(super) fn p256(point: &[u8]) -> Result<Self, JoseError> {
        let [4, coordinates @ ..] = point else { return Err(JoseError::Key("its point is compressed")) };
        let (x, y) = coordinates.split_at(coordinates.len() / 2);
        let encode = |bytes: &[u8]| Some(URL_SAFE_NO_PAD.encode(bytes));
        Ok(Self { kty: "EC".to_owned(), crv: Some("P-256".to_owned()), x: encode(x), y: encode(y), ..Self::default() })
    }

    /// Parses a key that the sender of a token included.
    ///
    /// # Errors
    ///
    /// Fails if the key is invalid, or contains private or symmetric key material.
    pub fn from_untrusted(value: &Value) -> Result<Self, JoseError> {
        if ["d", "p", "q", "dp", "dq", "qi", "oth", "k"].iter().any(|name| value.get(name).is_some()) {
            return Err(JoseError::Key("it contains private key material"));
        }
        Self::deserialize(value).map_err(|_| JoseError::Key("it is not a JSON Web Key"))
    }

    /// Returns the key's ID.
    #[must_use]
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// Returns whether the key may verify signatures of this algorithm.
    #[must_use]
    pub fn supports(&self, algorithm: Algorithm) -> bool {
        let (kty, crv) = match algorithm {
            Algorithm::Es256 => ("EC", Some("P-256")),
            Algorithm::Es384 => ("EC", Some("P-384")),
            Algorithm::EdDsa => ("OKP", Some("Ed25519")),
            _ => ("RSA", None),
        };
        self.kty == kty
            && (crv.is_none() || self.crv.as_deref() == crv)
            && self.alg.as_deref().is_none_or(|alg| alg == algorithm.name())
            && self.usage.as_deref().is_none_or(|usage| usage == "sig")
    }

    /// Returns the key's SHA-256 thumbprint (RFC 7638), as base64url.
    ///
    /// # Errors
    ///
    /// Fails if the key's type is not supported, or if it lacks a required member.
    pub fn thumbprint(&self) -> Result<String, JoseError> {
        let missing = || JoseError::Key("it lacks a required member");
        let text = |member: &Option<String>| member.clone().ok_or_else(missing);
        // Written in sorted order, because with serde_json's feature `preserve_order`, `json!` does not sort.
        let required = match self.kty.as_str() {
            "EC" => json!({ "crv": text(&self.crv)?, "kty": "EC", "x": text(&self.x)?, "y": text(&self.y)? }),
            "OKP" => json!({ "crv": text(&self.crv)?, "kty": "OKP", "x": text(&self.x)? }),
            "RSA" => json!({ "e": text(&self.e)?, "kty": "RSA", "n": text(&self.n)? }),
            _ => return Err(JoseError::Key("its type is not supported")),
        };
        Ok(URL_SAFE_NO_PAD.encode(digest(&SHA256, required.to_string().as_bytes())))
    }

    pub(super) fn verify(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> Result<(), JoseError> {
        if !self.supports(algorithm) {
            return Err(JoseError::Key("it is not for this algorithm"));
        }
        let verified = match algorithm {
            Algorithm::Es256 => self.verify_ec(&signature::ECDSA_P256_SHA256_FIXED, 32, message, signature)?,
            Algorithm::Es384 => self.verify_ec(&signature::ECDSA_P384_SHA384_FIXED, 48, message, signature)?,
            Algorithm::EdDsa => {
                let key = UnparsedPublicKey::new(&signature::ED25519, decode(&self.x)?);
                key.verify(message, signature)
            }
            Algorithm::Rs256 => self.verify_rsa(&signature::RSA_PKCS1_2048_8192_SHA256, message, signature)?,
            Algorithm::Rs384 => self.verify_rsa(&signature::RSA_PKCS1_2048_8192_SHA384, message, signature)?,
            Algorithm::Rs512 => self.verify_rsa(&signature::RSA_PKCS1_2048_8192_SHA512, message, signature)?,
            Algorithm::Ps256 => self.verify_rsa(&signature::RSA_PSS_2048_8192_SHA256, message, signature)?,
            Algorithm::Ps384 => self.verify_rsa(&signature::RSA_PSS_2048_8192_SHA384, message, signature)?,
            Algorithm::Ps512 => self.verify_rsa(&signature::RSA_PSS_2048_8192_SHA512, message, signature)?,
        };
        verified.map_err(|_| JoseError::Signature)
    }

    fn verify_ec(
        &self,
        algorithm: &'static dyn VerificationAlgorithm,
        size: usize,
        message: &[u8],
        signature: &[u8],
    ) -> Result<Result<(), ring::error::Unspecified>, JoseError> {
        let (x, y) = (decode(&self.x)?, decode(&self.y)?);
        if x.len() != size || y.len() != size {
            return Err(JoseError::Key("its coordinates have the wrong length"));
        }
        let point = [&[4], x.as_slice(), y.as_slice()].concat();
        Ok(UnparsedPublicKey::new(algorithm, point).verify(message, signature))
    }

    fn verify_rsa(
        &self,
        parameters: &'static RsaParameters,
        message: &[u8],
        signature: &[u8],
    ) -> Result<Result<(), ring::error::Unspecified>, JoseError> {
        let key = RsaPublicKeyComponents { n: decode(&self.n)?, e: decode(&self.e)? };
        Ok(key.verify(parameters, message, signature))
    }
}

fn decode(member: &Option<String>) -> Result<Vec<u8>, JoseError> {
    let text = member.as_ref().ok_or(JoseError::Key("it lacks a required member"))?;
    URL_SAFE_NO_PAD.decode(text).map_err(|_| JoseError::Key("a member is not base64url"))
}

/// An issuer's published keys, except invalid and unsupported ones.
#[derive(Clone, Debug, Default)]
pub struct JwkSet {
    /// The keys.
    pub keys: Vec<Jwk>,
}

impl<'de> Deserialize<'de> for JwkSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Set {
            keys: Vec<Value>,
        }
        let set = Set::deserialize(deserializer)?;
        Ok(Self { keys: set.keys.iter().filter_map(|key| Jwk::deserialize(key).ok()).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn computes_the_thumbprint_of_rfc_7638() {
        let key = json!({
            "kty": "RSA",
            "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
            "e": "AQAB",
            "alg": "RS256",
            "kid": "2011-04-29",
        });
        let key = Jwk::from_untrusted(&key).expect("a key");
        assert_eq!(key.thumbprint().as_deref(), Ok("NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"));
    }

    #[test]
    fn refuses_private_and_symmetric_keys() {
        for name in ["d", "k", "p"] {
            let mut key = json!({ "kty": "EC", "crv": "P-256", "x": "", "y": "" });
            key[name] = json!("AA");
            assert!(Jwk::from_untrusted(&key).is_err(), "{name}");
        }
    }
}
