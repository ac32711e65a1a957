//! Emits the items of one area.

use mcpgen_model::areas::{CHECKS, JSON_SCHEMA, MESSAGES};
use mcpgen_model::text::names;
use mcpgen_model::{Protocol, Shape, Type, TypeDef, TypeId};
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};

use super::blanks::Blanks;
use super::docs::DocWriter;
use super::exports::Exports;
use super::rust_type::Resolver;
use super::scope::Scope;
use super::{Options, json_schema};

pub(crate) struct Emitter<'a> {
    pub(super) protocol: &'a Protocol,
    pub(super) exports: &'a Exports,
    pub(super) docs: DocWriter<'a>,
    pub(super) blanks: Blanks,
    pub(super) scope: Scope<'a>,
    resolver: Resolver,
    /// All types, each followed by its inline types.
    order: Vec<TypeId>,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(
        protocol: &'a Protocol,
        options: &'a Options,
        exports: &'a Exports,
        support: &'a syn::Path,
    ) -> Result<Self, Error> {
        let mut order: Vec<TypeId> = (0..protocol.types.len()).collect();
        // The pointer of an inline type starts with its parent's.
        order.sort_by(|a, b| protocol.types[*a].pointer.cmp(&protocol.types[*b].pointer).then(a.cmp(b)));
        let (docs, resolver) = (DocWriter::new(protocol, options), Resolver::new(protocol)?);
        let (blanks, scope) = (Blanks::new(protocol), Scope::new(exports, "", support));
        Ok(Emitter { protocol, exports, docs, blanks, scope, resolver, order })
    }

    pub(super) fn area(&mut self, area: &'a str) -> Result<Vec<TokenStream>, Error> {
        self.scope = self.scope.of(area);
        let protocol = self.protocol;
        let is_here = |id: &TypeId| protocol.area(*id) == area && !protocol.is_shared(*id);
        let ids: Vec<TypeId> = self.order.iter().copied().filter(is_here).collect();
        let mut items = ids.iter().map(|id| self.item(*id)).collect::<Result<Vec<_>, _>>()?;
        if area == MESSAGES {
            items.extend(self.messages(&self.exports.message_names));
        }
        if area == JSON_SCHEMA {
            items.push(json_schema::tokens(protocol, &self.scope));
        }
        if area == CHECKS {
            items.push(self.check_definitions());
        }
        let has_serde = |id: &&TypeId| !matches!(self.def(**id).shape, Shape::Alias(..) | Shape::Core(_));
        let with_serde: Vec<_> =
            ids.iter().filter(has_serde).map(|id| format_ident!("{}", names::escape(&self.def(*id).rust))).collect();
        if !with_serde.is_empty() {
            let codec = self.codec();
            items.push(quote!(#codec::serde_impls! { #(#with_serde),* }));
        }
        Ok(items)
    }

    fn item(&mut self, id: TypeId) -> Result<TokenStream, Error> {
        let mut tokens = match &self.protocol.types[id].shape {
            Shape::Struct(body) => self.structure(id, body)?,
            Shape::Union(union) => self.union(id, union)?,
            Shape::Tuple(tuple) => self.tuple(id, tuple)?,
            Shape::Enum(values) => self.enumeration(id, values),
            Shape::OpenEnum(values) => self.open_enumeration(id, values),
            Shape::Bounded(bounded) => self.bounded(id, bounded)?,
            Shape::Undecided(undecided) => self.undecided(id, undecided)?,
            Shape::Alias(target, rule) => self.alias(id, target, rule)?,
            Shape::Newtype(inner) => self.newtype(id, inner)?,
            Shape::Core(core) => self.core_type(id, *core),
            Shape::Never => self.never(id),
        };
        tokens.extend(self.method_impl(id)?);
        Ok(tokens)
    }

    pub(super) fn rust_type(&mut self, content: &Type) -> Result<syn::Type, Error> {
        let mut rust_type = self.resolver.resolve(content)?;
        self.scope.shorten(&mut rust_type);
        Ok(rust_type)
    }

    pub(super) fn boxed(&self, content: &syn::Type) -> syn::Type {
        let path = self.scope.prelude(quote!(::std::boxed::Box));
        syn::parse_quote!(#path<#content>)
    }

    pub(super) fn optional(&self, content: &impl ToTokens) -> TokenStream {
        let path = self.scope.prelude(quote!(::std::option::Option));
        quote!(#path<#content>)
    }

    pub(super) fn codec(&self) -> TokenStream {
        self.scope.core("codec")
    }

    /// Returns the marker that a declaration needs if the type has no values.
    pub(super) fn is_empty(&self, id: TypeId) -> Option<TokenStream> {
        (!self.blanks.has_type(id)).then(|| quote!(is_empty true))
    }

    pub(super) fn def(&self, id: TypeId) -> &TypeDef {
        &self.protocol.types[id]
    }
}
