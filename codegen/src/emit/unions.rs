//! Emits unions, with the guards that select their variants.

use mcpgen_model::{Condition, Guard, Type, TypeId, Union};
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{Emitter, ident, literal};

impl Emitter<'_> {
    pub(super) fn union(&mut self, id: TypeId, union: &Union) -> Result<TokenStream, Error> {
        if union.variants.is_empty() {
            return Ok(self.never(id));
        }
        let docs = self.docs.union(id, union);
        let name = ident(&self.def(id).rust);
        let variants = self.variants(id, union)?;
        let declaration = self.union_declaration(id, union)?;
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub enum #name { #variants }

            #declaration
        })
    }

    /// Emits the declaration, which implements encoding and decoding.
    fn union_declaration(&mut self, id: TypeId, union: &Union) -> Result<TokenStream, Error> {
        let (name, is_empty) = (ident(&self.def(id).rust), self.is_empty(id));
        // Even a union without values needs a variant in its declaration.
        let blank = self.blanks.variant(id, union).or(union.variants.first()).map(|variant| ident(&variant.rust));
        let (codec, sources) = (self.codec(), self.sources(union)?);
        let variants: Vec<TokenStream> = union
            .variants
            .iter()
            .zip(sources)
            .map(|(variant, sources)| {
                let never = (!self.blanks.has(&variant.content)).then(|| quote!(never true));
                let rust = ident(&variant.rust);
                quote!(#rust #sources #never)
            })
            .collect();
        if self.is_message_set(id, union) {
            let methods = self.methods(union).into_iter().map(|(method, _)| method);
            let results = (!self.protocol.results_are_objects()).then(|| quote!(results_are_objects false));
            return Ok(quote! {
                #codec::message_set! { #name blank #blank #results; #(#methods #variants,)* }
            });
        }
        let guards = union.decision.guards.iter().map(|it| guard(it, &union.variants[it.variant].rust));
        let body = quote!(#name blank #blank #is_empty; #(#variants),*; #(#guards,)*);
        Ok(if self.blanks.allocates_type(id) {
            quote!(#codec::boxed_union! { #body })
        } else {
            quote!(#codec::union! { #body })
        })
    }

    pub(super) fn is_message_set(&self, id: TypeId, union: &Union) -> bool {
        union.messages.is_some() && self.is_by_method(union) && self.blanks.variant(id, union).is_some()
    }

    fn variants(&mut self, id: TypeId, union: &Union) -> Result<TokenStream, Error> {
        let mut variants = TokenStream::new();
        for (index, variant) in union.variants.iter().enumerate() {
            let docs = self.docs.variant(id, union, index);
            let name = ident(&variant.rust);
            let mut content = self.rust_type(&variant.content)?;
            if variant.boxed {
                content = self.boxed(&content);
            }
            variants.extend(quote!(#docs #name(#content),));
        }
        Ok(variants)
    }

    /// Returns the types that convert into each variant with `From`: none if another variant has the same type.
    fn sources(&mut self, union: &Union) -> Result<Vec<TokenStream>, Error> {
        let contents: Vec<&Type> =
            union.variants.iter().map(|variant| self.protocol.follow(&variant.content)).collect();
        let mut sources = Vec::new();
        for (variant, content) in union.variants.iter().zip(&contents) {
            let is_unique = contents.iter().filter(|other| other == &content).count() == 1;
            if !is_unique || matches!(content, Type::Never) {
                sources.push(TokenStream::new());
                continue;
            }
            let target = self.rust_type(&variant.content)?;
            let borrowed = (**content == Type::String).then(|| quote!(from_ref(&str)));
            // If no variant contains integers, integer literals such as `5.into()` convert as `i64`.
            let is_integer = |content: &&Type| matches!(content, Type::Signed | Type::Unsigned);
            let has_integers = **content == Type::Number && !variant.boxed && !contents.iter().any(is_integer);
            let number = has_integers.then(|| quote!(from_number(i64)));
            let source = if variant.boxed { quote!(boxed(#target)) } else { quote!(from(#target)) };
            sources.push(quote!(#source #borrowed #number));
        }
        Ok(sources)
    }
}

fn guard(guard: &Guard, variant: &str) -> TokenStream {
    let variant = ident(variant);
    let when = guard.when.iter().map(|condition| match condition {
        Condition::Type(types) => {
            let types = types.names().map(|name| format_ident!("{}", name.to_uppercase()));
            let types = types.map(|name| quote!(JsonTypes::#name));
            let all = types.reduce(|all, next| quote!(#all.union(#next)));
            quote!(Type(#all))
        }
        Condition::Value(path, values) => {
            let values = values.iter().map(literal);
            quote!(Value(&[#(#path),*], &[#(#values),*]))
        }
        Condition::Present(path) => quote!(Present(&[#(#path),*])),
        Condition::Absent(path) => quote!(Absent(&[#(#path),*])),
    });
    quote!([#(#when),*] => #variant)
}
