//! Builds the model from the normal form. Inline types get names, unions get decisions, and methods get a direction,
//! params and a result.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use mcpgen_schema::algebra::{Algebra, is_unsigned};
use mcpgen_schema::check::{Check, Definitions};
use mcpgen_schema::containment::{Budget, Scoped, contains};
use mcpgen_schema::json::Json;
use mcpgen_schema::normal::{Array, Bounds, Discriminator, Kind, Length, Note, Object, Schema, first_integer};
use mcpgen_schema::{Error, Normalised, Problem, normalise};

use crate::build::areas::areas;
use crate::build::boxes::{with_boxes, without_recursive_aliases};
use crate::build::exact::{Conventions, conflict};
use crate::build::fingerprint::{distinct, fingerprint, is_type};
use crate::build::labels::{constant, enumeration, open_enumeration, readable, variant_labels};
use crate::build::methods::{Messages, error_codes};
use crate::build::names::{GENERIC_LABELS, Occurrence, with_names};
use crate::build::unions::{Conflict, absorbing, decide};
use crate::contract::{Contract, JSON_SCHEMA, Mapping};
use crate::fixups::{self, Applied};
use crate::text::names::{Namespace, field_name};
use crate::{
    AliasRule, Bounded, Content, CoreType, Decision, Docs, Item, Limit, Member, MessageSet, Origin, PatternMembers,
    Protocol, Rest, Shape, Struct, Tuple, Type, TypeDef, TypeId, Types, Undecided, Union, Variant,
};

/// Builds the model of a revision from its contract. For a `released` revision, every fixup listed for it must match.
///
/// # Errors
/// Returns [`Error::Schema`] with all problems of the schema.
pub fn model(contract: impl Into<Contract>, revision: &str, released: bool) -> Result<Protocol, Error> {
    contract.into().read(|Contract { mut document, mapping, names }, kind| {
        let fixups = fixups::apply(&mut document, revision, released)?;
        let protocol = build(normalise(document)?, mapping.as_ref(), &names, fixups, revision)?;
        Ok(Protocol { contract: kind, ..protocol })
    })
}

/// Builds the model of a revision from its normal form.
///
/// # Errors
/// Returns [`Error::Schema`] with every inconsistent message, or [`Error::Usage`] if `names` does not fit the types.
pub fn build(
    normalised: Normalised,
    mapping: Option<&Mapping>,
    names: &BTreeMap<String, String>,
    fixups: Vec<Applied>,
    revision: &str,
) -> Result<Protocol, Error> {
    let algebra = Algebra::new(&normalised.definitions, &normalised.checks);
    let mut builder = Builder::new(&normalised, mapping, &algebra);
    for (name, schema) in &normalised.definitions {
        builder.definition(name, schema);
    }
    builder.absent_directions();
    let Builder { types, names: definitions, occurrences, problems, .. } = builder;
    let types = with_names(types, &occurrences, names)?;
    if !problems.is_empty() {
        return Err(Error::Schema(problems));
    }
    let types = Types::from(with_boxes(without_recursive_aliases(types)));
    let messages = Messages::of(&types, &definitions, mapping).map_err(Error::Schema)?;
    let error_codes = error_codes(&types);
    Ok(Protocol {
        revision: revision.to_owned(),
        contract: JSON_SCHEMA,
        file: normalised.file,
        sha256: normalised.sha256,
        era: messages.era(),
        areas: areas(&types, &messages, &error_codes),
        checks: used_checks(types.iter().flat_map(|def| def.shape.checks()), &normalised.checks),
        types,
        requests: messages.requests,
        notifications: messages.notifications,
        error_codes,
        fixups,
        facts: normalised.facts,
        docs: Docs::default(),
        extends: None,
    })
}

pub(super) struct Builder<'a> {
    pub(super) normalised: &'a Normalised,
    pub(super) mapping: Option<&'a Mapping>,
    pub(super) algebra: &'a Algebra<'a>,
    universal: BTreeSet<String>,
    pub(super) types: Vec<TypeDef>,
    pub(super) names: BTreeMap<String, TypeId>,
    /// The definitions by fingerprint, except those that share a fingerprint. Inline copies of a definition become
    /// references to it.
    definitions: BTreeMap<String, TypeId>,
    known: BTreeMap<String, TypeId>,
    /// Where each inline type occurs. Definitions have no entries.
    pub(super) occurrences: Vec<Vec<Occurrence>>,
    pub(super) problems: Vec<Problem>,
}

impl<'a> Builder<'a> {
    fn new(normalised: &'a Normalised, mapping: Option<&'a Mapping>, algebra: &'a Algebra<'a>) -> Self {
        let types: Vec<TypeDef> = normalised
            .definitions
            .iter()
            .map(|(name, schema)| type_def(name, Origin::Definition, &schema.note))
            .collect();
        Builder {
            normalised,
            mapping,
            algebra,
            universal: universal(normalised),
            names: normalised.definitions.keys().cloned().zip(0..).collect(),
            occurrences: vec![Vec::new(); types.len()],
            definitions: distinct(normalised),
            types,
            known: BTreeMap::new(),
            problems: Vec::new(),
        }
    }

    fn definition(&mut self, name: &str, schema: &Schema) {
        let at = Occurrence {
            definition: name.to_owned(),
            parent: name.to_owned(),
            label: String::new(),
            pointer: schema.note.pointer.clone(),
            own: false,
        };
        let id = self.names[name];
        let messages = MessageSet::named(name).filter(|_| self.is_message_set(schema));
        let shape = match core_type(name, schema) {
            Some(core) => Shape::Core(core),
            None if messages.is_some() => self.messages(schema, messages, &at),
            None if self.universal.contains(name) => Shape::Alias(Type::Any, AliasRule::AnyJson),
            None => self.shape(schema, &at),
        };
        self.types[id].shape = shape;
    }

    /// Returns the shape of a definition. In contrast to [`Self::content`], the type already has a name.
    fn shape(&mut self, schema: &Schema, at: &Occurrence) -> Shape {
        match &schema.kind {
            Kind::Never => Shape::Never,
            Kind::Object(object) if is_struct(object) => Shape::Struct(self.body(object, at)),
            Kind::Object(object) if object.pattern.is_some() => self.matching_map(object, at),
            Kind::Array(array) if !array.first.is_empty() => self.array(array, at),
            Kind::Values(values) => Shape::Enum(enumeration(values, &schema.note)),
            Kind::String(length) if length.is_free() && !schema.note.known_values.is_empty() => {
                Shape::OpenEnum(open_enumeration(&schema.note.known_values))
            }
            Kind::Union(variants) => match nullable(variants) {
                Some(rest) => {
                    let inner = self.content(&Schema::at(&schema.note.pointer, rest), &at.below("Value"));
                    Shape::Alias(Type::Nullable(Box::new(inner)), AliasRule::Plain)
                }
                None => self.union(variants, schema.note.discriminator.as_ref(), at),
            },
            Kind::Checked(inner, checks) => self.checked(inner, checks, at),
            kind => match self.limited(kind, at) {
                Some(bounded) => Shape::Bounded(bounded),
                None => Shape::Alias(self.content(schema, at), AliasRule::Plain),
            },
        }
    }

    pub(super) fn content(&mut self, schema: &Schema, at: &Occurrence) -> Type {
        let at = &Occurrence { pointer: schema.note.pointer.clone(), ..at.clone() };
        let is_named = |id: TypeId| self.types[id].name == at.long_name();
        if let Some(id) = self.copied(schema).filter(|id| !at.own || is_named(*id)) {
            return Type::Named(id);
        }
        match &schema.kind {
            Kind::Any => Type::Any,
            Kind::Never | Kind::All(_) => Type::Never,
            Kind::Null => Type::Null,
            Kind::Boolean => Type::Boolean,
            Kind::Ref(name) => Type::Named(self.names[name]),
            Kind::Object(object) if object.properties.is_empty() && object.pattern.is_none() => {
                if self.is_any(&object.additional) {
                    Type::Object
                } else {
                    Type::Map(Box::new(self.content(&object.additional, &at.below("Value"))))
                }
            }
            Kind::Object(object) if is_struct(object) && (at.own || GENERIC_LABELS.contains(&at.label.as_str())) => {
                let id = self.inline(schema, at);
                self.types[id].shape = Shape::Struct(self.body(object, at));
                Type::Named(id)
            }
            Kind::Union(variants) => match nullable(variants) {
                Some(rest) => {
                    Type::Nullable(Box::new(self.content(&Schema { kind: rest, note: schema.note.clone() }, at)))
                }
                None => match absorbing(variants, self.algebra) {
                    Some(variant) => self.content(&variants[variant], at),
                    None => self.shared(schema, at),
                },
            },
            Kind::Object(_) | Kind::Values(_) | Kind::Checked(..) => self.shared(schema, at),
            Kind::Array(array) if !array.first.is_empty() => self.shared(schema, at),
            Kind::String(_) if !schema.note.known_values.is_empty() => self.shared(schema, at),
            kind if limit(kind).is_some() => self.shared(schema, at),
            kind => self.plain(kind, at),
        }
    }

    fn copied(&self, schema: &Schema) -> Option<TypeId> {
        if !is_type(&schema.kind) || self.definitions.is_empty() {
            return None;
        }
        let id = *self.definitions.get(&fingerprint(schema))?;
        let (_, definition) = self.normalised.definitions.get_index(id)?;
        let is_same = definition.note.pointer == schema.note.pointer;
        (!is_same && definition.note.discriminator == schema.note.discriminator).then_some(id)
    }

    /// Returns the type of a scalar or a list without its limit.
    fn plain(&mut self, kind: &Kind, at: &Occurrence) -> Type {
        match kind {
            Kind::String(_) => Type::String,
            Kind::Integer(bounds) if is_unsigned(bounds) => Type::Unsigned,
            Kind::Integer(_) => Type::Signed,
            Kind::Number(_) => Type::Number,
            Kind::Array(array) => Type::List(Box::new(self.content(&array.items, &at.below("Item")))),
            _ => Type::Any,
        }
    }

    fn limited(&mut self, kind: &Kind, at: &Occurrence) -> Option<Bounded> {
        let limit = Some(limit(kind)?);
        Some(Bounded { inner: self.plain(kind, at), limit, checks: Vec::new() })
    }

    fn matching_map(&mut self, object: &Object, at: &Occurrence) -> Shape {
        let pattern = object.pattern.as_ref();
        let content = pattern.map_or(Type::Any, |it| self.content(&it.schema, &at.below("Value")));
        let names = pattern.map(|it| Check::Names(Box::new(Check::Pattern(it.pattern.clone()))));
        let inner = Type::Map(Box::new(content));
        Shape::Bounded(Bounded { inner, limit: None, checks: names.into_iter().collect() })
    }

    /// Returns a tuple if the array requires all of its leading items. Otherwise, returns a list with a check.
    fn array(&mut self, array: &Array, at: &Occurrence) -> Shape {
        let count = array.first.len() as u64;
        if array.length.min < count || array.first.len() > MAX_TUPLE {
            let length = (!array.length.is_free()).then(|| Limit::Length(array.length.clone()));
            let inner = Type::List(Box::new(Type::Any));
            return Shape::Bounded(Bounded { inner, limit: length, checks: array.items_check().into_iter().collect() });
        }
        let length = array.length.clone();
        if !is_tuple(array) {
            // A Rust tuple cannot limit its length, so the limit becomes a check.
            let plain = Array { length: Length { min: count, max: None }, ..array.clone() };
            let plain = Schema::at(&at.pointer, Kind::Array(Box::new(plain)));
            let inner = self.content(&plain, &at.below("Items"));
            return Shape::Bounded(Bounded { inner, limit: None, checks: vec![Check::ItemCount(length)] });
        }
        let first = array.first.iter().enumerate().map(|(index, item)| {
            let content = self.content(item, &at.below(&format!("Item{index}")));
            Item { content, boxed: false }
        });
        let first = first.collect();
        let rest = length.max.is_none().then(|| self.content(&array.items, &at.below("Item")));
        Shape::Tuple(Tuple { first, rest })
    }

    fn checked(&mut self, inner: &Schema, checks: &[Check], at: &Occurrence) -> Shape {
        let checks = checks.to_vec();
        if let Kind::Union(variants) = &inner.kind
            && nullable(variants).is_none()
            && absorbing(variants, self.algebra).is_none()
        {
            let decision = decide(variants, inner.note.discriminator.as_ref(), self.algebra);
            // A decision that is not exact could reject values that the checks accept.
            let conflict =
                decision.map_or_else(Some, |decision| conflict(&decision, variants, Conventions::None, self.algebra));
            if let Some(conflict) = conflict {
                return self.undecided(variants, conflict, checks, at);
            }
        }
        let below = Occurrence { pointer: inner.note.pointer.clone(), ..at.below("Unchecked") };
        let own = match &inner.kind {
            Kind::Array(array) if !array.first.is_empty() && !is_tuple(array) => Some(self.array(array, &below)),
            Kind::Object(object) if object.pattern.is_some() && !is_struct(object) => {
                Some(self.matching_map(object, &below))
            }
            _ => None,
        };
        if let Some(Shape::Bounded(own)) = own {
            return Shape::Bounded(Bounded { checks: own.checks.iter().chain(&checks).cloned().collect(), ..own });
        }
        match self.limited(&inner.kind, at) {
            Some(bounded) => Shape::Bounded(Bounded { checks, ..bounded }),
            None => Shape::Bounded(Bounded { inner: self.content(inner, &below), limit: None, checks }),
        }
    }

    fn undecided(&mut self, variants: &[Schema], conflict: Conflict, mut checks: Vec<Check>, at: &Occurrence) -> Shape {
        checks.insert(0, Check::Any(variants.iter().map(Schema::to_check).collect()));
        let labels = variant_labels(variants);
        let alternatives = variants.iter().zip(&labels).map(|(it, label)| self.variant(it, label, at)).collect();
        let Conflict { a, b, example } = conflict;
        Shape::Undecided(Undecided { alternatives, checks, conflict: (a, b), example })
    }

    fn variant(&mut self, schema: &Schema, label: &str, at: &Occurrence) -> Variant {
        Variant { rust: label.to_owned(), content: self.content(schema, &at.below(label)), boxed: false }
    }

    fn body(&mut self, object: &Object, at: &Occurrence) -> Struct {
        let mut fields = Namespace::default();
        fields.claim("extra");
        let names = fields.claim_all(object.properties.keys().map(|wire| (wire.as_str(), field_name(wire))));
        // Every method gets a separate type for its params, even if they are equal today, because they may diverge in a
        // later revision.
        let is_message = object.requires("method");
        let members = object.properties.iter().zip(names).map(|((wire, property), rust)| {
            let note = &property.schema.note;
            let content = match self.algebra.follow(&property.schema).and_then(constant) {
                Some(value) => Content::Constant(value.clone()),
                None => {
                    let own = is_message && wire == "params";
                    Content::Value(self.content(&property.schema, &Occurrence { own, ..at.below(wire) }))
                }
            };
            Member {
                wire: wire.clone(),
                rust,
                required: property.required,
                content,
                description: note.description.clone(),
                deprecated: note.deprecated,
                default: note.default.clone(),
                boxed: false,
            }
        });
        let members = members.collect();
        let pattern = object.pattern.as_ref().map(|it| PatternMembers {
            pattern: it.pattern.clone(),
            rust: fields.claim("matching"),
            content: self.content(&it.schema, &at.below("Value")),
        });
        let rest = match &object.additional.kind {
            Kind::Never => Rest::Closed,
            _ if self.is_any(&object.additional) => Rest::Open,
            _ => Rest::Typed(self.content(&object.additional, &at.below("Value"))),
        };
        Struct { members, pattern, rest }
    }

    fn is_any(&self, schema: &Schema) -> bool {
        match &schema.kind {
            Kind::Any => true,
            Kind::Ref(name) => self.universal.contains(name),
            _ => false,
        }
    }

    fn union(&mut self, variants: &[Schema], discriminator: Option<&Discriminator>, at: &Occurrence) -> Shape {
        if let Some(variant) = absorbing(variants, self.algebra) {
            let others = variants.iter().enumerate().filter(|(index, _)| *index != variant);
            let absorbed = others.map(|(_, schema)| readable(schema)).collect();
            return Shape::Alias(self.content(&variants[variant], at), AliasRule::Absorbed(absorbed));
        }
        let decision = match decide(variants, discriminator, self.algebra) {
            Ok(decision) => decision,
            Err(conflict) => return self.undecided(variants, conflict, Vec::new(), at),
        };
        if let Some(conflict) = conflict(&decision, variants, Conventions::Open, self.algebra) {
            return self.undecided(variants, conflict, Vec::new(), at);
        }
        let absorbed =
            decision.absorbed.iter().map(|(a, b)| (readable(&variants[*a]), readable(&variants[*b]))).collect();
        let kept: Vec<usize> =
            (0..variants.len()).filter(|index| decision.guards.iter().any(|guard| guard.variant == *index)).collect();
        let labels = variant_labels(variants);
        let variants = kept.iter().map(|&index| self.variant(&variants[index], &labels[index], at)).collect();
        Shape::Union(Union { variants, decision: decision.renumbered(&kept), absorbed, messages: None })
    }

    fn inline(&mut self, schema: &Schema, at: &Occurrence) -> TypeId {
        let mut note = schema.note.clone();
        note.pointer.clone_from(&at.pointer);
        self.types.push(type_def("", Origin::Inline(vec![at.pointer.clone()]), &note));
        self.occurrences.push(vec![at.clone()]);
        self.types.len() - 1
    }

    /// Returns an inline type, or the equal one that already exists.
    fn shared(&mut self, schema: &Schema, at: &Occurrence) -> Type {
        let label = if matches!(schema.kind, Kind::Values(_) | Kind::Union(_)) { "" } else { &at.label };
        let mut key = format!("{label} {}", fingerprint(schema));
        if let Some(discriminator) = &schema.note.discriminator {
            key.push_str(&format!(" {discriminator:?}"));
        }
        if let Some(&id) = self.known.get(&key) {
            if let Origin::Inline(pointers) = &mut self.types[id].origin {
                pointers.push(at.pointer.clone());
            }
            self.occurrences[id].push(at.clone());
            return Type::Named(id);
        }
        let id = self.inline(schema, at);
        self.known.insert(key, id);
        self.types[id].shape = self.shape(schema, at);
        Type::Named(id)
    }
}

impl Decision {
    /// Adapts the guards after unreachable variants were removed.
    fn renumbered(mut self, kept: &[usize]) -> Decision {
        for guard in &mut self.guards {
            guard.variant = kept.iter().position(|&variant| variant == guard.variant).unwrap_or_default();
        }
        self
    }
}

const BUDGET: Budget = Budget { steps: 1_000 };

fn universal(normalised: &Normalised) -> BTreeSet<String> {
    let definitions = &normalised.checks;
    // Samples take little time, and rule out most definitions without a proof.
    let samples = [Json::Null, Json::Bool(true), Json::Array(Vec::new()), Json::Object(IndexMap::new())];
    let is_universal = |(name, schema): &(&String, &Schema)| {
        let check = &definitions[*name];
        let proof = || {
            let [large, small] = [check, &Check::Anything].map(|check| Scoped { check, definitions });
            contains(large, small, BUDGET).is_proved()
        };
        matches!(schema.kind, Kind::Any | Kind::Union(_) | Kind::Ref(_))
            && samples.iter().all(|sample| check.accepts(sample, definitions))
            && proof()
    };
    normalised.definitions.iter().filter(is_universal).map(|(name, _)| name.clone()).collect()
}

pub(super) fn type_def(name: &str, origin: Origin, note: &Note) -> TypeDef {
    TypeDef {
        name: name.to_owned(),
        rust: String::new(),
        origin,
        description: note.description.clone(),
        deprecated: note.deprecated,
        pointer: note.pointer.clone(),
        shape: Shape::Never,
    }
}

/// Returns the hand-written core type that replaces this definition, if there is one.
fn core_type(name: &str, schema: &Schema) -> Option<CoreType> {
    let is_string = |schema: &Schema| matches!(&schema.kind, Kind::String(length) if length.is_free());
    let is_integer = |schema: &Schema| matches!(&schema.kind, Kind::Integer(bounds) if bounds.is_free());
    let is_id = matches!(&schema.kind, Kind::Union(variants) if variants.len() == 2
        && variants.iter().any(is_string) && variants.iter().any(is_integer));
    match name {
        "RequestId" if is_id => Some(CoreType::RequestId),
        "ProgressToken" if is_id => Some(CoreType::ProgressToken),
        "ResultType" if is_string(schema) => Some(CoreType::ResultType),
        _ => None,
    }
}

/// Returns the definitions that checks refer to, directly or indirectly, in schema order.
pub(super) fn used_checks<'c>(checks: impl IntoIterator<Item = &'c Check>, all: &Definitions) -> Definitions {
    let mut names: Vec<&str> = Vec::new();
    checks.into_iter().for_each(|check| check.definitions(&mut names));
    let mut used: BTreeSet<&str> = BTreeSet::new();
    while let Some(name) = names.pop() {
        if used.insert(name)
            && let Some(check) = all.get(name)
        {
            check.definitions(&mut names);
        }
    }
    all.iter().filter(|(name, _)| used.contains(name.as_str())).map(|(n, c)| (n.clone(), c.clone())).collect()
}

fn limit(kind: &Kind) -> Option<Limit> {
    match kind {
        Kind::String(length) if !length.is_free() => Some(Limit::Length(length.clone())),
        Kind::Array(array) if array.first.is_empty() && !array.length.is_free() => {
            Some(Limit::Length(array.length.clone()))
        }
        Kind::Number(bounds) if !bounds.is_free() => Some(Limit::Bounds(bounds.clone())),
        Kind::Integer(bounds) if !bounds.is_free() && !is_all_unsigned(bounds) => Some(Limit::Bounds(bounds.clone())),
        _ => None,
    }
}

/// Returns whether the bounds only require at least 0, which `u64` enforces.
fn is_all_unsigned(bounds: &Bounds) -> bool {
    bounds.max.is_none() && bounds.min.as_ref().is_some_and(|min| first_integer(min) == 0)
}

/// An array with more leading items becomes a list with a check.
const MAX_TUPLE: usize = 32;

fn is_tuple(array: &Array) -> bool {
    let count = array.first.len() as u64;
    array.first.len() <= MAX_TUPLE && array.length.min == count && array.length.max.is_none_or(|max| max == count)
}

/// Returns whether an object has named members, or members beyond those that match its pattern.
fn is_struct(object: &Object) -> bool {
    !object.properties.is_empty() || (object.pattern.is_some() && object.additional.kind != Kind::Never)
}

/// If one variant is `null`, returns the union of the others.
fn nullable(variants: &[Schema]) -> Option<Kind> {
    let rest: Vec<Schema> = variants.iter().filter(|variant| variant.kind != Kind::Null).cloned().collect();
    (rest.len() < variants.len()).then(|| Kind::union(rest))
}
