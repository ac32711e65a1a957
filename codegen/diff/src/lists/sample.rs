//! Compares two schemas that mcpgen cannot read, by samples and a validator.

use std::collections::HashSet;

use jsonschema::{Draft, Validator};
use mcpgen_schema::json::Json;
use serde_json::{Map, Value, json};

/// The result of a comparison by samples.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sampled {
    /// The sender's schema accepts this document, and the reader's rejects it.
    Rejected(Value),
    /// The reader accepts all samples.
    NoDifference(usize),
    /// The schemas cannot be compared, for this reason.
    Unreadable(String),
}

/// The number of samples.
const SAMPLES: u64 = 2_000;
/// The number of rejected samples of which the smallest is reported.
const ENOUGH: usize = 50;
/// The maximum number of values in a sample, of items in an array, and of characters in a string.
const MAX_VALUES: usize = 400;
const MAX_ITEMS: u64 = 40;
const MAX_CHARACTERS: u64 = 2_000;
const MAX_DEPTH: usize = 12;

/// Finds a document that the sender's schema accepts and the reader's rejects.
pub(super) fn find_rejected(sender: &Json, reader: &Json) -> Sampled {
    let value = |json: &Json| serde_json::to_value(json).unwrap_or_default();
    let (sender, reader) = (value(sender), value(reader));
    let (sends, reads) = match (validator(&sender), validator(&reader)) {
        (Ok(sends), Ok(reads)) => (sends, reads),
        (Err(why), _) | (_, Err(why)) => return Sampled::Unreadable(why),
    };
    let mut constants = Constants::default();
    constants.collect(&sender, 0);
    constants.collect(&reader, 0);
    let (mut accepted, mut rejected) = (0, 0);
    let mut smallest: Option<(usize, Value)> = None;
    for seed in 0..SAMPLES {
        let mut sampler =
            Sampler { root: &sender, constants: &constants, random: Random::new(seed), left: MAX_VALUES, mode: seed };
        let document = sampler.value(&sender, 0);
        if !sends.is_valid(&document) {
            continue;
        }
        accepted += 1;
        if !reads.is_valid(&document) {
            rejected += 1;
            // A reader of the report understands a small example best.
            let size = document.to_string().len();
            if smallest.as_ref().is_none_or(|(least, _)| size < *least) {
                smallest = Some((size, document));
            }
            if rejected == ENOUGH {
                break;
            }
        }
    }
    match smallest {
        Some((_, document)) => Sampled::Rejected(document),
        None if accepted == 0 => Sampled::Unreadable("no sample is valid by the schema of the sender".into()),
        None => Sampled::NoDifference(accepted),
    }
}

/// Creates a validator that reads no other files and makes no requests.
fn validator(schema: &Value) -> Result<Validator, String> {
    if let Some(reference) = unsupported_reference(schema) {
        return Err(format!("the validator does not follow the reference {reference}"));
    }
    if has_loop(schema) {
        return Err("a schema refers to itself without a value in between".into());
    }
    let mut options = jsonschema::options().should_validate_formats(false);
    if schema.get("$schema").is_none() {
        options = options.with_draft(Draft::Draft202012);
    }
    options.build(schema).map_err(|error| error.to_string())
}

/// Returns a reference that is not a JSON pointer into the same document.
fn unsupported_reference(schema: &Value) -> Option<String> {
    match schema {
        Value::Object(members) => members.iter().find_map(|(keyword, value)| match (keyword.as_str(), value) {
            ("$ref", Value::String(target)) if !target.starts_with("#/") && target != "#" => Some(target.clone()),
            ("$dynamicRef" | "$recursiveRef", Value::String(target)) => Some(target.clone()),
            (_, value) => unsupported_reference(value),
        }),
        Value::Array(items) => items.iter().find_map(unsupported_reference),
        _ => None,
    }
}

/// Returns whether a reference leads back to itself without a step into a value. A validator would not end.
fn has_loop(root: &Value) -> bool {
    fn targets<'s>(schema: &'s Value, found: &mut Vec<&'s str>) {
        let Value::Object(keywords) = schema else { return };
        for (keyword, value) in keywords {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(target)) => found.push(&target[1..]),
                ("anyOf" | "oneOf" | "allOf", Value::Array(items)) => {
                    items.iter().for_each(|item| targets(item, found));
                }
                ("not" | "if" | "then" | "else", schema) => targets(schema, found),
                ("dependentSchemas" | "dependencies", Value::Object(named)) => {
                    named.values().for_each(|schema| targets(schema, found));
                }
                _ => {}
            }
        }
    }
    fn all<'s>(value: &'s Value, found: &mut HashSet<&'s str>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(target)) = members.get("$ref") {
                    found.insert(&target[1..]);
                }
                members.values().for_each(|value| all(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| all(item, found)),
            _ => {}
        }
    }
    let mut starts = HashSet::new();
    all(root, &mut starts);
    starts.iter().any(|start| {
        let (mut seen, mut queue) = (HashSet::new(), vec![*start]);
        while let Some(pointer) = queue.pop() {
            let mut found = Vec::new();
            if let Some(schema) = root.pointer(pointer) {
                targets(schema, &mut found);
            }
            for target in found {
                if target == *start {
                    return true;
                }
                if seen.insert(target) {
                    queue.push(target);
                }
            }
        }
        false
    })
}

/// The values and limits in both schemas. Samples at and beside them show differences.
#[derive(Default)]
struct Constants {
    values: Vec<Value>,
    numbers: Vec<f64>,
    lengths: Vec<u64>,
}

impl Constants {
    fn collect(&mut self, schema: &Value, depth: usize) {
        match schema {
            Value::Object(members) if depth < 64 => {
                for (keyword, value) in members {
                    match (keyword.as_str(), value) {
                        ("enum" | "examples", Value::Array(values)) => self.values.extend(values.iter().cloned()),
                        ("const" | "default" | "example", value) => self.values.push(value.clone()),
                        (
                            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf",
                            Value::Number(number),
                        ) => self.numbers.extend(number.as_f64()),
                        (name, Value::Number(number)) if name.starts_with("min") || name.starts_with("max") => {
                            self.lengths.extend(number.as_u64());
                        }
                        _ => {}
                    }
                    self.collect(value, depth + 1);
                }
            }
            Value::Array(items) if depth < 64 => items.iter().for_each(|item| self.collect(item, depth + 1)),
            _ => {}
        }
    }
}

/// A random number generator (xorshift) that starts from the number of the sample, so that reports are reproducible.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % end.max(1)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'v, T>(&mut self, values: &'v [T]) -> Option<&'v T> {
        values.get(self.below(values.len()))
    }
}

/// Creates documents that are often valid against a schema.
struct Sampler<'s> {
    root: &'s Value,
    constants: &'s Constants,
    random: Random,
    /// The number of values that may still be created.
    left: usize,
    /// The first two samples have only the required members, and all members.
    mode: u64,
}

impl Sampler<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        let Value::Object(keywords) = schema else { return self.any() };
        if depth > MAX_DEPTH || self.left == 0 {
            return Value::Null;
        }
        let target = keywords.get("$ref").and_then(Value::as_str).and_then(|target| self.root.pointer(&target[1..]));
        if let Some(target) = target {
            return self.value(&target.clone(), depth + 1);
        }
        if let Some(constant) = keywords.get("const") {
            return constant.clone();
        }
        if let Some(Value::Array(values)) = keywords.get("enum") {
            return self.random.pick(values).cloned().unwrap_or_default();
        }
        let mut merged = Value::Null;
        for keyword in ["anyOf", "oneOf"] {
            if let Some(Value::Array(items)) = keywords.get(keyword)
                && let Some(item) = self.random.pick(items)
            {
                merged = merge(merged, self.value(item, depth + 1));
            }
        }
        if let Some(Value::Array(items)) = keywords.get("allOf") {
            for item in items {
                merged = merge(merged, self.value(item, depth + 1));
            }
        }
        merge(self.typed(keywords, depth, merged.is_null()), merged)
    }

    fn typed(&mut self, keywords: &Map<String, Value>, depth: usize, is_alone: bool) -> Value {
        let name = match keywords.get("type") {
            Some(Value::Array(names)) => self.random.pick(names).and_then(Value::as_str),
            Some(name) => name.as_str(),
            None if keywords.contains_key("properties") || keywords.contains_key("required") => Some("object"),
            None if is_alone => return self.any(),
            None => return Value::Null,
        };
        match name.unwrap_or_default() {
            "object" => self.object(keywords, depth),
            "array" => self.array(keywords, depth),
            "string" => self.string(keywords),
            "integer" => self.number(keywords, true),
            "number" => self.number(keywords, false),
            "boolean" => json!(self.random.chance(50)),
            _ => Value::Null,
        }
    }

    fn object(&mut self, keywords: &Map<String, Value>, depth: usize) -> Value {
        let mut members = Map::new();
        let required = keywords.get("required").and_then(Value::as_array);
        let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|it| it.as_str() == Some(name)));
        for (name, schema) in keywords.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let keep = match self.mode {
                _ if is_required(name) => true,
                0 => false,
                1 => depth < 4,
                _ => self.random.chance(if depth > 5 { 10 } else { 50 }),
            };
            if keep {
                members.insert(name.clone(), self.value(schema, depth + 1));
            }
        }
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !members.contains_key(name) {
                members.insert(name.to_owned(), self.any());
            }
        }
        let rest = keywords.get("additionalProperties").unwrap_or(&Value::Bool(true));
        if self.mode > 1 && *rest != Value::Bool(false) && self.random.chance(15) {
            // A name that neither schema uses, because senders do not send members that they do not know.
            let value = self.value(rest, depth + 1);
            members.insert(format!("other-{}", self.random.below(3)), value);
        }
        Value::Object(members)
    }

    fn array(&mut self, keywords: &Map<String, Value>, depth: usize) -> Value {
        let count = self.length(keywords, "minItems", "maxItems").min(MAX_ITEMS);
        let first: &[Value] = keywords.get("prefixItems").and_then(Value::as_array).map_or(&[], Vec::as_slice);
        let rest = keywords.get("items").unwrap_or(&Value::Bool(true));
        let item = |at: u64| usize::try_from(at).ok().and_then(|at| first.get(at)).unwrap_or(rest);
        Value::Array((0..count).map(|at| self.value(item(at), depth + 1)).collect())
    }

    fn string(&mut self, keywords: &Map<String, Value>) -> Value {
        if self.random.chance(30)
            && let Some(value) = self.random.pick(&self.constants.values)
            && value.is_string()
        {
            return value.clone();
        }
        let has_length = keywords.contains_key("minLength") || keywords.contains_key("maxLength");
        if has_length || self.random.chance(30) {
            let count = self.length(keywords, "minLength", "maxLength").min(MAX_CHARACTERS);
            return json!("a".repeat(usize::try_from(count).unwrap_or_default()));
        }
        json!(self.random.pick(&TEXTS).copied().unwrap_or_default())
    }

    /// Returns a length within the limits of the schema, often at a limit of either schema.
    fn length(&mut self, keywords: &Map<String, Value>, min: &str, max: &str) -> u64 {
        let least = keywords.get(min).and_then(Value::as_u64).unwrap_or(0);
        let most = keywords.get(max).and_then(Value::as_u64).unwrap_or(u64::MAX).max(least);
        let near = match self.random.chance(60) {
            true => self.random.pick(&self.constants.lengths).copied().unwrap_or(least),
            false => least,
        };
        let length = match self.random.below(4) {
            0 => near.saturating_sub(1),
            1 => near.saturating_add(1),
            2 => near,
            _ => least.saturating_add(self.random.below(4) as u64),
        };
        length.clamp(least, most)
    }

    fn number(&mut self, keywords: &Map<String, Value>, is_integer: bool) -> Value {
        let near = match self.random.chance(70) {
            true => self.random.pick(&self.constants.numbers).copied().unwrap_or(0.0),
            false => 0.0,
        };
        let step = [0.0, 1.0, -1.0, 0.5, -0.5, 10.0, -10.0, 1000.0][self.random.below(8)];
        let mut number = near + step;
        for (keyword, is_least) in [("minimum", true), ("maximum", false)] {
            if let Some(limit) = keywords.get(keyword).and_then(Value::as_f64) {
                number = if is_least { number.max(limit) } else { number.min(limit) };
            }
        }
        if let Some(unit) = keywords.get("multipleOf").and_then(Value::as_f64).filter(|unit| *unit > 0.0) {
            number = (number / unit).round() * unit;
        }
        #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
        if is_integer || number.fract() == 0.0 { json!(number.round() as i64) } else { json!(number) }
    }

    fn any(&mut self) -> Value {
        let others =
            [json!(null), json!(true), json!(0), json!(0.5), json!("a"), json!([]), json!({}), json!([1, "a"])];
        match self.random.chance(40) {
            true => self.random.pick(&self.constants.values).cloned().unwrap_or_default(),
            false => self.random.pick(&others).cloned().unwrap_or_default(),
        }
    }
}

const TEXTS: [&str; 10] = [
    "",
    "a",
    "text",
    "A B",
    "2026-01-31",
    "2026-01-31T10:00:00Z",
    "https://example.com/a",
    "a@example.com",
    "/a/b.txt",
    "0b9e6f1c-7a52-4c0b-9d3e-5f1f8f6a2c11",
];

fn merge(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            for (name, value) in b {
                a.entry(name).or_insert(value);
            }
            Value::Object(a)
        }
        (Value::Null, b) => b,
        (a, _) => a,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(sender: &str, reader: &str) -> Sampled {
        let json = |text: &str| Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        find_rejected(&json(sender), &json(reader))
    }

    #[test]
    fn finds_documents_that_the_reader_rejects() {
        for (sender, reader) in [
            (r#"{"type": "string"}"#, r#"{"type": "integer"}"#),
            (r#"{"type": "string", "maxLength": 20}"#, r#"{"type": "string", "maxLength": 19}"#),
            (r#"{"type": "integer", "minimum": 1}"#, r#"{"type": "integer", "minimum": 2}"#),
            (r#"{"type": "array", "maxItems": 7}"#, r#"{"type": "array", "maxItems": 6}"#),
            (r#"{"enum": ["a", "b"]}"#, r#"{"enum": ["a"]}"#),
            (r#"{"type": "object"}"#, r#"{"type": "object", "additionalProperties": false}"#),
            (
                r##"{"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"x": {"type": "number"}}}}}"##,
                r#"{"properties": {"x": {"type": "number", "multipleOf": 1}}}"#,
            ),
        ] {
            assert!(matches!(sampled(sender, reader), Sampled::Rejected(_)), "{sender} {reader}");
            assert!(matches!(sampled(sender, sender), Sampled::NoDifference(count) if count > 100), "{sender}");
        }
    }

    #[test]
    fn rejects_schemas_that_no_validator_can_read() {
        for schema in [
            r##"{"$ref": "#"}"##,
            r##"{"anyOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}}"##,
            r#"{"$ref": "https://example.com/schema.json"}"#,
            r##"{"$dynamicRef": "#node"}"##,
            r#"{"type": "object", "properties": 3}"#,
            r#"{"not": {}}"#,
        ] {
            assert!(matches!(sampled(schema, "{}"), Sampled::Unreadable(_)), "{schema}");
        }
        // A reference through a value ends.
        let list = r##"{"type": "object", "properties": {"next": {"$ref": "#"}}}"##;
        assert!(matches!(sampled(list, list), Sampled::NoDifference(_)));
    }
}
