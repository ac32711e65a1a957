//! Deep schemas and documents must neither overflow a small stack nor be judged wrongly.

use std::thread;

use mcpgen_model::validate::validate;
use mcpgen_schema::{Document, Json};

const STACK: usize = 2 << 20;

/// Reads a schema and validates documents on a thread with a small stack. Returns the messages.
fn check(name: &str, schema: String, documents: &[String]) -> Vec<String> {
    let documents: Vec<Json> = documents.iter().map(|text| Json::parse(text).expect("JSON")).collect();
    let run = move || {
        let document = Document::parse("deep.json", schema.as_bytes());
        let protocol = match document.and_then(|document| mcpgen_model::model(document, "draft", false)) {
            Ok(protocol) => protocol,
            Err(error) => return vec![error.to_string()],
        };
        let results = documents.iter().map(|document| validate(&protocol, 0, document));
        results.map(|result| result.err().map_or_else(String::new, |error| error.to_string())).collect()
    };
    let thread = thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(run);
    thread.expect("a thread").join().expect("no panic")
}

fn nested(open: &str, depth: usize, leaf: &str, close: &str) -> String {
    format!("{}{leaf}{}", open.repeat(depth), close.repeat(depth))
}

/// Returns definitions that each refer to the next.
fn chain(count: usize, link: impl Fn(&str) -> String) -> String {
    let definitions = (0..count)
        .map(|index| format!(r#""D{index}": {}"#, link(&format!(r##"{{"$ref": "#/$defs/D{}"}}"##, index + 1))));
    format!(r#"{{"$defs": {{{}, "D{count}": {{"type": "string"}}}}}}"#, definitions.collect::<Vec<_>>().join(", "))
}

/// Schema parts that nest, with the depth that is still accepted.
const LINKS: [(&str, usize, &str); 15] = [
    (r#"{"not": "#, 47, "}"),
    (r#"{"allOf": ["#, 46, "]}"),
    (r#"{"allOf": ["#, 46, r#", {"not": {"const": "a"}}]}"#),
    (r#"{"anyOf": ["#, 46, r#", {"type": "integer"}]}"#),
    (r#"{"anyOf": ["#, 46, r#", {"minLength": 3}]}"#),
    (r#"{"oneOf": ["#, 46, r#", {"minLength": 3}]}"#),
    (r#"{"if": "#, 47, r#", "then": {"minLength": 2}, "else": true}"#),
    (r#"{"dependentSchemas": {"a": "#, 46, "}}"),
    (r#"{"unevaluatedProperties": false, "allOf": ["#, 46, "]}"),
    (r#"{"type": "array", "items": "#, 47, "}"),
    (r#"{"type": "array", "contains": "#, 47, "}"),
    (r#"{"unevaluatedItems": "#, 47, "}"),
    (r#"{"type": "object", "additionalProperties": "#, 47, "}"),
    (r#"{"type": "object", "properties": {"a": "#, 46, "}}"),
    (r#"{"type": "object", "propertyNames": {"maxLength": 9}, "patternProperties": {"^a": "#, 46, "}}"),
];

fn documents() -> Vec<String> {
    let deep = [("[", "]"), (r#"{"a": "#, "}")].map(|(open, close)| nested(open, 99, "1", close));
    ["1", r#""a""#].map(str::to_owned).into_iter().chain(deep).collect()
}

#[test]
fn nested_schemas_end() {
    for (open, depth, close) in LINKS {
        let schema = format!(r#"{{"$defs": {{"D0": {}}}}}"#, nested(open, depth, r#"{"type": "string"}"#, close));
        check(open, schema, &documents());
    }
}

#[test]
fn chains_of_nested_schemas_end() {
    for (open, depth, close) in LINKS {
        let link = |next: &str| nested(open, depth, next, close);
        check(open, chain(60, link), &documents());
    }
}

#[test]
fn long_chains_end() {
    for (open, _, close) in LINKS {
        check(open, chain(500, |next| format!("{open}{next}{close}")), &documents());
    }
    check("aliases", chain(2_000, str::to_owned), &documents());
}

/// Each level of the document goes through a whole chain of definitions.
#[test]
fn recursive_schemas_end() {
    for (open, _, close) in LINKS {
        for leaf in [r#""items": "#, r#""additionalProperties": "#] {
            let last = format!(r##"{{"not": {{"not": {{{leaf}{{"$ref": "#/$defs/D0"}}}}}}}}"##);
            let schema = chain(20, |next| format!("{open}{next}{close}"));
            check(open, schema.replace(r#"{"type": "string"}}}"#, &format!("{last}}}}}")), &documents());
        }
    }
}

#[test]
fn cycles_end() {
    for (open, depth, close) in LINKS {
        let link = |next: &str| nested(open, depth, next, close);
        let schema = format!(r##"{{"$defs": {{"D0": {}}}}}"##, link(r##"{"$ref": "#/$defs/D0"}"##));
        check(open, schema, &documents());
    }
}

/// Each round of a cycle intersects all schemas along it.
#[test]
fn intersections_of_cycles_end() {
    for (open, depth, close) in LINKS {
        let cycle = |name: &str| nested(open, depth, &format!(r##"{{"$ref": "#/$defs/{name}"}}"##), close);
        let both = r##"{"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}]}"##;
        let schema = format!(r##"{{"$defs": {{"A": {}, "B": {}, "C": {both}}}}}"##, cycle("A"), cycle("B"));
        let expected = match open {
            r#"{"unevaluatedItems": "# => "",
            r#"{"type": "array", "contains": "# => "expected at least 1 item that `contains` accepts",
            open if open.starts_with(r#"{"type": "#) => "the intersection of recursive or deeply nested definitions",
            _ => "the definition refers to itself without an array or an object in between",
        };
        let text = check(open, schema, &documents()).concat();
        assert!(text.contains(expected) && text.is_empty() == expected.is_empty(), "{open}: {text}");
    }
}

#[test]
fn limits_are_explained() {
    let not = |depth: usize, leaf: &str| nested(r#"{"not": "#, depth, leaf, "}");
    let one = |schema: String| check("limits", schema, &["1".to_owned()]).concat();
    let text = one(format!(r#"{{"$defs": {{"D0": {}}}}}"#, not(49, r#"{"type": "string"}"#)));
    assert!(text.contains("schemas are nested more than 48 levels deep"), "{text}");
    let text = one(chain(70, str::to_owned));
    assert!(text.contains("more than 64 definitions refer to each other"), "{text}");
    let text = one(chain(20, |next| not(40, next)));
    assert!(text.contains("not decided: more than 640 nested checks apply"), "{text}");
    let text = one(chain(10, |next| not(40, next)));
    assert_eq!(text, "expected a value that the schema in `not` rejects, found 1");
}
