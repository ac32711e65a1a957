//! Shows how a text has changed.

/// The characters of an excerpt before the first difference, and after it.
const BEFORE: usize = 24;
const AFTER: usize = 72;

/// Returns excerpts of two texts around their first difference.
pub fn excerpts(old: &str, new: &str) -> (String, String) {
    let same = old.chars().zip(new.chars()).take_while(|(old, new)| old == new).count();
    let (begin, end) = (same.saturating_sub(BEFORE), same + AFTER);
    let excerpt = |text: &str| {
        let inner: String = text.chars().take(end).skip(begin).collect();
        let before = if begin > 0 { "…" } else { "" };
        let after = if text.chars().nth(end).is_some() { "…" } else { "" };
        format!("{before}{inner}{after}")
    };
    (excerpt(old), excerpt(new))
}

#[cfg(test)]
mod tests {
    use super::excerpts;

    #[test]
    fn shows_the_first_difference() {
        let long = "x".repeat(200);
        for (old, new, expected) in [
            ("Adds.", "Adds numbers.", ("Adds.", "Adds numbers.")),
            ("", "ä", ("", "ä")),
            (&format!("{long}a"), &format!("{long}b"), (&format!("…{}a", &long[..24]), &format!("…{}b", &long[..24]))),
            (&format!("a{long}"), "b", (&format!("a{}…", &long[..71]), "b")),
            (&long[..72], &long[..10], (&long[..72], &long[..10])),
        ] {
            let (old, new) = excerpts(old, new);
            assert_eq!((old.as_str(), new.as_str()), expected);
        }
    }
}
