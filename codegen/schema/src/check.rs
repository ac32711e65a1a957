//! JSON Schema assertions as data.

use indexmap::IndexMap;
use serde_json::Number;

use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::limits::{Bounds, Length};

/// An assertion about a JSON value.
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
    /// If the first check holds, the second must hold, otherwise the third.
    If(Box<[Check; 3]>),
    /// The check of the named definition holds.
    Definition(String),
    /// The JSON type is one of these.
    Type(JsonTypes),
    /// The value equals one of these.
    Values(Vec<Json>),
    /// A number is within these bounds.
    Bounds(Bounds),
    /// A number is a multiple of this one.
    MultipleOf(Number),
    /// A string has an allowed number of code points.
    Length(Length),
    /// Some part of a string matches this ECMA-262 regular expression.
    Pattern(String),
    /// An array has an allowed number of items.
    ItemCount(Length),
    /// Checks for the leading items of an array, one each, and a check for all items after them.
    Items(Vec<Check>, Option<Box<Check>>),
    /// All items of an array differ.
    UniqueItems,
    /// The number of array items that pass the check is within limits.
    Contains(Box<Check>, Length),
    /// An object has an allowed number of members.
    MemberCount(Length),
    /// An object has all of these members.
    Required(Vec<String>),
    /// Every member name of an object passes the check.
    Names(Box<Check>),
    /// The members of an object pass these checks.
    Members(Box<MemberChecks>),
    /// If an object has this member, the object passes the check.
    IfPresent(String, Box<Check>),
    /// `unevaluatedProperties` or `unevaluatedItems`: a check, and further checks on the members and items that it did
    /// not evaluate.
    Unevaluated(Box<Unevaluated>),
}

/// Checks on the members of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemberChecks {
    /// Checks on members by name.
    pub named: Vec<(String, Check)>,
    /// Checks on members whose names match a pattern.
    pub patterns: Vec<(String, Check)>,
    /// The check on all other members.
    pub others: Option<Check>,
}

/// The checks behind `unevaluatedProperties` and `unevaluatedItems`.
#[derive(Clone, Debug, PartialEq)]
pub struct Unevaluated {
    /// Evaluated first, to find out which members and items remain.
    pub base: Check,
    /// Applies to every member that remains.
    pub members: Option<Check>,
    /// Applies to every item that remains.
    pub items: Option<Check>,
}

/// The checks that [`Check::Definition`] refers to, by name.
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

    pub(crate) fn of_bounds(bounds: &Bounds) -> Option<Check> {
        (!bounds.is_free()).then(|| Check::Bounds(bounds.clone()))
    }

    pub(crate) fn of_length(length: &Length, check: fn(Length) -> Check) -> Option<Check> {
        (!length.is_free()).then(|| check(length.clone()))
    }

    /// Collects the definitions that apply to the same value as this check.
    pub fn direct<'c>(&'c self, names: &mut Vec<&'c str>) {
        self.visit(true, &mut |check| names.extend(check.definition()));
    }

    /// Collects all definitions that the check refers to.
    pub fn definitions<'c>(&'c self, names: &mut Vec<&'c str>) {
        self.visit(false, &mut |check| names.extend(check.definition()));
    }

    /// Returns whether the check uses a regular expression. Does not look into the definitions it refers to.
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

    /// Visits the check and those nested in it. With `is_same_value`, skips checks on members and items.
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
