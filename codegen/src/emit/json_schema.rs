//! Emits `schemars::JsonSchema` impls, behind the feature `schemars`. They return the schema's definitions without
//! prose ("facts").

use indexmap::IndexMap;
use mcpgen_model::{Origin, Protocol, Shape, TypeDef};
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::unescape;
use proc_macro2::TokenStream;
use quote::quote;

use super::scope::Scope;

pub(super) fn tokens(protocol: &Protocol, scope: &Scope<'_>) -> TokenStream {
    let mut definitions = protocol.facts.clone();
    let mut pairs = Vec::new();
    for (id, def) in protocol.types.iter().enumerate() {
        let has_impl = matches!(def.shape, Shape::Alias(..) | Shape::Core(_)) || protocol.is_shared(id);
        if has_impl || def.origin == Origin::Absent {
            continue;
        }
        if matches!(def.origin, Origin::Inline(_)) {
            definitions.insert(def.name.clone(), inline(&protocol.facts, def));
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

/// Returns the schema of an inline type. If the type comes from an intersection, the document has no schema for it, so
/// the result accepts everything.
fn inline(facts: &IndexMap<String, Json>, def: &TypeDef) -> Json {
    let mut place = def.pointer.splitn(4, '/').skip(2);
    let definition = place.next().and_then(|name| facts.get(&unescape(name)));
    let below = place.next().map(|rest| format!("/{rest}"));
    definition.and_then(|it| it.pointer(&below.unwrap_or_default()).cloned()).unwrap_or(Json::Bool(true))
}
