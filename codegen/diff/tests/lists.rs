//! Compares the examples of all rules of lists. Their tables have the findings.

use mcpgen_diff::{Axis, Diff, Rule, lists};
use mcpgen_model::snapshot::Snapshot;
use support::check_examples;

mod support;

fn rules() -> impl Iterator<Item = Rule> {
    Rule::ALL.iter().copied().filter(|rule| rule.is_of_lists())
}

fn snapshot(text: &str) -> Snapshot {
    Snapshot::parse("tools.json", text.as_bytes()).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn found(rule: Rule) -> Diff {
    let [old, new] = rule.example().map(|list| snapshot(&list.to_string()));
    lists::diff(&old, &new)
}

#[test]
fn examples_show_their_rules() {
    check_examples(rules().map(|rule| (rule, found(rule))), &Axis::LISTS);
}

#[test]
fn equal_lists_do_not_differ() {
    for rule in rules() {
        for list in rule.example() {
            let found = lists::diff(&snapshot(&list.to_string()), &snapshot(&list.to_string()));
            assert!(found.findings.is_empty() && found.notes.is_empty(), "{rule}: {found:#?}");
        }
    }
}

/// The verdicts on a change of a schema with keywords that mcpgen does not know.
#[test]
fn compares_around_unknown_keywords() {
    let tool = |keywords: &str| {
        let text = format!(
            r#"[{{"name": "a", "inputSchema": {{"type": "object", "properties": {{"x": {keywords}}}, "required": ["x"]}}}}]"#
        );
        snapshot(&text)
    };
    for (old, new, expected) in [
        (r#"{"type": "string", "ui": 1}"#, r#"{"type": "string", "ui": 1, "maxLength": 3}"#, &["limit-added"][..]),
        (r#"{"type": "string", "ui": 1}"#, r#"{"type": "integer", "ui": 1}"#, &["type-changed"]),
        (r#"{"type": "string", "ui": 1}"#, r#"{"type": "string"}"#, &["schema-not-compared"]),
        (
            r#"{"type": "object", "ui": ["b"], "properties": {"b": {"type": "string"}}}"#,
            r#"{"type": "object", "ui": ["b", "c"], "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "required": ["c"]}"#,
            &["schema-not-compared", "argument-added-required"],
        ),
        // Nothing else is known about the other file.
        (r#"{"$ref": "https://example.com/a.json"}"#, r#"{"type": "string"}"#, &["schema-not-compared"]),
        (
            r#"{"type": "object", "properties": {"b": {"type": "string"}, "r": {"$ref": "https://example.com/a.json"}}}"#,
            r#"{"type": "object", "properties": {"b": {"type": "integer"}, "r": {"$ref": "https://example.com/a.json"}}}"#,
            &["type-changed"],
        ),
        (
            r#"{"type": "object", "properties": {"b": {"type": "string"}, "r": {"$ref": "https://example.com/a.json"}}}"#,
            r#"{"type": "object", "properties": {"b": {"type": "integer"}, "r": {"$ref": "https://example.com/b.json"}}}"#,
            &["schema-not-compared", "type-changed"],
        ),
        (
            r#"{"$ref": "https://example.com/a.json", "maxLength": 9}"#,
            r#"{"$ref": "https://example.com/a.json", "maxLength": 8}"#,
            &["limit-tightened"],
        ),
        (r#"{"ui": 1, "title": "a"}"#, r#"{"ui": 1, "title": "b"}"#, &["argument-description-changed"]),
    ] {
        let found = lists::diff(&tool(old), &tool(new)).findings;
        let mut rules: Vec<&str> = found.iter().map(|it| it.rule.id()).collect();
        let mut expected = expected.to_vec();
        rules.sort_unstable();
        expected.sort_unstable();
        assert_eq!(rules, expected, "{old} {new}: {found:#?}");
    }
}

/// Messages have the words of the schema. The types of its inner schemas have names only in Rust.
#[test]
fn messages_have_no_names_of_rust() {
    let tool =
        |keywords: &str| snapshot(&format!(r#"[{{"name": "t", "inputSchema": {{"type": "object", {keywords}}}}}]"#));
    let object = r#"{"type": "object", "properties": {"z": {"type": "integer"}}}"#;
    let either = r#""properties": {"body": {"type": "string"}, "reaction": {"type": "string"}}"#;
    let a = |of: &str| format!(r#""properties": {{"a": {of}}}"#);
    for (old, new, expected) in [
        (
            a(r#"{"type": "array", "items": {"enum": ["x", "y"]}}"#),
            a(object),
            r#"t: arguments.a is an object instead of list of "x" or "y""#,
        ),
        (
            a(&format!(r#"{{"anyOf": [{{"type": "string"}}, {object}]}}"#)),
            a(r#"{"type": "string"}"#),
            "t: arguments.a no longer has the alternative an object",
        ),
        (
            either.to_owned(),
            format!(r#"{either}, "anyOf": [{{"required": ["body"]}}, {{"required": ["reaction"]}}]"#),
            "t: arguments requires body or reaction",
        ),
        (
            format!(r#"{either}, "anyOf": [{{"required": ["body"]}}, {{"required": ["reaction"]}}]"#),
            format!(r#"{either}, "required": ["body"]"#),
            "t: arguments requires body instead of body or reaction",
        ),
        (
            r#""anyOf": [{"properties": {"k": {"const": 1}}, "required": ["k"]}, {"properties": {"k": {"const": 2}, "y": {}}, "required": ["k"]}]"#.to_owned(),
            r#""anyOf": [{"properties": {"k": {"const": 1}}, "required": ["k"]}, {"properties": {"k": {"const": 3}, "y": {}}, "required": ["k"]}]"#.to_owned(),
            "t: the new schema may read an object as another alternative of arguments",
        ),
    ] {
        let found = lists::diff(&tool(&old), &tool(&new)).findings;
        let messages: Vec<&str> = found.iter().map(|it| it.message.as_str()).collect();
        assert!(messages.contains(&expected), "{old} to {new}: {messages:#?}");
        assert!(messages.iter().all(|it| !it.contains("Arguments")), "{old} to {new}: {messages:#?}");
    }
}

/// The evidence confirms the verdicts of each rule in its example.
#[test]
fn examples_have_the_verdicts_of_their_rules() {
    for rule in rules() {
        let found = found(rule).findings;
        let of_rule = |finding: &&mcpgen_diff::Finding| finding.rule == rule;
        let worst = found.iter().filter(of_rule).map(|it| it.verdicts.worst(&Axis::LISTS)).max();
        assert_eq!(worst, Some(rule.worst()), "{rule}: {found:#?}");
    }
}
