//! A compiled schema with bounded evaluation.

use std::fmt::{self, Write};
use std::sync::{Arc, LazyLock};
use std::thread::available_parallelism;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use mcpgen_mcp::tree::tree;
use mcpgen_mcp::validation::{CompiledSchema, Verdict};
use mcpgen_types::{Json, Value};
use tokio::sync::Semaphore;

use crate::budget::{self, Budget};
use crate::error::SchemaError;
use crate::pattern::{MAX_BACKTRACKS, backtracking};
use crate::rewrite::rewrite;

pub(crate) struct Schema {
    validator: Validator,
    /// Whether some pattern needs backtracking. If so, a check may end without an outcome.
    backtracks: bool,
}

/// A [`Schema`] that running checks share.
pub(crate) struct Compiled(Arc<Schema>);

impl Compiled {
    pub(crate) fn new(schema: &Value) -> Result<Self, SchemaError> {
        Schema::new(schema).map(|schema| Self(Arc::new(schema)))
    }
}

impl CompiledSchema for Compiled {
    fn check<'a>(&'a self, json: &'a Json) -> BoxFuture<'a, Verdict> {
        Box::pin(self.0.check(json))
    }
}

/// Budget for a check on the caller's thread, where other tasks may be waiting: a few milliseconds.
const QUICK: Budget = Budget { steps: 50_000, stack: 128 << 10, time: Duration::from_millis(50) };

/// Budget for a check on a thread for blocking work.
const THOROUGH: Budget = Budget { steps: 50_000_000, stack: 1 << 20, time: Duration::from_secs(2) };

/// How long a check waits for other checks to finish.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Maximum size of a compiled pattern in bytes.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Maximum memory for matching a pattern in bytes.
const MAX_MATCHER_BYTES: usize = 1 << 20;

/// How much work may go into listing a value's errors, in units. Bounds how many errors are collected.
const MAX_EXPLAINED: u64 = 100_000;

const MAX_ERRORS: usize = 5;

/// Maximum length of an error in bytes. Errors quote the value, which may be long.
const MAX_ERROR_BYTES: usize = 300;

impl Schema {
    pub(crate) fn new(schema: &Value) -> Result<Self, SchemaError> {
        let backtracks = backtracks(schema);
        let (schema, draft) = rewrite(schema)?;
        let patterns = PatternOptions::fancy_regex()
            .size_limit(MAX_PATTERN_BYTES)
            .dfa_size_limit(MAX_MATCHER_BYTES)
            .backtrack_limit(MAX_BACKTRACKS.into());
        jsonschema::options()
            .offline()
            .with_draft(draft)
            .with_pattern_options(patterns)
            .with_keyword(budget::KEYWORD, budget::keyword)
            .build(&schema)
            .map(|validator| Self { validator, backtracks })
            .map_err(|error| SchemaError::from_build(&error))
    }

    /// A check that takes more than a few milliseconds is repeated on a thread for blocking work.
    pub(crate) async fn check(self: &Arc<Self>, json: &Json) -> Verdict {
        let Some(value) = tree(json) else { return Verdict::TooLarge };
        if json.entries().is_ok_and(|found| found != entries(&value)) {
            return Verdict::Invalid("the name of a member occurs more than once".to_owned());
        }
        match self.check_within(QUICK, &value) {
            Verdict::Unfinished => {
                // Free the tree now: it is large, and waiting for other checks may take long.
                drop(value);
                self.check_thoroughly(json.clone()).await
            }
            verdict => verdict,
        }
    }

    async fn check_thoroughly(self: &Arc<Self>, json: Json) -> Verdict {
        // Run at most as many checks at once as there are processors.
        static ROOM: LazyLock<Arc<Semaphore>> =
            LazyLock::new(|| Arc::new(Semaphore::new(available_parallelism().map_or(1, usize::from))));
        let Ok(Ok(room)) = tokio::time::timeout(MAX_WAIT, Arc::clone(&ROOM).acquire_owned()).await else {
            return Verdict::Unfinished;
        };
        let schema = Arc::clone(self);
        let check = tokio::task::spawn_blocking(move || {
            // Hold the permit until the check ends, even if the caller is cancelled.
            let _room = room;
            schema.check_within(THOROUGH, &json.to_value())
        });
        check.await.unwrap_or(Verdict::Unfinished)
    }

    fn check_within(&self, budget: Budget, value: &Value) -> Verdict {
        match budget.run(|| self.validator.is_valid(value)) {
            Ok(true) => Verdict::Valid,
            Ok(false) => self.explain(budget, value),
            Err(budget::Exhausted) => Verdict::Unfinished,
        }
    }

    /// Lists the first errors of an invalid value. The budget is smaller because `jsonschema` collects all of them.
    fn explain(&self, budget: Budget, value: &Value) -> Verdict {
        let budget = Budget { steps: budget.steps.min(MAX_EXPLAINED), ..budget };
        let errors = budget.run(|| {
            let mut described = Vec::new();
            for error in self.validator.iter_errors(value).take(MAX_ERRORS) {
                // This error only says that matching a pattern took too many steps.
                if !matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. }) {
                    describe(&error, &mut described);
                }
            }
            described.join("; ")
        });
        match errors {
            Ok(errors) if errors.is_empty() => Verdict::Unfinished,
            Ok(errors) => Verdict::Invalid(errors),
            Err(budget::Exhausted) if self.backtracks => Verdict::Unfinished,
            Err(budget::Exhausted) => Verdict::Invalid("does not match the schema".to_owned()),
        }
    }
}

fn backtracks(schema: &Value) -> bool {
    match schema {
        Value::Array(parts) => parts.iter().any(backtracks),
        Value::Object(members) => members.iter().any(|(name, value)| {
            let is_pattern = |it: &str| backtracking(it) > 0;
            is_pattern(name) || value.as_str().is_some_and(is_pattern) || backtracks(value)
        }),
        _ => false,
    }
}

/// Adds descriptions of an error, until there are [`MAX_ERRORS`] in total.
fn describe(error: &ValidationError<'_>, described: &mut Vec<String>) {
    let path = error.instance_path().as_str();
    if described.len() >= MAX_ERRORS {
        return;
    }
    if let ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } = error.kind()
        && let Some(errors) = of_intended_alternative(context, path)
    {
        return errors.iter().for_each(|error| describe(error, described));
    }
    described.push(words(error, path));
}

fn words(error: &ValidationError<'_>, path: &str) -> String {
    let prefix = if path.is_empty() { String::new() } else { format!("{path}: ") };
    // The error would quote the rewritten schema.
    if matches!(error.kind(), ValidationErrorKind::Not { .. }) {
        return format!("{prefix}the value matches the schema of `not`");
    }
    match shortened(error) {
        Ok(text) => format!("{prefix}{text}"),
        // The error quotes a long value.
        Err(_) => format!("{prefix}{}", shortened(error.masked()).unwrap_or_else(|cut| cut)),
    }
}

/// Returns the errors of the alternative that the value was meant for: the only one whose type and constants fit.
fn of_intended_alternative<'e>(
    alternatives: &'e [Vec<ValidationError<'static>>],
    path: &str,
) -> Option<&'e [ValidationError<'static>]> {
    let excludes = |error: &ValidationError<'_>| {
        let Some(inside) = error.instance_path().as_str().strip_prefix(path) else { return false };
        match error.kind() {
            ValidationErrorKind::Constant { .. } | ValidationErrorKind::Enum { .. } => inside.matches('/').count() <= 1,
            ValidationErrorKind::Type { .. } | ValidationErrorKind::FalseSchema => inside.is_empty(),
            _ => false,
        }
    };
    let mut intended = alternatives.iter().filter(|errors| !errors.iter().any(excludes));
    intended.next().filter(|errors| !errors.is_empty() && intended.next().is_none()).map(Vec::as_slice)
}

/// Formats `content`. If it is longer than [`MAX_ERROR_BYTES`], returns its start as the error.
fn shortened(content: impl fmt::Display) -> Result<String, String> {
    let mut text = Shortened(String::new());
    match write!(text, "{content}") {
        Ok(()) => Ok(text.0),
        Err(fmt::Error) => Err(text.0),
    }
}

/// Truncates at [`MAX_ERROR_BYTES`].
struct Shortened(String);

impl Write for Shortened {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MAX_ERROR_BYTES.saturating_sub(self.0.len());
        if text.len() <= room {
            self.0.push_str(text);
            return Ok(());
        }
        let end = (0..=room).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        self.0.push_str(&text[..end]);
        self.0.push('…');
        Err(fmt::Error)
    }
}

impl SchemaError {
    fn from_build(error: &ValidationError<'_>) -> Self {
        let text = shortened(error).unwrap_or_else(|cut| cut);
        match error.kind() {
            ValidationErrorKind::Format { format } if format == "regex" => Self::Pattern(text, MAX_PATTERN_BYTES >> 10),
            _ => Self::Invalid(text),
        }
    }
}

/// How many index entries the document of a tree has. If it repeats a member's name, it has more.
fn entries(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 2 + elements.iter().map(entries).sum::<usize>(),
        Value::Object(members) => 2 + members.values().map(|value| 1 + entries(value)).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    const SMALL: Budget = Budget { steps: 100_000, stack: 1 << 20, time: Duration::from_secs(60) };

    fn check(schema: &Value, instance: &Value) -> Verdict {
        Schema::new(schema).expect("valid schema").check_within(SMALL, instance)
    }

    /// Schemas with instances that match and instances that do not.
    fn table() -> Vec<(Value, Vec<Value>)> {
        let draft = |draft: &str, mut schema: Value| {
            schema["$schema"] = json!(draft);
            schema
        };
        let instances = vec![
            json!({}),
            json!({ "a": 1 }),
            json!({ "a": "x", "b": 2 }),
            json!({ "a": { "a": { "a": 1 } } }),
            json!({ "a": [1, "x", { "a": [] }] }),
            json!({ "b": { "c": 3 }, "c": "ccc" }),
            json!([1, 2, 2]),
            json!(["x", { "a": 1 }]),
            json!("xx"),
            json!(3),
            Value::Null,
        ];
        let (seven, nineteen) =
            ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2019-09/schema");
        [
            json!(true),
            json!(false),
            json!({}),
            json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" } } }),
            json!({ "additionalProperties": { "pattern": "^c+$" }, "properties": { "b": true } }),
            json!({ "patternProperties": { "^[ab]$": { "type": ["integer", "array"] } }, "additionalProperties": false }),
            json!({ "propertyNames": { "pattern": "^a$" } }),
            json!({ "items": { "type": "integer" }, "uniqueItems": true }),
            json!({ "prefixItems": [{ "type": "string" }], "items": { "required": ["a"] } }),
            json!({ "contains": { "type": "string" }, "minContains": 1, "maxContains": 1 }),
            json!({ "if": { "required": ["a"] }, "then": { "required": ["b"] }, "else": { "type": "array" } }),
            json!({ "not": { "anyOf": [{ "type": "object" }, { "type": "string", "pattern": "x" }] } }),
            json!({ "oneOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            json!({ "dependentRequired": { "a": ["b"] }, "dependentSchemas": { "b": { "required": ["c"] } } }),
            json!({ "const": { "a": 1 } }),
            json!({ "enum": [3, "xx", [1, 2, 2]] }),
            json!({ "properties": { "a": { "$ref": "#" } }, "additionalProperties": false }),
            json!({ "$ref": "#/$defs/t", "$defs": { "t": { "properties": { "a": { "$ref": "#/$defs/t" } }, "minProperties": 1 } } }),
            json!({ "$defs": { "t": { "$anchor": "t", "type": "integer" } }, "properties": { "a": { "$ref": "#t" } } }),
            json!({ "properties": { "a": { "properties": { "a": { "pattern": "^x" } } }, "b": { "$ref": "#/properties/a/properties/a" } } }),
            json!({ "properties": { "b": { "$ref": "#/other/%61~1~0" } }, "other": { "a/~": { "type": "string" } } }),
            json!({ "$id": "T0", "properties": { "a": { "$ref": "T0" } }, "additionalProperties": false }),
            json!({ "$id": "https://example.com/root", "$defs": { "t": { "$id": "inner", "$defs": { "i": { "type": "integer" } },
                "properties": { "c": { "$ref": "#/$defs/i" } } } }, "properties": { "b": { "$ref": "#/$defs/t" } } }),
            json!({ "$dynamicAnchor": "n", "type": "object", "properties": { "a": { "$dynamicRef": "#n" } } }),
            json!({ "$ref": "#/$defs/a", "$defs": { "a": { "properties": { "a": {} } } }, "unevaluatedProperties": false }),
            json!({ "allOf": [{ "if": { "required": ["a"] }, "then": { "properties": { "b": {} } } }],
                "anyOf": [{ "properties": { "a": { "type": "integer" } } }, { "properties": { "b": { "pattern": "." } } }],
                "unevaluatedProperties": { "type": "string" } }),
            json!({ "prefixItems": [true], "contains": { "type": "object" }, "unevaluatedItems": false }),
            json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" }),
            draft(seven, json!({ "$ref": "#/definitions/a", "required": ["z"], "definitions": { "a": { "type": "object" } } })),
            draft(seven, json!({ "items": [{ "type": "integer" }, true], "additionalItems": { "type": "string" } })),
            draft(seven, json!({ "dependencies": { "a": ["b"], "b": { "required": ["c"] } } })),
            draft(seven, json!({ "definitions": { "x": { "$id": "#x", "type": "integer" } }, "properties": { "a": { "$ref": "#x" } } })),
            draft("http://json-schema.org/draft-06/schema#", json!({ "contains": { "const": 2 }, "if": true, "then": false })),
            draft("http://json-schema.org/draft-04/schema#", json!({ "properties": { "a": { "minimum": 1, "exclusiveMinimum": true } }, "const": 1 })),
            draft("http://json-schema.org/draft-04/schema#", json!({ "maximum": 3, "exclusiveMaximum": false })),
            draft(nineteen, json!({ "$recursiveAnchor": true, "properties": { "a": { "$recursiveRef": "#" } }, "maxProperties": 1 })),
            draft(nineteen, json!({ "items": [true], "unevaluatedItems": false })),
        ]
        .into_iter()
        .map(|schema| (schema, instances.clone()))
        .collect()
    }

    #[test]
    fn agrees_with_the_original_schema() {
        for (schema, instances) in table() {
            let plain = jsonschema::options().offline().build(&schema).expect("valid schema");
            for instance in instances {
                let verdict = check(&schema, &instance);
                assert_eq!(verdict == Verdict::Valid, plain.is_valid(&instance), "{schema} {instance}: {verdict:?}");
                assert_ne!(verdict, Verdict::Unfinished, "{schema} {instance}");
                if let Verdict::Invalid(errors) = verdict {
                    assert!(!errors.contains("$defs") && !errors.is_empty(), "{schema} {instance}: {errors}");
                }
            }
        }
    }

    fn nested(levels: usize, leaf: Value) -> Value {
        (0..levels).fold(leaf, |inner, _| json!({ "x": inner }))
    }

    /// Definitions `d0` to `d{levels}`, each of which refers to the next one.
    fn chain(levels: usize, last: Value, each: impl Fn(Value) -> Value) -> Value {
        let reference = |level: usize| json!({ "$ref": format!("#/$defs/d{level}") });
        let each = (0..levels).map(|level| (format!("d{level}"), each(reference(level + 1))));
        let definitions: serde_json::Map<_, _> = each.chain([(format!("d{levels}"), last)]).collect();
        json!({ "$defs": definitions, "$ref": "#/$defs/d0" })
    }

    #[test]
    fn ends_when_the_budget_is_used_up() {
        let members = |next: Value| json!({ "properties": { "x": next } });
        let items: Vec<i32> = (0..60_000).collect();
        let patterns: Vec<Value> = (0..250).map(|n| json!({ "not": { "pattern": format!("^a{n}$") } })).collect();
        for (what, schema, instance) in [
            (
                "allOf",
                chain(60, json!(true), |next| json!({ "allOf": [members(next.clone()), members(next)] })),
                nested(60, json!(1)),
            ),
            (
                "anyOf",
                chain(60, json!(false), |next| json!({ "anyOf": [members(next.clone()), members(next)] })),
                nested(60, json!(1)),
            ),
            (
                "oneOf",
                chain(
                    60,
                    json!(true),
                    |next| json!({ "oneOf": [members(next.clone()), { "required": ["y"], "allOf": [members(next.clone())] }, members(next)] }),
                ),
                nested(60, json!(1)),
            ),
            (
                "not",
                chain(60, json!(true), |next| json!({ "not": { "allOf": [members(next.clone()), members(next)] } })),
                nested(60, json!(1)),
            ),
            (
                "items",
                chain(30, json!(true), |next| json!({ "allOf": [{ "items": next }, { "items": next }] })),
                (0..30).fold(json!(1), |inner, _| json!([inner])),
            ),
            (
                "unevaluatedProperties",
                chain(
                    60,
                    json!(true),
                    |next| json!({ "anyOf": [members(next.clone()), members(next)], "unevaluatedProperties": false }),
                ),
                nested(60, json!(1)),
            ),
            (
                "oneOf of many",
                json!({ "items": { "oneOf": [{ "type": "integer" }, { "type": "string" }] } }),
                json!(items),
            ),
            ("uniqueItems", json!({ "uniqueItems": true }), json!(items)),
            ("enum", json!({ "items": { "enum": items } }), json!([0, 1, 2, 3])),
            ("many patterns", json!({ "items": { "allOf": patterns } }), json!(vec!["zz"; 1000])),
            ("long text", json!({ "pattern": "(a|b|ab)*c{100}d" }), json!("ab".repeat(100_000))),
            (
                "long names",
                json!({ "patternProperties": { "(a|b|ab)*c{100}d": true } }),
                json!({ ("ab".repeat(100_000)): 1 }),
            ),
            ("contains", json!({ "contains": { "allOf": [{ "pattern": "x" }] } }), json!(vec!["a"; 60_000])),
        ] {
            assert_eq!(check(&schema, &instance), Verdict::Unfinished, "{what}");
        }
    }

    #[test]
    fn finishes_ordinary_checks_of_large_values() {
        let items: Vec<i32> = (0..60_000).collect();
        for (schema, instance, expected) in [
            (json!({ "items": { "type": "integer", "minimum": 0 } }), json!(items[..10_000]), Verdict::Valid),
            (json!({ "maxLength": 2_000_000 }), json!("a".repeat(1_000_000)), Verdict::Valid),
            (json!({ "pattern": "^[a-z]*$" }), json!("a".repeat(1_000_000)), Verdict::Valid),
            (json!({ "multipleOf": 1e-300 }), json!(1e300), Verdict::Valid),
        ] {
            assert_eq!(check(&schema, &instance), expected, "{schema}");
        }
    }

    #[test]
    fn ends_when_the_stack_is_used_up() {
        let schema = Schema::new(&json!({ "properties": { "x": { "$ref": "#" } } })).expect("valid schema");
        let instance = nested(90, json!(1));
        let little = Budget { stack: 8 << 10, ..SMALL };
        assert_eq!(schema.check_within(little, &instance), Verdict::Unfinished);
        assert_eq!(schema.check_within(SMALL, &instance), Verdict::Valid);
    }

    #[test]
    fn charges_for_long_text_and_metaschemas() {
        let text = json!("x".repeat(1 << 20));
        let long = json!({ "allOf": vec![json!({ "minLength": 1_000_000 }); 100] });
        let one = json!({ "$defs": { "a": { "const": text } }, "properties": { "b": { "$ref": "#/$defs/a" } } });
        let meta = json!({ "items": { "$ref": "https://json-schema.org/draft/2020-12/schema" } });
        let thousand = Budget { steps: 1_000_000, ..SMALL };
        assert_eq!(Schema::new(&long).expect("valid schema").check_within(thousand, &text), Verdict::Unfinished);
        assert!(matches!(check(&one, &json!({ "b": "x" })), Verdict::Invalid(_)));
        assert_eq!(check(&meta, &json!([{ "enum": vec![json!({}); 2000] }])), Verdict::Unfinished);
        assert_eq!(check(&meta, &json!([{ "type": "string" }])), Verdict::Valid);
        // A long constant is not duplicated for each reference to it.
        let many: Map<_, _> = (0..100).map(|n| (n.to_string(), json!({ "$ref": "#/$defs/a" }))).collect();
        let rewritten =
            rewrite(&json!({ "$defs": { "a": { "const": text } }, "properties": many })).expect("valid schema").0;
        assert!(rewritten.to_string().len() < 2 << 20);
    }

    #[test]
    fn accepts_ordinary_unicode_patterns() {
        let schema = json!({ "pattern": "^[\\p{L} '-]{1,50}$" });
        assert_eq!(check(&schema, &json!("Zoë")), Verdict::Valid);
        assert_eq!(
            check(&schema, &json!("3")),
            Verdict::Invalid("\"3\" does not match \"^[\\p{L} '-]{1,50}$\"".to_owned())
        );
    }

    #[test]
    fn matches_patterns_with_look_around_within_a_limit() {
        let schema = json!({ "properties": { "to": { "type": "string", "pattern": r"^(?!\.)[a-z.]+@[a-z.]+$" } } });
        assert_eq!(check(&schema, &json!({ "to": "a.b@c.d" })), Verdict::Valid);
        for (to, expected) in [
            (json!(5), "/to: 5 is not of type \"string\""),
            (json!(".a@b"), r#"/to: ".a@b" does not match "^(?!\.)[a-z.]+@[a-z.]+$""#),
        ] {
            assert_eq!(check(&schema, &json!({ "to": to })), Verdict::Invalid(expected.to_owned()));
        }
        // Matching these takes exponentially many steps.
        let text = json!("a".repeat(100));
        for pattern in [r"^(a|aa)+(?!a)\1c", r"^(?:(a|aa)\1)*c$"] {
            let pattern = json!({ "pattern": pattern });
            assert_eq!(check(&pattern, &text), Verdict::Unfinished, "{pattern}");
            assert_eq!(check(&json!({ "not": pattern }), &text), Verdict::Unfinished, "not {pattern}");
            // The other keyword rejects the value, so the pattern does not matter.
            let both = json!({ "allOf": [pattern, { "type": "integer" }] });
            assert!(matches!(check(&both, &text), Verdict::Invalid(_)), "{both}");
        }
        // Each step back reads the rest of the text.
        let long = json!("a".repeat(1 << 20));
        assert_eq!(check(&json!({ "pattern": r"(?=.*\d)[a-z]{8,}" }), &long), Verdict::Unfinished);
        let many = json!({ "items": { "pattern": r"^(a|aa)+(?!a)\1c" } });
        assert_eq!(check(&many, &json!(vec![text; 10_000])), Verdict::Unfinished);
    }

    #[test]
    fn explains_the_alternative_that_a_value_was_meant_for() {
        let tagged = |tag: &str, member: &str| {
            let properties = json!({ "op": { "const": tag }, (member): { "type": "string" } });
            json!({ "type": "object", "properties": properties, "required": ["op", member] })
        };
        let operations = json!([tagged("get", "key"), tagged("put", "value")]);
        let any_of = "is not valid under any of the schemas listed in the 'anyOf' keyword";
        let one_of = "is not valid under any of the schemas listed in the 'oneOf' keyword";
        for (schema, instance, expected) in [
            (json!({ "oneOf": operations }), json!({ "op": "put", "key": "k" }), "\"value\" is a required property"),
            (json!({ "anyOf": operations }), json!({ "op": "get", "key": 5 }), "/key: 5 is not of type \"string\""),
            (
                json!({ "properties": { "a": { "items": { "oneOf": operations } } } }),
                json!({ "a": [{ "op": "get", "key": "k" }, { "op": "put" }] }),
                "/a/1: \"value\" is a required property",
            ),
            (
                json!({ "anyOf": [{ "type": "string" }, { "type": "object", "required": ["a"] }] }),
                json!({ "b": 1 }),
                "\"a\" is a required property",
            ),
            (json!({ "oneOf": operations }), json!({ "op": "del" }), &format!("{{\"op\":\"del\"}} {one_of}")),
            (json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }), json!({}), &format!("{{}} {any_of}")),
        ] {
            let verdict = check(&schema, &instance);
            assert_eq!(verdict, Verdict::Invalid(expected.to_owned()), "{schema} {instance}");
        }
    }

    #[test]
    fn lists_at_most_a_few_errors() {
        let Verdict::Invalid(errors) = check(&json!({ "items": { "type": "string" } }), &json!(vec![0; 1000])) else {
            panic!("expected errors");
        };
        assert_eq!(errors.matches("is not of type").count(), MAX_ERRORS);
        let schema = Schema::new(&json!({ "items": { "type": "string" } })).expect("valid schema");
        let many = schema.check_within(Budget { steps: 1_000_000, ..SMALL }, &json!(vec![0; 60_000]));
        assert_eq!(many, Verdict::Invalid("does not match the schema".to_owned()));
    }

    #[tokio::test]
    async fn refuses_what_it_cannot_check() {
        let schema = Arc::new(Schema::new(&json!({})).expect("a schema"));
        let check = async |text: &str| schema.check(&Json::parse(text).expect("JSON")).await;
        let numbers = |count: usize| format!("[{}0]", "0,".repeat(count));
        assert_eq!(check(&numbers(300_000)).await, Verdict::Valid);
        assert_eq!(check(&numbers(500_000)).await, Verdict::TooLarge);
        assert!(matches!(check(r#"{"a":[{"b":1,"b":2}]}"#).await, Verdict::Invalid(_)));
    }
}
