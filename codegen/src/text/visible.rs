//! Escapes invisible characters.

use std::borrow::Cow;

/// Escapes control characters, characters that are not displayed or that change the direction of text, and characters that
/// XML does not allow.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => shown.extend(c.escape_default()),
            c if is_hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
        // Models read text in these characters, which people do not see.
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn escapes_hidden_characters() {
        for (text, expected) in [
            ("plain ünïcödé", "plain ünïcödé"),
            ("a\nb\t", "a\\nb\\t"),
            ("\u{1b}[31m", "\\u{1b}[31m"),
            ("\u{200e}\u{200f}\u{61c}", "\\u{200e}\\u{200f}\\u{61c}"),
            ("\u{200b}\u{ad}\u{e0041}", "\\u{200b}\\u{ad}\\u{e0041}"),
            ("\u{202e}\u{2066}\u{feff}\u{ffff}", "\\u{202e}\\u{2066}\\u{feff}\\u{ffff}"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }
}
