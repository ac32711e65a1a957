//! Values with a limit. Their constructors check it.

use proc_macro2::TokenStream;
use quote::quote;

use super::checks::checks_function;
use super::{Emitter, ident, number_literal};
use crate::error::Error;
use crate::model::{Bounded, Limit, Type, TypeId};
use crate::schema::normal::Bound;

impl Emitter<'_> {
    pub(super) fn bounded(&mut self, id: TypeId, bounded: &Bounded) -> Result<TokenStream, Error> {
        let docs = self.docs.bounded(id, bounded);
        let (name, text) = (ident(&self.def(id).rust), self.def(id).rust.clone());
        let inner = self.resolver.resolve(&bounded.inner)?;
        let is_number = matches!(bounded.limit, Some(Limit::Bounds(_)));
        let copy = is_number.then(|| quote!(Copy,));
        let limit = bounded.limit.as_ref().map(|bounded| {
            let (limit_type, limit) = limit(bounded);
            quote!(const LIMIT: #limit_type = #limit;)
        });
        let check = match (&bounded.limit, &bounded.inner) {
            (None, _) => quote!(),
            (Some(Limit::Bounds(_)), Type::Number) => quote!(Self::LIMIT.check_number(value)?;),
            (Some(Limit::Bounds(_)), _) => quote!(Self::LIMIT.check_number(value.into())?;),
            (Some(Limit::Length(_)), Type::String) => quote!(Self::LIMIT.check_str(&value)?;),
            (Some(Limit::Length(_)), _) => quote!(Self::LIMIT.check_length(value.len(), "items")?;),
        };
        let checks = (!bounded.checks.is_empty()).then(|| checks_function(&bounded.checks));
        let check_value = checks.is_some().then(|| quote!(Self::checks().check_value(&value)?;));
        // The document is at hand, so it is not written again.
        let decode = match checks.is_some() {
            false => quote! {
                let value: #inner = ::mcpgen_core::codec::Decode::decode(json)?;
                <Self as ::std::convert::TryFrom<#inner>>::try_from(value).map_err(|error| json.locate(error))
            },
            true => quote! {
                let value: #inner = ::mcpgen_core::codec::Decode::decode(json)?;
                Self::within(&value).map_err(|error| json.locate(error))?;
                Self::checks().check(json)?;
                ::std::result::Result::Ok(Self(value))
            },
        };
        let within = checks.is_some().then(|| {
            let borrowed = match (&bounded.limit, &bounded.inner) {
                (None, _) => quote!(),
                (Some(Limit::Bounds(_)), Type::Number) => quote!(Self::LIMIT.check_number(*value)?;),
                (Some(Limit::Bounds(_)), _) => quote!(Self::LIMIT.check_number((*value).into())?;),
                (Some(Limit::Length(_)), Type::String) => quote!(Self::LIMIT.check_str(value)?;),
                (Some(Limit::Length(_)), _) => quote!(Self::LIMIT.check_length(value.len(), "items")?;),
            };
            let value = super::binding("value", &borrowed);
            quote! {
                fn within(#value: &#inner) -> ::mcpgen_core::codec::Result<()> {
                    #borrowed
                    ::std::result::Result::Ok(())
                }
            }
        });
        let get = if is_number {
            quote! {
                /// The value.
                #[must_use]
                pub const fn get(self) -> #inner {
                    self.0
                }
            }
        } else {
            quote! {
                /// The value.
                #[must_use]
                pub const fn get(&self) -> &#inner {
                    &self.0
                }
                /// The value, to keep.
                #[must_use]
                pub fn into_inner(self) -> #inner {
                    self.0
                }
            }
        };
        let from_float = (bounded.inner == Type::Number).then(|| {
            quote! {
                impl ::std::convert::TryFrom<f64> for #name {
                    type Error = ::mcpgen_core::Error;
                    fn try_from(value: f64) -> ::mcpgen_core::codec::Result<Self> {
                        let value = ::mcpgen_core::Number::try_from(value)?;
                        <Self as ::std::convert::TryFrom<#inner>>::try_from(value)
                    }
                }
            }
        });
        let in_place = self.replaced_in_place(id, quote!(Self(::mcpgen_core::codec::DecodeInPlace::blank(unread))));
        Ok(quote! {
            #docs
            #[derive(Clone, #copy Debug, PartialEq)]
            pub struct #name(#inner);

            impl #name {
                #limit
                #checks
                #within
                #get
            }
            impl ::std::convert::TryFrom<#inner> for #name {
                type Error = ::mcpgen_core::Error;
                fn try_from(value: #inner) -> ::mcpgen_core::codec::Result<Self> {
                    #check
                    #check_value
                    ::std::result::Result::Ok(Self(value))
                }
            }
            #from_float
            impl ::std::convert::From<#name> for #inner {
                fn from(value: #name) -> Self {
                    value.0
                }
            }
            impl ::mcpgen_core::codec::Decode for #name {
                const NAME: &'static str = #text;
                fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                    #decode
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
}

pub(super) fn limit(limit: &Limit) -> (TokenStream, TokenStream) {
    match limit {
        Limit::Bounds(bounds) => {
            let (minimum, maximum) = (bound(bounds.min.as_ref()), bound(bounds.max.as_ref()));
            let value = quote!(::mcpgen_core::codec::Bounds { minimum: #minimum, maximum: #maximum });
            (quote!(::mcpgen_core::codec::Bounds), value)
        }
        Limit::Length(length) => {
            let min = proc_macro2::Literal::u64_unsuffixed(length.min);
            let max = match length.max.map(proc_macro2::Literal::u64_unsuffixed) {
                Some(max) => quote!(::std::option::Option::Some(#max)),
                None => quote!(::std::option::Option::None),
            };
            (quote!(::mcpgen_core::codec::Length), quote!(::mcpgen_core::codec::Length { min: #min, max: #max }))
        }
    }
}

pub(super) fn bound(bound: Option<&Bound>) -> TokenStream {
    match bound {
        None => quote!(::std::option::Option::None),
        Some(Bound { value, exclusive }) => {
            let value = number_literal(value);
            quote!(::std::option::Option::Some(::mcpgen_core::codec::Bound { value: #value, exclusive: #exclusive }))
        }
    }
}
