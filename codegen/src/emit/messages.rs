//! Emits methods, messages, envelopes and error codes.

use mcpgen_model::{
    Condition, CoreType, Message, MessageKind, MessageSet, Params, Shape, Side, Tag, Type, TypeId, Union,
};
use mcpgen_schema::Error;
use proc_macro2::TokenStream;
use quote::quote;

use super::exports::MessageNames;
use super::{Emitter, ident};

impl Emitter<'_> {
    pub(super) fn messages(&self, names: &MessageNames) -> Vec<TokenStream> {
        let mut items = Vec::new();
        for (set, id, name) in &names.method_enums {
            if let Shape::Union(union) = &self.protocol.types[*id].shape {
                items.push(self.method_enum(name, *set, union));
                items.push(self.message_set(*id, *set, union));
            }
        }
        items.extend(names.envelopes.iter().map(|(side, types, name)| self.envelope(*side, *types, name)));
        items.extend(names.error_codes.iter().map(|(index, name)| {
            let error = &self.protocol.error_codes[*index];
            let (rust, code) = (ident(name), proc_macro2::Literal::i64_unsuffixed(error.code));
            let docs = format!(" The error code of [`{}`].", self.def(error.type_id).rust);
            let error_code = self.scope.core("ErrorCode");
            quote! {
                #[doc = #docs]
                pub const #rust: #error_code = #error_code(#code);
            }
        }));
        items
    }

    pub(super) fn methods(&self, union: &Union) -> Vec<(String, TypeId)> {
        union
            .variants
            .iter()
            .filter_map(|variant| {
                let id = variant.content.by_value()?;
                Some((self.method(id)?, id))
            })
            .collect()
    }

    fn method(&self, id: TypeId) -> Option<String> {
        let body = self.protocol.as_struct(&Type::Named(id));
        match body.and_then(|body| body.member("method")?.constant()) {
            Some(json) => json.as_str().map(str::to_owned),
            None => Tag::of(self.def(id)).map(|tag| tag.method.to_owned()),
        }
    }

    /// Returns whether the method alone decides the union. Each variant then has a different method.
    pub(super) fn is_by_method(&self, union: &Union) -> bool {
        let methods = self.methods(union);
        let guards = &union.decision.guards;
        methods.len() == union.variants.len()
            && guards.len() == methods.len()
            && guards.iter().all(|guard| match guard.when.as_slice() {
                [Condition::Value(path, values)] => {
                    *path == ["method"]
                        && matches!(values.as_slice(), [value] if value.as_str() == Some(&methods[guard.variant].0))
                }
                _ => false,
            })
    }

    fn method_enum(&self, name: &str, set: MessageSet, union: &Union) -> TokenStream {
        let methods = self.methods(union);
        let (rust, codec) = (ident(name), self.codec());
        let docs = format!(" The methods of the {}s that a {} sends.", set.kind.as_str(), set.sender.as_str());
        let texts = methods.iter().map(|(method, _)| method);
        let variants: Vec<_> = union.variants.iter().map(|variant| ident(&variant.rust)).collect();
        let variant_docs = methods.iter().map(|(method, id)| self.docs.message(method, *id));
        let declaration = if variants.is_empty() {
            quote!(#codec::no_values! { #rust })
        } else {
            quote!(#codec::string_values! { #rust; #(#variants = #texts,)* })
        };
        quote! {
            #[doc = #docs]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum #rust { #(#variant_docs #variants,)* }

            #declaration
        }
    }

    /// Emits those traits of a message set that its declaration does not implement.
    fn message_set(&self, id: TypeId, set: MessageSet, union: &Union) -> TokenStream {
        let name = ident(&self.def(id).rust);
        let methods = self.methods(union);
        let variants: Vec<_> = union.variants.iter().map(|variant| ident(&variant.rust)).collect();
        let method_set = (!self.is_message_set(id, union)).then(|| {
            let texts: Vec<&String> = methods.iter().map(|(method, _)| method).collect();
            let method = if variants.is_empty() {
                quote!(match *self {})
            } else {
                quote!(match self { #(Self::#variants(_) => #texts,)* })
            };
            let trait_name = self.scope.core("MethodSet");
            let results = (!self.protocol.results_are_objects()).then(|| {
                quote!(
                    const RESULTS_ARE_OBJECTS: bool = false;
                )
            });
            quote! {
                impl #trait_name for #name {
                    const METHODS: &'static [&'static str] = &[#(#texts),*];
                    #results

                    fn method(&self) -> &'static str {
                        #method
                    }
                }
            }
        });
        let set_trait = match set.kind {
            MessageKind::Notification => {
                let trait_name = self.scope.core("NotificationSet");
                quote!(impl #trait_name for #name {})
            }
            MessageKind::Request if methods.is_empty() => {
                let trait_name = self.scope.core("RequestSet");
                quote!(impl #trait_name for #name {})
            }
            MessageKind::Request => {
                let requests = methods.iter().zip(&variants).map(|((method, type_id), variant)| {
                    let request = self.scope.module_type(&self.def(*type_id).rust);
                    let message = self.protocol.message(*type_id);
                    let may_be_task = message.is_some_and(|it| it.request.is_some_and(|it| it.task_result.is_some()));
                    let visit = ident(if may_be_task { "visit_task" } else { "visit" });
                    let id = self.id_field(*type_id);
                    quote!(#variant(#request) #method #visit #id)
                });
                let codec = self.codec();
                quote!(#codec::request_set! { #name; #(#requests,)* })
            }
        };
        quote!(#method_set #set_trait)
    }

    fn id_field(&self, request: TypeId) -> Option<TokenStream> {
        let body = self.protocol.as_struct(&Type::Named(request))?;
        let member = body.member("id")?;
        let field = ident(&member.rust);
        let is_core = matches!(self.protocol.follow(member.value()?), Type::Named(id)
            if self.protocol.types[*id].shape == Shape::Core(CoreType::RequestId));
        Some(if is_core && !member.boxed { quote!(id #field) } else { quote!(like #field) })
    }

    fn envelope(&self, side: Side, types: [TypeId; 2], name: &str) -> TokenStream {
        let docs = format!(" A message that a {} sends, with its JSON-RPC envelope.", side.as_str());
        let [requests, notifications] = types.map(|id| self.scope.module_type(&self.def(id).rust));
        let (rust, message) = (ident(name), self.scope.core("Message"));
        quote!(#[doc = #docs] pub type #rust = #message<#requests, #notifications>;)
    }

    /// Returns the version of the messages. Messages of an extension belong to the revision that it extends, so that
    /// routers serve them to peers of that revision.
    fn version(&self) -> &str {
        self.protocol.extends.as_ref().map_or(&self.protocol.revision, |extends| &extends.revision)
    }

    fn params(&mut self, params: Option<&Params>) -> Result<TokenStream, Error> {
        Ok(match params {
            None => {
                let json = self.scope.core("Json");
                self.optional(&json)
            }
            Some(Params { content, required }) => {
                let target = self.rust_type(content)?;
                if *required { quote!(#target) } else { self.optional(&target) }
            }
        })
    }

    pub(super) fn method_impl(&mut self, id: TypeId) -> Result<TokenStream, Error> {
        let Some(Message { method, params, request, .. }) = self.protocol.message(id) else {
            return Ok(TokenStream::new());
        };
        let (name, params) = (ident(&self.def(id).rust), self.params(params)?);
        let Some(request) = request else {
            let (codec, version) = (self.codec(), self.version());
            return Ok(quote!(#codec::notification! { #name; #method(#params); #version }));
        };
        let result = self.rust_type(&request.result)?;
        let task = request.task_result.as_ref().map(|task| self.rust_type(task)).transpose()?;
        let task = task.map(|task| quote!(, task #task));
        let (codec, version) = (self.codec(), self.version());
        Ok(quote!(#codec::request! { #name; #method(#params) -> #result #task; #version }))
    }
}
