//! Finds schemas with equal structure, which become one type.

use std::collections::BTreeMap;

use mcpgen_schema::Normalised;
use mcpgen_schema::normal::{Kind, Schema};

use crate::TypeId;

/// Returns the definitions that become types and do not share their fingerprint.
pub(super) fn distinct(normalised: &Normalised) -> BTreeMap<String, TypeId> {
    let mut found: BTreeMap<String, Option<TypeId>> = BTreeMap::new();
    for (id, schema) in normalised.definitions.values().enumerate().filter(|(_, schema)| is_type(&schema.kind)) {
        found.entry(fingerprint(schema)).and_modify(|known| *known = None).or_insert(Some(id));
    }
    found.into_iter().filter_map(|(key, id)| Some((key, id?))).collect()
}

/// Returns whether a schema becomes a named type, so that a reference is better than a copy.
pub(super) fn is_type(kind: &Kind) -> bool {
    match kind {
        Kind::Object(object) => !object.properties.is_empty(),
        Kind::Values(values) => values.len() > 1,
        Kind::Union(variants) => variants.iter().all(|variant| variant.kind != Kind::Null),
        _ => false,
    }
}

/// Returns a text that is the same for schemas of equal structure and differs for all others.
pub(super) fn fingerprint(schema: &Schema) -> String {
    match &schema.kind {
        Kind::Array(array) => {
            let first: String = array.first.iter().map(|item| format!("{},", fingerprint(item))).collect();
            format!("[{first}{} {:?}]", fingerprint(&array.items), array.length)
        }
        Kind::String(_) if !schema.note.known_values.is_empty() => {
            format!("{:?} {:?}", schema.kind, schema.note.known_values)
        }
        Kind::Object(object) => {
            let mut properties: Vec<String> = object
                .properties
                .iter()
                .map(|(name, property)| {
                    format!("{name:?}{} {}", if property.required { "!" } else { "" }, fingerprint(&property.schema))
                })
                .collect();
            properties.sort_unstable();
            let pattern = object.pattern.as_ref();
            let pattern = pattern.map(|it| format!("/{:?} {},", it.pattern, fingerprint(&it.schema)));
            let additional = fingerprint(&object.additional);
            format!("{{{} {}{additional}}}", properties.join(","), pattern.unwrap_or_default())
        }
        Kind::Checked(inner, checks) => format!("<{} {checks:?}>", fingerprint(inner)),
        Kind::Union(variants) => format!("({})", variants.iter().map(fingerprint).collect::<Vec<_>>().join("|")),
        kind => format!("{kind:?}"),
    }
}
