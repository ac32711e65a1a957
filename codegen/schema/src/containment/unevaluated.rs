//! Rewrites `unevaluatedProperties` and `unevaluatedItems` in terms of other assertions.

use super::formula::{Formula, Formulas, Node};
use super::verdict::Reason;
use crate::check::{Check, Definitions, Unevaluated};

#[derive(Clone, Default)]
struct Evaluated {
    all_members: bool,
    names: Vec<String>,
    patterns: Vec<String>,
    all_items: bool,
    /// The number of leading items that are evaluated.
    first: usize,
    /// The formulas of `contains`. Items that satisfy one are evaluated.
    contained: Vec<Formula>,
}

impl Evaluated {
    fn extend(&mut self, other: &Evaluated) {
        self.all_members |= other.all_members;
        self.all_items |= other.all_items;
        self.first = self.first.max(other.first);
        self.names.extend_from_slice(&other.names);
        self.patterns.extend_from_slice(&other.patterns);
        self.contained.extend_from_slice(&other.contained);
    }

    fn is_empty(&self) -> bool {
        !self.all_members
            && !self.all_items
            && self.first == 0
            && self.names.is_empty()
            && self.patterns.is_empty()
            && self.contained.is_empty()
    }
}

/// All combinations of conditions are tried, so their number must stay small.
const MAX_CONDITIONS: usize = 7;
/// The rewriting gives up on references that nest deeper.
const MAX_DEPTH: u32 = 48;

impl<'a> Formulas<'a> {
    /// Reads `unevaluated…`. Which members and items are evaluated depends on conditions, such as the branches of
    /// `anyOf`. The more conditions hold, the less is left unevaluated. So it is enough that, for some set of
    /// conditions, all of them hold and the check accepts what they leave.
    pub(super) fn unevaluated(&mut self, it: &'a Unevaluated, scope: &'a Definitions) -> Formula {
        let base = self.read(&it.base, scope);
        let mut found = Vec::new();
        let is_complete = self.evaluated(&it.base, scope, Formula::TRUE, &mut found, 0);
        let mut always = Evaluated::default();
        let mut conditions: Vec<(Formula, Evaluated)> = Vec::new();
        for (condition, evaluated) in found.into_iter().filter(|(_, evaluated)| !evaluated.is_empty()) {
            match conditions.iter_mut().find(|(known, _)| *known == condition) {
                _ if condition == Formula::TRUE => always.extend(&evaluated),
                Some((_, known)) => known.extend(&evaluated),
                None => conditions.push((condition, evaluated)),
            }
        }
        if !is_complete || conditions.len() > MAX_CONDITIONS {
            let opaque = self.add(Node::Opaque(Reason::Unevaluated));
            return self.all([base, opaque]);
        }
        let cases: Vec<Formula> = (0..1_usize << conditions.len())
            .map(|set| {
                let mut evaluated = always.clone();
                let chosen = conditions.iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
                let mut all: Vec<Formula> = chosen
                    .map(|(_, (condition, more))| {
                        evaluated.extend(more);
                        *condition
                    })
                    .collect();
                all.push(self.rest(it, scope, evaluated));
                self.all(all)
            })
            .collect();
        let any = self.any(cases);
        self.all([base, any])
    }

    fn rest(&mut self, it: &'a Unevaluated, scope: &'a Definitions, evaluated: Evaluated) -> Formula {
        let mut all = Vec::new();
        if let Some(check) = it.members.as_ref().filter(|_| !evaluated.all_members) {
            let formula = self.read(check, scope);
            all.push(self.others(evaluated.names, evaluated.patterns, formula));
        }
        if let Some(check) = it.items.as_ref().filter(|_| !evaluated.all_items) {
            let formula = self.read(check, scope);
            let formula = self.any(evaluated.contained.into_iter().chain([formula]));
            all.push(self.items(evaluated.first, None, formula));
        }
        self.all(all)
    }

    /// Collects what a check evaluates, and under which condition. Returns whether the result is complete.
    fn evaluated(
        &mut self,
        check: &'a Check,
        scope: &'a Definitions,
        condition: Formula,
        found: &mut Vec<(Formula, Evaluated)>,
        depth: u32,
    ) -> bool {
        if depth > MAX_DEPTH || found.len() > 1_000 {
            return false;
        }
        let depth = depth + 1;
        let mut evaluated = Evaluated::default();
        let mut branches: Vec<(Formula, &'a Check)> = Vec::new();
        match check {
            Check::All(checks) => branches.extend(checks.iter().map(|check| (Formula::TRUE, check))),
            Check::Any(checks) | Check::One(checks) => {
                branches.extend(checks.iter().map(|check| (self.read(check, scope), check)));
            }
            Check::If(parts) => {
                let [test, then, otherwise] = &**parts;
                let holds = self.read(test, scope);
                branches.extend([(holds, test), (holds, then), (holds.not(), otherwise)]);
            }
            Check::IfPresent(name, check) => branches.push((self.present(name), check)),
            Check::Definition(name) => branches.extend(scope.get(name).map(|check| (Formula::TRUE, check))),
            Check::Unevaluated(inner) => {
                evaluated.all_members = inner.members.is_some();
                evaluated.all_items = inner.items.is_some();
                branches.push((Formula::TRUE, &inner.base));
            }
            Check::Members(members) => {
                evaluated.all_members = members.others.is_some();
                evaluated.names = members.named.iter().map(|(name, _)| name.clone()).collect();
                evaluated.patterns = members.patterns.iter().map(|(pattern, _)| pattern.clone()).collect();
            }
            Check::Items(first, rest) => (evaluated.first, evaluated.all_items) = (first.len(), rest.is_some()),
            Check::Contains(check, _) => evaluated.contained.push(self.read(check, scope)),
            _ => {}
        }
        found.push((condition, evaluated));
        branches.into_iter().all(|(holds, check)| {
            let condition = self.all([condition, holds]);
            self.evaluated(check, scope, condition, found, depth)
        })
    }
}
