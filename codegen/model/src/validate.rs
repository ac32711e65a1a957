//! Validates documents against the model, with the same results and messages as the generated types.

use std::cell::Cell;

use mcpgen_schema::JsonTypes;
use mcpgen_schema::check::Check;
use mcpgen_schema::evaluate::{choose, matches};
pub use mcpgen_schema::failure::Failure;
use mcpgen_schema::failure::{describe, literal};
use mcpgen_schema::json::{Json, is_integer};
use mcpgen_schema::normal::{Bound, Bounds, Length};
use serde_json::Number;

use crate::{Bounded, Content, CoreType, Limit, Protocol, Rest, Shape, Struct, Tuple, Type, TypeId};

/// Validates a document against a type. Accepts exactly the documents that decode into the generated type, and fails
/// with the same messages as decoding.
///
/// # Errors
/// Returns the first violation, with its path.
pub fn validate(protocol: &Protocol, type_id: TypeId, document: &Json) -> std::result::Result<(), Failure> {
    if depth(document) > MAX_DEPTH {
        return Err(Failure::new(format!("nested more than {MAX_DEPTH} levels deep")));
    }
    Validator::new(protocol).named(type_id, document)
}

/// The number of nested arrays and objects that the generated types accept, including the outermost.
const MAX_DEPTH: usize = 100;

/// Limits nested types, and thereby the stack. Real documents need a few hundred.
const MAX_TYPES: usize = 600;

/// The parser limits the depth, and thereby this recursion.
fn depth(json: &Json) -> usize {
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

pub(crate) struct Validator<'p> {
    protocol: &'p Protocol,
    inhabited: Vec<Option<usize>>,
    depth: Cell<usize>,
}

type Result<T = ()> = std::result::Result<T, Failure>;

impl<'p> Validator<'p> {
    pub(crate) fn new(protocol: &'p Protocol) -> Self {
        Validator { protocol, inhabited: protocol.inhabited(), depth: Cell::new(0) }
    }

    pub(crate) fn content(&self, content: &Type, json: &Json) -> Result {
        let types = match content {
            Type::Null => JsonTypes::NULL,
            Type::Boolean => JsonTypes::BOOLEAN,
            Type::String => JsonTypes::STRING,
            Type::Number => JsonTypes::NUMBER,
            Type::Object | Type::Map(_) => JsonTypes::OBJECT,
            Type::List(_) => JsonTypes::ARRAY,
            _ => JsonTypes::ALL,
        };
        if !types.contains(JsonTypes::of(json)) {
            return Err(Failure::mismatch(&types.words(), json));
        }
        match (content, json) {
            (Type::Never, _) => Err(Failure::new("no value is valid here")),
            (Type::Signed, _) => whole(json, i64::MIN.into(), i64::MAX.into()),
            (Type::Unsigned, _) => whole(json, 0.into(), u64::MAX.into()),
            (Type::List(inner), Json::Array(items)) => items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| self.content(inner, item).map_err(|error| error.at_index(index))),
            (Type::Map(inner), Json::Object(members)) => members
                .iter()
                .try_for_each(|(name, member)| self.content(inner, member).map_err(|error| error.at_key(name))),
            (Type::Nullable(_), Json::Null) => Ok(()),
            (Type::Nullable(inner), _) => self.content(inner, json),
            (Type::Named(id), _) => self.named(*id, json),
            _ => Ok(()),
        }
    }

    /// Validates a value of a named type, unless types nest so deeply that the stack could overflow.
    fn named(&self, id: TypeId, json: &Json) -> Result {
        let depth = self.depth.get();
        if depth == MAX_TYPES {
            return Err(Failure::new(format!("types are nested more than {MAX_TYPES} levels deep")));
        }
        self.depth.set(depth + 1);
        let result = self.shape(id, json);
        self.depth.set(depth);
        result
    }

    fn shape(&self, id: TypeId, json: &Json) -> Result {
        let def = &self.protocol.types[id];
        if self.inhabited[id].is_none() {
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
                let values = values.iter().map(|value| value.json.clone()).collect();
                self.checks(&[Check::Values(values)], json)
            }
            Shape::OpenEnum(_) => self.content(&Type::String, json),
            Shape::Tuple(tuple) => self.tuple(tuple, json),
            Shape::Bounded(bounded) => self.bounded(bounded, json),
            Shape::Undecided(undecided) => self.checks(&undecided.checks, json),
            Shape::Alias(content, _) | Shape::Newtype(content) => self.content(content, json),
            Shape::Core(CoreType::ResultType) => self.content(&Type::String, json),
            Shape::Core(CoreType::RequestId | CoreType::ProgressToken) => match json {
                Json::String(_) => Ok(()),
                Json::Number(number) if is_integer(number) => self.content(&Type::Signed, json),
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
            (Some(Limit::Bounds(bounds)), Json::Number(number)) => bounds.check(number)?,
            (Some(Limit::Length(length)), Json::String(text)) => {
                length.check_length(text.chars().count(), "characters")?;
            }
            (Some(Limit::Length(length)), Json::Array(items)) => length.check_length(items.len(), "items")?,
            _ => {}
        }
        self.checks(&bounded.checks, json)
    }

    fn structure(&self, body: &Struct, json: &Json) -> Result {
        let Json::Object(members) = json else { return Err(Failure::mismatch("object", json)) };
        for (name, value) in members {
            let result = match body.member(name).map(|member| &member.content) {
                Some(Content::Constant(constant)) if constant == value => Ok(()),
                Some(Content::Constant(constant)) => {
                    Err(Failure::expected(format_args!("constant {}", literal(constant)), describe(value)))
                }
                Some(Content::Value(content)) => self.content(content, value),
                None => self.other(body, name, value),
            };
            result.map_err(|error| error.at_key(name))?;
        }
        match body.members.iter().find(|member| member.required && !members.contains_key(&member.wire)) {
            Some(member) => Err(Failure::new("missing required member").at_key(&member.wire)),
            None => Ok(()),
        }
    }

    fn other(&self, body: &Struct, name: &str, value: &Json) -> Result {
        if let Some(it) = &body.pattern
            && matches(&it.pattern, name)?
        {
            return self.content(&it.content, value);
        }
        match &body.rest {
            Rest::Open => Ok(()),
            Rest::Typed(content) => self.content(content, value),
            Rest::Closed => Err(Failure::new("unexpected member")),
        }
    }

    fn tuple(&self, tuple: &Tuple, json: &Json) -> Result {
        let Json::Array(items) = json else { return Err(Failure::mismatch("array", json)) };
        let min = tuple.first.len();
        let max = tuple.rest.is_none().then_some(min as u64);
        Length { min: min as u64, max }.check_length(items.len(), "items")?;
        let contents = tuple.first.iter().map(|item| &item.content).chain(tuple.rest.iter().cycle());
        let mut items = items.iter().zip(contents).enumerate();
        items.try_for_each(|(index, (item, content))| self.content(content, item).map_err(|it| it.at_index(index)))
    }
}

fn whole(json: &Json, min: Number, max: Number) -> Result {
    match json {
        Json::Number(number) if is_integer(number) => {
            let bound = |value| Bound { value, exclusive: false };
            Bounds { min: Some(bound(min)), max: Some(bound(max)) }.check(number)
        }
        _ => Err(Failure::mismatch("integer", json)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpgen_schema::Document;

    #[test]
    fn reports_what_the_generated_types_report() {
        let schema = br##"{"$defs": {
            "Names": {"type": "object", "additionalProperties": {"type": "string"}},
            "Point": {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": false},
            "RequestId": {"type": ["string", "integer"]},
            "Tree": {"type": "array"},
            "Named": {"type": "object", "properties": {"n": {"type": "string"}}, "required": ["n"]},
            "Open": {"type": "object", "properties": {"m": {"type": "string"}}},
            "HasNamed": {"anyOf": [
                {"type": "object", "properties": {"a": {"$ref": "#/$defs/Named"}, "b": {"type": "string"}}},
                {"type": "object", "properties": {"a": {"$ref": "#/$defs/Named"}, "b": {"type": "string"}, "c": true}}
            ]},
            "HasOpen": {"type": "object", "properties": {"a": {"$ref": "#/$defs/Open"}, "b": {"type": "string"}}},
            "Either": {"anyOf": [{"$ref": "#/$defs/HasNamed"}, {"$ref": "#/$defs/HasOpen"}]}
        }}"##;
        let protocol = crate::model(Document::parse("test.json", schema).expect("a schema"), "draft", false);
        let protocol = protocol.expect("a model");
        let [deepest, too_deep] = [100, 101].map(|depth| "[".repeat(depth) + &"]".repeat(depth));
        for (name, document, expected) in [
            ("Names", r#"{"k": 1, "d": 2}"#, Some("k: expected string, found number")),
            ("Point", r#"{"y": 1, "x": ""}"#, Some("y: unexpected member")),
            ("RequestId", "1e300", Some("expected at most 9223372036854775807, found 1e300")),
            ("RequestId", "1.5", Some("expected string or integer, found number 1.5")),
            ("Tree", &deepest, None),
            // A containment not proven for one variant must not be taken for granted with the next.
            ("Either", r#"{"a": {}}"#, None),
            ("Tree", &too_deep, Some("nested more than 100 levels deep")),
        ] {
            let id = protocol.types.iter().position(|def| def.name == name).expect("a type");
            let failure = validate(&protocol, id, &Json::parse(document).expect("JSON")).err();
            assert_eq!(failure.map(|failure| failure.to_string()).as_deref(), expected, "{name}: {document}");
        }
    }
}
