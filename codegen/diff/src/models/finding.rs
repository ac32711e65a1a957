//! The result of a comparison.

use mcpgen_schema::text::hex;
use sha2::{Digest, Sha256};

use crate::models::rules::Rule;
use crate::models::senders::Senders;
use crate::models::verdict::{Axis, Bump, Verdict, Verdicts};

/// The differences between two revisions.
#[derive(Clone, Debug)]
pub struct Diff {
    /// The findings: worst first, then in the order of the new schema.
    pub findings: Vec<Finding>,
    /// The verdicts on each definition that both revisions have.
    pub types: Vec<TypeVerdict>,
    /// Remarks that are not findings.
    pub notes: Vec<String>,
}

/// The verdicts on a definition, including everything in it.
#[derive(Clone, Debug)]
pub struct TypeVerdict {
    /// The definition.
    pub name: String,
    /// The senders of the type.
    pub senders: Senders,
    /// The verdict on a value of the old revision for a reader of the new one.
    pub old_to_new: Verdict,
    /// The verdict on a value of the new revision for a reader of the old one.
    pub new_to_old: Verdict,
}

/// A difference.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The senders of the type.
    pub senders: Senders,
    /// The verdicts.
    pub verdicts: Verdicts,
    /// The subject, in names of the schema: `CallToolResult.content`, `tools/call`.
    pub subject: String,
    /// A detail that distinguishes the finding from others with the same rule and subject, such as a value.
    pub detail: String,
    /// The message, in one sentence.
    pub message: String,
    /// The place in the old schema, if it has one.
    pub old: Option<Place>,
    /// The place in the new schema, if it has one.
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
    /// Returns 16 hex digits that identify the finding. They stay the same when lines and definitions move.
    pub fn fingerprint(&self) -> String {
        let text = [self.rule.id, &self.subject, &self.detail].join("\0");
        hex(&Sha256::digest(text.as_bytes())[..8])
    }
}

impl TypeVerdict {
    /// Returns the verdict on an axis, for the senders of the type.
    pub fn on(&self, axis: Axis) -> Verdict {
        self.senders.verdicts(self.old_to_new, self.new_to_old, Bump::Patch).on(axis)
    }
}
