//! A small image and a short sound.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// One red pixel, as PNG.
pub(crate) const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\
    \0\0\0\x0dIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0\x90wS\xde\
    \0\0\0\x0fIDATx\x01\x01\x04\0\xfb\xff\0\xff\0\0\x03\x01\x01\0\x8d\x1d\xe5\x82\
    \0\0\0\0IEND\xaeB`\x82";

/// A millisecond of silence, as WAV: 8 samples of 8 bits each, on one channel, at 8000 Hz.
pub(crate) const WAV: &[u8] = b"RIFF\x2c\0\0\0WAVE\
    fmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0\
    data\x08\0\0\0\x80\x80\x80\x80\x80\x80\x80\x80";

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
