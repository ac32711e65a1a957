//! Documentation comments. A comment is one attribute until it is printed, and only then split into lines, because its
//! width depends on its indentation.

use mcpgen_model::text::markdown::wrap;
use mcpgen_schema::text::visible;
use proc_macro2::TokenStream;
use quote::quote;

use super::width::WIDTH;

/// Stands for the end of a line. Text has none, because it is escaped.
const BREAK: char = '\u{2028}';

/// Emits a documentation comment.
pub(crate) fn comment(text: &str) -> TokenStream {
    let lines: Vec<_> = text.lines().map(visible).collect();
    let text = format!(" {}", lines.join(&BREAK.to_string()));
    quote!(#[doc = #text])
}

/// Splits the comments in printed code into lines.
pub(super) fn wrapped(code: &str) -> String {
    let mut out = String::with_capacity(code.len() + code.len() / 8);
    for line in code.lines() {
        let bare = line.trim_start();
        let indentation = &line[..line.len() - bare.len()];
        match bare.strip_prefix("/// ") {
            Some(text) => {
                for line in wrap(&text.replace(BREAK, "\n"), WIDTH - indentation.len() - "/// ".len()) {
                    out.push_str(format!("{indentation}/// {line}").trim_end());
                    out.push('\n');
                }
            }
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}
