//! Checks DPoP proofs (RFC 9449).

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::nonce::{DpopNonces, NonceStatus};
use crate::jose::{Algorithm, Jwk, Jws};
use crate::util::{now, sha256};

/// The maximum difference between the time of a proof and the server's time, in seconds.
const WINDOW: u64 = 60;

/// The maximum number of proofs that are remembered.
const MAX_REMEMBERED: usize = 200_000;

/// The algorithms of proofs that are accepted.
pub(super) const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Es256, Algorithm::Es384, Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Ps256];

/// Checks proofs, and remembers them so that each is accepted once.
#[derive(Debug, Default)]
pub(super) struct ProofChecker {
    /// The hashes of the IDs of accepted proofs, and the time until which they are remembered.
    used: Mutex<HashMap<String, u64>>,
}

#[derive(Deserialize)]
struct Claims {
    jti: String,
    htm: String,
    htu: String,
    iat: u64,
    #[serde(default)]
    ath: Option<String>,
    #[serde(default)]
    nonce: Option<String>,
}

/// The reason why a proof is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProofError {
    /// The proof is not valid.
    Invalid(&'static str),
    /// The proof has no current nonce.
    Nonce,
}

impl From<&'static str> for ProofError {
    fn from(why: &'static str) -> Self {
        Self::Invalid(why)
    }
}

/// The request and the token that a proof must match.
pub(super) struct Expected<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    pub(super) token: &'a SecretString,
    /// The thumbprint of the key that the token is bound to.
    pub(super) thumbprint: &'a str,
    /// The nonces that the proof must contain one of.
    pub(super) nonces: Option<&'a DpopNonces>,
}

impl ProofChecker {
    /// Checks a proof. Returns whether the client should use a new nonce, or the reason why the proof is rejected.
    pub(super) fn check(&self, proof: &str, expected: &Expected<'_>) -> Result<bool, ProofError> {
        let jws = Jws::parse(proof).map_err(|_| "the proof is not a JSON Web Token")?;
        if jws.header.typ.as_deref() != Some("dpop+jwt") {
            return Err("the type of the proof is not `dpop+jwt`".into());
        }
        let algorithm = jws.algorithm().map_err(|_| "the algorithm of the proof is not allowed")?;
        if !ALGORITHMS.contains(&algorithm) {
            return Err("the algorithm of the proof is not allowed".into());
        }
        let key = jws.header.jwk.as_ref().and_then(|key| Jwk::from_untrusted(key).ok());
        let key = key.ok_or("the proof has no public key")?;
        jws.verify(&key).map_err(|_| "the signature of the proof does not match")?;
        if key.thumbprint().as_deref() != Ok(expected.thumbprint) {
            return Err("the token is bound to another key".into());
        }
        let claims: Claims = jws.payload().map_err(|_| "the claims of the proof are not valid")?;
        check_claims(&claims, expected)?;
        let nonce = expected.nonces.map(|nonces| nonces.check(claims.nonce.as_deref()));
        if nonce == Some(NonceStatus::Invalid) {
            return Err(ProofError::Nonce);
        }
        self.use_once(&key, &claims.jti)?;
        Ok(nonce == Some(NonceStatus::Old))
    }

    /// Records a proof. Fails if it was used before.
    fn use_once(&self, key: &Jwk, jti: &str) -> Result<(), &'static str> {
        let id = sha256(&format!("{} {jti}", key.thumbprint().unwrap_or_default()));
        let (mut used, now) = (self.used.lock().unwrap_or_else(PoisonError::into_inner), now());
        if used.len() >= MAX_REMEMBERED {
            used.retain(|_, until| *until >= now);
        }
        if used.len() >= MAX_REMEMBERED {
            return Err("too many proofs; try again later");
        }
        match used.insert(id, now + 2 * WINDOW + 1) {
            Some(until) if until >= now => Err("the proof was used before"),
            _ => Ok(()),
        }
    }
}

fn check_claims(claims: &Claims, expected: &Expected<'_>) -> Result<(), &'static str> {
    if claims.htm != expected.method {
        return Err("the proof is for another method");
    }
    let target: Url = claims.htu.parse().map_err(|_| "the proof is for another URL")?;
    let same = target.origin() == expected.url.origin() && target.path() == expected.url.path();
    if !same || target.query().is_some() || target.fragment().is_some() {
        return Err("the proof is for another URL");
    }
    if claims.iat.abs_diff(now()) > WINDOW {
        return Err("the proof is too old or not valid yet");
    }
    if claims.ath.as_deref() != Some(sha256(expected.token.expose_secret()).as_str()) {
        return Err("the proof is for another token");
    }
    if claims.jti.is_empty() {
        return Err("the proof has no ID");
    }
    Ok(())
}
