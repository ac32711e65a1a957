//! The worst verdicts on two types, including everything in them.

use std::collections::HashSet;

use mcpgen_model::Type;

use crate::models::difference::{Outcome, Site, definition};
use crate::models::rules::Rule;
use crate::models::values::{BothWays, Known, Pair, Values};
use crate::models::verdict::Verdict;

impl Values<'_> {
    /// Returns the worst verdicts on two expressions, including everything in them.
    pub(super) fn worst(&self, old: &Type, new: &Type) -> BothWays {
        self.worst_within(&self.compare(old, new, &Site::default()))
    }

    /// Like [`Self::worst`], but for documents without these keys.
    pub(super) fn worst_without(&self, old: &Type, new: &Type, keys: &[&str]) -> BothWays {
        let (Type::Named(before), Type::Named(after)) = (self.old.follow(old), self.new.follow(new)) else {
            return self.worst(old, new);
        };
        let Known { open, fuel, .. } = &self.known;
        if keys.is_empty() || fuel.get() == 0 || !open.borrow_mut().insert((*before, *after)) {
            return self.worst(old, new);
        }
        let mut outcome = self.compare_named(*before, *after, &Site::default());
        open.borrow_mut().remove(&(*before, *after));
        let owner = definition(self.new, new).or(definition(self.old, old)).unwrap_or_default();
        let concerns = |subject: &str| keys.iter().any(|key| *subject == format!("{owner}.{key}"));
        let optional = [Rule::MemberRemovedOptional, Rule::MemberAddedOptional];
        outcome.differences.retain(|it| !optional.contains(&it.rule) || !concerns(&it.subject));
        self.worst_within(&outcome)
    }

    fn worst_within(&self, outcome: &Outcome) -> BothWays {
        let (mut worst, mut queue) = result(outcome);
        let mut seen = HashSet::new();
        while let Some(pair) = queue.pop() {
            if seen.insert(pair) {
                let (flow, children) = self.outcome(pair);
                worst = worse(worst, flow);
                queue.extend(children);
            }
        }
        worst
    }

    /// Compares two named types, or returns the known result. A pair that is being compared counts as breaking, so that
    /// no result depends on itself. Once the limit is reached, every new pair counts as breaking, too.
    fn outcome(&self, pair: Pair) -> (BothWays, Vec<Pair>) {
        let Known { results, open, fuel, .. } = &self.known;
        if let Some(known) = results.borrow().get(&pair) {
            return known.clone();
        }
        fuel.set(fuel.get().saturating_sub(1));
        if fuel.get() == 0 || !open.borrow_mut().insert(pair) {
            return ([Verdict::Breaking; 2], Vec::new());
        }
        let alone = open.borrow().len() == 1;
        let result = result(&self.compare_named(pair.0, pair.1, &Site::default()));
        open.borrow_mut().remove(&pair);
        // Inside another comparison, the result may depend on the pairs that are being compared.
        if alone {
            results.borrow_mut().insert(pair, result.clone());
        }
        result
    }
}

pub(super) fn worse(a: BothWays, b: BothWays) -> BothWays {
    [a[0].max(b[0]), a[1].max(b[1])]
}

fn result(outcome: &Outcome) -> (BothWays, Vec<Pair>) {
    let rules = outcome.differences.iter().map(|it| it.rule).chain(outcome.silent.iter().copied());
    let worst = rules.map(Rule::both_ways).fold([Verdict::Compatible; 2], worse);
    (worst, outcome.children.iter().map(|(old, new, _)| (*old, *new)).collect())
}
