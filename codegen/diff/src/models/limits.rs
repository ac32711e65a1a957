//! Compares limits and fixed values, and describes them.

use mcpgen_model::{Bounds, Length, Protocol, Type};
use mcpgen_schema::json::{Json, integer};
use mcpgen_schema::text::counted;

use crate::models::difference::{Outcome, Site};
use crate::models::resolved::{Integers, Resolve as _, Resolved, types};
use crate::models::rules::Rule;

/// How the limits of two types relate.
pub(super) enum Relation {
    Equal,
    Added,
    Removed,
    Looser,
    Tighter,
    Apart,
}

impl Relation {
    pub(super) fn of(new_includes_old: bool, old_includes_new: bool, old_is_free: bool, new_is_free: bool) -> Relation {
        match (new_includes_old, old_includes_new) {
            (true, true) => Relation::Equal,
            (true, false) if new_is_free => Relation::Removed,
            (true, false) => Relation::Looser,
            (false, true) if old_is_free => Relation::Added,
            (false, true) => Relation::Tighter,
            (false, false) => Relation::Apart,
        }
    }

    pub(super) fn report(&self, site: &Site, outcome: &mut Outcome, old: &str, new: &str) {
        let changed = || format!("is limited to {new} instead of {old}");
        let (rule, words) = match self {
            Relation::Equal => return,
            Relation::Added => (Rule::LimitAdded, format!("is limited to {new}")),
            Relation::Removed => (Rule::LimitRemoved, format!("is no longer limited to {old}")),
            Relation::Looser => (Rule::LimitLoosened, changed()),
            Relation::Tighter => (Rule::LimitTightened, changed()),
            Relation::Apart => (Rule::LimitShifted, changed()),
        };
        outcome.add(site, rule, &words);
    }
}

pub(super) fn list(values: &[Json]) -> String {
    values.iter().map(Json::to_string).collect::<Vec<_>>().join(" or ")
}

pub(super) fn length_in_words(length: &Length, unit: &str) -> String {
    match (length.min, length.max) {
        (0, None) => format!("any number of {unit}"),
        (0, Some(most)) => format!("at most {}", counted(most, unit)),
        (least, None) => format!("at least {}", counted(least, unit)),
        (least, Some(most)) => format!("{least} to {}", counted(most, unit)),
    }
}

pub(super) fn integers_in_words(range: Integers) -> String {
    match (range.first == i64::MIN.into(), range.last == i64::MAX.into() || range.last == u64::MAX.into()) {
        (true, true) => "any integer".to_owned(),
        (false, true) => format!("at least {}", range.first),
        (true, false) => format!("at most {}", range.last),
        (false, false) => format!("{} to {}", range.first, range.last),
    }
}

pub(super) fn bounds_in_words(bounds: &Bounds) -> String {
    let min = bounds.min.as_ref().map(|it| format!("{} {}", if it.exclusive { "above" } else { "at least" }, it.value));
    let max = bounds.max.as_ref().map(|it| format!("{} {}", if it.exclusive { "below" } else { "at most" }, it.value));
    match (min, max) {
        (None, None) => "any number".to_owned(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(min), Some(max)) => format!("{min} and {max}"),
    }
}

pub(super) fn lengths(old: &Length, new: &Length, unit: &str, site: &Site, outcome: &mut Outcome) {
    let relation = Relation::of(new.includes(old), old.includes(new), old.is_free(), new.is_free());
    relation.report(site, outcome, &length_in_words(old, unit), &length_in_words(new, unit));
}

pub(super) fn fixed(old: &[Json], new: &[Json], site: &Site, outcome: &mut Outcome) {
    if let ([before], [after]) = (old, new) {
        if before != after {
            let words = format!("is always {after} instead of {before}");
            outcome.add(site, Rule::ConstantChanged, &words).detail = after.to_string();
        }
        return;
    }
    let mut add = |rule, value: &Json, words: &str| {
        let found = outcome.add(site, rule, &format!("{words} {value}"));
        (found.detail, found.aim) = (value.to_string(), Some(site.aim(value)));
    };
    new.iter().filter(|value| !old.contains(value)).for_each(|it| add(Rule::EnumValueAdded, it, "has the new value"));
    old.iter().filter(|value| !new.contains(value)).for_each(|it| add(Rule::EnumValueRemoved, it, "may no longer be"));
}

/// Returns whether a scalar type accepts all of these values.
pub(super) fn accepts(protocol: &Protocol, values: &[Json], resolved: &Resolved<'_>, content: &Type) -> bool {
    let within = |value: &Json| match (resolved, value) {
        (Resolved::String(length), Json::String(text)) => length.contains(text.chars().count() as u64),
        (Resolved::Integer(range), Json::Number(number)) => {
            integer(number).is_some_and(|number| range.include(Integers { first: number, last: number }))
        }
        (Resolved::Number(bounds), Json::Number(number)) => bounds.contain(number),
        (Resolved::Boolean, Json::Bool(_)) | (Resolved::Null, Json::Null) => true,
        _ => false,
    };
    let checks = protocol.checks_of(content);
    let holds = |value: &Json| checks.iter().all(|check| check.accepts(value, &protocol.checks));
    !types(protocol, content, 0).is_empty() && values.iter().all(|value| within(value) && holds(value))
}

pub(super) fn within(range: Integers, bounds: &Bounds) -> bool {
    let ends = [range.first, range.last].map(serde_json::Number::from_i128);
    ends.iter().all(|end| end.as_ref().is_some_and(|end| bounds.contain(end)))
}
