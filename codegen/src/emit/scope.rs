//! How an area's file writes each name, and what the file imports.

use std::cell::RefCell;
use std::collections::BTreeSet;

use mcpgen_model::text::names;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::quote;
use syn::visit_mut::{self, VisitMut};

use super::exports::Exports;
use super::ident;
use super::rust_type::CORE;

/// Shortens names as far as the file's other names allow, and collects the imports that this takes.
pub(super) struct Scope<'a> {
    exports: &'a Exports,
    area: &'a str,
    support: &'a syn::Path,
    from_core: RefCell<BTreeSet<String>>,
    from_siblings: RefCell<BTreeSet<String>>,
}

/// std has derive macros with these names too, so links to such types need `type@`.
const DERIVES: &[&str] = &["Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"];

impl<'a> Scope<'a> {
    pub(super) fn new(exports: &'a Exports, area: &'a str, support: &'a syn::Path) -> Self {
        Scope { exports, area, support, from_core: RefCell::default(), from_siblings: RefCell::default() }
    }

    pub(super) fn of(&self, area: &'a str) -> Self {
        Scope::new(self.exports, area, self.support)
    }

    pub(super) fn area(&self) -> &'a str {
        self.area
    }

    /// Returns a type of the module, importing it from its area.
    pub(super) fn module_type(&self, name: &str) -> Ident {
        if self.exports.home(name).is_some_and(|home| home != self.area) {
            self.from_siblings.borrow_mut().insert(name.to_owned());
        }
        ident(name)
    }

    /// Returns a core item: its name, which is then imported, or its path if the module exports a type with the same
    /// name.
    pub(super) fn core(&self, name: &str) -> TokenStream {
        let (rust, support) = (ident(name), self.support);
        if self.imports_core(name) { quote!(#rust) } else { quote!(#support::#rust) }
    }

    fn imports_core(&self, name: &str) -> bool {
        let is_free = !self.exports(name);
        if is_free {
            self.from_core.borrow_mut().insert(name.to_owned());
        }
        is_free
    }

    fn exports(&self, name: &str) -> bool {
        self.exports.home(name).is_some()
    }

    /// Returns only the last segment of a prelude item's path, unless the module exports a type with the same name.
    pub(super) fn prelude(&self, path: TokenStream) -> TokenStream {
        match path.clone().into_iter().last() {
            Some(TokenTree::Ident(name)) if !self.exports(&name.to_string()) => quote!(#name),
            _ => path,
        }
    }

    pub(super) fn shorten(&self, rust_type: &mut syn::Type) {
        Shorten(self).visit_type_mut(rust_type);
    }

    pub(super) fn imports(&self) -> TokenStream {
        let (support, core, siblings) = (self.support, self.from_core.borrow(), self.from_siblings.borrow());
        let core = (!core.is_empty()).then(|| {
            let names = core.iter().map(|name| ident(name));
            quote!(use #support::{#(#names),*};)
        });
        let siblings = (!siblings.is_empty()).then(|| {
            let names = siblings.iter().map(|name| ident(name));
            quote!(use super::{#(#names),*};)
        });
        quote!(#siblings #core)
    }

    /// Returns targets for a comment's links to types that the file neither defines nor imports, or in [`DERIVES`].
    pub(super) fn link_targets(&self, comment: &str) -> BTreeSet<String> {
        let siblings = self.from_siblings.borrow();
        let links = comment.split("[`").skip(1).filter_map(|rest| rest.split_once("`]"));
        let unknown = links.filter(|(name, after)| {
            let is_here = |home: &str| home == self.area || siblings.contains(*name);
            let needs_target = |home| !is_here(home) || DERIVES.contains(name);
            !after.starts_with('(') && self.exports.home(name).is_some_and(needs_target)
        });
        unknown
            .map(|(name, _)| {
                let kind = if DERIVES.contains(&name) { "type@" } else { "" };
                format!("[`{name}`]: {kind}super::{}", names::escape(name))
            })
            .collect()
    }
}

struct Shorten<'s, 'a>(&'s Scope<'a>);

impl VisitMut for Shorten<'_, '_> {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        visit_mut::visit_path_mut(self, path);
        let Some(last) = path.segments.last().cloned() else { return };
        let name = last.ident.to_string();
        if path.leading_colon.is_none() {
            self.0.module_type(&name);
            return;
        }
        let is_core = path.segments.first().is_some_and(|first| first.ident == CORE);
        let is_in_scope = if is_core { self.0.imports_core(&name) } else { !self.0.exports(&name) };
        if is_in_scope {
            *path = last.into();
        } else if is_core {
            let support = self.0.support;
            *path = syn::parse_quote!(#support::#last);
        }
    }
}
