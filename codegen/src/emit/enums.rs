//! Emits enums of constant values.

use mcpgen_model::{TypeId, Value};
use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, ident, literal};

impl Emitter<'_> {
    pub(super) fn open_enumeration(&mut self, id: TypeId, values: &[Value]) -> TokenStream {
        let (docs, codec) = (self.docs.open_enumeration(id), self.codec());
        let string = self.scope.prelude(quote!(::std::string::String));
        let name = ident(&self.def(id).rust);
        let variants: Vec<_> = values.iter().map(|value| ident(&value.rust)).collect();
        let variant_docs = values.iter().map(|value| self.docs.value(id, value));
        let strings = values.iter().filter_map(|value| value.json.as_str());
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq, Eq, Hash)]
            pub enum #name {
                #(#variant_docs #variants,)*
                /// Any other string.
                Other(#string),
            }

            #codec::open_enum! { #name; #(#variants = #strings,)* }
        }
    }

    pub(super) fn enumeration(&mut self, id: TypeId, values: &[Value]) -> TokenStream {
        let (docs, codec) = (self.docs.definition(id), self.codec());
        let name = ident(&self.def(id).rust);
        let variants: Vec<_> = values.iter().map(|value| ident(&value.rust)).collect();
        let variant_docs = values.iter().map(|value| self.docs.value(id, value));
        let strings: Option<Vec<&str>> = values.iter().map(|value| value.json.as_str()).collect();
        let declaration = match strings {
            Some(strings) => quote!(#codec::string_enum! { #name; #(#variants = #strings,)* }),
            None => {
                let literals = values.iter().map(|value| literal(&value.json));
                quote!(#codec::literal_enum! { #name; #(#variants = #literals,)* })
            }
        };
        quote! {
            #docs
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum #name { #(#variant_docs #variants,)* }

            #declaration
        }
    }
}
