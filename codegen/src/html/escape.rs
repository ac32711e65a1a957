//! Text in HTML.

use crate::text::visible;

/// Escapes a text for an element or for an attribute in quotes. Shows invisible characters.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        for c in visible(line).chars() {
            match c {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                '\'' => escaped.push_str("&#39;"),
                c => escaped.push(c),
            }
        }
        escaped.push_str(end);
    }
    escaped
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_markup() {
        assert_eq!(super::escape("<a href='x'>\"&\n\u{1b}"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\n\\u{1b}");
    }
}
