//! Two type expressions, what differs between their values, and whether one takes all that the other has.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use crate::diff::compare::{Difference, Local, Site, definition, place, rule};
use crate::diff::view::{Choice, Facts, Integers, Object, Others, View, reachable, types};
use crate::diff::{Place, Rule, Verdict};
use crate::json::{Json, escape};
use crate::naming;
use crate::protocol::{Content, Member, Messages, Protocol, Shape, Type, TypeId};
use crate::schema::{Bounds, Length};

/// Compares values of two models.
pub(super) struct Values<'p> {
    old: &'p Protocol,
    new: &'p Protocol,
    /// What pairs of named types differ in by themselves.
    known: RefCell<HashMap<Pair, Known>>,
    /// Pairs that are being compared: nothing is claimed of them yet.
    open: RefCell<HashSet<Pair>>,
    /// How many more pairs are looked into for the sake of unions.
    fuel: Cell<u32>,
    /// Whether a type is a request or a notification that travels by itself.
    old_messages: HashMap<TypeId, bool>,
    new_messages: HashMap<TypeId, bool>,
}

/// The worst of some rules, for messages from old to new and from new to old.
type Flow = (Verdict, Verdict);

type Pair = (TypeId, TypeId);

/// What two named types differ in by themselves, and which named types in them take each other's place.
type Known = (Flow, Vec<Pair>);

/// Enough for any schema; hostile ones end.
const FUEL: u32 = 200_000;

/// A type, and its alternatives if it is a union.
type Side<'a, 'p> = (&'a Type, Option<&'a Choice<'p>>);

/// Whether an old and a new alternative are each other's.
type Alike<'a> = &'a dyn Fn(&Type, &Type) -> bool;

const FINE: Flow = (Verdict::Compatible, Verdict::Compatible);

impl<'p> Values<'p> {
    pub(super) fn new(old: &'p Protocol, new: &'p Protocol) -> Self {
        let messages = |protocol: &Protocol| {
            let requests = protocol.requests.iter().filter(|it| !it.senders.is_empty()).map(|it| (it.type_id, true));
            let notifications = protocol.notifications.iter().map(|it| (it.type_id, false));
            requests.chain(notifications).collect()
        };
        let (old_messages, new_messages) = (messages(old), messages(new));
        let (known, open, fuel) = (RefCell::default(), RefCell::default(), Cell::new(FUEL));
        Values { old, new, known, open, fuel, old_messages, new_messages }
    }

    /// What differs between two expressions, and which named types in them take each other's place.
    pub(super) fn compare(&self, old: &Type, new: &Type, site: &Site) -> Local {
        let mut local = Local::default();
        self.expressions(old, new, site, &mut local);
        local
    }

    /// What differs between two named types by themselves.
    pub(super) fn compare_named(&self, old: TypeId, new: TypeId, site: &Site) -> Local {
        let (was, is) = (&self.old.types[old], &self.new.types[new]);
        let message = self.old_messages.get(&old).filter(|_| self.new_messages.contains_key(&new)).copied();
        let name = definition(self.new, &Type::Named(new)).or(definition(self.old, &Type::Named(old)));
        let site = Site {
            subject: name.unwrap_or(&site.subject).to_owned(),
            old: Some(place(self.old, old)),
            new: Some(place(self.new, new)),
            message,
        };
        let mut local = Local::default();
        let mut differ = |name: &str, message: String| local.differences.push(site.difference(name, "", message));
        match (was.deprecated, is.deprecated) {
            (false, true) => differ("deprecated", format!("{} is deprecated", site.subject)),
            (true, false) => differ("undeprecated", format!("{} is no longer deprecated", site.subject)),
            _ => {}
        }
        if let (Some(before), Some(after)) = (&was.description, &is.description)
            && before != after
        {
            differ("documentation-changed", format!("{} is described differently", site.subject));
        }
        let silent = self.is_message_union(old, new);
        let mut inner = Local::default();
        let (old_type, new_type) = (Type::Named(old), Type::Named(new));
        self.views(&old_type, &new_type, &site, &mut inner);
        if silent {
            local.silent.extend(inner.differences.iter().map(|it| it.rule));
        } else {
            local.differences.extend(inner.differences);
        }
        local.silent.extend(inner.silent);
        local.children = inner.children;
        local
    }

    /// Whether the two are definitions of one structure, worth being called the same.
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
            && self.worst(&Type::Named(old), &Type::Named(new)) == FINE
    }

    /// The worst that differs between two expressions, all that they hold included.
    pub(super) fn worst(&self, old: &Type, new: &Type) -> Flow {
        let here = self.compare(old, new, &Site::nowhere());
        let mut worst = worst_of(&here);
        let mut queue: Vec<Pair> = here.children.iter().map(|(old, new, _)| (*old, *new)).collect();
        let mut seen = HashSet::new();
        while let Some(pair) = queue.pop() {
            if !seen.insert(pair) {
                continue;
            }
            let (flow, children) = self.local(pair);
            worst = (worst.0.max(flow.0), worst.1.max(flow.1));
            queue.extend(children);
        }
        worst
    }

    /// What two named types differ in by themselves. A pair that is being compared right now counts as breaking, so that
    /// nothing is claimed on the ground of itself; and so does everything once the fuel is spent.
    fn local(&self, pair: Pair) -> Known {
        if let Some(known) = self.known.borrow().get(&pair) {
            return known.clone();
        }
        self.fuel.set(self.fuel.get().saturating_sub(1));
        if self.fuel.get() == 0 || !self.open.borrow_mut().insert(pair) {
            return ((Verdict::Breaking, Verdict::Breaking), Vec::new());
        }
        let alone = self.open.borrow().len() == 1;
        let local = self.compare_named(pair.0, pair.1, &Site::nowhere());
        self.open.borrow_mut().remove(&pair);
        let result = (worst_of(&local), local.children.iter().map(|(old, new, _)| (*old, *new)).collect::<Vec<_>>());
        // What was found inside another comparison may have met that one.
        if alone {
            self.known.borrow_mut().insert(pair, result.clone());
        }
        result
    }

    fn is_message_union(&self, old: TypeId, new: TypeId) -> bool {
        let messages = |protocol: &Protocol, id: TypeId| {
            let name = &protocol.types[id].name;
            Messages::ALL.iter().any(|messages| messages.definition() == name)
        };
        messages(self.old, old) && messages(self.new, new)
    }

    fn expressions(&self, old: &Type, new: &Type, site: &Site, local: &mut Local) {
        if let (Some(before), Some(after)) = (definition(self.old, old), definition(self.new, new))
            && before != after
        {
            let message = format!("{} is of type {after} instead of {before}", site.subject);
            local.differences.push(site.difference("type-renamed-in-use", "", message));
        }
        match (self.old.follow(old), self.new.follow(new)) {
            (Type::Named(old), Type::Named(new)) => local.children.push((*old, *new, site.clone())),
            (old, new) => self.views(old, new, site, local),
        }
    }

    fn views(&self, old: &Type, new: &Type, site: &Site, local: &mut Local) {
        let takes_null = |protocol: &Protocol, content: &Type| types(protocol, content, 0) & 1 != 0;
        match (self.old.follow(old), self.new.follow(new)) {
            (Type::Nullable(old), Type::Nullable(new)) => return self.expressions(old, new, site, local),
            (old, Type::Nullable(new)) if !takes_null(self.old, old) => {
                local.add(site, "null-allowed", "", format!("{} may be null", site.subject));
                return self.expressions(old, new, site, local);
            }
            (Type::Nullable(old), new) if !takes_null(self.new, new) => {
                local.add(site, "null-forbidden", "", format!("{} may no longer be null", site.subject));
                return self.expressions(old, new, site, local);
            }
            _ => {}
        }
        let (was, is) = (self.old.view(old), self.new.view(new));
        match (&was, &is) {
            (View::Any, View::Any) | (View::Never, View::Never) | (View::Null, View::Null) => {}
            (View::Boolean, View::Boolean) => {}
            (View::String(a), View::String(b)) => self.lengths(a, b, "characters", site, local),
            (View::Integer(a), View::Integer(b)) => self.integers(*a, *b, site, local),
            (View::Number(a), View::Number(b)) => self.numbers(a, b, site, local),
            (View::List(a, was), View::List(b, is)) => {
                self.lengths(was, is, "items", site, local);
                self.expressions(a, b, &site.below("[]", "/items"), local);
            }
            (View::Object(a), View::Object(b)) => self.objects(a, b, site, local),
            (View::Values(a), View::Values(b)) => self.fixed(a, b, site, local),
            (View::Union(a), View::Union(b)) => self.unions((old, Some(a)), (new, Some(b)), site, local),
            (View::Any, _) | (_, View::Never) => self.narrowed(old, new, site, local),
            (_, View::Any) | (View::Never, _) => self.widened(old, new, site, local),
            (View::Union(a), _) => self.unions((old, Some(a)), (new, None), site, local),
            (_, View::Union(b)) => self.unions((old, None), (new, Some(b)), site, local),
            (View::Values(values), other) => match self.accepts(self.new, values, other, new) {
                true => {
                    let message =
                        format!("{} takes {} instead of {}", site.subject, self.words(self.new, new), list(values));
                    local.add(site, "values-opened", "", message);
                }
                false => self.changed(old, new, site, local),
            },
            (other, View::Values(values)) => match self.accepts(self.old, values, other, old) {
                true => {
                    let message = format!(
                        "{} takes only {}, no longer every {}",
                        site.subject,
                        list(values),
                        self.words(self.old, old)
                    );
                    local.add(site, "values-closed", "", message);
                }
                false => self.changed(old, new, site, local),
            },
            (View::Integer(a), View::Number(b)) if within(*a, b) => self.widened(old, new, site, local),
            (View::Number(a), View::Integer(b)) if within(*b, a) => self.narrowed(old, new, site, local),
            _ => self.changed(old, new, site, local),
        }
    }

    fn changed(&self, old: &Type, new: &Type, site: &Site, local: &mut Local) {
        self.types("type-changed", "is {new} instead of {old}", old, new, site, local);
    }

    fn widened(&self, old: &Type, new: &Type, site: &Site, local: &mut Local) {
        self.types("type-widened", "may be {new}, before only {old}", old, new, site, local);
    }

    fn narrowed(&self, old: &Type, new: &Type, site: &Site, local: &mut Local) {
        self.types("type-narrowed", "is only {new}, before {old}", old, new, site, local);
    }

    fn types(&self, name: &str, words: &str, old: &Type, new: &Type, site: &Site, local: &mut Local) {
        let words = words.replace("{new}", &self.words(self.new, new)).replace("{old}", &self.words(self.old, old));
        local.add(site, name, "", format!("{} {words}", site.subject));
    }

    /// A type in words: the name of a definition, or what the expression is.
    fn words(&self, protocol: &Protocol, content: &Type) -> String {
        if definition(protocol, content).is_some() {
            return protocol.describe(content);
        }
        match protocol.view(content) {
            View::Values(values) => list(&values),
            View::String(length) if !length.is_free() => {
                format!("a string of {}", length_in_words(&length, "characters"))
            }
            View::Object(object) if !object.members.is_empty() => "an object".to_owned(),
            View::Union(choice) => {
                let all: Vec<String> = choice.alternatives.iter().map(|it| self.words(protocol, it)).collect();
                all.join(" or ")
            }
            _ => protocol.describe(protocol.follow(content)),
        }
    }

    fn lengths(&self, old: &Length, new: &Length, unit: &str, site: &Site, local: &mut Local) {
        let relation = Relation::of(new.includes(old), old.includes(new), old.is_free(), new.is_free());
        relation.report(site, local, &length_in_words(old, unit), &length_in_words(new, unit));
    }

    fn integers(&self, old: Integers, new: Integers, site: &Site, local: &mut Local) {
        let free = |range: Integers| range == Integers { first: i64::MIN.into(), last: i64::MAX.into() };
        let relation = Relation::of(new.include(old), old.include(new), free(old), free(new));
        relation.report(site, local, &integers_in_words(old), &integers_in_words(new));
    }

    fn numbers(&self, old: &Bounds, new: &Bounds, site: &Site, local: &mut Local) {
        let relation = Relation::of(new.include(old), old.include(new), old.is_free(), new.is_free());
        relation.report(site, local, &bounds_in_words(old), &bounds_in_words(new));
    }

    fn fixed(&self, old: &[Json], new: &[Json], site: &Site, local: &mut Local) {
        if let ([before], [after]) = (old, new) {
            if before != after {
                let message = format!("{} is always {after} instead of {before}", site.subject);
                local.add(site, "constant-changed", &after.to_string(), message);
            }
            return;
        }
        for value in new.iter().filter(|value| !old.contains(value)) {
            let message = format!("{} may be {value}, which is new", site.subject);
            local.add(site, "enum-value-added", &value.to_string(), message);
        }
        for value in old.iter().filter(|value| !new.contains(value)) {
            let message = format!("{} may no longer be {value}", site.subject);
            local.add(site, "enum-value-removed", &value.to_string(), message);
        }
    }

    /// Whether a scalar type takes each of these values.
    fn accepts(&self, protocol: &Protocol, values: &[Json], view: &View<'_>, content: &Type) -> bool {
        let within = |value: &Json| match (view, value) {
            (View::String(length), Json::String(text)) => length.contains(text.chars().count() as u64),
            (View::Integer(range), Json::Number(number)) => crate::json::integer(number)
                .is_some_and(|number| range.include(Integers { first: number, last: number })),
            (View::Number(bounds), Json::Number(number)) => bounds.contain(number),
            (View::Boolean, Json::Bool(_)) | (View::Null, Json::Null) => true,
            _ => false,
        };
        types(protocol, content, 0) != 0 && values.iter().all(within)
    }

    fn objects(&self, old: &Object<'p>, new: &Object<'p>, site: &Site, local: &mut Local) {
        let named = |members: &'p [Member], name: &str| members.iter().find(|member| member.wire == name);
        for member in new.members {
            let site = site.member(member, named(old.members, &member.wire), Some(member));
            match named(old.members, &member.wire) {
                Some(before) => self.members(before, member, &site, local),
                None if self.is_envelope(&site, member) => {
                    local.add(&site, "envelope-stated", "", format!("{} is stated", site.subject));
                }
                None => self.member_added(old, member, &site, local),
            }
        }
        for member in old.members.iter().filter(|member| named(new.members, &member.wire).is_none()) {
            let site = site.member(member, Some(member), None);
            match self.is_envelope(&site, member) {
                true => local.add(&site, "envelope-unstated", "", format!("{} is unstated", site.subject)),
                false => self.member_removed(new, member, &site, local),
            }
        }
        let below = site.below(".*", "/additionalProperties");
        let content = |rest: Others<'p>| match rest {
            Others::Anything => Type::Any,
            Others::Of(content) => content.clone(),
            Others::Refused => Type::Never,
        };
        match (old.rest, new.rest) {
            (Others::Refused, Others::Refused) => {}
            (Others::Refused, _) => {
                let message = format!("{} may have members that the schema does not name", site.subject);
                local.add(site, "object-opened", "", message);
            }
            (_, Others::Refused) => {
                let message = format!("{} may not have members that the schema does not name", site.subject);
                local.add(site, "object-closed", "", message);
            }
            (old, new) => self.expressions(&content(old), &content(new), &below, local),
        }
    }

    /// Whether this is `jsonrpc` or `id` of a message: on the wire they are there, stated or not.
    fn is_envelope(&self, site: &Site, member: &Member) -> bool {
        let is_request = site.message;
        match member.wire.as_str() {
            "jsonrpc" => is_request.is_some() && member.content == Content::Constant(Json::String("2.0".into())),
            "id" => is_request == Some(true) && member.required,
            _ => false,
        }
    }

    fn member_added(&self, old: &Object<'_>, member: &Member, site: &Site, local: &mut Local) {
        let (name, words) = match member.required {
            true => ("member-added-required", "new and required"),
            false => ("member-added-optional", "new"),
        };
        local.add(site, name, "", format!("{} is {words}", site.subject));
        let fits = match old.rest {
            Others::Anything => true,
            Others::Refused => false,
            Others::Of(rest) => self.member_fits(Err(rest), Ok(member)),
        };
        if !fits {
            let message = format!("{} is refused by the old schema, which does not know the member", site.subject);
            local.add(site, "member-refused-by-old", "", message);
        }
    }

    fn member_removed(&self, new: &Object<'_>, member: &Member, site: &Site, local: &mut Local) {
        let name = if member.required { "member-removed-required" } else { "member-removed-optional" };
        local.add(site, name, "", format!("{} is gone", site.subject));
        let fits = match new.rest {
            Others::Anything => true,
            Others::Refused => false,
            Others::Of(rest) => self.member_fits(Ok(member), Err(rest)),
        };
        if !fits {
            let message = format!("{} is refused by the new schema, which no longer knows the member", site.subject);
            local.add(site, "member-refused-by-new", "", message);
        }
    }

    /// Whether what a member holds is fine as a member without a name on the other side.
    fn member_fits(&self, old: Result<&Member, &Type>, new: Result<&Member, &Type>) -> bool {
        let content = |side: Result<&Member, &Type>| match side {
            Err(content) => Some(content.clone()),
            Ok(Member { content: Content::Value(content), .. }) => Some(content.clone()),
            Ok(_) => None,
        };
        let constant = |side: Result<&Member, &Type>| match side {
            Ok(Member { content: Content::Constant(value), .. }) => Some(value.clone()),
            _ => None,
        };
        match (content(old), content(new)) {
            (Some(before), Some(after)) if old.is_ok() => self.worst(&before, &after).0 == Verdict::Compatible,
            (Some(before), Some(after)) => self.worst(&before, &after).1 == Verdict::Compatible,
            (None, Some(rest)) => constant(old).is_some_and(|value| self.takes(self.new, &rest, value)),
            (Some(rest), None) => constant(new).is_some_and(|value| self.takes(self.old, &rest, value)),
            (None, None) => true,
        }
    }

    fn takes(&self, protocol: &Protocol, content: &Type, value: Json) -> bool {
        let view = protocol.view(content);
        match &view {
            View::Any => true,
            View::Values(values) => values.contains(&value),
            view => self.accepts(protocol, &[value], view, content),
        }
    }

    fn members(&self, old: &'p Member, new: &'p Member, site: &Site, local: &mut Local) {
        match (old.required, new.required) {
            (false, true) => local.add(site, "member-became-required", "", format!("{} is required", site.subject)),
            (true, false) => local.add(site, "member-became-optional", "", format!("{} may be absent", site.subject)),
            _ => {}
        }
        match (old.deprecated, new.deprecated) {
            (false, true) => local.add(site, "deprecated", "", format!("{} is deprecated", site.subject)),
            (true, false) => local.add(site, "undeprecated", "", format!("{} is no longer deprecated", site.subject)),
            _ => {}
        }
        if let (Some(before), Some(after)) = (&old.description, &new.description)
            && before != after
        {
            local.add(site, "documentation-changed", "", format!("{} is described differently", site.subject));
        }
        if old.default != new.default {
            let words = |default: &Option<Json>| default.as_ref().map_or("none".to_owned(), Json::to_string);
            let (before, after) = (words(&old.default), words(&new.default));
            let message = format!("the default of {} is {after}, before {before}", site.subject);
            local.add(site, "default-changed", &after, message);
        }
        match (&old.content, &new.content) {
            (Content::Value(before), Content::Value(after)) => self.expressions(before, after, site, local),
            _ => self.constants(old, new, site, local),
        }
    }

    /// Two members of which at least one is a constant.
    fn constants(&self, old: &'p Member, new: &'p Member, site: &Site, local: &mut Local) {
        match (self.old.view_of_member(old), self.new.view_of_member(new)) {
            (View::Values(before), View::Values(after)) => self.fixed(&before, &after, site, local),
            (View::Values(values), _) => {
                let Content::Value(content) = &new.content else { return };
                let name =
                    if self.takes(self.new, content, values[0].clone()) { "values-opened" } else { "type-changed" };
                let words = self.words(self.new, content);
                local.add(site, name, "", format!("{} takes {words} instead of {}", site.subject, list(&values)));
            }
            (_, View::Values(values)) => {
                let Content::Value(content) = &old.content else { return };
                let name =
                    if self.takes(self.old, content, values[0].clone()) { "values-closed" } else { "type-changed" };
                let words = self.words(self.old, content);
                local.add(site, name, "", format!("{} takes only {}, before {words}", site.subject, list(&values)));
            }
            _ => {}
        }
    }

    fn unions(&self, old: Side<'_, 'p>, new: Side<'_, 'p>, site: &Site, local: &mut Local) {
        let alternatives = |(content, choice): Side<'_, 'p>| {
            choice.map_or_else(|| vec![content.clone()], |choice| choice.alternatives.clone())
        };
        let (olds, news) = (alternatives(old), alternatives(new));
        let matches = self.matches(&olds, &news);
        let newly = |index: usize| matches.iter().find(|(old, _)| *old == index).map(|(_, new)| *new);
        let formerly = |index: usize| matches.iter().find(|(_, new)| *new == index).map(|(old, _)| *old);
        for (before, after) in &matches {
            self.expressions(&olds[*before], &news[*after], site, local);
        }
        for (index, alternative) in news.iter().enumerate() {
            let taken = self.taken((alternative, index, new.1), false, old.1, &olds, formerly(index));
            let name = self.new.describe(alternative);
            match (formerly(index), taken) {
                (_, true) => {}
                (None, false) => {
                    let message =
                        format!("{} may be {}, which is new", site.subject, self.words(self.new, alternative));
                    local.add(site, "union-member-added", &name, message);
                }
                (Some(_), false) => {
                    let message = format!("the old schema may take a {name} in {} for another member", site.subject);
                    local.add(site, "union-redecided-by-old", &name, message);
                }
            }
        }
        for (index, alternative) in olds.iter().enumerate() {
            let taken = self.taken((alternative, index, old.1), true, new.1, &news, newly(index));
            let name = self.old.describe(alternative);
            match (newly(index), taken) {
                (_, true) => {}
                (None, false) => {
                    let message = format!("{} may no longer be {}", site.subject, self.words(self.old, alternative));
                    local.add(site, "union-member-removed", &name, message);
                }
                (Some(_), false) => {
                    let message = format!("the new schema may take a {name} in {} for another member", site.subject);
                    local.add(site, "union-redecided-by-new", &name, message);
                }
            }
        }
    }

    /// Whether the reader decides for the counterpart of a sender's alternative, or for a member that takes all of it.
    fn taken(
        &self,
        (content, index, choice): (&Type, usize, Option<&Choice<'p>>),
        from_old: bool,
        reader: Option<&Choice<'p>>,
        members: &[Type],
        counterpart: Option<usize>,
    ) -> bool {
        let (sender, reading) = if from_old { (self.old, self.new) } else { (self.new, self.old) };
        let facts = Facts::of(choice.and_then(|choice| choice.decision), index);
        let possible = facts.iter().map(|facts| match reader {
            Some(reader) => reachable(reading, reader, sender, content, facts),
            None => (vec![0], false),
        });
        let fits = |member: usize| {
            counterpart == Some(member)
                || match from_old {
                    true => self.worst(content, &members[member]).0 == Verdict::Compatible,
                    false => self.worst(&members[member], content).1 == Verdict::Compatible,
                }
        };
        possible.into_iter().all(|(reached, may_fail)| !may_fail && reached.into_iter().all(fits))
    }

    /// Which alternatives of two unions are each other's: by name, by tag, by JSON type.
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
            types(self.old, old, 0) == types(self.new, new, 0) && !matches!(self.old.view(old), View::Object(_))
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
        // What is left over on both sides alone is compared, so that its differences are named.
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

/// The constants of a struct that must be there.
fn tags(protocol: &Protocol, content: &Type) -> Vec<(String, Json)> {
    let members = protocol.as_struct(content).map_or(&[][..], |body| body.members.as_slice());
    let tags = members.iter().filter(|member| member.required).filter_map(|member| match &member.content {
        Content::Constant(value) if member.wire != "jsonrpc" => Some((member.wire.clone(), value.clone())),
        _ => None,
    });
    tags.collect()
}

/// How the limits of two types lie.
enum Relation {
    Equal,
    Added,
    Removed,
    Looser,
    Tighter,
    Apart,
}

impl Relation {
    fn of(new_includes_old: bool, old_includes_new: bool, old_is_free: bool, new_is_free: bool) -> Relation {
        match (new_includes_old, old_includes_new) {
            (true, true) => Relation::Equal,
            (true, false) if new_is_free => Relation::Removed,
            (true, false) => Relation::Looser,
            (false, true) if old_is_free => Relation::Added,
            (false, true) => Relation::Tighter,
            (false, false) => Relation::Apart,
        }
    }

    fn report(&self, site: &Site, local: &mut Local, old: &str, new: &str) {
        let name = match self {
            Relation::Equal => return,
            Relation::Added => "limit-added",
            Relation::Removed => "limit-removed",
            Relation::Looser => "limit-loosened",
            Relation::Tighter => "limit-tightened",
            Relation::Apart => "limit-shifted",
        };
        local.add(site, name, "", format!("{} is limited to {new}, before {old}", site.subject));
    }
}

fn within(range: Integers, bounds: &Bounds) -> bool {
    let ends = [range.first, range.last].map(serde_json::Number::from_i128);
    ends.iter().all(|end| end.as_ref().is_some_and(|end| bounds.contain(end)))
}

fn worst_of(local: &Local) -> Flow {
    let rules = local.differences.iter().map(|it| it.rule).chain(local.silent.iter().copied());
    rules.fold(FINE, |worst, rule: &Rule| (worst.0.max(rule.old_to_new), worst.1.max(rule.new_to_old)))
}

fn list(values: &[Json]) -> String {
    values.iter().map(Json::to_string).collect::<Vec<_>>().join(" or ")
}

fn length_in_words(length: &Length, unit: &str) -> String {
    match (length.min, length.max) {
        (0, None) => format!("any number of {unit}"),
        (0, Some(most)) => format!("at most {most} {unit}"),
        (least, None) => format!("at least {least} {unit}"),
        (least, Some(most)) => format!("{least} to {most} {unit}"),
    }
}

fn integers_in_words(range: Integers) -> String {
    match (range.first == i64::MIN.into(), range.last == i64::MAX.into() || range.last == u64::MAX.into()) {
        (true, true) => "any integer".to_owned(),
        (false, true) => format!("at least {}", range.first),
        (true, false) => format!("at most {}", range.last),
        (false, false) => format!("{} to {}", range.first, range.last),
    }
}

fn bounds_in_words(bounds: &Bounds) -> String {
    let min = bounds.min.as_ref().map(|it| format!("{} {}", if it.exclusive { "above" } else { "at least" }, it.value));
    let max = bounds.max.as_ref().map(|it| format!("{} {}", if it.exclusive { "below" } else { "at most" }, it.value));
    match (min, max) {
        (None, None) => "any number".to_owned(),
        (Some(one), None) | (None, Some(one)) => one,
        (Some(min), Some(max)) => format!("{min} and {max}"),
    }
}

impl Local {
    pub(super) fn add(&mut self, site: &Site, name: &str, detail: &str, message: String) {
        self.differences.push(site.difference(name, detail, message));
    }
}

impl Site {
    fn nowhere() -> Site {
        Site { subject: String::new(), old: None, new: None, message: None }
    }

    pub(super) fn difference(&self, name: &str, detail: &str, message: String) -> Difference {
        let Site { subject, old, new, .. } = self.clone();
        Difference { rule: rule(name), subject, detail: detail.to_owned(), message, old, new }
    }

    /// A place inside, without a name of its own in Rust.
    fn below(&self, name: &str, pointer: &str) -> Site {
        let inside = |place: &Option<Place>| {
            place.as_ref().map(|it| Place { pointer: format!("{}{pointer}", it.pointer), rust: it.rust.clone() })
        };
        let subject = format!("{}{name}", self.subject);
        Site { subject, old: inside(&self.old), new: inside(&self.new), message: None }
    }

    fn member(&self, member: &Member, old: Option<&Member>, new: Option<&Member>) -> Site {
        let inside = |place: &Option<Place>, there: Option<&Member>| {
            let place = place.as_ref()?;
            Some(match there {
                None => place.clone(),
                Some(there) => Place {
                    pointer: format!("{}/properties/{}", place.pointer, escape(&there.wire)),
                    rust: place.rust.as_ref().map(|it| format!("{it}::{}", naming::escape(&there.rust))),
                },
            })
        };
        Site {
            subject: format!("{}.{}", self.subject, member.wire),
            old: inside(&self.old, old),
            new: inside(&self.new, new),
            message: self.message,
        }
    }
}
