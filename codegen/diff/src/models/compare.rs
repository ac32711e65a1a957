//! Pairs the types of two models, compares each pair once, and finds its senders.
//!
//! Two types are a pair if one replaces the other, whatever their names: in the params and results of a method, in a
//! member, or in matching variants of a union. Definitions that no method uses are compared by name, as if both sides
//! sent them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

use indexmap::IndexMap;
use mcpgen_model::{ErrorCode, MessageSet, Origin, Protocol, Shape, Type, TypeId};
use mcpgen_schema::Checks;
use mcpgen_schema::text::counted;

use crate::models::checks::{rule_of, rule_of_whole};
use crate::models::difference::{Difference, Outcome, Site, place};
use crate::models::evidence::{Answer, Effort, Evidence, Version, Versions};
use crate::models::finding::{Diff, Finding, Place, TypeVerdict};
use crate::models::rules::Rule;
use crate::models::senders::{Senders, Sending};
use crate::models::values::{Pair, Values};
use crate::models::verdict::{Axis, Verdict};
use crate::models::worst::worse;

/// Compares two models.
pub fn compare(old: &Protocol, new: &Protocol) -> Diff {
    let effort = Rc::default();
    let mut comparison = Comparison::new(old, new, &effort);
    comparison.methods();
    comparison.propagate_senders();
    comparison.reached_from_methods = comparison.pairs.keys().copied().collect();
    comparison.definitions();
    comparison.propagate_senders();
    comparison.error_codes();
    comparison.fixups();
    let mut diff = comparison.finish();
    diff.notes.extend(effort.note());
    diff
}

/// Compares two types and everything in them. Does not compare definitions by name, because names do not affect
/// documents.
pub(crate) fn compare_types(
    (old, from): (&Protocol, TypeId),
    (new, to): (&Protocol, TypeId),
    senders: Senders,
    effort: &Rc<Effort>,
) -> Vec<Finding> {
    let mut comparison = Comparison::new(old, new, effort);
    // Clients and servers in other languages accept all integers of a schema.
    comparison.values.has_64_bit_readers = false;
    comparison.compare_roots(&Type::Named(from), &Type::Named(to), senders, &new.types[to].name);
    comparison.propagate_senders();
    for (_, Paired { senders, outcome }) in std::mem::take(&mut comparison.pairs) {
        for difference in outcome.differences.into_iter().filter(|it| it.rule != Rule::TypeRenamedInUse) {
            comparison.push(difference, senders);
        }
    }
    comparison.merge();
    comparison.findings.retain(|it| it.rule != Rule::RustNameChanged);
    comparison.findings
}

/// Compares two schemas that have no models, as a whole. `None` if they are proved to accept the same documents.
pub(crate) fn compare_checks(
    old: Checks,
    new: Checks,
    senders: Senders,
    subject: &str,
    effort: &Effort,
) -> Option<Finding> {
    let versions = Versions::of_checks(old, new);
    let answers = [Version::New, Version::Old].map(|reader| versions.read_by(reader, None, effort));
    let root = Some(Place { pointer: String::new(), rust: None });
    let message = format!("the schemas of the {subject} differ");
    // If both directions are compatible, the rule depends on which of them is compatible only by convention.
    let proved = answers.each_ref().map(|it| it.evidence == Evidence::Proof);
    let rule = rule_of(&answers).or_else(|| rule_of_whole(proved))?;
    let difference = Site::of(subject, [root.clone(), root]).difference(rule, message);
    Some(finding(difference, answers, senders))
}

struct Paired {
    senders: Senders,
    outcome: Outcome,
}

pub(super) struct Comparison<'p> {
    pub(super) old: &'p Protocol,
    pub(super) new: &'p Protocol,
    values: Values<'p>,
    /// Who sends each message, in the old and in the new schema.
    pub(super) sending: [Sending; 2],
    /// The senders of the new schema's aliases. An alias has the senders of the types that use it.
    aliases: HashMap<TypeId, Senders>,
    pairs: IndexMap<Pair, Paired>,
    /// Pairs whose senders have not been propagated to their children yet.
    queue: Vec<Pair>,
    /// Pairs that methods use. Their senders are known, and definitions that are compared by name do not change them.
    reached_from_methods: HashSet<Pair>,
    findings: Vec<Finding>,
    /// The rules of added, removed and moved methods, by message set.
    pub(super) message_rules: HashMap<MessageSet, Vec<Rule>>,
    notes: Vec<String>,
}

impl<'p> Comparison<'p> {
    fn new(old: &'p Protocol, new: &'p Protocol, effort: &Rc<Effort>) -> Self {
        Comparison {
            old,
            new,
            values: Values::new(old, new, effort.clone()),
            sending: [old, new].map(Sending::of),
            aliases: HashMap::new(),
            pairs: IndexMap::new(),
            queue: Vec::new(),
            reached_from_methods: HashSet::new(),
            findings: Vec::new(),
            message_rules: HashMap::new(),
            notes: Vec::new(),
        }
    }

    /// Compares the types of a method.
    pub(super) fn compare_roots(&mut self, old: &Type, new: &Type, senders: Senders, method: &str) {
        let site = Site::of(method, [place_of(self.old, old), place_of(self.new, new)]);
        new.visit(&mut |id| self.use_alias(id, senders));
        let outcome = self.values.compare(old, new, &site);
        // Renamed types of a method are reported with the method.
        for difference in outcome.differences.into_iter().filter(|it| it.rule != Rule::TypeRenamedInUse) {
            self.push(difference, senders);
        }
        for (old, new, site) in outcome.children {
            self.visit((old, new), senders, &site);
        }
    }

    fn visit(&mut self, pair: Pair, senders: Senders, site: &Site) {
        match self.pairs.get_mut(&pair) {
            Some(_) if self.reached_from_methods.contains(&pair) => {}
            Some(paired) if paired.senders.and(senders) == paired.senders => {}
            Some(paired) => {
                paired.senders = paired.senders.and(senders);
                self.queue.push(pair);
            }
            None => {
                let outcome = self.values.compare_named(pair.0, pair.1, site);
                self.pairs.insert(pair, Paired { senders, outcome });
                self.queue.push(pair);
            }
        }
    }

    /// Propagates senders to all types that a type uses.
    fn propagate_senders(&mut self) {
        while let Some(pair) = self.queue.pop() {
            let Paired { senders, outcome } = &self.pairs[&pair];
            let (senders, children) = (*senders, outcome.children.clone());
            self.new.uses(pair.1).into_iter().for_each(|used| self.use_alias(used, senders));
            for (old, new, site) in children.into_iter().rev() {
                self.visit((old, new), senders, &site);
            }
        }
    }

    /// Adds the senders of a type to an alias that it uses, and to the aliases in that alias.
    fn use_alias(&mut self, id: TypeId, senders: Senders) {
        let mut used = vec![id];
        while let Some(id) = used.pop() {
            if matches!(self.new.types[id].shape, Shape::Alias(..)) {
                let known = self.aliases.entry(id).or_default();
                *known = known.and(senders);
                used.extend(self.new.uses(id));
            }
        }
    }

    /// Compares definitions by name: added, removed and renamed ones, and those that no method uses.
    fn definitions(&mut self) {
        let (olds, news) = (definitions(self.old), definitions(self.new));
        for (name, new) in &news {
            if let Some(old) = olds.get(name)
                && !self.pairs.contains_key(&(*old, *new))
            {
                let of_uses = self.aliases.get(new).copied().unwrap_or(Senders::BOTH);
                let senders = MessageSet::named(name).map_or(of_uses, |set| Senders::from(set.sender));
                let site = self.site_of(Some(*old), Some(*new));
                let outcome = self.values.compare(&Type::Named(*old), &Type::Named(*new), &site);
                for difference in outcome.differences {
                    self.push(difference, senders);
                }
                for (old, new, site) in outcome.children {
                    self.visit((old, new), senders, &site);
                }
            }
        }
        let mut added: IndexMap<&str, TypeId> =
            news.iter().filter(|(name, _)| !olds.contains_key(*name)).map(|(name, id)| (*name, *id)).collect();
        for (name, old) in olds.into_iter().filter(|(name, _)| !news.contains_key(*name)) {
            let heir = added.iter().find(|(_, new)| self.values.same(old, **new)).map(|(name, new)| (*name, *new));
            let (rule, new, detail, message) = match heir {
                Some((after, new)) => {
                    added.shift_remove(after);
                    (Rule::TypeRenamed, Some(new), after, format!("{name} was renamed to {after}"))
                }
                None => (Rule::TypeRemoved, None, "", format!("the definition {name} was removed")),
            };
            self.find_detail(rule, &self.site_of(Some(old), new), detail, message, Senders::default());
        }
        for (name, new) in added {
            let site = self.site_of(None, Some(new));
            self.find(Rule::TypeAdded, &site, format!("the definition {name} is new"), Senders::default());
        }
    }

    fn error_codes(&mut self) {
        // JSON-RPC defines these codes, so peers know them without the schema.
        let own = |error: &&ErrorCode| matches!(error.code, -32700 | -32603..=-32600);
        let codes = |protocol: &'p Protocol| {
            let codes = protocol.error_codes.iter().filter(|it| !own(it)).map(|it| (it.code, it.type_id));
            codes.collect::<BTreeMap<i64, TypeId>>().into_iter().collect()
        };
        for (code, was, is) in paired(codes(self.old), codes(self.new)) {
            let (rule, what) = match (was, is) {
                (None, _) => (Rule::ErrorCodeAdded, "is new"),
                (_, None) => (Rule::ErrorCodeRemoved, "was removed"),
                _ => continue,
            };
            let message = format!("the error code {code} {what}");
            self.find_detail(rule, &self.site_of(was, is), &code.to_string(), message, Senders::BOTH);
        }
    }

    /// Reports fixups that match only one of the schemas, and a changed era.
    fn fixups(&mut self) {
        for (protocol, label) in [(self.old, "old"), (self.new, "new")] {
            let idle = protocol.fixups.iter().filter(|applied| applied.pointers.is_empty());
            let idle: Vec<&str> = idle.map(|applied| applied.name).collect();
            // No fixup matches a schema that does not come from MCP.
            if !idle.is_empty() && idle.len() < protocol.fixups.len() {
                self.notes.push(format!("{label}: fixups that did not match: {}", idle.join(", ")));
            }
        }
        let (old, new) = (self.old, self.new);
        for before in &old.fixups {
            let Some(after) = new.fixups.iter().find(|after| after.name == before.name) else { continue };
            let (needed, needs) = (before.pointers.first(), after.pointers.first());
            if needed.is_some() == needs.is_some() {
                continue;
            }
            let there = |pointer: Option<&String>| pointer.map(|it| Place { pointer: it.clone(), rust: None });
            let site = Site::of(before.name, [there(needed), there(needs)]);
            let (has, lacks) = if needed.is_some() { ("old", "new") } else { ("new", "old") };
            let message = format!("the {has} schema has a defect that the {lacks} one does not have: {}", before.name);
            self.find(Rule::FixupDiffers, &site, message, Senders::default());
        }
        if old.era != new.era {
            self.notes.push(format!("the era changes from {} to {}", old.era.as_str(), new.era.as_str()));
        }
    }

    fn finish(mut self) -> Diff {
        let types = self.type_verdicts();
        for (_, Paired { senders, outcome }) in std::mem::take(&mut self.pairs) {
            for difference in outcome.differences {
                self.push(difference, senders);
            }
        }
        self.envelope();
        self.merge();
        self.findings.sort_by_key(|it| std::cmp::Reverse((it.verdicts.worst(&Axis::WIRE), it.verdicts.rust_api)));
        Diff { findings: self.findings, types, notes: self.notes }
    }

    /// Merges findings that were reached in several ways.
    fn merge(&mut self) {
        let mut merged: IndexMap<(Rule, String, String), Finding> = IndexMap::new();
        for finding in std::mem::take(&mut self.findings) {
            let key = (finding.rule, finding.subject.clone(), finding.detail.clone());
            match merged.get_mut(&key) {
                None => {
                    merged.insert(key, finding);
                }
                Some(first) => first.merge(finding),
            }
        }
        self.findings = merged.into_values().collect();
    }

    /// Merges the findings of all messages whose definitions gain or lose the members of the envelope.
    fn envelope(&mut self) {
        for (rule, words) in
            [(Rule::EnvelopeStated, "gained `jsonrpc` and `id`"), (Rule::EnvelopeUnstated, "lost `jsonrpc` and `id`")]
        {
            let all: Vec<Finding> = self.findings.extract_if(.., |it| it.rule == rule).collect();
            let owners: BTreeSet<&str> = all.iter().filter_map(|it| it.subject.split('.').next()).collect();
            if let Some(first) = all.first() {
                let messages = counted(owners.len() as u64, "messages");
                let message = format!("{messages} {words}, such as {}", first.subject);
                let senders = all.iter().fold(Senders::default(), |so_far, it| so_far.and(it.senders));
                let (subject, detail) = ("messages".to_owned(), String::new());
                self.findings.push(Finding { subject, detail, message, senders, ..first.clone() });
            }
        }
    }

    /// Returns the verdicts on the definitions that both schemas have, including everything in them.
    fn type_verdicts(&self) -> Vec<TypeVerdict> {
        let olds = definitions(self.old);
        let both = definitions(self.new).into_iter().filter_map(|(name, new)| Some((name, *olds.get(name)?, new)));
        both.map(|(name, old, new)| {
            let mut verdict = self.values.worst(&Type::Named(old), &Type::Named(new));
            let rules = MessageSet::named(name).and_then(|set| self.message_rules.get(&set));
            for rule in rules.into_iter().flatten() {
                verdict = worse(verdict, rule.both_ways());
            }
            let senders = self.pairs.get(&(old, new)).map_or(Senders::BOTH, |paired| paired.senders);
            let [old_to_new, new_to_old] = verdict;
            TypeVerdict { name: name.to_owned(), senders, old_to_new, new_to_old }
        })
        .collect()
    }

    pub(super) fn find(&mut self, rule: Rule, site: &Site, message: String, senders: Senders) {
        self.find_detail(rule, site, "", message, senders);
    }

    fn find_detail(&mut self, rule: Rule, site: &Site, detail: &str, message: String, senders: Senders) {
        let answer = |verdict: Verdict| {
            let is_shown = matches!(verdict, Verdict::Compatible | Verdict::Breaking);
            Answer::new(verdict, if is_shown { Evidence::Message } else { Evidence::None })
        };
        let known = Some(Box::new(rule.both_ways().map(answer)));
        let difference = Difference { known, detail: detail.to_owned(), ..site.difference(rule, message) };
        self.push(difference, senders);
    }

    fn push(&mut self, difference: Difference, senders: Senders) {
        let answers = self.answers(&difference, senders);
        self.findings.push(finding(difference, answers, senders));
    }

    /// Returns the verdicts on documents from old to new and from new to old. A rule calls a difference breaking if it
    /// can break documents; the evidence shows whether this one does.
    fn answers(&self, difference: &Difference, senders: Senders) -> [Answer; 2] {
        if let Some(known) = &difference.known {
            return (**known).clone();
        }
        let [to_new, to_old] = difference.rule.both_ways();
        [(Version::New, to_new), (Version::Old, to_old)].map(|(reader, verdict)| {
            let evidence = match (verdict, &difference.values) {
                (Verdict::Breaking, Some((old, new))) if !senders.is_empty() => {
                    return self.values.read_by(reader, (old, new), difference.aim.as_ref());
                }
                (Verdict::Breaking, None) => Evidence::Message,
                (Verdict::Compatible, _) if difference.by_convention == Some(reader) => Evidence::Convention,
                (Verdict::Compatible, _) => Evidence::Proof,
                _ => Evidence::None,
            };
            Answer::new(verdict, evidence)
        })
    }

    fn site_of(&self, old: Option<TypeId>, new: Option<TypeId>) -> Site {
        let name = match (old, new) {
            (_, Some(new)) => &self.new.types[new].name,
            (Some(old), None) => &self.old.types[old].name,
            (None, None) => "",
        };
        Site::of(name, [old.map(|id| place(self.old, id)), new.map(|id| place(self.new, id))])
    }
}

fn finding(difference: Difference, [forward, back]: [Answer; 2], senders: Senders) -> Finding {
    let Difference { rule, subject, detail, message, old, new, .. } = difference;
    let verdicts = senders.verdicts(forward.verdict, back.verdict, rule.rust_api());
    let worst = forward.verdict.max(back.verdict);
    let evidence = [&forward, &back].into_iter().filter(|it| it.verdict == worst).map(|it| it.evidence).max();
    // What nobody sends breaks nobody, for example a message that is only embedded in others.
    let evidence = evidence.filter(|_| !senders.is_empty()).unwrap_or(Evidence::Proof);
    let is_convention = |(_, answer): &(_, &Answer)| answer.evidence == Evidence::Convention;
    let answers = [(Version::New, &forward), (Version::Old, &back)].into_iter();
    let by_convention = answers.filter(is_convention).map(|(reader, _)| reader).collect();
    let undecided = forward.unknown.or(back.unknown).map(|reason| reason.to_string());
    let witnesses = [forward.witness, back.witness].into_iter().flatten().collect();
    Finding {
        rule,
        senders,
        verdicts,
        evidence,
        by_convention,
        witnesses,
        undecided,
        subject,
        detail,
        items: Vec::new(),
        message,
        old,
        new,
    }
}

pub(super) fn place_of(protocol: &Protocol, content: &Type) -> Option<Place> {
    match content {
        Type::Named(id) => Some(place(protocol, *id)),
        Type::List(inner) | Type::Map(inner) | Type::Nullable(inner) => place_of(protocol, inner),
        _ => None,
    }
}

fn definitions(protocol: &Protocol) -> IndexMap<&str, TypeId> {
    let all = protocol.types.iter().enumerate();
    all.filter(|(_, def)| def.origin == Origin::Definition).map(|(id, def)| (def.name.as_str(), id)).collect()
}

/// Pairs the entries of both sides by key. Those that only the old side has come last.
pub(super) fn paired<K: Copy + Eq + Hash, T: Copy>(
    old: IndexMap<K, T>,
    new: IndexMap<K, T>,
) -> impl Iterator<Item = (K, Option<T>, Option<T>)> {
    let all: Vec<_> = new.iter().map(|(key, is)| (*key, old.get(key).copied(), Some(*is))).collect();
    let gone = old.into_iter().filter(move |(key, _)| !new.contains_key(key));
    all.into_iter().chain(gone.map(|(key, was)| (key, Some(was), None)))
}
