//! What a report contains. Every format is written from this alone.

use crate::diff::{Axis, Place, Senders, TypeVerdict, Verdict};
use crate::json::lines::Lines;
use crate::report::judgement::{FailOn, Judged, Judgement, Suppressed};
use crate::report::source::Source;
use crate::text::visible;

/// What a run of `mcpgen diff` has to say. Every form is made from this alone.
#[derive(Debug)]
pub(crate) struct Report {
    /// The old schema.
    pub old: Input,
    /// The new schema.
    pub new: Input,
    /// The points of view.
    pub axes: Vec<Axis>,
    /// When the run fails.
    pub fail_on: FailOn,
    /// All findings, worst first.
    pub findings: Vec<Reported>,
    /// What becomes of each definition that both schemas have.
    pub types: Vec<TypeVerdict>,
    /// Ignores that match nothing or have expired.
    pub stale: Vec<String>,
    /// What is worth knowing and no finding.
    pub notes: Vec<String>,
}

/// One of the two schemas.
#[derive(Debug)]
pub(crate) struct Input {
    /// What the user called it.
    pub label: String,
    /// The file, if it is one.
    pub file: Option<String>,
    /// SHA-256 of the text, in hex.
    pub sha256: String,
}

/// A finding, and where it is.
#[derive(Debug)]
pub(crate) struct Reported {
    /// The finding, and what the project thinks of it.
    pub judged: Judged,
    /// Where it is in the old schema, if anything is there.
    pub old: Option<Location>,
    /// Where it is in the new schema, if anything is there.
    pub new: Option<Location>,
    /// Where to show it: in the file of the new schema, for what is gone at what it was in; otherwise in that of the old.
    pub shown: Option<Shown>,
}

/// A place in a schema.
#[derive(Clone, Debug)]
pub(crate) struct Location {
    /// The file, if it is one.
    pub file: Option<String>,
    /// JSON pointer.
    pub pointer: String,
    /// 1-based line in the text.
    pub line: usize,
    /// The Rust item, below the revision's module.
    pub rust: Option<String>,
}

/// A line of a file.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The file.
    pub file: String,
    /// 1-based line.
    pub line: usize,
}

/// How many findings there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Breaking, and counted.
    pub breaking: usize,
    /// Dangerous, and counted.
    pub dangerous: usize,
    /// Compatible, and counted.
    pub compatible: usize,
    /// Ignored.
    pub ignored: usize,
    /// In the baseline.
    pub in_baseline: usize,
}

impl Report {
    /// Puts findings, places and lines together.
    pub(crate) fn new(
        (old, new): (&Source, &Source),
        axes: &[Axis],
        fail_on: FailOn,
        types: Vec<TypeVerdict>,
        judgement: Judgement,
    ) -> Report {
        let Judgement { findings, stale, notes } = judgement;
        let (from, to) = (container(old), container(new));
        // Where what is gone would be: dialects keep their definitions under different names.
        let there = |place: &Place| place.pointer.replacen(from, to, 1);
        let old_places = findings.iter().filter_map(|judged| judged.finding.old.as_ref());
        let new_places = findings.iter().filter_map(|judged| judged.finding.new.as_ref());
        let wanted: Vec<String> =
            new_places.map(|place| place.pointer.clone()).chain(old_places.clone().map(there)).collect();
        let old_lines = Lines::find(&old.text, old_places.map(|place| place.pointer.as_str()));
        let new_lines = Lines::find(&new.text, wanted.iter().map(String::as_str));
        let entry = |judged: Judged| {
            let location = |place: &Place, source: &Source, lines: &Lines| Location {
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
            Reported { judged, old: old_at, new: new_at, shown }
        };
        let input = |source: &Source| Input {
            label: source.label.clone(),
            file: source.file.clone(),
            sha256: source.protocol.sha256.clone(),
        };
        let findings = findings.into_iter().map(entry).collect();
        Report { old: input(old), new: input(new), axes: axes.to_vec(), fail_on, findings, types, stale, notes }
    }

    /// Whether the run fails.
    pub(crate) fn fails(&self) -> bool {
        let stale = !self.stale.is_empty() && self.fail_on != FailOn::None;
        stale || self.findings.iter().any(|entry| self.fails_by(entry))
    }

    /// Whether the run fails by this finding.
    pub(crate) fn fails_by(&self, entry: &Reported) -> bool {
        entry.judged.suppressed.is_none() && self.fail_on.reached(entry.judged.severity)
    }

    /// How many findings there are of each kind.
    pub(crate) fn counts(&self) -> Counts {
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

    /// The findings that count, of one severity.
    pub(super) fn of(&self, severity: Verdict) -> impl Iterator<Item = &Reported> {
        let counts = move |entry: &&Reported| entry.judged.suppressed.is_none() && entry.judged.severity == severity;
        self.findings.iter().filter(counts)
    }

    /// The findings that do not count, each with the reason.
    pub(super) fn suppressed(&self) -> impl Iterator<Item = (&Reported, &Suppressed)> {
        self.findings.iter().filter_map(|entry| Some((entry, entry.judged.suppressed.as_ref()?)))
    }

    /// The two places of a finding, each with the name of its schema.
    pub(super) fn places<'a>(
        &'a self,
        entry: &'a Reported,
    ) -> impl DoubleEndedIterator<Item = (&'static str, &'a Input, &'a Location)> {
        let old = entry.old.as_ref().map(|at| ("old", &self.old, at));
        let new = entry.new.as_ref().map(|at| ("new", &self.new, at));
        [old, new].into_iter().flatten()
    }

    /// The verdicts on the axes looked at, in words: a version bump says more than whether it breaks.
    pub(super) fn verdicts(&self, entry: &Reported) -> String {
        let verdicts = &entry.judged.finding.verdicts;
        let word = |axis: &Axis| match axis {
            Axis::RustApi => format!("{axis}: {}", verdicts.rust_api),
            axis => format!("{axis}: {}", verdicts.on(*axis)),
        };
        self.axes.iter().map(word).collect::<Vec<_>>().join(", ")
    }
}

impl Location {
    /// The place in a line: `schema.json:7`.
    pub(super) fn in_words(&self, input: &Input) -> String {
        let name = self.file.as_ref().unwrap_or(&input.label);
        let name = if name == "-" { "standard input" } else { name };
        format!("{}:{}", visible(name), self.line)
    }
}

impl Counts {
    /// What is suppressed, and by what: empty if nothing is.
    pub(super) fn suppressed(self) -> String {
        let word = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
        let parts = [word(self.ignored, "ignored"), word(self.in_baseline, "in the baseline")];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The sides that send, in a list.
pub(super) fn sides(senders: Senders) -> Vec<&'static str> {
    let sides = [("client", senders.client), ("server", senders.server)];
    sides.into_iter().filter(|(_, sends)| *sends).map(|(side, _)| side).collect()
}

/// The pointer that all definitions begin with.
fn container(source: &Source) -> &'static str {
    let first = source.protocol.types.first();
    if first.is_some_and(|def| def.pointer.starts_with("/definitions/")) { "/definitions/" } else { "/$defs/" }
}
