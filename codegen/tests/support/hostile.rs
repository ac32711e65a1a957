//! Text that tries to be more than text, and what Markdown makes of it.

#![allow(dead_code, reason = "each crate uses a part")]

use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag};

/// Names and messages.
pub(crate) const HOSTILE: [&str; 28] = [
    "plain.name",
    "line\nbreak\r\n::error file=x,line=1::y\n  ::stop-commands::z",
    "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[31mred\u{1b}[2J",
    "a|b `code` ``two`` <script>&amp;]]></script> @everybody #1",
    "\u{9b}31m\u{90}q\u{9c}",
    "",
    " ",
    "ünïcödé \u{1f980}",
    "\u{0}\u{7f}\u{feff}\u{ffff}",
    "::warning::first",
    "a\rb\u{b}c\u{c}d\u{85}e\u{2028}f\u{2029}g",
    "##[error]old ##[add-mask]form",
    "100%0A::error::x,y:z=1",
    "x\ncargo::rustc-env=INJECTED=1\ncargo:rustc-link-arg=-Wl,--x",
    "right\u{202e}tfel\u{2066}isolate\u{200b}zero\u{200e}\u{e0041}",
    "100%,:=;\"quoted\"'",
    "[click here](https://evil.example/)",
    "\\[click\\](javascript:alert(1)) \\<b> \\\\[a](b)",
    "[^1]: note\n\n[`Client`]: https://evil.example/",
    "<div onclick=x>\n<pre>\n<!--",
    "one ` two `` three ```",
    "`<script>` \\` `<b>` ` <i>",
    "a\n\n```\npanic!()\n```\n",
    "a\n\n    panic!()\n",
    "     panic!()",
    "* ```\n  panic!()\n  ```",
    "*/ pub fn injected() {} /*",
    "\"###;\npub fn injected() {}\n//",
];

/// Descriptions that Markdown would read as code if they were not escaped.
pub(crate) const CODE: [&str; 26] = [
    "Does:\n\n*      panic!()\n",
    "Does:\n\n+      panic!()",
    "Does:\n\n* ```\n  panic!()\n  ```\n",
    "Does:\n\n1. ```rust\n   panic!()\n   ```\n",
    "Does:\n\n1)\tpanic!()",
    "Does:\n\n-\t\tpanic!()",
    "Does:\n\n- a\n\n  * b\n\n        panic!()\n",
    "Does:\n\n- a\n\n      panic!()\n",
    "Does:\n\n[^1]:     panic!()\n",
    "Text[^1]\n\n[^1]: x\n\n      panic!()\n",
    "* ~~~\n  panic!()\n  ~~~\n",
    "> ```\n> panic!()\n> ```\n",
    ">     panic!()",
    "> * >\t\tpanic!()",
    "- - -     panic!()",
    "- [ ]     panic!()",
    "```\npanic!()\n```",
    "```rust\npanic!()",
    "~~~text\n```\n~~~\n\n```\npanic!()\n```",
    "a\r\r    panic!()\r\r```\rpanic!()\r```\r",
    "a\u{2028}\u{2028}    panic!()\u{85}```\u{85}panic!()",
    "<div>\n\n    panic!()\n\n</div>\n\n```\npanic!()\n```",
    "<!--\n\n```\n-->\n\n```\npanic!()\n```",
    "[a]: x\n\n    panic!()\n\n[a]: x '\n\n```\npanic!()\n```",
    "| a |\n|---|\n```\npanic!()\n```\n    panic!()",
    "a\n===\n    panic!()\n---\n\tpanic!()\n\\\n```\npanic!()\n```",
];

/// Building blocks for random Markdown.
const PIECES: [&str; 64] = [
    "\n",
    "\n",
    "\n\n",
    "\n\n",
    "\r",
    "\r\n",
    "\u{85}",
    "\u{2028}",
    "\u{b}",
    "\u{c}",
    "\0",
    "\u{a0}",
    " ",
    "  ",
    "    ",
    "     ",
    "\t",
    "\t\t",
    "*",
    "* ",
    "- ",
    "+ ",
    "1. ",
    "12) ",
    "> ",
    ">",
    "```",
    "````",
    "~~~",
    "~~~~",
    "`",
    "``",
    "```rust",
    "~~~rust",
    "```text",
    "\\",
    "\\\\",
    "\\`",
    "# ",
    "===",
    "---",
    "- - -",
    "|",
    "| a | b |",
    "|---|---|",
    "[^1]: ",
    "[^1]",
    "[a]: b",
    "[a](b)",
    "[`A`]",
    "<div>",
    "</div>",
    "<pre>",
    "<!--",
    "-->",
    "<script>",
    "<?",
    "<https://a.b>",
    "https://a.b/c",
    "- [ ] ",
    "&#96;&#96;&#96;",
    "word",
    "panic!()",
    "$$",
];

/// Returns whether a text has characters, other than line breaks, that terminals or editors do not show as they are.
pub(crate) fn is_hidden(text: &str) -> bool {
    let is_hidden = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}' | '\u{200e}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{feff}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
    };
    text.contains(is_hidden)
}

/// Returns whether GitHub would run a log line as a command.
pub(crate) fn has_command(log: &str) -> bool {
    log.contains("##[") || log.lines().any(|line| line.trim_start().starts_with("::"))
}

/// Returns random Markdown, reproducible by seed.
pub(crate) fn random(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap_or_default() % below
    };
    (0..next(14) + 2).map(|_| PIECES[next(PIECES.len())]).collect()
}

/// Returns what rustdoc would run or pass on from a doc comment: code not marked as text, HTML, and links whose target
/// the text chose.
pub(crate) fn active(markdown: &str) -> Vec<String> {
    let rustdoc = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_SMART_PUNCTUATION;
    let mut found = Vec::new();
    // Some versions of rustdoc look for examples without these options.
    for options in [rustdoc, Options::empty()] {
        found.extend(Parser::new_ext(markdown, options).filter_map(|event| match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) if &*language == "text" => None,
            Event::Start(Tag::CodeBlock(kind)) => Some(format!("{kind:?}")),
            Event::Start(Tag::Link { link_type: LinkType::Autolink, dest_url, .. }) if dest_url.starts_with("http") => {
                None
            }
            Event::Start(Tag::Link { dest_url, .. }) => Some(format!("a link to {dest_url}")),
            Event::Start(Tag::Image { dest_url, .. }) => Some(format!("an image {dest_url}")),
            Event::Start(Tag::FootnoteDefinition(name)) => Some(format!("the footnote {name}")),
            Event::Html(html) | Event::InlineHtml(html) => Some(html.into_string()),
            _ => None,
        }));
    }
    found
}
