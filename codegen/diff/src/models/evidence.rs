//! The evidence of verdicts: a proof, or a document that was accepted and is now refused.

use mcpgen_model::{Check, Protocol, Type};
use mcpgen_schema::check::{Definitions, MemberChecks};
use mcpgen_schema::containment::{self, Budget, Reason, Scoped, contains};
use mcpgen_schema::json::Json;
use serde::Serialize;

use crate::models::convention::usual;
use crate::models::verdict::{ListVerdicts, Verdict};
use crate::models::whole::Checks;

/// Why a verdict holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// It is proved that the reader accepts every document.
    Proof,
    /// The reader accepts every document without members that an open object of the sender says nothing about. By
    /// convention, nobody sends these.
    Convention,
    /// Nothing shows it: the change affects the meaning of documents, or nothing was decided.
    None,
    /// A message, or an item of a list, exists on one side only.
    Message,
    /// A document was accepted, and is now refused.
    Witness,
}

impl Evidence {
    /// Returns the evidence of verdicts on a change that no document shows.
    pub(crate) fn of(lists: ListVerdicts) -> Evidence {
        match lists.remembered_list.max(lists.stored_workflow) {
            Verdict::Compatible => Evidence::Proof,
            Verdict::Breaking => Evidence::Message,
            _ => Evidence::None,
        }
    }

    /// Returns the name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A version of what is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Version {
    /// The old schema or list.
    Old,
    /// The new schema or list.
    New,
}

impl Version {
    /// Returns the name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the other version.
    #[must_use]
    pub fn other(self) -> Version {
        match self {
            Version::Old => Version::New,
            Version::New => Version::Old,
        }
    }
}

/// A document that one version accepts, and the other one refuses. It is a value of the finding's subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Witness {
    /// The version that refuses it.
    pub reader: Version,
    /// The document.
    pub document: Json,
    /// Why it is refused, with the path of the refused value.
    pub refused: String,
}

/// A verdict on documents from one version to the other, with its evidence.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) verdict: Verdict,
    pub(super) evidence: Evidence,
    pub(super) witness: Option<Witness>,
    /// Why nothing was decided.
    pub(super) unknown: Option<Reason>,
}

impl Judged {
    /// Creates a verdict that no document shows.
    pub(super) fn new(verdict: Verdict, evidence: Evidence) -> Judged {
        Judged { verdict, evidence, witness: None, unknown: None }
    }

    pub(super) fn unknown(reason: Reason) -> Judged {
        Judged { unknown: Some(reason), ..Judged::new(Verdict::Unknown, Evidence::None) }
    }

    pub(super) fn refused(witness: Witness) -> Judged {
        Judged { witness: Some(witness), ..Judged::new(Verdict::Breaking, Evidence::Witness) }
    }
}

/// What a witness should show, if several differences of one object could refuse a document.
#[derive(Clone, Debug)]
pub(super) enum Aim {
    /// The member is absent.
    Absent(String),
    /// The member is present.
    Present(String),
    /// The value is this one.
    Value(Json),
}

impl Aim {
    /// Returns the check of all other documents.
    fn others(&self) -> Check {
        match self {
            Aim::Absent(name) => Check::Required(vec![name.clone()]),
            Aim::Present(name) => Check::Members(Box::new(MemberChecks {
                named: vec![(name.clone(), Check::Nothing)],
                ..MemberChecks::default()
            })),
            Aim::Value(value) => Check::Not(Box::new(Check::Values(vec![value.clone()]))),
        }
    }
}

/// The number of steps for one question.
const BUDGET: Budget = Budget { steps: 20_000 };

/// Two values that may replace each other, as checks.
pub(super) struct Pair {
    old: (Check, Definitions),
    new: (Check, Definitions),
}

impl Pair {
    pub(super) fn of(old: (&Protocol, &Type), new: (&Protocol, &Type), has_64_bit_readers: bool) -> Pair {
        let [old, new] = [old, new].map(|(protocol, content)| Checks::of(protocol, content, has_64_bit_readers));
        Pair { old, new }
    }

    /// Returns the verdict on what the other version sends to this one.
    pub(super) fn read_by(&self, reader: Version, aim: Option<&Aim>) -> Judged {
        let (reads, sends) = match reader {
            Version::Old => (&self.old, &self.new),
            Version::New => (&self.new, &self.old),
        };
        let large = Scoped { check: &reads.0, definitions: &reads.1 };
        let (check, definitions) = usual((&sends.0, &sends.1), (&reads.0, &reads.1));
        let small = Scoped { check: &check, definitions: &definitions };
        let witness = |document: Json| {
            let refused = large.check.check(&document, large.definitions).err()?.to_string();
            Some(Witness { reader, document, refused })
        };
        if let Some(aim) = aim {
            let others = aim.others();
            let others = Scoped { check: &others, definitions: &definitions };
            if let containment::Verdict::Refuted(document) = contains(others, small, BUDGET)
                && let Some(witness) = witness(document)
            {
                return Judged::refused(witness);
            }
        }
        let all = Scoped { check: &sends.0, definitions: &sends.1 };
        if contains(large, all, BUDGET).is_proved() {
            return Judged::new(Verdict::Compatible, Evidence::Proof);
        }
        match contains(large, small, BUDGET) {
            containment::Verdict::Proved => Judged::new(Verdict::Compatible, Evidence::Convention),
            containment::Verdict::Unknown(reason) => Judged::unknown(reason),
            containment::Verdict::Refuted(document) => {
                witness(document).map_or_else(|| Judged::unknown(Reason::Invalid), Judged::refused)
            }
        }
    }
}
