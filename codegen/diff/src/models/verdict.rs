//! Verdicts on a change, and the axes that they apply to.

use serde::{Deserialize, Serialize};

/// The effect of a change on messages.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The reader accepts all messages.
    #[default]
    Compatible,
    /// The reader accepts all messages, but may misinterpret some.
    Dangerous,
    /// Neither a proof that the reader accepts all messages nor a message that it rejects was found.
    Unknown,
    /// The reader rejects some messages.
    Breaking,
}

/// The version bump that a change requires.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    strum::Display,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "lowercase")]
pub enum Bump {
    /// The public API is the same.
    Patch,
    /// The public API has additions. Code still compiles.
    Minor,
    /// Code may no longer compile.
    Major,
}

/// An axis of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Axis {
    /// A client of the old schema with a server of the new one.
    OldClientNewServer,
    /// A client of the new schema with a server of the old one.
    NewClientOldServer,
    /// Code for the new schema that reads documents written for the old one. Only for schemas without messages.
    NewReaderOldDocuments,
    /// Code for the old schema that reads documents written for the new one. Only for schemas without messages.
    OldReaderNewDocuments,
    /// Code that uses the generated types.
    RustApi,
    /// A model or a client that remembers the old lists of a server, and calls the new server.
    RememberedList,
    /// A program that replays calls recorded with the old server on the new one, without a model or a user.
    StoredWorkflow,
    /// Someone who permitted the use of the old lists: what may the server do now?
    Trust,
}

/// The verdicts on a change in a server's lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListVerdicts {
    /// For a model or a client that remembers the old lists.
    pub remembered_list: Verdict,
    /// For a program with recorded calls.
    pub stored_workflow: Verdict,
    /// For someone who permitted the use of the old lists.
    #[serde(default)]
    pub trust: Verdict,
}

impl ListVerdicts {
    /// The verdicts on a change that makes calls fail.
    pub(crate) const BREAKING: ListVerdicts = ListVerdicts {
        remembered_list: Verdict::Breaking,
        stored_workflow: Verdict::Breaking,
        trust: Verdict::Compatible,
    };
}

/// The verdicts of a finding on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdicts {
    on: [Verdict; Axis::ALL.len()],
    /// For code that uses the generated types.
    pub rust_api: Bump,
}

impl From<ListVerdicts> for Verdicts {
    fn from(lists: ListVerdicts) -> Verdicts {
        let ListVerdicts { remembered_list, stored_workflow, trust } = lists;
        let on =
            [(Axis::RememberedList, remembered_list), (Axis::StoredWorkflow, stored_workflow), (Axis::Trust, trust)];
        Verdicts::new(Bump::Patch, &on)
    }
}

impl Verdicts {
    /// Creates verdicts: compatible on the axes that are not listed. On `rust-api`, a major bump is breaking.
    pub(super) fn new(rust_api: Bump, verdicts: &[(Axis, Verdict)]) -> Verdicts {
        let mut on = [Verdict::Compatible; Axis::ALL.len()];
        verdicts.iter().for_each(|(axis, verdict)| on[*axis as usize] = *verdict);
        if rust_api == Bump::Major {
            on[Axis::RustApi as usize] = Verdict::Breaking;
        }
        Verdicts { on, rust_api }
    }

    /// Returns the verdict on an axis. On `rust-api`, a major bump is breaking, and others are compatible.
    pub fn on(&self, axis: Axis) -> Verdict {
        self.on[axis as usize]
    }

    /// Returns the worse verdict on each axis.
    #[must_use]
    pub fn and(self, other: Verdicts) -> Verdicts {
        let on = Axis::ALL.map(|axis| self.on(axis).max(other.on(axis)));
        Verdicts { on, rust_api: self.rust_api.max(other.rust_api) }
    }

    /// Returns the name of the verdict on an axis, or of the bump on `rust-api`.
    pub fn word(&self, axis: Axis) -> &'static str {
        match axis {
            Axis::RustApi => self.rust_api.as_str(),
            axis => self.on(axis).as_str(),
        }
    }

    /// Returns the worst verdict on these axes.
    pub fn worst(&self, axes: &[Axis]) -> Verdict {
        axes.iter().map(|axis| self.on(*axis)).max().unwrap_or_default()
    }
}

impl Verdict {
    /// All verdicts, compatible first.
    pub const ALL: [Verdict; 4] = [Verdict::Compatible, Verdict::Dangerous, Verdict::Unknown, Verdict::Breaking];

    /// Returns the name of the verdict in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Bump {
    /// Returns the name of the bump in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Axis {
    /// All axes.
    pub const ALL: [Axis; 8] = [
        Axis::OldClientNewServer,
        Axis::NewClientOldServer,
        Axis::NewReaderOldDocuments,
        Axis::OldReaderNewDocuments,
        Axis::RustApi,
        Axis::RememberedList,
        Axis::StoredWorkflow,
        Axis::Trust,
    ];
    /// The axes of a comparison of schemas.
    pub const SCHEMAS: [Axis; 3] = [Axis::OldClientNewServer, Axis::NewClientOldServer, Axis::RustApi];
    /// The axes of a comparison of schemas without messages.
    pub const DOCUMENTS: [Axis; 3] = [Axis::NewReaderOldDocuments, Axis::OldReaderNewDocuments, Axis::RustApi];
    /// The axes of a comparison of the lists of a server that concern callers.
    pub const LISTS: [Axis; 2] = [Axis::RememberedList, Axis::StoredWorkflow];
    /// All axes of a comparison of the lists of a server.
    pub const LISTS_AND_TRUST: [Axis; 3] = [Axis::RememberedList, Axis::StoredWorkflow, Axis::Trust];
    /// The message axes.
    pub const WIRE: [Axis; 2] = [Axis::OldClientNewServer, Axis::NewClientOldServer];

    /// Returns the name of the axis in reports and options.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
