//! Findings with the severity that the project gives them, and the severity that fails a run.

use crate::diff::{Finding, Verdict};

/// Findings with their severity.
#[derive(Debug)]
pub(crate) struct Judgement {
    /// All findings, worst first.
    pub findings: Vec<Judged>,
    /// Stale ignores, with their line and the reason.
    pub stale: Vec<String>,
    /// Remarks that are not findings.
    pub notes: Vec<String>,
}

/// A finding with its severity.
#[derive(Debug)]
pub(crate) struct Judged {
    /// The finding.
    pub finding: Finding,
    /// Its fingerprint.
    pub fingerprint: String,
    /// The severity that the project gives the rule, or else the worst verdict on the axes.
    pub severity: Verdict,
    /// Why it is suppressed, if it is.
    pub suppressed: Option<Suppressed>,
}

/// Why a finding is suppressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Suppressed {
    /// An ignore in `mcpgen.toml` matches, with this reason.
    Ignored(String),
    /// It is in the baseline.
    InBaseline,
}

/// The lowest severity that fails a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum FailOn {
    /// Breaking findings.
    Breaking,
    /// Dangerous and breaking findings.
    Dangerous,
    /// All findings.
    Any,
    /// No findings.
    None,
}

impl FailOn {
    /// Returns the name.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether a finding with this severity fails the run.
    pub(crate) fn reached(self, severity: Verdict) -> bool {
        match self {
            FailOn::Breaking => severity == Verdict::Breaking,
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
        assert_eq!(reached(FailOn::Breaking), [false, false, true]);
        assert_eq!(reached(FailOn::Dangerous), [false, true, true]);
        assert_eq!(reached(FailOn::Any), [true, true, true]);
        assert_eq!(reached(FailOn::None), [false, false, false]);
    }
}
