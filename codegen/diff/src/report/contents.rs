//! The contents of a report. The formats use nothing else.

use std::cmp::Reverse;

use indexmap::IndexMap;
use mcpgen_model::snapshot::ListKind;
use mcpgen_model::{Protocol, TypeId};
use mcpgen_schema::text::visible;
use serde::Serialize;

use crate::lists::excerpt;
use crate::models::{Axis, Finding, Place, Rule, Senders, TypeVerdict, Verdict};
use crate::report::compared::{Compared, Models, Subject};
use crate::report::judgement::{FailOn, Judged, Judgement, Suppressed};
use crate::report::source::Source;

/// The result of `mcpgen diff`.
#[derive(Debug)]
pub struct Report {
    /// What was compared.
    pub subject: Subject,
    /// The old schema or snapshot.
    pub old: Source,
    /// The new schema or snapshot.
    pub new: Source,
    /// The models of both sides.
    pub models: Models,
    /// The axes.
    pub axes: Vec<Axis>,
    /// The lowest severity that fails the run.
    pub fail_on: FailOn,
    /// All findings, worst first.
    pub findings: Vec<Judged>,
    /// The verdicts on each definition that both schemas have.
    pub types: Vec<TypeVerdict>,
    /// Stale ignores: they match nothing or have expired.
    pub stale: Vec<String>,
    /// Remarks that are not findings.
    pub notes: Vec<String>,
}

/// The verdicts on a type, or on an item of a list.
#[derive(Clone, Debug)]
pub struct MatrixRow {
    /// Its name.
    pub name: String,
    /// The verdict on each axis.
    pub verdicts: Vec<(Axis, Verdict)>,
    /// The rule and the fingerprint of its worst finding.
    pub finding: Option<(Rule, String)>,
}

/// The number of findings of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Breaking findings that are not suppressed.
    pub breaking: usize,
    /// Findings that may be breaking, and are not suppressed.
    pub unknown: usize,
    /// Dangerous findings that are not suppressed.
    pub dangerous: usize,
    /// Compatible findings that are not suppressed.
    pub compatible: usize,
    /// Findings that `mcpgen.toml` ignores.
    pub ignored: usize,
    /// Findings in the baseline.
    pub in_baseline: usize,
}

impl Report {
    /// Creates a report.
    pub fn new(
        compared: Compared,
        axes: &[Axis],
        fail_on: FailOn,
        types: Vec<TypeVerdict>,
        judgement: Judgement,
    ) -> Report {
        let subject = compared.subject();
        let Compared { old, new, models } = compared;
        let Judgement { findings, stale, notes } = judgement;
        Report { subject, old, new, models, axes: axes.to_vec(), fail_on, findings, types, stale, notes }
    }

    /// Returns whether the run fails.
    pub fn fails(&self) -> bool {
        let stale = !self.stale.is_empty() && self.fail_on != FailOn::None;
        stale || self.findings.iter().any(|judged| self.fails_by(judged))
    }

    /// Returns whether this finding fails the run.
    pub fn fails_by(&self, judged: &Judged) -> bool {
        judged.suppressed.is_none() && self.fail_on.reached(judged.severity)
    }

    /// Counts the findings of each kind.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for judged in &self.findings {
            *match (&judged.suppressed, judged.severity) {
                (Some(Suppressed::Ignored(_)), _) => &mut counts.ignored,
                (Some(Suppressed::InBaseline), _) => &mut counts.in_baseline,
                (None, Verdict::Breaking) => &mut counts.breaking,
                (None, Verdict::Unknown) => &mut counts.unknown,
                (None, Verdict::Dangerous) => &mut counts.dangerous,
                (None, Verdict::Compatible) => &mut counts.compatible,
            } += 1;
        }
        counts
    }

    /// Returns the verdicts on each type that both schemas have, or on each changed item of a list, worst first. Among
    /// equally bad ones, those with findings of their own come first, and those with the same worst rule are together.
    pub(super) fn matrix(&self) -> Vec<MatrixRow> {
        let mut rows: Vec<MatrixRow> = match self.subject {
            Subject::Schemas | Subject::Documents => {
                self.types.iter().map(|verdict| self.row_of_type(verdict)).collect()
            }
            Subject::Lists => self.rows_of_items(),
        };
        let worst = |row: &MatrixRow| row.verdicts.iter().map(|(_, verdict)| *verdict).max();
        let rule = |row: &MatrixRow| row.finding.as_ref().map(|(rule, _)| *rule);
        rows.sort_by_key(|row| (Reverse(worst(row)), row.finding.is_none(), rule(row)));
        rows
    }

    fn row_of_type(&self, verdict: &TypeVerdict) -> MatrixRow {
        let is_inside = |subject: &str| {
            let rest = subject.strip_prefix(verdict.name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        // The findings are sorted, worst first.
        let worst = self.findings.iter().find(|judged| is_inside(&judged.finding.subject));
        MatrixRow {
            name: verdict.name.clone(),
            verdicts: self.subject.default_axes().iter().map(|axis| (*axis, verdict.on(*axis))).collect(),
            finding: worst.map(|judged| (judged.finding.rule, judged.fingerprint.clone())),
        }
    }

    fn rows_of_items(&self) -> Vec<MatrixRow> {
        let rows = self.groups(self.findings.iter()).into_iter().map(|(name, findings)| MatrixRow {
            name,
            verdicts: self.axes.iter().map(|axis| (*axis, worst(&findings, *axis))).collect(),
            finding: findings.first().map(|judged| (judged.finding.rule, judged.fingerprint.clone())),
        });
        rows.collect()
    }

    /// Returns the findings that are not suppressed.
    pub(super) fn unsuppressed(&self) -> impl Iterator<Item = &Judged> {
        self.findings.iter().filter(|judged| judged.suppressed.is_none())
    }

    /// Returns the places of a finding, each with its schema or snapshot, and `old` or `new`.
    pub(super) fn places<'a>(
        &'a self,
        judged: &'a Judged,
    ) -> impl DoubleEndedIterator<Item = (&'static str, &'a Source, &'a Place)> {
        let old = judged.finding.old.as_ref().map(|place| ("old", &self.old, place));
        let new = judged.finding.new.as_ref().map(|place| ("new", &self.new, place));
        [old, new].into_iter().flatten()
    }

    /// Returns the area of the protocol, or the list, that a finding belongs to.
    pub(super) fn area(&self, finding: &Finding) -> &str {
        match &self.models {
            Models::Schemas(_) => self.type_of(finding).map_or("other", |(protocol, id)| protocol.area(id)),
            Models::Lists(_) => {
                let places = [&finding.new, &finding.old].into_iter().flatten();
                let mut tokens = places.take(1).flat_map(|place| place.pointer.split('/').skip(1).take(2));
                let list = |token: &str| ListKind::ALL.map(ListKind::member).into_iter().find(|list| *list == token);
                tokens.find_map(list).unwrap_or("tools")
            }
        }
    }

    /// Returns the nearest type around the place of a finding.
    fn type_of(&self, finding: &Finding) -> Option<(&Protocol, TypeId)> {
        let Models::Schemas(protocols) = &self.models else { return None };
        [&finding.new, &finding.old].into_iter().zip(protocols.iter().rev()).find_map(|(place, protocol)| {
            // A pointer begins with that of the definition, such as `/$defs/Tool`.
            let place = &place.as_ref()?.pointer;
            let end = place.match_indices('/').nth(2).map_or(place.len(), |(end, _)| end);
            Some((protocol, protocol.types.iter().position(|def| def.pointer == place[..end])?))
        })
    }

    /// Returns the item, such as a tool, or the type that a finding is about.
    fn group(&self, judged: &Judged) -> String {
        let finding = &judged.finding;
        match &self.models {
            Models::Schemas(_) => match self.type_of(finding) {
                Some((protocol, id)) => protocol.types[id].name.clone(),
                None => finding.subject.split(['.', '[']).next().unwrap_or_default().to_owned(),
            },
            Models::Lists(_) => {
                // The old place comes first. A removed item has no other place, and a renamed one keeps its old name.
                let name = self.places(judged).find_map(|(_, source, place)| item_name(source, place));
                match (name.unwrap_or_else(|| finding.subject.clone()), self.area(finding)) {
                    (name, list) if list == "tools" || list == name => name,
                    (name, list) => format!("{name} ({list})"),
                }
            }
        }
    }

    /// Groups findings by the item or type that they are about. Groups come in the order of their first findings.
    pub(super) fn groups<'a>(
        &'a self,
        findings: impl Iterator<Item = &'a Judged>,
    ) -> IndexMap<String, Vec<&'a Judged>> {
        let mut groups: IndexMap<String, Vec<&Judged>> = IndexMap::new();
        findings.for_each(|judged| groups.entry(self.group(judged)).or_default().push(judged));
        groups
    }

    /// Returns the file and the line to show for a finding: in the new file if there is one, otherwise in the old
    /// file. A removed item is shown at its former parent.
    pub(super) fn shown(&self, Finding { old, new, .. }: &Finding) -> Option<(&str, usize)> {
        let in_new = || match (old, new) {
            (_, Some(place)) => self.new.line(place),
            (Some(place), None) => self.new.text.line(&self.pointer_in_new(place)),
            (None, None) => 1,
        };
        let in_old = || old.as_ref().map_or(1, |place| self.old.line(place));
        match (&self.old.file, &self.new.file) {
            (_, Some(file)) => Some((file, in_new())),
            (Some(file), None) => Some((file, in_old())),
            (None, None) => None,
        }
    }

    /// Returns the pointer of an old place in the new schema, whose dialect may differ.
    fn pointer_in_new(&self, place: &Place) -> String {
        match &self.models {
            Models::Schemas(protocols) => {
                let [from, to] = protocols.each_ref().map(container);
                place.pointer.replacen(from, to, 1)
            }
            Models::Lists(_) => place.pointer.clone(),
        }
    }

    /// Returns the message of a finding and the sentences that explain its verdict, one per line.
    pub(super) fn sentences(&self, judged: &Judged) -> String {
        let shown = judged.finding.shown();
        let all = [&judged.finding.message].into_iter().chain(&shown).map(|sentence| visible(sentence));
        all.collect::<Vec<_>>().join("\n")
    }

    /// Describes the verdicts on the axes of the report. For Rust, that is the version bump.
    pub(super) fn verdicts(&self, judged: &Judged) -> String {
        let verdicts = &judged.finding.verdicts;
        let word = |axis: &Axis| format!("{axis}: {}", verdicts.word(*axis));
        self.axes.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

impl Counts {
    /// Returns the numbers of findings that are not suppressed, worst first, with their verdicts.
    pub(super) fn by_verdict(self) -> [(usize, Verdict); 4] {
        let Counts { breaking, unknown, dangerous, compatible, .. } = self;
        [
            (breaking, Verdict::Breaking),
            (unknown, Verdict::Unknown),
            (dangerous, Verdict::Dangerous),
            (compatible, Verdict::Compatible),
        ]
    }

    /// Describes the suppressed findings. Empty if nothing was suppressed.
    pub(super) fn suppressed(self) -> String {
        let word = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
        let parts = [word(self.ignored, "ignored"), word(self.in_baseline, "in the baseline")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn worst(findings: &[&Judged], axis: Axis) -> Verdict {
    findings.iter().map(|judged| judged.finding.verdicts.on(axis)).max().unwrap_or_default()
}

/// Returns the name of the list item that contains a place.
fn item_name(source: &Source, Place { pointer, .. }: &Place) -> Option<String> {
    let mut ancestors = pointer.match_indices('/').map(|(end, _)| &pointer[..end]).chain([pointer.as_str()]);
    let item = ancestors.find(|ancestor| ancestor.ends_with(|c: char| c.is_ascii_digit()))?;
    let text = |name: &&str| source.text.value(&format!("{item}/{name}"))?.as_str().map(str::to_owned);
    ["uri", "uriTemplate", "name"].iter().find_map(text).map(|name| excerpt(&name).into_owned())
}

/// Returns the prefix that the pointers of all definitions share.
fn container(protocol: &Protocol) -> &'static str {
    let first = protocol.types.first();
    if first.is_some_and(|def| def.pointer.starts_with("/definitions/")) { "/definitions/" } else { "/$defs/" }
}

pub(super) fn sides(senders: Senders) -> Vec<&'static str> {
    let sides = [("client", senders.client), ("server", senders.server)];
    sides.into_iter().filter(|(_, sends)| *sends).map(|(side, _)| side).collect()
}

pub(super) fn axis_in_words(axis: Axis) -> &'static str {
    match axis {
        Axis::OldClientNewServer => "old client, new server",
        Axis::NewClientOldServer => "new client, old server",
        Axis::NewReaderOldDocuments => "new reader, old documents",
        Axis::OldReaderNewDocuments => "old reader, new documents",
        Axis::RustApi => "Rust API",
        Axis::RememberedList => "remembered list",
        Axis::StoredWorkflow => "stored workflow",
        Axis::Trust => "trust",
    }
}
