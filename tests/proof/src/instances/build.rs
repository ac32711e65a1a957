//! Builds a document that conforms to several schemas at once.

use super::values::{self, Bounds};
use super::{Source, pattern};
use crate::judge::{DEPTH_LIMIT, escaped};
use fastrand::Rng;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// One of the schemas that a value must satisfy.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part<'s> {
    pub(super) schema: &'s Value,
}

impl<'s> Part<'s> {
    pub(super) fn new(schema: &'s Value) -> Part<'s> {
        Part { schema }
    }

    pub(super) fn keyword(&self, keyword: &str) -> Option<&'s Value> {
        self.schema.get(keyword)
    }

    fn item(&self, index: usize) -> Option<Part<'s>> {
        let first = self.keyword("prefixItems").or(self.keyword("items")).and_then(Value::as_array);
        let rest = if self.keyword("prefixItems").is_some() { "items" } else { "additionalItems" };
        let schema = match first {
            Some(first) => first.get(index).or(self.keyword(rest)),
            None => self.keyword("items"),
        };
        schema.map(Part::new)
    }

    fn properties(&self) -> impl Iterator<Item = (&'s str, Part<'s>)> + use<'s> {
        let named = self.keyword("properties").and_then(Value::as_object);
        named.into_iter().flatten().map(|(name, schema)| (name.as_str(), Part::new(schema)))
    }
}

/// A place in the document, and the schemas that apply to it. Their `$ref`, `allOf`, `anyOf` and `oneOf` are expanded.
#[derive(Debug)]
pub(super) struct Site<'s> {
    pub(super) instance: String,
    pub(super) depth: usize,
    pub(super) parts: Vec<Part<'s>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Only required values.
    Least,
    /// All members, and no empty lists.
    Full,
    /// Some members.
    Some,
    /// Some members, and additional unknown members.
    Unknown,
    /// As deep as allowed.
    Deep,
}

pub(super) struct Builder<'s> {
    pub(super) rng: Rng,
    pub(super) sites: Vec<Site<'s>>,
    pub(super) visited: Vec<&'s Value>,
    source: &'s Source,
    /// Whether the document will be broken, so that its places must be recorded.
    breaks: bool,
    shape: Shape,
    /// How many more values to build before building only required ones.
    budget: usize,
    /// The probability of an optional member.
    share: f64,
    dug: bool,
    /// The properties, by name, of those members of the last union that were not chosen.
    rivals: BTreeMap<&'s str, Part<'s>>,
}

/// The maximum number of items in an array, even if a schema requires more.
const MAX_ITEMS: usize = 300;

impl<'s> Builder<'s> {
    pub(super) fn new(source: &'s Source, mut rng: Rng, index: u64, breaks: bool) -> Builder<'s> {
        let long_run = index >= 5000;
        let shape = match (index, rng.u16(0..512)) {
            (0, _) => Shape::Least,
            (1, _) | (_, 0..96) => Shape::Full,
            (_, 96..128) => Shape::Least,
            (_, 128..288) => Shape::Unknown,
            (_, 288..320) if !long_run => Shape::Deep,
            (_, 288) => Shape::Deep,
            _ => Shape::Some,
        };
        // Large documents combine more edge cases. Small ones are faster, and their near misses are more precise.
        let budget = match (index, rng.u8(0..16)) {
            (0..20, _) | (_, 0) => 250,
            (0..200, _) if !breaks => 250,
            // By now, a long run has made enough large and deep documents.
            _ if long_run => 6,
            (_, 1..5) => 60,
            _ => 15,
        };
        Builder {
            share: rng.f64(),
            rng,
            breaks,
            sites: Vec::new(),
            visited: Vec::new(),
            source,
            shape,
            budget,
            dug: false,
            rivals: BTreeMap::new(),
        }
    }

    pub(super) fn document(&mut self, view: Vec<Part<'s>>) -> Value {
        self.build(view, String::new(), 0)
    }

    pub(super) fn pointer_of(&self, schema: &Value) -> String {
        self.source.pointer_of(schema)
    }

    fn build(&mut self, view: Vec<Part<'s>>, instance: String, depth: usize) -> Value {
        self.budget = self.budget.saturating_sub(1);
        if depth > DEPTH_LIMIT + 30 {
            // A schema that requires itself has no finite instance.
            return Value::Null;
        }
        let parts = self.expand(view, depth);
        let value = match self.fixed(&parts) {
            Some(value) => value,
            None => self.by_type(&parts, &instance, depth),
        };
        if self.breaks {
            self.sites.push(Site { instance, depth, parts });
        }
        value
    }

    /// Returns the JSON pointer of a child, or an empty string if places are not recorded.
    fn step(&self, instance: &str, name: &str) -> String {
        if self.breaks { format!("{instance}/{}", escaped(name)) } else { String::new() }
    }

    /// Follows references and chooses members of unions, until only plain schemas remain.
    fn expand(&mut self, view: Vec<Part<'s>>, depth: usize) -> Vec<Part<'s>> {
        let mut open = view;
        let mut plain = Vec::new();
        while let Some(part) = open.pop() {
            if let Some(Value::String(reference)) = part.keyword("$ref") {
                let target = self.source.schema.pointer(reference.trim_start_matches('#'));
                let target = target.unwrap_or_else(|| panic!("the schema has no {reference}"));
                // Skip a schema that already applies.
                if !plain.iter().chain(&open).any(|part: &Part<'_>| std::ptr::eq(part.schema, target)) {
                    open.push(Part::new(target));
                }
            }
            if let Some(Value::Array(all)) = part.keyword("allOf") {
                open.extend(all.iter().map(Part::new));
            }
            for keyword in ["anyOf", "oneOf"] {
                if let Some(Value::Array(members)) = part.keyword(keyword) {
                    let chosen = self.choose(members, depth);
                    if self.shape == Shape::Unknown && self.source.reserved.is_empty() {
                        self.rivals = self.known_to_others(members, chosen);
                    }
                    open.push(Part::new(&members[chosen]));
                }
            }
            open.extend(self.condition(part));
            self.visited.push(part.schema);
            plain.push(part);
        }
        plain
    }

    /// Returns the schemas of `if` and `then`, or that of `else`. In the second case, the document may still satisfy
    /// `if`. Then the judge decides.
    fn condition(&mut self, part: Part<'s>) -> Vec<Part<'s>> {
        let Some(condition) = part.keyword("if") else { return Vec::new() };
        let chosen = match self.rng.bool() {
            true => vec![Some(condition), part.keyword("then")],
            false => vec![part.keyword("else")],
        };
        chosen.into_iter().flatten().map(Part::new).collect()
    }

    fn choose(&mut self, members: &'s [Value], depth: usize) -> usize {
        let heights = |builder: &Self| -> Vec<usize> {
            let heights = members.iter().map(|member| builder.height(member, 8));
            heights.collect()
        };
        if self.exhausted(depth) {
            let heights = heights(self);
            let least = heights.iter().min();
            return heights.iter().position(|height| Some(height) == least).unwrap_or(0);
        }
        if self.shape == Shape::Deep && self.rng.u8(0..8) > 0 {
            let heights = heights(self);
            let containers = (0..members.len()).filter(|index| heights[*index] > 0);
            let containers: Vec<usize> = containers.collect();
            if let Some(chosen) = self.rng.choice(containers) {
                return chosen;
            }
        }
        self.rng.usize(0..members.len())
    }

    /// Returns the properties of the other members of a union, and the properties one level below them.
    fn known_to_others(&self, members: &'s [Value], chosen: usize) -> BTreeMap<&'s str, Part<'s>> {
        let others = members.iter().enumerate().filter(|(index, _)| *index != chosen);
        let mut known = BTreeMap::new();
        for (_, other) in others {
            for (name, property) in self.target(Part::new(other)).properties() {
                known.extend(property.properties());
                known.insert(name, property);
            }
        }
        known
    }

    fn target(&self, part: Part<'s>) -> Part<'s> {
        let Some(Value::String(reference)) = part.keyword("$ref") else {
            return part;
        };
        self.source.schema.pointer(reference.trim_start_matches('#')).map_or(part, Part::new)
    }

    /// Estimates how deep the smallest instance is.
    fn height(&self, schema: &Value, fuel: usize) -> usize {
        if fuel == 0 {
            return DEPTH_LIMIT;
        }
        if let Some(Value::String(reference)) = schema.get("$ref") {
            let target = self.source.schema.pointer(reference.trim_start_matches('#'));
            return target.map_or(0, |target| self.height(target, fuel - 1));
        }
        let listed = |keyword: &str| schema.get(keyword).and_then(Value::as_array);
        if let Some(members) = listed("anyOf").or_else(|| listed("oneOf")) {
            let heights = members.iter().map(|member| self.height(member, fuel - 1));
            return heights.min().unwrap_or(0);
        }
        if let Some(all) = listed("allOf") {
            let heights = all.iter().map(|one| self.height(one, fuel - 1));
            return heights.max().unwrap_or(0);
        }
        match schema.get("type").and_then(Value::as_str) {
            Some("object") => {
                let required = listed("required").into_iter().flatten();
                let heights = required
                    .filter_map(|name| schema.get("properties")?.get(name.as_str()?))
                    .map(|property| self.height(property, fuel - 1));
                1 + heights.max().unwrap_or(0)
            }
            Some("array") => 1,
            _ => 0,
        }
    }

    fn exhausted(&self, depth: usize) -> bool {
        let deepest = match self.shape {
            Shape::Least => 0,
            Shape::Deep => DEPTH_LIMIT - 6,
            _ => 12,
        };
        depth >= deepest || self.budget == 0
    }

    /// Returns a value of `const` or `enum`, or `None` without these keywords.
    fn fixed(&mut self, parts: &[Part<'s>]) -> Option<Value> {
        let constant = parts.iter().find_map(|part| part.keyword("const"));
        if let Some(value) = constant {
            return Some(value.clone());
        }
        let listed = parts.iter().find_map(|part| part.keyword("enum"))?;
        self.rng.choice(listed.as_array()?).cloned()
    }

    fn by_type(&mut self, parts: &[Part<'s>], instance: &str, depth: usize) -> Value {
        let Some(types) = types(parts) else {
            return self.untyped(depth);
        };
        match self.rng.choice(types) {
            Some("object") => self.object(parts, instance, depth),
            Some("array") => self.array(parts, instance, depth),
            Some("string") => {
                let pattern = parts.iter().find_map(|part| part.keyword("pattern")?.as_str());
                if let Some(text) = pattern.and_then(|pattern| pattern::matching(&mut self.rng, pattern)) {
                    return text.into();
                }
                let (least, most) = (least(parts, "minLength"), most(parts, "maxLength"));
                values::string(&mut self.rng, least, most).into()
            }
            Some("integer" | "number") if self.rng.u8(0..8) > 0 && multiple(parts).is_some() => {
                let factor = self.rng.i32(-20..200);
                multiple(parts).map_or(Value::Null, |unit| values::product(unit, factor))
            }
            Some("integer") => values::integer(&mut self.rng, &Bounds::of(parts)),
            Some("number") => values::number(&mut self.rng, &Bounds::of(parts)),
            Some("boolean") => self.rng.bool().into(),
            // The type is `null`, or no value is valid.
            _ => Value::Null,
        }
    }

    fn untyped(&mut self, depth: usize) -> Value {
        if self.shape == Shape::Deep && self.rng.bool() && depth < DEPTH_LIMIT {
            return self.chain(DEPTH_LIMIT - depth);
        }
        let levels = if self.exhausted(depth) { 0 } else { 3 };
        values::any(&mut self.rng, levels)
    }

    /// Builds this many nested containers, and sometimes up to three fewer.
    fn chain(&mut self, containers: usize) -> Value {
        self.dug = true;
        let fewer = if self.rng.bool() { 0 } else { self.rng.usize(0..4) };
        values::chain(&mut self.rng, containers.saturating_sub(fewer))
    }

    fn object(&mut self, parts: &[Part<'s>], instance: &str, depth: usize) -> Value {
        let known = known(parts);
        let required = required(parts);
        // A forbidden member is left out even if it is required, because no value is valid.
        let present = required.iter().filter(|name| !forbidden(parts, name));
        let mut names: Vec<String> = present.map(|name| (*name).to_owned()).collect();
        for name in known.iter().filter(|name| !required.contains(*name)) {
            if self.wants_optional(depth) && !forbidden(parts, name) {
                names.push((*name).to_owned());
            }
        }
        let more = self.unknown_names(parts, &known, depth);
        names.extend(more);
        self.counted_names(parts, &mut names);
        // With serde_json's feature `preserve_order`, the members have this order.
        self.rng.shuffle(&mut names);
        let mut members = Map::new();
        for name in names {
            let at = self.step(instance, &name);
            let view = self.with_rival(member(parts, &name), &name);
            let value = self.build(view, at, depth + 1);
            members.insert(name, value);
        }
        if self.wants_to_dig(parts, depth) {
            let name = values::unknown_name(&mut self.rng, &[]);
            if !known.contains(name.as_str()) && !self.source.reserved.contains(&name) && allows_name(parts, &name) {
                members.insert(name, self.chain(DEPTH_LIMIT - depth - 1));
            }
        }
        Value::Object(members)
    }

    /// Adds the members that other members require, and then members with names that match a pattern until there are as
    /// many as `minProperties` requires. Removes those that `propertyNames` and `maxProperties` forbid.
    fn counted_names(&mut self, parts: &[Part<'s>], names: &mut Vec<String>) {
        let needs = |name: &String| {
            let lists = parts.iter().filter_map(|part| part.keyword("dependentRequired")?.get(name)?.as_array());
            lists.flatten().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
        };
        let mut next = 0;
        while let Some(name) = names.get(next) {
            let more: Vec<String> = needs(name).into_iter().filter(|name| !names.contains(name)).collect();
            names.extend(more);
            next += 1;
        }
        let patterns = parts.iter().filter_map(|part| part.keyword("patternProperties")?.as_object());
        let mut patterns: Vec<&str> = patterns.flat_map(Map::keys).map(String::as_str).collect();
        let of_names = parts.iter().filter_map(|part| part.keyword("propertyNames")?.get("pattern")?.as_str());
        let of_names: Vec<&str> = of_names.collect();
        let required = required(parts);
        if !of_names.is_empty() {
            patterns.clone_from(&of_names);
        }
        names.retain(|name| required.contains(name.as_str()) || allows_name(parts, name));
        let count = least(parts, "minProperties").min(MAX_ITEMS);
        let extra = if patterns.is_empty() { 0 } else { self.rng.usize(0..3) };
        for _ in 0..(2 * count + extra) {
            if names.len() >= count && extra == 0 {
                break;
            }
            let pattern = self.rng.choice(&patterns).copied();
            let name = pattern.and_then(|pattern| pattern::matching(&mut self.rng, pattern));
            let name = name.unwrap_or_else(|| values::unknown_name(&mut self.rng, &self.source.names));
            if !names.contains(&name) && !self.source.reserved.contains(&name) && allows_name(parts, &name) {
                names.push(name);
            }
        }
        let most = most(parts, "maxProperties");
        while names.len() > most
            && let Some(last) = names.iter().rposition(|name| !required.contains(name.as_str()))
        {
            names.remove(last);
        }
    }

    /// Sometimes adds the schema that another member of the union has for this name, unless it contradicts `view`.
    fn with_rival(&mut self, mut view: Vec<Part<'s>>, name: &str) -> Vec<Part<'s>> {
        let Some(rival) = self.rivals.get(name) else {
            return view;
        };
        let free = |part: &Part<'s>| {
            let fixed = part.keyword("const").or(part.keyword("enum"));
            fixed.is_none() && part.keyword("type") == rival.keyword("type")
        };
        let narrows = rival.keyword("const").is_some() && view.iter().all(free);
        if (view.is_empty() || narrows) && self.rng.u8(0..3) == 0 {
            view.push(*rival);
        }
        view
    }

    fn wants_optional(&mut self, depth: usize) -> bool {
        if self.exhausted(depth) {
            return false;
        }
        match self.shape {
            Shape::Full => true,
            _ => self.rng.f64() < self.share,
        }
    }

    fn wants_to_dig(&mut self, parts: &[Part<'s>], depth: usize) -> bool {
        self.shape == Shape::Deep && !self.dug && depth + 1 < DEPTH_LIMIT && open_to_anything(parts) && self.rng.bool()
    }

    fn unknown_names(&mut self, parts: &[Part<'s>], known: &BTreeSet<&str>, depth: usize) -> BTreeSet<String> {
        let closed = parts.iter().any(|p| p.keyword("additionalProperties") == Some(&json!(false)));
        if closed || self.exhausted(depth) {
            return BTreeSet::new();
        }
        let map = known.is_empty() && !open_to_anything(parts);
        let count = match self.shape {
            Shape::Deep => usize::from(map),
            Shape::Full => self.rng.usize(usize::from(map)..3),
            Shape::Unknown => self.rng.usize(0..4),
            _ if map => self.rng.usize(0..3),
            _ => usize::from(self.rng.u8(0..8) == 0),
        };
        let rivals: Vec<&str> = self.rivals.keys().copied().collect();
        let name = |_| match self.rng.choice(&rivals) {
            Some(rival) if self.rng.u8(0..4) > 0 => (*rival).to_owned(),
            _ => values::unknown_name(&mut self.rng, &self.source.names),
        };
        let names = (0..count).map(name);
        names.filter(|name| !known.contains(name.as_str()) && !self.source.reserved.contains(name)).collect()
    }

    fn array(&mut self, parts: &[Part<'s>], instance: &str, depth: usize) -> Value {
        let (least, most) = (least(parts, "minItems"), most(parts, "maxItems"));
        let count = if self.exhausted(depth) {
            least
        } else {
            match (self.shape, self.rng.u16(0..500)) {
                (Shape::Deep, _) => 1,
                (_, 0) => 150,
                (_, 1..25) if most < MAX_ITEMS => most,
                (Shape::Full, _) => self.rng.usize(1..3),
                _ => self.rng.usize(0..4),
            }
        };
        let count = count.clamp(least, most.max(least)).min(MAX_ITEMS);
        let mut items = Vec::with_capacity(count);
        for index in 0..count {
            let view = parts.iter().filter_map(|part| part.item(index)).collect();
            let at = self.step(instance, &index.to_string());
            items.push(self.build(view, at, depth + 1));
        }
        let contained = parts.iter().filter_map(|part| part.keyword("contains")).map(Part::new);
        for (index, part) in contained.enumerate() {
            let view = vec![part];
            let item = self.build(view, String::new(), depth + 1);
            match items.get_mut(index) {
                Some(place) => *place = item,
                None => items.push(item),
            }
        }
        if parts.iter().any(|part| part.keyword("uniqueItems") == Some(&json!(true))) {
            let mut seen = BTreeSet::new();
            items.retain(|item| seen.insert(item.to_string()));
        }
        Value::Array(items)
    }
}

/// Returns the types that all schemas allow, or `None` if no schema restricts the type.
pub(super) fn types<'s>(parts: &[Part<'s>]) -> Option<Vec<&'s str>> {
    let mut common: Option<Vec<&str>> = None;
    for part in parts {
        let these: Vec<&str> = match part.keyword("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ if part.schema == &json!(false) => vec![],
            _ => continue,
        };
        common = Some(match common {
            None => these,
            Some(those) => intersection(&those, &these),
        });
    }
    common
}

fn intersection<'s>(those: &[&'s str], these: &[&'s str]) -> Vec<&'s str> {
    let both = |name: &&str| those.contains(name) && these.contains(name);
    let mut common: Vec<&str> = those.iter().copied().filter(both).collect();
    let mixed = |a: &[&str], b: &[&str]| a.contains(&"integer") && b.contains(&"number");
    if !common.contains(&"integer") && (mixed(those, these) || mixed(these, those)) {
        common.push("integer");
    }
    common
}

pub(super) fn known<'s>(parts: &[Part<'s>]) -> BTreeSet<&'s str> {
    let properties = parts.iter().filter_map(|part| part.keyword("properties")?.as_object());
    properties.flat_map(|named| named.keys().map(String::as_str)).collect()
}

fn required<'s>(parts: &[Part<'s>]) -> BTreeSet<&'s str> {
    let listed = parts.iter().filter_map(|part| part.keyword("required")?.as_array());
    listed.flatten().filter_map(Value::as_str).collect()
}

fn member<'s>(parts: &[Part<'s>], name: &str) -> Vec<Part<'s>> {
    let schemas = parts.iter().flat_map(|part| {
        let property = part.keyword("properties").and_then(|named| named.get(name));
        let patterns = part.keyword("patternProperties").and_then(Value::as_object).into_iter().flatten();
        let matching = patterns.filter(|(pattern, _)| pattern::is_match(pattern, name)).map(|(_, schema)| schema);
        let known: Vec<&Value> = property.into_iter().chain(matching).collect();
        let additional = part.keyword("additionalProperties").or(part.keyword("unevaluatedProperties"));
        if known.is_empty() { additional.into_iter().collect() } else { known }
    });
    schemas.map(Part::new).collect()
}

fn forbidden(parts: &[Part<'_>], name: &str) -> bool {
    member(parts, name).iter().any(|part| part.schema == &json!(false))
}

/// Returns whether `propertyNames` allows a name. Checks only its length and pattern.
fn allows_name(parts: &[Part<'_>], name: &str) -> bool {
    let schemas: Vec<Part<'_>> = parts.iter().filter_map(|part| part.keyword("propertyNames").map(Part::new)).collect();
    let length = name.chars().count();
    let patterns = schemas.iter().filter_map(|schema| schema.keyword("pattern")?.as_str());
    patterns.into_iter().all(|pattern| pattern::is_match(pattern, name))
        && (least(&schemas, "minLength")..=most(&schemas, "maxLength")).contains(&length)
}

/// Returns whether an unknown member may have any value.
pub(super) fn open_to_anything(parts: &[Part<'_>]) -> bool {
    parts.iter().all(|part| match part.keyword("additionalProperties") {
        None | Some(Value::Bool(true)) => true,
        Some(Value::Object(keywords)) => keywords.is_empty(),
        Some(_) => false,
    })
}

fn multiple<'s>(parts: &[Part<'s>]) -> Option<&'s serde_json::Number> {
    parts.iter().find_map(|part| part.keyword("multipleOf")?.as_number())
}

fn least(parts: &[Part<'_>], keyword: &str) -> usize {
    lengths(parts, keyword).max().unwrap_or(0)
}

fn most(parts: &[Part<'_>], keyword: &str) -> usize {
    lengths(parts, keyword).min().unwrap_or(usize::MAX)
}

fn lengths(parts: &[Part<'_>], keyword: &str) -> impl Iterator<Item = usize> {
    let found = parts.iter().filter_map(move |part| part.keyword(keyword)?.as_u64());
    found.map(|length| usize::try_from(length).unwrap_or(usize::MAX))
}
