//! Our own cases: each keyword and its negation, recursion, and the budget.

use mcpgen_schema::containment::{Budget, Reason, Verdict, contains, disjoint};
use mcpgen_schema::{Checks, Dialect, Json};

use super::{ask, read};

fn schema(text: &str) -> Checks {
    let json = Json::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    read(&json, Dialect::Draft202012).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Asks whether `large` contains `small`, and expects a witness, or `=` for a proof.
fn check(cases: &[(&str, &str, &str)]) {
    let mut wrong = Vec::new();
    for (small, large, expected) in cases {
        let found = text(ask(&schema(large), &schema(small)));
        if found != *expected {
            wrong.push(format!("{small} in {large}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn text(verdict: Verdict) -> String {
    match verdict {
        Verdict::Proved => "=".to_owned(),
        Verdict::Refuted(witness) => witness.to_string(),
        Verdict::Unknown(reason) => reason.to_string(),
    }
}

#[test]
fn keywords() {
    check(&[
        // Types and values.
        ("true", "true", "="),
        ("true", "false", "null"),
        ("false", "false", "="),
        (r#"{"type": "integer"}"#, r#"{"type": "number"}"#, "="),
        (r#"{"type": "number"}"#, r#"{"type": "integer"}"#, "0.5"),
        (r#"{"const": 1.0}"#, r#"{"enum": [1, 2]}"#, "="),
        (r#"{"enum": [1, 3]}"#, r#"{"enum": [1, 2]}"#, "3"),
        (r#"{"type": "boolean"}"#, r#"{"enum": [true, false]}"#, "="),
        (r#"{"type": "null"}"#, r#"{"const": null}"#, "="),
        (r#"{"type": "object"}"#, r#"{"not": {"const": {"a": [1]}}}"#, r#"{"a":[1]}"#),
        (r#"{"const": {"a": [1]}}"#, r#"{"enum": [{"a": [1.0]}, 1]}"#, "="),
        (r#"{"minItems": 2}"#, r#"{"not": {"enum": [[], [1], 5]}}"#, "5"),
        // Numbers.
        (r#"{"type": "integer", "minimum": 1}"#, r#"{"exclusiveMinimum": 0}"#, "="),
        (r#"{"type": "number", "minimum": 1}"#, r#"{"exclusiveMinimum": 1}"#, "1"),
        (r#"{"type": "integer", "exclusiveMinimum": 0.5, "maximum": 1.5}"#, r#"{"const": 1}"#, "="),
        (r#"{"multipleOf": 6}"#, r#"{"multipleOf": 3}"#, "="),
        (r#"{"type": "number", "multipleOf": 3}"#, r#"{"multipleOf": 6}"#, "3"),
        (r#"{"multipleOf": 0.5}"#, r#"{"multipleOf": 0.25}"#, "="),
        (r#"{"type": "integer", "multipleOf": 1.5}"#, r#"{"multipleOf": 3}"#, "="),
        (r#"{"type": "integer", "minimum": 1, "maximum": 4}"#, r#"{"enum": [4, 3, 2, 1]}"#, "="),
        (r#"{"type": "number", "not": {"type": "integer"}}"#, r#"{"multipleOf": 0.5}"#, "0.1"),
        (r#"{"not": {"multipleOf": 2}}"#, r#"{"not": {"multipleOf": 4}}"#, "="),
        (r#"{"type": "integer", "minimum": 10, "maximum": 12}"#, r#"{"not": {"minimum": 11, "maximum": 11}}"#, "11"),
        // Strings.
        (r#"{"type": "string", "maxLength": 3}"#, r#"{"maxLength": 4}"#, "="),
        (r#"{"type": "string", "minLength": 3}"#, r#"{"minLength": 4}"#, r#""aaa""#),
        (r#"{"pattern": "^ab+$"}"#, r#"{"pattern": "^a"}"#, "="),
        (r#"{"type": "string", "pattern": "^a"}"#, r#"{"pattern": "^ab+$"}"#, r#""a""#),
        (r#"{"type": "string", "pattern": "^(ab)*$"}"#, r#"{"not": {"minLength": 3, "maxLength": 4}}"#, r#""abab""#),
        (r#"{"type": "string", "pattern": "^[ab]$"}"#, r#"{"enum": ["a", "b"]}"#, "="),
        (r#"{"type": "string", "pattern": "^[abc]$"}"#, r#"{"enum": ["a", "b"]}"#, r#""c""#),
        // Objects.
        (r#"{"required": ["a", "b"]}"#, r#"{"required": ["b"]}"#, "="),
        (r#"{"type": "object", "required": ["b"]}"#, r#"{"required": ["a", "b"]}"#, r#"{"b":null}"#),
        (
            r#"{"minProperties": 1, "properties": {"a": false}, "type": "object"}"#,
            r#"{"minProperties": 2}"#,
            r#"{"b":null}"#,
        ),
        (r#"{"required": ["a", "b"]}"#, r#"{"minProperties": 2}"#, "="),
        (r#"{"type": "object", "maxProperties": 1}"#, r#"{"maxProperties": 2}"#, "="),
        (r#"{"additionalProperties": {"type": "integer"}}"#, r#"{"properties": {"a": {"type": "number"}}}"#, "="),
        (
            r#"{"type": "object", "additionalProperties": {"type": "string"}}"#,
            r#"{"additionalProperties": {"type": "string"}, "properties": {"PORT": {"type": "integer"}}}"#,
            r#"{"PORT":""}"#,
        ),
        (r#"{"type": "object"}"#, r#"{"properties": {"last": false}}"#, r#"{"last":null}"#),
        (r#"{"patternProperties": {"^a": {"type": "null"}}}"#, r#"{"properties": {"ab": {"const": null}}}"#, "="),
        (
            r#"{"type": "object", "patternProperties": {"^ab": {"type": "null"}}}"#,
            r#"{"patternProperties": {"^a": {"type": "null"}}}"#,
            r#"{"a":false}"#,
        ),
        (
            r#"{"type": "object", "patternProperties": {"^a": true}, "additionalProperties": false, "minProperties": 2}"#,
            r#"{"required": ["a"]}"#,
            r#"{"aa":null,"ab":null}"#,
        ),
        (r#"{"propertyNames": {"enum": ["a", "b"]}}"#, r#"{"maxProperties": 2}"#, "="),
        (
            r#"{"type": "object", "propertyNames": {"maxLength": 1}}"#,
            r#"{"propertyNames": {"const": "a"}}"#,
            r#"{"b":null}"#,
        ),
        (r#"{"propertyNames": {"pattern": "^[ab]$"}, "minProperties": 3, "type": "object"}"#, "false", "="),
        (r#"{"type": "object", "dependentRequired": {"a": ["b"]}}"#, r#"{"required": ["b"]}"#, "{}"),
        (r#"{"required": ["a"], "dependentRequired": {"a": ["b"]}}"#, r#"{"required": ["b"]}"#, "="),
        (
            r#"{"required": ["a"], "dependentSchemas": {"a": {"maxProperties": 1}}}"#,
            r#"{"properties": {"b": false}}"#,
            "=",
        ),
        (r#"{"required": ["a"]}"#, r#"{"not": {"properties": {"a": false}}}"#, "null"),
        // Arrays.
        (r#"{"items": {"type": "integer"}}"#, r#"{"items": {"type": "number"}}"#, "="),
        (r#"{"type": "array", "items": {"type": "number"}}"#, r#"{"items": {"type": "integer"}}"#, "[0.5]"),
        (r#"{"type": "array", "prefixItems": [true, {"type": "null"}]}"#, r#"{"items": {"type": "null"}}"#, "[false]"),
        (r#"{"items": {"const": 1}, "prefixItems": [{"const": 1}]}"#, r#"{"items": {"const": 1}}"#, "="),
        (r#"{"items": false, "prefixItems": [true]}"#, r#"{"maxItems": 1}"#, "="),
        (r#"{"contains": {"const": 1}}"#, r#"{"minItems": 1}"#, "="),
        (r#"{"type": "array", "minItems": 1}"#, r#"{"contains": {"const": 1}}"#, "[null]"),
        (r#"{"type": "array", "contains": {"const": 1}, "minContains": 2}"#, r#"{"maxItems": 1}"#, "[1,1]"),
        (
            r#"{"contains": {"const": 1}, "minContains": 2, "maxContains": 3}"#,
            r#"{"contains": {"enum": [1, 2]}, "minContains": 2}"#,
            "=",
        ),
        (
            r#"{"contains": {"type": "integer"}, "maxContains": 1, "minItems": 3, "items": {"enum": [1, 2, "a"]}, "type": "array"}"#,
            r#"{"contains": {"const": "a"}, "minContains": 2}"#,
            "=",
        ),
        (r#"{"contains": {"const": 1}, "minContains": 0}"#, "true", "="),
        (r#"{"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": true}"#, r#"{"maxItems": 2}"#, "="),
        (r#"{"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": true}"#, r#"{"maxItems": 2}"#, "[1,2,3]"),
        (r#"{"type": "array", "items": {"const": 1}}"#, r#"{"uniqueItems": true}"#, "[1,1]"),
        (r#"{"items": {"const": 1}, "maxItems": 1}"#, r#"{"uniqueItems": true}"#, "="),
        (
            r#"{"type": "array", "prefixItems": [{"enum": [1, 2]}, {"enum": [2, 3]}, {"const": 2}], "uniqueItems": true, "minItems": 3}"#,
            "false",
            "[1,3,2]",
        ),
        // Combinations.
        (r#"{"anyOf": [{"const": 1}, {"const": 2}]}"#, r#"{"enum": [1, 2]}"#, "="),
        (r#"{"allOf": [{"minimum": 1}, {"maximum": 2}], "type": "integer"}"#, r#"{"enum": [1, 2]}"#, "="),
        (r#"{"oneOf": [{"type": "integer"}, {"minimum": 2}], "type": "number"}"#, r#"{"exclusiveMaximum": 2}"#, "2.5"),
        (r#"{"type": "integer", "exclusiveMaximum": 2}"#, r#"{"oneOf": [{"type": "integer"}, {"minimum": 2}]}"#, "="),
        (r#"{"const": 2}"#, r#"{"oneOf": [{"type": "integer"}, {"minimum": 2}]}"#, "2"),
        (r#"{"not": {"type": "object"}}"#, r#"{"type": ["null", "boolean", "number", "string", "array"]}"#, "="),
        (r#"{"type": "integer", "not": {"minimum": 1}}"#, r#"{"maximum": 0}"#, "="),
        (r#"{"if": {"type": "string"}, "then": {"maxLength": 1}}"#, r#"{"maxLength": 2}"#, "="),
        (r#"{"if": {"type": "string"}, "then": {"maxLength": 1}, "else": false}"#, r#"{"type": "string"}"#, "="),
        (r#"{"type": "string"}"#, r#"{"if": {"minLength": 2}, "then": false}"#, r#""aa""#),
        // Unevaluated members and items.
        (
            r#"{"type": "object", "properties": {"a": true}, "unevaluatedProperties": false}"#,
            r#"{"propertyNames": {"const": "a"}}"#,
            "=",
        ),
        (
            r#"{"anyOf": [{"properties": {"a": true}, "required": ["a"]}, true], "unevaluatedProperties": false}"#,
            r#"{"maxProperties": 1}"#,
            "=",
        ),
        (
            r#"{"type": "object", "properties": {"b": true}}"#,
            r#"{"if": {"required": ["a"]}, "then": {"properties": {"a": true, "b": true}}, "unevaluatedProperties": false}"#,
            r#"{"b":null}"#,
        ),
        (r#"{"prefixItems": [true], "unevaluatedItems": false}"#, r#"{"maxItems": 1}"#, "="),
        (r#"{"contains": {"const": 1}, "unevaluatedItems": {"const": 2}}"#, r#"{"items": {"enum": [1, 2]}}"#, "="),
        (
            r#"{"type": "array", "items": {"enum": [1, 2]}}"#,
            r#"{"contains": {"const": 1}, "unevaluatedItems": {"const": 2}}"#,
            "[]",
        ),
    ]);
}

#[test]
fn recursion() {
    let tree = |value: &str| {
        format!(
            r##"{{"type": "object", "properties": {{"value": {value}, "children": {{"items": {{"$ref": "#"}}}}}}}}"##
        )
    };
    let list = r##"{"type": "object", "required": ["next"], "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}}"##;
    check(&[
        (&tree(r#"{"type": "integer"}"#), &tree(r#"{"type": "number"}"#), "="),
        (&tree(r#"{"type": "number"}"#), &tree(r#"{"type": "integer"}"#), r#"{"value":0.5}"#),
        // Such a chain has no end, so no document satisfies it.
        (r##"{"type": "object", "required": ["next"], "properties": {"next": {"$ref": "#"}}}"##, "false", "="),
        (list, "false", r#"{"next":null}"#),
        (
            list,
            r##"{"properties": {"next": {"properties": {"next": {"type": "null"}}}}}"##,
            r#"{"next":{"next":{"next":null}}}"#,
        ),
        (
            r##"{"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}"##,
            r##"{"items": {"$ref": "#"}}"##,
            "=",
        ),
        (
            r##"{"type": "array", "items": {"$ref": "#"}}"##,
            r##"{"type": "array", "maxItems": 1, "items": {"$ref": "#"}}"##,
            "[[],[]]",
        ),
        // Lists nested to an even depth are among the lists of any depth.
        (
            r##"{"$defs": {"even": {"maxItems": 1, "items": {"$ref": "#/$defs/odd"}}, "odd": {"minItems": 1, "maxItems": 1, "items": {"$ref": "#/$defs/even"}}}, "$ref": "#/$defs/even"}"##,
            r##"{"maxItems": 1, "items": {"$ref": "#"}}"##,
            "=",
        ),
    ]);
}

#[test]
fn disjointness() {
    for (a, b, expected) in [
        (r#"{"type": "integer"}"#, r#"{"type": "string"}"#, "="),
        (r#"{"minimum": 1}"#, r#"{"maximum": 0}"#, "null"),
        (
            r#"{"type": "object", "additionalProperties": {"type": "string"}}"#,
            r#"{"type": "object", "properties": {"foo": {"type": "integer"}}, "required": ["foo"]}"#,
            "=",
        ),
        (
            r#"{"type": "object", "properties": {"foo": {"type": "string"}}}"#,
            r#"{"type": "object", "required": ["foo"]}"#,
            r#"{"foo":""}"#,
        ),
    ] {
        let (a, b) = (schema(a), schema(b));
        let verdict = text(disjoint((&a).into(), (&b).into(), Budget::default()));
        assert_eq!(verdict, expected);
    }
}

#[test]
fn gives_up() {
    let ask =
        |small: &str, large: &str, steps| contains((&schema(large)).into(), (&schema(small)).into(), Budget { steps });
    let choices = |count: usize, values: &str| {
        let each = (0..count)
            .map(|index| format!(r#"{{"anyOf": [{{"required": ["a{index}"]}}, {{"required": ["b{index}"]}}]}}"#));
        format!(
            r#"{{"type": "object", "maxProperties": {}, "allOf": [{}{values}]}}"#,
            count - 1,
            each.collect::<Vec<_>>().join(",")
        )
    };
    assert_eq!(ask(&choices(40, ""), "false", 2_000), Verdict::Unknown(Reason::Budget));
    assert_eq!(ask(r#"{"type": "array", "minItems": 100000}"#, "false", 2_000), Verdict::Unknown(Reason::Budget));
    assert_eq!(ask(r#"{"type": "object", "minProperties": 100000}"#, "false", 2_000), Verdict::Unknown(Reason::Budget));
    assert_eq!(
        ask(r#"{"type": "string", "pattern": "^(?!a)"}"#, r#"{"pattern": "^[^a]|^$"}"#, 2_000),
        Verdict::Unknown(Reason::Pattern)
    );
    // A document found by guessing is still a valid witness.
    assert_eq!(
        ask(r#"{"type": "string"}"#, r#"{"pattern": "^(?!a)"}"#, 2_000),
        Verdict::Refuted(Json::String("a".to_owned()))
    );
    assert_eq!(
        ask(r#"{"type": "number", "exclusiveMinimum": 1e300}"#, "false", 2_000),
        Verdict::Unknown(Reason::Number)
    );
}

#[test]
fn depth_is_bounded() {
    let chain = |leaf: &str| {
        let definitions = (0..3_000).map(|index| {
            format!(
                r##""d{index}": {{"type": "array", "minItems": 1, "items": {{"$ref": "#/$defs/d{}"}}}}"##,
                index + 1
            )
        });
        format!(
            r##"{{"$defs": {{{}, "d3000": {leaf}}}, "$ref": "#/$defs/d0"}}"##,
            definitions.collect::<Vec<_>>().join(",")
        )
    };
    let (small, large) = (schema(&chain("true")), schema(&chain("false")));
    assert_eq!(ask(&large, &small), Verdict::Unknown(Reason::Budget));
}

/// Deep schemas must neither overflow the stack nor take long.
#[test]
fn deep_schemas_end() {
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(ask_about_deep_schemas);
    thread.expect("a thread").join().expect("no panic");
}

fn ask_about_deep_schemas() {
    let nested = |open: &str, depth: usize, leaf: &str, close: &str| {
        format!("{}{leaf}{}", open.repeat(depth), close.repeat(depth))
    };
    let chain = |link: &dyn Fn(&str) -> String, leaf: &str| {
        let definitions = (0..20).map(|index| {
            let next = format!(r##"{{"$ref": "#/$defs/d{}"}}"##, index + 1);
            format!(r#""d{index}": {}"#, link(&next))
        });
        let definitions = definitions.collect::<Vec<_>>().join(",");
        format!(r##"{{"$defs": {{{definitions}, "d20": {leaf}}}, "$ref": "#/$defs/d0"}}"##)
    };
    let links: [(&str, usize, &str); 7] = [
        (r#"{"type": "array", "minItems": 1, "items": "#, 40, "}"),
        (r#"{"not": "#, 47, "}"),
        (r#"{"allOf": ["#, 46, ", {}]}"),
        (r#"{"anyOf": ["#, 46, r#", {"type": "object", "required": ["a"], "properties": {"a": false}}]}"#),
        (r#"{"oneOf": ["#, 46, r#", {"type": "integer"}]}"#),
        (r#"{"type": "object", "required": ["a"], "properties": {"a": "#, 20, "}}"),
        (r#"{"type": "object", "required": ["a"], "additionalProperties": {"contains": "#, 15, "}}"),
    ];
    for (open, depth, close) in links {
        for (small, large) in [("true", "false"), (r#"{"type": "string"}"#, r#"{"minLength": 1}"#), ("true", "true")] {
            let link = |next: &str| nested(open, depth, next, close);
            for leaves in [[link(small), link(large)], [chain(&link, small), chain(&link, large)]] {
                let [small, large] = leaves.map(|text| schema(&text));
                // The verdict depends on the depth; only termination matters.
                let _ = ask(&large, &small);
                let _ = ask(&small, &large);
            }
        }
    }
}
