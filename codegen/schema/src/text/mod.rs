//! Text helpers: [`visible`](fn@visible) escapes invisible characters, [`pattern`] matches regular expressions,
//! [`sha256`] computes digests, and [`counted`] adds units to counts.

mod digest;
pub mod pattern;
mod visible;
pub(crate) mod words;

pub use digest::sha256;
pub use visible::{visible, visible_json, visible_lines};
pub use words::counted;

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_has_no_plural() {
        for (count, unit, expected) in [
            (0, "items", "0 items"),
            (1, "items", "1 item"),
            (2, "items", "2 items"),
            (1, "entries", "1 entry"),
            (1, "invalid messages", "1 invalid message"),
        ] {
            assert_eq!(counted(count, unit), expected);
        }
    }
}
