//! Compares the checks that the shapes of types do not express. It compares them as a whole, by looking for values that
//! one schema accepts and the other refuses.

use std::collections::HashSet;
use std::rc::Rc;

use mcpgen_model::{Check, Protocol, Shape, Type};
use mcpgen_schema::text::listed;

use crate::models::difference::{Outcome, Site};
use crate::models::evidence::{Aim, Answer, Version, Versions};
use crate::models::limits::length_in_words;
use crate::models::resolved::{Resolve as _, Resolved};
use crate::models::rules::Rule;
use crate::models::values::Values;
use crate::models::verdict::Verdict;

/// The maximum number of cached pairs of types. It is low because a pair holds the checks of all types inside it.
const MOST_KEPT: usize = 32;

impl Values<'_> {
    /// Compares the checks of two types. Returns whether the comparison is complete.
    pub(super) fn checks(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) -> bool {
        let (was, is) = (self.old.checks_of(old), self.new.checks_of(new));
        let includes = |all: &[&Check], some: &[&Check]| some.iter().all(|check| all.contains(check));
        let subject = &site.subject;
        // An undecided union resolves to any JSON, so only its checks can be compared.
        let [was_undecided, is_undecided] = [(self.old, old), (self.new, new)].map(|(protocol, content)| {
            let shape = |id: &usize| matches!(protocol.types[*id].shape, Shape::Undecided(_));
            matches!(protocol.follow(content), Type::Named(id) if shape(id))
        });
        let one_of = |all: Vec<Vec<&str>>| all.iter().map(|names| listed(names)).collect::<Vec<_>>().join(" or ");
        let either = |checks: &[&Check]| alternatives(checks).map(one_of);
        if was_undecided != is_undecided {
            let message = match (either(&was), either(&is)) {
                (None, Some(names)) => match required_among(self.old, old, &is) {
                    Some(before) => format!("{subject} requires {names} instead of {before}"),
                    None => format!("{subject} requires {names}"),
                },
                (Some(names), None) => match required_among(self.new, new, &was) {
                    Some(after) => format!("{subject} requires {after} instead of {names}"),
                    None => format!("{subject} no longer requires {names}"),
                },
                _ => format!("the alternatives of {subject} differ"),
            };
            self.as_a_whole(old, new, message, site, outcome);
            return true;
        }
        if includes(&is, &was) && includes(&was, &is) && is_same_scope(&was, self.old, &is, self.new) {
            return was_undecided;
        }
        let message = match (words(&was, &is), words(&is, &was)) {
            (Some(old), Some(new)) => match (old.as_str(), new.as_str()) {
                // The checks read the same, but refer to definitions that differ.
                ("", "") => format!("the checks of {subject} differ"),
                ("", new) => format!("{subject} requires {new}"),
                (old, "") => format!("{subject} no longer requires {old}"),
                (old, new) => format!("{subject} requires {new} instead of {old}"),
            },
            _ => match (either(&was), either(&is)) {
                (Some(before), Some(after)) if before != after => {
                    format!("{subject} requires {after} instead of {before}")
                }
                (None, Some(after)) => format!("{subject} requires {after}"),
                (Some(before), None) => format!("{subject} no longer requires {before}"),
                _ => format!("the checks of {subject} differ"),
            },
        };
        self.as_a_whole(old, new, message, site, outcome) || was_undecided
    }

    /// Compares types as a whole, because their parts cannot be compared one by one. Returns whether they accept the
    /// same values.
    pub(super) fn as_a_whole(
        &self,
        old: &Type,
        new: &Type,
        message: String,
        site: &Site,
        outcome: &mut Outcome,
    ) -> bool {
        let answers = [Version::New, Version::Old].map(|reader| self.asked(reader, (old, new), None, false));
        let rule = rule_of(&answers);
        if let Some(rule) = rule {
            outcome.say(site, rule, message).known = Some(Box::new(answers));
        }
        rule.is_none()
    }

    /// Returns the verdict on what the other version sends to `reader`.
    pub(super) fn read_by(&self, reader: Version, types: (&Type, &Type), aim: Option<&Aim>) -> Answer {
        let answer = self.asked(reader, types, aim, false);
        if !self.has_64_bit_readers || answer.verdict == Verdict::Breaking {
            return answer;
        }
        // The only witness may be an integer that does not fit into the reader's type, so the comparison is repeated
        // with 64-bit limits.
        let of_types = self.asked(reader, types, aim, true);
        if of_types.verdict == Verdict::Breaking { of_types } else { answer }
    }

    /// Converts two types to checks. Caches the result, because several differences need the same pair.
    fn versions(&self, old: &Type, new: &Type, is_64_bit: bool) -> Rc<Versions> {
        let mut kept = self.as_checks.borrow_mut();
        if kept.len() >= MOST_KEPT {
            kept.clear();
        }
        let create = || Rc::new(Versions::of((self.old, old), (self.new, new), is_64_bit));
        kept.entry((old.clone(), new.clone(), is_64_bit)).or_insert_with(create).clone()
    }

    fn asked(&self, reader: Version, (old, new): (&Type, &Type), aim: Option<&Aim>, is_64_bit: bool) -> Answer {
        self.versions(old, new, is_64_bit).read_by(reader, aim, &self.effort)
    }
}

/// Returns the rule for values that are compared as a whole, given the verdicts from old to new and from new to old.
/// `None` if both are compatible.
pub(super) fn rule_of(answers: &[Answer; 2]) -> Option<Rule> {
    rule_of_whole(answers.each_ref().map(|it| it.verdict == Verdict::Compatible))
}

/// Returns the rule for values that are compared as a whole, given whether the new version accepts everything that the
/// old one accepts, and vice versa.
pub(super) fn rule_of_whole(accepts_all: [bool; 2]) -> Option<Rule> {
    match accepts_all {
        [true, true] => None,
        [true, false] => Some(Rule::CheckRemoved),
        [false, true] => Some(Rule::CheckAdded),
        [false, false] => Some(Rule::CheckChanged),
    }
}

/// Describes the checks that `others` lacks, or returns `None` if one of them is too complex for a sentence.
fn words(checks: &[&Check], others: &[&Check]) -> Option<String> {
    fn one(check: &Check) -> Option<String> {
        match check {
            Check::Pattern(pattern) => Some(format!("the pattern `{pattern}`")),
            Check::MultipleOf(unit) => Some(format!("a multiple of {unit}")),
            Check::MemberCount(length) => Some(length_in_words(length, "members")),
            Check::All(checks) => all(checks.iter()),
            _ => None,
        }
    }
    fn all<'c>(checks: impl Iterator<Item = &'c Check>) -> Option<String> {
        checks.map(one).collect::<Option<Vec<_>>>().map(|words| listed(&words))
    }
    all(checks.iter().copied().filter(|check| !others.contains(check)))
}

/// Returns whether the definitions that checks refer to are the same on both sides.
fn is_same_scope(old: &[&Check], before: &Protocol, new: &[&Check], after: &Protocol) -> bool {
    let mut names: Vec<&str> = Vec::new();
    old.iter().chain(new).for_each(|check| check.definitions(&mut names));
    let mut seen = HashSet::new();
    while let Some(name) = names.pop() {
        if !seen.insert(name) {
            continue;
        }
        let (was, is) = (before.checks.get(name), after.checks.get(name));
        match (was, is) {
            (Some(was), Some(is)) if was != is => return false,
            (None, None) => return false,
            (was, is) => was.into_iter().chain(is).for_each(|check| check.definitions(&mut names)),
        }
    }
    true
}

/// Lists the required members of an object, as far as an alternative in `checks` names them.
fn required_among(protocol: &Protocol, content: &Type, checks: &[&Check]) -> Option<String> {
    let Resolved::Object(object) = protocol.resolved(content) else { return None };
    let alternatives = alternatives(checks)?;
    let is_one = |name: &str| alternatives.iter().any(|names| names.contains(&name));
    let required = object.members.iter().filter(|member| member.required && is_one(&member.wire));
    let required: Vec<&str> = required.map(|member| member.wire.as_str()).collect();
    (!required.is_empty()).then(|| listed(&required))
}

/// Finds the first `Any` check in which each alternative requires members that not all of them require. Returns these
/// members by alternative.
fn alternatives<'c>(checks: &[&'c Check]) -> Option<Vec<Vec<&'c str>>> {
    fn required<'c>(check: &'c Check, names: &mut Vec<&'c str>) {
        match check {
            Check::Required(more) => names.extend(more.iter().map(String::as_str)),
            Check::All(checks) => checks.iter().for_each(|check| required(check, names)),
            _ => {}
        }
    }
    checks.iter().find_map(|check| match check {
        Check::All(checks) => alternatives(&checks.iter().collect::<Vec<_>>()),
        Check::Any(any) => {
            let all: Vec<Vec<&str>> = any
                .iter()
                .map(|check| {
                    let mut names = Vec::new();
                    required(check, &mut names);
                    names
                })
                .collect();
            let is_own = |name: &&str| !all.iter().all(|other| other.contains(name));
            let own = all.iter().map(|names| names.iter().copied().filter(is_own).collect::<Vec<_>>());
            let own: Vec<_> = own.collect();
            (!own.iter().any(Vec::is_empty)).then_some(own)
        }
        _ => None,
    })
}
