//! Objects with named members.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::docs::code;
use super::{Emitter, ident, literal};
use crate::error::Error;
use crate::json::Json;
use crate::model::{Content, Member, Rest, Shape, Struct, Type, TypeId};
use crate::text::names::setter_name;

impl Emitter<'_> {
    pub(super) fn structure(&mut self, id: TypeId, body: &Struct) -> Result<TokenStream, Error> {
        let docs = self.docs.definition(id);
        let name = ident(&self.def(id).rust);
        let fields = self.fields(id, body)?;
        let constructor = self.constructor(id, body)?;
        let setters = body.members.iter().map(|member| self.setter(id, member)).collect::<Result<TokenStream, _>>()?;
        let default = body.members.iter().all(|member| !self.is_argument(member)).then(|| {
            quote! {
                impl ::std::default::Default for #name {
                    fn default() -> Self {
                        Self::new()
                    }
                }
            }
        });
        let codec = self.object_codec(id, body);
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name { #fields }

            impl #name { #constructor #setters }
            #default
            #codec
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
        if let Some(extra) = self.extra(id, body)? {
            let docs = self.docs.extra(&body.rest);
            fields.extend(quote!(#docs pub extra: #extra,));
        }
        Ok(fields)
    }

    fn extra(&mut self, id: TypeId, body: &Struct) -> Result<Option<TokenStream>, Error> {
        let name = ident(&self.def(id).rust);
        Ok(match &body.rest {
            Rest::Closed => None,
            Rest::Open => Some(quote!(::mcpgen_core::Extra<#name>)),
            Rest::Typed(content) => {
                let value = self.resolver.resolve(content)?;
                Some(quote!(::mcpgen_core::Extra<#name, #value>))
            }
        })
    }

    /// `new` takes what must be given: required members that are neither constant nor have a default.
    fn constructor(&mut self, id: TypeId, body: &Struct) -> Result<TokenStream, Error> {
        let docs = self.docs.constructor(id, body);
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

    /// The expression for a required member's `default`, where its type makes that plain.
    fn default_value(&self, member: &Member) -> Option<TokenStream> {
        let Content::Value(content) = &member.content else { return None };
        match (self.protocol.follow(content), member.default.as_ref()?) {
            (Type::Named(id), Json::String(text)) => match &self.protocol.types[*id].shape {
                Shape::Core("ResultType") if text == "complete" => Some(quote!(::mcpgen_core::ResultType::COMPLETE)),
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

    fn object_codec(&self, id: TypeId, body: &Struct) -> TokenStream {
        let name = ident(&self.def(id).rust);
        let wires = body.members.iter().map(|member| &member.wire);
        let decode = self.struct_decode(id, body);
        let out = format_ident!("out");
        let writes = body.members.iter().map(|member| write_member(member, &out));
        let extra = (body.rest != Rest::Closed).then(|| quote!(#out.extra(&self.extra);));
        quote! {
            impl ::mcpgen_core::KnownMembers for #name {
                const MEMBERS: &'static [&'static str] = &[#(#wires),*];
            }
            #decode
            impl ::mcpgen_core::codec::Encode for #name {
                fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                    ::mcpgen_core::codec::Node::Object(self)
                }
            }
            impl ::mcpgen_core::codec::Object for #name {
                fn members(&self, #out: &mut ::mcpgen_core::codec::Members<'_>) {
                    #(#writes)*
                    #extra
                }
            }
        }
    }
}

impl Emitter<'_> {
    fn struct_decode(&self, id: TypeId, body: &Struct) -> TokenStream {
        let (name, text) = (ident(&self.def(id).rust), &self.def(id).rust);
        let blanks = body.members.iter().filter_map(blank_member);
        let extra = (body.rest != Rest::Closed).then(|| quote!(extra: ::mcpgen_core::Extra::default(),));
        let required = body.members.iter().enumerate().filter(|(_, member)| member.required);
        let required = required.map(|(index, _)| proc_macro2::Literal::usize_unsuffixed(index));
        let members = body.members.iter().enumerate().map(|(index, member)| {
            let index = proc_macro2::Literal::usize_unsuffixed(index);
            let read = read_member(member);
            quote!(#index => #read,)
        });
        let others = match body.rest {
            Rest::Closed => quote!(::mcpgen_core::codec::refuse_others(
                json,
                <Self as ::mcpgen_core::KnownMembers>::MEMBERS,
                unread
            )),
            Rest::Open | Rest::Typed(_) => {
                quote!(::mcpgen_core::codec::read_others(
                    json,
                    <Self as ::mcpgen_core::KnownMembers>::MEMBERS,
                    &mut self.extra,
                    unread,
                ))
            }
        };
        let in_place = self.in_place(
            id,
            Some(quote!(Self { #(#blanks)* #extra })),
            quote! {
                json.read_object(
                    <Self as ::mcpgen_core::KnownMembers>::MEMBERS,
                    &[#(#required),*],
                    &mut &mut *self,
                    unread,
                )
            },
        );
        quote! {
            impl ::mcpgen_core::codec::Decode for #name {
                const NAME: &'static str = #text;
                #[inline]
                fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                    ::mcpgen_core::codec::decode_in_place(json)
                }
            }
            #in_place
            impl ::mcpgen_core::codec::ReadMember for #name {
                #[inline]
                fn read_member(
                    &mut self,
                    index: usize,
                    json: ::mcpgen_core::codec::Cursor<'_>,
                    unread: ::mcpgen_core::codec::Unread,
                ) -> ::mcpgen_core::codec::Result<()> {
                    match index {
                        #(#members)*
                        _ => #others,
                    }
                }
            }
        }
    }
}

/// A member's field in a blank value.
fn blank_member(member: &Member) -> Option<TokenStream> {
    let name = ident(&member.rust);
    match &member.content {
        Content::Constant(_) if member.required => None,
        Content::Constant(_) => Some(quote!(#name: false,)),
        Content::Value(_) if member.required => {
            Some(quote!(#name: ::mcpgen_core::codec::DecodeInPlace::blank(unread),))
        }
        Content::Value(_) => Some(quote!(#name: ::std::option::Option::None,)),
    }
}

/// Decodes a member into its field.
fn read_member(member: &Member) -> TokenStream {
    let name = ident(&member.rust);
    match &member.content {
        Content::Constant(value) => {
            let value = literal(value);
            if member.required {
                quote!(json.read_constant(&#value))
            } else {
                quote!(json.read_optional_constant(&#value, &mut self.#name))
            }
        }
        Content::Value(_) if member.required => {
            quote!(::mcpgen_core::codec::DecodeInPlace::read(&mut self.#name, json, unread))
        }
        Content::Value(_) => quote!(::mcpgen_core::codec::read_optional(json, &mut self.#name, unread)),
    }
}

fn write_member(member: &Member, out: &Ident) -> TokenStream {
    let (name, wire) = (ident(&member.rust), &member.wire);
    match &member.content {
        Content::Constant(value) => {
            let value = literal(value);
            let write = quote!(#out.constant(#wire, #value););
            if member.required { write } else { quote!(if self.#name { #write }) }
        }
        Content::Value(_) if member.required => quote!(#out.member(#wire, &self.#name);),
        Content::Value(_) => quote!(#out.optional(#wire, &self.#name);),
    }
}
