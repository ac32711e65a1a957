//! Proves that one schema contains another, or finds a counterexample.
//!
//! A *witness* is a document that the smaller schema accepts and the larger one rejects. The search is complete for
//! most of JSON Schema, so if it ends without a witness, containment is proved: see "Witness Generation for JSON
//! Schema" (Attouche, Baazizi, Colazzo, Ghelli, Sartiani and Scherzinger, PVLDB 2022).
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
//! `formula` turns checks into formulas. `search` splits them by JSON type and alternative; `texts`, `numbers`,
//! `arrays` and `objects` then solve each type, and `holds` evaluates formulas on a candidate. `unevaluated` rewrites
//! the `unevaluated…` keywords in terms of others, and `shrink` shortens a witness.

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

/// Returns whether `large` accepts every document that `small` accepts. If not, the verdict has a document that `small`
/// accepts and `large` rejects.
pub fn contains(large: Scoped<'_>, small: Scoped<'_>, budget: Budget) -> Verdict {
    contains_with_cost(large, small, budget).0
}

/// Like [`contains`], and also returns the cost in steps, which includes the cost of reading the schemas.
pub fn contains_with_cost(large: Scoped<'_>, small: Scoped<'_>, budget: Budget) -> (Verdict, u64) {
    verdict(&[small], &[large], budget)
}

/// Returns whether no document is valid under both schemas. If there is one, it is the verdict's witness.
pub fn disjoint(a: Scoped<'_>, b: Scoped<'_>, budget: Budget) -> Verdict {
    verdict(&[a, b], &[], budget).0
}

/// Searches for a document that all of `accepting` accept and all of `refusing` reject. Also returns the cost in steps.
fn verdict(accepting: &[Scoped<'_>], refusing: &[Scoped<'_>], budget: Budget) -> (Verdict, u64) {
    let mut scopes = accepting.iter().chain(refusing).map(|it| std::ptr::from_ref(it.definitions));
    let first = scopes.next();
    let mut formulas = Formulas::new(scopes.all(|scope| Some(scope) == first));
    let mut goal: Vec<_> = accepting.iter().map(|it| formulas.read(it.check, it.definitions)).collect();
    goal.extend(refusing.iter().map(|it| formulas.read(it.check, it.definitions).not()));
    // Reading a node takes much less time than a search step.
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
