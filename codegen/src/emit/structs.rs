//! Emits objects with named members.

use mcpgen_model::text::names::setter_name;
use mcpgen_model::{Content, CoreType, Member, PatternMembers, Rest, Shape, Struct, Type, TypeId};
use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{Emitter, ident, literal};

impl Emitter<'_> {
    pub(super) fn structure(&mut self, id: TypeId, body: &Struct) -> Result<TokenStream, Error> {
        if body.is_json_schema() {
            return self.json_schema(id, body);
        }
        let docs = self.docs.definition(id);
        let name = ident(&self.def(id).rust);
        let fields = self.fields(id, body)?;
        let derives_default = !body.members.iter().any(|member| member.required && member.value().is_some());
        let derived = derives_default.then(|| quote!(Default,));
        let has_default = !body.members.iter().any(|member| self.is_argument(member));
        let default = (has_default && !derives_default).then(|| {
            let default = self.scope.prelude(quote!(::std::default::Default));
            quote! {
                impl #default for #name {
                    fn default() -> Self {
                        Self::new()
                    }
                }
            }
        });
        let declaration = self.declaration(id, body)?;
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, #derived PartialEq)]
            pub struct #name { #fields }

            #declaration
            #default
        })
    }

    /// Emits an object that is kept as JSON text, with getters for the members that the schema restricts.
    fn json_schema(&mut self, id: TypeId, body: &Struct) -> Result<TokenStream, Error> {
        let (docs, name) = (self.docs.definition(id), ident(&self.def(id).rust));
        let (mut getters, mut members) = (TokenStream::new(), TokenStream::new());
        for member in &body.members {
            let (field, wire) = (ident(&member.rust), &member.wire);
            match &member.content {
                Content::Constant(value) => {
                    let value = literal(value);
                    members.extend(quote!(constant #field #wire = #value,));
                }
                Content::Value(content) => {
                    let setter = format_ident!("{}", setter_name(&member.rust));
                    let (docs, deprecation) = (self.docs.member(id, member), self.docs.member_deprecation(id, member));
                    let target = self.rust_type(content)?;
                    let optional = self.optional(&target);
                    members.extend(quote!(optional #field #wire #deprecation #setter(into #target),));
                    getters.extend(quote! {
                        #docs
                        #[must_use]
                        pub fn #field(&self) -> #optional {
                            self.0.get(#wire)?.decode().ok()
                        }
                    });
                }
            }
        }
        let (codec, object) = (self.codec(), self.scope.core("JsonObject"));
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(#object);

            #codec::object_text! { #name; #members }
            impl #name { #getters }
        })
    }

    fn fields(&mut self, id: TypeId, body: &Struct) -> Result<TokenStream, Error> {
        let mut fields = TokenStream::new();
        for member in &body.members {
            let name = ident(&member.rust);
            match &member.content {
                Content::Constant(_) if member.required => {}
                Content::Constant(_) => fields.extend(quote!(#name: bool,)),
                Content::Value(content) => {
                    let docs = self.docs.member(id, member);
                    let mut target = self.rust_type(content)?;
                    if member.boxed {
                        target = self.boxed(&target);
                    }
                    let target = if member.required { quote!(#target) } else { self.optional(&target) };
                    fields.extend(quote!(#docs pub #name: #target,));
                }
            }
        }
        if let Some(PatternMembers { pattern, rust, content }) = &body.pattern {
            let (docs, name, value) = (self.docs.matching(pattern), ident(rust), self.rust_type(content)?);
            let codec = self.codec();
            let extra = self.typed_extra(&quote!(#codec::Matching<Self>), &value);
            fields.extend(quote!(#docs pub #name: #extra,));
        }
        if let Some(extra) = self.extra(body)? {
            let docs = self.docs.comments.emit("Other members.");
            fields.extend(quote!(#docs pub extra: #extra,));
        }
        Ok(fields)
    }

    fn extra(&mut self, body: &Struct) -> Result<Option<TokenStream>, Error> {
        Ok(match &body.rest {
            Rest::Closed => None,
            Rest::Open => {
                let extra = self.scope.core("Extra");
                Some(quote!(#extra<Self>))
            }
            Rest::Typed(content) => {
                let value = self.rust_type(content)?;
                Some(self.typed_extra(&quote!(Self), &value))
            }
        })
    }

    fn typed_extra(&self, owner: &TokenStream, value: &syn::Type) -> TokenStream {
        let (extra, map) = (self.scope.core("Extra"), self.scope.core("Map"));
        let string = self.scope.prelude(quote!(::std::string::String));
        quote!(#extra<#owner, #map<#string, #value>>)
    }

    fn is_argument(&self, member: &Member) -> bool {
        member.required && member.value().is_some() && self.default_value(member).is_none()
    }

    /// Returns an expression for a required member's `default`, if it is simple enough.
    fn default_value(&self, member: &Member) -> Option<TokenStream> {
        match (self.protocol.follow(member.value()?), member.default.as_ref()?) {
            (Type::Named(id), Json::String(text)) => match &self.protocol.types[*id].shape {
                Shape::Core(CoreType::ResultType) if text == "complete" => {
                    let result_type = self.scope.core("ResultType");
                    Some(quote!(#result_type::COMPLETE))
                }
                Shape::Enum(values) => {
                    let value = values.iter().find(|value| value.json.as_str() == Some(text))?;
                    let (name, variant) = (self.scope.module_type(&self.protocol.types[*id].rust), ident(&value.rust));
                    Some(quote!(#name::#variant))
                }
                _ => None,
            },
            (Type::String, Json::String(text)) => {
                let from = self.scope.prelude(quote!(::std::convert::From));
                Some(quote!(#from::from(#text)))
            }
            (Type::Boolean, Json::Bool(value)) => Some(quote!(#value)),
            _ => None,
        }
    }

    /// Emits the declaration, which implements the constructor, the setters, encoding and decoding.
    fn declaration(&mut self, id: TypeId, body: &Struct) -> Result<TokenStream, Error> {
        let name = ident(&self.def(id).rust);
        let members = body.members.iter().enumerate();
        let members =
            members.map(|(index, member)| self.declared(id, index, member)).collect::<Result<TokenStream, _>>()?;
        let rest = match (&body.pattern, &body.rest) {
            (None, Rest::Closed) => quote!(else refuse_other),
            (None, _) => quote!(..extra),
            (Some(PatternMembers { pattern, rust, .. }), rest) => {
                let name = ident(rust);
                let others = if *rest == Rest::Closed { quote!(refused by refuse_other) } else { quote!(beside extra) };
                quote!(matching #pattern #name #others)
            }
        };
        let (codec, is_empty) = (self.codec(), self.is_empty(id));
        let builder = self.exports.message_names.builders.get(&id).map(|builder| {
            let builder = ident(&builder.name);
            quote!(builder #builder)
        });
        Ok(quote!(#codec::object! { #name #builder #is_empty; #members #rest }))
    }

    fn declared(&mut self, id: TypeId, index: usize, member: &Member) -> Result<TokenStream, Error> {
        let (field, wire, setter) = (ident(&member.rust), &member.wire, format_ident!("{}", setter_name(&member.rust)));
        let content = match &member.content {
            Content::Constant(value) => {
                let (value, getter) = (literal(value), format_ident!("has_{}", member.rust));
                return Ok(match member.required {
                    true => quote!(constant #field #wire = #value,),
                    false => quote!(flag #field #wire = #value #getter #setter,),
                });
            }
            Content::Value(content) => content,
        };
        let (target, deprecation) = (self.rust_type(content)?, self.docs.member_deprecation(id, member));
        let parameter = match self.protocol.follow(content) {
            _ if member.boxed => quote!((boxed #target)),
            Type::Boolean | Type::Signed | Type::Unsigned | Type::Null | Type::Never => quote!((copy #target)),
            _ => quote!((into #target)),
        };
        Ok(match (member.required, self.default_value(member)) {
            (true, None) => {
                match self.exports.message_names.builders.get(&id).and_then(|builder| builder.step(index)) {
                    Some(step) => quote!(named #field #wire #parameter #step,),
                    None => quote!(required #field #wire #parameter,),
                }
            }
            (true, Some(default)) => quote!(default(#default) #field #wire #deprecation #setter #parameter,),
            (false, _) => quote!(optional #field #wire #deprecation #setter #parameter,),
        })
    }
}
