//! What a type expression accepts, names and aliases seen through: what two revisions are compared by.

use crate::decision::{Condition, Decision, Guard, Types, type_of_value};
use crate::json::Json;
use crate::protocol::{Bounded, Content, Limit, Member, Protocol, Rest, Shape, Type, Union};
use crate::schema::{Bounds, Length, first_integer, last_integer};

/// What a type accepts.
#[derive(Clone, Debug)]
pub(super) enum View<'p> {
    Any,
    Never,
    Null,
    Boolean,
    String(Length),
    Integer(Integers),
    Number(Bounds),
    List(&'p Type, Length),
    Object(Object<'p>),
    Values(Vec<Json>),
    Union(Choice<'p>),
}

/// A range of integers, both ends within.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Integers {
    pub(super) first: i128,
    pub(super) last: i128,
}

/// The members of an object, and what the others are.
#[derive(Clone, Debug)]
pub(super) struct Object<'p> {
    pub(super) members: &'p [Member],
    pub(super) rest: Others<'p>,
}

/// Members that an object does not name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Others<'p> {
    Anything,
    Of(&'p Type),
    Refused,
}

/// Variants, and how one is chosen.
#[derive(Clone, Debug)]
pub(super) struct Choice<'p> {
    pub(super) variants: Vec<Type>,
    pub(super) decision: Option<&'p Decision>,
}

impl Protocol {
    /// What a type expression accepts.
    pub(super) fn view<'p>(&'p self, content: &'p Type) -> View<'p> {
        let object = |rest| View::Object(Object { members: &[], rest });
        match self.follow(content) {
            Type::Any => View::Any,
            Type::Never => View::Never,
            Type::Null => View::Null,
            Type::Boolean => View::Boolean,
            Type::String => View::String(Length::default()),
            Type::Signed => View::Integer(Integers::of(&Bounds::default(), false)),
            Type::Unsigned => View::Integer(Integers::of(&Bounds::default(), true)),
            Type::Number => View::Number(Bounds::default()),
            Type::Object => object(Others::Anything),
            Type::Map(inner) => object(Others::Of(inner)),
            Type::List(inner) => View::List(inner, Length::default()),
            Type::Nullable(inner) => {
                View::Union(Choice { variants: vec![(**inner).clone(), Type::Null], decision: None })
            }
            // An alias that never ends denotes nothing; the model has none.
            Type::Named(id) => self.view_of(*id),
        }
    }

    fn view_of(&self, id: usize) -> View<'_> {
        match &self.types[id].shape {
            Shape::Struct(body) => View::Object(Object {
                members: &body.members,
                rest: match &body.rest {
                    Rest::Open => Others::Anything,
                    Rest::Typed(content) => Others::Of(content),
                    Rest::Closed => Others::Refused,
                },
            }),
            Shape::Union(Union { variants, decision, .. }) => View::Union(Choice {
                variants: variants.iter().map(|variant| variant.content.clone()).collect(),
                decision: Some(decision),
            }),
            Shape::Enum(values) => View::Values(values.iter().map(|value| value.json.clone()).collect()),
            Shape::Bounded(Bounded { inner, limit }) => match (self.view(inner), limit) {
                (View::String(_), Limit::Length(length)) => View::String(length.clone()),
                (View::List(items, _), Limit::Length(length)) => View::List(items, length.clone()),
                (View::Integer(range), Limit::Bounds(bounds)) => View::Integer(Integers::of(bounds, range.first == 0)),
                (View::Number(_), Limit::Bounds(bounds)) => View::Number(bounds.clone()),
                (other, _) => other,
            },
            Shape::Newtype(content) => self.view(content),
            Shape::Core("ResultType") => View::String(Length::default()),
            Shape::Core(_) => View::Union(Choice { variants: vec![Type::String, Type::Signed], decision: None }),
            Shape::Never => View::Never,
            // `follow` has seen through it, unless it is a circle.
            Shape::Alias(..) => View::Never,
        }
    }

    /// What a member holds.
    pub(super) fn view_of_member<'p>(&'p self, member: &'p Member) -> View<'p> {
        match &member.content {
            Content::Constant(value) => View::Values(vec![value.clone()]),
            Content::Value(content) => self.view(content),
        }
    }
}

impl Integers {
    /// The integers within bounds that the Rust type can hold.
    fn of(bounds: &Bounds, unsigned: bool) -> Integers {
        let (least, most) = if unsigned { (0, i128::from(u64::MAX)) } else { (i64::MIN.into(), i64::MAX.into()) };
        Integers {
            first: bounds.min.as_ref().map_or(least, first_integer).max(least),
            last: bounds.max.as_ref().map_or(most, last_integer).min(most),
        }
    }

    pub(super) fn include(self, other: Integers) -> bool {
        self.first <= other.first && other.last <= self.last
    }
}

/// Whether something holds of all, of none or of some documents of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Always,
    Never,
    Perhaps,
}

impl Holds {
    fn and(self, other: Holds) -> Holds {
        match (self, other) {
            (Holds::Never, _) | (_, Holds::Never) => Holds::Never,
            (Holds::Always, Holds::Always) => Holds::Always,
            _ => Holds::Perhaps,
        }
    }

    fn or_apart(all: impl Iterator<Item = Holds>) -> Holds {
        all.reduce(|a, b| if a == b { a } else { Holds::Perhaps }).unwrap_or(Holds::Never)
    }
}

/// What is known of a document because its sender's union decided for one variant.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts<'d> {
    /// All hold.
    holding: &'d [Condition],
    /// Of each, one does not hold.
    failing: Vec<&'d [Condition]>,
}

impl<'d> Facts<'d> {
    /// What a decision for this variant says: one possibility for each guard that leads to it.
    pub(super) fn of(decision: Option<&'d Decision>, variant: usize) -> Vec<Facts<'d>> {
        let Some(Decision { guards, .. }) = decision else { return vec![Facts::default()] };
        let leading = guards.iter().enumerate().filter(|(_, guard)| guard.variant == variant);
        let facts = leading.map(|(index, guard)| Facts {
            holding: &guard.when,
            failing: guards[..index].iter().map(|guard| guard.when.as_slice()).collect(),
        });
        facts.collect()
    }
}

/// A variant that a reader's union may decide for.
#[derive(Debug, PartialEq)]
pub(super) struct Reached<'d> {
    pub(super) variant: usize,
    /// Keys that such a document does not have, or another guard would have held.
    pub(super) without: Vec<&'d str>,
}

/// The variants that a reader's union may decide for, given a document of this type, and whether it may find none.
///
/// Documents do not use names of either revision for members that their type does not know; so a key that only the
/// reader knows is absent.
pub(super) fn reachable<'d>(
    reader: &Protocol,
    choice: &Choice<'d>,
    sender: &Protocol,
    content: &Type,
    facts: &Facts<'_>,
) -> (Vec<Reached<'d>>, bool) {
    let mut reached = Vec::new();
    let Some(decision) = choice.decision else {
        let types = types(sender, content, 0);
        let mut taken = 0;
        for (index, variant) in choice.variants.iter().enumerate() {
            let theirs = self::types(reader, variant, 0);
            if theirs & types != 0 {
                reached.push(Reached { variant: index, without: Vec::new() });
            }
            taken |= theirs;
        }
        return (reached, types & !taken != 0);
    };
    let mut without = Vec::new();
    for Guard { when, variant } in &decision.guards {
        let refuted = facts.failing.iter().any(|failing| failing.iter().all(|f| when.iter().any(|w| implies(w, f))));
        if refuted {
            continue;
        }
        let each = when.iter().map(|condition| {
            let holds = known(condition, facts).unwrap_or_else(|| holds(sender, content, condition));
            (condition, holds)
        });
        let open: Vec<(&Condition, Holds)> = each.filter(|(_, holds)| *holds != Holds::Always).collect();
        if open.iter().any(|(_, holds)| *holds == Holds::Never) {
            continue;
        }
        reached.push(Reached { variant: *variant, without: without.clone() });
        match open.as_slice() {
            [] => return (reached, false),
            // Whoever goes on to the next guard failed this one for want of the key.
            [(Condition::Present(path), _)] if path.len() == 1 => without.push(path[0].as_str()),
            _ => {}
        }
    }
    (reached, true)
}

/// What the facts say about a condition by themselves.
fn known(condition: &Condition, facts: &Facts<'_>) -> Option<Holds> {
    if facts.holding.iter().any(|fact| implies(fact, condition)) {
        return Some(Holds::Always);
    }
    let refuted = facts.holding.iter().any(|fact| excludes(fact, condition))
        || facts.failing.iter().any(|failing| matches!(failing, [only] if implies(condition, only)));
    refuted.then_some(Holds::Never)
}

/// Whether the one cannot hold without the other.
fn implies(one: &Condition, other: &Condition) -> bool {
    match (one, other) {
        (Condition::Type(a), Condition::Type(b)) => a.0 & !b.0 == 0,
        (Condition::Value(a, few), Condition::Value(b, many)) => a == b && few.iter().all(|value| many.contains(value)),
        (Condition::Value(a, _), Condition::Present(b)) => a == b,
        (one, other) => one == other,
    }
}

/// Whether the two cannot hold together.
fn excludes(one: &Condition, other: &Condition) -> bool {
    match (one, other) {
        (Condition::Type(a), Condition::Type(b)) => a.0 & b.0 == 0,
        (Condition::Value(a, these), Condition::Value(b, those)) => {
            a == b && !these.iter().any(|value| those.contains(value))
        }
        (Condition::Present(a) | Condition::Value(a, _), Condition::Absent(b))
        | (Condition::Absent(a), Condition::Present(b) | Condition::Value(b, _)) => a == b,
        _ => false,
    }
}

/// Whether a condition holds of the documents of a type.
fn holds(protocol: &Protocol, content: &Type, condition: &Condition) -> Holds {
    match condition {
        Condition::Type(Types(wanted)) => {
            let types = types(protocol, content, 0);
            match (types & wanted, types & !wanted) {
                (0, _) => Holds::Never,
                (_, 0) => Holds::Always,
                _ => Holds::Perhaps,
            }
        }
        Condition::Present(path) => at(protocol, protocol.view(content), path, None, 0),
        Condition::Absent(path) => match at(protocol, protocol.view(content), path, None, 0) {
            Holds::Always => Holds::Never,
            Holds::Never => Holds::Always,
            Holds::Perhaps => Holds::Perhaps,
        },
        Condition::Value(path, values) => at(protocol, protocol.view(content), path, Some(values), 0),
    }
}

/// How deep types are looked into before nothing is claimed any more.
const FUEL: usize = 16;

/// Whether there is a value at the path, and one of these if any are named.
fn at(protocol: &Protocol, view: View<'_>, path: &[String], values: Option<&[Json]>, depth: usize) -> Holds {
    if depth > FUEL {
        return Holds::Perhaps;
    }
    let down = |content: &Type, path: &[String]| at(protocol, protocol.view(content), path, values, depth + 1);
    if let View::Union(choice) = &view {
        return Holds::or_apart(choice.variants.iter().map(|variant| down(variant, path)));
    }
    let Some((step, rest)) = path.split_first() else {
        return values.map_or(Holds::Always, |values| is_one_of(&view, values));
    };
    match view {
        View::Any => Holds::Perhaps,
        // A key that it does not name is no key of either revision.
        View::Object(object) => match object.members.iter().find(|member| member.wire == *step) {
            None => Holds::Never,
            Some(member) => {
                let inside = match &member.content {
                    Content::Constant(value) => {
                        at(protocol, View::Values(vec![value.clone()]), rest, values, depth + 1)
                    }
                    Content::Value(content) => down(content, rest),
                };
                inside.and(if member.required { Holds::Always } else { Holds::Perhaps })
            }
        },
        View::List(items, length) if step == "0" => {
            down(items, rest).and(if length.min > 0 { Holds::Always } else { Holds::Perhaps })
        }
        View::Values(fixed) => Holds::or_apart(fixed.iter().map(|value| {
            let pointer: String = path.iter().map(|step| format!("/{}", crate::json::escape(step))).collect();
            match (value.pointer(&pointer), values) {
                (None, _) => Holds::Never,
                (Some(_), None) => Holds::Always,
                (Some(found), Some(values)) if values.contains(found) => Holds::Always,
                _ => Holds::Never,
            }
        })),
        _ => Holds::Never,
    }
}

fn is_one_of(view: &View<'_>, values: &[Json]) -> Holds {
    match view {
        View::Values(found) => {
            Holds::or_apart(found.iter().map(|value| if values.contains(value) { Holds::Always } else { Holds::Never }))
        }
        view => match values.iter().any(|value| type_of_value(value) & types_of_view(view) != 0) {
            true => Holds::Perhaps,
            false => Holds::Never,
        },
    }
}

/// The JSON types of the documents of a type.
pub(super) fn types(protocol: &Protocol, content: &Type, depth: usize) -> u8 {
    match protocol.view(content) {
        View::Union(_) if depth > FUEL => Types::ALL,
        View::Union(choice) => choice.variants.iter().fold(0, |all, variant| all | types(protocol, variant, depth + 1)),
        view => types_of_view(&view),
    }
}

/// As [`types`], of a view that is no union.
fn types_of_view(view: &View<'_>) -> u8 {
    match view {
        View::Any | View::Union(_) => Types::ALL,
        View::Never => 0,
        View::Null => 1,
        View::Boolean => 2,
        View::Integer(_) => 4,
        View::Number(_) => 12,
        View::String(_) => 16,
        View::List(..) => 32,
        View::Object(_) => 64,
        View::Values(values) => values.iter().fold(0, |all, value| all | type_of_value(value)),
    }
}
