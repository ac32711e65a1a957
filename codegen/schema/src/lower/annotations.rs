//! Reads annotations: keywords that assert nothing.

use indexmap::IndexSet;

use super::Keywords;
use crate::json::Json;
use crate::json::pointer::unescape;
use crate::normal::{Discriminator, Note};

const MAX_KNOWN_VALUES: usize = 1_000;

impl Keywords<'_> {
    pub(super) fn note(self) -> Note {
        Note {
            pointer: self.pointer.to_owned(),
            description: self.get("description").and_then(Json::as_str).map(str::to_owned),
            default: self.get("default").cloned(),
            deprecated: self.get("deprecated") == Some(&Json::Bool(true)),
            known_values: self.known_values(),
            value_names: self.value_names(),
            discriminator: self.discriminator(),
        }
    }

    fn known_values(self) -> Vec<String> {
        let Some(Json::Array(values)) = self.get("_enum") else { return Vec::new() };
        let known: IndexSet<&str> = values.iter().filter_map(Json::as_str).take(MAX_KNOWN_VALUES).collect();
        known.into_iter().map(str::to_owned).collect()
    }

    /// Reads `x-enum-varnames`, which names the values of `enum`.
    fn value_names(self) -> Vec<(Json, String)> {
        match (self.get("enum"), self.get("x-enum-varnames")) {
            (Some(Json::Array(values)), Some(Json::Array(names))) if values.len() == names.len() => {
                let named = values.iter().zip(names);
                named.filter_map(|(value, name)| Some((value.clone(), name.as_str()?.to_owned()))).collect()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn discriminator(self) -> Option<Discriminator> {
        let json = self.get("discriminator")?;
        let property = json.get("propertyName")?.as_str()?.to_owned();
        let mapping = json.get("mapping").and_then(Json::as_object).into_iter().flatten();
        let mapping = mapping.filter_map(|(value, target)| {
            let name = target.as_str()?.rsplit(['/', '#']).next()?;
            Some((value.clone(), unescape(name)))
        });
        Some(Discriminator { property, mapping: mapping.collect() })
    }
}
