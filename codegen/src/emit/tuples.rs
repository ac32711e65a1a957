//! Emits tuples: arrays with a type for each leading item.

use mcpgen_model::{Tuple, TypeId};
use mcpgen_schema::Error;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::{Emitter, ident};

impl Emitter<'_> {
    pub(super) fn tuple(&mut self, id: TypeId, tuple: &Tuple) -> Result<TokenStream, Error> {
        let (docs, codec) = (self.docs.tuple(id, tuple), self.codec());
        let (name, is_empty) = (ident(&self.def(id).rust), self.is_empty(id));
        let mut fields = TokenStream::new();
        for item in &tuple.first {
            let mut target = self.rust_type(&item.content)?;
            if item.boxed {
                target = self.boxed(&target);
            }
            fields.extend(quote!(pub #target,));
        }
        if let Some(rest) = &tuple.rest {
            let (vec, rest) = (self.scope.prelude(quote!(::std::vec::Vec)), self.rust_type(rest)?);
            fields.extend(quote!(pub #vec<#rest>,));
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

            #codec::tuple! { #name #is_empty; #kind #size; #(#indices),*; #rest }
        })
    }
}
