//! Evaluates formulas on a concrete value.

use super::formula::{Formula, Node};
use super::search::{Case, Goal, Outcome, Search};
use super::verdict::Reason;
use crate::check::{Check, Definitions};
use crate::json::Json;
use crate::json_types::JsonTypes;
use crate::text::pattern;

impl Search<'_> {
    /// Returns whether a formula accepts a value, or `None` if that is unknown.
    pub(super) fn holds(&self, formula: Formula, value: &Json) -> Option<bool> {
        let result = self.node_holds(formula, value)?;
        Some(result == formula.is_positive())
    }

    /// Returns whether the value satisfies an alternative of every choice. Returns `false` if that is unknown.
    pub(super) fn meets(&self, case: &Case, value: &Json) -> bool {
        self.choices_hold(case, value) == Some(true)
    }

    fn choices_hold(&self, case: &Case, value: &Json) -> Option<bool> {
        let holds = |goal: &Goal| all(goal.iter().map(|formula| self.holds(*formula, value)));
        all(case.choices.iter().map(|choice| any(choice.iter().map(holds))))
    }

    /// Decides a case whose only possible values are these.
    pub(super) fn listed(&self, case: &Case, values: Vec<Json>) -> Outcome {
        let mut is_unknown = false;
        for value in values.into_iter().filter(|value| JsonTypes::of(value) == case.types) {
            let atoms = case.atoms.iter().map(|formula| self.holds(*formula, &value));
            match all(atoms.chain([self.choices_hold(case, &value)])) {
                Some(true) => return Outcome::found(value),
                Some(false) => {}
                None => is_unknown = true,
            }
        }
        if is_unknown { Outcome::Unknown(Reason::Pattern) } else { Outcome::Empty }
    }

    fn node_holds(&self, formula: Formula, value: &Json) -> Option<bool> {
        let node = self.formulas.node(formula);
        Some(match (node, value) {
            (Node::True, _) => true,
            (Node::Any(parts), _) => any(parts.iter().map(|part| self.holds(*part, value)))?,
            (Node::One(parts), _) => self.count(parts.iter().map(|part| self.holds(*part, value)))? == 1,
            (Node::Definition(number), _) => self.formulas.scoped(*number).accepts(value)?,
            (Node::Opaque(_), _) => return None,
            (Node::Type(types), _) => types.contains(JsonTypes::of(value)),
            (Node::Values(values), _) => values.contains(value),
            (Node::Items(range, formula), Json::Array(items)) => {
                let items = items.iter().enumerate().filter(|(index, _)| range.contains(*index));
                all(items.map(|(_, item)| self.holds(*formula, item)))?
            }
            (Node::Contains(formula, length), Json::Array(items)) => {
                length.contains(self.count(items.iter().map(|item| self.holds(*formula, item)))?)
            }
            (Node::Members(names, formula), Json::Object(members)) => {
                all(members.iter().map(|(name, value)| match self.has_name(names, name)? {
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
}

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

/// Returns `None` if the conjunction depends on an unknown operand.
fn all(mut results: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut is_unknown = false;
    let is_false = results.any(|result| {
        is_unknown |= result.is_none();
        result == Some(false)
    });
    if is_false { Some(false) } else { (!is_unknown).then_some(true) }
}

fn any(results: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    Some(!all(results.map(|result| Some(!result?)))?)
}
