//! Checks DPoP proofs (RFC 9449).

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use super::nonce::{DpopNonces, NonceStatus};
use crate::jose::{Algorithm, Jwk, Jws};
use crate::util::{now, sha256, sha256_bytes};

/// How far a proof's time may differ from the server's, in seconds.
const WINDOW: u64 = 60;

/// How long a proof must be remembered, in seconds. The proof's time may lie in the future.
const LIFETIME: u64 = 2 * WINDOW + 1;

pub(super) const ALGORITHMS: [Algorithm; 5] =
    [Algorithm::Es256, Algorithm::Es384, Algorithm::EdDsa, Algorithm::Rs256, Algorithm::Ps256];

/// Checks proofs, and remembers them so that each is accepted only once.
#[derive(Debug, Default)]
pub(super) struct ProofChecker {
    limits: ProofLimits,
    used: Mutex<UsedProofs>,
}

/// How many proofs to remember per [`LIFETIME`].
#[derive(Clone, Copy, Debug)]
pub(super) struct ProofLimits {
    /// Limit per key, so that no client can use up the whole space.
    pub(super) per_key: usize,
    /// Limit per key in the space reserved for keys with few proofs, which busy keys cannot use up.
    pub(super) reserved_per_key: usize,
    /// Limit for all keys in the reserved space.
    pub(super) reserved: usize,
    /// Limit for all keys in the common space.
    pub(super) total: usize,
}

impl Default for ProofLimits {
    fn default() -> Self {
        Self { per_key: 20_000, reserved_per_key: 100, reserved: 50_000, total: 150_000 }
    }
}

/// Proofs of the last two periods of [`LIFETIME`], so that old ones can be dropped all at once.
#[derive(Debug, Default)]
struct UsedProofs {
    current: Period,
    previous: Period,
    /// When the current period ends, in seconds since 1970.
    ends: u64,
}

#[derive(Debug, Default)]
struct Period {
    /// One hash per proof, computed from its key's thumbprint and its ID.
    proofs: HashSet<[u8; 32]>,
    /// Proofs per key, by the hash of its thumbprint.
    keys: HashMap<[u8; 32], usize>,
    reserved: usize,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProofError {
    Invalid(&'static str),
    Nonce,
    /// There is no room to remember another proof.
    TooMany {
        /// How many seconds the client should wait.
        retry_after: u64,
    },
}

impl From<&'static str> for ProofError {
    fn from(why: &'static str) -> Self {
        Self::Invalid(why)
    }
}

/// What a proof must match.
pub(super) struct Expected<'a> {
    pub(super) method: &'a str,
    pub(super) url: &'a Url,
    pub(super) token: &'a SecretString,
    /// The thumbprint of the key that the token is bound to.
    pub(super) thumbprint: &'a str,
    /// The proof must contain one of these nonces.
    pub(super) nonces: Option<&'a DpopNonces>,
}

impl ProofChecker {
    #[cfg(test)]
    pub(super) fn with_limits(limits: ProofLimits) -> Self {
        Self { limits, used: Mutex::default() }
    }

    /// Checks a proof. Returns whether the client should use a new nonce.
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
        self.use_once(expected.thumbprint, &claims.jti, now())?;
        Ok(nonce == Some(NonceStatus::Old))
    }

    fn use_once(&self, thumbprint: &str, jti: &str, now: u64) -> Result<(), ProofError> {
        let (key, proof) = (sha256_bytes(thumbprint), sha256_bytes(&format!("{thumbprint} {jti}")));
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.advance(now);
        if used.current.proofs.contains(&proof) || used.previous.proofs.contains(&proof) {
            return Err("the proof was used before".into());
        }
        let retry_after = used.ends.saturating_sub(now).max(1);
        match used.current.insert(key, proof, &self.limits) {
            true => Ok(()),
            false => Err(ProofError::TooMany { retry_after }),
        }
    }
}

impl UsedProofs {
    fn advance(&mut self, now: u64) {
        if now < self.ends {
            return;
        }
        let ended = std::mem::take(&mut self.current);
        self.previous = if now - self.ends < LIFETIME { ended } else { Period::default() };
        self.ends = now + LIFETIME;
    }
}

impl Period {
    /// Returns `false` if the key, or all keys together, have reached their limits.
    fn insert(&mut self, key: [u8; 32], proof: [u8; 32], limits: &ProofLimits) -> bool {
        let count = self.keys.get(&key).copied().unwrap_or_default();
        let is_reserved = count < limits.reserved_per_key && self.reserved < limits.reserved;
        let has_room = self.proofs.len() - self.reserved < limits.total;
        if count >= limits.per_key || !(is_reserved || has_room) {
            return false;
        }
        self.keys.insert(key, count + 1);
        self.reserved += usize::from(is_reserved);
        self.proofs.insert(proof)
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

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ProofLimits = ProofLimits { per_key: 5, reserved_per_key: 2, reserved: 6, total: 8 };

    /// Returns how many of these proofs are accepted.
    fn accepted(checker: &ProofChecker, key: &str, proofs: std::ops::Range<usize>, now: u64) -> usize {
        let results = proofs.map(|jti| checker.use_once(key, &jti.to_string(), now));
        results
            .filter(|result| {
                assert!(matches!(result, Ok(()) | Err(ProofError::TooMany { .. })), "{result:?}");
                result.is_ok()
            })
            .count()
    }

    #[test]
    fn a_busy_client_locks_no_other_out() {
        let checker = ProofChecker::with_limits(LIMITS);
        assert_eq!(accepted(&checker, "mallory", 0..100, 1000), 5);
        assert_eq!(accepted(&checker, "alice", 0..5, 1000), 5);
        // With more keys, a client can take the common space, but not all that is reserved for keys with few proofs.
        assert_eq!(accepted(&checker, "mallory-2", 0..100, 1000), 4);
        assert_eq!(accepted(&checker, "bob", 0..1, 1000), 0, "the reserved space is taken by three keys");
        let checker = ProofChecker::with_limits(ProofLimits { reserved: 100, ..LIMITS });
        let all: usize = (0..20).map(|key| accepted(&checker, &format!("mallory-{key}"), 0..100, 1000)).sum();
        assert_eq!(all, 8 + 20 * 2);
        assert_eq!(accepted(&checker, "bob", 0..5, 1000), 2);
    }

    #[test]
    fn the_memory_of_all_proofs_is_bounded() {
        let checker = ProofChecker::with_limits(LIMITS);
        for (round, now) in [1000, 1050, 1121, 1200, 1242, 5000].into_iter().enumerate() {
            for key in 0..100 {
                accepted(&checker, &key.to_string(), round * 100..(round + 1) * 100, now);
            }
            let used = checker.used.lock().expect("a lock");
            for period in [&used.current, &used.previous] {
                assert!(period.proofs.len() <= LIMITS.total + LIMITS.reserved, "{now}: {period:?}");
                assert!(period.keys.len() <= period.proofs.len());
            }
        }
    }

    #[test]
    fn proofs_are_remembered_for_their_lifetime() {
        for start in [1000, 1001, 1060, 1120] {
            let checker = ProofChecker::with_limits(LIMITS);
            checker.use_once("key", "first", 1000).expect("a new proof");
            checker.use_once("key", "jti", start).expect("a new proof");
            for now in start..start + LIFETIME {
                let replayed = checker.use_once("key", "jti", now);
                assert_eq!(replayed, Err(ProofError::Invalid("the proof was used before")), "{start} {now}");
            }
            // Another key may use the same ID.
            checker.use_once("other", "jti", start).expect("a new proof");
        }
    }

    #[test]
    fn tells_when_proofs_are_accepted_again() {
        let checker = ProofChecker::with_limits(LIMITS);
        accepted(&checker, "key", 0..5, 1000);
        assert_eq!(checker.use_once("key", "5", 1021), Err(ProofError::TooMany { retry_after: 100 }));
        assert_eq!(checker.use_once("key", "5", 1121), Ok(()));
    }
}
