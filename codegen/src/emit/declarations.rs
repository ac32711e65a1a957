//! Prints calls of the core's macros with as many entries per line as fit. prettyplease and rustfmt do not format them.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens as _;

/// The maximum length of a line.
pub(super) const WIDTH: usize = 120;

/// Prints a macro call as an item.
pub(super) fn print(call: &syn::Macro) -> String {
    let path: String = words(call.path.to_token_stream()).into_iter().map(|word| word.text).collect();
    let words = words(call.tokens.clone());
    let one_line = words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let one_line = format!("{path}! {{ {one_line} }}");
    if one_line.len() <= WIDTH {
        return format!("{one_line}\n");
    }
    let mut entries = words.split_inclusive(|word| word.ends_entry).peekable();
    let mut out = format!("{path}! {{");
    // The name of the type, which ends with a semicolon, is on the first line.
    for word in entries.next_if(|entry| entry.last().is_some_and(|word| word.text.ends_with(';'))).unwrap_or_default() {
        out.push_str(&format!(" {}", word.text));
    }
    out.push('\n');
    let mut line: Vec<&Word> = Vec::new();
    for entry in entries {
        // Each guard of a union has its own line.
        let is_guard = |word: Option<&Word>| word.is_some_and(|word| word.text.starts_with('['));
        let has_guard = is_guard(entry.first()) || is_guard(line.first().copied());
        if has_guard || 4 + length(line.iter().copied()) + 1 + length(entry) > WIDTH {
            out.push_str(&fill(line.drain(..).map(|word| word.text.as_str()), "        "));
        }
        line.extend(entry);
    }
    out.push_str(&fill(line.into_iter().map(|word| word.text.as_str()), "        "));
    out.push_str("}\n");
    out
}

/// Returns the length of words with spaces between them.
fn length<'w>(words: impl IntoIterator<Item = &'w Word>) -> usize {
    words.into_iter().map(|word| word.text.len() + 1).sum::<usize>().saturating_sub(1)
}

/// Fills indented lines with words. `hanging` begins all lines but the first.
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

/// A word: text without spaces.
struct Word {
    text: String,
    /// Whether the word ends with a comma or semicolon outside of brackets.
    ends_entry: bool,
}

/// Splits tokens into words, spaced like rustfmt does.
fn words(tokens: TokenStream) -> Vec<Word> {
    let mut words = Words { done: Vec::new(), is_tight: false };
    words.push_all(tokens, true);
    words.done
}

struct Words {
    done: Vec<Word>,
    /// Whether the next token continues the last word.
    is_tight: bool,
}

impl Words {
    fn push_all(&mut self, tokens: TokenStream, is_outside: bool) {
        // The characters of an operator such as `=>`.
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
        match self.done.last_mut().filter(|_| self.is_tight) {
            Some(last) => last.text.push_str(text),
            None => self.done.push(Word { text: text.to_owned(), ends_entry: false }),
        }
        self.is_tight = false;
    }

    fn operator(&mut self, text: &str, is_outside: bool) {
        match text {
            "," | ";" => {
                self.is_tight = true;
                self.push(text);
                if let Some(last) = self.done.last_mut() {
                    last.ends_entry = is_outside;
                }
            }
            "=" | "=>" | "->" => self.push(text),
            "&" | "-" | ".." | "#" => {
                self.push(text);
                self.is_tight = true;
            }
            // `::`, `.`, `<`, `>`
            _ => {
                self.is_tight |= self.done.last().is_some_and(|last| !last.text.ends_with(','));
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
        // There is no space between the name in a call and its parentheses.
        let is_after_name = self.done.last().is_some_and(|last| !last.text.ends_with('"'));
        self.is_tight |= delimiter == Delimiter::Parenthesis && is_after_name;
        let is_attribute = self.done.last().is_some_and(|last| last.text == "#");
        self.push(open);
        self.is_tight = true;
        let first = self.done.len().saturating_sub(1);
        let idents = tokens.clone().into_iter().take(2).filter(|token| matches!(token, TokenTree::Ident(_)));
        let is_phrase = is_attribute || idents.count() == 2;
        self.push_all(tokens, false);
        self.is_tight = true;
        self.push(close);
        // An attribute or a phrase such as `(into Vec<T>)` is one word, so that it stays on one line.
        if is_phrase {
            let words: Vec<String> = self.done.drain(first..).map(|word| word.text).collect();
            self.done.push(Word { text: words.join(" "), ends_entry: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::print;

    #[test]
    fn fills_lines_with_entries() {
        let cases = [
            ("a::b! { Name }", "a::b! { Name }\n"),
            (
                "b! { Name(Vec<Map<String,X>>) from f64; at_least(Integer(-1)), at_most(Integer(2)) }",
                "b! { Name(Vec<Map<String, X>>) from f64; at_least(Integer(-1)), at_most(Integer(2)) }\n",
            ),
            (
                "b! { N; required r#type \"a\" (into Map<String,X>), constant b \"b\" = Str(\"x, y\"), ..extra }",
                "b! { N; required r#type \"a\" (into Map<String, X>), constant b \"b\" = Str(\"x, y\"), ..extra }\n",
            ),
            (
                "b! { LongNameOfAType; optional a \"a\" #[deprecated(note=\"since, b\")] with_a(copy bool), optional b \"b\" with_b(into String), }",
                "b! { LongNameOfAType;\n    optional a \"a\" #[deprecated(note = \"since, b\")] with_a(copy bool), optional b \"b\" with_b(into String),\n}\n",
            ),
            ("b! { Call; \"a/b\" (P) -> R, task T; V::V1 }", "b! { Call; \"a/b\" (P) -> R, task T; V::V1 }\n"),
            (
                "b! { OneOfSeveralTypesWithALongName blank A; A from(String, &str), B, [Value(&[\"t\"], &[Null]), Type(J::A.union(J::B))] => A, [] => B, }",
                "b! { OneOfSeveralTypesWithALongName blank A;\n    A from(String, &str), B,\n    [Value(&[\"t\"], &[Null]), Type(J::A.union(J::B))] => A,\n    [] => B,\n}\n",
            ),
        ];
        for (source, printed) in cases {
            let item: syn::ItemMacro = syn::parse_str(source).expect("a macro");
            assert_eq!(print(&item.mac), printed);
        }
    }
}
