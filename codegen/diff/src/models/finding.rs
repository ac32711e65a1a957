//! The result of a comparison.

use mcpgen_schema::text::{counted, sha256};

use crate::models::evidence::{Evidence, Version, Witness};
#[cfg(feature = "report")]
use crate::models::rules::RETIRED;
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
    /// Who sends values of the type.
    pub senders: Senders,
    /// The verdict on values of the old revision that are read with the new one.
    pub old_to_new: Verdict,
    /// The verdict on values of the new revision that are read with the old one.
    pub new_to_old: Verdict,
}

/// A difference.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Who sends the message or value that differs.
    pub senders: Senders,
    /// The verdicts.
    pub verdicts: Verdicts,
    /// Why the worst verdict on documents holds.
    pub evidence: Evidence,
    /// The readers that accept every document only by [convention](Evidence::Convention).
    pub(crate) by_convention: Vec<Version>,
    /// Documents that one version accepts, and the other refuses. There is at most one for each direction.
    pub witnesses: Vec<Witness>,
    /// Why the verdict could not be decided.
    pub undecided: Option<String>,
    /// What differs, by its name in the schema, such as `CallToolResult.content` or `tools/call`.
    pub subject: String,
    /// A detail that distinguishes the finding from others with the same rule and subject, such as a value.
    pub detail: String,
    /// The items that were removed or added, if the finding is about many.
    pub items: Vec<String>,
    /// The message, in one sentence.
    pub message: String,
    /// The place in the old schema, if any.
    pub old: Option<Place>,
    /// The place in the new schema, if any.
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
    /// Merges a finding of the same difference that was reached in another way, and keeps the evidence of both.
    pub(super) fn merge(&mut self, other: Finding) {
        self.senders = self.senders.and(other.senders);
        self.verdicts = self.verdicts.and(other.verdicts);
        self.evidence = self.evidence.max(other.evidence);
        self.by_convention.extend(other.by_convention);
        let is_new = |witness: &Witness| self.witnesses.iter().all(|known| known.reader != witness.reader);
        let new: Vec<Witness> = other.witnesses.into_iter().filter(is_new).collect();
        self.witnesses.extend(new);
        self.undecided = self.undecided.take().or(other.undecided);
    }

    /// Returns sentences that explain the verdict: each witness with the reason why it is refused, and the reason why
    /// a direction was not decided.
    pub fn shown(&self) -> Vec<String> {
        let witnesses = self.witnesses.iter().map(|Witness { reader, document, refused }| {
            format!("the {} schema refuses {}: {refused}", reader.as_str(), excerpt(&document.to_string()))
        });
        witnesses.chain(self.undecided.iter().map(|reason| format!("not decided: {reason}"))).collect()
    }

    /// Returns 16 hex digits that identify the finding. They stay the same when lines and definitions move.
    pub fn fingerprint(&self) -> String {
        self.fingerprint_as(self.rule.id())
    }

    /// Returns the fingerprint that each item would have in a finding of its own.
    #[cfg(feature = "report")]
    pub(crate) fn fingerprints_of_items(&self) -> impl Iterator<Item = String> {
        self.items.iter().map(|item| fingerprint(self.rule.id(), item, ""))
    }

    /// Returns the fingerprints that the finding had under former names of its rule.
    #[cfg(feature = "report")]
    pub(crate) fn former_fingerprints(&self) -> impl Iterator<Item = String> {
        RETIRED.iter().filter(|(_, rule)| *rule == self.rule).map(|(name, _)| self.fingerprint_as(name))
    }

    fn fingerprint_as(&self, rule: &str) -> String {
        fingerprint(rule, &self.subject, &self.detail)
    }
}

fn fingerprint(rule: &str, subject: &str, detail: &str) -> String {
    sha256([rule, subject, detail].join("\0"))[..16].to_owned()
}

/// The maximum number of characters of a document or a name in a sentence. JSON reports contain the whole document.
const EXCERPT: usize = 200;

/// Shortens a text for a sentence.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}… ({})", &text[..end], counted(text.chars().count() as u64, "characters")),
        None => text.to_owned(),
    }
}

impl TypeVerdict {
    /// Returns the verdict on an axis, for the senders of the type.
    pub fn on(&self, axis: Axis) -> Verdict {
        self.senders.verdicts(self.old_to_new, self.new_to_old, Bump::Patch).on(axis)
    }
}

#[cfg(test)]
mod tests {
    use mcpgen_schema::json::Json;

    use super::*;

    /// A finding of a rule, with a document that one version refuses.
    fn finding(senders: Senders, refused_by: Option<Version>) -> Finding {
        let rule = Rule::CheckChanged;
        let verdict = |reader| if refused_by == Some(reader) { Verdict::Breaking } else { Verdict::Compatible };
        let witness = |reader| Witness { reader, document: Json::Null, refused: "expected string".to_owned() };
        Finding {
            rule,
            senders,
            verdicts: senders.verdicts(verdict(Version::New), verdict(Version::Old), Bump::Patch),
            evidence: refused_by.map_or(Evidence::Proof, |_| Evidence::Witness),
            witnesses: refused_by.map(witness).into_iter().collect(),
            by_convention: Vec::new(),
            undecided: None,
            subject: "A.x".to_owned(),
            detail: String::new(),
            items: Vec::new(),
            message: String::new(),
            old: None,
            new: None,
        }
    }

    #[test]
    fn merged_findings_show_the_evidence_of_each() {
        let mut merged = finding(Senders::default(), None);
        for refused_by in [Version::New, Version::Old] {
            merged.merge(finding(Senders::BOTH, Some(refused_by)));
        }
        merged.merge(finding(Senders::BOTH, None));
        assert_eq!((merged.senders, merged.evidence), (Senders::BOTH, Evidence::Witness));
        assert_eq!(merged.verdicts.worst(&Axis::WIRE), Verdict::Breaking);
        let readers: Vec<Version> = merged.witnesses.iter().map(|witness| witness.reader).collect();
        assert_eq!(readers, [Version::New, Version::Old]);
    }
}
