//! Time, random text and hashes.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
#[cfg(feature = "client")]
use ring::rand::{SecureRandom, SystemRandom};

#[cfg(feature = "client")]
use crate::jose::JoseError;

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// 256 random bits as base64url: 43 characters, which are also a valid PKCE verifier.
#[cfg(feature = "client")]
pub(crate) fn random_text() -> Result<String, JoseError> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| JoseError::Random)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the hash of the text as base64url.
pub(crate) fn sha256(text: &str) -> String {
    URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()))
}

#[cfg(feature = "server")]
pub(crate) fn sha256_bytes(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref());
    bytes
}
