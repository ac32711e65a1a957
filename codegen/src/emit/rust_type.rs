//! Resolves type expressions to Rust types. Only this file uses typify.
//!
//! Every named type is registered with typify as a replacement, so typify only combines these types into lists, maps
//! and options. The keys are `T0`, `T1` and so on, which typify does not rename. It is an error if typify defines a
//! type itself. Numbers and formats never reach typify.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcpgen_model::{Protocol, Type};
use mcpgen_schema::Error;
use schemars::schema::Schema;
use serde_json::{Value, json};
use typify::{TypeSpace, TypeSpaceImpl, TypeSpaceSettings};

/// Placeholder for the path of the core in typify's output. [`super::scope`] replaces it.
pub(super) const CORE: &str = "mcpgen_core";

/// The Rust types for scalars and core types, keyed by the variant name in [`Type`].
const LEAVES: &[(&str, &str)] = &[
    ("Any", "::mcpgen_core::Json"),
    ("Never", "::mcpgen_core::Never"),
    ("Signed", "i64"),
    ("Unsigned", "u64"),
    ("Number", "::mcpgen_core::Number"),
    ("Object", "::mcpgen_core::JsonObject"),
];

pub(super) struct Resolver {
    space: TypeSpace,
    known: HashMap<Type, syn::Type>,
}

impl Resolver {
    pub(super) fn new(protocol: &Protocol) -> Result<Self, Error> {
        guard("the type names", || {
            let mut settings = TypeSpaceSettings::default();
            settings.with_map_type(format!("::{CORE}::Map"));
            let mut definitions = Vec::new();
            let named = protocol.types.iter().enumerate().map(|(id, def)| (format!("T{id}"), def.rust.clone()));
            let leaves = LEAVES.iter().map(|(key, path)| ((*key).to_owned(), (*path).to_owned()));
            for (key, path) in named.chain(leaves) {
                settings.with_replacement(&key, path, std::iter::empty::<TypeSpaceImpl>());
                definitions.push((key, Schema::Bool(true)));
            }
            let mut space = TypeSpace::new(&settings);
            space.add_ref_types(definitions).map_err(|error| error.to_string())?;
            Ok(Resolver { space, known: HashMap::new() })
        })
    }

    /// Returns the Rust type for a type expression, with absolute paths. Core types are addressed via the path
    /// [`CORE`].
    pub(super) fn resolve(&mut self, content: &Type) -> Result<syn::Type, Error> {
        if let Some(known) = self.known.get(content) {
            return Ok(known.clone());
        }
        let space = &mut self.space;
        let resolved: syn::Type = guard("a type expression", || {
            let schema = serde_json::from_value(schema(content)).map_err(|error| error.to_string())?;
            let id = space.add_type(&schema).map_err(|error| error.to_string())?;
            let found = space.get_type(&id).map_err(|error| error.to_string())?;
            if matches!(
                found.details(),
                typify::TypeDetails::Struct(_) | typify::TypeDetails::Enum(_) | typify::TypeDetails::Newtype(_)
            ) {
                return Err(format!("typify defined `{}` for {content:?}", found.ident()));
            }
            syn::parse2(found.ident()).map_err(|error| error.to_string())
        })?;
        self.known.insert(content.clone(), resolved.clone());
        Ok(resolved)
    }
}

fn guard<T>(item: &str, ask: impl FnOnce() -> Result<T, String>) -> Result<T, Error> {
    let answer = catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|_| Err("typify panicked".to_owned()));
    answer.map_err(|why| Error::Defect(format!("mcpgen found no Rust type for {item}: {why}")))
}

fn schema(content: &Type) -> Value {
    match content {
        Type::Named(id) => json!({"$ref": format!("#/definitions/T{id}")}),
        Type::Null => json!({"type": "null"}),
        Type::Boolean => json!({"type": "boolean"}),
        Type::String => json!({"type": "string"}),
        Type::List(inner) => json!({"type": "array", "items": schema(inner)}),
        Type::Map(inner) => json!({"type": "object", "additionalProperties": schema(inner)}),
        Type::Nullable(inner) => json!({"oneOf": [schema(inner), {"type": "null"}]}),
        leaf => json!({"$ref": format!("#/definitions/{leaf:?}")}),
    }
}

#[cfg(test)]
mod tests {
    use super::guard;

    #[test]
    fn reports_a_panic_inside_typify() {
        let error = guard::<()>("a type expression", || panic!("oops")).expect_err("it panics").to_string();
        assert!(error.contains("found no Rust type for a type expression: typify panicked"), "{error}");
    }
}
