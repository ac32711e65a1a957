//! Compares the values of two type expressions.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use mcpgen_model::{AliasRule, JsonTypes, MessageKind, Protocol, Shape, Tuple, Type, TypeId, Union, Value};
use mcpgen_schema::json::Json;

use crate::models::difference::{Outcome, Site, definition, place};
use crate::models::evidence::{Effort, Versions};
use crate::models::limits::{
    Relation, accepts, bounds_in_words, fixed, integers_in_words, length_in_words, lengths, list, within,
};
use crate::models::resolved::{Integers, Resolve, Resolved, types};
use crate::models::rules::Rule;
use crate::models::senders::messages;
use crate::models::verdict::Verdict;

/// Compares values of two models.
pub(super) struct Values<'p> {
    pub(super) old: &'p Protocol,
    pub(super) new: &'p Protocol,
    /// Whether readers store integers in 64 bits, as the generated types do.
    pub(super) has_64_bit_readers: bool,
    pub(super) known: Known,
    pub(super) effort: Rc<Effort>,
    /// A cache of the pairs of types that were compared as checks.
    pub(super) as_checks: RefCell<HashMap<(Type, Type, bool), Rc<Versions>>>,
    /// The types of whole messages, with their kinds.
    pub(super) messages: [HashMap<TypeId, Option<MessageKind>>; 2],
}

/// Verdicts on documents from old to new, and from new to old.
pub(super) type BothWays = [Verdict; 2];

pub(super) type Pair = (TypeId, TypeId);

/// What is known about pairs of named types.
pub(super) struct Known {
    /// For each pair: its verdicts without those of nested named types, and the pairs of these types.
    pub(super) results: RefCell<HashMap<Pair, (BothWays, Vec<Pair>)>>,
    /// The pairs that are being compared. Their results are not known yet.
    pub(super) open: RefCell<HashSet<Pair>>,
    /// How many more pairs `worst` may compare. After that, it counts new pairs as breaking.
    pub(super) fuel: Cell<u32>,
}

impl Default for Known {
    fn default() -> Known {
        // Enough for any real schema.
        Known { results: RefCell::default(), open: RefCell::default(), fuel: Cell::new(200_000) }
    }
}

impl<'p> Values<'p> {
    pub(super) fn new(old: &'p Protocol, new: &'p Protocol, effort: Rc<Effort>) -> Self {
        Values {
            old,
            new,
            has_64_bit_readers: true,
            known: Known::default(),
            effort,
            as_checks: RefCell::default(),
            messages: [old, new].map(messages),
        }
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
        let message = self.messages[0].get(&old).zip(self.messages[1].get(&new)).and_then(|(was, is)| was.or(*is));
        let name = definition(self.new, &Type::Named(new)).or(definition(self.old, &Type::Named(old)));
        let site = Site {
            subject: name.unwrap_or(&site.subject).to_owned(),
            old: Some(place(self.old, old)),
            new: Some(place(self.new, new)),
            message,
            ..Site::default()
        };
        let mut outcome = Outcome::default();
        outcome.remarks(&site, (was.deprecated, is.deprecated), (was.description.as_ref(), is.description.as_ref()));
        if name.is_some() && was.name == is.name {
            outcome.rust_name(&site, "", &was.rust, &is.rust);
        }
        if let (Shape::Enum(was) | Shape::OpenEnum(was), Shape::Enum(is) | Shape::OpenEnum(is)) =
            (&was.shape, &is.shape)
        {
            for value in is {
                let before = was.iter().find(|before| before.json == value.json);
                let before = before.map_or(&value.rust, |before| &before.rust);
                outcome.rust_name(&site, &value.json.to_string(), before, &value.rust);
            }
        }
        let mut inner = Outcome::default();
        self.compare_resolved(&Type::Named(old), &Type::Named(new), &site, &mut inner);
        if was.is_message_set() && is.is_message_set() {
            outcome.silent.extend(inner.differences.iter().map(|it| it.rule));
        } else {
            outcome.differences.extend(inner.differences);
        }
        outcome.silent.extend(inner.silent);
        outcome.children = inner.children;
        outcome
    }

    /// Returns whether two definitions have the same structure, so that one may be the other one under a new name.
    pub(super) fn same(&self, old: TypeId, new: TypeId) -> bool {
        // The sorted names of an object's members. `None` if the type says too little to be recognised.
        let members = |protocol: &Protocol, id: TypeId| match &protocol.types[id].shape {
            Shape::Struct(body) if body.members.is_empty() => None,
            Shape::Struct(body) => {
                let mut names: Vec<String> = body.members.iter().map(|member| member.wire.clone()).collect();
                names.sort_unstable();
                Some(names)
            }
            Shape::Union(_) | Shape::Enum(_) => Some(Vec::new()),
            _ => None,
        };
        members(self.old, old).is_some_and(|names| Some(names) == members(self.new, new))
            && self.worst(&Type::Named(old), &Type::Named(new)) == [Verdict::Compatible; 2]
    }

    pub(super) fn expressions(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        if let (Some(before), Some(after)) = (definition(self.old, old), definition(self.new, new))
            && before != after
        {
            outcome.add(site, Rule::TypeRenamedInUse, &format!("has the type {after} instead of {before}"));
        }
        for (old, new) in self.absorbed(old, new) {
            outcome.children.push((old, new, site.clone()));
        }
        match (self.old.follow(old), self.new.follow(new)) {
            (Type::Named(old), Type::Named(new)) => outcome.children.push((*old, *new, site.clone())),
            (old, new) => self.compare_resolved(old, new, site, outcome),
        }
    }

    /// If one alternative of a union accepts all values of the others in one version only, pairs these others with the
    /// alternatives of the same names in the other version.
    fn absorbed(&self, old: &Type, new: &Type) -> Vec<(TypeId, TypeId)> {
        let named = |protocol: &Protocol, names: &[String]| {
            names.iter().filter_map(|name| protocol.types.named(name)).collect::<Vec<_>>()
        };
        // A plain alias of such a union counts as the union itself.
        let shape = |protocol: &'p Protocol, content: &Type| {
            let mut content = content;
            for _ in 0..=protocol.types.len() {
                let Type::Named(id) = content else { break };
                match &protocol.types[*id].shape {
                    Shape::Alias(inner, AliasRule::Plain) => content = inner,
                    shape => return Some(shape),
                }
            }
            None
        };
        let variants = |union: &Union| {
            let ids = union.variants.iter().filter_map(|it| match it.content {
                Type::Named(id) => Some(id),
                _ => None,
            });
            ids.collect::<Vec<_>>()
        };
        let (olds, news) = match (shape(self.old, old), shape(self.new, new)) {
            (Some(Shape::Alias(_, AliasRule::Absorbed(names))), Some(Shape::Union(union))) => {
                (named(self.old, names), variants(union))
            }
            (Some(Shape::Union(union)), Some(Shape::Alias(_, AliasRule::Absorbed(names)))) => {
                (variants(union), named(self.new, names))
            }
            _ => return Vec::new(),
        };
        let pairs = olds.into_iter().filter_map(|old| {
            let is_same = |new: &&TypeId| self.old.types[old].name == self.new.types[**new].name;
            Some((old, *news.iter().find(is_same)?))
        });
        pairs.collect()
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
                outcome.add(site, Rule::NullAllowed, "may be null");
                return self.expressions(old, new, site, outcome);
            }
            (Type::Nullable(old), new) if !takes_null(self.new, new) => {
                outcome.add(site, Rule::NullForbidden, "may no longer be null");
                return self.expressions(old, new, site, outcome);
            }
            _ => {}
        }
        self.known_values(old, new, site, outcome);
        let (was, is) = (self.old.resolved(old), self.new.resolved(new));
        match (&was, &is) {
            (Resolved::Any, Resolved::Any) | (Resolved::Never, Resolved::Never) | (Resolved::Null, Resolved::Null) => {}
            (Resolved::Boolean, Resolved::Boolean) => {}
            (Resolved::String(a), Resolved::String(b)) => lengths(a, b, "characters", site, outcome),
            (Resolved::Integer(a), Resolved::Integer(b)) => self.integers(*a, *b, site, outcome),
            (Resolved::Number(a), Resolved::Number(b)) => {
                let relation = Relation::of(b.include(a), a.include(b), a.is_free(), b.is_free());
                relation.report(site, outcome, &bounds_in_words(a), &bounds_in_words(b));
            }
            (Resolved::List(a, was), Resolved::List(b, is)) => {
                lengths(was, is, "items", site, outcome);
                self.expressions(a, b, &site.below("[]", "/items"), outcome);
            }
            (Resolved::Tuple(a), Resolved::Tuple(b)) if a.first.len() == b.first.len() => {
                self.tuples(a, b, (old, new), site, outcome);
            }
            (Resolved::Tuple(_), Resolved::Tuple(_) | Resolved::List(..))
            | (Resolved::List(..), Resolved::Tuple(_)) => {
                let message = format!("the first items of {} differ", site.subject);
                self.as_a_whole(old, new, message, site, outcome);
            }
            (Resolved::Object(a), Resolved::Object(b)) => {
                self.patterns((old, a), (new, b), site, outcome);
                self.objects(a, b, site, outcome);
            }
            (Resolved::Values(a), Resolved::Values(b)) => fixed(a, b, site, outcome),
            (Resolved::Union(a), Resolved::Union(b)) => self.unions((old, Some(a)), (new, Some(b)), site, outcome),
            (Resolved::Any, _) | (_, Resolved::Never) => self.types(Rule::TypeNarrowed, old, new, site, outcome),
            (_, Resolved::Any) | (Resolved::Never, _) => self.types(Rule::TypeWidened, old, new, site, outcome),
            (Resolved::Union(a), _) => self.unions((old, Some(a)), (new, None), site, outcome),
            (_, Resolved::Union(b)) => self.unions((old, None), (new, Some(b)), site, outcome),
            (Resolved::Values(values), other) if accepts(self.new, values, other, new) => {
                self.opened(values, new, site, outcome);
            }
            (other, Resolved::Values(values)) if accepts(self.old, values, other, old) => {
                self.closed(old, values, site, outcome);
            }
            (Resolved::Integer(a), Resolved::Number(b)) if within(*a, b) => {
                self.types(Rule::TypeWidened, old, new, site, outcome);
            }
            (Resolved::Number(a), Resolved::Integer(b)) if within(*b, a) => {
                self.types(Rule::TypeNarrowed, old, new, site, outcome);
            }
            _ => self.types(Rule::TypeChanged, old, new, site, outcome),
        }
    }

    /// Compares the known values of open enumerations.
    fn known_values(&self, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        let (was, is) = (self.old.known_values(old), self.new.known_values(new));
        let missing_in = |values: &[Value], value: &Value| !values.iter().any(|other| other.json == value.json);
        for Value { json, .. } in is.iter().filter(|value| missing_in(was, value)) {
            let words = format!("has the new known value {json}");
            outcome.add(site, Rule::KnownValueAdded, &words).detail = json.to_string();
        }
        for Value { json, .. } in was.iter().filter(|value| missing_in(is, value)) {
            let words = format!("no longer lists the known value {json}");
            outcome.add(site, Rule::KnownValueRemoved, &words).detail = json.to_string();
        }
    }

    fn tuples(&self, old: &Tuple, new: &Tuple, types: (&Type, &Type), site: &Site, outcome: &mut Outcome) {
        for (index, (before, after)) in old.first.iter().zip(&new.first).enumerate() {
            let below = site.below(&format!("[{index}]"), &format!("/prefixItems/{index}"));
            self.expressions(&before.content, &after.content, &below, outcome);
        }
        match (&old.rest, &new.rest) {
            (Some(before), Some(after)) => self.expressions(before, after, &site.below("[]", "/items"), outcome),
            (None, Some(_)) => self.types(Rule::TypeWidened, types.0, types.1, site, outcome),
            (Some(_), None) => self.types(Rule::TypeNarrowed, types.0, types.1, site, outcome),
            (None, None) => {}
        }
    }

    pub(super) fn opened(&self, old: &[Json], new: &Type, site: &Site, outcome: &mut Outcome) {
        let words = format!("may be {} instead of {}", self.words(self.new, new), list(old));
        outcome.add(site, Rule::ValuesOpened, &words);
    }

    pub(super) fn closed(&self, old: &Type, new: &[Json], site: &Site, outcome: &mut Outcome) {
        let words = format!("may only be {} instead of {}", list(new), self.words(self.old, old));
        outcome.add(site, Rule::ValuesClosed, &words);
    }

    /// Adds a difference between two types. Types that differ may still have the same description.
    fn types(&self, rule: Rule, old: &Type, new: &Type, site: &Site, outcome: &mut Outcome) {
        // The subject's own name would tell the reader nothing.
        let words = |protocol: &Protocol, content: &Type| match definition(protocol, content) == Some(&site.subject) {
            true => self.words_without_name(protocol, content),
            false => self.words(protocol, content),
        };
        let (was, is) = (words(self.old, old), words(self.new, new));
        let words = match rule {
            Rule::TypeWidened if was == is => "accepts more values".to_owned(),
            Rule::TypeNarrowed if was == is => "accepts fewer values".to_owned(),
            _ if was == is => "accepts other values".to_owned(),
            Rule::TypeWidened => format!("may be {is} instead of only {was}"),
            Rule::TypeNarrowed => format!("is only {is} instead of {was}"),
            _ => format!("is {is} instead of {was}"),
        };
        outcome.add(site, rule, &words);
    }

    /// Describes a type: by the name of its definition, or else by its expression. Other types have names only in
    /// Rust.
    pub(super) fn words(&self, protocol: &Protocol, content: &Type) -> String {
        if definition(protocol, content).is_some() {
            return protocol.describe(content);
        }
        self.words_without_name(protocol, content)
    }

    fn words_without_name(&self, protocol: &Protocol, content: &Type) -> String {
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

    fn integers(&self, old: Integers, new: Integers, site: &Site, outcome: &mut Outcome) {
        let (was, is) = match self.has_64_bit_readers {
            true => (old, new),
            false => (old.without_limits_of_doubles(), new.without_limits_of_doubles()),
        };
        let free = |range: Integers| range.without_limits_of_types() == Integers::ALL;
        let relation = Relation::of(is.include(was), was.include(is), free(old), free(new));
        relation.report(site, outcome, &integers_in_words(old), &integers_in_words(new));
    }
}
