//! Pairs the types of two models, compares each pair once, and finds its senders.
//!
//! Two types are a pair if one replaces the other, whatever their names: in the params and results of a method, in a
//! member, or in matching variants of a union. Definitions that no method uses are compared by name, as if both sides
//! sent them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;
use mcpgen_model::{ErrorCode, MessageKind, MessageSet, Origin, Protocol, Shape, Side, Type, TypeId};
use mcpgen_schema::text::counted;

use crate::models::difference::{Difference, Outcome, Site, place};
use crate::models::evidence::{Evidence, Judged, Version};
use crate::models::finding::{Diff, Finding, Place, TypeVerdict};
use crate::models::rules::{self, Rule};
use crate::models::senders::{Senders, Sending};
use crate::models::values::Values;
use crate::models::verdict::{Axis, Verdict};

/// Compares two models.
pub fn compare(old: &Protocol, new: &Protocol) -> Diff {
    let mut comparison = Comparison::new(old, new);
    comparison.methods();
    comparison.propagate_senders();
    comparison.reached_from_methods = comparison.pairs.keys().copied().collect();
    comparison.definitions();
    comparison.propagate_senders();
    comparison.error_codes();
    comparison.fixups();
    comparison.finish()
}

/// Compares two types and everything in them. Finds no definitions, because their names do not affect documents.
pub(crate) fn compare_types(
    (old, from): (&Protocol, TypeId),
    (new, to): (&Protocol, TypeId),
    senders: Senders,
) -> Vec<Finding> {
    let mut comparison = Comparison::new(old, new);
    // Clients and servers in other languages accept all integers of a schema.
    comparison.values.has_64_bit_readers = false;
    comparison.compare_roots(&Type::Named(from), &Type::Named(to), senders, &new.types[to].name);
    comparison.propagate_senders();
    for (_, Paired { senders, outcome }) in std::mem::take(&mut comparison.pairs) {
        for difference in outcome.differences.into_iter().filter(|it| it.rule.id != rules::TYPE_RENAMED_IN_USE.id) {
            comparison.push(difference, senders);
        }
    }
    comparison.merge();
    comparison.findings
}

type Pair = (TypeId, TypeId);

struct Paired {
    senders: Senders,
    outcome: Outcome,
}

struct Comparison<'p> {
    old: &'p Protocol,
    new: &'p Protocol,
    values: Values<'p>,
    /// Who sends the messages of both schemas.
    sending: [Sending; 2],
    /// The senders of the new schema's aliases, which are those of the types that use them.
    aliases: HashMap<TypeId, Senders>,
    pairs: IndexMap<Pair, Paired>,
    /// Pairs whose senders are not propagated to their children yet.
    queue: Vec<Pair>,
    /// Pairs that methods use. Their senders are known, and definitions that are compared by name do not change them.
    reached_from_methods: HashSet<Pair>,
    findings: Vec<Finding>,
    /// The rules of added, removed and moved methods, by message set.
    message_rules: HashMap<MessageSet, Vec<&'static Rule>>,
    notes: Vec<String>,
}

impl<'p> Comparison<'p> {
    fn new(old: &'p Protocol, new: &'p Protocol) -> Self {
        Comparison {
            old,
            new,
            values: Values::new(old, new),
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

    fn methods(&mut self) {
        let requests = |protocol: &'p Protocol| protocol.requests.iter().map(|it| (it.method.as_str(), it)).collect();
        let (olds, news): (IndexMap<&str, _>, IndexMap<&str, _>) = (requests(self.old), requests(self.new));
        for (method, new) in &news {
            let old = olds.get(method);
            let callers = self.method(method, MessageKind::Request, old.map(|old| old.type_id), Some(new.type_id));
            let Some(old) = old else { continue };
            self.compare_roots(&Type::Named(old.type_id), &Type::Named(new.type_id), callers, method);
            let receivers = Senders { client: callers.server, server: callers.client };
            self.results(method, receivers, (&old.result, &new.result));
            let results = (old.task_result.as_ref(), new.task_result.as_ref());
            self.task_results(method, receivers, results, new.type_id);
        }
        for (method, old) in olds.iter().filter(|(method, _)| !news.contains_key(*method)) {
            self.method(method, MessageKind::Request, Some(old.type_id), None);
        }
        let notifications =
            |protocol: &'p Protocol| protocol.notifications.iter().map(|it| (it.method.as_str(), it.type_id)).collect();
        let (olds, news): (IndexMap<&str, _>, IndexMap<&str, _>) = (notifications(self.old), notifications(self.new));
        for (method, new) in &news {
            let old = olds.get(method).copied();
            let senders = self.method(method, MessageKind::Notification, old, Some(*new));
            if let Some(old) = old {
                self.compare_roots(&Type::Named(old), &Type::Named(*new), senders, method);
            }
        }
        for (method, old) in olds.iter().filter(|(method, _)| !news.contains_key(*method)) {
            self.method(method, MessageKind::Notification, Some(*old), None);
        }
    }

    /// Compares the existence and the senders of a method. Returns its senders in either schema. If neither schema says who
    /// sends it, both sides may.
    fn method(&mut self, method: &str, kind: MessageKind, old: Option<TypeId>, new: Option<TypeId>) -> Senders {
        let sides = [(old, &self.sending[0]), (new, &self.sending[1])]
            .map(|(id, sending)| id.map(|id| sending.known(id).map(<[Side]>::to_vec)));
        let declared = sides.iter().flatten().flatten().next().cloned();
        let is_unknown = declared.is_none();
        let either = declared.unwrap_or_else(|| vec![Side::Client, Side::Server]);
        let [was, is] = sides.map(|side| side.map(|known| known.unwrap_or_else(|| either.clone())));
        let senders = [&was, &is].into_iter().flatten().fold(Senders::default(), |all, it| all.and(Senders::of(it)));
        let site = Site {
            subject: method.to_owned(),
            old: old.map(|id| place(self.old, id)),
            new: new.map(|id| place(self.new, id)),
            ..Site::nowhere()
        };
        if let Some((rule, sides, message)) = moved(method, kind, (was, is), is_unknown) {
            for side in &sides {
                self.message_rules.entry(MessageSet { sender: *side, kind }).or_default().push(rule);
            }
            self.find(rule, &site, "", message, Senders::of(&sides));
        }
        senders
    }

    fn results(&mut self, method: &str, receivers: Senders, (old, new): (&'p Type, &'p Type)) {
        self.compare_roots(old, new, receivers, method);
        let (before, after) = (self.old.describe(old), self.new.describe(new));
        if before != after {
            let site = Site {
                subject: method.to_owned(),
                old: self.place_of(self.old, old),
                new: self.place_of(self.new, new),
                ..Site::nowhere()
            };
            let message = format!("the result of `{method}` is {after} instead of {before}");
            self.find(&rules::RESULT_TYPE_CHANGED, &site, "", message, receivers);
        }
    }

    fn task_results(
        &mut self,
        method: &str,
        receivers: Senders,
        (old, new): (Option<&'p Type>, Option<&'p Type>),
        request: TypeId,
    ) {
        let site = |place: Option<Place>, other: Option<Place>| Site {
            subject: method.to_owned(),
            old: place,
            new: other,
            ..Site::nowhere()
        };
        let here = place(self.new, request);
        match (old, new) {
            (Some(old), Some(new)) => self.compare_roots(old, new, receivers, method),
            (None, Some(new)) => {
                let site = site(None, self.place_of(self.new, new).or(Some(here)));
                let message =
                    format!("the result of `{method}` may be {} if the params have `task`", self.new.describe(new));
                self.find(&rules::TASK_RESULT_ADDED, &site, "", message, receivers);
            }
            (Some(old), None) => {
                let site = site(self.place_of(self.old, old), Some(here));
                let message = format!("the result of `{method}` is no longer {}", self.old.describe(old));
                self.find(&rules::TASK_RESULT_REMOVED, &site, "", message, receivers);
            }
            (None, None) => {}
        }
    }

    /// Compares the types of a method.
    fn compare_roots(&mut self, old: &Type, new: &Type, senders: Senders, method: &str) {
        let (was, is) = (self.place_of(self.old, old), self.place_of(self.new, new));
        let site = Site { subject: method.to_owned(), old: was, new: is, ..Site::nowhere() };
        new.visit(&mut |id| self.use_alias(id, senders));
        let outcome = self.values.compare(old, new, &site);
        // Renamed types of a method are reported with the method.
        for difference in outcome.differences.into_iter().filter(|it| it.rule.id != rules::TYPE_RENAMED_IN_USE.id) {
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

    /// Adds the senders of a type that uses an alias.
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
        let removed = olds.iter().filter(|(name, _)| !news.contains_key(*name));
        let mut added: IndexMap<&str, TypeId> =
            news.iter().filter(|(name, _)| !olds.contains_key(*name)).map(|(name, id)| (*name, *id)).collect();
        for (name, old) in removed {
            let heir = added.iter().find(|(_, new)| self.values.same(*old, **new)).map(|(name, new)| (*name, *new));
            match heir {
                Some((after, new)) => {
                    added.shift_remove(after);
                    let message = format!("{name} was renamed to {after}");
                    self.find(
                        &rules::TYPE_RENAMED,
                        &self.site_of(Some(*old), Some(new)),
                        after,
                        message,
                        Senders::default(),
                    );
                }
                None => {
                    let message = format!("the definition {name} was removed");
                    self.find(&rules::TYPE_REMOVED, &self.site_of(Some(*old), None), "", message, Senders::default());
                }
            }
        }
        for (name, new) in added {
            let message = format!("the definition {name} is new");
            self.find(&rules::TYPE_ADDED, &self.site_of(None, Some(new)), "", message, Senders::default());
        }
    }

    fn error_codes(&mut self) {
        // The codes of JSON-RPC are known without the schema.
        let own = |error: &&ErrorCode| matches!(error.code, -32700 | -32603..=-32600);
        let codes = |protocol: &'p Protocol| {
            protocol.error_codes.iter().filter(|it| !own(it)).map(|it| (it.code, it)).collect()
        };
        let (olds, news): (BTreeMap<i64, &ErrorCode>, BTreeMap<i64, &ErrorCode>) = (codes(self.old), codes(self.new));
        for (code, error) in news.iter().filter(|(code, _)| !olds.contains_key(code)) {
            let site = self.site_of(None, Some(error.type_id));
            let message = format!("the error code {code} is new");
            self.find(&rules::ERROR_CODE_ADDED, &site, &code.to_string(), message, Senders::BOTH);
        }
        for (code, error) in olds.iter().filter(|(code, _)| !news.contains_key(code)) {
            let site = self.site_of(Some(error.type_id), None);
            let message = format!("the error code {code} was removed");
            self.find(&rules::ERROR_CODE_REMOVED, &site, &code.to_string(), message, Senders::BOTH);
        }
    }

    /// Reports fixups that match only one of the schemas.
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
            let site =
                Site { subject: before.name.to_owned(), old: there(needed), new: there(needs), ..Site::nowhere() };
            let (has, lacks) = if needed.is_some() { ("old", "new") } else { ("new", "old") };
            let message = format!("the {has} schema has a defect that the {lacks} one does not have: {}", before.name);
            self.find(&rules::FIXUP_DIFFERS, &site, "", message, Senders::default());
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
        let mut merged: IndexMap<(&str, String, String), Finding> = IndexMap::new();
        for finding in std::mem::take(&mut self.findings) {
            let key = (finding.rule.id, finding.subject.clone(), finding.detail.clone());
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
        for (rule, words) in [
            (&rules::ENVELOPE_STATED, "gained `jsonrpc` and `id`"),
            (&rules::ENVELOPE_UNSTATED, "lost `jsonrpc` and `id`"),
        ] {
            let all: Vec<Finding> = self.findings.extract_if(.., |it| it.rule.id == rule.id).collect();
            let owners: BTreeSet<&str> = all.iter().filter_map(|it| it.subject.split('.').next()).collect();
            if let Some(first) = all.first() {
                let messages = counted(owners.len() as u64, "messages");
                let message = format!("{messages} {words}, such as {}", first.subject);
                let senders = all.iter().fold(Senders::default(), |so_far, it| so_far.and(it.senders));
                let verdicts = first.verdicts;
                let subject = "messages".to_owned();
                self.findings.push(Finding {
                    subject,
                    detail: String::new(),
                    message,
                    senders,
                    verdicts,
                    ..first.clone()
                });
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
                verdict = (verdict.0.max(rule.old_to_new), verdict.1.max(rule.new_to_old));
            }
            let senders = self.pairs.get(&(old, new)).map_or(Senders::BOTH, |paired| paired.senders);
            TypeVerdict { name: name.to_owned(), senders, old_to_new: verdict.0, new_to_old: verdict.1 }
        })
        .collect()
    }

    fn find(&mut self, rule: &'static Rule, site: &Site, detail: &str, message: String, senders: Senders) {
        let judged = |verdict: Verdict| {
            let is_shown = matches!(verdict, Verdict::Compatible | Verdict::Breaking);
            Judged::new(verdict, if is_shown { Evidence::Message } else { Evidence::None })
        };
        let known = Some(Box::new([judged(rule.old_to_new), judged(rule.new_to_old)]));
        self.push(Difference { known, ..site.difference(rule, detail, message) }, senders);
    }

    fn push(&mut self, difference: Difference, senders: Senders) {
        let [forward, back] = self.judged(&difference, senders);
        let Difference { rule, subject, detail, message, old, new, .. } = difference;
        let verdicts = senders.verdicts(forward.verdict, back.verdict, rule.rust_api);
        let worst = forward.verdict.max(back.verdict);
        let evidence = [&forward, &back].into_iter().filter(|it| it.verdict == worst).map(|it| it.evidence).max();
        // Nobody sends an embedded message by itself.
        let evidence = evidence.filter(|_| !senders.is_empty()).unwrap_or(Evidence::Proof);
        let undecided = forward.unknown.or(back.unknown).map(|reason| reason.to_string());
        let witnesses = [forward.witness, back.witness].into_iter().flatten().collect();
        let finding =
            Finding { rule, senders, verdicts, evidence, witnesses, undecided, subject, detail, message, old, new };
        self.findings.push(finding);
    }

    /// Returns the verdicts on documents from old to new and from new to old. A rule calls a difference breaking if it
    /// can break documents; the evidence shows whether this one does.
    fn judged(&self, difference: &Difference, senders: Senders) -> [Judged; 2] {
        let rule = difference.rule;
        if let Some(known) = &difference.known {
            return (**known).clone();
        }
        [(Version::New, rule.old_to_new), (Version::Old, rule.new_to_old)].map(|(reader, verdict)| {
            let evidence = match (verdict, &difference.values) {
                (Verdict::Breaking, Some((old, new))) if !senders.is_empty() => {
                    return self.values.read_by(reader, (old, new), difference.aim.as_ref());
                }
                (Verdict::Breaking, None) => Evidence::Message,
                (Verdict::Compatible, _) if difference.is_convention => Evidence::Convention,
                (Verdict::Compatible, _) => Evidence::Proof,
                _ => Evidence::None,
            };
            Judged::new(verdict, evidence)
        })
    }

    fn site_of(&self, old: Option<TypeId>, new: Option<TypeId>) -> Site {
        let name = match (old, new) {
            (_, Some(new)) => &self.new.types[new].name,
            (Some(old), None) => &self.old.types[old].name,
            (None, None) => "",
        };
        Site {
            subject: name.to_owned(),
            old: old.map(|id| place(self.old, id)),
            new: new.map(|id| place(self.new, id)),
            ..Site::nowhere()
        }
    }

    fn place_of(&self, protocol: &Protocol, content: &Type) -> Option<Place> {
        match content {
            Type::Named(id) => Some(place(protocol, *id)),
            Type::List(inner) | Type::Map(inner) | Type::Nullable(inner) => self.place_of(protocol, inner),
            _ => None,
        }
    }
}

/// Returns the rule for a message whose senders changed, with the sides that it concerns.
fn moved(
    method: &str,
    kind: MessageKind,
    (old, new): (Option<Vec<Side>>, Option<Vec<Side>>),
    is_unknown: bool,
) -> Option<(&'static Rule, Vec<Side>, String)> {
    let (what, rules) = (kind.as_str(), MethodRules::of(kind));
    let (was, is) = (old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default());
    let lost: Vec<Side> = was.iter().copied().filter(|side| !is.contains(side)).collect();
    let gained: Vec<Side> = is.iter().copied().filter(|side| !was.contains(side)).collect();
    let embedded = |there: &Option<Vec<Side>>| there.as_ref().is_some_and(Vec::is_empty);
    Some(match (lost.as_slice(), gained.as_slice()) {
        ([], []) if old.is_some() && new.is_some() => return None,
        ([], []) if old.is_none() => (rules.added, vec![], format!("the embedded {what} `{method}` is new")),
        ([], []) => (rules.removed, vec![], format!("the embedded {what} `{method}` was removed")),
        ([], _) if is_unknown => (rules.added, gained, format!("the {what} `{method}` is new")),
        (_, []) if is_unknown => (rules.removed, lost, format!("the {what} `{method}` was removed")),
        ([], _) if embedded(&old) => {
            (rules.unembedded, gained, format!("the {what} `{method}` is no longer embedded in other messages"))
        }
        (_, []) if embedded(&new) => {
            (rules.embedded, lost, format!("the {what} `{method}` is now embedded in other messages"))
        }
        ([], _) => {
            let (who, sends) = (sides_in_words(&gained), if gained.len() == 1 { "sends" } else { "send" });
            let message = format!("the {who} now {sends} the {what} `{method}`");
            (rules.added, gained, message)
        }
        (_, []) => {
            let (who, sends) = (sides_in_words(&lost), if lost.len() == 1 { "sends" } else { "send" });
            let message = format!("the {who} no longer {sends} the {what} `{method}`");
            (rules.removed, lost, message)
        }
        _ => {
            let (before, after) = (sides_in_words(&lost), sides_in_words(&gained));
            let message = format!("the {what} `{method}` was sent by the {before} and is now sent by the {after}");
            (rules.moved, lost.into_iter().chain(gained).collect(), message)
        }
    })
}

/// The rules of requests or of notifications.
struct MethodRules {
    added: &'static Rule,
    removed: &'static Rule,
    moved: &'static Rule,
    embedded: &'static Rule,
    unembedded: &'static Rule,
}

impl MethodRules {
    fn of(kind: MessageKind) -> Self {
        match kind {
            MessageKind::Request => Self {
                added: &rules::REQUEST_ADDED,
                removed: &rules::REQUEST_REMOVED,
                moved: &rules::REQUEST_MOVED,
                embedded: &rules::REQUEST_EMBEDDED,
                unembedded: &rules::REQUEST_UNEMBEDDED,
            },
            // Notifications are never embedded.
            MessageKind::Notification => Self {
                added: &rules::NOTIFICATION_ADDED,
                removed: &rules::NOTIFICATION_REMOVED,
                moved: &rules::NOTIFICATION_MOVED,
                embedded: &rules::NOTIFICATION_REMOVED,
                unembedded: &rules::NOTIFICATION_ADDED,
            },
        }
    }
}

fn definitions(protocol: &Protocol) -> IndexMap<&str, TypeId> {
    let all = protocol.types.iter().enumerate();
    all.filter(|(_, def)| def.origin == Origin::Definition).map(|(id, def)| (def.name.as_str(), id)).collect()
}

fn sides_in_words(sides: &[Side]) -> &'static str {
    match sides {
        [only] => only.as_str(),
        _ => "client and the server",
    }
}
