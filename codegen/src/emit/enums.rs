//! Enumerations of constant values.

use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, ident, literal};
use crate::model::{TypeId, Value};

impl Emitter<'_> {
    pub(super) fn enumeration(&mut self, id: TypeId, values: &[Value]) -> TokenStream {
        let docs = self.docs.definition(id);
        let (name, text) = (ident(&self.def(id).rust), self.def(id).rust.clone());
        let variants: Vec<_> = values.iter().map(|value| ident(&value.rust)).collect();
        let variant_docs = values.iter().map(|value| self.docs.value(id, value));
        let strings: Option<Vec<&str>> = values.iter().map(|value| value.json.as_str()).collect();
        let codec = match strings {
            Some(strings) => string_codec(&name, &text, &strings),
            None => literal_codec(&name, &text, values),
        };
        let first = variants.first();
        let in_place = self.replaced_in_place(id, quote!(Self::#first));
        quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum #name { #(#variant_docs #variants,)* }

            impl #name {
                /// All values, in the order of the schema.
                pub const ALL: &'static [Self] = &[#(Self::#variants),*];
            }
            #codec
            #in_place
        }
    }
}

fn string_codec(name: &proc_macro2::Ident, text: &str, strings: &[&str]) -> TokenStream {
    quote! {
        impl #name {
            const NAMES: &'static [&'static str] = &[#(#strings),*];

            /// The value on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
        impl ::std::str::FromStr for #name {
            type Err = ::mcpgen_core::Error;
            fn from_str(text: &str) -> ::mcpgen_core::codec::Result<Self> {
                ::mcpgen_core::codec::variant(text, Self::NAMES).map(|index| Self::ALL[index])
            }
        }
        impl ::mcpgen_core::codec::Decode for #name {
            const NAME: &'static str = #text;
            fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                json.variant(Self::NAMES).map(|index| Self::ALL[index])
            }
        }
        impl ::mcpgen_core::codec::Encode for #name {
            fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                ::mcpgen_core::codec::Node::Str(self.as_str())
            }
        }
    }
}

fn literal_codec(name: &proc_macro2::Ident, text: &str, values: &[Value]) -> TokenStream {
    let literals = values.iter().map(|value| literal(&value.json));
    quote! {
        impl #name {
            const LITERALS: &'static [::mcpgen_core::codec::Literal] = &[#(#literals),*];
        }
        impl ::mcpgen_core::codec::Decode for #name {
            const NAME: &'static str = #text;
            fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                json.literal(Self::LITERALS).map(|index| Self::ALL[index])
            }
        }
        impl ::mcpgen_core::codec::Encode for #name {
            fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                ::mcpgen_core::codec::Encode::encode(&Self::LITERALS[*self as usize])
            }
        }
    }
}
