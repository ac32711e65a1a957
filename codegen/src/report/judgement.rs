//! Findings with the severity that the project gives them, and when they make a run fail.

use crate::diff::{Finding, Verdict};

/// Findings, judged.
#[derive(Debug)]
pub(crate) struct Judgement {
    /// All findings, worst first, otherwise in the order they came in.
    pub findings: Vec<Judged>,
    /// Ignores that have to go: where they stand, and why.
    pub stale: Vec<String>,
    /// What else there is to say.
    pub notes: Vec<String>,
}

/// A finding, and what the project thinks of it.
#[derive(Debug)]
pub(crate) struct Judged {
    /// The finding.
    pub finding: Finding,
    /// What identifies it from run to run.
    pub fingerprint: String,
    /// The project's severity for the rule; without one, the worst verdict on the axes looked at.
    pub severity: Verdict,
    /// Why it does not count, if it does not.
    pub suppressed: Option<Suppressed>,
}

/// Why a finding does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Suppressed {
    /// An ignore says so, for this reason.
    Ignored(String),
    /// It was there before.
    InBaseline,
}

/// From which severity on a comparison fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum FailOn {
    /// From breaking.
    Breaking,
    /// From dangerous.
    Dangerous,
    /// On any finding.
    Any,
    /// Never.
    None,
}

impl FailOn {
    /// The word for it.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether a finding of this severity fails.
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
    fn thresholds() {
        let reached = |fail_on: FailOn| Verdict::ALL.map(|verdict| fail_on.reached(verdict));
        assert_eq!(reached(FailOn::Breaking), [false, false, true]);
        assert_eq!(reached(FailOn::Dangerous), [false, true, true]);
        assert_eq!(reached(FailOn::Any), [true, true, true]);
        assert_eq!(reached(FailOn::None), [false, false, false]);
    }
}
