//! Proves that one schema contains another, or finds a document that shows the opposite.
//!
//! A document that the smaller schema accepts and the larger one refuses is a *witness*. The search for one is complete
//! for most of JSON Schema, so finding none is a proof: see "Witness Generation for JSON Schema" (Attouche, Baazizi,
//! Colazzo, Ghelli, Sartiani and Scherzinger, PVLDB 2022).
//!
//! ```
//! use mcpgen_schema::containment::{Budget, Verdict, contains};
//! use mcpgen_schema::{Document, checks};
//!
//! let old = checks(&Document::parse("old.json", br#"{"type": "string", "pattern": "^ab"}"#)?)?;
//! let new = checks(&Document::parse("new.json", br#"{"type": "string", "pattern": "^a"}"#)?)?;
//! assert!(contains((&new).into(), (&old).into(), Budget::default()).is_proved());
//! # Ok::<(), mcpgen_schema::Error>(())
//! ```
//!
//! `formula` reads checks: `not` becomes a sign, equal parts become one, and `unevaluated` expresses what depends on other
//! keywords. `search` goes through the JSON types and alternatives; `texts`, `numbers`, `arrays` and `objects` find values
//! of one type, and `holds` evaluates formulas on them. `shrink` makes a witness shorter.

mod arrays;
mod formula;
mod holds;
mod numbers;
mod objects;
mod search;
mod shrink;
mod texts;
mod unevaluated;
mod verdict;

use formula::Formulas;
use search::{Outcome, Search};
pub use verdict::{Budget, Reason, Scoped, Verdict};

use crate::json::Json;

/// Returns whether `large` accepts every document that `small` accepts. Otherwise, the verdict has a document that `small`
/// accepts and `large` refuses.
pub fn contains(large: Scoped<'_>, small: Scoped<'_>, budget: Budget) -> Verdict {
    contains_with_cost(large, small, budget).0
}

/// Like [`contains`], with the amount of work that it took, in steps. Reading the schemas counts, so that no question is free.
pub fn contains_with_cost(large: Scoped<'_>, small: Scoped<'_>, budget: Budget) -> (Verdict, u64) {
    verdict(&[small], &[large], budget)
}

/// Returns whether no document is accepted by both. Otherwise, the verdict has such a document.
pub fn disjoint(a: Scoped<'_>, b: Scoped<'_>, budget: Budget) -> Verdict {
    verdict(&[a, b], &[], budget).0
}

/// Searches a document that all of some schemas accept and others refuse. Returns the work, too.
fn verdict(accepting: &[Scoped<'_>], refusing: &[Scoped<'_>], budget: Budget) -> (Verdict, u64) {
    let mut scopes = accepting.iter().chain(refusing).map(|it| std::ptr::from_ref(it.definitions));
    let first = scopes.next();
    let mut formulas = Formulas::new(scopes.all(|scope| Some(scope) == first));
    let mut goal: Vec<_> = accepting.iter().map(|it| formulas.read(it.check, it.definitions)).collect();
    goal.extend(refusing.iter().map(|it| formulas.read(it.check, it.definitions).not()));
    // Reading a part of a schema takes a fraction of a step.
    let size = formulas.len() as u64 / 8;
    let mut search = Search::new(formulas, budget.steps);
    let outcome = search.solve(goal);
    let cost = size + search.spent(budget.steps);
    let verdict = match outcome {
        Outcome::Empty => Verdict::Proved,
        Outcome::Unknown(reason) => Verdict::Unknown(reason),
        Outcome::Found(document) => {
            let is_witness = |document: &Json| {
                let accepted = accepting.iter().map(|it| it.accepts(document));
                let refused = refusing.iter().map(|it| it.accepts(document).map(|accepted| !accepted));
                accepted.chain(refused).try_fold(true, |all, holds| Some(all && holds?))
            };
            let is_valid = is_witness(&document);
            debug_assert!(is_valid != Some(false), "{document} is no witness: {accepting:?} {refusing:?}");
            match is_valid {
                Some(true) => Verdict::Refuted(shrink::shrink((*document).clone(), &|it| is_witness(it) == Some(true))),
                Some(false) => Verdict::Unknown(Reason::Invalid),
                None => Verdict::Unknown(Reason::Pattern),
            }
        }
    };
    (verdict, cost)
}
