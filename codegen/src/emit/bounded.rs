//! Emits bounded values, whose constructors check the limit.

use mcpgen_model::{Bounded, Limit, Type, TypeId};
use mcpgen_schema::Error;
use mcpgen_schema::normal::Bound;
use proc_macro2::TokenStream;
use quote::quote;

use super::{Emitter, ident, number_literal};

impl Emitter<'_> {
    pub(super) fn bounded(&mut self, id: TypeId, bounded: &Bounded) -> Result<TokenStream, Error> {
        let value = self.bounded_value(id, bounded)?;
        let (codec, name) = (self.codec(), ident(&self.def(id).rust));
        let text = (bounded.inner == Type::String).then(|| quote!(#codec::text! { #name }));
        Ok(quote!(#value #text))
    }

    fn bounded_value(&mut self, id: TypeId, bounded: &Bounded) -> Result<TokenStream, Error> {
        let Some(bounds) = bounded.limit.as_ref().filter(|_| bounded.checks.is_empty()) else {
            return self.checked(id, bounded);
        };
        let docs = self.docs.bounded(id, bounded);
        let (name, is_empty) = (ident(&self.def(id).rust), self.is_empty(id));
        let (codec, inner) = (self.codec(), self.rust_type(&bounded.inner)?);
        let (copy, declaration) = match bounds {
            Limit::Bounds(bounds) => {
                let min = bounds.min.as_ref().map(|bound| limit(bound, ["at_least", "more_than"]));
                let max = bounds.max.as_ref().map(|bound| limit(bound, ["at_most", "less_than"]));
                let (limits, from) =
                    (min.into_iter().chain(max), (bounded.inner == Type::Number).then(|| quote!(from f64)));
                let limits = quote!(#(#limits),*);
                (Some(quote!(Copy,)), quote!(#codec::bounded_number! { #name(#inner) #from; #limits }))
            }
            Limit::Length(length) => {
                let check = if bounded.inner == Type::String { quote!(check_str) } else { quote!(check_items) };
                let [min, max] = [(length.min > 0).then_some(length.min), length.max]
                    .map(|limit| limit.map(proc_macro2::Literal::u64_unsuffixed));
                let min = min.map(|min| quote!(at_least(#min)));
                let limits = min.into_iter().chain(max.map(|max| quote!(at_most(#max))));
                let limits = quote!(#(#limits),*);
                (None, quote!(#codec::bounded_length! { #name(#inner) #check #is_empty; #limits }))
            }
        };
        Ok(quote! {
            #docs
            #[derive(Clone, #copy Debug, PartialEq)]
            pub struct #name(#inner);

            #declaration
        })
    }
}

/// Emits a call that sets a limit, with the method for inclusive or for exclusive limits.
fn limit(bound: &Bound, [inclusive, exclusive]: [&str; 2]) -> TokenStream {
    let (set, value) = (ident(if bound.exclusive { exclusive } else { inclusive }), number_literal(&bound.value));
    quote!(#set(#value))
}
