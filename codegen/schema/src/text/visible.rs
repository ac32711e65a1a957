//! Escapes invisible characters for terminals, logs and JSON.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes everything that can fool a reader or a tool: control characters, invisible characters, characters that
/// change text direction, and those that XML forbids. The result is a single line.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) && !text.contains(LOG_COMMAND) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::new();
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\r' | '\t' => shown.extend(c.escape_default()),
            c if is_hidden(c) || text[at..].starts_with(LOG_COMMAND) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Escapes each line for a terminal or a CI log. GitHub runs log lines that begin with `::` as commands, so those are
/// escaped too.
pub fn visible_lines(text: &str) -> String {
    let line = |line: &str| {
        let line = visible(line);
        match line.trim_start().strip_prefix("::") {
            Some(rest) => format!("{}{}:{rest}", &line[..line.len() - rest.len() - 2], ':'.escape_unicode()),
            None => line.into_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Escapes invisible characters inside JSON strings. The text still parses to the same JSON.
pub fn visible_json(text: String) -> String {
    let is_hidden = |c| is_hidden(c) && c != '\n';
    if !text.contains(is_hidden) && !text.contains(LOG_COMMAND) {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if is_hidden(c) || text[at..].starts_with(LOG_COMMAND) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// An older form of GitHub's workflow commands, recognised anywhere in a line.
const LOG_COMMAND: &str = "##[";

fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}')
        // Language models read these; people cannot see them.
        || matches!(c, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{e0000}'..='\u{e007f}')
        || matches!(c, '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::visible_lines;
    use super::{visible, visible_json};

    #[test]
    fn escapes_hidden_characters() {
        for (text, expected) in [
            ("plain ünïcödé", "plain ünïcödé"),
            ("a\nb\t", "a\\nb\\t"),
            ("\u{1b}[31m", "\\u{1b}[31m"),
            ("\u{200e}\u{200f}\u{61c}", "\\u{200e}\\u{200f}\\u{61c}"),
            ("\u{200b}\u{ad}\u{e0041}", "\\u{200b}\\u{ad}\\u{e0041}"),
            ("\u{202e}\u{2066}\u{feff}\u{ffff}", "\\u{202e}\\u{2066}\\u{feff}\\u{ffff}"),
            ("a ##[error]b", "a \\u{23}#[error]b"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn escapes_commands_in_lines() {
        for (text, expected) in [
            ("a::b\n  help: c", "a::b\n  help: c"),
            ("a\n ::error::b\r\n", "a\n \\u{3a}:error::b\\r\n"),
            ("::\n::", "\\u{3a}:\n\\u{3a}:"),
        ] {
            assert_eq!(visible_lines(text), expected);
        }
    }

    #[test]
    fn escapes_strings_in_json() {
        let value = serde_json::json!({ "a\u{9b}\u{202e}\u{7f}": ["\u{e0041}\n", "##[x]", "ü", 1] });
        let text = visible_json(format!("{value:#}"));
        assert!(text.contains(r"a\u009b\u202e\u007f") && text.contains(r"\udb40\udc41\n"), "{text}");
        assert!(text.contains(r"\u0023#[x]") && text.contains('ü') && text.lines().count() > 3, "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
    }
}
