//! Digests of files.

use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// `sha256:` and 64 lowercase hexadecimal digits.
pub(super) fn of(content: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(content) {
        // Writing to a `String` never fails.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn digests_have_the_form_of_the_specification() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(super::of(b""), empty);
    }
}
