//! The normal form of schemas, which all later stages work with.
//!
//! There is no `allOf`, no keyword next to a reference and no list of types, and each set of values has one
//! representation.

use std::convert::Infallible;

use indexmap::IndexMap;

use crate::check::{Check, MemberChecks};
use crate::json::Json;
use crate::json_types::JsonTypes;
pub use crate::limits::{Bound, Bounds, Length};
pub use crate::limits::{first_integer, last_integer};
use crate::text::pattern;

/// A normalised schema with its annotations.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The accepted values.
    pub kind: Kind,
    /// The annotations.
    pub note: Note,
}

/// Annotations: they do not affect which values are accepted.
#[derive(Clone, Debug, Default)]
pub struct Note {
    /// The JSON pointer of the schema in its document.
    pub pointer: String,
    /// The `description`.
    pub description: Option<String>,
    /// The `default`.
    pub default: Option<Json>,
    /// Whether `deprecated` is set.
    pub deprecated: bool,
    /// Some of the accepted strings, from `_enum`.
    pub known_values: Vec<String>,
    /// Names for the values of `enum`, from `x-enum-varnames`.
    pub value_names: Vec<(Json, String)>,
    /// The `discriminator`.
    pub discriminator: Option<Discriminator>,
}

/// The property whose value selects a union's variant, as in OpenAPI.
#[derive(Clone, Debug, PartialEq)]
pub struct Discriminator {
    /// The name of the property.
    pub property: String,
    /// Values of the property, each with the definition it selects.
    pub mapping: Vec<(String, String)>,
}

/// The set of values that a schema accepts.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Every JSON value.
    Any,
    /// No JSON value.
    Never,
    /// `null`.
    Null,
    /// `true` and `false`.
    Boolean,
    /// Strings of a certain length, in code points.
    String(Length),
    /// Numbers without a fractional part, within bounds.
    Integer(Bounds),
    /// Numbers within bounds.
    Number(Bounds),
    /// Arrays.
    Array(Box<Array>),
    /// Objects.
    Object(Box<Object>),
    /// One of these values.
    Values(Vec<Json>),
    /// Values that at least one variant accepts. There are two or more variants, none of them a union, `Any` or
    /// `Never`.
    Union(Vec<Schema>),
    /// Values that the named definition accepts.
    Ref(String),
    /// Values that the inner schema accepts and that pass all checks. Checks do not influence the Rust type.
    Checked(Box<Schema>, Vec<Check>),
    /// Values that all subschemas of an `allOf` accept. Exists only until [`crate::algebra::Algebra::resolve`] runs.
    All(Vec<Schema>),
}

/// An array schema: leading items with a schema each, then any number of items that share one schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The schemas of the leading items.
    pub first: Vec<Schema>,
    /// The schema of every item after `first`.
    pub items: Schema,
    /// The allowed number of items.
    pub length: Length,
}

/// An object schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The named members, in document order. If `pattern` matches a name, the pattern's schema is already merged in.
    pub properties: IndexMap<String, Property>,
    /// Members whose names match a pattern.
    pub pattern: Option<PatternProperty>,
    /// The schema of all other members.
    pub additional: Schema,
}

/// The members whose names match a regular expression.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternProperty {
    /// An ECMA-262 regular expression.
    pub pattern: String,
    /// The schema of these members.
    pub schema: Schema,
}

/// A named member.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Whether the member must be present.
    pub required: bool,
    /// The member's schema.
    pub schema: Schema,
}

impl PartialEq for Schema {
    /// Ignores annotations.
    fn eq(&self, other: &Schema) -> bool {
        self.kind == other.kind
    }
}

impl Schema {
    /// Creates a schema at a JSON pointer, without other annotations.
    pub fn at(pointer: impl Into<String>, kind: Kind) -> Schema {
        Schema { kind, note: Note { pointer: pointer.into(), ..Note::default() } }
    }

    /// Adds checks that are not there yet.
    pub fn checked(self, checks: Vec<Check>) -> Schema {
        if checks.is_empty() {
            return self;
        }
        let note = self.note.clone();
        let kind = match self.kind {
            Kind::Never => Kind::Never,
            Kind::Checked(inner, mut all) => {
                all.extend(checks.into_iter().filter(|check| !all.contains(check)).collect::<Vec<_>>());
                Kind::Checked(inner, all)
            }
            _ => Kind::Checked(Box::new(self), checks),
        };
        Schema { kind, note }
    }

    /// Returns the schema without its checks, which accepts at least as much.
    pub fn unchecked(&self) -> &Schema {
        match &self.kind {
            Kind::Checked(inner, _) => inner,
            _ => self,
        }
    }

    /// Returns a copy with every check replaced, or removed if `replace` returns `None`.
    #[must_use]
    pub fn map_checks(&self, replace: &dyn Fn(&Check) -> Option<Check>) -> Schema {
        let kind = match &self.kind {
            Kind::Checked(inner, checks) => {
                inner.map_checks(replace).checked(checks.iter().filter_map(replace).collect()).kind
            }
            kind => {
                let Ok(kind) = kind.try_map(&mut |part| Ok::<_, Infallible>(part.map_checks(replace)));
                kind
            }
        };
        Schema { kind, note: self.note.clone() }
    }

    /// Returns an equivalent check.
    pub fn to_check(&self) -> Check {
        let typed = |types, checks: Vec<Check>| Check::all([Check::Type(types)].into_iter().chain(checks).collect());
        match &self.kind {
            Kind::Any => Check::Anything,
            Kind::Never => Check::Nothing,
            Kind::Null => Check::Type(JsonTypes::NULL),
            Kind::Boolean => Check::Type(JsonTypes::BOOLEAN),
            Kind::String(length) => typed(JsonTypes::STRING, Vec::from_iter(Check::of_length(length, Check::Length))),
            Kind::Integer(bounds) => typed(JsonTypes::INTEGER, Vec::from_iter(Check::of_bounds(bounds))),
            Kind::Number(bounds) => typed(JsonTypes::NUMBER, Vec::from_iter(Check::of_bounds(bounds))),
            Kind::Array(array) => {
                let length = Check::of_length(&array.length, Check::ItemCount);
                typed(JsonTypes::ARRAY, length.into_iter().chain(array.items_check()).collect())
            }
            Kind::Object(object) => typed(JsonTypes::OBJECT, object.checks()),
            Kind::Values(values) => Check::Values(values.clone()),
            Kind::Union(variants) => Check::Any(variants.iter().map(Schema::to_check).collect()),
            Kind::Ref(name) => Check::Definition(name.clone()),
            Kind::Checked(inner, checks) => {
                Check::all([inner.to_check()].into_iter().chain(checks.iter().cloned()).collect())
            }
            Kind::All(schemas) => Check::all(schemas.iter().map(Schema::to_check).collect()),
        }
    }

    /// Returns the schema that accepts everything.
    pub fn any() -> Schema {
        Schema::at("", Kind::Any)
    }
}

impl Kind {
    /// Creates a union in normal form: flat, without `Never`, and `Any` if a variant is `Any`. A union of string
    /// constants, as in `{"anyOf": [{"const": "a"}, {"const": "b"}]}`, becomes an enum.
    pub fn union(variants: Vec<Schema>) -> Kind {
        let mut flat: Vec<Schema> = Vec::new();
        for variant in variants {
            match variant.kind {
                Kind::Never => {}
                Kind::Any => return Kind::Any,
                Kind::Union(inner) => flat.extend(inner),
                _ => flat.push(variant),
            }
        }
        match flat.len() {
            0 => Kind::Never,
            1 => flat.remove(0).kind,
            _ => texts(&flat).map_or(Kind::Union(flat), Kind::Values),
        }
    }

    /// Creates an array schema, or `Never` if no array satisfies it.
    pub(crate) fn array(mut array: Array) -> Kind {
        if !array.first.is_empty() {
            // If an item accepts no value, the array has to end before it.
            let end = array.first.iter().position(|item| item.kind == Kind::Never);
            let end = end.or((array.items.kind == Kind::Never).then_some(array.first.len()));
            let max = end.map(|end| end as u64).into_iter().chain(array.length.max).min();
            array.length.max = max;
            array.first.truncate(max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX));
        }
        let is_impossible = array.length.min > array.first.len() as u64 && array.items.kind == Kind::Never;
        if array.length.is_empty() || is_impossible { Kind::Never } else { Kind::Array(Box::new(array)) }
    }

    /// Creates an object schema, or `Never` if no object satisfies it.
    pub(crate) fn object(object: Object) -> Kind {
        if object.properties.values().any(|property| property.required && property.schema.kind == Kind::Never) {
            Kind::Never
        } else {
            Kind::Object(Box::new(object))
        }
    }

    /// Returns a copy with every subschema replaced.
    pub(crate) fn try_map<E>(&self, part: &mut dyn FnMut(&Schema) -> Result<Schema, E>) -> Result<Kind, E> {
        Ok(match self {
            Kind::Array(array) => {
                let first = array.first.iter().map(&mut *part).collect::<Result<_, _>>()?;
                Kind::array(Array { first, items: part(&array.items)?, length: array.length.clone() })
            }
            Kind::Object(object) => {
                let mut properties = IndexMap::new();
                for (name, Property { required, schema }) in &object.properties {
                    properties.insert(name.clone(), Property { required: *required, schema: part(schema)? });
                }
                let pattern = object.pattern.as_ref().map(|it| it.try_map(&mut *part)).transpose()?;
                Kind::object(Object { properties, pattern, additional: part(&object.additional)? })
            }
            Kind::Union(variants) => Kind::union(variants.iter().map(part).collect::<Result<_, _>>()?),
            Kind::All(schemas) => Kind::All(schemas.iter().map(part).collect::<Result<_, _>>()?),
            Kind::Checked(inner, checks) => part(inner)?.checked(checks.clone()).kind,
            other => other.clone(),
        })
    }
}

/// Merges enums of strings into one. Returns `None` if a variant is anything else.
fn texts(variants: &[Schema]) -> Option<Vec<Json>> {
    let mut all: Vec<Json> = Vec::new();
    for variant in variants {
        let Kind::Values(values) = &variant.kind else { return None };
        for value in values {
            value.as_str()?;
            if !all.contains(value) {
                all.push(value.clone());
            }
        }
    }
    Some(all)
}

impl Array {
    /// Returns the schema of the item at `index`.
    pub fn schema_of(&self, index: usize) -> &Schema {
        self.first.get(index).unwrap_or(&self.items)
    }

    /// Returns the check on the items, or `None` if every item is allowed.
    pub fn items_check(&self) -> Option<Check> {
        let first: Vec<Check> = self.first.iter().map(Schema::to_check).collect();
        let rest = Some(self.items.to_check()).filter(|check| *check != Check::Anything);
        let is_free = rest.is_none() && first.iter().all(|check| *check == Check::Anything);
        (!is_free).then(|| Check::Items(first, rest.map(Box::new)))
    }
}

impl PatternProperty {
    /// Returns the same pattern with another schema.
    pub fn try_map<E>(&self, change: impl FnOnce(&Schema) -> Result<Schema, E>) -> Result<PatternProperty, E> {
        Ok(PatternProperty { pattern: self.pattern.clone(), schema: change(&self.schema)? })
    }
}

impl Object {
    /// Returns the schema of a member, whether the object names it or not.
    pub fn schema_of(&self, name: &str) -> &Schema {
        self.properties.get(name).map_or_else(|| self.schema_of_other(name), |property| &property.schema)
    }

    /// Returns the schema of a member that the object does not name.
    pub fn schema_of_other(&self, name: &str) -> &Schema {
        match &self.pattern {
            Some(it) if pattern::matches(&it.pattern, name) == Ok(true) => &it.schema,
            _ => &self.additional,
        }
    }

    /// Returns the schemas of members that the object does not name.
    pub fn others(&self) -> impl Iterator<Item = &Schema> {
        self.pattern.iter().map(|it| &it.schema).chain([&self.additional])
    }

    /// Returns the checks on the members.
    pub fn checks(&self) -> Vec<Check> {
        let required = self.properties.iter().filter(|(_, property)| property.required);
        let required: Vec<String> = required.map(|(name, _)| name.clone()).collect();
        let named = self.properties.iter().map(|(name, property)| (name.clone(), property.schema.to_check()));
        let patterns = self.pattern.iter().map(|it| (it.pattern.clone(), it.schema.to_check()));
        let members = MemberChecks {
            named: named.collect(),
            patterns: patterns.collect(),
            others: Some(self.additional.to_check()).filter(|check| *check != Check::Anything),
        };
        let mut known = members.named.iter().chain(&members.patterns);
        let is_free = members.others.is_none() && known.all(|(_, check)| *check == Check::Anything);
        let required = (!required.is_empty()).then_some(Check::Required(required));
        required.into_iter().chain((!is_free).then(|| Check::Members(Box::new(members)))).collect()
    }

    /// Returns whether the member must be present.
    pub fn requires(&self, name: &str) -> bool {
        self.properties.get(name).is_some_and(|property| property.required)
    }
}
