//! Derives Rust names from schema names: stable, unique, and never a keyword.

use std::collections::{BTreeMap, BTreeSet};

use heck::{ToShoutySnakeCase, ToSnakeCase, ToUpperCamelCase};

/// Acronyms that MCP writes in capitals.
const ACRONYMS: &[&str] = &["JSONRPC", "JSON", "RPC", "URL", "URI", "HTTP", "ID"];

/// Converts a name to `CamelCase`. Acronyms follow Rust's convention: `JSONRPCError` becomes `JsonRpcError`.
pub fn type_name(name: &str) -> String {
    let camel = spaced(name).to_upper_camel_case();
    // These names would shadow a variant of the prelude, or cannot be raw identifiers.
    match identifier(&camel, "Type").as_str() {
        taken @ ("Self" | "Ok" | "Err" | "Some" | "None") => format!("{taken}_"),
        free => free.to_owned(),
    }
}

/// Converts a member's name to `snake_case`, without namespace (`io.modelcontextprotocol/serverInfo`) or symbols
/// (`_meta`, `$schema`).
pub fn field_name(wire: &str) -> String {
    let local = wire.rsplit('/').next().unwrap_or(wire);
    identifier(&spaced(local).to_snake_case(), "member")
}

/// Converts a tool's name to a function name.
pub fn function_name(tool: &str) -> String {
    identifier(&spaced(tool).to_snake_case(), "tool")
}

/// Converts a name to `SHOUTY_SNAKE_CASE`.
pub fn constant_name(name: &str) -> String {
    identifier(&spaced(name).to_shouty_snake_case(), "CONSTANT")
}

/// Converts a name to the name of a module and its file.
pub fn module_name(name: &str) -> String {
    let name = identifier(&spaced(name).to_snake_case(), "area");
    if is_keyword(&name) { format!("{name}_") } else { name }
}

/// Returns the name as written in Rust code: raw if it is a keyword, with `_` appended if it cannot be raw.
pub fn escape(name: &str) -> String {
    match name {
        "self" | "super" | "crate" | "Self" | "_" => format!("{name}_"),
        name if is_keyword(name) => format!("r#{name}"),
        name => name.to_owned(),
    }
}

/// Returns a name for a message, with `Message` appended until it is free.
pub(crate) fn message_name(wanted: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = wanted.to_owned();
    while is_taken(&name) {
        name.push_str("Message");
    }
    name
}

/// Returns a setter's name. `field` must have no `r#` prefix.
pub fn setter_name(field: &str) -> String {
    format!("with_{field}")
}

/// Prepares a name for heck: drops non-ASCII letters, separates acronyms that heck would not recognise, and spells out
/// the sign of a number.
fn spaced(name: &str) -> String {
    let mut text: String = name.chars().filter(|c| c.is_ascii() || !c.is_alphanumeric()).collect();
    for (sign, word) in [("+", "Plus "), ("-", "Minus ")] {
        if text.strip_prefix(sign).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            text.replace_range(..1, word);
        }
    }
    for acronym in ACRONYMS {
        if let Some(at) = text.find(acronym) {
            let before_is_word = text[..at].chars().next_back().is_none_or(|c| !c.is_uppercase());
            let after = text[at + acronym.len()..].chars().next();
            let ends_word = after.is_none_or(|c| c.is_uppercase() || !c.is_alphanumeric());
            if before_is_word && ends_word {
                let cased = match *acronym {
                    "JSONRPC" => "Json Rpc".to_owned(),
                    other => format!("{}{}", &other[..1], other[1..].to_lowercase()),
                };
                text.replace_range(at..at + acronym.len(), &format!("{cased} "));
            }
        }
    }
    text
}

/// Keeps only identifier characters. If the name would be empty or begin with a digit, `fallback` precedes it.
fn identifier(name: &str, fallback: &str) -> String {
    let kept: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let kept = kept.trim_matches('_');
    match kept.chars().next() {
        None => fallback.to_owned(),
        Some(first) if first.is_ascii_digit() => {
            let separator = if fallback.starts_with(|c: char| c.is_lowercase()) { "_" } else { "" };
            format!("{fallback}{separator}{kept}")
        }
        Some(_) => kept.to_owned(),
    }
}

/// The keywords of edition 2024, including reserved ones.
const KEYWORDS: [&str; 52] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
    "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

fn is_keyword(name: &str) -> bool {
    KEYWORDS.contains(&name)
}

/// A set of names. Numbers duplicates.
#[derive(Debug, Default)]
pub struct Namespace {
    taken: BTreeSet<String>,
    numbers: BTreeMap<String, usize>,
}

impl Namespace {
    /// Returns the wanted name, or the first free one of `wanted2`, `wanted3`, and so on.
    pub fn claim(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let separator = if wanted.ends_with(|c: char| c.is_ascii_digit()) { "_" } else { "" };
        let stem = wanted.trim_end_matches('_');
        while !self.taken.insert(name.clone()) {
            let number = self.numbers.entry(wanted.to_owned()).or_insert(1);
            *number += 1;
            name = format!("{stem}{separator}{number}");
        }
        name
    }

    /// Names items, given as (JSON name, wanted name), independently of their order. If several want the same name, it
    /// goes to the one whose JSON name is equal, otherwise to the alphabetically first. Numbered names are given out
    /// last, so that they take no name that another item wants.
    pub fn claim_all<'n>(&mut self, items: impl IntoIterator<Item = (&'n str, String)>) -> Vec<String> {
        let items: Vec<(&str, String)> = items.into_iter().collect();
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|&index| (items[index].0 != items[index].1, items[index].0));
        let mut seen = BTreeSet::new();
        let (plain, numbered): (Vec<usize>, Vec<usize>) = order.into_iter().partition(|&index| {
            let wanted = items[index].1.as_str();
            self.is_free(wanted) && seen.insert(wanted)
        });
        let mut names = vec![String::new(); items.len()];
        for index in plain.into_iter().chain(numbered) {
            names[index] = self.claim(&items[index].1);
        }
        names
    }

    /// Returns whether a name is still available.
    pub fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn converts_names_to_rust() {
        for (schema, rust) in [
            ("JSONRPCError", "JsonRpcError"),
            ("JSONRPCBatchRequest", "JsonRpcBatchRequest"),
            ("JSONValue", "JsonValue"),
            ("ElicitRequestURLParams", "ElicitRequestUrlParams"),
            ("URLElicitationRequiredError", "UrlElicitationRequiredError"),
            ("CallToolRequest", "CallToolRequest"),
            ("Self", "Self_"),
            ("9lives", "Type9lives"),
            ("$", "Type"),
            ("foo-bar.baz", "FooBarBaz"),
            ("+1", "Plus1"),
            ("-1.5", "Minus15"),
            ("\u{e9}t\u{e9}", "T"),
        ] {
            assert_eq!(type_name(schema), rust);
        }
        for (wire, rust) in [
            ("_meta", "meta"),
            ("$schema", "schema"),
            ("io.modelcontextprotocol/serverInfo", "server_info"),
            ("mimeType", "mime_type"),
            ("type", "type"),
            ("", "member"),
            ("2nd", "member_2nd"),
            ("-1", "minus_1"),
        ] {
            assert_eq!(field_name(wire), rust);
        }
        assert_eq!(escape("type"), "r#type");
        assert_eq!(escape("self"), "self_");
        assert_eq!(escape("gen"), "r#gen");
        assert_eq!(constant_name("HeaderMismatch"), "HEADER_MISMATCH");
    }

    #[test]
    fn numbered_names_take_no_wanted_name() {
        for (taken, items) in [
            ("extra", [("extra", "extra3"), ("extra2", "extra2")]),
            ("Other", [("Other", "Other3"), ("Other2", "Other2")]),
        ] {
            let mut names = Namespace::default();
            names.claim(taken);
            let found = names.claim_all(items.map(|(json, _)| (json, json.to_owned())));
            assert_eq!(found, items.map(|(_, rust)| rust));
        }
    }

    #[test]
    fn names_do_not_depend_on_the_order() {
        type Case = (fn(&str) -> String, &'static [(&'static str, &'static str)]);
        let cases: [Case; 5] = [
            (field_name, &[("id", "id"), ("ID", "id2"), ("Id", "id3")]),
            (field_name, &[("mime-type", "mime_type"), ("mimeType", "mime_type2")]),
            (function_name, &[("delete_user", "delete_user"), ("delete-user", "delete_user2")]),
            // A numbered name must not be one that another item wants.
            (type_name, &[("a", "A3"), ("A", "A"), ("a-2", "A2")]),
            (type_name, &[("+1", "Plus1"), ("-1", "Minus1"), ("1", "Type1")]),
        ];
        for (convert, items) in cases {
            for turn in 0..items.len() {
                let mut items = items.to_vec();
                items.rotate_left(turn);
                let names = Namespace::default().claim_all(items.iter().map(|(json, _)| (*json, convert(json))));
                assert_eq!(names, items.iter().map(|(_, rust)| *rust).collect::<Vec<_>>(), "{items:?}");
            }
        }
    }
}
