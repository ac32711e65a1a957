//! Methods, messages, envelopes and error codes of a revision.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use super::{Emitter, Item, binding, ident, messages_area};
use crate::decision::Condition;
use crate::error::Error;
use crate::naming::Namespace;
use crate::protocol::{Content, Member, Messages, Params, Shape, Side, Type, TypeId, Union};
use crate::share::Share;

impl Emitter<'_> {
    /// Everything of a revision that no single type owns.
    pub(super) fn messages(&mut self) -> Result<Vec<Item>, Error> {
        let mut names = Namespace::default();
        self.protocol.types.iter().for_each(|def| drop(names.claim(&def.rust)));
        let mut items = Vec::new();
        for messages in Messages::ALL {
            let set = self.protocol.types.iter().position(|def| def.name == messages.definition());
            let Some((id, Shape::Union(union))) = set.map(|id| (id, &self.protocol.types[id].shape)) else { continue };
            let method_enum = names.claim(&format!("{}Method", self.def(id).rust));
            items.push(self.method_enum(&method_enum, messages, union));
            items.push(self.message_set(id, messages, union));
        }
        for side in [Side::Client, Side::Server] {
            items.extend(self.envelope(side, &mut names));
        }
        items.extend(self.error_codes(&mut names));
        Ok(items)
    }

    fn item_in_messages(&self, names: Vec<String>, tokens: TokenStream) -> Item {
        Item { area: messages_area(), names, serde: None, tokens }
    }

    fn methods(&self, union: &Union) -> Vec<(String, TypeId)> {
        union
            .variants
            .iter()
            .filter_map(|variant| Some((self.method(&variant.content)?, variant.content.by_value()?)))
            .collect()
    }

    fn method(&self, content: &Type) -> Option<String> {
        let method = self.protocol.as_struct(content)?.members.iter().find(|member| member.wire == "method")?;
        match &method.content {
            Content::Constant(json) => json.as_str().map(str::to_owned),
            Content::Value(_) => None,
        }
    }

    /// Whether the method alone decides for a variant, each for another one.
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

    fn method_enum(&self, name: &str, messages: Messages, union: &Union) -> Item {
        let methods = self.methods(union);
        let rust = ident(name);
        let what = if messages.requests { "request" } else { "notification" };
        let docs = format!(" Methods of the {what}s that a {} sends.", messages.sender.as_str());
        let texts: Vec<&String> = methods.iter().map(|(method, _)| method).collect();
        let variants: Vec<_> = union.variants.iter().map(|variant| ident(&variant.rust)).collect();
        let variant_docs = methods.iter().map(|(method, id)| {
            let gist = self.docs.gist(*id).map_or_else(String::new, |gist| format!(": {gist}"));
            format!(" `{method}` ([`{}`]){gist}", self.def(*id).rust)
        });
        let as_str = if variants.is_empty() { quote!(match self {}) } else { quote!(Self::NAMES[self as usize]) };
        let lookup = if variants.is_empty() {
            quote!(::std::result::Result::Err(::mcpgen_core::Error::new(::mcpgen_core::ErrorKind::Uninhabited)))
        } else {
            quote!(::mcpgen_core::codec::variant(text, Self::NAMES).map(|index| Self::ALL[index]))
        };
        let text = binding("text", &lookup);
        let names = (!variants.is_empty()).then(|| quote!(const NAMES: &'static [&'static str] = &[#(#texts),*];));
        let tokens = quote! {
            #[doc = #docs]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum #rust { #(#[doc = #variant_docs] #variants,)* }

            impl #rust {
                #names
                /// All methods, in the order of the schema.
                pub const ALL: &'static [Self] = &[#(Self::#variants),*];

                /// The method on the wire.
                #[must_use]
                pub const fn as_str(self) -> &'static str {
                    #as_str
                }
            }
            impl ::std::fmt::Display for #rust {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    f.pad(self.as_str())
                }
            }
            impl ::std::str::FromStr for #rust {
                type Err = ::mcpgen_core::Error;
                fn from_str(#text: &str) -> ::mcpgen_core::codec::Result<Self> {
                    #lookup
                }
            }
        };
        self.item_in_messages(vec![name.to_owned()], tokens)
    }

    /// What the envelope asks of a direction's messages.
    fn message_set(&self, id: TypeId, messages: Messages, union: &Union) -> Item {
        let name = ident(&self.def(id).rust);
        let methods = self.methods(union);
        let variants: Vec<_> = union.variants.iter().map(|variant| ident(&variant.rust)).collect();
        let texts: Vec<&String> = methods.iter().map(|(method, _)| method).collect();
        let method = if variants.is_empty() {
            quote!(match *self {})
        } else {
            quote!(match self { #(Self::#variants(_) => #texts,)* })
        };
        let of_method = if variants.is_empty() || !self.is_by_method(union) {
            quote!(::mcpgen_core::codec::Decode::decode(json))
        } else {
            self.build_variant(union)
        };
        let index = binding("index", &of_method);
        let set_trait = if messages.requests { quote!(RequestSet) } else { quote!(NotificationSet) };
        let has_id = messages.requests && methods.iter().any(|(_, type_id)| self.has_member(*type_id, "id"));
        let set_id = has_id.then(|| {
            let set = methods.iter().zip(&variants).map(|((_, type_id), variant)| self.set_id(*type_id, variant));
            quote!(fn set_id(&mut self, id: ::mcpgen_core::RequestId) { match self { #(#set)* } })
        });
        let tokens = quote! {
            impl ::mcpgen_core::MethodSet for #name {
                const METHODS: &'static [&'static str] = &[#(#texts),*];

                fn of_method(
                    #index: usize,
                    json: ::mcpgen_core::codec::Cursor<'_>,
                ) -> ::mcpgen_core::codec::Result<Self> {
                    #of_method
                }
                fn method(&self) -> &'static str {
                    #method
                }
            }
            impl ::mcpgen_core::#set_trait for #name { #set_id }
        };
        self.item_in_messages(Vec::new(), tokens)
    }

    /// Where a revision's id is not the core's `RequestId`, the value is carried over as JSON.
    fn set_id(&self, type_id: TypeId, variant: &syn::Ident) -> TokenStream {
        let body = self.protocol.as_struct(&Type::Named(type_id));
        let member = body.and_then(|body| body.members.iter().find(|member| member.wire == "id"));
        let Some(Member { rust, required, boxed, content: Content::Value(content), .. }) = member else {
            return quote!(Self::#variant(_) => {});
        };
        let field = ident(rust);
        let is_core = matches!(self.protocol.follow(content), Type::Named(id)
            if self.protocol.types[*id].shape == Shape::Core("RequestId"));
        if is_core && !boxed {
            let value = if *required { quote!(id) } else { quote!(::std::option::Option::Some(id)) };
            quote!(Self::#variant(request) => request.#field = #value,)
        } else {
            let value = if *required { quote!(value) } else { quote!(::std::option::Option::Some(value)) };
            quote! {
                Self::#variant(request) => {
                    let value = ::mcpgen_core::to_value(&id).and_then(::mcpgen_core::from_value);
                    if let ::std::result::Result::Ok(value) = value {
                        request.#field = #value;
                    }
                }
            }
        }
    }

    fn has_member(&self, type_id: TypeId, wire: &str) -> bool {
        self.protocol
            .as_struct(&Type::Named(type_id))
            .is_some_and(|body| body.members.iter().any(|member| member.wire == wire))
    }

    fn envelope(&self, side: Side, names: &mut Namespace) -> Option<Item> {
        let (name, docs) = match side {
            Side::Client => ("ClientMessage", " A message that a client sends, as it stands on the wire."),
            Side::Server => ("ServerMessage", " A message that a server sends, as it stands on the wire."),
        };
        let set = |requests: bool| {
            let definition = Messages { sender: side, requests }.definition();
            self.protocol.types.iter().find(|def| def.name == definition).map(|def| ident(&def.rust))
        };
        let (requests, notifications) = (set(true)?, set(false)?);
        let name = names.claim(name);
        let rust = ident(&name);
        let tokens = quote!(#[doc = #docs] pub type #rust = ::mcpgen_core::Message<#requests, #notifications>;);
        Some(self.item_in_messages(vec![name], tokens))
    }

    fn revision(&self) -> TokenStream {
        match &self.options.vendored {
            Some(module) => {
                let constant = format_ident!("{}", module.to_uppercase());
                quote!(::mcpgen_core::Revision::#constant)
            }
            None => {
                let revision = &self.options.revision;
                quote!(::mcpgen_core::Revision::custom(#revision))
            }
        }
    }

    fn params(&mut self, params: Option<&Params>) -> Result<TokenStream, Error> {
        Ok(match params {
            None => quote!(::std::option::Option<::mcpgen_core::Value>),
            Some(Params { content, required }) => {
                let target = self.resolver.resolve(content)?;
                if *required { quote!(#target) } else { quote!(::std::option::Option<#target>) }
            }
        })
    }

    /// What a request or notification is to dispatchers, by its type.
    pub(super) fn method_impls(&mut self, share: &Share) -> Result<BTreeMap<TypeId, TokenStream>, Error> {
        let mut impls = BTreeMap::new();
        for request in &self.protocol.requests {
            let def = &self.protocol.types[request.type_id];
            if !share.has(&def.area) {
                continue;
            }
            let (name, method, revision) = (ident(&def.rust), &request.method, self.revision());
            let params = self.params(request.params.as_ref())?;
            let result = self.resolver.resolve(&request.result)?;
            let mut tokens = quote! {
                impl ::mcpgen_core::Request for #name {
                    const METHOD: &'static str = #method;
                    const REVISION: ::mcpgen_core::Revision = #revision;
                    type Params = #params;
                    type Result = #result;
                }
            };
            if let Some(task) = &request.task_result {
                let task = self.resolver.resolve(task)?;
                tokens.extend(quote!(impl ::mcpgen_core::TaskRequest for #name { type TaskResult = #task; }));
            }
            impls.insert(request.type_id, tokens);
        }
        for notification in &self.protocol.notifications {
            let def = &self.protocol.types[notification.type_id];
            if !share.has(&def.area) {
                continue;
            }
            let (name, method, revision) = (ident(&def.rust), &notification.method, self.revision());
            let params = self.params(notification.params.as_ref())?;
            let tokens = quote! {
                impl ::mcpgen_core::Notification for #name {
                    const METHOD: &'static str = #method;
                    const REVISION: ::mcpgen_core::Revision = #revision;
                    type Params = #params;
                }
            };
            impls.insert(notification.type_id, tokens);
        }
        Ok(impls)
    }

    fn error_codes(&self, names: &mut Namespace) -> Vec<Item> {
        let mut items = Vec::new();
        for error in &self.protocol.error_codes {
            let name = names.claim(&error.rust);
            let (rust, code) = (ident(&name), proc_macro2::Literal::i64_unsuffixed(error.code));
            let docs = format!(" The error code of [`{}`].", self.def(error.type_id).rust);
            let tokens = quote! {
                #[doc = #docs]
                pub const #rust: ::mcpgen_core::ErrorCode = ::mcpgen_core::ErrorCode(#code);
            };
            items.push(self.item_in_messages(vec![name], tokens));
        }
        items
    }
}
