//! Turns types into checks, to compare them as a whole.

use mcpgen_model::{
    Bounded, Bounds, Check, Content, CoreType, JsonTypes, Length, Limit, Member, Protocol, Rest, Shape, Type, TypeId,
};
use mcpgen_schema::check::{Definitions, MemberChecks};
use mcpgen_schema::guard::decided;
use mcpgen_schema::normal::Bound;
use serde_json::Number;

/// Turns types into checks.
#[derive(Default)]
pub(super) struct Checks {
    /// Whether readers store integers in 64 bits.
    is_64_bit: bool,
    /// Named types that checks refer to, still to be turned into definitions: types may be recursive.
    named: Vec<TypeId>,
}

impl Checks {
    /// Returns the check of a type, with the definitions that it refers to.
    pub(super) fn of(protocol: &Protocol, content: &Type, is_64_bit: bool) -> (Check, Definitions) {
        let mut checks = Checks { is_64_bit, ..Checks::default() };
        let check = checks.check(content);
        let mut definitions = protocol.checks.clone();
        while let Some(id) = checks.named.pop() {
            let key = key(id);
            if !definitions.contains_key(&key) {
                definitions.insert(key, checks.of_shape(&protocol.types[id].shape));
            }
        }
        (check, definitions)
    }

    fn check(&mut self, content: &Type) -> Check {
        let typed =
            |types: JsonTypes, checks: Vec<Check>| Check::All([Check::Type(types)].into_iter().chain(checks).collect());
        let others = |of: Check| members(Vec::new(), Vec::new(), Some(of));
        match content {
            Type::Any => Check::Anything,
            Type::Never => Check::Nothing,
            Type::Null => Check::Type(JsonTypes::NULL),
            Type::Boolean => Check::Type(JsonTypes::BOOLEAN),
            Type::String => Check::Type(JsonTypes::STRING),
            Type::Signed => self.integer(i64::MIN.into(), i64::MAX.into(), self.is_64_bit),
            Type::Unsigned => self.integer(0.into(), u64::MAX.into(), true),
            Type::Number => Check::Type(JsonTypes::NUMBER),
            Type::Object => Check::Type(JsonTypes::OBJECT),
            Type::Map(inner) => typed(JsonTypes::OBJECT, vec![others(self.check(inner))]),
            Type::List(inner) => {
                typed(JsonTypes::ARRAY, vec![Check::Items(Vec::new(), Some(Box::new(self.check(inner))))])
            }
            Type::Nullable(inner) => Check::Any(vec![self.check(inner), Check::Type(JsonTypes::NULL)]),
            Type::Named(id) => {
                self.named.push(*id);
                Check::Definition(key(*id))
            }
        }
    }

    fn integer(&self, min: Number, max: Number, has_min: bool) -> Check {
        let bound = |value, is_present: bool| is_present.then_some(Bound { value, exclusive: false });
        let bounds = Bounds { min: bound(min, has_min), max: bound(max, self.is_64_bit) };
        Check::All(
            [Check::Type(JsonTypes::INTEGER)]
                .into_iter()
                .chain((bounds != Bounds::default()).then_some(Check::Bounds(bounds)))
                .collect(),
        )
    }

    fn of_shape(&mut self, shape: &Shape) -> Check {
        match shape {
            Shape::Struct(body) => {
                let required = body.members.iter().filter(|member| member.required).map(|member| member.wire.clone());
                let named = body.members.iter().map(|member| (member.wire.clone(), self.of_member(member))).collect();
                let patterns = body.pattern.iter().map(|it| (it.pattern.clone(), self.check(&it.content))).collect();
                let rest = match &body.rest {
                    Rest::Open => None,
                    Rest::Typed(content) => Some(self.check(content)),
                    Rest::Closed => Some(Check::Nothing),
                };
                let required = Check::Required(required.collect());
                Check::All(vec![Check::Type(JsonTypes::OBJECT), required, members(named, patterns, rest)])
            }
            Shape::Union(union) => {
                let variants: Vec<Check> = union.variants.iter().map(|it| self.check(&it.content)).collect();
                decided(&union.decision.guards, &variants)
            }
            Shape::Enum(values) => Check::Values(values.iter().map(|value| value.json.clone()).collect()),
            Shape::OpenEnum(_) | Shape::Core(CoreType::ResultType) => Check::Type(JsonTypes::STRING),
            Shape::Tuple(tuple) => {
                let first: Vec<Check> = tuple.first.iter().map(|item| self.check(&item.content)).collect();
                let rest = tuple.rest.as_ref().map_or(Check::Nothing, |content| self.check(content));
                let count = Check::ItemCount(Length { min: first.len() as u64, max: None });
                Check::All(vec![Check::Type(JsonTypes::ARRAY), count, Check::Items(first, Some(Box::new(rest)))])
            }
            Shape::Bounded(Bounded { inner, limit, checks }) => {
                let inner = self.check(inner);
                let limit = limit.as_ref().map(|limit| match limit {
                    Limit::Bounds(bounds) => Check::Bounds(bounds.clone()),
                    Limit::Length(length) => {
                        Check::All(vec![Check::Length(length.clone()), Check::ItemCount(length.clone())])
                    }
                });
                Check::All([inner].into_iter().chain(limit).chain(checks.iter().cloned()).collect())
            }
            Shape::Undecided(undecided) => Check::All(undecided.checks.clone()),
            Shape::Alias(content, _) | Shape::Newtype(content) => self.check(content),
            Shape::Core(CoreType::RequestId | CoreType::ProgressToken) => {
                Check::Type(JsonTypes::STRING | JsonTypes::INTEGER)
            }
            Shape::Never => Check::Nothing,
        }
    }

    fn of_member(&mut self, member: &Member) -> Check {
        match &member.content {
            Content::Constant(value) => Check::Values(vec![value.clone()]),
            Content::Value(content) => self.check(content),
        }
    }
}

/// Returns the name under which the check of a named type is defined.
fn key(id: TypeId) -> String {
    format!("\0{id}")
}

fn members(named: Vec<(String, Check)>, patterns: Vec<(String, Check)>, others: Option<Check>) -> Check {
    Check::Members(Box::new(MemberChecks { named, patterns, others }))
}
