//! Findings with the severity that the project gives them, and the severity that fails a run.

use std::fmt;

use mcpgen_schema::text::visible;

use crate::models::{Finding, Verdict};

/// Findings with their severities.
#[derive(Debug)]
pub struct Judgement {
    /// All findings, worst first.
    pub findings: Vec<Judged>,
    /// Stale ignores, with their lines and the reasons.
    pub stale: Vec<String>,
    /// Remarks that are not findings.
    pub notes: Vec<String>,
}

/// A finding with its severity.
#[derive(Debug)]
pub struct Judged {
    /// The finding.
    pub finding: Finding,
    /// Its fingerprint.
    pub fingerprint: String,
    /// The severity that `mcpgen.toml` sets for the rule, or else the worst verdict on the axes.
    pub severity: Verdict,
    /// Why the finding is suppressed, if it is.
    pub suppressed: Option<Suppressed>,
}

/// The reason why a finding is suppressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Suppressed {
    /// An ignore in `mcpgen.toml` matches, with this reason.
    Ignored(String),
    /// The finding is in the baseline.
    InBaseline,
}

/// The lowest severity that fails a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[strum(serialize_all = "kebab-case")]
pub enum FailOn {
    /// Fail on breaking findings.
    Breaking,
    /// Fail on breaking findings, and on those that may be breaking.
    Unknown,
    /// Fail on dangerous, unknown and breaking findings.
    Dangerous,
    /// Fail on any finding.
    Any,
    /// Never fail.
    None,
}

impl fmt::Display for Suppressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suppressed::Ignored(reason) => write!(f, "ignored: {}", visible(reason)),
            Suppressed::InBaseline => f.write_str("in the baseline"),
        }
    }
}

impl FailOn {
    /// Returns the name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns whether a finding with this severity fails the run.
    pub fn reached(self, severity: Verdict) -> bool {
        match self {
            FailOn::Breaking => severity == Verdict::Breaking,
            FailOn::Unknown => severity >= Verdict::Unknown,
            FailOn::Dangerous => severity >= Verdict::Dangerous,
            FailOn::Any => true,
            FailOn::None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compares_severities_with_thresholds() {
        let reached = |fail_on: FailOn| Verdict::ALL.map(|verdict| fail_on.reached(verdict));
        assert_eq!(reached(FailOn::Breaking), [false, false, false, true]);
        assert_eq!(reached(FailOn::Unknown), [false, false, true, true]);
        assert_eq!(reached(FailOn::Dangerous), [false, true, true, true]);
        assert_eq!(reached(FailOn::Any), [true; 4]);
        assert_eq!(reached(FailOn::None), [false; 4]);
    }
}
