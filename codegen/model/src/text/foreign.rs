//! Embeds foreign text in Markdown, so that rustdoc does not compile and run code in it.

use mcpgen_schema::text::visible;

/// Returns a one-line code span that contains the text.
pub fn code(text: &str) -> String {
    let text = visible(text);
    let mark = "`".repeat(text.split(|c| c != '`').map(str::len).max().unwrap_or(0) + 1);
    // Markdown removes one space from each end.
    let is_bare = !text.starts_with(['`', ' ']) && !text.ends_with(['`', ' ']) && !text.is_empty();
    let gap = if is_bare { "" } else { " " };
    format!("{mark}{gap}{text}{gap}{mark}")
}

/// Like [`code`], for a table cell.
pub fn cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// Returns foreign Markdown as one line, without links, HTML tags or fences. Bare URLs become links.
///
/// Runs of spaces are collapsed, so that even after a list marker the line does not turn into code.
pub fn line(markdown: &str) -> String {
    let words: Vec<&str> = markdown.split_whitespace().collect();
    spans(&visible(&words.join(" ")))
}

/// Returns foreign Markdown without links, HTML tags or Rust examples. Paragraphs, lists, tables and code blocks stay,
/// and bare URLs become links.
pub fn prose(markdown: &str) -> String {
    let text = markdown.replace("\r\n", "\n").replace('\r', "\n").replace('\t', "    ");
    let (mut out, mut fence) = (Vec::new(), String::new());
    for text in text.lines() {
        let bare = text.trim();
        let mark: String = bare.chars().take_while(|c| bare.starts_with(*c) && "`~".contains(*c)).collect();
        let is_fence = mark.len() >= 3 && !bare[mark.len()..].contains('`');
        if !fence.is_empty() && is_fence && mark == bare && mark.starts_with(&fence) {
            out.push(std::mem::take(&mut fence));
        } else if !fence.is_empty() {
            out.push(visible(text).into_owned());
        } else if is_fence {
            // The block is not indented, so that it belongs to no list.
            out.push(format!("{mark}text"));
            fence = mark;
        } else {
            // Four spaces would start a code block.
            let indent = text.len() - text.trim_start_matches(' ').len();
            out.push(format!("{}{}", " ".repeat(indent.min(3)), line(bare)));
        }
    }
    out.extend((!fence.is_empty()).then_some(fence));
    out.join("\n")
}

/// Escapes everything outside code spans. A span ends with as many backticks as it begins with.
fn spans(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(start) = unescaped_tick(rest) {
        let (before, at) = rest.split_at(start);
        out.push_str(&words(before));
        let inner = at.trim_start_matches('`');
        let mark = &at[..at.len() - inner.len()];
        let ends = inner.match_indices(mark).map(|(end, _)| end);
        let end = ends.into_iter().find(|end| {
            let after = &inner[end + mark.len()..];
            !inner[..*end].ends_with('`') && !after.starts_with('`')
        });
        match end {
            Some(end) => {
                let text = &inner[..end];
                out.push_str(&code(text.strip_prefix(' ').and_then(|it| it.strip_suffix(' ')).unwrap_or(text)));
                rest = &inner[end + mark.len()..];
            }
            None => {
                out.push_str(&"\\`".repeat(mark.len()));
                rest = inner;
            }
        }
    }
    out.push_str(&words(rest));
    out
}

fn unescaped_tick(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let found = c == '`' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        found.then_some(at)
    })
}

/// Escapes brackets and fences, and turns URLs into links.
fn words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(' ') {
        let start = ["https://", "http://"].iter().filter_map(|scheme| piece.find(scheme)).min();
        let Some((before, rest)) = start.map(|start| piece.split_at(start)) else {
            out.push_str(&escaped(piece));
            continue;
        };
        let end = rest.find(|c: char| c.is_whitespace() || "\\<>()[]`\"".contains(c)).unwrap_or(rest.len());
        let address = rest[..end].trim_end_matches(['.', ',', ';', ':', '*', '_']);
        out.push_str(&format!("{}<{address}>{}", escaped(before), escaped(&rest[address.len()..])));
    }
    out
}

/// Escapes what begins a link, a tag or a fence. Leaves escaped characters alone.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' if chars.peek().is_some_and(|(_, next)| next.is_ascii_punctuation()) => {
                out.push(c);
                out.extend(chars.next().map(|(_, next)| next));
            }
            '[' | ']' | '<' | '>' => out.extend(['\\', c]),
            '~' if text[at..].starts_with("~~~") => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{cell, code, line, prose};
    use crate::text::hostile::{CODE, HOSTILE, active, random};
    use crate::text::markdown::wrap;

    #[test]
    fn keeps_the_layout_of_prose() {
        for (markdown, expected) in [
            ("One  two.\n\n* `a  b`\n  * c ~~d~~ ~5", "One two.\n\n* `a b`\n  * c ~~d~~ ~5"),
            ("```json\n{ \"a\":  1 }\n```", "```text\n{ \"a\":  1 }\n```"),
            ("See https://a.b/c (or [d](e)).", "See <https://a.b/c> (or \\[d\\](e))."),
            ("`a` ``b`c`` `` ` `` `d", "`a` ``b`c`` `` ` `` \\`d"),
            ("\\[a\\] \\` \\\\[b]", "\\[a\\] \\` \\\\\\[b\\]"),
            ("* ```\n  x\n  ```", "* \\`\\`\\`\n  x\n```text\n```"),
            ("a\r\nb\u{202e}", "a\nb\\u{202e}"),
        ] {
            assert_eq!(prose(markdown), expected, "{markdown}");
        }
    }

    #[test]
    fn nothing_is_active_in_documentation() {
        let known = HOSTILE.iter().chain(&CODE).map(|text| (*text).to_owned());
        for text in known.chain((0..20_000).map(random)) {
            for markdown in [
                prose(&text),
                format!("First.\n\n{}\n\nLast `x`.", prose(&text)),
                line(&text),
                format!("The first condition:\n\n* {}, and {}: `A`", line(&text), line(&text)),
                code(&text),
                format!("The member {} is {} and required.", code(&text), code(&text)),
                format!("| a | b |\n|---|---|\n| {} | {} |", cell(&text), cell(&text)),
            ] {
                for width in [20, 116] {
                    let lines = wrap(&markdown, width).join("\n");
                    assert_eq!(active(&lines), [""; 0], "{text:?}:\n{lines}");
                    assert!(!lines.contains(|c: char| c.is_control() && c != '\n'), "{lines:?}");
                }
            }
        }
    }
}
