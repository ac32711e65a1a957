//! The normal form of a schema, the result of stage 2.
//!
//! There is no `allOf`, no keyword next to a reference, and no list of types. Everything that an assertion keyword of
//! the accepted grammar can express has exactly one representation.

use indexmap::IndexMap;
use serde_json::Number;

use crate::json::{Json, compare, integer};

/// A schema in normal form, with its annotations.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The accepted values.
    pub kind: Kind,
    /// Its annotations.
    pub note: Note,
}

/// Annotations. They do not affect what is accepted.
#[derive(Clone, Debug, Default)]
pub struct Note {
    /// JSON pointer of the schema in the document.
    pub pointer: String,
    /// `description`.
    pub description: Option<String>,
    /// `default`.
    pub default: Option<Json>,
    /// `deprecated`.
    pub deprecated: bool,
}

/// The values that a schema accepts.
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
    /// Strings of a length.
    String(Length),
    /// Numbers without a fraction, within bounds.
    Integer(Bounds),
    /// Numbers within bounds.
    Number(Bounds),
    /// Arrays.
    Array(Box<Array>),
    /// Objects.
    Object(Box<Object>),
    /// One of these values.
    Values(Vec<Json>),
    /// The values that any of the variants accepts. There are at least two variants, and none of them is a union, `Any`
    /// or `Never`.
    Union(Vec<Schema>),
    /// The values that the definition of this name accepts.
    Ref(String),
    /// The values that all subschemas of an `allOf` accept. It exists only between lowering and
    /// [`crate::schema::normalise`].
    All(Vec<Schema>),
}

/// Arrays whose every item fits `items`.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// The schema of every item.
    pub items: Schema,
    /// The allowed number of items.
    pub length: Length,
}

/// Objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// The members that the schema names, in its order.
    pub properties: IndexMap<String, Property>,
    /// The schema of every other member.
    pub additional: Schema,
}

/// A member that the schema names.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Whether it must be present.
    pub required: bool,
    /// Its schema.
    pub schema: Schema,
}

/// Limits of a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// The lower limit.
    pub min: Option<Bound>,
    /// The upper limit.
    pub max: Option<Bound>,
}

/// One limit of a number.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The limit.
    pub value: Number,
    /// Whether the limit is exclusive.
    pub exclusive: bool,
}

/// Limits of a string's code points or an array's items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Length {
    /// The minimum.
    pub min: u64,
    /// The maximum, if there is one.
    pub max: Option<u64>,
}

impl PartialEq for Schema {
    /// Compares structure, without annotations.
    fn eq(&self, other: &Schema) -> bool {
        self.kind == other.kind
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Bound) -> bool {
        self.exclusive == other.exclusive && compare(&self.value, &other.value).is_eq()
    }
}

impl Schema {
    /// Creates a schema without annotations.
    pub fn at(pointer: impl Into<String>, kind: Kind) -> Schema {
        Schema { kind, note: Note { pointer: pointer.into(), ..Note::default() } }
    }

    /// Creates the schema that accepts everything.
    pub fn any() -> Schema {
        Schema::at("", Kind::Any)
    }
}

impl Kind {
    /// Creates a union in normal form: flat and without `Never`. If a variant is `Any`, the union is.
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
            _ => Kind::Union(flat),
        }
    }
}

impl Object {
    /// Returns the schema of a member, named or not.
    pub fn schema_of(&self, name: &str) -> &Schema {
        self.properties.get(name).map_or(&self.additional, |property| &property.schema)
    }

    /// Whether the member must be present.
    pub fn requires(&self, name: &str) -> bool {
        self.properties.get(name).is_some_and(|property| property.required)
    }
}

impl Bounds {
    /// Whether there is no limit at all.
    pub fn is_free(&self) -> bool {
        self.min.is_none() && self.max.is_none()
    }

    /// Returns the intersection.
    pub fn and(&self, other: &Bounds) -> Bounds {
        let tighter = |a: &Option<Bound>, b: &Option<Bound>, upper: bool| match (a, b) {
            (None, x) | (x, None) => x.clone(),
            (Some(a), Some(b)) => {
                let order = if upper { compare(&b.value, &a.value) } else { compare(&a.value, &b.value) };
                Some(if order.is_gt() || (order.is_eq() && a.exclusive) { a.clone() } else { b.clone() })
            }
        };
        Bounds { min: tighter(&self.min, &other.min, false), max: tighter(&self.max, &other.max, true) }
    }

    /// Whether a number is within the bounds.
    pub fn contain(&self, number: &Number) -> bool {
        let above = self.min.as_ref().is_none_or(|bound| {
            let order = compare(number, &bound.value);
            order.is_gt() || (order.is_eq() && !bound.exclusive)
        });
        above
            && self.max.as_ref().is_none_or(|bound| {
                let order = compare(number, &bound.value);
                order.is_lt() || (order.is_eq() && !bound.exclusive)
            })
    }

    /// Whether no number is within the bounds, or with `integers` no integer.
    pub fn is_empty(&self, integers: bool) -> bool {
        let (Some(min), Some(max)) = (&self.min, &self.max) else { return false };
        match compare(&min.value, &max.value) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => min.exclusive || max.exclusive || (integers && integer(&min.value).is_none()),
            std::cmp::Ordering::Less => integers && first_integer(min) > last_integer(max),
        }
    }

    /// Whether every number within `other` is within these bounds.
    pub fn include(&self, other: &Bounds) -> bool {
        self.and(other) == *other
    }
}

/// Returns the least integer that a lower bound allows.
pub(crate) fn first_integer(bound: &Bound) -> i128 {
    match integer(&bound.value) {
        Some(value) => value + i128::from(bound.exclusive),
        None => bound.value.as_f64().unwrap_or(0.0).ceil() as i128,
    }
}

/// Returns the greatest integer that an upper bound allows.
pub(crate) fn last_integer(bound: &Bound) -> i128 {
    match integer(&bound.value) {
        Some(value) => value - i128::from(bound.exclusive),
        None => bound.value.as_f64().unwrap_or(0.0).floor() as i128,
    }
}

impl Length {
    /// Whether every length is allowed.
    pub fn is_free(&self) -> bool {
        self.min == 0 && self.max.is_none()
    }

    /// Returns the intersection.
    pub fn and(&self, other: &Length) -> Length {
        let max = match (self.max, other.max) {
            (None, x) | (x, None) => x,
            (Some(a), Some(b)) => Some(a.min(b)),
        };
        Length { min: self.min.max(other.min), max }
    }

    /// Whether no length is allowed.
    pub fn is_empty(&self) -> bool {
        self.max.is_some_and(|max| max < self.min)
    }

    /// Whether a length is allowed.
    pub fn contains(&self, length: u64) -> bool {
        length >= self.min && self.max.is_none_or(|max| length <= max)
    }

    /// Whether every length that `other` allows is allowed.
    pub fn includes(&self, other: &Length) -> bool {
        self.and(other) == *other
    }
}
