//! Implementations of `schemars::JsonSchema`, behind the feature `schemars`. They return the definitions of the schema
//! without prose ("facts").

use indexmap::IndexMap;
use mcpgen_model::{Origin, Protocol, Shape, TypeDef};
use mcpgen_schema::json::Json;
use proc_macro2::TokenStream;
use quote::quote;

use super::scope::Scope;

/// Emits the facts, and the implementations for all types that are not aliases.
pub(super) fn tokens(protocol: &Protocol, scope: &Scope<'_>) -> TokenStream {
    let mut definitions = protocol.facts.clone();
    let facts = Json::Object(protocol.facts.clone());
    let mut pairs = Vec::new();
    for (id, def) in protocol.types.iter().enumerate() {
        let has_impl = matches!(def.shape, Shape::Alias(..) | Shape::Core(_)) || protocol.is_shared(id);
        if has_impl || def.origin == Origin::Absent {
            continue;
        }
        if matches!(def.origin, Origin::Inline(_)) {
            definitions.insert(def.name.clone(), inline(&facts, def));
        }
        let (name, rust) = (&def.name, scope.module_type(&def.rust));
        pairs.push(quote!(#name => #rust));
    }
    let facts = Json::Object(IndexMap::from([("$defs".to_owned(), Json::Object(definitions))])).to_string();
    let codec = scope.core("codec");
    quote! {
        /// The definitions of the revision, without prose.
        const FACTS: &str = #facts;
        #codec::json_schema_impls! { FACTS; #(#pairs),* }
    }
}

/// Returns the schema of an inline type. If the type results from an intersection, it has no schema in the document,
/// and the returned one accepts everything.
fn inline(facts: &Json, def: &TypeDef) -> Json {
    let pointer = def.pointer.splitn(3, '/').nth(2).map(|rest| format!("/{rest}"));
    pointer.and_then(|pointer| facts.pointer(&pointer).cloned()).unwrap_or(Json::Bool(true))
}
