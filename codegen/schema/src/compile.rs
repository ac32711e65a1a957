//! Compiles schemas into checks, keyword by keyword. Skips invalid keywords, because `lower` reports
//! them.

use indexmap::IndexMap;
use serde_json::Number;

use crate::check::{Check, MemberChecks, Unevaluated};
use crate::dialect::Dialect;
use crate::json::pointer::escape;
use crate::json::{Json, integer};
use crate::json_types::JsonTypes;
use crate::limits::{Bound, Bounds, Length};
use crate::normal::{Array, Kind, Object, Schema};
use crate::references::References;

/// Compiles the schemas of one document.
#[derive(Clone, Copy)]
pub struct Compile<'a> {
    /// The dialect of the document.
    pub dialect: Dialect,
    /// The definitions of the document.
    pub references: &'a References<'a>,
}

type Keywords = IndexMap<String, Json>;

impl Compile<'_> {
    /// Compiles a schema.
    pub fn schema(&self, json: &Json, pointer: &str) -> Check {
        let keywords = match json {
            Json::Bool(true) => return Check::Anything,
            Json::Bool(false) => return Check::Nothing,
            Json::Object(keywords) => keywords,
            _ => return Check::Anything,
        };
        let references = self.dialect.references().iter().filter(|keyword| keywords.contains_key(**keyword));
        let mut references = references.map(|keyword| self.reference(pointer, keyword));
        if self.dialect.ignores_beside_ref()
            && let Some(reference) = references.next()
        {
            return reference;
        }
        let values = ["const", "enum"].into_iter().filter_map(|keyword| values(keywords, keyword));
        let types = types(keywords).filter(|types| !values.clone().any(|values| are_of(*types, &values)));
        let mut checks: Vec<Check> = types.map(Check::Type).into_iter().chain(values.map(Check::Values)).collect();
        checks.extend(self.string(keywords));
        checks.extend(self.number(keywords));
        checks.extend(self.length(keywords, "minItems", "maxItems").map(Check::ItemCount));
        checks.extend(self.items(keywords, pointer));
        checks.extend(self.array(keywords, pointer));
        checks.extend(required(keywords));
        checks.extend(self.members(keywords, pointer));
        checks.extend(self.object(keywords, pointer));
        checks.extend(references);
        checks.extend(self.combined(keywords, pointer));
        checks.extend(self.logic(keywords, pointer));
        self.unevaluated(keywords, pointer, all(checks))
    }

    /// Compiles `pattern`.
    pub fn pattern(&self, keywords: &Keywords) -> Option<Check> {
        Some(Check::Pattern(keywords.get("pattern")?.as_str()?.to_owned()))
    }

    /// Compiles `multipleOf`.
    pub fn multiple_of(&self, keywords: &Keywords) -> Option<Check> {
        Some(Check::MultipleOf(number(keywords, "multipleOf")?))
    }

    fn string(&self, keywords: &Keywords) -> Vec<Check> {
        let length = self.length(keywords, "minLength", "maxLength").map(Check::Length);
        length.into_iter().chain(self.pattern(keywords)).collect()
    }

    fn number(&self, keywords: &Keywords) -> Vec<Check> {
        let bounds = bounds(keywords, self.dialect);
        let bounds = (!bounds.is_free()).then_some(Check::Bounds(bounds));
        bounds.into_iter().chain(self.multiple_of(keywords)).collect()
    }

    /// Compiles `prefixItems`, `items` and `additionalItems`.
    pub fn items(&self, keywords: &Keywords, pointer: &str) -> Option<Check> {
        let one = |keyword: &str| {
            let json = keywords.get(keyword).filter(|json| !matches!(json, Json::Array(_)))?;
            Some(Box::new(self.schema(json, &format!("{pointer}/{keyword}"))))
        };
        let list = if self.dialect.has_item_lists() { "items" } else { "prefixItems" };
        let (first, rest) = match keywords.get(list) {
            Some(Json::Array(items)) => {
                let first = items.iter().enumerate();
                let first = first.map(|(index, json)| self.schema(json, &format!("{pointer}/{list}/{index}")));
                let rest = if self.dialect.has_item_lists() { "additionalItems" } else { "items" };
                (first.collect(), one(rest))
            }
            _ => (Vec::new(), one("items")),
        };
        (!first.is_empty() || rest.is_some()).then_some(Check::Items(first, rest))
    }

    /// Compiles `uniqueItems` and `contains`.
    pub fn array(&self, keywords: &Keywords, pointer: &str) -> Vec<Check> {
        let unique = matches!(keywords.get("uniqueItems"), Some(Json::Bool(true))).then_some(Check::UniqueItems);
        let contains = keywords.get("contains").map(|json| {
            let count =
                Length { min: count(keywords, "minContains").unwrap_or(1), max: count(keywords, "maxContains") };
            let check = Check::Contains(Box::new(self.schema(json, &format!("{pointer}/contains"))), count);
            match self.dialect {
                // In 2019-09, `contains` does not evaluate items. `not` discards evaluated items.
                Dialect::Draft201909 => Check::Not(Box::new(Check::Not(Box::new(check)))),
                _ => check,
            }
        });
        unique.into_iter().chain(contains).collect()
    }

    /// Compiles `properties`, `patternProperties` and `additionalProperties`.
    pub fn members(&self, keywords: &Keywords, pointer: &str) -> Option<Check> {
        let map = |keyword: &str| {
            let members = keywords.get(keyword).and_then(Json::as_object).into_iter().flatten();
            members
                .map(|(name, json)| (name.clone(), self.schema(json, &format!("{pointer}/{keyword}/{}", escape(name)))))
                .collect::<Vec<_>>()
        };
        let others = keywords.get("additionalProperties");
        let others = others.map(|json| self.schema(json, &format!("{pointer}/additionalProperties")));
        let members = MemberChecks { named: map("properties"), patterns: map("patternProperties"), others };
        (members != MemberChecks::default()).then(|| Check::Members(Box::new(members)))
    }

    /// Compiles limits on the number of members, `propertyNames`, and dependencies.
    pub fn object(&self, keywords: &Keywords, pointer: &str) -> Vec<Check> {
        let mut checks = Vec::new();
        checks.extend(self.length(keywords, "minProperties", "maxProperties").map(Check::MemberCount));
        if let Some(json) = keywords.get("propertyNames") {
            let check = self.schema(json, &format!("{pointer}/propertyNames"));
            // Omits a check that accepts every string, because names are strings.
            let is_free = match &check {
                Check::Anything => true,
                Check::Type(types) => types.contains(JsonTypes::STRING),
                _ => false,
            };
            checks.extend((!is_free).then(|| Check::Names(Box::new(check))));
        }
        for keyword in ["dependentRequired", "dependencies", "dependentSchemas"] {
            for (name, value) in keywords.get(keyword).and_then(Json::as_object).into_iter().flatten() {
                let check = match value {
                    Json::Array(names) => Check::Required(strings(names)),
                    schema => self.schema(schema, &format!("{pointer}/{keyword}/{}", escape(name))),
                };
                checks.push(Check::IfPresent(name.clone(), Box::new(check)));
            }
        }
        checks
    }

    /// Compiles `not`, and `if` with `then` and `else`.
    pub fn logic(&self, keywords: &Keywords, pointer: &str) -> Vec<Check> {
        let one = |keyword: &str| Some(self.schema(keywords.get(keyword)?, &format!("{pointer}/{keyword}")));
        let not = one("not").map(|check| match check {
            Check::Anything => Check::Nothing,
            Check::Nothing => Check::Anything,
            check => Check::Not(Box::new(check)),
        });
        let condition = one("if").map(|condition| {
            let branch = |keyword: &str| one(keyword).unwrap_or(Check::Anything);
            Check::If(Box::new([condition, branch("then"), branch("else")]))
        });
        not.into_iter().chain(condition).collect()
    }

    /// Compiles `allOf`, `anyOf` and `oneOf`.
    pub fn combined(&self, keywords: &Keywords, pointer: &str) -> Vec<Check> {
        ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| self.list(keywords, keyword, pointer)).collect()
    }

    pub(crate) fn list(&self, keywords: &Keywords, keyword: &str, pointer: &str) -> Option<Check> {
        let Json::Array(items) = keywords.get(keyword)? else { return None };
        let items = items.iter().enumerate();
        let checks =
            items.map(|(index, json)| self.schema(json, &format!("{pointer}/{keyword}/{index}"))).collect::<Vec<_>>();
        Some(match keyword {
            "allOf" => all(checks),
            "anyOf" => any(checks),
            _ => Check::One(checks),
        })
    }

    /// Compiles `unevaluatedProperties` and `unevaluatedItems`. `base` contains all other checks of the schema.
    fn unevaluated(&self, keywords: &Keywords, pointer: &str, base: Check) -> Check {
        let one = |keyword: &str| Some(self.schema(keywords.get(keyword)?, &format!("{pointer}/{keyword}")));
        match (one("unevaluatedProperties"), one("unevaluatedItems")) {
            (None, None) => base,
            (members, items) => Check::Unevaluated(Box::new(Unevaluated { base, members, items })),
        }
    }

    fn reference(&self, pointer: &str, keyword: &str) -> Check {
        match self.references.target(pointer, keyword) {
            Some(Ok(name)) => Check::Definition(name.clone()),
            _ => Check::Anything,
        }
    }

    fn length(&self, keywords: &Keywords, min: &str, max: &str) -> Option<Length> {
        let length = Length { min: count(keywords, min).unwrap_or(0), max: count(keywords, max) };
        (!length.is_free()).then_some(length)
    }
}

/// Combines checks into one that holds if all of them hold.
pub fn all(mut checks: Vec<Check>) -> Check {
    checks.retain(|check| *check != Check::Anything);
    match checks.len() {
        0 => Check::Anything,
        1 => checks.remove(0),
        _ => Check::All(checks),
    }
}

/// Combines checks into one that holds if any of them holds.
fn any(checks: Vec<Check>) -> Check {
    let values = |check: &Check| match check {
        Check::Values(values) => Some(values.clone()),
        _ => None,
    };
    match checks.iter().map(values).collect::<Option<Vec<_>>>() {
        Some(lists) => Check::Values(lists.concat()),
        None => Check::Any(checks),
    }
}

fn types(keywords: &Keywords) -> Option<JsonTypes> {
    let names = match keywords.get("type")? {
        Json::Array(names) => strings(names),
        name => vec![name.as_str()?.to_owned()],
    };
    Some(names.iter().map(|name| JsonTypes::named(name)).collect())
}

fn are_of(types: JsonTypes, values: &[Json]) -> bool {
    values.iter().all(|value| types.contains(JsonTypes::of(value)))
}

fn values(keywords: &Keywords, keyword: &str) -> Option<Vec<Json>> {
    match (keyword, keywords.get(keyword)?) {
        ("const", value) => Some(vec![value.clone()]),
        (_, Json::Array(values)) => Some(values.clone()),
        _ => None,
    }
}

fn required(keywords: &Keywords) -> Option<Check> {
    match keywords.get("required")? {
        Json::Array(names) if !names.is_empty() => Some(Check::Required(strings(names))),
        _ => None,
    }
}

fn strings(values: &[Json]) -> Vec<String> {
    values.iter().filter_map(Json::as_str).map(str::to_owned).collect()
}

fn number(keywords: &Keywords, keyword: &str) -> Option<Number> {
    match keywords.get(keyword)? {
        Json::Number(number) => Some(number.clone()),
        _ => None,
    }
}

/// Returns the value of a keyword that is a count.
pub fn count(keywords: &Keywords, keyword: &str) -> Option<u64> {
    integer(&number(keywords, keyword)?).and_then(|count| u64::try_from(count).ok())
}

/// Returns the bounds that a schema sets for numbers.
pub fn bounds(keywords: &Keywords, dialect: Dialect) -> Bounds {
    let is_set = |keyword: &str| dialect == Dialect::Draft04 && matches!(keywords.get(keyword), Some(Json::Bool(true)));
    let mut bounds = Bounds::default();
    for (keyword, exclusive, upper) in [
        ("minimum", is_set("exclusiveMinimum"), false),
        ("exclusiveMinimum", true, false),
        ("maximum", is_set("exclusiveMaximum"), true),
        ("exclusiveMaximum", true, true),
    ] {
        let Some(value) = number(keywords, keyword) else { continue };
        let bound = Some(Bound { value, exclusive });
        let limit = if upper { Bounds { min: None, max: bound } } else { Bounds { min: bound, max: None } };
        bounds = bounds.and(&limit);
    }
    bounds
}

/// Returns the check of a schema in normal form.
pub fn of_schema(schema: &Schema) -> Check {
    let typed = |types: JsonTypes, checks: Vec<Check>| {
        let checks = [Check::Type(types)].into_iter().chain(checks).collect();
        all(checks)
    };
    let length = |length: &Length, check: fn(Length) -> Check| {
        if length.is_free() { Vec::new() } else { vec![check(length.clone())] }
    };
    let bounded = |bounds: &Bounds| if bounds.is_free() { Vec::new() } else { vec![Check::Bounds(bounds.clone())] };
    match &schema.kind {
        Kind::Any => Check::Anything,
        Kind::Never => Check::Nothing,
        Kind::Null => typed(JsonTypes::NULL, Vec::new()),
        Kind::Boolean => typed(JsonTypes::BOOLEAN, Vec::new()),
        Kind::String(limit) => typed(JsonTypes::STRING, length(limit, Check::Length)),
        Kind::Integer(bounds) => typed(JsonTypes::INTEGER, bounded(bounds)),
        Kind::Number(bounds) => typed(JsonTypes::NUMBER, bounded(bounds)),
        Kind::Array(array) => {
            let mut checks = length(&array.length, Check::ItemCount);
            checks.extend(of_items(array));
            typed(JsonTypes::ARRAY, checks)
        }
        Kind::Object(object) => typed(JsonTypes::OBJECT, of_object(object)),
        Kind::Values(values) => Check::Values(values.clone()),
        Kind::Union(variants) => Check::Any(variants.iter().map(of_schema).collect()),
        Kind::Ref(name) => Check::Definition(name.clone()),
        Kind::Checked(inner, checks) => all([of_schema(inner)].into_iter().chain(checks.iter().cloned()).collect()),
        Kind::All(schemas) => all(schemas.iter().map(of_schema).collect()),
    }
}

/// Returns the check on the items of an array, or `None` if it allows all items.
pub fn of_items(array: &Array) -> Option<Check> {
    let first: Vec<Check> = array.first.iter().map(of_schema).collect();
    let rest = Some(of_schema(&array.items)).filter(|check| *check != Check::Anything);
    let is_free = rest.is_none() && first.iter().all(|check| *check == Check::Anything);
    (!is_free).then(|| Check::Items(first, rest.map(Box::new)))
}

/// Returns the checks of an object.
pub fn of_object(object: &Object) -> Vec<Check> {
    let required = object.properties.iter().filter(|(_, property)| property.required);
    let required: Vec<String> = required.map(|(name, _)| name.clone()).collect();
    let named: Vec<(String, Check)> =
        object.properties.iter().map(|(name, property)| (name.clone(), of_schema(&property.schema))).collect();
    let others = Some(of_schema(&object.additional)).filter(|check| *check != Check::Anything);
    let patterns = object.pattern.iter().map(|it| (it.pattern.clone(), of_schema(&it.schema)));
    let patterns: Vec<(String, Check)> = patterns.collect();
    let mut known = named.iter().chain(&patterns);
    let is_free = others.is_none() && known.all(|(_, check)| *check == Check::Anything);
    let required = (!required.is_empty()).then_some(Check::Required(required));
    let members = (!is_free).then(|| Check::Members(Box::new(MemberChecks { named, patterns, others })));
    required.into_iter().chain(members).collect()
}
