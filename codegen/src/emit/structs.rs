//! Objects with named members.

use mcpgen_model::text::foreign::code;
use mcpgen_model::text::names::setter_name;
use mcpgen_model::{Content, CoreType, Member, PatternMembers, Rest, Shape, Struct, Type, TypeId};
use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::comments::comment;
use super::{Emitter, ident, literal};

impl Emitter<'_> {
    pub(super) fn structure(&mut self, id: TypeId, body: &Struct) -> Result<TokenStream, Error> {
        if body.is_json_schema() {
            return self.json_schema(id, body);
        }
        let docs = self.docs.definition(id);
        let name = ident(&self.def(id).rust);
        let fields = self.fields(id, body)?;
        let setters = body.members.iter().map(|member| self.setter(id, member)).collect::<Result<TokenStream, _>>()?;
        let is_plain = |member: &Member| !member.required || matches!(member.content, Content::Constant(_));
        let derives_default = body.members.iter().all(is_plain);
        let derived = derives_default.then(|| quote!(Default,));
        let has_default = body.members.iter().all(|member| !self.is_argument(member));
        let default = (has_default && !derives_default).then(|| {
            quote! {
                impl ::std::default::Default for #name {
                    fn default() -> Self {
                        Self::new()
                    }
                }
            }
        });
        let constructor = self.constructor(id, body, derives_default)?;
        let declaration = self.declaration(id, body);
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, #derived PartialEq)]
            pub struct #name { #fields }

            impl #name { #constructor #setters }
            #default
            #declaration
        })
    }

    /// Emits an object that is kept as JSON text, with functions for the members that the schema restricts.
    fn json_schema(&mut self, id: TypeId, body: &Struct) -> Result<TokenStream, Error> {
        let (docs, name) = (self.docs.definition(id), ident(&self.def(id).rust));
        let (mut functions, mut members, mut constants) = (TokenStream::new(), TokenStream::new(), TokenStream::new());
        for member in &body.members {
            let (field, wire) = (ident(&member.rust), &member.wire);
            match &member.content {
                Content::Constant(value) => {
                    let value = literal(value);
                    members.extend(quote!(constant #field #wire = #value,));
                    constants.extend(quote!((#wire, &::mcpgen_core::codec::Literal::#value),));
                }
                Content::Value(content) => {
                    let setter = format_ident!("{}", setter_name(&member.rust));
                    let (get, set) = (self.docs.member(id, member), self.docs.setter(id, member));
                    let target = self.resolver.resolve(content)?;
                    members.extend(quote!(optional #field #wire (#target),));
                    functions.extend(quote! {
                        #get
                        #[must_use]
                        pub fn #field(&self) -> ::std::option::Option<#target> {
                            self.0.get(#wire)?.decode().ok()
                        }
                        #set
                        #[must_use]
                        pub fn #setter(mut self, #field: impl ::std::convert::Into<#target>) -> Self {
                            let value: #target = #field.into();
                            self.0.insert(#wire, &value);
                            self
                        }
                    });
                }
            }
        }
        let constructor = self.docs.constructor(id, body);
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(::mcpgen_core::JsonObject);

            impl #name {
                #constructor
                #[must_use]
                pub fn new() -> Self {
                    Self(::mcpgen_core::codec::constant_members(&[#constants]))
                }
                #functions
            }
            mcpgen_core::codec::object_text! { #name; #members }
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
                    let mut target = self.resolver.resolve(content)?;
                    if member.boxed {
                        target = syn::parse_quote!(::std::boxed::Box<#target>);
                    }
                    if !member.required {
                        target = syn::parse_quote!(::std::option::Option<#target>);
                    }
                    fields.extend(quote!(#docs pub #name: #target,));
                }
            }
        }
        if let Some(PatternMembers { pattern, rust, content }) = &body.pattern {
            let (docs, name, value) = (self.docs.matching(pattern), ident(rust), self.resolver.resolve(content)?);
            let owner = quote!(::mcpgen_core::codec::Matching<Self>);
            let extra = typed_extra(&owner, &value);
            fields.extend(quote!(#docs pub #name: #extra,));
        }
        if let Some(extra) = self.extra(body)? {
            let docs = comment("Other members.");
            fields.extend(quote!(#docs pub extra: #extra,));
        }
        Ok(fields)
    }

    fn extra(&mut self, body: &Struct) -> Result<Option<TokenStream>, Error> {
        Ok(match &body.rest {
            Rest::Closed => None,
            Rest::Open => Some(quote!(::mcpgen_core::Extra<Self>)),
            Rest::Typed(content) => {
                let value = self.resolver.resolve(content)?;
                Some(typed_extra(&quote!(Self), &value))
            }
        })
    }

    /// Emits `new`. Its arguments are the required members that are not constant and have no default.
    fn constructor(&mut self, id: TypeId, body: &Struct, derives_default: bool) -> Result<TokenStream, Error> {
        let docs = self.docs.constructor(id, body);
        if derives_default {
            return Ok(quote! {
                #docs
                #[must_use]
                pub fn new() -> Self {
                    Self::default()
                }
            });
        }
        let (mut arguments, mut values) = (TokenStream::new(), TokenStream::new());
        for member in &body.members {
            let name = ident(&member.rust);
            match &member.content {
                Content::Constant(_) if member.required => {}
                Content::Constant(_) => values.extend(quote!(#name: false,)),
                Content::Value(_) if !member.required => values.extend(quote!(#name: ::std::option::Option::None,)),
                Content::Value(content) => match self.default_value(member) {
                    Some(default) => values.extend(quote!(#name: #default,)),
                    None => {
                        let (parameter, value) = self.parameter(content, member.boxed, &name)?;
                        arguments.extend(quote!(#name: #parameter,));
                        let is_name = name == value.to_string().as_str();
                        values.extend(if is_name { quote!(#name,) } else { quote!(#name: #value,) });
                    }
                },
            }
        }
        if let Some(pattern) = &body.pattern {
            let name = ident(&pattern.rust);
            values.extend(quote!(#name: ::std::default::Default::default(),));
        }
        if body.rest != Rest::Closed {
            values.extend(quote!(extra: ::std::default::Default::default(),));
        }
        let many = (body.members.iter().filter(|member| self.is_argument(member)).count() > 7)
            .then(|| quote!(#[allow(clippy::too_many_arguments, reason = "the schema requires them all")]));
        Ok(quote! {
            #docs
            #[must_use]
            #many
            pub fn new(#arguments) -> Self {
                Self { #values }
            }
        })
    }

    fn is_argument(&self, member: &Member) -> bool {
        member.required && matches!(member.content, Content::Value(_)) && self.default_value(member).is_none()
    }

    /// Returns the expression for a required member's `default`, if its type has a simple one.
    fn default_value(&self, member: &Member) -> Option<TokenStream> {
        let Content::Value(content) = &member.content else { return None };
        match (self.protocol.follow(content), member.default.as_ref()?) {
            (Type::Named(id), Json::String(text)) => match &self.protocol.types[*id].shape {
                Shape::Core(CoreType::ResultType) if text == "complete" => {
                    Some(quote!(::mcpgen_core::ResultType::COMPLETE))
                }
                Shape::Enum(values) => {
                    let value = values.iter().find(|value| value.json.as_str() == Some(text))?;
                    let (name, variant) = (ident(&self.protocol.types[*id].rust), ident(&value.rust));
                    Some(quote!(#name::#variant))
                }
                _ => None,
            },
            (Type::String, Json::String(text)) => Some(quote!(::std::convert::From::from(#text))),
            (Type::Boolean, Json::Bool(value)) => Some(quote!(#value)),
            _ => None,
        }
    }

    fn setter(&mut self, id: TypeId, member: &Member) -> Result<TokenStream, Error> {
        let (field, setter) = (ident(&member.rust), format_ident!("{}", setter_name(&member.rust)));
        let wire = code(&member.wire);
        match &member.content {
            Content::Constant(value) if !member.required => {
                let getter = format_ident!("has_{}", member.rust);
                let value = code(&value.to_string());
                let (get, set) = (
                    format!(" Whether the constant member {wire} ({value}) is present."),
                    format!(" Writes the constant member {wire} ({value}), or leaves it out."),
                );
                Ok(quote! {
                    #[doc = #get]
                    #[must_use]
                    pub fn #getter(&self) -> bool {
                        self.#field
                    }
                    #[doc = #set]
                    #[must_use]
                    pub fn #setter(mut self, present: bool) -> Self {
                        self.#field = present;
                        self
                    }
                })
            }
            Content::Value(content) if !self.is_argument(member) => {
                let docs = self.docs.setter(id, member);
                let (parameter, value) = self.parameter(content, member.boxed, &field)?;
                let value = if member.required { value } else { quote!(::std::option::Option::Some(#value)) };
                Ok(quote! {
                    #docs
                    #[must_use]
                    pub fn #setter(mut self, #field: #parameter) -> Self {
                        self.#field = #value;
                        self
                    }
                })
            }
            _ => Ok(TokenStream::new()),
        }
    }

    /// Emits the declaration, which implements encoding and decoding.
    fn declaration(&self, id: TypeId, body: &Struct) -> TokenStream {
        let name = ident(&self.def(id).rust);
        let members = body.members.iter().map(|member| {
            let (field, wire) = (ident(&member.rust), &member.wire);
            match &member.content {
                Content::Value(_) if member.required => quote!(required #field #wire,),
                Content::Value(_) => quote!(optional #field #wire,),
                Content::Constant(value) => {
                    let value = literal(value);
                    if member.required {
                        quote!(constant #field #wire = #value,)
                    } else {
                        quote!(flag #field #wire = #value,)
                    }
                }
            }
        });
        let rest = match (&body.pattern, &body.rest) {
            (None, Rest::Closed) => quote!(else refuse_other),
            (None, _) => quote!(..extra),
            (Some(PatternMembers { pattern, rust, .. }), rest) => {
                let name = ident(rust);
                let others = if *rest == Rest::Closed { quote!(refused by refuse_other) } else { quote!(beside extra) };
                quote!(matching #pattern #name #others)
            }
        };
        let is_empty = self.is_empty(id);
        quote!(mcpgen_core::codec::object! { #name #is_empty; #(#members)* #rest })
    }
}

/// Returns the type of a field for the other members of `owner`, whose values have the type `value`.
fn typed_extra(owner: &TokenStream, value: &syn::Type) -> TokenStream {
    quote!(::mcpgen_core::Extra<#owner, ::mcpgen_core::Map<::std::string::String, #value>>)
}
