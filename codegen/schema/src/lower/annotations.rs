//! Reads annotations: keywords that assert nothing.

use super::Keywords;
use crate::json::Json;
use crate::json::pointer::unescape;
use crate::normal::{Discriminator, Note};

/// The maximum number of known values of an open enumeration.
const MAX_KNOWN_VALUES: usize = 1_000;

pub(super) fn note(of: Keywords<'_>) -> Note {
    Note {
        pointer: of.pointer.to_owned(),
        description: of.get("description").and_then(Json::as_str).map(str::to_owned),
        default: of.get("default").cloned(),
        deprecated: matches!(of.get("deprecated"), Some(Json::Bool(true))),
        known_values: known_values(of),
        discriminator: discriminator(of),
    }
}

/// Reads `_enum`.
fn known_values(of: Keywords<'_>) -> Vec<String> {
    let Some(Json::Array(values)) = of.get("_enum") else { return Vec::new() };
    let mut known: Vec<String> = Vec::new();
    for value in values.iter().filter_map(Json::as_str).take(MAX_KNOWN_VALUES) {
        if !known.iter().any(|other| other == value) {
            known.push(value.to_owned());
        }
    }
    known
}

/// Reads `discriminator`, as OpenAPI defines it.
pub(super) fn discriminator(of: Keywords<'_>) -> Option<Discriminator> {
    let json = of.get("discriminator")?;
    let property = json.get("propertyName")?.as_str()?.to_owned();
    let mapping = json.get("mapping").and_then(Json::as_object).into_iter().flatten();
    let mapping = mapping.filter_map(|(value, target)| {
        let name = target.as_str()?.rsplit(['/', '#']).next()?;
        Some((value.clone(), unescape(name)))
    });
    Some(Discriminator { property, mapping: mapping.collect() })
}
