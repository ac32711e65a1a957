//! What a comparison finds.

use sha2::{Digest, Sha256};

use crate::diff::rules::Rule;
use crate::diff::senders::Senders;
use crate::diff::verdict::{Axis, Bump, Verdict, Verdicts};
use crate::text::hex;

/// What there is to say about two revisions.
#[derive(Clone, Debug)]
pub struct Diff {
    /// The differences: worst first, then in the order of the new schema.
    pub findings: Vec<Finding>,
    /// What becomes of each definition that both revisions have, all that it holds included.
    pub types: Vec<TypeVerdict>,
    /// What is worth knowing and no difference.
    pub notes: Vec<String>,
}

/// What becomes of a definition, all that it holds included.
#[derive(Clone, Debug)]
pub struct TypeVerdict {
    /// The definition.
    pub name: String,
    /// Who sends it.
    pub senders: Senders,
    /// For a value of the old revision and a reader of the new one.
    pub old_to_new: Verdict,
    /// For a value of the new revision and a reader of the old one.
    pub new_to_old: Verdict,
}

/// A difference.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule that it comes under.
    pub rule: &'static Rule,
    /// Who sends what it is in.
    pub senders: Senders,
    /// What it means.
    pub verdicts: Verdicts,
    /// What it is about, in the schema's names: `CallToolResult.content`, `tools/call`.
    pub subject: String,
    /// What distinguishes it from other findings of its rule at its subject: the value, the method, the member.
    pub detail: String,
    /// One sentence.
    pub message: String,
    /// Where it is in the old schema, if anything is there.
    pub old: Option<Place>,
    /// Where it is in the new schema, if anything is there.
    pub new: Option<Place>,
}

/// A place in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// JSON pointer into the schema document.
    pub pointer: String,
    /// The Rust item, below the revision's module: `CallToolResult::content`.
    pub rust: Option<String>,
}

impl Finding {
    /// What identifies the finding from run to run, wherever it moves: 16 hex digits.
    pub fn fingerprint(&self) -> String {
        let text = [self.rule.id, &self.subject, &self.detail].join("\0");
        hex(&Sha256::digest(text.as_bytes())[..8])
    }
}

impl TypeVerdict {
    /// The verdict on a wire axis, for whoever sends the type.
    pub fn on(&self, axis: Axis) -> Verdict {
        self.senders.verdicts(self.old_to_new, self.new_to_old, Bump::Patch).on(axis)
    }
}
