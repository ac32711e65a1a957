//! Checks: assertions of JSON Schema as data.

use indexmap::IndexMap;
use serde_json::Number;

use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::limits::{Bounds, Length};

/// An assertion.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// Accepts every value.
    Anything,
    /// Accepts no value.
    Nothing,
    /// All checks hold.
    All(Vec<Check>),
    /// At least one check holds.
    Any(Vec<Check>),
    /// Exactly one check holds.
    One(Vec<Check>),
    /// The check does not hold.
    Not(Box<Check>),
    /// The second check holds if the first one does, otherwise the third.
    If(Box<[Check; 3]>),
    /// The check of the definition with this name holds.
    Definition(String),
    /// The JSON type is one of these.
    Type(JsonTypes),
    /// The value is one of these.
    Values(Vec<Json>),
    /// A number is within bounds.
    Bounds(Bounds),
    /// A number is a multiple of this number.
    MultipleOf(Number),
    /// The number of code points of a string is within limits.
    Length(Length),
    /// A part of a string matches this ECMA-262 regular expression.
    Pattern(String),
    /// The number of items of an array is within limits.
    ItemCount(Length),
    /// The checks on the first items of an array hold, and the check on all other items.
    Items(Vec<Check>, Option<Box<Check>>),
    /// No two items of an array are equal.
    UniqueItems,
    /// The number of items of an array that the check accepts is within limits.
    Contains(Box<Check>, Length),
    /// The number of members of an object is within limits.
    MemberCount(Length),
    /// An object has these members.
    Required(Vec<String>),
    /// The check holds for the name of each member of an object.
    Names(Box<Check>),
    /// Checks on the members of an object hold.
    Members(Box<MemberChecks>),
    /// If an object has this member, the check on the object holds.
    IfPresent(String, Box<Check>),
    /// A check holds, and so do checks on the members and items that it did not evaluate.
    Unevaluated(Box<Unevaluated>),
}

/// Checks on the members of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberChecks {
    /// The checks on members with these names.
    pub named: Vec<(String, Check)>,
    /// The checks on members whose names match these patterns.
    pub patterns: Vec<(String, Check)>,
    /// The check on all other members.
    pub others: Option<Check>,
}

/// Checks on the members and items that another check did not evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct Unevaluated {
    /// The check that is evaluated first.
    pub base: Check,
    /// The check on members.
    pub members: Option<Check>,
    /// The check on items.
    pub items: Option<Check>,
}

/// The checks of the definitions that other checks refer to, by name.
pub type Definitions = IndexMap<String, Check>;

impl Check {
    pub(crate) fn all(mut checks: Vec<Check>) -> Check {
        checks.retain(|check| *check != Check::Anything);
        match checks.len() {
            0 => Check::Anything,
            1 => checks.remove(0),
            _ => Check::All(checks),
        }
    }

    pub(crate) fn any(checks: Vec<Check>) -> Check {
        let values = |check: &Check| match check {
            Check::Values(values) => Some(values.clone()),
            _ => None,
        };
        match checks.iter().map(values).collect::<Option<Vec<_>>>() {
            Some(lists) => Check::Values(lists.concat()),
            None => Check::Any(checks),
        }
    }

    /// Returns the check of the bounds of a number. Without bounds, there is no check.
    pub(crate) fn of_bounds(bounds: &Bounds) -> Option<Check> {
        (!bounds.is_free()).then(|| Check::Bounds(bounds.clone()))
    }

    /// Like [`Self::of_bounds`], for a length.
    pub(crate) fn of_length(length: &Length, check: fn(Length) -> Check) -> Option<Check> {
        (!length.is_free()).then(|| check(length.clone()))
    }

    /// Collects the definitions that the check applies to the same value.
    pub fn direct<'c>(&'c self, names: &mut Vec<&'c str>) {
        self.visit(true, &mut |check| names.extend(check.definition()));
    }

    /// Collects all definitions that the check refers to.
    pub fn definitions<'c>(&'c self, names: &mut Vec<&'c str>) {
        self.visit(false, &mut |check| names.extend(check.definition()));
    }

    /// Returns whether the check contains a regular expression. Definitions that it refers to are not searched.
    pub fn has_patterns(&self) -> bool {
        let mut found = false;
        self.visit(false, &mut |check| match check {
            Check::Pattern(_) => found = true,
            Check::Members(members) => found |= !members.patterns.is_empty(),
            _ => {}
        });
        found
    }

    fn definition(&self) -> Option<&str> {
        if let Check::Definition(name) = self { Some(name) } else { None }
    }

    /// Calls `seen` for the check and for all checks in it, or only for those on the same value.
    fn visit<'c>(&'c self, is_same_value: bool, seen: &mut dyn FnMut(&'c Check)) {
        seen(self);
        let mut visit = |check: &'c Check| check.visit(is_same_value, seen);
        match self {
            Check::All(checks) | Check::Any(checks) | Check::One(checks) => checks.iter().for_each(visit),
            Check::If(parts) => parts.iter().for_each(visit),
            Check::Not(check) | Check::IfPresent(_, check) => visit(check),
            Check::Unevaluated(it) if is_same_value => visit(&it.base),
            _ if is_same_value => {}
            Check::Unevaluated(it) => [&it.base].into_iter().chain(&it.members).chain(&it.items).for_each(visit),
            Check::Items(first, rest) => first.iter().chain(rest.as_deref()).for_each(visit),
            Check::Contains(check, _) | Check::Names(check) => visit(check),
            Check::Members(members) => {
                let checks = members.named.iter().chain(&members.patterns).map(|(_, check)| check);
                checks.chain(&members.others).for_each(visit);
            }
            _ => {}
        }
    }
}
