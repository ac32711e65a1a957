//! Tuples: arrays whose first items each have a type.

use mcpgen_model::{Tuple, TypeId};
use mcpgen_schema::Error;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Emitter, ident};

impl Emitter<'_> {
    pub(super) fn tuple(&mut self, id: TypeId, tuple: &Tuple) -> Result<TokenStream, Error> {
        let docs = self.docs.tuple(id, tuple);
        let (name, is_empty) = (ident(&self.def(id).rust), self.is_empty(id));
        let mut fields = TokenStream::new();
        for item in &tuple.first {
            let mut target = self.resolver.resolve(&item.content)?;
            if item.boxed {
                target = syn::parse_quote!(::std::boxed::Box<#target>);
            }
            fields.extend(quote!(pub #target,));
        }
        if let Some(rest) = &tuple.rest {
            let rest = self.resolver.resolve(rest)?;
            fields.extend(quote!(pub ::std::vec::Vec<#rest>,));
        }
        let count = tuple.first.len();
        let indices = (0..count).map(Literal::usize_unsuffixed);
        let size = Literal::usize_unsuffixed(count);
        let kind = ident(if tuple.rest.is_some() { "open_tuple" } else { "closed_tuple" });
        let rest = tuple.rest.is_some().then(|| quote!(rest #size));
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(#fields);

            mcpgen_core::codec::tuple! { #name #is_empty; #kind #size; #(#indices),*; #rest }
        })
    }
}
