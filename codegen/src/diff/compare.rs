//! The comparison itself: pairs of types, each compared once, and who sends them.
//!
//! Two types are compared wherever one takes the place of the other, whatever they are called: in the params and results
//! of one method, under one member name, in matching variants of a union. What nothing leads to is compared by name, as if
//! both sides sent it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use indexmap::IndexMap;

use crate::diff::values::Values;
use crate::diff::{Axis, Diff, Finding, Place, Rule, Travel, TypeVerdict, Verdict};
use crate::protocol::{ErrorCode, Messages, Origin, Protocol, Side, Type, TypeDef, TypeId};

/// Compares two models.
pub fn compare(old: &Protocol, new: &Protocol) -> Diff {
    let mut comparison = Comparison::new(old, new);
    comparison.methods();
    comparison.spread();
    comparison.led = comparison.pairs.keys().copied().collect();
    comparison.definitions();
    comparison.spread();
    comparison.error_codes();
    comparison.fixups();
    comparison.finish()
}

/// A difference, before it is known who sends what it is in.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub(super) rule: &'static Rule,
    pub(super) subject: String,
    pub(super) detail: String,
    pub(super) message: String,
    pub(super) old: Option<Place>,
    pub(super) new: Option<Place>,
}

/// Where two values are compared.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// In the schema's names.
    pub(super) subject: String,
    pub(super) old: Option<Place>,
    pub(super) new: Option<Place>,
    /// Whether this is a request (true) or a notification (false), whose envelope need not be stated.
    pub(super) message: Option<bool>,
}

/// What comparing two values by themselves gives.
#[derive(Clone, Debug, Default)]
pub(super) struct Local {
    pub(super) differences: Vec<Difference>,
    /// Differences that another rule reports in better words; they count for verdicts.
    pub(super) silent: Vec<&'static Rule>,
    /// Named types that take each other's place.
    pub(super) children: Vec<(TypeId, TypeId, Site)>,
}

type Pair = (TypeId, TypeId);

struct Paired {
    travel: Travel,
    local: Local,
}

struct Comparison<'p> {
    old: &'p Protocol,
    new: &'p Protocol,
    values: Values<'p>,
    pairs: IndexMap<Pair, Paired>,
    /// Pairs whose children have not heard of their travel yet.
    queue: Vec<Pair>,
    /// Pairs that methods lead to. Who sends them is known, and not changed by what only has a name.
    led: HashSet<Pair>,
    findings: Vec<Finding>,
    /// By union of messages: what its methods say of it.
    message_rules: HashMap<(Side, bool), Vec<&'static Rule>>,
    notes: Vec<String>,
}

impl<'p> Comparison<'p> {
    fn new(old: &'p Protocol, new: &'p Protocol) -> Self {
        Comparison {
            old,
            new,
            values: Values::new(old, new),
            pairs: IndexMap::new(),
            queue: Vec::new(),
            led: HashSet::new(),
            findings: Vec::new(),
            message_rules: HashMap::new(),
            notes: Vec::new(),
        }
    }

    fn methods(&mut self) {
        let calls = |protocol: &'p Protocol| protocol.requests.iter().map(|it| (it.method.as_str(), it)).collect();
        let (olds, news): (IndexMap<&str, _>, IndexMap<&str, _>) = (calls(self.old), calls(self.new));
        for (method, new) in &news {
            match olds.get(method) {
                None => self.method(method, true, None, Some((new.type_id, &new.senders))),
                Some(old) => {
                    self.method(method, true, Some((old.type_id, &old.senders)), Some((new.type_id, &new.senders)));
                    let askers = travel(&old.senders).and(travel(&new.senders));
                    self.lead(&Type::Named(old.type_id), &Type::Named(new.type_id), askers, method);
                    let answerers = Travel { client: askers.server, server: askers.client };
                    self.answers(method, answerers, (&old.result, &new.result));
                    self.task_answers(
                        method,
                        answerers,
                        (old.task_result.as_ref(), new.task_result.as_ref()),
                        new.type_id,
                    );
                }
            }
        }
        for (method, old) in olds.iter().filter(|(method, _)| !news.contains_key(*method)) {
            self.method(method, true, Some((old.type_id, &old.senders)), None);
        }
        let tellings =
            |protocol: &'p Protocol| protocol.notifications.iter().map(|it| (it.method.as_str(), it)).collect();
        let (olds, news): (IndexMap<&str, _>, IndexMap<&str, _>) = (tellings(self.old), tellings(self.new));
        for (method, new) in &news {
            let old = olds.get(method);
            self.method(method, false, old.map(|old| (old.type_id, &*old.senders)), Some((new.type_id, &new.senders)));
            if let Some(old) = old {
                let tellers = travel(&old.senders).and(travel(&new.senders));
                self.lead(&Type::Named(old.type_id), &Type::Named(new.type_id), tellers, method);
            }
        }
        for (method, old) in olds.iter().filter(|(method, _)| !news.contains_key(*method)) {
            self.method(method, false, Some((old.type_id, &old.senders)), None);
        }
    }

    /// Whether a method exists, and who sends it.
    fn method(&mut self, method: &str, request: bool, old: Option<(TypeId, &[Side])>, new: Option<(TypeId, &[Side])>) {
        let (was, is) = (old.map_or(&[][..], |(_, senders)| senders), new.map_or(&[][..], |(_, senders)| senders));
        let site = Site {
            subject: method.to_owned(),
            old: old.map(|(id, _)| place(self.old, id)),
            new: new.map(|(id, _)| place(self.new, id)),
            message: None,
        };
        let what = if request { "request" } else { "notification" };
        let lost: Vec<Side> = was.iter().copied().filter(|side| !is.contains(side)).collect();
        let gained: Vec<Side> = is.iter().copied().filter(|side| !was.contains(side)).collect();
        let rule = |name: &str| rule(&format!("{what}-{name}"));
        let embedded = |there: Option<(TypeId, &[Side])>| there.is_some_and(|(_, senders)| senders.is_empty());
        let (rule, sides, message) = match (lost.as_slice(), gained.as_slice()) {
            ([], []) if old.is_some() && new.is_some() => return,
            ([], []) if old.is_none() => {
                (rule("added"), vec![], format!("the {what} `{method}` is new, inside other messages"))
            }
            ([], []) => {
                (rule("removed"), vec![], format!("the {what} `{method}` is gone; it stood inside other messages"))
            }
            ([], _) if embedded(old) => (
                rule("unembedded"),
                gained,
                format!("`{method}` is a {what} of its own now; before, it stood inside other messages"),
            ),
            (_, []) if embedded(new) => (
                rule("embedded"),
                lost,
                format!("`{method}` is no {what} of its own any more: it stands inside other messages"),
            ),
            ([], _) => {
                let (who, sends) = (sides_in_words(&gained), if gained.len() == 1 { "sends" } else { "send" });
                let message = format!("the {who} {sends} the {what} `{method}`, which is new");
                (rule("added"), gained, message)
            }
            (_, []) => {
                let (who, sends) = (sides_in_words(&lost), if lost.len() == 1 { "sends" } else { "send" });
                let message = format!("the {who} no longer {sends} the {what} `{method}`");
                (rule("removed"), lost, message)
            }
            _ => {
                let (before, after) = (sides_in_words(&lost), sides_in_words(&gained));
                let message = format!("the {what} `{method}` was sent by the {before} and is now sent by the {after}");
                (rule("moved"), lost.into_iter().chain(gained).collect(), message)
            }
        };
        for side in &sides {
            self.message_rules.entry((*side, request)).or_default().push(rule);
        }
        self.find(rule, &site, "", message, travel(&sides));
    }

    fn answers(&mut self, method: &str, answerers: Travel, (old, new): (&'p Type, &'p Type)) {
        self.lead(old, new, answerers, method);
        let (before, after) = (self.old.describe(old), self.new.describe(new));
        if before != after {
            let site = Site {
                subject: method.to_owned(),
                old: self.place_of(self.old, old),
                new: self.place_of(self.new, new),
                message: None,
            };
            let message = format!("`{method}` is answered with {after} instead of {before}");
            self.find(rule("result-type-changed"), &site, "", message, answerers);
        }
    }

    fn task_answers(
        &mut self,
        method: &str,
        answerers: Travel,
        (old, new): (Option<&'p Type>, Option<&'p Type>),
        request: TypeId,
    ) {
        let site = |place: Option<Place>, other: Option<Place>| Site {
            subject: method.to_owned(),
            old: place,
            new: other,
            message: None,
        };
        let here = place(self.new, request);
        match (old, new) {
            (Some(old), Some(new)) => self.lead(old, new, answerers, method),
            (None, Some(new)) => {
                let site = site(None, self.place_of(self.new, new).or(Some(here)));
                let message =
                    format!("`{method}` may be answered with {} if it asks for a task", self.new.describe(new));
                self.find(rule("task-result-added"), &site, "", message, answerers);
            }
            (Some(old), None) => {
                let site = site(self.place_of(self.old, old), Some(here));
                let message = format!("`{method}` is no longer answered with {}", self.old.describe(old));
                self.find(rule("task-result-removed"), &site, "", message, answerers);
            }
            (None, None) => {}
        }
    }

    /// Compares what a method leads to.
    fn lead(&mut self, old: &Type, new: &Type, travel: Travel, method: &str) {
        let (was, is) = (self.place_of(self.old, old), self.place_of(self.new, new));
        let site = Site { subject: method.to_owned(), old: was, new: is, message: None };
        let local = self.values.compare(old, new, &site);
        // What a method's types are called is said where the method is compared.
        for difference in local.differences.into_iter().filter(|it| it.rule.id != "type-renamed-in-use") {
            self.push(difference, travel);
        }
        for (old, new, site) in local.children {
            self.reach((old, new), travel, &site);
        }
    }

    fn reach(&mut self, pair: Pair, travel: Travel, site: &Site) {
        match self.pairs.get_mut(&pair) {
            Some(_) if self.led.contains(&pair) => {}
            Some(paired) if paired.travel.and(travel) == paired.travel => {}
            Some(paired) => {
                paired.travel = paired.travel.and(travel);
                self.queue.push(pair);
            }
            None => {
                let local = self.values.compare_named(pair.0, pair.1, site);
                self.pairs.insert(pair, Paired { travel, local });
                self.queue.push(pair);
            }
        }
    }

    /// Lets everything know who sends it.
    fn spread(&mut self) {
        while let Some(pair) = self.queue.pop() {
            let Paired { travel, local } = &self.pairs[&pair];
            let (travel, children) = (*travel, local.children.clone());
            for (old, new, site) in children.into_iter().rev() {
                self.reach((old, new), travel, &site);
            }
        }
    }

    /// Definitions by name: those that came, went or were renamed, and those that nothing leads to.
    fn definitions(&mut self) {
        let (olds, news) = (definitions(self.old), definitions(self.new));
        for (name, new) in &news {
            if let Some(old) = olds.get(name)
                && !self.pairs.contains_key(&(*old, *new))
            {
                let messages = Messages::ALL.iter().find(|messages| messages.definition() == *name);
                let travel = messages.map_or(Travel::BOTH, |messages| Travel::from(messages.sender));
                let site = self.site_of(Some(*old), Some(*new));
                let local = self.values.compare(&Type::Named(*old), &Type::Named(*new), &site);
                for difference in local.differences {
                    self.push(difference, travel);
                }
                for (old, new, site) in local.children {
                    self.reach((old, new), travel, &site);
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
                    let message = format!("{name} is now called {after}");
                    self.find(
                        rule("type-renamed"),
                        &self.site_of(Some(*old), Some(new)),
                        after,
                        message,
                        Travel::default(),
                    );
                }
                None => {
                    let message = format!("the definition {name} is gone");
                    self.find(rule("type-removed"), &self.site_of(Some(*old), None), "", message, Travel::default());
                }
            }
        }
        for (name, new) in added {
            let message = format!("the definition {name} is new");
            self.find(rule("type-added"), &self.site_of(None, Some(new)), "", message, Travel::default());
        }
    }

    fn error_codes(&mut self) {
        // JSON-RPC's own are known to everybody, stated or not.
        let own = |error: &&ErrorCode| matches!(error.code, -32700 | -32603..=-32600);
        let codes = |protocol: &'p Protocol| {
            protocol.error_codes.iter().filter(|it| !own(it)).map(|it| (it.code, it)).collect()
        };
        let (olds, news): (BTreeMap<i64, &ErrorCode>, BTreeMap<i64, &ErrorCode>) = (codes(self.old), codes(self.new));
        for (code, error) in news.iter().filter(|(code, _)| !olds.contains_key(code)) {
            let site = self.site_of(None, Some(error.type_id));
            let message = format!("the error code {code} is new");
            self.find(rule("error-code-added"), &site, &code.to_string(), message, Travel::BOTH);
        }
        for (code, error) in olds.iter().filter(|(code, _)| !news.contains_key(code)) {
            let site = self.site_of(Some(error.type_id), None);
            let message = format!("the schema no longer states the error code {code}");
            self.find(rule("error-code-removed"), &site, &code.to_string(), message, Travel::BOTH);
        }
    }

    /// A fixup that one side needs and the other was tried with in vain.
    fn fixups(&mut self) {
        for (protocol, label) in [(self.old, "old"), (self.new, "new")] {
            let idle = protocol.fixups.iter().filter(|applied| applied.pointers.is_empty());
            let idle: Vec<&str> = idle.map(|applied| applied.name).collect();
            if !idle.is_empty() {
                self.notes.push(format!("{label}: fixups that found nothing to correct: {}", idle.join(", ")));
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
            let site = Site { subject: before.name.to_owned(), old: there(needed), new: there(needs), message: None };
            let (has, lacks) = if needed.is_some() { ("old", "new") } else { ("new", "old") };
            let message = format!("the {has} schema has a defect that the {lacks} one does not have: {}", before.name);
            self.find(rule("fixup-differs"), &site, "", message, Travel::default());
        }
        if old.era != new.era {
            self.notes.push(format!("the era changes from {} to {}", old.era.as_str(), new.era.as_str()));
        }
    }

    fn finish(mut self) -> Diff {
        let types = self.type_verdicts();
        for (_, Paired { travel, local }) in std::mem::take(&mut self.pairs) {
            for difference in local.differences {
                self.push(difference, travel);
            }
        }
        self.envelope();
        self.merge();
        self.findings.sort_by_key(|it| std::cmp::Reverse((it.verdicts.worst(&Axis::WIRE), it.verdicts.rust_api)));
        Diff { findings: self.findings, types, notes: self.notes }
    }

    /// One finding for what two ways lead to.
    fn merge(&mut self) {
        let mut merged: IndexMap<(&str, String, String), Finding> = IndexMap::new();
        for finding in std::mem::take(&mut self.findings) {
            let key = (finding.rule.id, finding.subject.clone(), finding.detail.clone());
            match merged.get_mut(&key) {
                None => {
                    merged.insert(key, finding);
                }
                Some(first) => {
                    let Rule { old_to_new, new_to_old, rust_api, .. } = first.rule;
                    first.travel = first.travel.and(finding.travel);
                    first.verdicts = first.travel.verdicts(*old_to_new, *new_to_old, *rust_api);
                }
            }
        }
        self.findings = merged.into_values().collect();
    }

    /// One finding for all messages that come to name the members of their envelope, or cease to.
    fn envelope(&mut self) {
        for (name, words) in [
            ("envelope-stated", "name the envelope's members `jsonrpc` and `id` themselves now"),
            (
                "envelope-unstated",
                "leave the envelope's members `jsonrpc` and `id` to JSONRPCRequest and JSONRPCNotification",
            ),
        ] {
            let all: Vec<Finding> = self.findings.extract_if(.., |it| it.rule.id == name).collect();
            let owners: BTreeSet<&str> = all.iter().filter_map(|it| it.subject.split('.').next()).collect();
            if let Some(first) = all.first() {
                let message = format!("{} messages {words}, {} among them", owners.len(), first.subject);
                let travel = all.iter().fold(Travel::default(), |so_far, it| so_far.and(it.travel));
                let verdicts = first.verdicts;
                let subject = "messages".to_owned();
                self.findings.push(Finding {
                    subject,
                    detail: String::new(),
                    message,
                    travel,
                    verdicts,
                    ..first.clone()
                });
            }
        }
    }

    /// What becomes of each definition that both sides have, all that it holds included.
    fn type_verdicts(&self) -> Vec<TypeVerdict> {
        let olds = definitions(self.old);
        let both = definitions(self.new).into_iter().filter_map(|(name, new)| Some((name, *olds.get(name)?, new)));
        both.map(|(name, old, new)| {
            let mut verdict = self.values.worst(&Type::Named(old), &Type::Named(new));
            for messages in Messages::ALL.iter().filter(|messages| messages.definition() == name) {
                let rules = self.message_rules.get(&(messages.sender, messages.requests));
                for rule in rules.into_iter().flatten() {
                    verdict = (verdict.0.max(rule.old_to_new), verdict.1.max(rule.new_to_old));
                }
            }
            let travel = self.pairs.get(&(old, new)).map_or(Travel::BOTH, |paired| paired.travel);
            TypeVerdict { name: name.to_owned(), travel, old_to_new: verdict.0, new_to_old: verdict.1 }
        })
        .collect()
    }

    fn find(&mut self, rule: &'static Rule, site: &Site, detail: &str, message: String, travel: Travel) {
        let Site { subject, old, new, .. } = site.clone();
        self.push(Difference { rule, subject, detail: detail.to_owned(), message, old, new }, travel);
    }

    fn push(&mut self, difference: Difference, travel: Travel) {
        let Difference { rule, subject, detail, message, old, new } = difference;
        let verdicts = travel.verdicts(rule.old_to_new, rule.new_to_old, rule.rust_api);
        self.findings.push(Finding { rule, travel, verdicts, subject, detail, message, old, new });
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
            message: None,
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

/// The place of a type's definition.
pub(super) fn place(protocol: &Protocol, id: TypeId) -> Place {
    let TypeDef { pointer, rust, .. } = &protocol.types[id];
    Place { pointer: pointer.clone(), rust: Some(rust.clone()) }
}

/// The name of the definition that a type expression is.
pub(super) fn definition<'p>(protocol: &'p Protocol, content: &Type) -> Option<&'p str> {
    match content {
        Type::Named(id) if protocol.types[*id].origin == Origin::Definition => Some(&protocol.types[*id].name),
        _ => None,
    }
}

/// The rule of a name that the comparison uses.
pub(super) fn rule(id: &str) -> &'static Rule {
    Rule::find(id).unwrap_or_else(|| unreachable!("the comparison knows only rules that there are: {id}"))
}

fn definitions(protocol: &Protocol) -> IndexMap<&str, TypeId> {
    let all = protocol.types.iter().enumerate();
    all.filter(|(_, def)| def.origin == Origin::Definition).map(|(id, def)| (def.name.as_str(), id)).collect()
}

fn travel(senders: &[Side]) -> Travel {
    senders.iter().fold(Travel::default(), |so_far, side| so_far.and(Travel::from(*side)))
}

fn sides_in_words(sides: &[Side]) -> &'static str {
    match sides {
        [only] => only.as_str(),
        _ => "client and the server",
    }
}

impl TypeVerdict {
    /// The verdict on a wire axis, for whoever sends the type.
    pub fn on(&self, axis: Axis) -> Verdict {
        self.travel.verdicts(self.old_to_new, self.new_to_old, crate::diff::Bump::Patch).on(axis)
    }
}
