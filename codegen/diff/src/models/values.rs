//! Compares the values of two type expressions.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use mcpgen_model::{
    Bounds, Check, Content, JsonTypes, Length, Member, MessageKind, Protocol, Shape, Tuple, Type, TypeId, Value,
};
use mcpgen_schema::containment::Reason;
use mcpgen_schema::json::pointer::escape;
use mcpgen_schema::json::{Json, integer};

use crate::models::alternatives::{alternatives, required_among};
use crate::models::difference::{Difference, Outcome, Site, definition, place};
use crate::models::evidence::{Aim, Judged, Pair as Compared, Version};
use crate::models::limits::{Relation, bounds_in_words, integers_in_words, length_in_words, list};
use crate::models::resolved::{Integers, OtherMembers, Resolve, Resolved, ResolvedObject, types};
use crate::models::rules::{self, Rule};
use crate::models::verdict::Verdict;

/// Compares values of two models.
pub(super) struct Values<'p> {
    pub(super) old: &'p Protocol,
    pub(super) new: &'p Protocol,
    /// Whether readers keep integers in 64 bits, as the generated types do.
    pub(super) has_64_bit_readers: bool,
    /// The differences of pairs of named types.
    known: RefCell<HashMap<Pair, Known>>,
    /// The pairs that are being compared. Their results are not known yet.
    open: RefCell<HashSet<Pair>>,
    /// The number of pairs that may still be compared for unions.
    fuel: Cell<u32>,
    /// The number of pairs that may still be compared as a whole.
    wholes: Cell<u32>,
    old_messages: HashMap<TypeId, Option<MessageKind>>,
    new_messages: HashMap<TypeId, Option<MessageKind>>,
}

/// The worst verdicts of some rules, on messages from old to new and from new to old.
type BothWays = (Verdict, Verdict);

type Pair = (TypeId, TypeId);

/// The verdicts on two named types without nested named types, and the pairs of nested named types.
type Known = (BothWays, Vec<Pair>);

/// Enough for any real schema. Bounds the comparison of malicious ones.
const FUEL: u32 = 200_000;

/// The maximum number of pairs that are compared as a whole. Each takes milliseconds, or seconds if it is malicious.
const MAX_WHOLES: u32 = 500;

const COMPATIBLE: BothWays = (Verdict::Compatible, Verdict::Compatible);

impl<'p> Values<'p> {
    pub(super) fn new(old: &'p Protocol, new: &'p Protocol) -> Self {
        let (old_messages, new_messages) = (messages(old), messages(new));
        let (known, open) = (RefCell::default(), RefCell::default());
        let (fuel, wholes) = (Cell::new(FUEL), Cell::new(MAX_WHOLES));
        Values { old, new, has_64_bit_readers: true, known, open, fuel, wholes, old_messages, new_messages }
    }

    /// Compares two expressions, without the named types in them.
    pub(super) fn compare(&self, old: &Type, new: &Type, site: &Site) -> Outcome {
        let mut outcome = Outcome::default();
        self.expressions(old, new, site, &mut outcome);
        outcome
    }

    /// Compares two named types, without the named types in them.
    pub(super) fn compare_named(&self, old: TypeId, new: TypeId, site: &Site) -> Outcome {
        let (was, is) = (&self.old.types[old], &self.new.types[new]);
        let message = self.old_messages.get(&old).zip(self.new_messages.get(&new)).and_then(|(was, is)| was.or(*is));
        let name = definition(self.new, &Type::Named(new)).or(definition(self.old, &Type::Named(old)));
        let site = Site {
            subject: name.unwrap_or(&site.subject).to_owned(),
            old: Some(place(self.old, old)),
            new: Some(place(self.new, new)),
            message,
            values: None,
            member: None,
        };
        let mut outcome = Outcome::default();
        outcome.remarks(&site, (was.deprecated, is.deprecated), (was.description.as_ref(), is.description.as_ref()));
        let silent = self.is_message_set(old, new);
        let mut inner = Outcome::default();
        let (old_type, new_type) = (Type::Named(old), Type::Named(new));
        self.compare_resolved(&old_type, &new_type, &site, &mut inner);
        if silent {
            outcome.silent.extend(inner.differences.iter().map(|it| it.rule));
        } else {
            outcome.differences.extend(inner.differences);
        }
        outcome.silent.extend(inner.silent);
        outcome.children = inner.children;
        outcome
    }

    /// Returns whether two definitions have the same structure, as a renamed definition does.
    pub(super) fn same(&self, old: TypeId, new: TypeId) -> bool {
        let telling = |protocol: &Protocol, id: TypeId| match &protocol.types[id].shape {
            Shape::Struct(body) => !body.members.is_empty(),
            Shape::Union(_) | Shape::Enum(_) => true,
            _ => false,
        };
        let members = |protocol: &Protocol, id: TypeId| match &protocol.types[id].shape {
            Shape::Struct(body) => {
                let mut names: Vec<String> = body.members.iter().map(|member| member.wire.clone()).collect();
                names.sort_unstable();
                names
            }
            _ => Vec::new(),
        };
        telling(self.old, old)
            && telling(self.new, new)
            && members(self.old, old) == members(self.new, new)
            && self.worst(&Type::Named(old), &Type::Named(new)) == COMPATIBLE
    }

    /// Returns the worst verdicts on two expressions, including everything in them.
    pub(super) fn worst(&self, old: &Type, new: &Type) -> BothWays {
        self.worst_within(&self.compare(old, new, &Site::nowhere()))
    }

    /// Like [`Self::worst`], but for documents without these keys.
    pub(super) fn worst_without(&self, old: &Type, new: &Type, keys: &[&str]) -> BothWays {
        let (Type::Named(before), Type::Named(after)) = (self.old.follow(old), self.new.follow(new)) else {
            return self.worst(old, new);
        };
        if keys.is_empty() || self.fuel.get() == 0 || !self.open.borrow_mut().insert((*before, *after)) {
            return self.worst(old, new);
        }
        let mut outcome = self.compare_named(*before, *after, &Site::nowhere());
        self.open.borrow_mut().remove(&(*before, *after));
        let owner = definition(self.new, new).or(definition(self.old, old)).unwrap_or_default();
        let concerns = |subject: &str| keys.iter().any(|key| *subject == format!("{owner}.{key}"));
        let optional = [rules::MEMBER_REMOVED_OPTIONAL.id, rules::MEMBER_ADDED_OPTIONAL.id];
        outcome.differences.retain(|it| !optional.contains(&it.rule.id) || !concerns(&it.subject));
        self.worst_within(&outcome)
    }

    fn worst_within(&self, outcome: &Outcome) -> BothWays {
        let mut worst = worst_of(outcome);
        let mut queue: Vec<Pair> = outcome.children.iter().map(|(old, new, _)| (*old, *new)).collect();
        let mut seen = HashSet::new();
        while let Some(pair) = queue.pop() {
            if !seen.insert(pair) {
                continue;
            }
            let (flow, children) = self.outcome(pair);
            worst = (worst.0.max(flow.0), worst.1.max(flow.1));
            queue.extend(children);
        }
        worst
    }

    /// Compares two named types, or returns the known result. A pair that is being compared counts as breaking, so that
    /// no result depends on itself. So does every pair after the limit.
    fn outcome(&self, pair: Pair) -> Known {
        if let Some(known) = self.known.borrow().get(&pair) {
            return known.clone();
        }
        self.fuel.set(self.fuel.get().saturating_sub(1));
        if self.fuel.get() == 0 || !self.open.borrow_mut().insert(pair) {
            return ((Verdict::Breaking, Verdict::Breaking), Vec::new());
        }
        let alone = self.open.borrow().len() == 1;
        let outcome = self.compare_named(pair.0, pair.1, &Site::nowhere());
        self.open.borrow_mut().remove(&pair);
        let result =
            (worst_of(&outcome), outcome.children.iter().map(|(old, new, _)| (*old, *new)).collect::<Vec<_>>());
        // Inside another comparison, the result may depend on the pairs that are being compared.
        if alone {
            self.known.borrow_mut().insert(pair, result.clone());
        }
        result
    }

    fn is_message_set(&self, old: TypeId, new: TypeId) -> bool {
        self.old.types[old].is_message_set() && self.new.types[new].is_message_set()
    }

    pub(super) fn expressions(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        if let (Some(before), Some(after)) = (definition(self.old, old), definition(self.new, new))
            && before != after
        {
            let message = format!("{} has the type {after} instead of {before}", site.subject);
            outcome.differences.push(site.difference(&rules::TYPE_RENAMED_IN_USE, "", message));
        }
        match (self.old.follow(old), self.new.follow(new)) {
            (Type::Named(old), Type::Named(new)) => outcome.children.push((*old, *new, site.clone())),
            (old, new) => self.compare_resolved(old, new, site, outcome),
        }
    }

    fn compare_resolved(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        let site = &Site { values: Some((old.clone(), new.clone())), member: None, ..site.clone() };
        if self.checks(old, new, site, outcome) {
            return;
        }
        let takes_null = |protocol: &Protocol, content: &Type| types(protocol, content, 0).intersects(JsonTypes::NULL);
        match (self.old.follow(old), self.new.follow(new)) {
            (Type::Nullable(old), Type::Nullable(new)) => return self.expressions(old, new, site, outcome),
            (old, Type::Nullable(new)) if !takes_null(self.old, old) => {
                outcome.add(site, &rules::NULL_ALLOWED, "", format!("{} may be null", site.subject));
                return self.expressions(old, new, site, outcome);
            }
            (Type::Nullable(old), new) if !takes_null(self.new, new) => {
                outcome.add(site, &rules::NULL_FORBIDDEN, "", format!("{} may no longer be null", site.subject));
                return self.expressions(old, new, site, outcome);
            }
            _ => {}
        }
        self.known_values(old, new, site, outcome);
        let (was, is) = (self.old.resolved(old), self.new.resolved(new));
        match (&was, &is) {
            (Resolved::Any, Resolved::Any) | (Resolved::Never, Resolved::Never) | (Resolved::Null, Resolved::Null) => {}
            (Resolved::Boolean, Resolved::Boolean) => {}
            (Resolved::String(a), Resolved::String(b)) => self.lengths(a, b, "characters", site, outcome),
            (Resolved::Integer(a), Resolved::Integer(b)) => self.integers(*a, *b, site, outcome),
            (Resolved::Number(a), Resolved::Number(b)) => self.numbers(a, b, site, outcome),
            (Resolved::List(a, was), Resolved::List(b, is)) => {
                self.lengths(was, is, "items", site, outcome);
                self.expressions(a, b, &site.below("[]", "/items"), outcome);
            }
            (Resolved::Tuple(a), Resolved::Tuple(b)) if a.first.len() == b.first.len() => {
                self.tuples(a, b, (old, new), site, outcome);
            }
            (Resolved::Tuple(_), Resolved::Tuple(_) | Resolved::List(..))
            | (Resolved::List(..), Resolved::Tuple(_)) => {
                let message = format!("the first items of {} differ", site.subject);
                self.as_a_whole(old, new, &message, site, outcome);
            }
            (Resolved::Object(a), Resolved::Object(b)) => {
                self.patterns((old, a), (new, b), site, outcome);
                self.objects(a, b, site, outcome);
            }
            (Resolved::Values(a), Resolved::Values(b)) => self.fixed(a, b, site, outcome),
            (Resolved::Union(a), Resolved::Union(b)) => self.unions((old, Some(a)), (new, Some(b)), site, outcome),
            (Resolved::Any, _) | (_, Resolved::Never) => self.narrowed(old, new, site, outcome),
            (_, Resolved::Any) | (Resolved::Never, _) => self.widened(old, new, site, outcome),
            (Resolved::Union(a), _) => self.unions((old, Some(a)), (new, None), site, outcome),
            (_, Resolved::Union(b)) => self.unions((old, None), (new, Some(b)), site, outcome),
            (Resolved::Values(values), other) if self.accepts(self.new, values, other, new) => {
                self.opened(values, new, site, outcome);
            }
            (other, Resolved::Values(values)) if self.accepts(self.old, values, other, old) => {
                self.closed(old, values, site, outcome);
            }
            (Resolved::Integer(a), Resolved::Number(b)) if within(*a, b) => self.widened(old, new, site, outcome),
            (Resolved::Number(a), Resolved::Integer(b)) if within(*b, a) => self.narrowed(old, new, site, outcome),
            _ => self.changed(old, new, site, outcome),
        }
    }

    /// Compares the checks of two types. Returns whether the comparison is complete.
    fn checks(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) -> bool {
        let (was, is) = (self.old.checks_of(old), self.new.checks_of(new));
        let includes = |all: &[&Check], some: &[&Check]| some.iter().all(|check| all.contains(check));
        let subject = &site.subject;
        let is_undecided = |protocol: &Protocol, content: &Type| {
            matches!(protocol.follow(content), Type::Named(id)
                if matches!(protocol.types[*id].shape, Shape::Undecided(_)))
        };
        // An undecided union has only checks.
        let (was_undecided, is_undecided) = (is_undecided(self.old, old), is_undecided(self.new, new));
        if was_undecided != is_undecided {
            let either = |checks: &[&Check]| alternatives(checks).map(|names| names.join(" or "));
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
            self.as_a_whole(old, new, &message, site, outcome);
            return true;
        }
        let is_same_scope = is_same_scope(&was, self.old, &is, self.new);
        match (includes(&is, &was), includes(&was, &is)) {
            (true, true) if is_same_scope => was_undecided,
            _ => {
                let message = format!("the checks of {subject} differ");
                self.as_a_whole(old, new, &message, site, outcome) || was_undecided
            }
        }
    }

    /// Compares types whose parts cannot be compared. Returns whether they accept the same values.
    fn as_a_whole(&self, old: &Type, new: &Type, message: &str, site: &Site, outcome: &mut Outcome) -> bool {
        let judged = [Version::New, Version::Old].map(|reader| self.asked(reader, (old, new), None, false));
        let rule: &'static Rule = match judged.each_ref().map(|it| it.verdict) {
            [Verdict::Compatible, Verdict::Compatible] => return true,
            [Verdict::Compatible, _] => &rules::CHECK_REMOVED,
            [_, Verdict::Compatible] => &rules::CHECK_ADDED,
            _ => &rules::CHECK_CHANGED,
        };
        let difference = site.difference(rule, "", message.to_owned());
        outcome.differences.push(Difference { known: Some(Box::new(judged)), ..difference });
        false
    }

    /// Returns the verdict on what the other version sends to this one.
    pub(super) fn read_by(&self, reader: Version, types: (&Type, &Type), aim: Option<&Aim>) -> Judged {
        let judged = self.asked(reader, types, aim, false);
        if !self.has_64_bit_readers || judged.verdict == Verdict::Breaking {
            return judged;
        }
        // Only an integer that does not fit into the reader's type may show the difference.
        let of_types = self.asked(reader, types, aim, true);
        if of_types.verdict == Verdict::Breaking { of_types } else { judged }
    }

    fn asked(
        &self,
        reader: Version,
        (old, new): (&Type, &Type),
        aim: Option<&Aim>,
        has_64_bit_readers: bool,
    ) -> Judged {
        let left = self.wholes.get();
        self.wholes.set(left.saturating_sub(1));
        match left {
            0 => Judged::unknown(Reason::Budget),
            _ => Compared::of((self.old, old), (self.new, new), has_64_bit_readers).read_by(reader, aim),
        }
    }

    /// Compares the known values of open enumerations.
    fn known_values(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        let (was, is) = (self.old.known_values(old), self.new.known_values(new));
        let missing_in = |values: &[Value], value: &Value| !values.iter().any(|other| other.json == value.json);
        for value in is.iter().filter(|value| missing_in(was, value)) {
            let message = format!("{} has the new known value {}", site.subject, value.json);
            outcome.add(site, &rules::KNOWN_VALUE_ADDED, &value.json.to_string(), message);
        }
        for value in was.iter().filter(|value| missing_in(is, value)) {
            let message = format!("{} no longer lists the known value {}", site.subject, value.json);
            outcome.add(site, &rules::KNOWN_VALUE_REMOVED, &value.json.to_string(), message);
        }
    }

    fn tuples(&self, old: &Tuple, new: &Tuple, types: (&Type, &Type), site: &Site, outcome: &mut Outcome) {
        for (index, (before, after)) in old.first.iter().zip(&new.first).enumerate() {
            let below = site.below(&format!("[{index}]"), &format!("/prefixItems/{index}"));
            self.expressions(&before.content, &after.content, &below, outcome);
        }
        match (&old.rest, &new.rest) {
            (Some(before), Some(after)) => self.expressions(before, after, &site.below("[]", "/items"), outcome),
            (None, Some(_)) => self.widened(types.0, types.1, site, outcome),
            (Some(_), None) => self.narrowed(types.0, types.1, site, outcome),
            (None, None) => {}
        }
    }

    fn opened(&self, old: &[Json], new: &Type, site: &Site, outcome: &mut Outcome) {
        let (was, is) = (list(old), self.words(self.new, new));
        outcome.add(site, &rules::VALUES_OPENED, "", format!("{} may be {is} instead of {was}", site.subject));
    }

    fn closed(&self, old: &Type, new: &[Json], site: &Site, outcome: &mut Outcome) {
        let (was, is) = (self.words(self.old, old), list(new));
        outcome.add(site, &rules::VALUES_CLOSED, "", format!("{} may only be {is} instead of {was}", site.subject));
    }

    fn changed(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        self.types(
            &rules::TYPE_CHANGED,
            ["is {new} instead of {old}", "accepts other values"],
            old,
            new,
            site,
            outcome,
        );
    }

    fn widened(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        let words = ["may be {new} instead of only {old}", "accepts more values"];
        self.types(&rules::TYPE_WIDENED, words, old, new, site, outcome);
    }

    fn narrowed(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        let words = ["is only {new} instead of {old}", "accepts fewer values"];
        self.types(&rules::TYPE_NARROWED, words, old, new, site, outcome);
    }

    /// Adds a difference of two types. The second of the words is for types that are described alike.
    fn types(
        &self,
        rule: &'static Rule,
        [words, alike]: [&str; 2],
        old: &Type,
        new: &Type,
        site: &Site,
        outcome: &mut Outcome,
    ) {
        let (was, is) = (self.words(self.old, old), self.words(self.new, new));
        let words = if was == is { alike.to_owned() } else { words.replace("{new}", &is).replace("{old}", &was) };
        outcome.add(site, rule, "", format!("{} {words}", site.subject));
    }

    /// Describes a type: by the name of its definition, or else by its expression. The names of other types are only known
    /// in Rust.
    pub(super) fn words(&self, protocol: &Protocol, content: &Type) -> String {
        if definition(protocol, content).is_some() {
            return protocol.describe(content);
        }
        match protocol.resolved(content) {
            Resolved::Values(values) => list(&values),
            Resolved::String(length) if !length.is_free() => {
                format!("a string of {}", length_in_words(&length, "characters"))
            }
            Resolved::Object(object) if !object.members.is_empty() => "an object".to_owned(),
            Resolved::List(inner, _) => format!("list of {}", self.words(protocol, inner)),
            Resolved::Union(choice) => {
                let all: Vec<String> = choice.variants.iter().map(|it| self.words(protocol, it)).collect();
                all.join(" or ")
            }
            _ => match protocol.follow(content) {
                Type::Named(_) => types(protocol, content, 0).words(),
                content => protocol.describe(content),
            },
        }
    }

    fn lengths(&self, old: &Length, new: &Length, unit: &str, site: &Site, outcome: &mut Outcome) {
        let relation = Relation::of(new.includes(old), old.includes(new), old.is_free(), new.is_free());
        relation.report(site, outcome, &length_in_words(old, unit), &length_in_words(new, unit));
    }

    fn integers(&self, old: Integers, new: Integers, site: &Site, outcome: &mut Outcome) {
        let (was, is) = match self.has_64_bit_readers {
            true => (old, new),
            false => (old.without_limits_of_types(), new.without_limits_of_types()),
        };
        let free = |range: Integers| range.without_limits_of_types() == Integers::ALL;
        let relation = Relation::of(is.include(was), was.include(is), free(old), free(new));
        relation.report(site, outcome, &integers_in_words(old), &integers_in_words(new));
    }

    fn numbers(&self, old: &Bounds, new: &Bounds, site: &Site, outcome: &mut Outcome) {
        let relation = Relation::of(new.include(old), old.include(new), old.is_free(), new.is_free());
        relation.report(site, outcome, &bounds_in_words(old), &bounds_in_words(new));
    }

    fn fixed(&self, old: &[Json], new: &[Json], site: &Site, outcome: &mut Outcome) {
        if let ([before], [after]) = (old, new) {
            if before != after {
                let message = format!("{} is always {after} instead of {before}", site.subject);
                outcome.add(site, &rules::CONSTANT_CHANGED, &after.to_string(), message);
            }
            return;
        }
        for value in new.iter().filter(|value| !old.contains(value)) {
            let message = format!("{} has the new value {value}", site.subject);
            let aim = site.aim(value);
            outcome.aimed(site, &rules::ENUM_VALUE_ADDED, &value.to_string(), message, aim);
        }
        for value in old.iter().filter(|value| !new.contains(value)) {
            let message = format!("{} may no longer be {value}", site.subject);
            let aim = site.aim(value);
            outcome.aimed(site, &rules::ENUM_VALUE_REMOVED, &value.to_string(), message, aim);
        }
    }

    /// Returns whether a scalar type accepts all of these values.
    fn accepts(&self, protocol: &Protocol, values: &[Json], resolved: &Resolved<'_>, content: &Type) -> bool {
        let within = |value: &Json| match (resolved, value) {
            (Resolved::String(length), Json::String(text)) => length.contains(text.chars().count() as u64),
            (Resolved::Integer(range), Json::Number(number)) => {
                integer(number).is_some_and(|number| range.include(Integers { first: number, last: number }))
            }
            (Resolved::Number(bounds), Json::Number(number)) => bounds.contain(number),
            (Resolved::Boolean, Json::Bool(_)) | (Resolved::Null, Json::Null) => true,
            _ => false,
        };
        let checks = protocol.checks_of(content);
        let holds = |value: &Json| checks.iter().all(|check| check.accepts(value, &protocol.checks));
        !types(protocol, content, 0).is_empty() && values.iter().all(|value| within(value) && holds(value))
    }

    fn objects(&self, old: &ResolvedObject<'p>, new: &ResolvedObject<'p>, site: &Site, outcome: &mut Outcome) {
        let named = |members: &'p [Member], name: &str| members.iter().find(|member| member.wire == name);
        for member in new.members {
            let site = site.member(member, named(old.members, &member.wire), Some(member));
            match named(old.members, &member.wire) {
                Some(before) => self.members(before, member, &site, outcome),
                None if self.is_envelope(&site, member) => {
                    outcome.add(&site, &rules::ENVELOPE_STATED, "", format!("{} is now included", site.subject));
                }
                None => self.member_added(old, member, &site, outcome),
            }
        }
        for member in old.members.iter().filter(|member| named(new.members, &member.wire).is_none()) {
            let site = site.member(member, Some(member), None);
            match self.is_envelope(&site, member) {
                true => {
                    outcome.add(&site, &rules::ENVELOPE_UNSTATED, "", format!("{} is no longer included", site.subject))
                }
                false => self.member_removed(new, member, &site, outcome),
            }
        }
        let below = site.below(".*", "/additionalProperties");
        let content = |rest: OtherMembers<'p>| match rest {
            OtherMembers::Anything => Type::Any,
            OtherMembers::Of(content) => content.clone(),
            OtherMembers::Refused => Type::Never,
        };
        match (old.rest, new.rest) {
            (OtherMembers::Refused, OtherMembers::Refused) => {}
            (OtherMembers::Refused, _) => {
                let message = format!("{} may have members that the schema does not name", site.subject);
                outcome.add(site, &rules::OBJECT_OPENED, "", message);
            }
            (_, OtherMembers::Refused) => {
                let message = format!("{} may not have members that the schema does not name", site.subject);
                outcome.add(site, &rules::OBJECT_CLOSED, "", message);
            }
            (old, new) => self.expressions(&content(old), &content(new), &below, outcome),
        }
    }

    fn patterns(
        &self,
        (old, was): (&Type, &ResolvedObject<'p>),
        (new, is): (&Type, &ResolvedObject<'p>),
        site: &Site,
        outcome: &mut Outcome,
    ) {
        match (was.pattern, is.pattern) {
            (None, None) => {}
            (Some(before), Some(after)) if before.pattern == after.pattern => {
                let pointer = format!("/patternProperties/{}", escape(&after.pattern));
                let below = site.below(&format!("./{}/", after.pattern), &pointer);
                self.expressions(&before.content, &after.content, &below, outcome);
            }
            _ => {
                let message = format!("the patterns of {} differ", site.subject);
                self.as_a_whole(old, new, &message, site, outcome);
            }
        }
    }

    /// Returns whether this is `jsonrpc` or `id` of a message. On the wire they are present even if the schema does not
    /// state them.
    fn is_envelope(&self, site: &Site, member: &Member) -> bool {
        match member.wire.as_str() {
            "jsonrpc" => site.message.is_some() && member.content == Content::Constant(Json::String("2.0".into())),
            "id" => site.message == Some(MessageKind::Request) && member.required,
            _ => false,
        }
    }

    fn member_added(&self, old: &ResolvedObject<'_>, member: &Member, site: &Site, outcome: &mut Outcome) {
        let (rule, words): (&'static Rule, _) = match member.required {
            true => (&rules::MEMBER_ADDED_REQUIRED, "new and required"),
            false => (&rules::MEMBER_ADDED_OPTIONAL, "new"),
        };
        let others = old.other(&member.wire);
        let is_convention = matches!(others, OtherMembers::Anything);
        let difference = site.difference(rule, "", format!("{} is {words}", site.subject));
        let (absent, present) = (Aim::Absent(member.wire.clone()), Aim::Present(member.wire.clone()));
        outcome.differences.push(Difference { is_convention, aim: Some(absent), ..difference });
        let (read_by_new, read_by_old) = self.fits(others, member, |rest| self.both_fit(Err(rest), Ok(member)));
        if !read_by_old {
            let message = format!("{} is rejected by the old schema, which does not have the member", site.subject);
            outcome.aimed(site, &rules::MEMBER_REFUSED_BY_OLD, "", message, present.clone());
        }
        if !read_by_new {
            let message = format!("{} is rejected by the new schema, which allows less than the old one", site.subject);
            outcome.aimed(site, &rules::MEMBER_REFUSED_BY_NEW, "", message, present.clone());
        }
    }

    fn member_removed(&self, new: &ResolvedObject<'_>, member: &Member, site: &Site, outcome: &mut Outcome) {
        let rule = if member.required { &rules::MEMBER_REMOVED_REQUIRED } else { &rules::MEMBER_REMOVED_OPTIONAL };
        let others = new.other(&member.wire);
        let is_convention = matches!(others, OtherMembers::Anything);
        // Without a type, only the requirement has changed. Usually, the old schema does not declare the member either.
        let has_type = !matches!(member.value(), Some(Type::Any));
        let what = if member.required && is_convention && !has_type { "is no longer required" } else { "was removed" };
        let difference = site.difference(rule, "", format!("{} {what}", site.subject));
        let (absent, present) = (Aim::Absent(member.wire.clone()), Aim::Present(member.wire.clone()));
        outcome.differences.push(Difference { is_convention, aim: Some(absent), ..difference });
        let (read_by_old, read_by_new) = self.fits(others, member, |rest| {
            let (read_by_new, read_by_old) = self.both_fit(Ok(member), Err(rest));
            (read_by_old, read_by_new)
        });
        if !read_by_new {
            let message = format!("{} is rejected by the new schema, which no longer has the member", site.subject);
            outcome.aimed(site, &rules::MEMBER_REFUSED_BY_NEW, "", message, present.clone());
        }
        if !read_by_old {
            let message = format!("{} is rejected by the old schema, which allows less than the new one", site.subject);
            outcome.aimed(site, &rules::MEMBER_REFUSED_BY_OLD, "", message, present.clone());
        }
    }

    /// Returns whether the side that names a member accepts what the other side sends without naming it, and whether the
    /// other side accepts the member. By convention, nobody sends members that an open object says nothing about.
    fn fits(
        &self,
        others: OtherMembers<'_>,
        member: &Member,
        compare: impl FnOnce(&Type) -> (bool, bool),
    ) -> (bool, bool) {
        match others {
            OtherMembers::Anything => (member.content != Content::Value(Type::Never), true),
            OtherMembers::Refused => (true, member.content == Content::Value(Type::Never)),
            OtherMembers::Of(rest) => compare(rest),
        }
    }

    /// Compares a named member on one side with an unnamed one on the other. Returns whether the new side accepts the
    /// old one, and the reverse.
    fn both_fit(&self, old: Result<&Member, &Type>, new: Result<&Member, &Type>) -> (bool, bool) {
        let content = |side: Result<&Member, &Type>| match side {
            Err(content) => Some(content.clone()),
            Ok(Member { content: Content::Value(content), .. }) => Some(content.clone()),
            Ok(_) => None,
        };
        let constant = |side: Result<&Member, &Type>| match side {
            Ok(Member { content: Content::Constant(value), .. }) => Some(value.clone()),
            _ => None,
        };
        let is_only = |protocol: &Protocol, rest: &Type, value: &Json| match protocol.resolved(rest) {
            Resolved::Values(values) => values.iter().all(|it| it == value),
            Resolved::Never => true,
            _ => false,
        };
        match (content(old), content(new), constant(old).or(constant(new))) {
            (Some(before), Some(after), _) => {
                let (forward, back) = self.worst(&before, &after);
                (forward == Verdict::Compatible, back == Verdict::Compatible)
            }
            (None, Some(rest), Some(value)) => {
                (self.takes(self.new, &rest, value.clone()), is_only(self.new, &rest, &value))
            }
            (Some(rest), None, Some(value)) => {
                (is_only(self.old, &rest, &value), self.takes(self.old, &rest, value.clone()))
            }
            _ => (true, true),
        }
    }

    fn takes(&self, protocol: &Protocol, content: &Type, value: Json) -> bool {
        let resolved = protocol.resolved(content);
        match &resolved {
            Resolved::Any => protocol.checks_of(content).iter().all(|check| check.accepts(&value, &protocol.checks)),
            Resolved::Values(values) => values.contains(&value),
            resolved => self.accepts(protocol, &[value], resolved, content),
        }
    }

    fn members(&self, old: &'p Member, new: &'p Member, site: &Site, outcome: &mut Outcome) {
        let absent = Aim::Absent(new.wire.clone());
        match (old.required, new.required) {
            (false, true) => {
                outcome.aimed(
                    site,
                    &rules::MEMBER_BECAME_REQUIRED,
                    "",
                    format!("{} is required", site.subject),
                    absent,
                );
            }
            (true, false) => {
                outcome.aimed(
                    site,
                    &rules::MEMBER_BECAME_OPTIONAL,
                    "",
                    format!("{} may be absent", site.subject),
                    absent,
                );
            }
            _ => {}
        }
        outcome.remarks(site, (old.deprecated, new.deprecated), (old.description.as_ref(), new.description.as_ref()));
        if old.default != new.default {
            let words = |default: &Option<Json>| default.as_ref().map_or("none".to_owned(), Json::to_string);
            let (before, after) = (words(&old.default), words(&new.default));
            let message = format!("the default of {} is {after} instead of {before}", site.subject);
            outcome.add(site, &rules::DEFAULT_CHANGED, &after, message);
        }
        match (&old.content, &new.content) {
            (Content::Value(before), Content::Value(after)) => self.expressions(before, after, site, outcome),
            _ => self.constants(old, new, site, outcome),
        }
    }

    /// Compares two members of which at least one is a constant.
    fn constants(&self, old: &'p Member, new: &'p Member, site: &Site, outcome: &mut Outcome) {
        match (self.old.resolved_member(old), self.new.resolved_member(new)) {
            (Resolved::Values(before), Resolved::Values(after)) => self.fixed(&before, &after, site, outcome),
            (Resolved::Values(values), _) => {
                let Content::Value(content) = &new.content else { return };
                match values.iter().all(|value| self.takes(self.new, content, value.clone())) {
                    true => self.opened(&values, content, site, outcome),
                    false => {
                        let (was, is) = (list(&values), self.words(self.new, content));
                        outcome.add(
                            site,
                            &rules::TYPE_CHANGED,
                            "",
                            format!("{} is {is} instead of {was}", site.subject),
                        );
                    }
                }
            }
            (_, Resolved::Values(values)) => {
                let Content::Value(content) = &old.content else { return };
                match values.iter().all(|value| self.takes(self.old, content, value.clone())) {
                    true => self.closed(content, &values, site, outcome),
                    false => {
                        let (was, is) = (self.words(self.old, content), list(&values));
                        outcome.add(
                            site,
                            &rules::TYPE_CHANGED,
                            "",
                            format!("{} is {is} instead of {was}", site.subject),
                        );
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the types of whole messages, with their kind if it is known.
fn messages(protocol: &Protocol) -> HashMap<TypeId, Option<MessageKind>> {
    let requests = protocol.requests.iter().filter(|it| !it.senders.is_empty());
    let requests = requests.map(|it| (it.type_id, Some(MessageKind::Request)));
    let notifications = protocol.notifications.iter().map(|it| (it.type_id, Some(MessageKind::Notification)));
    // In the base types of messages, the method is not a constant.
    let bases = protocol.types.iter().enumerate().filter_map(|(id, def)| {
        let Shape::Struct(body) = &def.shape else { return None };
        let member = |name: &str| body.members.iter().find(|member| member.wire == name && member.required);
        matches!(member("method")?.content, Content::Value(_)).then(|| {
            let notification = || member("jsonrpc").map(|_| MessageKind::Notification);
            (id, member("id").map(|_| MessageKind::Request).or_else(notification))
        })
    });
    bases.chain(requests).chain(notifications).collect()
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

fn within(range: Integers, bounds: &Bounds) -> bool {
    let ends = [range.first, range.last].map(serde_json::Number::from_i128);
    ends.iter().all(|end| end.as_ref().is_some_and(|end| bounds.contain(end)))
}

fn worst_of(outcome: &Outcome) -> BothWays {
    let rules = outcome.differences.iter().map(|it| it.rule).chain(outcome.silent.iter().copied());
    rules.fold(COMPATIBLE, |worst, rule: &Rule| (worst.0.max(rule.old_to_new), worst.1.max(rule.new_to_old)))
}
