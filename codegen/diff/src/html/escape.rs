//! Writes text and Markdown as HTML.

use std::fmt::Write as _;

use mcpgen_schema::text::visible;

/// Escapes text for an element or a quoted attribute, and makes invisible characters visible.
pub fn escape(text: &str) -> String {
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

/// Writes Markdown as HTML that keeps only code spans. Links to Rust items lose their brackets.
pub fn code_spans(markdown: &str) -> String {
    let mut text = String::new();
    if markdown.matches('`').count() % 2 == 1 {
        return escape(markdown);
    }
    for (at, part) in markdown.replace('\n', " ").split('`').enumerate() {
        let part = escape(part);
        let _ = if at % 2 == 1 { write!(text, "<code>{part}</code>") } else { write!(text, "{part}") };
    }
    // In rustdoc, code in brackets is a link to a Rust item.
    text.replace("[<code>", "<code>").replace("</code>]", "</code>")
}

#[cfg(test)]
mod tests {
    #[test]
    fn escapes_markup() {
        assert_eq!(super::escape("<a href='x'>\"&\n\u{1b}"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\n\\u{1b}");
    }

    #[test]
    fn writes_code_spans() {
        let html = super::code_spans("Calls [`Tool`] if <x>\nis `1`.");
        assert_eq!(html, "Calls <code>Tool</code> if &lt;x&gt; is <code>1</code>.");
        assert_eq!(super::code_spans("one ` alone"), "one ` alone");
    }
}
