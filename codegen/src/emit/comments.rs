//! Doc comments. Until the code is printed, a comment is a single attribute, because the width of its lines depends on
//! the indentation, and the targets of its links depend on what the file imports.
//!
//! The attributes contain only the number of a text in [`Comments`], because long literals are slow to escape, parse
//! and print.

use std::cell::RefCell;
use std::collections::BTreeSet;

use mcpgen_model::text::markdown::wrap;
use mcpgen_schema::text::visible;
use proc_macro2::TokenStream;
use quote::quote;

use super::declarations::WIDTH;

/// Marks an attribute that contains a number. No text contains this character, because invisible characters are
/// escaped.
const NUMBER: &str = "\u{2028}";

#[derive(Default)]
pub(crate) struct Comments(RefCell<Vec<String>>);

impl Comments {
    pub(crate) fn emit(&self, text: &str) -> TokenStream {
        if text.is_empty() {
            return TokenStream::new();
        }
        let line = |line: &str| visible(&line.replace(|c: char| c != ' ' && c.is_whitespace(), " ")).into_owned();
        let lines: Vec<String> = text.lines().map(line).collect();
        let mut texts = self.0.borrow_mut();
        let number = format!(" {NUMBER}{}", texts.len());
        texts.push(lines.join("\n"));
        quote!(#[doc = #number])
    }
}

/// Expands the comments in printed code to lines, followed by the targets of their links. Puts blank lines between
/// functions.
pub(super) fn finish(code: &str, comments: &Comments, link_targets: impl Fn(&str) -> BTreeSet<String>) -> String {
    let texts = comments.0.borrow();
    let mut out = String::with_capacity(code.len() + code.len() / 8);
    let mut last = "";
    for line in code.lines() {
        let bare = line.trim_start();
        let indentation = &line[..line.len() - bare.len()];
        if last == "    }" && indentation.len() == 4 {
            out.push('\n');
        }
        match bare.strip_prefix("/// ") {
            Some(text) => {
                let number = text.strip_prefix(NUMBER).and_then(|number| number.parse::<usize>().ok());
                let text = number.and_then(|number| texts.get(number)).map_or(text, String::as_str);
                let mut lines = wrap(text, WIDTH - indentation.len() - "/// ".len());
                let targets = link_targets(text);
                lines.extend((!targets.is_empty()).then(String::new));
                for line in lines.into_iter().chain(targets) {
                    out.push_str(format!("{indentation}/// {line}").trim_end());
                    out.push('\n');
                }
            }
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
        last = line;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_lines_of_a_text() {
        let long = "word ".repeat(30);
        let cases = [
            ("", ""),
            ("one", "    /// one\n"),
            ("a\r\nb", "    /// a b\n"),
            ("a\tb\u{2028}c", "    /// a b c\n"),
            ("a\u{202e}b", "    /// a\\u{202e}b\n"),
            ("one\n\n* two  \n* three", "    /// one\n    ///\n    /// * two\n    /// * three\n"),
            ("```\n  code\n```", "    /// ```\n    ///   code\n    /// ```\n"),
            (&long, &format!("    /// {}\n    /// {}\n", "word ".repeat(22).trim_end(), "word ".repeat(8).trim_end())),
        ];
        for (text, expected) in cases {
            let comments = Comments::default();
            let comment = comments.emit(text);
            let file: syn::File = syn::parse_quote!(struct S { #comment field: u8 });
            let code = finish(&prettyplease::unparse(&file), &comments, |_| BTreeSet::new());
            let printed = code.strip_prefix("struct S {\n").and_then(|code| code.strip_suffix("    field: u8,\n}\n"));
            assert_eq!(printed, Some(expected), "{text:?}");
        }
    }
}
