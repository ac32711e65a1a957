//! Verdicts on a change, and the points of view that they are for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a change does to those who exchange messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Axis {
    /// A client of the old revision at a server of the new one.
    OldClientNewServer,
    /// A client of the new revision at a server of the old one.
    NewClientOldServer,
    /// Code that uses the generated types.
    RustApi,
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
        self.into()
    }
}

impl Bump {
    /// The bump as reports spell it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Axis {
    /// All.
    pub const ALL: [Axis; 3] = [Axis::OldClientNewServer, Axis::NewClientOldServer, Axis::RustApi];
    /// Those of messages.
    pub const WIRE: [Axis; 2] = [Axis::OldClientNewServer, Axis::NewClientOldServer];

    /// The axis as reports and options spell it.
    pub fn as_str(self) -> &'static str {
        self.into()
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
