//! Nonces for DPoP proofs (RFC 9449, section 9).

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::{HeaderName, HeaderValue};
use ring::hmac;
use ring::rand::SystemRandom;
use secrecy::{ExposeSecret, SecretString};

use crate::jose::JoseError;
use crate::util::now;

pub(super) const DPOP_NONCE: HeaderName = HeaderName::from_static("dpop-nonce");

/// Minimum length of a secret in bytes.
const MIN_SECRET: usize = 32;

/// Nonces that a server requires in DPoP proofs. Without them, a client could create proofs for later use.
///
/// A nonce is a signature of the time, so the server need not store any.
#[derive(Clone)]
pub struct DpopNonces {
    key: hmac::Key,
    /// How long a nonce is handed out, in seconds. It is accepted for one more period.
    period: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NonceStatus {
    /// The nonce is current.
    Current,
    /// The nonce is accepted, but the client should switch to a new one.
    Old,
    /// The nonce is missing, too old, or not from this server.
    Invalid,
}

impl DpopNonces {
    /// Creates nonces with a random key. Other processes do not accept these nonces.
    ///
    /// # Errors
    ///
    /// Returns an error if the system's random number generator fails.
    pub fn generate() -> Result<Self, JoseError> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new()).map_err(|_| JoseError::Random)?;
        Ok(Self::new(key))
    }

    /// Creates nonces with a secret. Behind a load balancer, give all processes the same secret and lifetime, so that
    /// they accept each other's nonces.
    ///
    /// # Errors
    ///
    /// Fails if the secret is shorter than 32 bytes.
    pub fn from_secret(secret: &SecretString) -> Result<Self, JoseError> {
        let secret = secret.expose_secret().as_bytes();
        match secret.len() >= MIN_SECRET {
            true => Ok(Self::new(hmac::Key::new(hmac::HMAC_SHA256, secret))),
            false => Err(JoseError::Key("the secret of nonces is shorter than 32 bytes")),
        }
    }

    fn new(key: hmac::Key) -> Self {
        Self { key, period: 150 }
    }

    /// Sets the maximum time that a nonce is valid. The minimum is 2 seconds, the default 5 minutes. Clients get a new
    /// nonce after half of that time.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.period = (lifetime.as_secs() / 2).max(1);
        self
    }

    pub(super) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.nonce(now() / self.period)).ok()
    }

    pub(super) fn check(&self, nonce: Option<&str>) -> NonceStatus {
        self.check_at(nonce, now())
    }

    fn check_at(&self, nonce: Option<&str>, now: u64) -> NonceStatus {
        let tag = nonce.and_then(|nonce| URL_SAFE_NO_PAD.decode(nonce).ok()).unwrap_or_default();
        let current = now / self.period;
        let is_of = |period: u64| hmac::verify(&self.key, &message(period), &tag).is_ok();
        // Another process's clock may be ahead.
        if is_of(current) || is_of(current + 1) {
            NonceStatus::Current
        } else if is_of(current.saturating_sub(1)) {
            NonceStatus::Old
        } else {
            NonceStatus::Invalid
        }
    }

    /// The previous period's nonce.
    #[cfg(all(test, feature = "client"))]
    pub(super) fn old(&self) -> String {
        self.nonce(now() / self.period - 1)
    }

    fn nonce(&self, period: u64) -> String {
        URL_SAFE_NO_PAD.encode(hmac::sign(&self.key, &message(period)))
    }
}

/// What is signed: the period, and the purpose, because the secret may have other uses.
fn message(period: u64) -> Vec<u8> {
    [b"mcpgen DPoP nonce ".as_slice(), &period.to_be_bytes()].concat()
}

impl fmt::Debug for DpopNonces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DpopNonces").field("period", &self.period).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonces_are_valid_for_their_lifetime() {
        let nonces = DpopNonces::generate().expect("a key").lifetime(Duration::from_secs(20));
        // The nonce is handed out from 1000 to 1009.
        let nonce = nonces.nonce(100);
        for (now, expected) in [
            (980, NonceStatus::Invalid),
            (990, NonceStatus::Current),
            (1000, NonceStatus::Current),
            (1009, NonceStatus::Current),
            (1010, NonceStatus::Old),
            (1019, NonceStatus::Old),
            (1020, NonceStatus::Invalid),
        ] {
            assert_eq!(nonces.check_at(Some(&nonce), now), expected, "{now}");
        }
        for nonce in [None, Some(""), Some("nonce"), Some(&nonce[1..])] {
            assert_eq!(nonces.check_at(nonce, 1000), NonceStatus::Invalid, "{nonce:?}");
        }
    }

    #[test]
    fn processes_with_the_same_secret_accept_each_other() {
        let of = |secret: &str| DpopNonces::from_secret(&secret.into());
        let nonce = of(&"a".repeat(32)).expect("nonces").nonce(0);
        assert_eq!(of(&"a".repeat(32)).expect("nonces").check_at(Some(&nonce), 0), NonceStatus::Current);
        assert_eq!(of(&"b".repeat(32)).expect("nonces").check_at(Some(&nonce), 0), NonceStatus::Invalid);
        assert_eq!(DpopNonces::generate().expect("a key").check_at(Some(&nonce), 0), NonceStatus::Invalid);
        assert!(of(&"a".repeat(31)).is_err());
    }
}
