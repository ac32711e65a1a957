//! Compares limits, and describes limits and lists of values.

use mcpgen_model::{Bounds, Length};
use mcpgen_schema::json::Json;
use mcpgen_schema::text::counted;

use crate::models::difference::{Outcome, Site};
use crate::models::resolved::Integers;
use crate::models::rules::{self, Rule};

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
        let rule: &'static Rule = match self {
            Relation::Equal => return,
            Relation::Added => &rules::LIMIT_ADDED,
            Relation::Removed => &rules::LIMIT_REMOVED,
            Relation::Looser => &rules::LIMIT_LOOSENED,
            Relation::Tighter => &rules::LIMIT_TIGHTENED,
            Relation::Apart => &rules::LIMIT_SHIFTED,
        };
        outcome.add(site, rule, "", format!("{} is limited to {new} instead of {old}", site.subject));
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
