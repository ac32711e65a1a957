//! Digests in hexadecimal.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 digest as 64 lowercase hexadecimal digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
