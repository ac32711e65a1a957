//! The policy of a project: severities and ignores in `mcpgen.toml`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use mcpgen_schema::Error;
use mcpgen_schema::text::visible;
use serde::Deserialize;
use toml::Spanned;
use toml::value::Datetime;

use crate::models::rules::RETIRED;
use crate::models::{Axis, Finding, Rule, Verdict};
use crate::report::compared::Subject;
use crate::report::explain;
use crate::report::judgement::{Judged, Judgement, Suppressed};

/// The name of the file. It is in the current folder or a parent.
pub const FILE: &str = "mcpgen.toml";

/// The severities and ignores of a project.
#[derive(Debug, Default)]
pub struct Policy {
    /// The name of the file in messages.
    file: String,
    severity: BTreeMap<Rule, Verdict>,
    ignores: Vec<Ignore>,
    /// Notes about rules that were renamed.
    notes: Vec<String>,
}

/// Findings that are ignored.
#[derive(Debug)]
struct Ignore {
    line: usize,
    rule: Rule,
    subject: Option<String>,
    fingerprint: Option<String>,
    reason: String,
    /// The last day on which the ignore applies, if it expires.
    expires: Option<Date>,
}

impl Policy {
    /// Reads the policy from this file, or from the nearest `mcpgen.toml` in the current folder or a parent.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::Usage`] if the file is malformed.
    pub fn find(config: Option<&Path>, subject: Subject) -> Result<Policy, Error> {
        let (path, name) = match config {
            Some(path) => (path.to_owned(), path.display().to_string()),
            None => match nearest()? {
                Some(found) => found,
                None => return Ok(Policy::default()),
            },
        };
        let text = std::fs::read_to_string(&path).map_err(Error::io("reading", &name))?;
        Policy::parse(name, &text, subject)
    }

    /// Reads the text of a policy, and returns the part for the subject. Every name in it must be known.
    ///
    /// # Errors
    /// [`Error::Usage`], which names the place in the file.
    pub fn parse(file: impl Into<String>, text: &str, subject: Subject) -> Result<Policy, Error> {
        let file = file.into();
        let parsed: PolicyFile = toml::from_str(text).map_err(|error| Error::Usage(format!("{file}: {error}")))?;
        let PolicyFile { severity, ignore, lists } = parsed;
        let schemas = Policy::part(&file, text, PolicyPart { severity, ignore }, &Subject::Schemas.rules())?;
        let lists = Policy::part(&file, text, lists, &Subject::Lists.rules())?;
        Ok(if subject == Subject::Lists { lists } else { schemas })
    }

    fn part(file: &str, text: &str, part: PolicyPart, rules: &[Rule]) -> Result<Policy, Error> {
        let mut policy = Policy { file: file.to_owned(), ..Policy::default() };
        for (id, word) in part.severity {
            let id = policy.known(&format!("{}: severity", policy.file), &id, rules)?;
            let severity = Verdict::ALL.into_iter().find(|verdict| verdict.as_str() == word).ok_or_else(|| {
                let known = Verdict::ALL.map(Verdict::as_str).join(", ");
                Error::Usage(format!("{}: severity of `{id}`: {word:?} is not one of {known}", policy.file))
            })?;
            policy.severity.insert(id, severity);
        }
        for row in part.ignore {
            let line = 1 + text[..row.rule.span().start].matches('\n').count();
            let place = format!("{}:{line}: ignore", policy.file);
            let rule = policy.known(&place, row.rule.get_ref(), rules)?;
            if row.reason.trim().is_empty() {
                return Err(Error::Usage(format!("{place}: the reason is empty; write why the finding is accepted")));
            }
            let expires = row.expires.map(|date| day(&date)).transpose().map_err(|why| {
                Error::Usage(format!("{place}: expires: {why}; write a plain date, such as 2026-12-31"))
            })?;
            let IgnoreRow { subject, fingerprint, reason, .. } = row;
            policy.ignores.push(Ignore { line, rule, subject, fingerprint, reason, expires });
        }
        Ok(policy)
    }

    /// Returns the rule with this name, which may be a former one.
    fn known(&mut self, place: &str, id: &str, rules: &[Rule]) -> Result<Rule, Error> {
        if let Some(rule) = rules.iter().find(|rule| rule.id() == id) {
            return Ok(*rule);
        }
        match RETIRED.iter().find(|(name, _)| *name == id) {
            Some((name, successor)) => {
                self.notes.push(format!("{place}: the rule `{name}` is now `{successor}`"));
                Ok(*successor)
            }
            None => Err(Error::Usage(format!("{place}: {}", explain::unknown(id, rules)))),
        }
    }

    /// Sets the severity of the findings that concern these axes, and suppresses ignored ones.
    pub fn judge(&self, findings: Vec<Finding>, axes: &[Axis], today: Date) -> Judgement {
        let judge = |finding: Finding| {
            let fingerprint = finding.fingerprint();
            let severity = self.severity.get(&finding.rule).copied();
            let severity = severity.unwrap_or_else(|| finding.verdicts.worst(axes));
            let ignore = self.ignores.iter().find(|it| it.matches(&finding, &fingerprint) && !it.expired(today));
            let suppressed = ignore.map(|ignore| Suppressed::Ignored(ignore.reason.clone()));
            Judged { finding, fingerprint, severity, suppressed }
        };
        let concerned = findings.into_iter().filter(|finding| finding.rule.concerns(axes));
        let mut findings: Vec<Judged> = concerned.map(judge).collect();
        findings.sort_by_key(|judged| std::cmp::Reverse(judged.severity));
        let stale = self.ignores.iter().filter(|ignore| ignore.rule.concerns(axes)).filter_map(|ignore| {
            let matches = |judged: &Judged| ignore.matches(&judged.finding, &judged.fingerprint);
            let why = match ignore.expires {
                Some(date) if ignore.expired(today) => format!("expired after {date}; remove it or set a later date"),
                _ if !findings.iter().any(matches) => "matches no finding; remove it".to_owned(),
                _ => return None,
            };
            Some(format!("{}:{}: stale ignore of {}: it {why}", self.file, ignore.line, ignore.target()))
        });
        Judgement { stale: stale.collect(), findings, notes: self.notes.clone() }
    }
}

/// Returns the nearest policy file, and its name relative to the current folder.
fn nearest() -> Result<Option<(PathBuf, String)>, Error> {
    let here = std::env::current_dir().map_err(Error::io("finding", "."))?;
    let found = here.ancestors().enumerate().find(|(_, folder)| folder.join(FILE).exists());
    Ok(found.map(|(up, folder)| (folder.join(FILE), format!("{}{FILE}", "../".repeat(up)))))
}

/// The content of `mcpgen.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    #[serde(default)]
    severity: BTreeMap<String, String>,
    #[serde(default)]
    ignore: Vec<IgnoreRow>,
    /// The part for `mcpgen diff --tools`.
    #[serde(default)]
    lists: PolicyPart,
}

/// Severities and ignores.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyPart {
    #[serde(default)]
    severity: BTreeMap<String, String>,
    #[serde(default)]
    ignore: Vec<IgnoreRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IgnoreRow {
    rule: Spanned<String>,
    subject: Option<String>,
    fingerprint: Option<String>,
    reason: String,
    expires: Option<Datetime>,
}

fn day(date: &Datetime) -> Result<Date, String> {
    match (date.time, date.offset) {
        (None, None) => date.to_string().parse().map_err(|error: jiff::Error| error.to_string()),
        _ => Err(format!("{date} is not a plain date")),
    }
}

impl Ignore {
    fn matches(&self, finding: &Finding, fingerprint: &str) -> bool {
        self.rule == finding.rule
            && self.subject.as_ref().is_none_or(|subject| *subject == finding.subject)
            && self.fingerprint.as_ref().is_none_or(|expected| {
                expected == fingerprint || finding.former_fingerprints().any(|former| former == *expected)
            })
    }

    fn expired(&self, today: Date) -> bool {
        self.expires.is_some_and(|date| date < today)
    }

    fn target(&self) -> String {
        let parts = [self.subject.as_ref(), self.fingerprint.as_ref()].into_iter().flatten();
        let parts: String = parts.map(|part| format!(" {}", visible(part))).collect();
        format!("{}{parts}", self.rule)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::report::formats::tests::finding;

    fn policy(text: &str) -> Policy {
        Policy::parse("mcpgen.toml", text, Subject::Schemas).unwrap_or_else(|error| panic!("{text}\n{error}"))
    }

    #[test]
    fn rejects_malformed_policies() {
        let ignore = "[[ignore]]\nrule = \"documentation-changed\"\nreason = \"x\"\n";
        let cases: &[(&str, &[&str])] = &[
            (
                "[severity]\ndocumentation-chagned = \"breaking\"",
                &["documentation-chagned", "did you mean `documentation-changed`"],
            ),
            (
                "[severity]\ndocumentation-changed = \"fatal\"",
                &["documentation-changed", "\"fatal\"", "compatible, dangerous, unknown, breaking"],
            ),
            ("[severity]\ndocumentation-changed = 1", &["mcpgen.toml: ", "line 2"]),
            ("[severities]\n", &["unknown field `severities`", "line 1"]),
            (&format!("{ignore}until = 1"), &["unknown field `until`", "line 4"]),
            ("\n[[ignore]]\nrule = \"x\"\nreason = \"y\"", &["mcpgen.toml:3: ignore: there is no rule \"x\""]),
            ("[[ignore]]\nrule = \"documentation-changed\"", &["missing field `reason`"]),
            ("[[ignore]]\nreason = \"x\"", &["missing field `rule`"]),
            (
                "[[ignore]]\nrule = \"documentation-changed\"\nreason = \" \"",
                &["mcpgen.toml:2: ", "the reason is empty"],
            ),
            (&format!("{ignore}expires = \"2026-12-31\""), &["line 4", "expires"]),
            (&format!("{ignore}expires = 2026-12-31T00:00:00Z"), &["mcpgen.toml:2: ", "plain date"]),
            (&format!("{ignore}expires = 2026-02-30"), &["expires"]),
            ("severity = ", &["mcpgen.toml: "]),
        ];
        for (text, parts) in cases {
            let error = Policy::parse("mcpgen.toml", text, Subject::Schemas).expect_err(text).to_string();
            parts.iter().for_each(|part| assert!(error.contains(part), "{text}\n{error}\ndoes not contain {part}"));
        }
    }

    #[test]
    fn retired_rules_are_accepted() {
        let text = "[severity]\nincomparable = \"dangerous\"\n[[ignore]]\nrule = \"incomparable\"\nreason = \"r\"\n";
        let policy = Policy::parse("mcpgen.toml", text, Subject::Schemas).expect("a policy");
        assert_eq!(policy.severity.into_keys().collect::<Vec<_>>(), [Rule::CheckChanged]);
        assert_eq!(policy.ignores[0].rule, Rule::CheckChanged);
        let now = "the rule `incomparable` is now `check-changed`";
        assert_eq!(policy.notes, [format!("mcpgen.toml: severity: {now}"), format!("mcpgen.toml:4: ignore: {now}")]);
    }

    #[test]
    fn severities_replace_verdicts_on_every_axis() {
        let policy = policy("[severity]\ntype-changed = \"compatible\"\ndocumentation-changed = \"breaking\"\n");
        for axes in [&Axis::WIRE[..], &[Axis::RustApi]] {
            let findings = vec![finding(0, "a", ""), finding(1, "b", ""), finding(2, "c", "")];
            let judged = policy.judge(findings, axes, date(2026, 1, 1)).findings;
            let found: Vec<(&str, Verdict)> =
                judged.iter().map(|judged| (judged.finding.subject.as_str(), judged.severity)).collect();
            let own = if axes.len() == 2 { Verdict::Dangerous } else { Verdict::Compatible };
            assert_eq!(found.iter().find(|(subject, _)| *subject == "a"), Some(&("a", Verdict::Compatible)));
            assert_eq!(found.iter().find(|(subject, _)| *subject == "b"), Some(&("b", own)));
            assert_eq!(found[0], ("c", Verdict::Breaking));
        }
    }

    #[test]
    fn matches_and_expires_ignores() {
        let print = finding(0, "A.x", "1").fingerprint();
        // Further members of an ignore entry, the subjects that the entry suppresses, and why it is stale.
        let cases: &[(&str, &[&str], Option<&str>)] = &[
            ("", &["A.x", "A.x", "B"], None),
            ("subject = \"A.x\"", &["A.x", "A.x"], None),
            (&format!("fingerprint = \"{print}\""), &["A.x"], None),
            (&format!("subject = \"A.x\"\nfingerprint = \"{print}\""), &["A.x"], None),
            (&format!("subject = \"B\"\nfingerprint = \"{print}\""), &[], Some("matches no finding")),
            ("subject = \"A\"", &[], Some("matches no finding")),
            ("subject = \"B\"\nexpires = 2026-06-15", &["B"], None),
            ("subject = \"B\"\nexpires = 2026-06-14", &[], Some("expired after 2026-06-14")),
            ("subject = \"C\"\nexpires = 2026-06-14", &[], Some("expired after 2026-06-14")),
        ];
        for (members, ignored, stale) in cases {
            let policy = policy(&format!("\n[[ignore]]\nrule = \"type-changed\"\nreason = \"because\"\n{members}\n"));
            let findings =
                vec![finding(0, "A.x", "1"), finding(0, "A.x", "2"), finding(0, "B", ""), finding(1, "A.x", "1")];
            let judgement = policy.judge(findings, &Axis::WIRE, date(2026, 6, 15));
            let found: Vec<&str> = judgement
                .findings
                .iter()
                .filter(|judged| judged.suppressed == Some(Suppressed::Ignored("because".into())))
                .map(|judged| judged.finding.subject.as_str())
                .collect();
            assert_eq!(found, *ignored, "{members}");
            match stale {
                None => assert_eq!(judgement.stale, [""; 0], "{members}"),
                Some(why) => {
                    let [text] = judgement.stale.as_slice() else { panic!("{members}: {:?}", judgement.stale) };
                    assert!(text.starts_with("mcpgen.toml:3: stale ignore of type-changed"), "{text}");
                    assert!(text.contains(why), "{text}");
                }
            }
        }
    }
}
