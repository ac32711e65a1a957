//! Text helpers: [`visible`](fn@visible) escapes invisible characters, [`pattern`] matches regular expressions,
//! [`sha256`] computes digests, [`counted`] adds units to counts, and [`listed`] joins words.

mod digest;
pub mod pattern;
mod visible;
pub(crate) mod words;

pub use digest::sha256;
pub use visible::{visible, visible_json, visible_lines};
pub use words::counted;

/// Joins words as in a sentence: `a, b and c`.
#[doc(hidden)]
#[must_use]
pub fn listed(words: &[impl AsRef<str>]) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::{counted, listed};

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

    #[test]
    fn lists_have_one_and() {
        for (words, expected) in
            [(&[][..], ""), (&["a"], "a"), (&["a", "b"], "a and b"), (&["a", "b", "c"], "a, b and c")]
        {
            assert_eq!(listed(words), expected);
        }
    }
}
