//! The contents of a report. The formats use nothing else.

use indexmap::IndexMap;
use mcpgen_model::snapshot::Snapshot;
use mcpgen_schema::Error;
use mcpgen_schema::json::Json;
use mcpgen_schema::json::lines::Lines;
use mcpgen_schema::text::visible;

use crate::models::{Axis, Diff, Finding, LIST_RULES, Place, RULES, Rule, Senders, TypeVerdict, Verdict};
use crate::report::judgement::{FailOn, Judged, Judgement, Suppressed};
use crate::report::source::{Source, SourceText};

/// The result of `mcpgen diff`.
#[derive(Debug)]
pub struct Report {
    /// What was compared.
    pub subject: Subject,
    /// The old schema or snapshot.
    pub old: Input,
    /// The new schema or snapshot.
    pub new: Input,
    /// The axes.
    pub axes: Vec<Axis>,
    /// The lowest severity that fails the run.
    pub fail_on: FailOn,
    /// All findings, worst first.
    pub findings: Vec<Reported>,
    /// The verdicts on each definition that both schemas have.
    pub types: Vec<TypeVerdict>,
    /// Stale ignores: they match nothing or have expired.
    pub stale: Vec<String>,
    /// Remarks that are not findings.
    pub notes: Vec<String>,
}

/// What a report compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Subject {
    /// Two schemas.
    Schemas,
    /// The lists of a server at two times.
    Lists,
}

/// What was read for a report.
#[derive(Debug)]
pub enum Compared {
    /// Two schemas.
    Schemas(Box<Source>, Box<Source>),
    /// Two snapshots.
    Lists(Box<[(SourceText, Snapshot); 2]>),
}

/// One of the two schemas or snapshots.
#[derive(Debug)]
pub struct Input {
    /// The name on the command line.
    pub label: String,
    /// The file, if it is one.
    pub file: Option<String>,
    /// SHA-256 of the text, in hex.
    pub sha256: String,
    /// The contents.
    pub root: Json,
}

/// A finding with its locations.
#[derive(Debug)]
pub struct Reported {
    /// The finding with its severity.
    pub judged: Judged,
    /// The area of the protocol, or the list.
    pub area: String,
    /// The location in the old schema, if it has one.
    pub old: Option<Location>,
    /// The location in the new schema, if it has one.
    pub new: Option<Location>,
    /// The line to show: in the file of the new schema if there is one, otherwise in that of the old. A removed item is
    /// shown at its former parent.
    pub shown: Option<Shown>,
}

/// A place in a schema.
#[derive(Clone, Debug)]
pub struct Location {
    /// The file, if it is one.
    pub file: Option<String>,
    /// JSON pointer.
    pub pointer: String,
    /// 1-based line in the text.
    pub line: usize,
    /// The Rust item, below the revision's module.
    pub rust: Option<String>,
}

/// The verdicts on a type, or on an item of a list.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// The verdict on each axis.
    pub verdicts: Vec<(Axis, Verdict)>,
    /// The fingerprint of its worst finding.
    pub finding: Option<String>,
}

/// A line of a file.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The file.
    pub file: String,
    /// 1-based line.
    pub line: usize,
}

/// The number of findings of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Breaking findings that are not suppressed.
    pub breaking: usize,
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
        compared: &Compared,
        axes: &[Axis],
        fail_on: FailOn,
        types: Vec<TypeVerdict>,
        judgement: Judgement,
    ) -> Report {
        let Judgement { findings, stale, notes } = judgement;
        let (old, new) = compared.texts();
        let (from, to) = compared.containers();
        // Adapts the pointer of a removed item to the new schema, whose dialect can be different.
        let there = |place: &Place| place.pointer.replacen(from, to, 1);
        let old_places = findings.iter().filter_map(|judged| judged.finding.old.as_ref());
        let new_places = findings.iter().filter_map(|judged| judged.finding.new.as_ref());
        let wanted: Vec<String> =
            new_places.map(|place| place.pointer.clone()).chain(old_places.clone().map(there)).collect();
        let old_lines = Lines::find(&old.bytes, old_places.map(|place| place.pointer.as_str()));
        let new_lines = Lines::find(&new.bytes, wanted.iter().map(String::as_str));
        let entry = |judged: Judged| {
            let location = |place: &Place, source: &SourceText, lines: &Lines| Location {
                file: source.file.clone(),
                pointer: place.pointer.clone(),
                line: lines.line(&place.pointer),
                rust: place.rust.clone(),
            };
            let old_at = judged.finding.old.as_ref().map(|place| location(place, old, &old_lines));
            let new_at = judged.finding.new.as_ref().map(|place| location(place, new, &new_lines));
            let gone_at = || judged.finding.old.as_ref().map_or(1, |place| new_lines.line(&there(place)));
            let in_new =
                new.file.clone().map(|file| Shown { file, line: new_at.as_ref().map_or_else(gone_at, |at| at.line) });
            let in_old = || Some(Shown { file: old.file.clone()?, line: old_at.as_ref().map_or(1, |at| at.line) });
            let shown = in_new.or_else(in_old);
            let area = compared.area(&judged.finding);
            Reported { judged, area, old: old_at, new: new_at, shown }
        };
        let input = |source: &SourceText, sha256: &str| Input {
            label: source.label.clone(),
            file: source.file.clone(),
            sha256: sha256.to_owned(),
            root: contents(&source.bytes),
        };
        let findings = findings.into_iter().map(entry).collect();
        let (before, after) = compared.hashes();
        let (old, new) = (input(old, before), input(new, after));
        Report { subject: compared.subject(), old, new, axes: axes.to_vec(), fail_on, findings, types, stale, notes }
    }

    /// Returns whether the run fails.
    pub fn fails(&self) -> bool {
        let stale = !self.stale.is_empty() && self.fail_on != FailOn::None;
        stale || self.findings.iter().any(|entry| self.fails_by(entry))
    }

    /// Returns whether this finding fails the run.
    pub fn fails_by(&self, entry: &Reported) -> bool {
        entry.judged.suppressed.is_none() && self.fail_on.reached(entry.judged.severity)
    }

    /// Counts the findings of each kind.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for Reported { judged, .. } in &self.findings {
            *match (&judged.suppressed, judged.severity) {
                (Some(Suppressed::Ignored(_)), _) => &mut counts.ignored,
                (Some(Suppressed::InBaseline), _) => &mut counts.in_baseline,
                (None, Verdict::Breaking) => &mut counts.breaking,
                (None, Verdict::Dangerous) => &mut counts.dangerous,
                (None, Verdict::Compatible) => &mut counts.compatible,
            } += 1;
        }
        counts
    }

    /// Returns the verdicts on each type that both schemas have, or on each changed item of a list.
    pub(super) fn matrix(&self) -> Vec<Row> {
        match self.subject {
            Subject::Schemas => self.types.iter().map(|verdict| self.row_of_type(verdict)).collect(),
            Subject::Lists => self.rows_of_items(),
        }
    }

    fn row_of_type(&self, verdict: &TypeVerdict) -> Row {
        let is_inside = |subject: &str| {
            let rest = subject.strip_prefix(verdict.name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        // The findings are sorted.
        let worst = self.findings.iter().find(|entry| is_inside(&entry.judged.finding.subject));
        Row {
            name: verdict.name.clone(),
            verdicts: Axis::WIRE.map(|axis| (axis, verdict.on(axis))).to_vec(),
            finding: worst.map(|entry| entry.judged.fingerprint.clone()),
        }
    }

    fn rows_of_items(&self) -> Vec<Row> {
        let mut rows: IndexMap<String, Row> = IndexMap::new();
        for entry in &self.findings {
            let old = entry.old.as_ref().and_then(|at| item_at(&self.old.root, &at.pointer));
            let new = entry.new.as_ref().and_then(|at| item_at(&self.new.root, &at.pointer));
            // A removed item has no place in the new snapshot, and a new name is shown with the old one.
            let Some((_, name)) = old.or(new) else { continue };
            let key = format!("{} {name}", entry.area);
            let row = rows.entry(key).or_insert_with(|| Row {
                name: name.clone(),
                verdicts: self.axes.iter().map(|axis| (*axis, Verdict::Compatible)).collect(),
                finding: Some(entry.judged.fingerprint.clone()),
            });
            for (axis, verdict) in &mut row.verdicts {
                *verdict = (*verdict).max(entry.judged.finding.verdicts.on(*axis));
            }
        }
        rows.into_values().collect()
    }

    /// Returns the findings with a severity that are not suppressed.
    pub(super) fn of(&self, severity: Verdict) -> impl Iterator<Item = &Reported> {
        let counts = move |entry: &&Reported| entry.judged.suppressed.is_none() && entry.judged.severity == severity;
        self.findings.iter().filter(counts)
    }

    /// Returns the suppressed findings, with the reason.
    pub(super) fn suppressed(&self) -> impl Iterator<Item = (&Reported, &Suppressed)> {
        self.findings.iter().filter_map(|entry| Some((entry, entry.judged.suppressed.as_ref()?)))
    }

    /// Returns the locations of a finding, with the name of the schema.
    pub(super) fn places<'a>(
        &'a self,
        entry: &'a Reported,
    ) -> impl DoubleEndedIterator<Item = (&'static str, &'a Input, &'a Location)> {
        let old = entry.old.as_ref().map(|at| ("old", &self.old, at));
        let new = entry.new.as_ref().map(|at| ("new", &self.new, at));
        [old, new].into_iter().flatten()
    }

    /// Describes the verdicts on the axes of the report. For Rust, that is the version bump.
    pub(super) fn verdicts(&self, entry: &Reported) -> String {
        let verdicts = &entry.judged.finding.verdicts;
        let word = |axis: &Axis| format!("{axis}: {}", verdicts.word(*axis));
        self.axes.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

impl Subject {
    /// Returns the name in reports.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the axes of such a comparison.
    pub fn axes(self) -> &'static [Axis] {
        match self {
            Subject::Schemas => &Axis::SCHEMAS,
            Subject::Lists => &Axis::LISTS,
        }
    }

    /// Returns the axes that decide severities by default.
    pub fn default_axes(self) -> &'static [Axis] {
        match self {
            Subject::Schemas => &Axis::WIRE,
            Subject::Lists => &Axis::LISTS,
        }
    }

    /// Returns the rules of such a comparison. The schemas in lists also have findings by the rules of schemas.
    pub fn rules(self) -> Vec<&'static Rule> {
        match self {
            Subject::Schemas => RULES.clone(),
            Subject::Lists => LIST_RULES.iter().chain(RULES.iter()).copied().collect(),
        }
    }

    /// Returns the title of the verdicts on types or items.
    pub(super) fn items(self) -> &'static str {
        match self {
            Subject::Schemas => "Types",
            Subject::Lists => "Items",
        }
    }

    /// Returns the title of a report.
    pub(super) fn title(self) -> &'static str {
        match self {
            Subject::Schemas => "Schema diff",
            Subject::Lists => "Tool list diff",
        }
    }
}

impl Compared {
    /// Reads both sides.
    ///
    /// # Errors
    /// The errors of [`Source::pair`], [`SourceText::pair`] and [`Snapshot::parse_leniently`].
    pub fn read(
        subject: Subject,
        (old, new): (&str, &str),
        vendored: impl Fn(&str, bool) -> Result<Source, Error>,
    ) -> Result<Compared, Error> {
        match subject {
            Subject::Schemas => {
                let (old, new) = Source::pair(old, new, vendored)?;
                Ok(Compared::Schemas(Box::new(old), Box::new(new)))
            }
            Subject::Lists => {
                let (old, new) = SourceText::pair(old, new)?;
                let snapshot = |text: &SourceText| Snapshot::parse_leniently(text.name(), &text.bytes);
                let (before, after) = (snapshot(&old)?, snapshot(&new)?);
                Ok(Compared::Lists(Box::new([(old, before), (new, after)])))
            }
        }
    }

    /// Compares.
    pub fn diff(&self) -> Diff {
        match self {
            Compared::Schemas(old, new) => crate::models::diff(&old.protocol, &new.protocol),
            Compared::Lists(sides) => crate::lists::diff(&sides[0].1, &sides[1].1),
        }
    }

    /// Returns what is compared.
    pub fn subject(&self) -> Subject {
        match self {
            Compared::Schemas(..) => Subject::Schemas,
            Compared::Lists(_) => Subject::Lists,
        }
    }

    /// Returns the area of the protocol, or the list, that a finding belongs to.
    fn area(&self, finding: &Finding) -> String {
        let places = [finding.new.as_ref(), finding.old.as_ref()];
        match self {
            Compared::Schemas(old, new) => {
                let area = |(place, source): (Option<&Place>, &Source)| {
                    // The nearest type around the place: `/$defs/Name`.
                    let place = &place?.pointer;
                    let end = place.match_indices('/').nth(2).map_or(place.len(), |(end, _)| end);
                    let id = source.protocol.types.iter().position(|def| def.pointer == place[..end])?;
                    Some(source.protocol.area(id).to_owned())
                };
                let found = places.into_iter().zip([&**new, &**old]).find_map(area);
                found.unwrap_or_else(|| "other".to_owned())
            }
            Compared::Lists(_) => {
                let pointer =
                    places.into_iter().flatten().map(|place| place.pointer.as_str()).next().unwrap_or_default();
                let known = ["resources", "resourceTemplates", "prompts"];
                let list = pointer.split('/').skip(1).take(2).find(|token| known.contains(token));
                list.unwrap_or("tools").to_owned()
            }
        }
    }

    fn texts(&self) -> (&SourceText, &SourceText) {
        match self {
            Compared::Schemas(old, new) => (&old.text, &new.text),
            Compared::Lists(sides) => (&sides[0].0, &sides[1].0),
        }
    }

    fn hashes(&self) -> (&str, &str) {
        match self {
            Compared::Schemas(old, new) => (&old.protocol.sha256, &new.protocol.sha256),
            Compared::Lists(sides) => (&sides[0].1.sha256, &sides[1].1.sha256),
        }
    }

    /// Returns the beginnings of the pointers of all definitions.
    fn containers(&self) -> (&'static str, &'static str) {
        match self {
            Compared::Schemas(old, new) => (container(old), container(new)),
            Compared::Lists(_) => ("", ""),
        }
    }
}

impl Location {
    /// Describes the location: `schema.json:7`.
    pub(super) fn in_words(&self, input: &Input) -> String {
        let name = self.file.as_ref().unwrap_or(&input.label);
        let name = if name == "-" { "standard input" } else { name };
        format!("{}:{}", visible(name), self.line)
    }
}

impl Counts {
    /// Describes the suppressed findings. Empty if there are none.
    pub(super) fn suppressed(self) -> String {
        let word = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
        let parts = [word(self.ignored, "ignored"), word(self.in_baseline, "in the baseline")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Reads a text that was read before.
fn contents(bytes: &[u8]) -> Json {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(text).unwrap_or(Json::Null)
}

/// Returns the item of a list around a place, with its pointer and its name.
fn item_at(root: &Json, pointer: &str) -> Option<(String, String)> {
    let mut at = String::new();
    for token in pointer.split('/').skip(1) {
        at = format!("{at}/{token}");
        if token.bytes().all(|byte| byte.is_ascii_digit()) {
            let item = root.pointer(&at)?;
            let name = ["uri", "uriTemplate", "name"].iter().find_map(|key| item.get(key)?.as_str())?;
            return Some((at, name.to_owned()));
        }
    }
    None
}

/// Returns the senders.
pub(super) fn sides(senders: Senders) -> Vec<&'static str> {
    let sides = [("client", senders.client), ("server", senders.server)];
    sides.into_iter().filter(|(_, sends)| *sends).map(|(side, _)| side).collect()
}

/// Returns the beginning of the pointers of all definitions.
fn container(source: &Source) -> &'static str {
    let first = source.protocol.types.first();
    if first.is_some_and(|def| def.pointer.starts_with("/definitions/")) { "/definitions/" } else { "/$defs/" }
}
