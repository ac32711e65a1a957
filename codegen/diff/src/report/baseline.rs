//! Baselines: lists of findings that are accepted.

use std::collections::BTreeMap;
use std::path::Path;

use mcpgen_schema::Error;
use mcpgen_schema::text::visible;

use crate::models::rules::RETIRED;
use crate::models::{Axis, Finding, Rule, Verdict};
use crate::report::judgement::{Judged, Judgement, Suppressed};

/// Accepted findings: the fingerprint, and the text after it in the file.
#[derive(Debug)]
pub struct Baseline {
    file: String,
    entries: BTreeMap<String, String>,
}

/// The beginning of a new baseline.
const HEADER: &str = "\
# Accepted findings of `mcpgen diff`, written by `--write-baseline`.
# The first word of a line identifies a finding. It stays the same when the finding moves.
";

/// A note names at most this many of the entries that match no finding.
const NAMED: usize = 5;

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Usage`] for a line that does not begin with a fingerprint.
    pub fn read(path: &Path) -> Result<Baseline, Error> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(Error::io("reading", path))?;
        let mut entries = BTreeMap::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
        {
            let (fingerprint, words) = line.split_once(' ').unwrap_or((line, ""));
            if fingerprint.len() != 16 || !fingerprint.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                let why = "expected a fingerprint of 16 hex digits; `--write-baseline` writes a new file";
                return Err(Error::Usage(format!("{file}:{}: {why}", at + 1)));
            }
            entries.insert(fingerprint.to_owned(), words.to_owned());
        }
        Ok(Baseline { file, entries })
    }

    /// Creates a baseline of the dangerous, unknown and breaking findings that are not ignored.
    pub fn of(path: &Path, findings: &[Judged]) -> Baseline {
        let entry = |judged: &Judged| {
            let Finding { rule, subject, detail, .. } = &judged.finding;
            let words = format!("{} {} {}", rule.id(), visible(subject), visible(detail));
            (judged.fingerprint.clone(), words.trim_end().to_owned())
        };
        let counts = |judged: &&Judged| judged.severity > Verdict::Compatible && judged.suppressed.is_none();
        Baseline { file: path.display().to_string(), entries: findings.iter().filter(counts).map(entry).collect() }
    }

    /// Suppresses the findings in the baseline that are not ignored. Adds a note about the entries that match no
    /// finding, if their rules concern these axes.
    pub fn suppress(&self, judgement: &mut Judgement, axes: &[Axis]) {
        let rule = |words: &str| Rule::ALL.iter().find(|rule| words.split(' ').next() == Some(rule.id()));
        let concerns = |words: &str| rule(words).is_none_or(|rule| rule.concerns(axes));
        let mut gone: BTreeMap<&String, &String> = self.entries.iter().filter(|(_, words)| concerns(words)).collect();
        for judged in &mut judgement.findings {
            let prints = [judged.fingerprint.clone()].into_iter().chain(judged.finding.former_fingerprints());
            for print in prints.filter(|print| self.entries.contains_key(print)) {
                gone.remove(&print);
                judged.suppressed.get_or_insert(Suppressed::InBaseline);
            }
            // When the baseline was written, there may have been so few items that each had a finding of its own.
            let mut is_accepted = !judged.finding.items.is_empty();
            for print in judged.finding.fingerprints_of_items() {
                gone.remove(&print);
                is_accepted &= self.entries.contains_key(&print);
            }
            if is_accepted {
                judged.suppressed.get_or_insert(Suppressed::InBaseline);
            }
        }
        for (name, successor) in RETIRED {
            if self.entries.values().any(|words| words.split(' ').next() == Some(name)) {
                let now = format!("{}: the rule `{name}` is now `{successor}`", self.file);
                judgement.notes.push(format!("{now}; `--write-baseline` writes a new file"));
            }
        }
        let name = |(print, words): (&&String, &&String)| format!("{print} {}", visible(words)).trim_end().to_owned();
        let mut names: Vec<String> = gone.iter().take(NAMED).map(name).collect();
        if gone.len() > NAMED {
            names.push(format!("and {} more", gone.len() - NAMED));
        }
        if !gone.is_empty() {
            let (file, count, all) = (&self.file, gone.len(), self.entries.len());
            let names = names.join("; ");
            judgement.notes.push(format!("{file}: {count} of {all} entries match no finding: {names}"));
        }
    }

    /// Returns the text of the file. It is sorted by rule and subject, so that it merges line by line.
    pub fn to_text(&self) -> String {
        let mut lines: Vec<(&String, &String)> = self.entries.iter().map(|(print, words)| (words, print)).collect();
        lines.sort();
        let lines: String = lines.iter().map(|(words, print)| format!("{print} {words}\n")).collect();
        format!("{HEADER}{lines}")
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::report::formats::tests::finding;
    use crate::report::policy::Policy;

    #[test]
    fn baselines_round_trip() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("baseline");
        let findings = || vec![finding(0, "A\nb", "1"), finding(1, "B", "\u{1b}"), finding(2, "C", "compatible")];
        let judge = |findings| Policy::default().judge(findings, &Axis::WIRE, date(2026, 1, 1));
        std::fs::write(&path, Baseline::of(&path, &judge(findings()).findings).to_text()).expect("written");
        let text = std::fs::read_to_string(&path).expect("text");
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 2, "{text}");

        let baseline = Baseline::read(&path).expect("a baseline");
        let mut judgement = judge(findings());
        baseline.suppress(&mut judgement, &Axis::WIRE);
        let suppressed: Vec<bool> = judgement.findings.iter().map(|judged| judged.suppressed.is_some()).collect();
        assert_eq!(suppressed, [true, true, false]);
        assert_eq!(judgement.notes, [""; 0]);
        let mut later = judge(vec![finding(0, "New", "")]);
        baseline.suppress(&mut later, &Axis::WIRE);
        assert_eq!(later.findings[0].suppressed, None);
        assert!(later.notes[0].contains("2 of 2 entries match no finding"), "{:?}", later.notes);
        // An entry that matches no finding is noted only if its rule concerns the axes.
        std::fs::write(&path, "0123456789abcdef secret-required A\n").expect("written");
        for (axes, notes) in [(&Axis::LISTS[..], 0), (&[Axis::Trust], 1)] {
            let mut judgement = judge(Vec::new());
            Baseline::read(&path).expect("a baseline").suppress(&mut judgement, axes);
            assert_eq!(judgement.notes.len(), notes, "{:?}", judgement.notes);
        }

        // A finding that was accepted under a former name of its rule.
        let changed = Finding { rule: Rule::CheckChanged, ..finding(0, "A", "x") };
        let former = changed.former_fingerprints().next().expect("a fingerprint");
        std::fs::write(&path, format!("{former} incomparable A x\n")).expect("written");
        let mut judgement = judge(vec![changed]);
        Baseline::read(&path).expect("a baseline").suppress(&mut judgement, &Axis::WIRE);
        assert_eq!(judgement.findings[0].suppressed, Some(Suppressed::InBaseline));
        assert!(judgement.notes[0].contains("`incomparable` is now `check-changed`"), "{:?}", judgement.notes);

        // Items that were accepted one by one, before there were so many that they became one finding.
        let names = ["file:///a", "file:///b"];
        let items = names.map(str::to_owned).to_vec();
        let many = Finding { rule: Rule::ResourceRemoved, items, ..finding(0, "resources", "digest") };
        for (accepted, expected) in [(&names[..], Some(Suppressed::InBaseline)), (&names[..1], None)] {
            let one = |name: &&str| Finding { rule: Rule::ResourceRemoved, ..finding(0, name, "") };
            let one_by_one = judge(accepted.iter().map(one).collect()).findings;
            let mut judgement = judge(vec![many.clone()]);
            Baseline::of(&path, &one_by_one).suppress(&mut judgement, &Axis::LISTS);
            assert_eq!(judgement.findings[0].suppressed, expected, "{accepted:?}");
            assert_eq!(judgement.notes, [""; 0]);
        }

        for bad in ["xyz", "0123456789ABCDEF x", "0123456789abcde", "<<<<<<< ours"] {
            std::fs::write(&path, format!("# fine\n\n{bad}\n")).expect("written");
            let error = Baseline::read(&path).expect_err(bad).to_string();
            assert!(error.contains("baseline:3: expected a fingerprint"), "{error}");
        }
    }
}
