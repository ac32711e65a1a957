//! Stage 4: the model as Rust items, each for one file. Paths are absolute here; [`crate::files`] makes them readable.

mod blanks;
mod bounded;
mod docs;
mod enums;
mod json_schema;
mod messages;
pub mod methods;
pub mod revisions;
mod structs;
mod unions;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};

use crate::area::MESSAGES;
use crate::error::Error;
use crate::json::Json;
use crate::naming;
use crate::protocol::{AliasRule, Protocol, Shape, Type, TypeDef, TypeId};
use crate::share::Share;
use crate::typify::Resolver;

use blanks::Blanks;

pub use docs::Docs;
pub(crate) use json_schema::AREA as JSON_SCHEMA_AREA;

/// What the caller decides about the generated code.
#[derive(Clone, Debug)]
pub struct Options {
    /// The revision's name.
    pub revision: String,
    /// Where the support core is found: `crate`, or `::mcpgen_types`.
    pub support: String,
    /// The command that generates this code, for the header of each file.
    pub command: String,
    /// The schema file as the header names it; never a path of one machine.
    pub source: String,
    /// The module of `mcpgen-types` that this is, if it is one of the vendored revisions: types then link to the official
    /// pages and have `JsonSchema` impls.
    pub vendored: Option<String>,
}

/// A Rust item and the file it belongs to.
pub struct Item {
    /// The file, without `.rs`.
    pub area: String,
    /// The names that it exports.
    pub names: Vec<String>,
    /// The type that needs serde's traits, if it does.
    pub serde: Option<String>,
    /// The code.
    pub tokens: TokenStream,
}

/// All items of a revision, in a stable order.
///
/// # Errors
/// [`Error::Emit`], which is a defect of mcpgen.
pub fn items(protocol: &Protocol, options: &Options) -> Result<Vec<Item>, Error> {
    some(protocol, options, &Share::All)
}

/// All items, of which those of other areas have no code.
pub(crate) fn some(protocol: &Protocol, options: &Options, share: &Share) -> Result<Vec<Item>, Error> {
    let (docs, resolver) = (Docs::new(protocol, options), Resolver::new(protocol)?);
    let mut emitter = Emitter { protocol, options, docs, resolver, blanks: Blanks::new(protocol) };
    let mut items = Vec::new();
    let mut order: Vec<TypeId> = (0..protocol.types.len()).collect();
    // Inline types stand right after what they were found in: by pointer, which sorts parents first.
    order.sort_by(|a, b| protocol.types[*a].pointer.cmp(&protocol.types[*b].pointer).then(a.cmp(b)));
    let mut methods = emitter.method_impls(share)?;
    for id in order {
        let mut item = emitter.item(id, share)?;
        item.tokens.extend(methods.remove(&id));
        items.push(item);
    }
    items.extend(emitter.messages()?);
    if options.vendored.is_some() {
        items.push(json_schema::item(protocol, share));
    }
    Ok(items)
}

/// Writes items. Each kind of shape has a file of its own below.
struct Emitter<'a> {
    protocol: &'a Protocol,
    options: &'a Options,
    docs: Docs<'a>,
    resolver: Resolver,
    blanks: Blanks,
}

impl Emitter<'_> {
    fn item(&mut self, id: TypeId, share: &Share) -> Result<Item, Error> {
        let def = &self.protocol.types[id];
        let tokens = match &def.shape {
            _ if !share.has(&def.area) => TokenStream::new(),
            Shape::Struct(body) => self.structure(id, body)?,
            Shape::Union(union) => self.union(id, union)?,
            Shape::Enum(values) => self.enumeration(id, values),
            Shape::Bounded(bounded) => self.bounded(id, bounded)?,
            Shape::Alias(target, rule) => self.alias(id, target, rule)?,
            Shape::Newtype(inner) => self.newtype(id, inner)?,
            Shape::Core(core) => self.core_type(id, core),
            Shape::Never => self.never(id),
        };
        let serde = !matches!(def.shape, Shape::Alias(..) | Shape::Core(_));
        Ok(Item {
            area: def.area.clone(),
            names: vec![def.rust.clone()],
            serde: serde.then(|| def.rust.clone()),
            tokens,
        })
    }

    fn alias(&mut self, id: TypeId, target: &Type, rule: &AliasRule) -> Result<TokenStream, Error> {
        let docs = self.docs.alias(id, rule);
        let name = ident(&self.protocol.types[id].rust);
        let target = self.resolver.resolve(target)?;
        Ok(quote! { #docs pub type #name = #target; })
    }

    fn core_type(&mut self, id: TypeId, core: &str) -> TokenStream {
        let docs = self.docs.definition(id);
        let name = ident(&self.protocol.types[id].rust);
        let core = ident(core);
        quote! { #docs pub type #name = ::mcpgen_core::#core; }
    }

    fn newtype(&mut self, id: TypeId, inner: &Type) -> Result<TokenStream, Error> {
        let docs = self.docs.definition(id);
        let def = &self.protocol.types[id];
        let (name, text) = (ident(&def.rust), &def.rust);
        let inner = self.resolver.resolve(inner)?;
        let in_place = self.replaced_in_place(id, quote!(Self(::mcpgen_core::codec::DecodeInPlace::blank(unread))));
        Ok(quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub struct #name(pub #inner);

            impl ::std::convert::From<#inner> for #name {
                fn from(value: #inner) -> Self {
                    Self(value)
                }
            }
            impl ::mcpgen_core::codec::Decode for #name {
                const NAME: &'static str = #text;
                fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                    ::mcpgen_core::codec::Decode::decode(json).map(Self)
                }
            }
            #in_place
            impl ::mcpgen_core::codec::Encode for #name {
                fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                    ::mcpgen_core::codec::Encode::encode(&self.0)
                }
            }
        })
    }

    fn never(&mut self, id: TypeId) -> TokenStream {
        let docs = self.docs.definition(id);
        let def = &self.protocol.types[id];
        let (name, text) = (ident(&def.rust), &def.rust);
        let in_place = self.in_place(id, None, TokenStream::new());
        quote! {
            #docs
            #[derive(Clone, Debug, PartialEq)]
            pub enum #name {}

            impl ::mcpgen_core::codec::Decode for #name {
                const NAME: &'static str = #text;
                fn decode(json: ::mcpgen_core::codec::Cursor<'_>) -> ::mcpgen_core::codec::Result<Self> {
                    ::mcpgen_core::codec::decode_in_place(json)
                }
            }
            #in_place
            impl ::mcpgen_core::codec::Encode for #name {
                fn encode(&self) -> ::mcpgen_core::codec::Node<'_> {
                    match *self {}
                }
            }
        }
    }

    fn def(&self, id: TypeId) -> &TypeDef {
        &self.protocol.types[id]
    }

    /// How a constructor or setter takes a value: its parameter type, and the expression that makes the field's value.
    fn parameter(&mut self, content: &Type, boxed: bool, name: &Ident) -> Result<(TokenStream, TokenStream), Error> {
        let target = self.resolver.resolve(content)?;
        let (parameter, value) = match self.protocol.follow(content) {
            Type::Boolean | Type::Signed | Type::Unsigned | Type::Null | Type::Never => {
                (quote!(#target), quote!(#name))
            }
            _ => (quote!(impl ::std::convert::Into<#target>), quote!(#name.into())),
        };
        let value = if boxed { quote!(::std::boxed::Box::new(#value)) } else { value };
        Ok((parameter, value))
    }
}

/// An identifier, escaped where Rust needs it.
fn ident(name: &str) -> Ident {
    let escaped = naming::escape(name);
    match escaped.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => format_ident!("{escaped}"),
    }
}

/// The pattern of a variable: its name if `code` uses it, and `_` otherwise.
fn binding(name: &str, code: &TokenStream) -> TokenStream {
    fn uses(code: TokenStream, name: &str) -> bool {
        code.into_iter().any(|token| match token {
            TokenTree::Group(group) => uses(group.stream(), name),
            TokenTree::Ident(ident) => ident == name,
            _ => false,
        })
    }
    if uses(code.clone(), name) { format_ident!("{name}").into_token_stream() } else { quote!(_) }
}

/// A JSON value as `codec::Literal`.
fn literal(json: &Json) -> TokenStream {
    match json {
        Json::Null => quote!(::mcpgen_core::codec::Literal::Null),
        Json::Bool(value) => quote!(::mcpgen_core::codec::Literal::Bool(#value)),
        Json::Number(number) => number_literal(number),
        Json::String(text) => quote!(::mcpgen_core::codec::Literal::Str(#text)),
        other => {
            let text = other.to_string();
            quote!(::mcpgen_core::codec::Literal::Json(#text))
        }
    }
}

fn number_literal(number: &serde_json::Number) -> TokenStream {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(value), ..) => {
            let value = proc_macro2::Literal::i64_unsuffixed(value);
            quote!(::mcpgen_core::codec::Literal::Integer(#value))
        }
        (None, Some(value), _) => {
            let value = proc_macro2::Literal::u64_unsuffixed(value);
            quote!(::mcpgen_core::codec::Literal::Unsigned(#value))
        }
        (None, None, value) => {
            // `f64` literals must not be negative tokens; a negative one is parsed from text.
            let text = format!("{:?}", value.unwrap_or_default());
            let value: TokenStream = text.parse().unwrap_or_else(|_| quote!(0.0));
            quote!(::mcpgen_core::codec::Literal::Float(#value))
        }
    }
}

/// The area that message enums and method enums are written to.
fn messages_area() -> String {
    MESSAGES.to_owned()
}
