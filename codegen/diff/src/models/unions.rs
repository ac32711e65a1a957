//! Compares two unions: matches their variants, and finds the variant that a reader selects.

use std::cmp::Reverse;

use mcpgen_model::{Content, Member, Protocol, Type};
use mcpgen_schema::json::Json;
use mcpgen_schema::text::{counted, listed};

use crate::models::difference::{Outcome, Site, definition};
use crate::models::evidence::Aim;
use crate::models::finding::excerpt;
use crate::models::guards::{DocumentFacts, Reached, reachable};
use crate::models::resolved::{Choice, Resolve, Resolved, types};
use crate::models::rules::Rule;
use crate::models::values::Values;
use crate::models::verdict::Verdict;
use crate::models::whole::Checks;

/// A type, and its variants if it is a union.
pub(super) type Operand<'a, 'p> = (&'a Type, Option<&'a Choice<'p>>);

/// The maximum number of members that describe a variant.
const MOST_NAMED: usize = 3;

/// Whether an old and a new variant match.
type Alike<'a> = &'a dyn Fn(&Type, &Type) -> bool;

impl<'p> Values<'p> {
    pub(super) fn unions(&self, old: Operand<'_, 'p>, new: Operand<'_, 'p>, site: &Site, outcome: &mut Outcome) {
        let variants = |(content, choice): Operand<'_, 'p>| {
            choice.map_or_else(|| vec![content.clone()], |choice| choice.variants.clone())
        };
        let (olds, news) = (variants(old), variants(new));
        let matches = self.matches(&olds, &news);
        let newly = |index: usize| matches.iter().find(|(old, _)| *old == index).map(|(_, new)| *new);
        let formerly = |index: usize| matches.iter().find(|(_, new)| *new == index).map(|(old, _)| *old);
        for (before, after) in &matches {
            self.expressions(&olds[*before], &news[*after], site, outcome);
        }
        for (index, variant) in news.iter().enumerate() {
            let former = formerly(index);
            if !self.taken((variant, index, new.1), false, old.1, &olds, former) {
                let words = self.words_of_variant(self.new, variant);
                let found = match former {
                    None => {
                        let words = words.strip_prefix("an object ").unwrap_or(&words);
                        outcome.add(site, Rule::UnionVariantAdded, &format!("has the new alternative {words}"))
                    }
                    Some(_) => outcome.say(site, Rule::UnionRedecidedByOld, misread("old", &words, site)),
                };
                (found.detail, found.aim) = about(self.new, variant);
            }
        }
        for (index, variant) in olds.iter().enumerate() {
            let counterpart = newly(index);
            if !self.taken((variant, index, old.1), true, new.1, &news, counterpart) {
                let words = self.words_of_variant(self.old, variant);
                let found = match counterpart {
                    None => {
                        let words = words.strip_prefix("an object ").unwrap_or(&words);
                        outcome.add(site, Rule::UnionVariantRemoved, &format!("no longer has the alternative {words}"))
                    }
                    Some(_) => outcome.say(site, Rule::UnionRedecidedByNew, misread("new", &words, site)),
                };
                (found.detail, found.aim) = about(self.old, variant);
            }
        }
    }

    /// Describes a variant. An object that has no name is described by what it requires, with constants, because others
    /// may have the same members.
    fn words_of_variant(&self, protocol: &Protocol, variant: &Type) -> String {
        let words = self.words(protocol, variant);
        let Resolved::Object(object) = protocol.resolved(variant) else { return words };
        let required: Vec<&Member> = object.members.iter().filter(|member| member.required).collect();
        if definition(protocol, variant).is_some() || required.is_empty() {
            return words;
        }
        let one = |member: &&Member| match &member.content {
            Content::Constant(value) => format!("{} {}", excerpt(&member.wire), excerpt(&value.to_string())),
            Content::Value(_) => excerpt(&member.wire),
        };
        let mut named: Vec<String> = required.iter().take(MOST_NAMED).map(one).collect();
        let more = required.len().saturating_sub(MOST_NAMED) as u64;
        named.extend((more > 0).then(|| counted(more, "other members")));
        format!("an object with {}", listed(&named))
    }

    /// Returns whether the reader selects the counterpart of the sender's variant, or a variant that accepts its
    /// documents.
    fn taken(
        &self,
        (content, index, choice): (&Type, usize, Option<&Choice<'p>>),
        from_old: bool,
        reader: Option<&Choice<'p>>,
        variants: &[Type],
        counterpart: Option<usize>,
    ) -> bool {
        let (sender, reading) = if from_old { (self.old, self.new) } else { (self.new, self.old) };
        let facts = DocumentFacts::of(choice.and_then(|choice| choice.decision), index);
        let possible = facts.iter().map(|facts| match reader {
            Some(reader) => reachable(reading, reader, sender, content, facts),
            None => (vec![Reached { variant: 0, without: Vec::new() }], false),
        });
        let fits = |Reached { variant, without }: Reached<'_>| {
            counterpart == Some(variant)
                || match from_old {
                    true => self.worst_without(content, &variants[variant], &without)[0] == Verdict::Compatible,
                    false => self.worst_without(&variants[variant], content, &without)[1] == Verdict::Compatible,
                }
        };
        possible.into_iter().all(|(reached, may_fail)| !may_fail && reached.into_iter().all(fits))
    }

    /// Matches the remaining objects by common members, those with the most first. Objects with too few do not match.
    fn by_likeness(&self, olds: &[Type], news: &[Type], matches: &mut Vec<(usize, usize)>) {
        let members = |protocol: &'p Protocol, content: &Type| match protocol.resolved(content) {
            Resolved::Object(object) => object.members.to_vec(),
            _ => Vec::new(),
        };
        let olds: Vec<Vec<Member>> = olds.iter().map(|content| members(self.old, content)).collect();
        let news: Vec<Vec<Member>> = news.iter().map(|content| members(self.new, content)).collect();
        let pairs = (0..olds.len()).flat_map(|old| (0..news.len()).map(move |new| (old, new)));
        let mut alike: Vec<(Likeness, (usize, usize))> =
            pairs.filter_map(|(old, new)| Some((shared(&olds[old], &news[new])?, (old, new)))).collect();
        alike.sort_by_key(|(likeness, pair)| (Reverse(*likeness), *pair));
        for (_, (old, new)) in alike {
            if !matches.iter().any(|(before, after)| *before == old || *after == new) {
                matches.push((old, new));
            }
        }
    }

    /// Matches the variants of two unions: by name, by tag, by JSON type, and by common members.
    fn matches(&self, olds: &[Type], news: &[Type]) -> Vec<(usize, usize)> {
        let mut matches: Vec<(usize, usize)> = Vec::new();
        let by_name = |old: &Type, new: &Type| {
            definition(self.old, old).is_some() && definition(self.old, old) == definition(self.new, new)
        };
        let by_tag = |old: &Type, new: &Type| {
            let (before, after) = (tags(self.old, old), tags(self.new, new));
            !before.is_empty()
                && before.iter().any(|tag| after.contains(tag))
                && before
                    .iter()
                    .all(|(name, value)| after.iter().all(|(other, theirs)| other != name || theirs == value))
        };
        let by_type = |old: &Type, new: &Type| {
            types(self.old, old, 0) == types(self.new, new, 0) && !matches!(self.old.resolved(old), Resolved::Object(_))
        };
        for alike in [&by_name as Alike<'_>, &by_tag, &by_type] {
            for (before, old) in olds.iter().enumerate() {
                let free = |new: &usize| !matches.iter().any(|(_, taken)| taken == new);
                if matches.iter().any(|(taken, _)| *taken == before) {
                    continue;
                }
                let candidates: Vec<usize> =
                    (0..news.len()).filter(free).filter(|after| alike(old, &news[*after])).collect();
                let only_one =
                    olds.iter().filter(|other| candidates.iter().any(|c| alike(other, &news[*c]))).count() == 1;
                if let ([after], true) = (candidates.as_slice(), only_one) {
                    matches.push((before, *after));
                }
            }
        }
        self.by_likeness(olds, news, &mut matches);
        // If a single variant remains on each side, and neither has a name, matches them to report their differences.
        let left = |all: &[Type], side: fn(&(usize, usize)) -> usize| -> Vec<usize> {
            (0..all.len()).filter(|index| !matches.iter().any(|pair| side(pair) == *index)).collect()
        };
        if let ([old], [new]) = (left(olds, |pair| pair.0).as_slice(), left(news, |pair| pair.1).as_slice())
            && definition(self.old, &olds[*old]).is_none()
            && definition(self.new, &news[*new]).is_none()
            && types(self.old, &olds[*old], 0) == types(self.new, &news[*new], 0)
        {
            matches.push((*old, *new));
        }
        matches.sort_unstable();
        matches
    }
}

/// Returns what identifies a variant: its name, and the documents that it accepts.
fn about(protocol: &Protocol, variant: &Type) -> (String, Option<Aim>) {
    (protocol.describe(variant), Some(Aim::Accepted(Checks::of(protocol, variant, false).0)))
}

fn misread(reader: &str, variant: &str, site: &Site) -> String {
    if variant == site.subject {
        return format!("the {reader} schema may pick the wrong alternative for {variant}");
    }
    format!("the {reader} schema may pick the wrong alternative of {} for {variant}", site.subject)
}

/// Returns how alike two structs are, or `None` if they cannot be versions of one struct.
fn shared(old: &[Member], new: &[Member]) -> Option<Likeness> {
    let constant = |member: &Member| match &member.content {
        Content::Constant(value) if member.required => Some(value.clone()),
        _ => None,
    };
    let pairs = old.iter().filter_map(|was| Some((was, new.iter().find(|is| is.wire == was.wire)?)));
    let shared = pairs.clone().count();
    let contrary = pairs.into_iter().any(|(was, is)| constant(was).zip(constant(is)).is_some_and(|(a, b)| a != b));
    let least = old.len().min(new.len());
    (!contrary && shared >= 2 && shared * 4 >= least * 3).then(|| {
        let all = old.len() + new.len() - shared;
        // In thousandths, because floats do not implement `Ord`.
        (shared * 1000 / least, shared * 1000 / all)
    })
}

/// The share of common members among the members of the smaller struct, and among all members of both.
type Likeness = (usize, usize);

/// Returns the required constants of a struct.
fn tags(protocol: &Protocol, content: &Type) -> Vec<(String, Json)> {
    let members = protocol.as_struct(content).map_or(&[][..], |body| body.members.as_slice());
    let tags = members.iter().filter(|member| member.required).filter_map(|member| match &member.content {
        Content::Constant(value) if member.wire != "jsonrpc" => Some((member.wire.clone(), value.clone())),
        _ => None,
    });
    tags.collect()
}
