//! Types that are another type, or no type: aliases, newtypes, types of the core, and types without values.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, ident};
use crate::error::Error;
use crate::model::{AliasRule, Type, TypeId};

impl Emitter<'_> {
    pub(super) fn alias(&mut self, id: TypeId, target: &Type, rule: &AliasRule) -> Result<TokenStream, Error> {
        let docs = self.docs.alias(id, rule);
        let name = ident(&self.protocol.types[id].rust);
        let target = self.resolver.resolve(target)?;
        Ok(quote! { #docs pub type #name = #target; })
    }

    pub(super) fn core_type(&mut self, id: TypeId, core: &str) -> TokenStream {
        let docs = self.docs.definition(id);
        let name = ident(&self.protocol.types[id].rust);
        let core = ident(core);
        quote! { #docs pub type #name = ::mcpgen_core::#core; }
    }

    pub(super) fn newtype(&mut self, id: TypeId, inner: &Type) -> Result<TokenStream, Error> {
        let docs = self.docs.definition(id);
        let def = &self.protocol.types[id];
        let (name, text) = (ident(&def.rust), &def.rust);
        let inner = self.resolver.resolve(inner)?;
        let in_place = self.replaced_in_place(id, quote!(Self(::mcpgen_core::codec::DecodeInPlace::blank(unread))));
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(pub #inner);

            impl ::std::convert::From<#inner> for #name {
                fn from(value: #inner) -> Self {
                    Self(value)
                }
            }
            impl ::mcpgen_core::codec::Decode for #name {
                const NAME: &'static str = #text;
                fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                    ::mcpgen_core::codec::Decode::decode(json).map(Self)
                }
            }
            #in_place
            impl ::mcpgen_core::codec::Encode for #name {
                fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                    ::mcpgen_core::codec::Encode::encode(&self.0)
                }
            }
        })
    }

    pub(super) fn never(&mut self, id: TypeId) -> TokenStream {
        let docs = self.docs.definition(id);
        let def = &self.protocol.types[id];
        let (name, text) = (ident(&def.rust), &def.rust);
        let in_place = self.in_place(id, None, TokenStream::new());
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub enum #name {}

            impl ::mcpgen_core::codec::Decode for #name {
                const NAME: &'static str = #text;
                fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                    ::mcpgen_core::codec::decode_in_place(json)
                }
            }
            #in_place
            impl ::mcpgen_core::codec::Encode for #name {
                fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                    match *self {}
                }
            }
        }
    }
}
