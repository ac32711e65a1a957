//! Determines whom a schema change breaks. Compares two models, and rates each difference by who sends the messages.
//!
//! ```text
//! Protocol (old) ─┐
//!                 ├─ compare ─ findings, each by one rule of `rules` ─ report: text, json, markdown, github, sarif, junit
//! Protocol (new) ─┘
//! ```
//!
//! A rule has a verdict for messages from an old sender to a new reader, and one for the reverse. `senders` turns them
//! into verdicts for an old client at a new server, and for a new client at an old server.
//!
//! `resolved` resolves the names in a type, and `guards` finds the variant that a reader's union selects. `values`,
//! `objects`, `limits` and `unions` compare two types part by part; `checks` compares the rest as a `whole`.
//! `difference` describes their differences, `worst` sums them up, and `compare` pairs the types, starting with those
//! of `methods`. For each verdict, `evidence` looks for a proof, or for a witness: a document that the reader refuses.
//! `convention` describes the documents that senders write in practice.

mod checks;
mod compare;
mod convention;
mod difference;
mod evidence;
mod finding;
mod guards;
mod limits;
mod methods;
mod objects;
mod resolved;
pub(crate) mod rules;
mod senders;
mod unions;
mod values;
mod verdict;
mod whole;
mod worst;

pub use compare::compare as diff;
pub(crate) use compare::{compare_checks, compare_types};
pub(crate) use evidence::Effort;
pub use evidence::{Evidence, Version, Witness};
pub use finding::{Diff, Finding, Place, TypeVerdict};
pub(crate) use resolved::MAX_SAFE_INTEGER;
pub use rules::{Action, Rule, RuleVerdicts, SchemaVerdicts};
pub use senders::Senders;
pub use verdict::{Axis, Bump, ListVerdicts, Verdict, Verdicts};
