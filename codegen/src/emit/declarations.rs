//! Prints calls to the core's macros with as many entries per line as fit. prettyplease and rustfmt leave macro calls
//! alone.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens as _;

pub(super) const WIDTH: usize = 120;

/// A space where a line must not break. Literals escape it, so tokens never contain it.
const SPACE: &str = "\u{1}";

pub(super) fn print(call: &syn::Macro) -> String {
    let path = text(call.path.to_token_stream()).replace(' ', "");
    let text = text(call.tokens.clone());
    let mut out = format!("{path}! {{ {} }}\n", text.trim_end().replace('\n', " "));
    if out.len() > WIDTH + 1 {
        let mut entries = text.lines().peekable();
        // The first line has the type's name, up to the semicolon.
        let name = entries.next_if(|entry| entry.ends_with(';')).map(|name| format!(" {name}"));
        out = format!("{path}! {{{}\n", name.unwrap_or_default());
        let mut line = String::new();
        for entry in entries {
            // Each guard of a union has a separate line.
            let has_guard = entry.starts_with('[') || line.starts_with('[');
            if has_guard || 4 + line.len() + 1 + entry.len() > WIDTH {
                out.push_str(&fill(line.split_ascii_whitespace(), "        "));
                line.clear();
            }
            line = format!("{line} {entry}").trim_start().to_owned();
        }
        out.push_str(&fill(line.split_ascii_whitespace(), "        "));
        out.push_str("}\n");
    }
    out.replace(SPACE, " ")
}

/// Fills lines with words. All lines but the first begin with `hanging`.
pub(super) fn fill<'w>(words: impl IntoIterator<Item = &'w str>, hanging: &str) -> String {
    let (mut out, mut line) = (String::new(), String::new());
    for word in words {
        if line.is_empty() {
            line = format!("    {word}");
        } else if line.len() + 1 + word.len() <= WIDTH {
            line.push(' ');
            line.push_str(word);
        } else {
            out.push_str(&format!("{line}\n"));
            line = format!("{hanging}{word}");
        }
    }
    if line.is_empty() { out } else { format!("{out}{line}\n") }
}

/// Writes tokens with rustfmt's spacing, one entry per line. An entry ends with a comma or semicolon outside
/// brackets.
fn text(tokens: TokenStream) -> String {
    let mut writer = Writer::default();
    writer.tokens(tokens, true);
    writer.text
}

#[derive(Default)]
struct Writer {
    text: String,
    /// Whether the next token follows without a space.
    is_tight: bool,
}

impl Writer {
    fn tokens(&mut self, tokens: TokenStream, is_outside: bool) {
        // Collects the characters of an operator such as `=>`.
        let mut operator = String::new();
        for token in tokens {
            match token {
                TokenTree::Punct(punct) => {
                    operator.push(punct.as_char());
                    if punct.spacing() == Spacing::Alone || operator.ends_with([',', ';']) {
                        self.operator(&std::mem::take(&mut operator), is_outside);
                    }
                }
                other => {
                    if !operator.is_empty() {
                        self.operator(&std::mem::take(&mut operator), is_outside);
                    }
                    match other {
                        TokenTree::Group(group) => self.group(group.delimiter(), group.stream()),
                        other => self.push(&other.to_string()),
                    }
                }
            }
        }
    }

    fn push(&mut self, text: &str) {
        if !self.is_tight && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push(' ');
        }
        self.text.push_str(&text.replace(' ', SPACE));
        self.is_tight = false;
    }

    fn operator(&mut self, text: &str, is_outside: bool) {
        match text {
            "," | ";" => {
                self.is_tight = true;
                self.push(text);
                if is_outside {
                    self.text.push('\n');
                }
            }
            "=" | "=>" | "->" => self.push(text),
            "&" | "-" | ".." | "#" => {
                self.push(text);
                self.is_tight = true;
            }
            // `::`, `.`, `<`, `>`
            _ => {
                self.is_tight |= !self.text.ends_with([',', '\n']);
                self.push(text);
                self.is_tight = !text.ends_with('>');
            }
        }
    }

    fn group(&mut self, delimiter: Delimiter, tokens: TokenStream) {
        let (open, close) = match delimiter {
            Delimiter::Parenthesis => ("(", ")"),
            Delimiter::Bracket => ("[", "]"),
            Delimiter::Brace => ("{", "}"),
            Delimiter::None => ("", ""),
        };
        // There is no space between a function's name and its parentheses.
        self.is_tight |= delimiter == Delimiter::Parenthesis && !self.text.ends_with('"');
        let is_attribute = self.text.ends_with('#');
        self.push(open);
        self.is_tight = true;
        let start = self.text.len();
        let idents = tokens.clone().into_iter().take(2).filter(|token| matches!(token, TokenTree::Ident(_)));
        let is_phrase = is_attribute || idents.count() == 2;
        self.tokens(tokens, false);
        self.is_tight = true;
        self.push(close);
        // Lines do not break in an attribute or in a phrase such as `(into Vec<T>)`.
        if is_phrase {
            let phrase = self.text.split_off(start);
            self.text.push_str(&phrase.replace(' ', SPACE));
        }
    }
}
