//! Builds identifiers and literals.

use mcpgen_model::text::names;
use mcpgen_schema::json::Json;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote};

pub(crate) fn ident(name: &str) -> Ident {
    let escaped = names::escape(name);
    match escaped.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => format_ident!("{escaped}"),
    }
}

pub(crate) fn literal(json: &Json) -> TokenStream {
    match json {
        Json::Null => quote!(Null),
        Json::Bool(value) => quote!(Bool(#value)),
        Json::Number(number) => number_literal(number),
        Json::String(text) => quote!(Str(#text)),
        other => {
            let text = other.to_string();
            quote!(Json(#text))
        }
    }
}

pub(crate) fn number_literal(number: &serde_json::Number) -> TokenStream {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(value), ..) => {
            let value = proc_macro2::Literal::i64_unsuffixed(value);
            quote!(Integer(#value))
        }
        (None, Some(value), _) => {
            let value = proc_macro2::Literal::u64_unsuffixed(value);
            quote!(Unsigned(#value))
        }
        (None, None, value) => {
            // An `f64` token cannot be negative, so the token is parsed from text.
            let text = format!("{:?}", value.unwrap_or_default());
            let value: TokenStream = text.parse().unwrap_or_else(|_| quote!(0.0));
            quote!(Float(#value))
        }
    }
}
