//! Resolved type expressions: what they accept, without names or aliases.

use mcpgen_model::{
    Bounded, Bounds, Check, Content, CoreType, Decision, JsonTypes, Length, Limit, Member, PatternMembers, Protocol,
    Rest, Shape, Tuple, Type, Union, Value,
};
use mcpgen_schema::json::Json;
use mcpgen_schema::normal::{first_integer, last_integer};
use mcpgen_schema::text::pattern;

/// The values that a type accepts.
#[derive(Clone, Debug)]
pub(super) enum Resolved<'p> {
    Any,
    Never,
    Null,
    Boolean,
    String(Length),
    Integer(Integers),
    Number(Bounds),
    List(&'p Type, Length),
    Tuple(&'p Tuple),
    Object(ResolvedObject<'p>),
    Values(Vec<Json>),
    Union(Choice<'p>),
}

/// A range of integers, including both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integers {
    pub(super) first: i128,
    pub(super) last: i128,
}

/// The named members of an object, and what it allows in other members.
#[derive(Clone, Debug)]
pub(super) struct ResolvedObject<'p> {
    pub(super) members: &'p [Member],
    pub(super) pattern: Option<&'p PatternMembers>,
    pub(super) rest: OtherMembers<'p>,
}

impl<'p> ResolvedObject<'p> {
    /// Returns the possible content of a member that the object does not name.
    pub(super) fn other(&self, name: &str) -> OtherMembers<'p> {
        match self.pattern {
            Some(it) if pattern::matches(&it.pattern, name) == Ok(true) => OtherMembers::Of(&it.content),
            _ => self.rest,
        }
    }
}

/// Members that an object does not name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OtherMembers<'p> {
    Anything,
    Of(&'p Type),
    Refused,
}

/// The variants of a union, and how one is selected: by the decision or, without one, by JSON type.
#[derive(Clone, Debug)]
pub(super) struct Choice<'p> {
    pub(super) variants: Vec<Type>,
    pub(super) decision: Option<&'p Decision>,
}

/// Resolves the names in the types of a model.
pub(super) trait Resolve {
    /// Resolves a type expression.
    fn resolved<'p>(&'p self, content: &'p Type) -> Resolved<'p>;

    /// Returns the checks of a type, which [`resolved`](Self::resolved) leaves out.
    fn checks_of<'p>(&'p self, content: &'p Type) -> Vec<&'p Check>;

    /// Returns the known values of an open enumeration. Empty for other types.
    fn known_values<'p>(&'p self, content: &'p Type) -> &'p [Value];

    /// Resolves the content of a member.
    fn resolved_member<'p>(&'p self, member: &'p Member) -> Resolved<'p>;
}

impl Resolve for Protocol {
    fn resolved<'p>(&'p self, content: &'p Type) -> Resolved<'p> {
        let object = |rest| Resolved::Object(ResolvedObject { members: &[], pattern: None, rest });
        match self.follow(content) {
            Type::Any => Resolved::Any,
            Type::Never => Resolved::Never,
            Type::Null => Resolved::Null,
            Type::Boolean => Resolved::Boolean,
            Type::String => Resolved::String(Length::default()),
            Type::Signed => Resolved::Integer(Integers::of(&Bounds::default(), false)),
            Type::Unsigned => Resolved::Integer(Integers::of(&Bounds::default(), true)),
            Type::Number => Resolved::Number(Bounds::default()),
            Type::Object => object(OtherMembers::Anything),
            Type::Map(inner) if **inner == Type::Never => object(OtherMembers::Refused),
            Type::Map(inner) => object(OtherMembers::Of(inner)),
            Type::List(inner) => Resolved::List(inner, Length::default()),
            Type::Nullable(inner) => {
                Resolved::Union(Choice { variants: vec![(**inner).clone(), Type::Null], decision: None })
            }
            // The model has no recursive aliases.
            Type::Named(id) => resolved_type(self, *id),
        }
    }

    fn checks_of<'p>(&'p self, content: &'p Type) -> Vec<&'p Check> {
        let mut checks = Vec::new();
        let mut content = self.follow(content);
        for _ in 0..MAX_DEPTH {
            let Type::Named(id) = content else { break };
            match &self.types[*id].shape {
                Shape::Bounded(bounded) => {
                    checks.extend(&bounded.checks);
                    content = self.follow(&bounded.inner);
                }
                Shape::Undecided(undecided) => {
                    checks.extend(&undecided.checks);
                    break;
                }
                _ => break,
            }
        }
        checks
    }

    fn known_values<'p>(&'p self, content: &'p Type) -> &'p [Value] {
        match self.follow(content) {
            Type::Named(id) => match &self.types[*id].shape {
                Shape::OpenEnum(values) => values,
                _ => &[],
            },
            _ => &[],
        }
    }

    fn resolved_member<'p>(&'p self, member: &'p Member) -> Resolved<'p> {
        match &member.content {
            Content::Constant(value) => Resolved::Values(vec![value.clone()]),
            Content::Value(content) => self.resolved(content),
        }
    }
}

fn resolved_type(protocol: &Protocol, id: usize) -> Resolved<'_> {
    match &protocol.types[id].shape {
        Shape::Struct(body) => Resolved::Object(ResolvedObject {
            members: &body.members,
            pattern: body.pattern.as_ref(),
            rest: match &body.rest {
                Rest::Open => OtherMembers::Anything,
                Rest::Closed | Rest::Typed(Type::Never) => OtherMembers::Refused,
                Rest::Typed(content) => OtherMembers::Of(content),
            },
        }),
        Shape::Union(Union { variants, decision, .. }) => Resolved::Union(Choice {
            variants: variants.iter().map(|variant| variant.content.clone()).collect(),
            decision: Some(decision),
        }),
        Shape::Tuple(tuple) => Resolved::Tuple(tuple),
        Shape::OpenEnum(_) => Resolved::String(Length::default()),
        Shape::Enum(values) => Resolved::Values(values.iter().map(|value| value.json.clone()).collect()),
        Shape::Bounded(Bounded { inner, limit: None, .. }) => protocol.resolved(inner),
        Shape::Bounded(Bounded { inner, limit: Some(limit), .. }) => match (protocol.resolved(inner), limit) {
            (Resolved::String(_), Limit::Length(length)) => Resolved::String(length.clone()),
            (Resolved::List(items, _), Limit::Length(length)) => Resolved::List(items, length.clone()),
            (Resolved::Integer(range), Limit::Bounds(bounds)) => {
                Resolved::Integer(Integers::of(bounds, range.first == 0))
            }
            (Resolved::Number(_), Limit::Bounds(bounds)) => Resolved::Number(bounds.clone()),
            (other, _) => other,
        },
        Shape::Newtype(content) => protocol.resolved(content),
        Shape::Core(CoreType::ResultType) => Resolved::String(Length::default()),
        Shape::Core(CoreType::RequestId | CoreType::ProgressToken) => {
            Resolved::Union(Choice { variants: vec![Type::String, Type::Signed], decision: None })
        }
        Shape::Undecided(_) => Resolved::Any,
        Shape::Never => Resolved::Never,
        // Only a recursive alias remains after `follow`.
        Shape::Alias(..) => Resolved::Never,
    }
}

impl Integers {
    /// Returns the integers within bounds that the Rust type can represent.
    fn of(bounds: &Bounds, unsigned: bool) -> Integers {
        let (least, most) = if unsigned { (0, i128::from(u64::MAX)) } else { (i64::MIN.into(), i64::MAX.into()) };
        Integers {
            first: bounds.min.as_ref().map_or(least, first_integer).max(least),
            last: bounds.max.as_ref().map_or(most, last_integer).min(most),
        }
    }

    pub(super) const ALL: Integers = Integers { first: i128::MIN, last: i128::MAX };

    /// Returns the range in the schema, without the limits of the Rust types `i64` and `u64`.
    pub(super) fn without_limits_of_types(self) -> Integers {
        let is_last = [i64::MAX.into(), u64::MAX.into()].contains(&self.last);
        Integers {
            first: if self.first == i64::MIN.into() { i128::MIN } else { self.first },
            last: if is_last { i128::MAX } else { self.last },
        }
    }

    /// Returns the range without limits at ±(2^53 - 1), which schema generators write for unlimited integers. A limit
    /// stays if the range contains no other integer.
    pub(super) fn without_limits_of_doubles(self) -> Integers {
        let Integers { first, last } = self.without_limits_of_types();
        let (is_first, is_last) = (first == -MAX_SAFE_INTEGER, last == MAX_SAFE_INTEGER);
        Integers {
            first: if is_first && last > -MAX_SAFE_INTEGER { i128::MIN } else { first },
            last: if is_last && first < MAX_SAFE_INTEGER { i128::MAX } else { last },
        }
    }

    pub(super) fn include(self, other: Integers) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// The greatest integer up to which a double holds every integer exactly.
pub(crate) const MAX_SAFE_INTEGER: i128 = (1 << 53) - 1;

/// The maximum depth of types. Deeper types count as unknown.
pub(super) const MAX_DEPTH: usize = 16;

/// Returns the JSON types that documents of a type may have.
pub(super) fn types(protocol: &Protocol, content: &Type, depth: usize) -> JsonTypes {
    match protocol.resolved(content) {
        Resolved::Union(_) if depth > MAX_DEPTH => JsonTypes::ALL,
        Resolved::Union(choice) => choice.variants.iter().map(|variant| types(protocol, variant, depth + 1)).collect(),
        resolved => types_of_resolved(&resolved),
    }
}

/// Like [`types`], but for a resolved type that is not a union.
pub(super) fn types_of_resolved(resolved: &Resolved<'_>) -> JsonTypes {
    match resolved {
        Resolved::Any | Resolved::Union(_) => JsonTypes::ALL,
        Resolved::Never => JsonTypes::NONE,
        Resolved::Null => JsonTypes::NULL,
        Resolved::Boolean => JsonTypes::BOOLEAN,
        Resolved::Integer(_) => JsonTypes::INTEGER,
        Resolved::Number(_) => JsonTypes::NUMBER,
        Resolved::String(_) => JsonTypes::STRING,
        Resolved::List(..) | Resolved::Tuple(_) => JsonTypes::ARRAY,
        Resolved::Object(_) => JsonTypes::OBJECT,
        Resolved::Values(values) => values.iter().map(JsonTypes::of).collect(),
    }
}
