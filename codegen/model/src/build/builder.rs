//! Builds the model from the normal form: inline types get names, unions get decisions, and methods get a direction, a
//! params type and a result.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use mcpgen_schema::algebra::{Algebra, is_unsigned};
use mcpgen_schema::check::{Check, Definitions};
use mcpgen_schema::json::Json;
use mcpgen_schema::json::pointer::tokens;
use mcpgen_schema::normal::{Array, Bounds, Discriminator, Kind, Length, Note, Object, Schema, first_integer};
use mcpgen_schema::{Error, Normalised, Problem, normalise};

use crate::build::areas::areas;
use crate::build::boxes::{with_boxes, without_recursive_aliases};
use crate::build::exact::{Conventions, conflict};
use crate::build::methods::{Messages, error_codes};
use crate::build::names::{GENERIC_LABELS, Occurrence, with_names};
use crate::build::unions::{Conflict, absorbing, decide};
use crate::contract::{Contract, JSON_SCHEMA, MappedMessage, Mapping};
use crate::fixups::{self, Applied};
use crate::text::names::{Namespace, field_name, message_name, type_name};
use crate::{
    AliasRule, Bounded, Condition, Content, CoreType, Decision, Docs, Guard, Item, Limit, Member, MessageKind,
    MessageSet, Origin, PatternMembers, Protocol, Rest, Shape, Struct, Tag, Tuple, Type, TypeDef, TypeId, Types,
    Undecided, Union, Value, Variant,
};

/// Reads the model of a revision. For a `released` revision, every fixup must find what it expects.
///
/// # Errors
///
/// [`Error::Schema`] with all problems of the schema.
pub fn model(contract: impl Into<Contract>, revision: &str, released: bool) -> Result<Protocol, Error> {
    contract.into().read(|Contract { mut document, mapping, names }, kind| {
        let fixups = fixups::apply(&mut document, revision, released)?;
        let protocol = build(normalise(document)?, mapping.as_ref(), &names, fixups, revision)?;
        Ok(Protocol { contract: kind, ..protocol })
    })
}

/// Builds the model of a revision.
///
/// # Errors
/// [`Error::Schema`] with every union that cannot be decided and every message that cannot be understood.
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
        file: normalised.file.clone(),
        sha256: normalised.sha256.clone(),
        era: messages.era(),
        areas: areas(&types, &messages, &error_codes),
        checks: used_checks(types.iter(), &normalised.checks),
        types,
        requests: messages.requests,
        notifications: messages.notifications,
        error_codes,
        fixups,
        facts: normalised.facts.clone(),
        docs: Docs::default(),
        extends: None,
    })
}

struct Builder<'a> {
    normalised: &'a Normalised,
    mapping: Option<&'a Mapping>,
    algebra: &'a Algebra<'a>,
    universal: BTreeSet<String>,
    types: Vec<TypeDef>,
    names: BTreeMap<String, TypeId>,
    /// Definitions by the values that they accept. Inline copies become references to them. A definition that is equal
    /// to another one is not listed.
    definitions: BTreeMap<String, TypeId>,
    /// Inline types by the values that they accept. Equal types are merged.
    known: BTreeMap<String, TypeId>,
    /// The occurrences of each inline type. Empty for definitions.
    occurrences: Vec<Vec<Occurrence>>,
    problems: Vec<Problem>,
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
            universal: algebra.universal(),
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

    /// Returns the shape of a definition. Unlike in [`Self::content`], the type already has a name.
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

    /// Returns the type expression for a schema inside a definition.
    fn content(&mut self, schema: &Schema, at: &Occurrence) -> Type {
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

    /// Returns the definition that an inline schema repeats.
    fn copied(&self, schema: &Schema) -> Option<TypeId> {
        if !is_type(&schema.kind) || self.definitions.is_empty() {
            return None;
        }
        let id = *self.definitions.get(&fingerprint(schema))?;
        let (_, definition) = self.normalised.definitions.get_index(id)?;
        let is_same = definition.note.pointer == schema.note.pointer;
        (!is_same && definition.note.discriminator == schema.note.discriminator).then_some(id)
    }

    /// Returns the type of a scalar or list, without its limit.
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

    /// Returns a scalar or list with its limit, unless its Rust type enforces the limit.
    fn limited(&mut self, kind: &Kind, at: &Occurrence) -> Option<Bounded> {
        let limit = Some(limit(kind)?);
        Some(Bounded { inner: self.plain(kind, at), limit, checks: Vec::new() })
    }

    /// Returns the shape of an object whose members all match a pattern.
    fn matching_map(&mut self, object: &Object, at: &Occurrence) -> Shape {
        let pattern = object.pattern.as_ref();
        let content = pattern.map_or(Type::Any, |it| self.content(&it.schema, &at.below("Value")));
        let names = pattern.map(|it| Check::Names(Box::new(Check::Pattern(it.pattern.clone()))));
        let inner = Type::Map(Box::new(content));
        Shape::Bounded(Bounded { inner, limit: None, checks: names.into_iter().collect() })
    }

    /// Returns the shape of an array whose first items have separate schemas: a tuple if all of them must be
    /// present, otherwise a list with a check.
    fn array(&mut self, array: &Array, at: &Occurrence) -> Shape {
        let count = array.first.len() as u64;
        if array.length.min < count || array.first.len() > MAX_TUPLE {
            let length = (!array.length.is_free()).then(|| Limit::Length(array.length.clone()));
            let inner = Type::List(Box::new(Type::Any));
            return Shape::Bounded(Bounded { inner, limit: length, checks: array.items_check().into_iter().collect() });
        }
        let length = array.length.clone();
        if !is_tuple(array) {
            // The Rust type of a tuple has no limit on its length, so the limit becomes a check.
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

    /// Returns the shape of a schema with checks.
    fn checked(&mut self, inner: &Schema, checks: &[Check], at: &Occurrence) -> Shape {
        let checks = checks.to_vec();
        if let Kind::Union(variants) = &inner.kind
            && nullable(variants).is_none()
            && absorbing(variants, self.algebra).is_none()
        {
            let decision = decide(variants, inner.note.discriminator.as_ref(), self.algebra);
            // If the decision is not exact, it can reject values that the checks accept.
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

    /// Returns the shape of a union that no guard decides.
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
        // The params of two methods are different types even if they are equal, because they may differ in later
        // revisions.
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
            Kind::Ref(name) => {
                self.universal.contains(name)
                    || self.algebra.follow(schema).is_some_and(|target| matches!(target.kind, Kind::Any))
            }
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

    /// Returns whether a definition with the name of a message set is a message set. In other protocols, such a name
    /// can belong to any type.
    fn is_message_set(&self, schema: &Schema) -> bool {
        let mut variants = Vec::new();
        self.flatten(schema, &mut variants);
        variants.is_empty() || variants.iter().any(|variant| self.method_of(variant).is_some())
    }

    /// Returns the union of a message set, which `method` alone decides.
    fn messages(&mut self, schema: &Schema, messages: Option<MessageSet>, at: &Occurrence) -> Shape {
        let mut variants = Vec::new();
        self.flatten(schema, &mut variants);
        let mut union = Union { messages, ..Union::default() };
        let mut methods = BTreeMap::new();
        for variant in variants {
            let Some(method) = self.method_of(&variant) else {
                let why = format!("`{}` has no required member `method` with a constant text", readable(&variant));
                let remedy = "add a required member `method` with `{\"const\": \"…\"}`";
                self.problem(at, &variant.note.pointer, &why, remedy);
                continue;
            };
            let content = match self.copied_definition(&variant) {
                Some(id) => Type::Named(id),
                None => self.content(&variant, &at.below(&type_name(&method))),
            };
            match methods.insert(method.clone(), content.clone()) {
                Some(known) if known != content => {
                    let why = format!("two messages of one direction have the method {method:?}");
                    self.problem(at, &variant.note.pointer, &why, "use a different method for each message");
                    continue;
                }
                Some(_) => continue,
                None => {}
            }
            union.add_message(vec![Condition::Value(vec!["method".into()], vec![Json::String(method)])], content);
        }
        Shape::Union(union)
    }

    /// Collects the variants of nested unions and of references to unions.
    fn flatten(&self, schema: &Schema, variants: &mut Vec<Schema>) {
        match &schema.kind {
            Kind::Union(inner) => inner.iter().for_each(|variant| self.flatten(variant, variants)),
            Kind::Ref(name) => match &self.algebra.target(name).kind {
                Kind::Union(_) | Kind::Ref(_) => self.flatten(self.algebra.target(name), variants),
                _ => variants.push(schema.clone()),
            },
            Kind::Never => {}
            _ => variants.push(schema.clone()),
        }
    }

    fn method_of(&self, schema: &Schema) -> Option<String> {
        let Kind::Object(object) = &self.algebra.follow(schema)?.kind else { return None };
        let method = object.properties.get("method").filter(|property| property.required)?;
        constant(self.algebra.follow(&method.schema)?)?.as_str().map(str::to_owned)
    }

    /// Returns the definition that is equal to an inline message.
    fn copied_definition(&self, schema: &Schema) -> Option<TypeId> {
        let Kind::Object(_) = &schema.kind else { return None };
        let directions = MessageSet::ALL.map(MessageSet::definition);
        let definitions = self.normalised.definitions.iter();
        let mut copies = definitions.filter(|(name, other)| !directions.contains(&name.as_str()) && *other == schema);
        copies.next().map(|(name, _)| self.names[name])
    }

    /// Adds the message sets that the schema does not define. Does nothing if neither the schema nor the mapping states
    /// directions.
    fn absent_directions(&mut self) {
        let mapping = self.mapping;
        let is_mapped = mapping.is_some_and(|it| it.messages.iter().any(|it| it.entry.direction.is_some()));
        if !is_mapped && !MessageSet::ALL.into_iter().any(|set| self.defines(set)) {
            return;
        }
        for messages in MessageSet::ALL {
            if self.defines(messages) {
                continue;
            }
            let Some(union) = self.mapped(messages) else { continue };
            let name = message_name(messages.definition(), |name| self.names.contains_key(name));
            let mut def = type_def(&name, Origin::Absent, &Note::default());
            def.shape = Shape::Union(union);
            self.names.insert(def.name.clone(), self.types.len());
            self.types.push(def);
            self.occurrences.push(Vec::new());
        }
    }

    fn defines(&self, set: MessageSet) -> bool {
        self.types.iter().any(|def| def.message_set() == Some(set))
    }

    /// Returns the union of the messages that the mapping lists for a set. Returns `None` if a message has no constant
    /// with its method, or if two messages have the same method.
    fn mapped(&self, messages: MessageSet) -> Option<Union> {
        let mut union = Union { messages: Some(messages), ..Union::default() };
        let mapping = self.mapping;
        for MappedMessage { is_request, entry } in mapping.into_iter().flat_map(|mapping| &mapping.messages) {
            let is_sent = entry.direction.is_some_and(|it| it.senders().contains(&messages.sender));
            if !is_sent || *is_request != (messages.kind == MessageKind::Request) {
                continue;
            }
            let id = *self.names.get(&entry.definition)?;
            let tag = Tag::of(&self.types[id])?;
            let when = vec![Condition::Value(vec![tag.member.to_owned()], vec![Json::String(tag.method.to_owned())])];
            if union.decision.guards.iter().any(|guard| guard.when == when) {
                return None;
            }
            union.add_message(when, Type::Named(id));
        }
        Some(union)
    }

    fn inline(&mut self, schema: &Schema, at: &Occurrence) -> TypeId {
        let mut note = schema.note.clone();
        note.pointer.clone_from(&at.pointer);
        self.types.push(type_def("", Origin::Inline(vec![at.pointer.clone()]), &note));
        self.occurrences.push(vec![at.clone()]);
        self.types.len() - 1
    }

    /// Returns an inline type. Equal inline types are merged.
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

    fn problem(&mut self, at: &Occurrence, pointer: &str, why: &str, remedy: &str) {
        // The problem may be in a different definition from that of the union.
        let definition = tokens(pointer).nth(1).unwrap_or_else(|| at.definition.clone());
        let problem = Problem::new(&self.normalised.file, pointer, why, remedy);
        self.problems.push(Problem { definition, ..problem });
    }
}

impl Union {
    /// Adds a message, whose variant gets its name later.
    fn add_message(&mut self, when: Vec<Condition>, content: Type) {
        self.decision.guards.push(Guard { when, variant: self.variants.len() });
        self.variants.push(Variant { rust: String::new(), content, boxed: false });
    }
}

impl Decision {
    /// Renumbers the variants of the decision after unreachable ones were removed.
    fn renumbered(mut self, kept: &[usize]) -> Decision {
        for guard in &mut self.guards {
            guard.variant = kept.iter().position(|&variant| variant == guard.variant).unwrap_or_default();
        }
        self
    }
}

fn type_def(name: &str, origin: Origin, note: &Note) -> TypeDef {
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

/// Returns the type of the hand-written core for a definition, if it has an equivalent one.
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

/// Returns whether a schema becomes a type with a name, so that references to it are shorter than copies.
fn is_type(kind: &Kind) -> bool {
    match kind {
        Kind::Object(object) => !object.properties.is_empty(),
        Kind::Values(values) => values.len() > 1,
        Kind::Union(variants) => nullable(variants).is_none(),
        _ => false,
    }
}

/// Returns the definitions that become types and are not equal to another one.
fn distinct(normalised: &Normalised) -> BTreeMap<String, TypeId> {
    let mut found: BTreeMap<String, Option<TypeId>> = BTreeMap::new();
    for (id, schema) in normalised.definitions.values().enumerate().filter(|(_, schema)| is_type(&schema.kind)) {
        found.entry(fingerprint(schema)).and_modify(|known| *known = None).or_insert(Some(id));
    }
    found.into_iter().filter_map(|(key, id)| Some((key, id?))).collect()
}

/// Returns the definitions that the checks of types refer to, directly or not, in the order of the schema.
pub(super) fn used_checks<'t>(types: impl IntoIterator<Item = &'t TypeDef>, all: &Definitions) -> Definitions {
    let mut names: Vec<&str> = Vec::new();
    for def in types {
        def.shape.checks().iter().for_each(|check| check.definitions(&mut names));
    }
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

/// Returns the limit of a scalar or list, unless its Rust type enforces the limit.
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

/// Returns whether the bounds are those of `u64`.
fn is_all_unsigned(bounds: &Bounds) -> bool {
    bounds.max.is_none() && bounds.min.as_ref().is_some_and(|min| first_integer(min) == 0)
}

/// The maximum number of fields of a tuple. An array with more becomes a list with a check.
const MAX_TUPLE: usize = 32;

/// Returns whether a tuple expresses the array, without a check of its length.
fn is_tuple(array: &Array) -> bool {
    let count = array.first.len() as u64;
    array.first.len() <= MAX_TUPLE && array.length.min == count && array.length.max.is_none_or(|max| max == count)
}

/// Returns whether an object has named members, or allows members that do not match its pattern.
fn is_struct(object: &Object) -> bool {
    !object.properties.is_empty() || (object.pattern.is_some() && object.additional.kind != Kind::Never)
}

/// Returns the kind of the other variants if one variant is `null`.
fn nullable(variants: &[Schema]) -> Option<Kind> {
    let rest: Vec<Schema> = variants.iter().filter(|variant| variant.kind != Kind::Null).cloned().collect();
    (rest.len() < variants.len()).then(|| Kind::union(rest))
}

/// Returns the known values of an open enumeration. The variant `Other` holds any other string.
fn open_enumeration(values: &[String]) -> Vec<Value> {
    let mut names = Namespace::default();
    names.claim("Other");
    let name = |text: &String| if text.is_empty() { "Empty".to_owned() } else { type_name(text) };
    let names = names.claim_all(values.iter().map(|text| (text.as_str(), name(text))));
    values.iter().zip(names).map(|(text, rust)| Value { json: Json::String(text.clone()), rust }).collect()
}

/// Returns the values of an enumeration with their names.
fn enumeration(values: &[Json], note: &Note) -> Vec<Value> {
    let given = |json: &Json| note.value_names.iter().find(|(value, _)| value == json).map(|(_, name)| name.clone());
    let texts: Vec<String> = values.iter().map(|json| given(json).unwrap_or_else(|| json.plain())).collect();
    let wanted = values.iter().zip(&texts).map(|(json, text)| match json {
        _ if given(json).is_some() => type_name(text),
        Json::String(text) if text.is_empty() => "Empty".to_owned(),
        Json::String(text) => type_name(text),
        Json::Number(number) => {
            format!("Number{}", number.to_string().replace('-', "Minus").replace('.', "_").replace('+', ""))
        }
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::Null => "Null".to_owned(),
        Json::Array(_) => "Array".to_owned(),
        Json::Object(_) => "Object".to_owned(),
    });
    let names = Namespace::default().claim_all(texts.iter().map(String::as_str).zip(wanted));
    values.iter().zip(names).map(|(json, rust)| Value { json: json.clone(), rust }).collect()
}

/// Names the variants of a union for the names of inline types. An object is named by the constant that tells it apart.
fn variant_labels(variants: &[Schema]) -> Vec<String> {
    let constants = |schema: &Schema| -> IndexMap<String, String> {
        let Kind::Object(object) = &schema.unchecked().kind else { return IndexMap::new() };
        let members = object.properties.iter().filter_map(|(name, property)| {
            let constant = constant(&property.schema)?.as_str().filter(|it| !it.is_empty())?;
            Some((name.clone(), constant.to_owned()))
        });
        members.collect()
    };
    let objects: Vec<_> = variants.iter().map(constants).collect();
    let is_distinct = |name: &str| {
        let values: Vec<&String> = objects.iter().filter_map(|object| object.get(name)).collect();
        values.iter().collect::<BTreeSet<_>>().len() == values.len()
    };
    let label = |(schema, object): (&Schema, &IndexMap<String, String>)| {
        let tag = object.iter().find(|(name, _)| is_distinct(name)).or(object.first());
        tag.map_or_else(|| variant_label(schema), |(_, tag)| type_name(tag))
    };
    variants.iter().zip(&objects).map(label).collect()
}

/// Returns the only value that a schema accepts.
fn constant(schema: &Schema) -> Option<&Json> {
    match &schema.kind {
        Kind::Values(values) if values.len() == 1 => values.first(),
        _ => None,
    }
}

/// Names a variant without such a constant.
fn variant_label(schema: &Schema) -> String {
    match &schema.unchecked().kind {
        Kind::Ref(name) => name.clone(),
        Kind::Object(_) => "Object".to_owned(),
        Kind::Array(_) => "Array".to_owned(),
        Kind::Values(_) => "Value".to_owned(),
        Kind::String(_) => "String".to_owned(),
        Kind::Integer(_) => "Integer".to_owned(),
        Kind::Number(_) => "Number".to_owned(),
        Kind::Boolean => "Boolean".to_owned(),
        _ => "Other".to_owned(),
    }
}

/// Returns the name of a variant for messages.
fn readable(schema: &Schema) -> String {
    match &schema.kind {
        Kind::Ref(name) => name.clone(),
        _ => format!("the variant at {}", schema.note.pointer),
    }
}

/// Returns a text that is the same for two schemas if and only if their structure is equal.
fn fingerprint(schema: &Schema) -> String {
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
