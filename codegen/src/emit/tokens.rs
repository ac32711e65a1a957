//! Identifiers and literals.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};

use crate::json::Json;
use crate::text::names;

/// Returns an identifier, escaped if it is a keyword.
pub(crate) fn ident(name: &str) -> Ident {
    let escaped = names::escape(name);
    match escaped.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => format_ident!("{escaped}"),
    }
}

/// Returns the pattern of a variable: its name if `code` uses it, otherwise `_`.
pub(crate) fn binding(name: &str, code: &TokenStream) -> TokenStream {
    fn uses(code: TokenStream, name: &str) -> bool {
        code.into_iter().any(|token| match token {
            TokenTree::Group(group) => uses(group.stream(), name),
            TokenTree::Ident(ident) => ident == name,
            _ => false,
        })
    }
    if uses(code.clone(), name) { format_ident!("{name}").into_token_stream() } else { quote!(_) }
}

/// Returns a JSON value as `codec::Literal`.
pub(crate) fn literal(json: &Json) -> TokenStream {
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

pub(crate) fn number_literal(number: &serde_json::Number) -> TokenStream {
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
            // An `f64` token cannot be negative, so the number is parsed from text.
            let text = format!("{:?}", value.unwrap_or_default());
            let value: TokenStream = text.parse().unwrap_or_else(|_| quote!(0.0));
            quote!(::mcpgen_core::codec::Literal::Float(#value))
        }
    }
}
