//! Evaluates formulas on a value.

use super::formula::{Formula, Node};
use super::search::Search;
use crate::check::{Check, Definitions};
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::text::pattern;

impl Search<'_> {
    /// Returns whether a formula accepts a value, or `None` if that is not known.
    pub(super) fn holds(&self, formula: Formula, value: &Json) -> Option<bool> {
        let result = self.node_holds(formula, value)?;
        Some(result == formula.is_positive())
    }

    fn node_holds(&self, formula: Formula, value: &Json) -> Option<bool> {
        let node = self.formulas.node(formula);
        Some(match (node, value) {
            (Node::True, _) => true,
            (Node::Any(parts), _) => {
                let mut unknown = false;
                for part in parts {
                    match self.holds(*part, value) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                (!unknown).then_some(false)?
            }
            (Node::One(parts), _) => self.count(parts.iter().map(|part| self.holds(*part, value)))? == 1,
            (Node::Definition(number), _) => self.holds(self.formulas.known_definition(*number)?, value)?,
            (Node::Opaque(_), _) => return None,
            (Node::Type(types), _) => types.contains(JsonTypes::of(value)),
            (Node::Values(values), _) => values.contains(value),
            (Node::Items(range, formula), Json::Array(items)) => {
                let items = items.iter().enumerate().filter(|(index, _)| range.contains(*index));
                self.every(items.map(|(_, item)| self.holds(*formula, item)))?
            }
            (Node::Contains(formula, length), Json::Array(items)) => {
                length.contains(self.count(items.iter().map(|item| self.holds(*formula, item)))?)
            }
            (Node::Members(names, formula), Json::Object(members)) => {
                self.every(members.iter().map(|(name, value)| match self.has_name(names, name)? {
                    true => self.holds(*formula, value),
                    false => Some(true),
                }))?
            }
            (Node::Pattern(text), Json::String(string)) => pattern::matches(text, string).ok()?,
            (node, _) => check(node).is_none_or(|check| check.accepts(value, &Definitions::new())),
        })
    }

    fn count(&self, mut results: impl Iterator<Item = Option<bool>>) -> Option<u64> {
        results.try_fold(0, |count, result| Some(count + u64::from(result?)))
    }

    fn every(&self, mut results: impl Iterator<Item = Option<bool>>) -> Option<bool> {
        results.try_fold(true, |all, result| Some(all && result?))
    }
}

/// Returns the check of a node without formulas in it.
fn check(node: &Node) -> Option<Check> {
    Some(match node {
        Node::Bounds(bounds) => Check::Bounds(bounds.clone()),
        Node::MultipleOf(divisor) => Check::MultipleOf(divisor.clone()),
        Node::Length(length) => Check::Length(length.clone()),
        Node::ItemCount(length) => Check::ItemCount(length.clone()),
        Node::UniqueItems => Check::UniqueItems,
        Node::MemberCount(length) => Check::MemberCount(length.clone()),
        _ => return None,
    })
}
