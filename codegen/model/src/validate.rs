//! Validates documents with the model. Results and messages are those of the generated types.

use std::collections::BTreeSet;

use mcpgen_schema::JsonTypes;
use mcpgen_schema::check::{Check, check_bounds, check_length, matches};
pub use mcpgen_schema::failure::Failure;
use mcpgen_schema::failure::{describe, describe_type, literal, number_text, one_of};
use mcpgen_schema::json::{Json, compare, integer};
use mcpgen_schema::normal::Length;

use crate::{Bounded, Condition, Content, Guard, Limit, Protocol, Rest, Shape, Struct, Tuple, Type, TypeId};

/// Validates a document against a type. Decoding the document into the generated type gives the same result.
///
/// # Errors
/// Returns the first violation, with its path.
pub fn validate(protocol: &Protocol, type_id: TypeId, document: &Json) -> std::result::Result<(), Failure> {
    let uninhabited = uninhabited(protocol);
    Validator { protocol, uninhabited }.named(type_id, document)
}

struct Validator<'p> {
    protocol: &'p Protocol,
    /// The types without values, such as a type that requires a value of itself.
    uninhabited: BTreeSet<TypeId>,
}

type Result<T = ()> = std::result::Result<T, Failure>;

impl Validator<'_> {
    fn content(&self, content: &Type, json: &Json) -> Result {
        match (content, json) {
            (Type::Any, _) | (Type::Null, Json::Null) | (Type::Boolean, Json::Bool(_)) => Ok(()),
            (Type::String, Json::String(_)) | (Type::Number, Json::Number(_)) | (Type::Object, Json::Object(_)) => {
                Ok(())
            }
            (Type::Never, _) => Err(Failure::new("no value is valid here")),
            (Type::Null, _) => Err(Failure::mismatch("null", json)),
            (Type::Boolean, _) => Err(Failure::mismatch("boolean", json)),
            (Type::String, _) => Err(Failure::mismatch("string", json)),
            (Type::Number, _) => Err(Failure::mismatch("number", json)),
            (Type::Object | Type::Map(_), other) if other.as_object().is_none() => {
                Err(Failure::mismatch("object", json))
            }
            (Type::Signed, _) => whole(json, i64::MIN.into(), i64::MAX.into()),
            (Type::Unsigned, _) => whole(json, 0, u64::MAX.into()),
            (Type::List(inner), Json::Array(items)) => items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| self.content(inner, item).map_err(|error| error.at_index(index))),
            (Type::List(_), _) => Err(Failure::mismatch("array", json)),
            (Type::Map(inner), _) => self.others(inner, &|_| true, json),
            (Type::Nullable(_), Json::Null) => Ok(()),
            (Type::Nullable(inner), _) => self.content(inner, json),
            (Type::Named(id), _) => self.named(*id, json),
            (Type::Object, _) => Ok(()),
        }
    }

    fn named(&self, id: TypeId, json: &Json) -> Result {
        let def = &self.protocol.types[id];
        if self.uninhabited.contains(&id) {
            return Err(Failure::new("no value is valid here"));
        }
        match &def.shape {
            Shape::Struct(body) => self.structure(body, json),
            Shape::Union(union) => {
                let variant = choose(&union.decision.guards, json)?;
                self.content(&union.variants[variant].content, json)
            }
            Shape::Enum(values) => {
                let strings = values.iter().all(|value| value.json.as_str().is_some());
                if strings && json.as_str().is_none() {
                    return Err(Failure::mismatch("string", json));
                }
                if values.iter().any(|value| value.json == *json) {
                    return Ok(());
                }
                let expected: Vec<String> = values.iter().map(|value| literal(&value.json)).collect();
                Err(Failure::expected(one_of(&expected), describe(json)))
            }
            Shape::OpenEnum(_) => self.content(&Type::String, json),
            Shape::Tuple(tuple) => self.tuple(tuple, json),
            Shape::Bounded(bounded) => self.bounded(bounded, json),
            Shape::Undecided(undecided) => self.checks(&undecided.checks, json),
            Shape::Alias(content, _) | Shape::Newtype(content) => self.content(content, json),
            Shape::Core("ResultType") => self.content(&Type::String, json),
            Shape::Core(_) => match json {
                Json::String(_) => Ok(()),
                Json::Number(number) if integer(number).is_some() => self.content(&Type::Signed, json),
                _ => Err(Failure::mismatch("string or integer", json)),
            },
            Shape::Never => Err(Failure::new("no value is valid here")),
        }
    }

    fn checks(&self, checks: &[Check], json: &Json) -> Result {
        checks.iter().try_for_each(|check| check.check(json, &self.protocol.checks))
    }

    fn bounded(&self, bounded: &Bounded, json: &Json) -> Result {
        self.content(&bounded.inner, json)?;
        match (&bounded.limit, json) {
            (Some(Limit::Bounds(bounds)), Json::Number(number)) => check_bounds(bounds, number)?,
            (Some(Limit::Length(length)), Json::String(text)) => {
                check_length(length, text.chars().count(), "characters")?;
            }
            (Some(Limit::Length(length)), Json::Array(items)) => check_length(length, items.len(), "items")?,
            _ => {}
        }
        self.checks(&bounded.checks, json)
    }

    fn structure(&self, body: &Struct, json: &Json) -> Result {
        let Json::Object(members) = json else { return Err(Failure::mismatch("object", json)) };
        let known: Vec<&str> = body.members.iter().map(|member| member.wire.as_str()).collect();
        for (name, value) in members {
            let Some(member) = body.members.iter().find(|member| member.wire == *name) else { continue };
            let result = match &member.content {
                Content::Constant(constant) if constant == value => Ok(()),
                Content::Constant(constant) => {
                    Err(Failure::expected(format_args!("constant {}", literal(constant)), describe(value)))
                }
                Content::Value(content) => self.content(content, value),
            };
            result.map_err(|error| error.at_key(name))?;
        }
        let mut matching = BTreeSet::new();
        if let Some(it) = &body.pattern {
            for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
                if matches(&it.pattern, name).map_err(|error| error.at_key(name))? {
                    matching.insert(name.as_str());
                }
            }
            self.others(&it.content, &|name| matching.contains(name), json)?;
        }
        let is_other = |name: &str| !known.contains(&name) && !matching.contains(name);
        match &body.rest {
            Rest::Open => {}
            Rest::Typed(content) => self.others(content, &is_other, json)?,
            Rest::Closed => {
                if let Some(name) = members.keys().find(|name| is_other(name)) {
                    return Err(Failure::new("unexpected member").at_key(name));
                }
            }
        }
        match body.members.iter().find(|member| member.required && !members.contains_key(&member.wire)) {
            Some(member) => Err(Failure::new("missing required member").at_key(&member.wire)),
            None => Ok(()),
        }
    }

    fn tuple(&self, tuple: &Tuple, json: &Json) -> Result {
        let Json::Array(items) = json else { return Err(Failure::mismatch("array", json)) };
        let min = tuple.first.len();
        let max = tuple.rest.is_none().then_some(min as u64);
        check_length(&Length { min: min as u64, max }, items.len(), "items")?;
        let contents = tuple.first.iter().map(|item| &item.content).chain(tuple.rest.iter().cycle());
        let mut items = items.iter().zip(contents).enumerate();
        items.try_for_each(|(index, (item, content))| self.content(content, item).map_err(|it| it.at_index(index)))
    }

    /// Validates the members for which `is_other` is true, sorted by name.
    fn others(&self, content: &Type, is_other: &dyn Fn(&str) -> bool, json: &Json) -> Result {
        let mut members: Vec<(&String, &Json)> =
            json.as_object().into_iter().flatten().filter(|(name, _)| is_other(name)).collect();
        members.sort_by_key(|(name, _)| *name);
        members.into_iter().try_for_each(|(name, value)| self.content(content, value).map_err(|it| it.at_key(name)))
    }
}

/// Returns the types without values: each of their values would contain a value of such a type.
fn uninhabited(protocol: &Protocol) -> BTreeSet<TypeId> {
    let mut empty: BTreeSet<TypeId> = (0..protocol.types.len()).collect();
    loop {
        let has = |content: &Type, empty: &BTreeSet<TypeId>| match content {
            Type::Never => false,
            Type::Named(id) => !empty.contains(id),
            _ => true,
        };
        let found: Vec<TypeId> = empty
            .iter()
            .copied()
            .filter(|id| match &protocol.types[*id].shape {
                Shape::Struct(body) => body.members.iter().all(|member| match &member.content {
                    Content::Value(content) => !member.required || has(content, &empty),
                    Content::Constant(_) => true,
                }),
                Shape::Union(union) => union.variants.iter().any(|variant| has(&variant.content, &empty)),
                Shape::Tuple(tuple) => tuple.first.iter().all(|item| has(&item.content, &empty)),
                Shape::Enum(values) => !values.is_empty(),
                Shape::Bounded(Bounded { inner, .. }) | Shape::Alias(inner, _) | Shape::Newtype(inner) => {
                    has(inner, &empty)
                }
                Shape::OpenEnum(_) | Shape::Core(_) | Shape::Undecided(_) => true,
                Shape::Never => false,
            })
            .collect();
        if found.is_empty() {
            return empty;
        }
        found.iter().for_each(|id| {
            empty.remove(id);
        });
    }
}

/// Validates an integer within a range.
fn whole(json: &Json, minimum: i128, maximum: i128) -> Result {
    let Json::Number(number) = json else { return Err(Failure::mismatch("integer", json)) };
    let is_whole = integer(number).is_some() || number.as_f64().is_some_and(|value| value.fract() == 0.0);
    if !is_whole {
        return Err(Failure::mismatch("integer", json));
    }
    let bound = |value: i128| serde_json::Number::from_i128(value);
    if bound(minimum).is_some_and(|minimum| compare(number, &minimum).is_lt()) {
        return Err(Failure::expected(format_args!("at least {minimum}"), number_text(number)));
    }
    if bound(maximum).is_some_and(|maximum| compare(number, &maximum).is_gt()) {
        return Err(Failure::expected(format_args!("at most {maximum}"), number_text(number)));
    }
    Ok(())
}

/// Returns the variant that the guards select.
fn choose(guards: &[Guard], json: &Json) -> Result<usize> {
    match guards.iter().find(|guard| guard.when.iter().all(|condition| holds(condition, json))) {
        Some(guard) => Ok(guard.variant),
        None => Err(refusal(guards, json)),
    }
}

fn descend<'j>(json: &'j Json, path: &[String]) -> Option<&'j Json> {
    path.iter().try_fold(json, |here, segment| match here {
        Json::Object(members) => members.get(segment),
        Json::Array(items) => items.get(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

fn path(condition: &Condition) -> &[String] {
    match condition {
        Condition::Type(_) => &[],
        Condition::Value(path, _) | Condition::Present(path) | Condition::Absent(path) => path,
    }
}

fn holds(condition: &Condition, json: &Json) -> bool {
    let value = descend(json, path(condition));
    match condition {
        Condition::Type(types) => value.is_some_and(|value| types.contains(JsonTypes::of(value))),
        Condition::Value(_, values) => value.is_some_and(|value| values.contains(value)),
        Condition::Present(_) => value.is_some(),
        Condition::Absent(_) => value.is_none(),
    }
}

/// Returns the JSON types of values that can satisfy a condition.
fn types(condition: &Condition) -> JsonTypes {
    match condition {
        Condition::Type(types) => *types,
        Condition::Absent(_) => JsonTypes::ALL,
        Condition::Value(path, values) if path.is_empty() => values.iter().map(JsonTypes::of).collect(),
        condition => match path(condition).first() {
            None => JsonTypes::ALL,
            Some(head) if head.parse::<usize>().is_ok() => JsonTypes::ARRAY,
            Some(_) => JsonTypes::OBJECT,
        },
    }
}

/// Returns the failure for a value that no guard accepts. It names the expectations of the closest guards.
fn refusal(guards: &[Guard], json: &Json) -> Failure {
    let own = JsonTypes::of(json);
    let of_guard = |guard: &Guard| guard.when.iter().fold(JsonTypes::ALL, |all, condition| all & types(condition));
    let all: JsonTypes = guards.iter().map(of_guard).collect();
    if !all.contains(own) {
        return Failure::expected(all.words(), describe_type(json, all.contains(JsonTypes::INTEGER)));
    }
    let possible = guards.iter().filter(|guard| of_guard(guard).contains(own));
    let failed: Vec<(usize, &Condition)> = possible
        .filter_map(|guard| guard.when.iter().enumerate().find(|(_, condition)| !holds(condition, json)))
        .collect();
    let most = failed.iter().map(|(first, _)| *first).max();
    let closest: Vec<&Condition> =
        failed.into_iter().filter(|(first, _)| Some(*first) == most).map(|(_, condition)| condition).collect();
    wrong_value(&closest, json).unwrap_or_else(|| wrong_members(&closest))
}

fn wrong_value(failed: &[&Condition], json: &Json) -> Option<Failure> {
    let place = failed.iter().find_map(|condition| match condition {
        Condition::Value(path, _) => Some(path),
        _ => None,
    })?;
    let mut expected = Vec::new();
    for condition in failed {
        if let Condition::Value(path, values) = condition
            && path == place
        {
            for value in values.iter().map(literal) {
                if !expected.contains(&value) {
                    expected.push(value);
                }
            }
        }
    }
    let expected = one_of(&expected);
    let failure = match descend(json, place) {
        Some(value) => Failure::expected(expected, describe(value)),
        None => Failure::new(format!("missing required member: expected {expected}")),
    };
    Some(place.iter().rev().fold(failure, |failure, segment| match segment.parse() {
        Ok(index) => failure.at_index(index),
        Err(_) => failure.at_key(segment),
    }))
}

fn wrong_members(failed: &[&Condition]) -> Failure {
    let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
    for condition in failed {
        let names = match condition {
            Condition::Present(_) => &mut wanted,
            Condition::Absent(_) => &mut unwanted,
            _ => continue,
        };
        let name = format!("`{}`", path(condition).join("."));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let or = |names: &[String]| match names {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => names.concat(),
    };
    match (wanted.is_empty(), unwanted.is_empty()) {
        (false, _) => Failure::expected(format_args!("a member {}", or(&wanted)), "none"),
        (true, false) => Failure::expected(format_args!("no member {}", or(&unwanted)), "one"),
        (true, true) => Failure::expected("nothing", "a value"),
    }
}
