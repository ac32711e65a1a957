//! Lowers `type`, `enum` and `const`, and combines them with the keywords of each JSON type.

use std::collections::BTreeSet;

use super::{Keywords, Lower, Typed, and};
use crate::check::Check;
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::normal::{Kind, Schema};

/// The order of the variants of a schema without `type`.
const TYPES: &[&str] = &["null", "boolean", "number", "string", "array", "object"];

const MAX_VALUES: usize = 5_000;

impl Lower<'_> {
    /// Lowers everything except references and combinators. Adds all assertions to `checks`, and to `untyped` those
    /// that the returned schema does not express.
    pub(super) fn types(&mut self, of: Keywords<'_>, checks: &mut Vec<Check>, untyped: &mut Vec<Check>) -> Schema {
        let names = self.type_names(of);
        let types: JsonTypes = names.iter().map(|name| JsonTypes::named(name)).collect();
        let values = self.values(of);
        let has_types = |value: &Json| types.contains(JsonTypes::of(value));
        if types != JsonTypes::ALL && !values.as_ref().is_some_and(|values| values.iter().all(has_types)) {
            checks.push(Check::Type(types));
        }
        checks.extend(values.clone().map(Check::Values));
        let (mut kinds, mut is_free) = (Vec::new(), types == JsonTypes::ALL);
        for name in names {
            let Typed { kind, is_free: is_kind_free, expressed, others } = self.one_type(name, of);
            is_free &= is_kind_free && (others.is_empty() || of.is_refinement());
            checks.extend(expressed.into_iter().chain(others.iter().cloned()));
            let kind = Schema::at(of.pointer, kind);
            if of.is_refinement() {
                untyped.extend(others);
                kinds.push(kind);
            } else {
                kinds.push(kind.checked(others));
            }
        }
        // Keywords for other types assert nothing, but their problems are reported.
        for name in TYPES.iter().filter(|name| !types.intersects(JsonTypes::named(name))) {
            self.one_type(name, of);
        }
        let schema = Schema::at(of.pointer, if is_free { Kind::Any } else { Kind::union(kinds) });
        match values {
            Some(values) => and(schema, Schema::at(of.pointer, Kind::Values(values)), of.pointer),
            None => schema,
        }
    }

    fn type_names(&mut self, of: Keywords<'_>) -> Vec<&'static str> {
        let named = match of.get("type") {
            None => return TYPES.to_vec(),
            Some(Json::Array(names)) => names.as_slice(),
            Some(name) => std::slice::from_ref(name),
        };
        if named.is_empty() {
            self.problem(of, "type", "the list is empty", "add a type");
        }
        let mut types = Vec::new();
        for name in named {
            match TYPES.iter().chain(&["integer"]).find(|known| name.as_str() == Some(known)) {
                Some(known) if !types.contains(known) => types.push(*known),
                Some(_) => {}
                None => {
                    let why = format!("{name} is not a JSON type");
                    self.problem(of, "type", why, format!("use one of integer, {}", TYPES.join(", ")));
                }
            }
        }
        if types.contains(&"number") {
            types.retain(|name| *name != "integer");
        }
        types
    }

    fn one_type(&mut self, name: &str, of: Keywords<'_>) -> Typed {
        match name {
            "null" => Typed::new(Kind::Null, [], []),
            "boolean" => Typed::new(Kind::Boolean, [], []),
            "string" => self.string(of),
            "array" => self.array(of),
            "object" => self.object(of),
            "integer" => self.number(of, Kind::Integer),
            _ => self.number(of, Kind::Number),
        }
    }

    fn values(&mut self, of: Keywords<'_>) -> Option<Vec<Json>> {
        let listed = match of.get("enum") {
            None => None,
            Some(Json::Array(values)) if values.len() > MAX_VALUES => {
                let why = format!("{} values exceed the limit of {MAX_VALUES}", values.len());
                self.problem(of, "enum", why, "use the type of the values instead");
                None
            }
            Some(Json::Array(values)) => {
                let mut seen = BTreeSet::new();
                Some(values.iter().filter(|value| seen.insert(value.key())).cloned().collect::<Vec<_>>())
            }
            Some(other) => {
                self.expected(of, "enum", "an array of values", other.type_name());
                None
            }
        };
        match (of.get("const"), listed) {
            (Some(constant), Some(listed)) if !listed.contains(constant) => Some(Vec::new()),
            (Some(constant), _) => Some(vec![constant.clone()]),
            (None, listed) => listed,
        }
    }
}
