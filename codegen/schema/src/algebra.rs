//! Set operations on schemas: intersection, containment and disjointness.
//!
//! Containment and disjointness are sound but incomplete: `true` is proven, `false` only means that no proof was found.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;

use indexmap::{IndexMap, IndexSet};

use crate::check::{Check, Definitions};
use crate::json::Json;
use crate::normal::{Array, Bounds, Kind, Object, Property, Schema, first_integer};

/// Set operations over the definitions of one document.
#[derive(Debug)]
pub struct Algebra<'a> {
    definitions: &'a IndexMap<String, Schema>,
    checks: &'a Definitions,
    steps: Cell<u32>,
    proofs: Cell<u32>,
}

/// Why an intersection could not be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unresolved {
    /// The definitions involved are recursive.
    Recursive,
    /// The result would be unreasonably large.
    TooLarge,
}

/// A proof that nests deeper is abandoned.
const MAX_DEPTH: u32 = 48;
/// An intersection that nests deeper counts as recursive. Later stages recurse into the result, so it must stay
/// shallow.
const MAX_CALLS: u32 = 64;
/// A result that takes more intersections counts as too large.
const MAX_STEPS: u32 = 50_000;
/// A proof that compares more pairs is abandoned.
const MAX_PROOF: u32 = 50_000;

type Pairs = IndexSet<(String, String)>;

impl<'a> Algebra<'a> {
    /// Creates an algebra over these definitions and their checks.
    pub fn new(definitions: &'a IndexMap<String, Schema>, checks: &'a Definitions) -> Self {
        Algebra { definitions, checks, steps: Cell::new(0), proofs: Cell::new(0) }
    }

    /// Returns the checks of the definitions.
    pub fn checks(&self) -> &'a Definitions {
        self.checks
    }

    /// Returns a copy in which every `allOf` is replaced by the intersection it stands for.
    ///
    /// # Errors
    /// Fails if an intersection is recursive or grows too large.
    pub fn resolve(&self, schema: &Schema) -> Result<Schema, Unresolved> {
        self.steps.set(0);
        self.resolve_at(schema, 0)
    }

    fn resolve_at(&self, schema: &Schema, depth: u32) -> Result<Schema, Unresolved> {
        let kind = match &schema.kind {
            // Resolving a recursive definition can produce the same intersection repeatedly.
            Kind::All(_) if depth > MAX_CALLS => return Err(Unresolved::Recursive),
            Kind::All(schemas) => {
                let mut schemas = schemas.iter();
                let mut all = schemas.next().cloned().unwrap_or_else(Schema::any);
                for schema in schemas {
                    all = self.meet_narrowing(&all, schema, depth + 1)?;
                }
                self.resolve_at(&all, depth + 1)?.kind
            }
            kind => match kind.try_map(&mut |part| self.resolve_at(part, depth + 1))? {
                Kind::Checked(inner, checks) => self.checked(*inner, checks),
                kind => empty_is_never(kind),
            },
        };
        Ok(Schema { kind, note: schema.note.clone() })
    }

    /// Adds checks to a schema. If it is a list of constants, filters the list instead, so that no check remains.
    fn checked(&self, inner: Schema, checks: Vec<Check>) -> Kind {
        match &inner.kind {
            Kind::Values(values) => {
                let holds = |value: &&Json| checks.iter().all(|check| check.accepts(value, self.checks));
                empty_is_never(Kind::Values(values.iter().filter(holds).cloned().collect()))
            }
            _ => inner.checked(checks).kind,
        }
    }

    /// Like [`Self::meet`], but if one schema contains the other, returns the smaller one unchanged. This keeps
    /// references.
    fn meet_narrowing(&self, a: &Schema, b: &Schema, depth: u32) -> Result<Schema, Unresolved> {
        if self.contains(b, a) {
            return Ok(a.clone());
        }
        if self.contains(a, b) {
            return Ok(b.clone());
        }
        self.meet(a, b, depth)
    }

    fn meet(&self, a: &Schema, b: &Schema, depth: u32) -> Result<Schema, Unresolved> {
        if depth > MAX_CALLS {
            return Err(Unresolved::Recursive);
        }
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MAX_STEPS {
            return Err(Unresolved::TooLarge);
        }
        // `Any` must not replace the other side's annotations.
        match (&a.kind, &b.kind) {
            (Kind::Any, _) => return Ok(b.clone()),
            (_, Kind::Any) => return Ok(a.clone()),
            _ => {}
        }
        let depth = depth + 1;
        let kind = match (&a.kind, &b.kind) {
            (Kind::All(_), _) => self.meet(&self.resolve_at(a, depth)?, b, depth)?.kind,
            (_, Kind::All(_)) => self.meet(a, &self.resolve_at(b, depth)?, depth)?.kind,
            (Kind::Never, _) | (_, Kind::Never) => Kind::Never,
            (Kind::Checked(inner, checks), _) => self.checked(self.meet_narrowing(inner, b, depth)?, checks.clone()),
            (_, Kind::Checked(inner, checks)) => self.checked(self.meet_narrowing(a, inner, depth)?, checks.clone()),
            (Kind::Ref(x), Kind::Ref(y)) if x == y => a.kind.clone(),
            (Kind::Ref(name), _) => self.meet(self.target(name), b, depth)?.kind,
            (_, Kind::Ref(name)) => self.meet(a, self.target(name), depth)?.kind,
            (Kind::Union(variants), _) => {
                Kind::union(variants.iter().map(|m| self.meet(m, b, depth)).collect::<Result<_, _>>()?)
            }
            (_, Kind::Union(variants)) => {
                Kind::union(variants.iter().map(|m| self.meet(a, m, depth)).collect::<Result<_, _>>()?)
            }
            (Kind::Values(values), _) => self.filter(values, b),
            (_, Kind::Values(values)) => self.filter(values, a),
            (Kind::Null, Kind::Null) | (Kind::Boolean, Kind::Boolean) => a.kind.clone(),
            (Kind::String(x), Kind::String(y)) => Kind::String(x.and(y)),
            (Kind::Number(x), Kind::Number(y)) => Kind::Number(x.and(y)),
            (Kind::Integer(x) | Kind::Number(x), Kind::Integer(y) | Kind::Number(y)) => Kind::Integer(x.and(y)),
            (Kind::Array(x), Kind::Array(y)) => {
                let first = (0..x.first.len().max(y.first.len()))
                    .map(|index| self.meet(x.schema_of(index), y.schema_of(index), depth))
                    .collect::<Result<_, _>>()?;
                let items = self.meet(&x.items, &y.items, depth)?;
                Kind::array(Array { first, items, length: x.length.and(&y.length) })
            }
            (Kind::Object(x), Kind::Object(y)) => self.meet_objects(x, y, depth)?,
            _ => Kind::Never,
        };
        let note = if a.note.description.is_some() || b.note.description.is_none() { &a.note } else { &b.note };
        Ok(Schema { kind: empty_is_never(kind), note: note.clone() })
    }

    fn meet_objects(&self, a: &Object, b: &Object, depth: u32) -> Result<Kind, Unresolved> {
        if let (Some(x), Some(y)) = (&a.pattern, &b.pattern)
            && x.pattern != y.pattern
        {
            // An object schema holds only one pattern, so `b`'s pattern becomes a check.
            let weak = Object { properties: b.properties.clone(), pattern: None, additional: Schema::any() };
            let met = Schema::at("", self.meet_objects(a, &weak, depth)?);
            return Ok(self.checked(met, b.checks()));
        }
        let mut properties = IndexMap::new();
        for name in a.properties.keys().chain(b.properties.keys().filter(|name| !a.properties.contains_key(*name))) {
            let schema = self.meet(a.schema_of(name), b.schema_of(name), depth)?;
            properties.insert(name.clone(), Property { required: a.requires(name) || b.requires(name), schema });
        }
        let pattern = match (&a.pattern, &b.pattern) {
            (None, None) => None,
            (Some(x), Some(y)) => Some(x.try_map(|schema| self.meet(schema, &y.schema, depth))?),
            (Some(x), None) => Some(x.try_map(|schema| self.meet(schema, &b.additional, depth))?),
            (None, Some(y)) => Some(y.try_map(|schema| self.meet(&a.additional, schema, depth))?),
        };
        Ok(Kind::object(Object { properties, pattern, additional: self.meet(&a.additional, &b.additional, depth)? }))
    }

    fn filter(&self, values: &[Json], schema: &Schema) -> Kind {
        let accepts = self.accepting(schema);
        Kind::Values(values.iter().filter(|value| accepts(value)).cloned().collect())
    }

    /// Returns the target of a reference. It exists, because lowering rejects dangling references.
    pub fn target(&self, name: &str) -> &'a Schema {
        &self.definitions[name]
    }

    /// Follows references until a schema is not a reference. Returns `None` if they form a cycle.
    pub fn follow<'s>(&'s self, mut schema: &'s Schema) -> Option<&'s Schema> {
        for _ in 0..=self.definitions.len() {
            match &schema.kind {
                Kind::Ref(name) => schema = self.target(name),
                _ => return Some(schema),
            }
        }
        None
    }

    /// Returns whether a schema accepts a value.
    pub fn accepts(&self, schema: &Schema, value: &Json) -> bool {
        self.accepting(schema)(value)
    }

    fn accepting(&self, schema: &Schema) -> impl Fn(&Json) -> bool {
        let check = schema.to_check();
        move |value| check.accepts(value, self.checks)
    }

    /// Returns `true` if `large` provably accepts everything that `small` accepts.
    pub fn contains(&self, large: &Schema, small: &Schema) -> bool {
        self.proofs.set(0);
        self.contains_in(large, small, &mut Pairs::new(), 0)
    }

    fn contains_in(&self, large: &Schema, small: &Schema, assumed: &mut Pairs, depth: u32) -> bool {
        self.proofs.set(self.proofs.get() + 1);
        if depth > MAX_DEPTH || self.proofs.get() > MAX_PROOF {
            return false;
        }
        let depth = depth + 1;
        match (&large.kind, &small.kind) {
            (Kind::Any, _) | (_, Kind::Never) => true,
            (Kind::Ref(a), Kind::Ref(b)) if a == b => true,
            (Kind::All(schemas), _) => schemas.iter().all(|m| self.contains_in(m, small, assumed, depth)),
            (Kind::Checked(inner, checks), Kind::Checked(other, known)) => {
                let holds = checks.iter().all(|check| known.contains(check));
                holds && self.contains_in(inner, other, assumed, depth)
            }
            (Kind::Ref(a), Kind::Ref(b)) => {
                let before = assumed.len();
                if !assumed.insert((a.clone(), b.clone())) {
                    return true;
                }
                let holds = self.contains_in(large, self.target(b), assumed, depth);
                if !holds {
                    // Pairs that a failed proof assumed are not proven.
                    assumed.truncate(before);
                }
                holds
            }
            (_, Kind::Ref(name)) => self.contains_in(large, self.target(name), assumed, depth),
            (Kind::Ref(name), _) => self.contains_in(self.target(name), small, assumed, depth),
            (_, Kind::Union(variants)) => variants.iter().all(|m| self.contains_in(large, m, assumed, depth)),
            (_, Kind::Values(values)) => values.iter().all(self.accepting(large)),
            (Kind::Union(variants), _) => variants.iter().any(|m| self.contains_in(m, small, assumed, depth)),
            (_, Kind::All(schemas)) => schemas.iter().any(|m| self.contains_in(large, m, assumed, depth)),
            (_, Kind::Checked(inner, _)) => self.contains_in(large, inner, assumed, depth),
            (Kind::Null, Kind::Null) | (Kind::Boolean, Kind::Boolean) => true,
            (Kind::String(a), Kind::String(b)) => a.includes(b),
            (Kind::Number(a), Kind::Number(b) | Kind::Integer(b)) | (Kind::Integer(a), Kind::Integer(b)) => {
                a.include(b)
            }
            (Kind::Array(a), Kind::Array(b)) => {
                let first = a.first.len().max(b.first.len());
                a.length.includes(&b.length)
                    && (0..first).all(|index| self.contains_in(a.schema_of(index), b.schema_of(index), assumed, depth))
                    && self.contains_in(&a.items, &b.items, assumed, depth)
            }
            (Kind::Object(a), Kind::Object(b)) => {
                let names = a.properties.keys().chain(b.properties.keys());
                a.properties.iter().all(|(name, property)| !property.required || b.requires(name))
                    && self.contains_others(a, b, assumed, depth)
                    && names
                        .into_iter()
                        .all(|name| self.contains_in(a.schema_of(name), b.schema_of(name), assumed, depth))
            }
            _ => false,
        }
    }

    /// Compares the members that neither object names.
    fn contains_others(&self, large: &Object, small: &Object, assumed: &mut Pairs, depth: u32) -> bool {
        if let (Some(a), Some(b)) = (&large.pattern, &small.pattern)
            && a.pattern == b.pattern
        {
            return self.contains_in(&a.schema, &b.schema, assumed, depth)
                && self.contains_in(&large.additional, &small.additional, assumed, depth);
        }
        // A name can match one pattern, both or neither, so compare all combinations.
        large.others().all(|a| small.others().all(|b| self.contains_in(a, b, assumed, depth)))
    }

    /// Returns `true` if provably no value is accepted by both schemas.
    pub fn disjoint(&self, a: &Schema, b: &Schema) -> bool {
        self.proofs.set(0);
        self.disjoint_in(a, b, &mut Pairs::new(), 0)
    }

    /// Returns `true` if provably no value is accepted by more than one of the schemas.
    pub fn are_disjoint(&self, schemas: &[Schema]) -> bool {
        schemas.iter().enumerate().all(|(index, a)| schemas[index + 1..].iter().all(|b| self.disjoint(a, b)))
    }

    fn disjoint_in(&self, a: &Schema, b: &Schema, seen: &mut Pairs, depth: u32) -> bool {
        self.proofs.set(self.proofs.get() + 1);
        if depth > MAX_DEPTH || self.proofs.get() > MAX_PROOF {
            return false;
        }
        let depth = depth + 1;
        match (&a.kind, &b.kind) {
            (Kind::Never, _) | (_, Kind::Never) => true,
            (Kind::Any, _) | (_, Kind::Any) => false,
            (Kind::Ref(x), Kind::Ref(y)) if x == y || !seen.insert((x.clone(), y.clone())) => false,
            (Kind::Ref(name), _) => self.disjoint_in(self.target(name), b, seen, depth),
            (_, Kind::Ref(name)) => self.disjoint_in(a, self.target(name), seen, depth),
            (Kind::All(schemas), _) => schemas.iter().any(|m| self.disjoint_in(m, b, seen, depth)),
            (_, Kind::All(schemas)) => schemas.iter().any(|m| self.disjoint_in(a, m, seen, depth)),
            (Kind::Values(values), _) => !values.iter().any(self.accepting(b)),
            (_, Kind::Values(values)) => !values.iter().any(self.accepting(a)),
            (Kind::Checked(inner, _), _) => self.disjoint_in(inner, b, seen, depth),
            (_, Kind::Checked(inner, _)) => self.disjoint_in(a, inner, seen, depth),
            (Kind::Union(variants), _) => variants.iter().all(|m| self.disjoint_in(m, b, seen, depth)),
            (_, Kind::Union(variants)) => variants.iter().all(|m| self.disjoint_in(a, m, seen, depth)),
            (Kind::Null, Kind::Null) | (Kind::Boolean, Kind::Boolean) => false,
            (Kind::String(x), Kind::String(y)) => x.and(y).is_empty(),
            (Kind::Number(x), Kind::Number(y)) => x.and(y).is_empty(false),
            (Kind::Integer(x) | Kind::Number(x), Kind::Integer(y) | Kind::Number(y)) => x.and(y).is_empty(true),
            (Kind::Array(x), Kind::Array(y)) => {
                let length = x.length.and(&y.length);
                let first = x.first.len().max(y.first.len()) + 1;
                let present = usize::try_from(length.min).unwrap_or(usize::MAX).min(first);
                length.is_empty()
                    || (0..present).any(|index| self.disjoint_in(x.schema_of(index), y.schema_of(index), seen, depth))
            }
            (Kind::Object(x), Kind::Object(y)) => x.properties.keys().chain(y.properties.keys()).any(|name| {
                (x.requires(name) || y.requires(name))
                    && self.disjoint_in(x.schema_of(name), y.schema_of(name), seen, depth)
            }),
            _ => true,
        }
    }
}

/// Replaces with `Never` all references to these definitions, which accept no value, and schemas that require them.
pub fn replace_never(schema: &Schema, never: &BTreeSet<String>) -> Schema {
    let kind = match &schema.kind {
        Kind::Ref(name) if never.contains(name) => Kind::Never,
        kind => {
            let Ok(kind) = kind.try_map(&mut |part| Ok::<_, Infallible>(replace_never(part, never)));
            kind
        }
    };
    Schema { kind, note: schema.note.clone() }
}

fn empty_is_never(kind: Kind) -> Kind {
    match &kind {
        Kind::String(length) if length.is_empty() => Kind::Never,
        Kind::Integer(bounds) if bounds.is_empty(true) => Kind::Never,
        Kind::Number(bounds) if bounds.is_empty(false) => Kind::Never,
        Kind::Values(values) if values.is_empty() => Kind::Never,
        _ => kind,
    }
}

/// Returns whether the bounds exclude negative integers, in which case the Rust type is `u64`.
pub fn is_unsigned(bounds: &Bounds) -> bool {
    bounds.min.as_ref().is_some_and(|min| first_integer(min) >= 0)
}
