//! Emits aliases, newtypes, core types, and types without values.

use mcpgen_model::{AliasRule, CoreType, Type, TypeId};
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, ident};

impl Emitter<'_> {
    pub(super) fn alias(&mut self, id: TypeId, target: &Type, rule: &AliasRule) -> Result<TokenStream, Error> {
        let docs = self.docs.alias(id, rule);
        let name = ident(&self.protocol.types[id].rust);
        let target = self.rust_type(target)?;
        Ok(quote! { #docs pub type #name = #target; })
    }

    pub(super) fn core_type(&mut self, id: TypeId, core: CoreType) -> TokenStream {
        let docs = self.docs.definition(id);
        let name = ident(&self.protocol.types[id].rust);
        let core = self.scope.core(core.name());
        quote! { #docs pub type #name = #core; }
    }

    pub(super) fn newtype(&mut self, id: TypeId, inner: &Type) -> Result<TokenStream, Error> {
        let docs = self.docs.definition(id);
        let (name, is_empty) = (ident(&self.protocol.types[id].rust), self.is_empty(id));
        let (codec, inner) = (self.codec(), self.rust_type(inner)?);
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(pub #inner);

            #codec::newtype! { #name(#inner) #is_empty }
        })
    }

    pub(super) fn never(&mut self, id: TypeId) -> TokenStream {
        let docs = self.docs.definition(id);
        let (codec, name) = (self.codec(), ident(&self.protocol.types[id].rust));
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub enum #name {}

            #codec::never! { #name }
        }
    }
}
