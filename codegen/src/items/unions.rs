//! Unions with their decision.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{Emitter, ident, literal};
use crate::decision::{Condition, Guard};
use crate::error::Error;
use crate::protocol::{Messages, Type, TypeId, Union, Variant};

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
        let set = union.messages.filter(|_| self.is_by_method(union));
        let build = match set {
            Some(Messages { requests: true, .. }) => quote!(<Self as ::mcpgen_core::RequestSet>::of_method),
            Some(_) => quote!(<Self as ::mcpgen_core::NotificationSet>::of_method),
            None => {
                let variant = self.build_variant(union);
                let member = if union.variants.len() == 1 { quote!(_) } else { quote!(member) };
                quote!(|#member, event| #variant)
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
                fn decode(event: ::mcpgen_core::codec::Event<'_>) -> ::mcpgen_core::codec::Result<Self> {
                    const GUARDS: &[::mcpgen_core::codec::Guard] = &[#(#guards),*];
                    event.union(GUARDS, #build)
                }
            }
            impl ::mcpgen_core::codec::Encode for #name {
                fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                    match self { #(Self::#names(value) => ::mcpgen_core::codec::Encode::encode(value),)* }
                }
            }
        })
    }

    /// Decodes `event` as the variant whose index `member` is.
    pub(super) fn build_variant(&self, union: &Union) -> TokenStream {
        let decode = |variant: &Variant| {
            let variant = ident(&variant.rust);
            quote!(Self::#variant(::mcpgen_core::codec::Decode::decode(event)?))
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
        quote!(::std::result::Result::Ok(match member { #(#arms)* }))
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
    let member = proc_macro2::Literal::usize_unsuffixed(guard.member);
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
    quote!(::mcpgen_core::codec::Guard { when: &[#(#when),*], member: #member })
}
