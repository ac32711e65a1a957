//! Who breaks when the schema changes: two models compared, each difference judged by who sends what it is in.
//!
//! ```text
//! Protocol (old) ─┐
//!                 ├─ compare ─ findings, each by one rule of `rules` ─ report: text, json, markdown, github, sarif, junit
//! Protocol (new) ─┘
//! ```
//!
//! A difference has two sides on the wire: what an old sender's message is to a new reader, and the reverse. A rule says
//! both; who sends the type says which of them an old client meets at a new server, and which a new client at an old one.

pub mod compare;
#[cfg(feature = "cli")]
pub mod explain;
mod limits;
#[cfg(feature = "cli")]
pub mod lines;
#[cfg(feature = "cli")]
pub mod policy;
#[cfg(feature = "cli")]
pub mod report;
pub mod rules;
#[cfg(feature = "cli")]
pub mod subject;
pub mod travel;
mod unions;
mod values;
mod view;

use std::fmt;

use serde::Serialize;

use crate::protocol::Protocol;
pub use rules::{RULES, Rule};
pub use travel::Travel;

/// What a change does to those who exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// What is sent stays valid for its reader.
    Compatible,
    /// Valid, but a reader may mishandle it.
    Dangerous,
    /// Something that may be sent is not valid for its reader.
    Breaking,
}

/// What a change asks of the version of a crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bump {
    /// Code that compiled still compiles and finds nothing new.
    Patch,
    /// There is something new to use.
    Minor,
    /// Code that compiled may not.
    Major,
}

/// A point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// A client of the old revision at a server of the new one.
    OldClientNewServer,
    /// A client of the new revision at a server of the old one.
    NewClientOldServer,
    /// Code that uses the generated types.
    RustApi,
}

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
    pub travel: Travel,
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
    pub travel: Travel,
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

/// What a finding means on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Verdicts {
    /// For a client of the old revision at a server of the new one.
    pub old_client_new_server: Verdict,
    /// For a client of the new revision at a server of the old one.
    pub new_client_old_server: Verdict,
    /// For code that uses the generated types.
    pub rust_api: Bump,
}

/// A place in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// JSON pointer into the schema document.
    pub pointer: String,
    /// The Rust item, below the revision's module: `CallToolResult::content`.
    pub rust: Option<String>,
}

/// Compares two models.
pub fn diff(old: &Protocol, new: &Protocol) -> Diff {
    compare::compare(old, new)
}

impl Finding {
    /// What identifies the finding from run to run, wherever it moves: 16 hex digits.
    pub fn fingerprint(&self) -> String {
        use sha2::{Digest, Sha256};
        let text = [self.rule.id, &self.subject, &self.detail].join("\0");
        crate::document::hex(&Sha256::digest(text.as_bytes())[..8])
    }
}

impl Verdicts {
    /// The verdict on an axis, with what a version bump is in terms of breakage: a major one breaks, others do not.
    pub fn on(&self, axis: Axis) -> Verdict {
        match (axis, self.rust_api) {
            (Axis::OldClientNewServer, _) => self.old_client_new_server,
            (Axis::NewClientOldServer, _) => self.new_client_old_server,
            (Axis::RustApi, Bump::Major) => Verdict::Breaking,
            (Axis::RustApi, _) => Verdict::Compatible,
        }
    }

    /// The worst verdict on these axes.
    pub fn worst(&self, axes: &[Axis]) -> Verdict {
        axes.iter().map(|axis| self.on(*axis)).max().unwrap_or(Verdict::Compatible)
    }
}

impl Verdict {
    /// All, mildest first.
    pub const ALL: [Verdict; 3] = [Verdict::Compatible, Verdict::Dangerous, Verdict::Breaking];

    /// The verdict as reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Compatible => "compatible",
            Verdict::Dangerous => "dangerous",
            Verdict::Breaking => "breaking",
        }
    }
}

impl Bump {
    /// The bump as reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Bump::Patch => "patch",
            Bump::Minor => "minor",
            Bump::Major => "major",
        }
    }
}

impl Axis {
    /// All.
    pub const ALL: [Axis; 3] = [Axis::OldClientNewServer, Axis::NewClientOldServer, Axis::RustApi];
    /// Those of messages.
    pub const WIRE: [Axis; 2] = [Axis::OldClientNewServer, Axis::NewClientOldServer];

    /// The axis as reports and options spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Axis::OldClientNewServer => "old-client-new-server",
            Axis::NewClientOldServer => "new-client-old-server",
            Axis::RustApi => "rust-api",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Bump {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
