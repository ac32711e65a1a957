//! Two type expressions, what differs between their values, and whether one takes all that the other has.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};

use crate::diff::compare::{Difference, Local, Site, definition, place, rule};
use crate::diff::limits::{Relation, bounds_in_words, integers_in_words, length_in_words, list};
use crate::diff::view::{Integers, Object, Others, View, types};
use crate::diff::{Place, Rule, Verdict};
use crate::json::{Json, escape};
use crate::naming;
use crate::protocol::{Content, Member, Messages, Protocol, Shape, Type, TypeId};
use crate::schema::{Bounds, Length};

/// Compares values of two models.
pub(super) struct Values<'p> {
    pub(super) old: &'p Protocol,
    pub(super) new: &'p Protocol,
    /// What pairs of named types differ in by themselves.
    known: RefCell<HashMap<Pair, Known>>,
    /// Pairs that are being compared: nothing is claimed of them yet.
    open: RefCell<HashSet<Pair>>,
    /// How many more pairs are looked into for the sake of unions.
    fuel: Cell<u32>,
    old_messages: HashMap<TypeId, Option<bool>>,
    new_messages: HashMap<TypeId, Option<bool>>,
}

/// The worst of some rules, for messages from old to new and from new to old.
type Flow = (Verdict, Verdict);

type Pair = (TypeId, TypeId);

/// What two named types differ in by themselves, and which named types in them take each other's place.
type Known = (Flow, Vec<Pair>);

/// Enough for any schema; hostile ones end.
const FUEL: u32 = 200_000;

const FINE: Flow = (Verdict::Compatible, Verdict::Compatible);

impl<'p> Values<'p> {
    pub(super) fn new(old: &'p Protocol, new: &'p Protocol) -> Self {
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
        let message = self.old_messages.get(&old).zip(self.new_messages.get(&new)).and_then(|(was, is)| was.or(*is));
        let name = definition(self.new, &Type::Named(new)).or(definition(self.old, &Type::Named(old)));
        let site = Site {
            subject: name.unwrap_or(&site.subject).to_owned(),
            old: Some(place(self.old, old)),
            new: Some(place(self.new, new)),
            message,
        };
        let mut local = Local::default();
        local.remarks(&site, (was.deprecated, is.deprecated), (was.description.as_ref(), is.description.as_ref()));
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
        self.worst_within(&self.compare(old, new, &Site::nowhere()))
    }

    /// As [`Self::worst`], of documents that do not have these keys.
    pub(super) fn worst_without(&self, old: &Type, new: &Type, keys: &[&str]) -> Flow {
        let (Type::Named(before), Type::Named(after)) = (self.old.follow(old), self.new.follow(new)) else {
            return self.worst(old, new);
        };
        if keys.is_empty() || self.fuel.get() == 0 || !self.open.borrow_mut().insert((*before, *after)) {
            return self.worst(old, new);
        }
        let mut local = self.compare_named(*before, *after, &Site::nowhere());
        self.open.borrow_mut().remove(&(*before, *after));
        let owner = definition(self.new, new).or(definition(self.old, old)).unwrap_or_default();
        let concerns = |subject: &str| keys.iter().any(|key| *subject == format!("{owner}.{key}"));
        let optional = ["member-removed-optional", "member-added-optional"];
        local.differences.retain(|it| !optional.contains(&it.rule.id) || !concerns(&it.subject));
        self.worst_within(&local)
    }

    fn worst_within(&self, local: &Local) -> Flow {
        let mut worst = worst_of(local);
        let mut queue: Vec<Pair> = local.children.iter().map(|(old, new, _)| (*old, *new)).collect();
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

    pub(super) fn expressions(&self, old: &Type, new: &Type, site: &Site, local: &mut Local) {
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
            (View::Values(values), other) if self.accepts(self.new, values, other, new) => {
                self.opened(values, new, site, local);
            }
            (other, View::Values(values)) if self.accepts(self.old, values, other, old) => {
                self.closed(old, values, site, local);
            }
            (View::Integer(a), View::Number(b)) if within(*a, b) => self.widened(old, new, site, local),
            (View::Number(a), View::Integer(b)) if within(*b, a) => self.narrowed(old, new, site, local),
            _ => self.changed(old, new, site, local),
        }
    }

    fn opened(&self, old: &[Json], new: &Type, site: &Site, local: &mut Local) {
        let (was, is) = (list(old), self.words(self.new, new));
        local.add(site, "values-opened", "", format!("{} takes {is} instead of {was}", site.subject));
    }

    fn closed(&self, old: &Type, new: &[Json], site: &Site, local: &mut Local) {
        let (was, is) = (self.words(self.old, old), list(new));
        local.add(site, "values-closed", "", format!("{} takes only {is}, before {was}", site.subject));
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
    pub(super) fn words(&self, protocol: &Protocol, content: &Type) -> String {
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
                let all: Vec<String> = choice.variants.iter().map(|it| self.words(protocol, it)).collect();
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
        local.remarks(site, (old.deprecated, new.deprecated), (old.description.as_ref(), new.description.as_ref()));
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
                match values.iter().all(|value| self.takes(self.new, content, value.clone())) {
                    true => self.opened(&values, content, site, local),
                    false => {
                        let (was, is) = (list(&values), self.words(self.new, content));
                        local.add(site, "type-changed", "", format!("{} is {is} instead of {was}", site.subject));
                    }
                }
            }
            (_, View::Values(values)) => {
                let Content::Value(content) = &old.content else { return };
                match values.iter().all(|value| self.takes(self.old, content, value.clone())) {
                    true => self.closed(content, &values, site, local),
                    false => {
                        let (was, is) = (self.words(self.old, content), list(&values));
                        local.add(site, "type-changed", "", format!("{} is {is} instead of {was}", site.subject));
                    }
                }
            }
            _ => {}
        }
    }
}

/// The types that travel by themselves: whether each is a request or a notification, if that is known.
fn messages(protocol: &Protocol) -> HashMap<TypeId, Option<bool>> {
    let requests = protocol.requests.iter().filter(|it| !it.senders.is_empty()).map(|it| (it.type_id, Some(true)));
    let notifications = protocol.notifications.iter().map(|it| (it.type_id, Some(false)));
    // What messages have in common: a method, but none in particular.
    let bases = protocol.types.iter().enumerate().filter_map(|(id, def)| {
        let Shape::Struct(body) = &def.shape else { return None };
        let member = |name: &str| body.members.iter().find(|member| member.wire == name && member.required);
        matches!(member("method")?.content, Content::Value(_)).then(|| {
            let is_request = member("id").map(|_| true).or(member("jsonrpc").map(|_| false));
            (id, is_request)
        })
    });
    bases.chain(requests).chain(notifications).collect()
}

fn within(range: Integers, bounds: &Bounds) -> bool {
    let ends = [range.first, range.last].map(serde_json::Number::from_i128);
    ends.iter().all(|end| end.as_ref().is_some_and(|end| bounds.contain(end)))
}

fn worst_of(local: &Local) -> Flow {
    let rules = local.differences.iter().map(|it| it.rule).chain(local.silent.iter().copied());
    rules.fold(FINE, |worst, rule: &Rule| (worst.0.max(rule.old_to_new), worst.1.max(rule.new_to_old)))
}

impl Local {
    /// What is said about a type or a member, before and after, without a change to its values.
    fn remarks(&mut self, site: &Site, deprecated: (bool, bool), descriptions: (Option<&String>, Option<&String>)) {
        match deprecated {
            (false, true) => self.add(site, "deprecated", "", format!("{} is deprecated", site.subject)),
            (true, false) => self.add(site, "undeprecated", "", format!("{} is no longer deprecated", site.subject)),
            _ => {}
        }
        if let (Some(before), Some(after)) = descriptions
            && before != after
        {
            self.add(site, "documentation-changed", "", format!("{} is described differently", site.subject));
        }
    }

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
