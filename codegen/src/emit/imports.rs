//! Shortens absolute paths, and collects what a file imports.

use std::collections::BTreeSet;

use mcpgen_model::text::names;
use proc_macro2::{Group, Spacing, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::visit_mut::{self, VisitMut};

use super::declarations;
use super::exports::Exports;
use super::rust_type::CORE;

/// Shortens absolute paths if the short name has the same meaning: names of std's prelude, unless the revision has a
/// type with that name, and names of the core and of other areas with a `use`.
pub(super) struct Paths<'a> {
    exports: &'a Exports,
    area: &'a str,
    pub(super) support: syn::Path,
    pub(super) from_core: BTreeSet<String>,
    pub(super) from_siblings: BTreeSet<String>,
}

/// Paths of std whose last segment is in the prelude.
const PRELUDE: &[&[&str]] = &[
    &["std", "option", "Option"],
    &["std", "option", "Option", "Some"],
    &["std", "option", "Option", "None"],
    &["std", "result", "Result"],
    &["std", "result", "Result", "Ok"],
    &["std", "result", "Result", "Err"],
    &["std", "string", "String"],
    &["std", "vec", "Vec"],
    &["std", "boxed", "Box"],
    &["std", "convert", "From"],
    &["std", "convert", "Into"],
    &["std", "convert", "TryFrom"],
    &["std", "default", "Default"],
];

/// Names that are also derive macros of std. Links to types with these names need `type@`.
const DERIVES: &[&str] = &["Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"];

impl<'a> Paths<'a> {
    pub(super) fn new(exports: &'a Exports, area: &'a str, support: syn::Path) -> Self {
        let (from_core, from_siblings) = (BTreeSet::new(), BTreeSet::new());
        Paths { exports, area, support, from_core, from_siblings }
    }

    fn shorten(&mut self, path: &mut syn::Path) {
        // A macro in item position cannot begin with `::`, so the core's path may lack it.
        if path.segments[0].ident == CORE.trim_start_matches("::") {
            self.shorten_core(path);
            return;
        }
        if path.leading_colon.is_none() {
            self.note_sibling(path);
            return;
        }
        // The prelude's path can be the whole path or a prefix of it, as in `Default::default`.
        let last = PRELUDE.iter().filter(|known| begins(path, known)).map(|known| known.len() - 1).max();
        if let Some(last) = last.filter(|&last| self.is_free(path, last)) {
            cut(path, last);
        }
    }

    /// Returns whether the revision has no type with the name of a segment.
    fn is_free(&self, path: &syn::Path, segment: usize) -> bool {
        self.exports.home(&path.segments[segment].ident.to_string()).is_none()
    }

    /// Shortens `::mcpgen_core::X` to `X` with a `use`, unless the revision exports an `X`.
    fn shorten_core(&mut self, path: &mut syn::Path) {
        let Some(segment) = path.segments.get(1) else { return };
        let name = segment.ident.to_string();
        if self.exports.home(&name).is_some() {
            let mut full = self.support.clone();
            full.segments.extend(path.segments.iter().skip(1).cloned());
            *path = full;
        } else {
            self.from_core.insert(name);
            cut(path, 1);
        }
    }

    fn note_sibling(&mut self, path: &syn::Path) {
        let Some(first) = path.segments.first() else { return };
        let name = first.ident.to_string();
        let name = name.strip_prefix("r#").unwrap_or(&name);
        if self.exports.home(name).is_some_and(|home| home != self.area) {
            self.from_siblings.insert(name.to_owned());
        }
    }
}

/// Returns whether a path begins with these segments.
fn begins(path: &syn::Path, with: &[&str]) -> bool {
    path.segments.len() >= with.len() && path.segments.iter().zip(with).all(|(segment, name)| segment.ident == name)
}

/// Removes the beginning of a path.
fn cut(path: &mut syn::Path, segments: usize) {
    path.leading_colon = None;
    path.segments = std::mem::take(&mut path.segments).into_iter().skip(segments).collect();
}

impl VisitMut for Paths<'_> {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        visit_mut::visit_path_mut(self, path);
        self.shorten(path);
    }

    /// Adapts the position in `<T as ::a::Trait>::name`, which counts the segments of the trait.
    fn visit_expr_path_mut(&mut self, expr: &mut syn::ExprPath) {
        let before = expr.path.segments.len();
        visit_mut::visit_expr_path_mut(self, expr);
        if let Some(qself) = &mut expr.qself {
            qself.position = (qself.position + expr.path.segments.len()).saturating_sub(before);
        }
    }

    fn visit_macro_mut(&mut self, call: &mut syn::Macro) {
        let has_only_types = declarations::has_only_types(call);
        visit_mut::visit_macro_mut(self, call);
        call.tokens = self.shorten_tokens(std::mem::take(&mut call.tokens), has_only_types);
    }
}

impl Paths<'_> {
    /// Adds the targets of links after each documentation comment, if the file neither defines nor imports them.
    pub(super) fn link(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + text.len() / 16);
        let mut names = BTreeSet::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            out.push_str(line);
            out.push('\n');
            let bare = line.trim_start();
            if !bare.starts_with("///") {
                continue;
            }
            self.linked_names(bare, &mut names);
            if !names.is_empty() && !lines.peek().is_some_and(|next| next.trim_start().starts_with("///")) {
                let indent = &line[..line.len() - bare.len()];
                out.push_str(&format!("{indent}///\n"));
                for name in std::mem::take(&mut names) {
                    let kind = if DERIVES.contains(&name) { "type@" } else { "" };
                    out.push_str(&format!("{indent}/// [`{name}`]: {kind}super::{}\n", names::escape(name)));
                }
            }
        }
        out
    }

    /// Collects the links of a line that need a target.
    fn linked_names<'t>(&self, mut line: &'t str, found: &mut BTreeSet<&'t str>) {
        while let Some(start) = line.find("[`") {
            let Some(end) = line[start..].find("`]").map(|end| start + end + 2) else { return };
            let name = &line[start + 2..end - 2];
            line = &line[end..];
            let Some(home) = self.exports.home(name).filter(|_| !line.starts_with('(')) else { continue };
            let is_in_scope = home == self.area || self.from_siblings.contains(name);
            if !is_in_scope || DERIVES.contains(&name) {
                found.insert(name);
            }
        }
    }

    /// Shortens the paths in the arguments of a macro. With `has_only_types`, every identifier is a type.
    fn shorten_tokens(&mut self, tokens: TokenStream, has_only_types: bool) -> TokenStream {
        let mut tokens = tokens.into_iter().peekable();
        let mut out = TokenStream::new();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => {
                    let tokens = self.shorten_tokens(group.stream(), has_only_types);
                    out.extend([TokenTree::Group(Group::new(group.delimiter(), tokens))]);
                }
                TokenTree::Punct(colon) if colon.as_char() == ':' && colon.spacing() == Spacing::Joint => {
                    let mut path = TokenStream::from(TokenTree::Punct(colon));
                    while let Some(next) = tokens.next_if(is_in_path) {
                        path.extend([next]);
                    }
                    match syn::parse2::<syn::Path>(path.clone()) {
                        Ok(mut short) => {
                            self.shorten(&mut short);
                            out.extend(short.into_token_stream());
                        }
                        Err(_) => out.extend(path),
                    }
                }
                TokenTree::Ident(name) => {
                    if has_only_types {
                        self.note_sibling(&name.clone().into());
                    }
                    out.extend([TokenTree::Ident(name)]);
                }
                other => out.extend([other]),
            }
        }
        out
    }
}

/// Returns whether a token can be part of a path without arguments.
fn is_in_path(token: &TokenTree) -> bool {
    match token {
        TokenTree::Punct(punct) => punct.as_char() == ':',
        TokenTree::Ident(_) => true,
        _ => false,
    }
}
