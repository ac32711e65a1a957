//! The documents that senders write by convention. They lack the members that the reader's schema names, but that an
//! open object of the sender's schema says nothing about.

use std::collections::BTreeSet;

use mcpgen_model::Check;
use mcpgen_schema::check::{Definitions, MemberChecks};
use mcpgen_schema::text::pattern;

/// Returns a check that accepts only documents that follow the convention, with the definitions that it refers to.
pub(super) fn usual(
    (sent, sender): (&Check, &Definitions),
    (read, reader): (&Check, &Definitions),
) -> (Check, Definitions) {
    let named = names(read, reader);
    let convention = Convention { sender, named: &named };
    let mut definitions = sender.clone();
    for (name, check) in sender {
        definitions.insert(below(name), convention.inside(check));
    }
    (Check::All(vec![sent.clone(), convention.value(sent)]), definitions)
}

/// Returns the name of the definition that checks whether the members and items in a definition's values are usual.
fn below(definition: &str) -> String {
    format!("{definition}\0usual")
}

struct Convention<'c> {
    sender: &'c Definitions,
    /// The members that the reader names.
    named: &'c BTreeSet<&'c str>,
}

impl Convention<'_> {
    /// Returns the check that accepts only the usual values of a schema.
    fn value(&self, check: &Check) -> Check {
        let inside = self.inside(check);
        let mut said = Said::default();
        said.add(check, self.sender, &mut BTreeSet::new());
        if !said.has_members || said.has_others {
            return inside;
        }
        let unusual = self.named.iter().filter(|name| !said.says(name));
        let named = unusual.map(|name| ((*name).to_owned(), Check::Nothing)).collect();
        let absent = Check::Members(Box::new(MemberChecks { named, ..MemberChecks::default() }));
        Check::All(vec![inside, absent])
    }

    /// Returns the check that all members and items inside a value are usual.
    fn inside(&self, check: &Check) -> Check {
        let pairs = |pairs: &[(String, Check)]| pairs.iter().map(|(name, it)| (name.clone(), self.value(it))).collect();
        match check {
            Check::All(checks) => Check::All(checks.iter().map(|it| self.inside(it)).collect()),
            Check::Any(checks) | Check::One(checks) => {
                Check::Any(checks.iter().map(|it| Check::All(vec![it.clone(), self.inside(it)])).collect())
            }
            Check::Definition(name) if self.sender.contains_key(name) => Check::Definition(below(name)),
            Check::Members(members) => Check::Members(Box::new(MemberChecks {
                named: pairs(&members.named),
                patterns: pairs(&members.patterns),
                others: members.others.as_ref().map(|it| self.value(it)),
            })),
            Check::Items(first, rest) => Check::Items(
                first.iter().map(|it| self.value(it)).collect(),
                rest.as_ref().map(|it| Box::new(self.value(it))),
            ),
            Check::Unevaluated(it) => self.inside(&it.base),
            _ => Check::Anything,
        }
    }
}

/// The members that a schema says something about.
#[derive(Default)]
struct Said<'c> {
    names: BTreeSet<&'c str>,
    patterns: Vec<&'c str>,
    has_members: bool,
    /// Whether the schema says something about all members.
    has_others: bool,
}

impl<'c> Said<'c> {
    fn add(&mut self, check: &'c Check, scope: &'c Definitions, seen: &mut BTreeSet<&'c str>) {
        let mut add = |check: &'c Check| self.add(check, scope, seen);
        match check {
            Check::All(checks) | Check::Any(checks) | Check::One(checks) => checks.iter().for_each(add),
            Check::Not(check) => add(check),
            Check::If(parts) => parts.iter().for_each(add),
            Check::Definition(name) => {
                if let Some(check) = scope.get(name).filter(|_| seen.insert(name)) {
                    self.add(check, scope, seen);
                }
            }
            Check::IfPresent(name, check) => {
                add(check);
                self.names.insert(name);
            }
            Check::Required(names) => self.names.extend(names.iter().map(String::as_str)),
            Check::Members(members) => {
                self.has_members = true;
                self.has_others |= members.others.is_some();
                self.names.extend(members.named.iter().map(|(name, _)| name.as_str()));
                self.patterns.extend(members.patterns.iter().map(|(pattern, _)| pattern.as_str()));
            }
            Check::Unevaluated(it) => {
                add(&it.base);
                self.has_others |= it.members.is_some();
            }
            _ => {}
        }
    }

    fn says(&self, name: &str) -> bool {
        // If matching takes too many steps, the pattern counts as matching.
        self.names.contains(name) || self.patterns.iter().any(|it| pattern::matches(it, name) != Ok(false))
    }
}

/// Returns the members that a schema names at any depth, and does not forbid anywhere.
fn names<'c>(check: &'c Check, scope: &'c Definitions) -> BTreeSet<&'c str> {
    let (mut found, mut forbidden) = (BTreeSet::new(), BTreeSet::new());
    let (mut seen, mut queue) = (BTreeSet::new(), vec![check]);
    while let Some(check) = queue.pop() {
        match check {
            Check::All(checks) | Check::Any(checks) | Check::One(checks) => queue.extend(checks),
            Check::Not(check) | Check::Contains(check, _) => queue.push(check),
            Check::If(parts) => queue.extend(parts.iter()),
            Check::Definition(name) => queue.extend(scope.get(name).filter(|_| seen.insert(name.as_str()))),
            Check::Items(first, rest) => queue.extend(first.iter().chain(rest.as_deref())),
            Check::Required(names) => found.extend(names.iter().map(String::as_str)),
            Check::IfPresent(name, check) => {
                found.insert(name);
                queue.push(check);
            }
            Check::Members(members) => {
                for (name, check) in &members.named {
                    if *check == Check::Nothing { &mut forbidden } else { &mut found }.insert(name.as_str());
                }
                let named = members.named.iter().chain(&members.patterns).map(|(_, check)| check);
                queue.extend(named.chain(&members.others));
            }
            Check::Unevaluated(it) => queue.extend([&it.base].into_iter().chain(&it.members).chain(&it.items)),
            _ => {}
        }
    }
    &found - &forbidden
}
