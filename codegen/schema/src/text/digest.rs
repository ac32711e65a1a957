//! Digests in hexadecimal digits.

use sha2::{Digest, Sha256};

/// Returns the SHA-256 of bytes, as 64 lowercase digits.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
