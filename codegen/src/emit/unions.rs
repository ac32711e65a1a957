//! Unions with their decision.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{Emitter, binding, ident, literal};
use crate::error::Error;
use crate::model::{Condition, Guard, Type, TypeId, Union, Variant};

impl Emitter<'_> {
    pub(super) fn union(&mut self, id: TypeId, union: &Union) -> Result<TokenStream, Error> {
        if union.variants.is_empty() {
            return Ok(self.never(id));
        }
        let docs = self.docs.union(id, union);
        let (name, text) = (ident(&self.def(id).rust), self.def(id).rust.clone());
        let variants = self.variants(id, union)?;
        let conversions = self.conversions(id, union)?;
        let guards = union.decision.guards.iter().map(guard);
        let guards = quote!(const GUARDS: &[::mcpgen_core::codec::Guard] = &[#(#guards),*];);
        let blank = self.blanks.variant(id, union).map(|variant| {
            let variant = ident(&variant.rust);
            quote!(Self::#variant(::mcpgen_core::codec::DecodeInPlace::blank(unread)))
        });
        let set = union.messages.filter(|_| self.is_by_method(union));
        let as_a_whole = match set {
            Some(_) => Some(quote!(<Self as ::mcpgen_core::MethodSet>::of_method(json.union(GUARDS)?, json))),
            // In place, a box would be allocated for the blank value, and again for the one that is decoded.
            None if self.blanks.allocates_type(id) => {
                let build = self.build_variant(union);
                let index = binding("index", &build);
                Some(quote!(let #index = json.union(GUARDS)?; #build))
            }
            None => None,
        };
        let (decode, in_place) = match (as_a_whole, blank) {
            (Some(decode), Some(blank)) => (quote!(#guards #decode), self.replaced_in_place(id, blank)),
            (_, blank) => {
                let read = self.read_variant(union);
                let in_place = self.in_place(id, blank, quote!(#guards #read));
                (quote!(::mcpgen_core::codec::decode_in_place(json)), in_place)
            }
        };
        let names = union.variants.iter().map(|variant| ident(&variant.rust));
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub enum #name { #variants }

            #conversions
            impl ::mcpgen_core::codec::Decode for #name {
                const NAME: &'static str = #text;
                #[inline]
                fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                    #decode
                }
            }
            #in_place
            impl ::mcpgen_core::codec::Encode for #name {
                fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                    match self { #(Self::#names(value) => ::mcpgen_core::codec::Encode::encode(value),)* }
                }
            }
        })
    }

    /// Decodes into the variant that the guards decide for.
    fn read_variant(&self, union: &Union) -> TokenStream {
        let last = union.variants.len() - 1;
        let arms = union.variants.iter().enumerate().map(|(index, variant)| {
            let (number, name) = (proc_macro2::Literal::usize_unsuffixed(index), ident(&variant.rust));
            let pattern = if index == last { quote!(_) } else { quote!(#number) };
            if !self.blanks.has(&variant.content) {
                return quote!(#pattern => return ::std::result::Result::Err(json.uninhabited(unread)),);
            }
            quote! {
                #pattern => {
                    ::mcpgen_core::codec::set(
                        self,
                        Self::#name(::mcpgen_core::codec::DecodeInPlace::blank(unread)),
                    );
                    if let Self::#name(value) = self {
                        ::mcpgen_core::codec::DecodeInPlace::read(value, json, unread)?;
                    }
                }
            }
        });
        quote! {
            match json.union(GUARDS)? { #(#arms)* }
            ::std::result::Result::Ok(())
        }
    }

    /// Decodes `json` as the variant with the index `index`.
    pub(super) fn build_variant(&self, union: &Union) -> TokenStream {
        let decode = |variant: &Variant| {
            let variant = ident(&variant.rust);
            quote!(Self::#variant(::mcpgen_core::codec::Decode::decode(json)?))
        };
        if let [only] = union.variants.as_slice() {
            let only = decode(only);
            return quote!(::std::result::Result::Ok(#only));
        }
        let last = union.variants.len() - 1;
        let arms = union.variants.iter().enumerate().map(|(index, variant)| {
            let number = proc_macro2::Literal::usize_unsuffixed(index);
            let pattern = if index == last { quote!(_) } else { quote!(#number) };
            let decode = decode(variant);
            quote!(#pattern => #decode,)
        });
        quote!(::std::result::Result::Ok(match index { #(#arms)* }))
    }

    fn variants(&mut self, id: TypeId, union: &Union) -> Result<TokenStream, Error> {
        let mut variants = TokenStream::new();
        for (index, variant) in union.variants.iter().enumerate() {
            let docs = self.docs.variant(id, union, index);
            let name = ident(&variant.rust);
            let mut content = self.resolver.resolve(&variant.content)?;
            if variant.boxed {
                content = syn::parse_quote!(::std::boxed::Box<#content>);
            }
            variants.extend(quote!(#docs #name(#content),));
        }
        Ok(variants)
    }

    /// `From` for every variant whose type no other variant has.
    fn conversions(&mut self, id: TypeId, union: &Union) -> Result<TokenStream, Error> {
        let name = ident(&self.def(id).rust);
        let contents: Vec<&Type> =
            union.variants.iter().map(|variant| self.protocol.follow(&variant.content)).collect();
        let mut conversions = TokenStream::new();
        for (variant, content) in union.variants.iter().zip(&contents) {
            let unique = contents.iter().filter(|other| other == &content).count() == 1;
            if !unique || matches!(content, Type::Never) {
                continue;
            }
            let variant_name = ident(&variant.rust);
            let target = self.resolver.resolve(&variant.content)?;
            let value = if variant.boxed { quote!(::std::boxed::Box::new(value)) } else { quote!(value) };
            conversions.extend(quote! {
                impl ::std::convert::From<#target> for #name {
                    fn from(value: #target) -> Self {
                        Self::#variant_name(#value)
                    }
                }
            });
            if **content == Type::String {
                conversions.extend(quote! {
                    impl ::std::convert::From<&str> for #name {
                        fn from(value: &str) -> Self {
                            Self::#variant_name(value.to_owned())
                        }
                    }
                });
            }
        }
        Ok(conversions)
    }
}

fn guard(guard: &Guard) -> TokenStream {
    let variant = proc_macro2::Literal::usize_unsuffixed(guard.variant);
    let when = guard.when.iter().map(|condition| match condition {
        Condition::Type(types) => {
            let types = types.names().map(|name| format_ident!("{}", name.to_uppercase()));
            let types = types.map(|name| quote!(::mcpgen_core::codec::JsonTypes::#name));
            let all = types.reduce(|all, next| quote!(#all.union(#next)));
            quote!(::mcpgen_core::codec::Condition::Type(#all))
        }
        Condition::Value(path, values) => {
            let values = values.iter().map(literal);
            quote!(::mcpgen_core::codec::Condition::Value { path: &[#(#path),*], any_of: &[#(#values),*] })
        }
        Condition::Present(path) => quote!(::mcpgen_core::codec::Condition::Present { path: &[#(#path),*] }),
        Condition::Absent(path) => quote!(::mcpgen_core::codec::Condition::Absent { path: &[#(#path),*] }),
    });
    quote!(::mcpgen_core::codec::Guard { when: &[#(#when),*], variant: #variant })
}
