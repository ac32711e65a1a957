//! The evidence of verdicts: a proof, or a document that was accepted and is now refused.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;

use mcpgen_model::{Check, JsonTypes, Protocol, Type};
use mcpgen_schema::Checks as Schema;
use mcpgen_schema::check::Definitions;
use mcpgen_schema::containment::{self, Budget, Reason, Scoped, contains_with_cost};
use mcpgen_schema::json::Json;
use mcpgen_schema::text::counted;
use serde::Serialize;

use crate::models::convention::usual;
use crate::models::rules::Rule;
use crate::models::verdict::{Axis, ListVerdicts, Verdict};
use crate::models::whole::Checks;

/// Why a verdict holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// It is proved that the reader accepts every document.
    Proof,
    /// The reader accepts every document, apart from two kinds that nobody sends by convention: those with members that
    /// an open object of the sender does not name, and those with integers that a double cannot hold.
    Convention,
    /// No document can show the verdict: the change affects only what documents mean, or the verdict is unknown.
    None,
    /// A message, or an item of a list, exists on one side only.
    Message,
    /// A document was accepted, and is now refused.
    Witness,
}

impl Evidence {
    /// Returns the evidence for the verdicts on a change that no document can show.
    pub(crate) fn of(rule: Rule, lists: ListVerdicts) -> Evidence {
        match lists.remembered_list.max(lists.stored_workflow) {
            _ if !rule.concerns(&Axis::LISTS) => Evidence::None,
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

/// The old or the new version of the compared schema or list.
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
    /// The version that refuses the document.
    pub reader: Version,
    /// The document.
    pub document: Json,
    /// Why the document is refused, with the path of the refused value.
    pub refused: String,
}

/// A verdict on documents from one version to the other, with its evidence.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) verdict: Verdict,
    pub(super) evidence: Evidence,
    pub(super) witness: Option<Witness>,
    /// Why the verdict could not be decided.
    pub(super) unknown: Option<Reason>,
}

impl Answer {
    /// Creates a verdict without a witness.
    pub(super) fn new(verdict: Verdict, evidence: Evidence) -> Answer {
        Answer { verdict, evidence, witness: None, unknown: None }
    }

    pub(super) fn unknown(reason: Reason) -> Answer {
        Answer { unknown: Some(reason), ..Answer::new(Verdict::Unknown, Evidence::None) }
    }

    pub(super) fn refused(witness: Witness) -> Answer {
        Answer { witness: Some(witness), ..Answer::new(Verdict::Breaking, Evidence::Witness) }
    }
}

/// Which documents show a difference, if others show another difference in the same value.
#[derive(Clone, Debug)]
pub(super) enum Aim {
    /// Documents in which the member is absent.
    Absent(String),
    /// Documents in which the member is present.
    Present(String),
    /// Documents of the sender that this check accepts.
    Accepted(Check),
}

impl Aim {
    fn check(&self) -> Check {
        let has = |name: &String| Check::Required(vec![name.clone()]);
        match self {
            Aim::Absent(name) => Check::Not(Box::new(has(name))),
            Aim::Present(name) => Check::All(vec![Check::Type(JsonTypes::OBJECT), has(name)]),
            Aim::Accepted(check) => check.clone(),
        }
    }
}

/// The steps that a comparison may take. The fewer are left, the fewer a single question may take, so that even a
/// malicious schema or list takes only seconds.
#[derive(Debug)]
pub(crate) struct Effort {
    left: Cell<u64>,
    unanswered: Cell<u32>,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { left: Cell::new(Effort::TOTAL), unanswered: Cell::new(0) }
    }
}

impl Effort {
    const TOTAL: u64 = 6_000_000;
    /// The steps that the first question may take. For an ordinary schema, a question takes a few hundred.
    const FIRST: u64 = 20_000;
    /// The steps that a question may take when few are left.
    const LATER: u64 = 500;

    /// Answers a question within the budget.
    fn ask(&self, question: impl FnOnce(&mut u64) -> Answer) -> Answer {
        let left = self.left.get();
        let given = (Effort::FIRST * left / Effort::TOTAL).max(Effort::LATER).min(left);
        let mut steps = given;
        let answer = if left == 0 { Answer::unknown(Reason::Budget) } else { question(&mut steps) };
        self.left.set(left.saturating_sub(given - steps + 1));
        if answer.unknown == Some(Reason::Budget) {
            self.unanswered.set(self.unanswered.get() + 1);
        }
        answer
    }

    /// Returns a note if the budget was too small for some questions.
    pub(crate) fn note(&self) -> Option<String> {
        let questions = counted(u64::from(self.unanswered.get()), "questions");
        let were = if self.unanswered.get() == 1 { "was" } else { "were" };
        let note = || format!("{questions} {were} not answered within the budget, so verdicts are unknown");
        (self.unanswered.get() > 0).then(note)
    }
}

/// Returns the parts of a check that all have to hold, including those of the definitions that it refers to.
fn parts<'c>(check: &'c Check, definitions: &'c Definitions) -> Vec<&'c Check> {
    let (mut queue, mut seen, mut found) = (vec![check], BTreeSet::new(), Vec::new());
    while let Some(check) = queue.pop() {
        match check {
            Check::All(checks) => queue.extend(checks.iter().rev()),
            Check::Definition(target) => queue.extend(definitions.get(target).filter(|_| seen.insert(target))),
            check => found.push(check),
        }
    }
    found
}

/// The maximum number of witnesses that are kept and tried on later differences.
const MOST_KNOWN: usize = 8;

/// The old and the new version of a value, as checks.
pub(super) struct Versions {
    old: (Check, Definitions),
    new: (Check, Definitions),
    /// What each version sends by convention, the old one first.
    usual: [OnceCell<(Check, Definitions)>; 2],
    /// Witnesses found so far. They may also show later differences: `{}` lacks all members that are newly required.
    known: RefCell<Vec<Witness>>,
}

impl Versions {
    pub(super) fn of(old: (&Protocol, &Type), new: (&Protocol, &Type), has_64_bit_readers: bool) -> Versions {
        let [old, new] = [old, new].map(|(protocol, content)| Checks::of(protocol, content, has_64_bit_readers));
        Versions { old, new, usual: Default::default(), known: RefCell::default() }
    }

    pub(super) fn of_checks(old: Schema, new: Schema) -> Versions {
        let [old, new] = [old, new].map(|side| (side.root, side.definitions));
        Versions { old, new, usual: Default::default(), known: RefCell::default() }
    }

    /// Returns the verdict on what the other version sends to `reader`.
    pub(super) fn read_by(&self, reader: Version, aim: Option<&Aim>, effort: &Effort) -> Answer {
        effort.ask(|steps| {
            let mut answer = match self.known(reader, aim) {
                Some(known) => Answer::refused(known),
                None => {
                    let answer = self.asked(reader, aim, steps);
                    let mut known = self.known.borrow_mut();
                    if known.len() < MOST_KNOWN {
                        known.extend(answer.witness.clone());
                    }
                    answer
                }
            };
            if let (Some(witness), Some(aim)) = (&mut answer.witness, aim) {
                let why = self.reason(reader, aim, &witness.document);
                witness.refused = why.unwrap_or_else(|| std::mem::take(&mut witness.refused));
            }
            answer
        })
    }

    /// Returns why the reader refuses a document, if the reason concerns the aim. Required members that the document
    /// also lacks do not count, unless the aim is about them.
    fn reason(&self, reader: Version, aim: &Aim, document: &Json) -> Option<String> {
        let ((reads, definitions), _) = self.sides(reader);
        let mut parts = parts(reads, definitions).into_iter();
        let failure = match aim {
            Aim::Absent(name) => {
                let is_required = |part: &Check| matches!(part, Check::Required(names) if names.contains(name));
                let required = Check::Required(vec![name.clone()]);
                required.check(document, definitions).err().filter(|_| parts.any(is_required))
            }
            Aim::Present(_) | Aim::Accepted(_) => {
                let mut others = parts.filter(|part| !matches!(part, Check::Required(_)));
                others.find_map(|part| part.check(document, definitions).err())
            }
        };
        failure.map(|why| why.to_string())
    }

    /// Returns a known witness that the aim accepts.
    fn known(&self, reader: Version, aim: Option<&Aim>) -> Option<Witness> {
        let (_, (_, definitions)) = self.sides(reader);
        let aimed = aim.map(Aim::check);
        let is_aimed = |it: &&Witness| {
            let accepts = |check: &Check| check.check(&it.document, definitions).is_ok();
            it.reader == reader && aimed.as_ref().is_none_or(accepts)
        };
        let known = self.known.borrow();
        known.iter().find(is_aimed).cloned().or_else(|| known.iter().find_map(|it| self.renamed(it, reader, aim)))
    }

    /// Renames the only member of a known witness, and returns the result if it is a witness too. A reader may refuse
    /// thousands of members for the same reason.
    fn renamed(&self, known: &Witness, reader: Version, aim: Option<&Aim>) -> Option<Witness> {
        let (Some(Aim::Present(name)), Json::Object(members)) = (aim, &known.document) else { return None };
        let [value] = members.values().collect::<Vec<_>>()[..] else { return None };
        let document = Json::Object([(name.clone(), value.clone())].into_iter().collect());
        let ((reads, scope), _) = self.sides(reader);
        let refused = reads.check(&document, scope).err().filter(|_| known.reader == reader)?.to_string();
        let (usual, definitions) = self.usual(reader);
        usual.check(&document, definitions).is_ok().then_some(Witness { reader, document, refused })
    }

    /// Returns what the reader reads, and what the other version sends.
    fn sides(&self, reader: Version) -> (&(Check, Definitions), &(Check, Definitions)) {
        match reader {
            Version::Old => (&self.old, &self.new),
            Version::New => (&self.new, &self.old),
        }
    }

    /// Returns what the other version sends to `reader` by convention.
    fn usual(&self, reader: Version) -> &(Check, Definitions) {
        let ((reads, scope), (sent, sender)) = self.sides(reader);
        let [old, new] = &self.usual;
        let usual_of_sender = if reader == Version::Old { new } else { old };
        usual_of_sender.get_or_init(|| usual((sent, sender), (reads, scope)))
    }

    fn asked(&self, reader: Version, aim: Option<&Aim>, steps: &mut u64) -> Answer {
        let mut contains = |large: Scoped<'_>, small: Scoped<'_>| {
            let (verdict, cost) = contains_with_cost(large, small, Budget { steps: *steps });
            *steps = steps.saturating_sub(cost);
            verdict
        };
        let (reads, sends) = self.sides(reader);
        let aimed = |check: &Check| match aim {
            Some(aim) => Check::All(vec![check.clone(), aim.check()]),
            None => check.clone(),
        };
        let large = Scoped { check: &reads.0, definitions: &reads.1 };
        let all = aimed(&sends.0);
        if contains(large, Scoped { check: &all, definitions: &sends.1 }).is_proved() {
            return Answer::new(Verdict::Compatible, Evidence::Proof);
        }
        let (check, definitions) = self.usual(reader);
        let check = aimed(check);
        match contains(large, Scoped { check: &check, definitions }) {
            containment::Verdict::Proved => Answer::new(Verdict::Compatible, Evidence::Convention),
            containment::Verdict::Unknown(reason) => Answer::unknown(reason),
            containment::Verdict::Refuted(document) => match large.check.check(&document, large.definitions) {
                Ok(()) => Answer::unknown(Reason::Invalid),
                Err(why) => Answer::refused(Witness { reader, document, refused: why.to_string() }),
            },
        }
    }
}
