//! Compares the examples of all rules for schemas. The table of each rule has the expected findings.

use mcpgen_diff::{Axis, Diff, Evidence, Rule, RuleVerdicts, SchemaVerdicts, Verdict, diff};
use mcpgen_model::Protocol;
use support::{check_examples, words};

mod support;

/// The rules of schemas, with the verdicts of each.
fn rules() -> impl Iterator<Item = (Rule, SchemaVerdicts)> {
    Rule::ALL.iter().filter_map(|rule| match rule.verdicts() {
        RuleVerdicts::Schemas(verdicts) => Some((*rule, verdicts)),
        _ => None,
    })
}

/// Returns the models of a rule's example.
fn example(rule: Rule) -> [Protocol; 2] {
    rule.example().map(|definitions| {
        let text = format!("{{\"$defs\": {definitions}}}");
        let document = mcpgen_schema::Document::parse("example.json", text.as_bytes());
        let model = document.and_then(|document| mcpgen_model::model(document, "example", false));
        model.unwrap_or_else(|error| panic!("{rule}: {error}"))
    })
}

fn found(rule: Rule) -> Diff {
    let [old, new] = example(rule);
    diff(&old, &new)
}

#[test]
fn examples_show_their_rules() {
    check_examples(rules().map(|(rule, _)| (rule, found(rule))), &Axis::SCHEMAS);
}

fn model(name: &str, definition: &str) -> Protocol {
    let text = format!(r#"{{"$defs": {{"A": {definition}}}}}"#);
    let document = mcpgen_schema::Document::parse(format!("{name}.json"), text.as_bytes());
    let model = document.and_then(|document| mcpgen_model::model(document, name, false));
    model.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A loosened schema accepts everything that it accepted before, whatever keywords it uses.
#[test]
fn loosened_schemas_accept_what_they_accepted() {
    let mut wrong = Vec::new();
    for (old, new) in [
        (r#"{"type": "object", "maxProperties": 1}"#, r#"{"type": "object", "maxProperties": 2}"#),
        (r#"{"type": "object", "minProperties": 5}"#, r#"{"type": "object", "minProperties": 2}"#),
        (r#"{"type": "integer", "multipleOf": 10}"#, r#"{"type": "integer", "multipleOf": 5}"#),
        (r#"{"type": "number", "multipleOf": 0.5}"#, r#"{"type": "number", "multipleOf": 0.25}"#),
        (
            r#"{"type": "array", "contains": {"const": 1}, "minContains": 1}"#,
            r#"{"type": "array", "contains": {"const": 1}, "minContains": 0}"#,
        ),
        (r#"{"not": {"type": "number"}}"#, r#"{"not": {"type": "integer"}}"#),
        (r#"{"type": "string", "pattern": "^ab"}"#, r#"{"type": "string", "pattern": "^a"}"#),
        (
            r#"{"type": "array", "prefixItems": [{"type": "string"}], "minItems": 1, "items": false}"#,
            r#"{"type": "array", "prefixItems": [{"type": "string"}], "minItems": 1}"#,
        ),
        (
            r#"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}], "minItems": 2, "items": false}"#,
            r#"{"type": "array", "prefixItems": [{"type": "string"}], "minItems": 1}"#,
        ),
        (
            r#"{"type": "array", "prefixItems": [{"const": 1}], "minItems": 1, "items": {"type": "integer"}}"#,
            r#"{"type": "array", "items": {"type": "integer"}}"#,
        ),
        (
            r#"{"type": "object", "patternProperties": {"^ab": {"type": "string"}}, "additionalProperties": false}"#,
            r#"{"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": false}"#,
        ),
        (r#"{"type": "integer", "oneOf": [{"minimum": 5}, {"multipleOf": 2}]}"#, r#"{"type": "integer"}"#),
        (
            r#"{"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}]}"#,
            r#"{"anyOf": [{"type": "string", "maxLength": 4}, {"type": "string", "pattern": "^a"}]}"#,
        ),
        (
            r#"{"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}]}"#,
            r#"{"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^b"}]}"#,
        ),
        (
            r#"{"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "pattern": "^a"}]}"#,
            r#"{"type": "string"}"#,
        ),
        (
            r#"{"anyOf": [{"type": "integer", "minimum": 0, "maximum": 4}, {"type": "integer", "minimum": 3, "maximum": 8}]}"#,
            r#"{"type": "integer", "minimum": 0, "maximum": 9}"#,
        ),
    ] {
        let found = diff(&model("old", old), &model("new", new));
        let verdicts = found.types.iter().find(|it| it.name == "A").map(|it| (it.old_to_new, it.new_to_old));
        let words: String = found.findings.iter().map(|it| words(it, &Axis::SCHEMAS)).collect();
        if verdicts != Some((Verdict::Compatible, Verdict::Breaking)) {
            wrong.push(format!("{old} to {new}: {verdicts:?}\n{words}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// By convention, nobody sends members that an open object says nothing about, even inside a union that no guard
/// decides.
#[test]
fn named_members_of_open_objects_are_compatible() {
    let union = |member: &str| {
        format!(
            r#"{{"anyOf": [{{"type": "object", "properties": {{"a": {{"type": "array", "items": {{"type": "object", "properties": {{"x": {{"type": "string"}}{member}}}}}}}}}}},
                {{"type": "object", "properties": {{"a": {{"type": "integer"}}{member}}}, "minProperties": 2}}]}}"#
        )
    };
    for (member, expected) in [
        (r#", "new": {"type": "integer"}"#, Verdict::Compatible),
        (r#", "new": false"#, Verdict::Breaking),
        (r#", "x": {"type": "string", "maxLength": 2}"#, Verdict::Breaking),
    ] {
        let new = union(member).replace(r#""x": {"type": "string"}, "x""#, r#""x""#);
        let found = diff(&model("old", &union("")), &model("new", &new));
        let words: String = found.findings.iter().map(|it| words(it, &Axis::SCHEMAS)).collect();
        assert_eq!(found.types[0].old_to_new, expected, "{member}: {words}");
    }
}

/// A member that the old schema describes only in `additionalProperties` may already be in use when the new one names
/// it.
#[test]
fn members_that_were_not_named_are_compared() {
    let texts = r#""additionalProperties": {"type": "string"}"#;
    let with = |member: &str, rest: &str| format!(r#"{rest}, "properties": {{"PORT": {member}}}"#);
    let open = r#""properties": {"x": {"type": "string"}}"#;
    for (old, new, refused) in [
        (texts, with(r#"{"type": "integer"}"#, texts), true),
        (texts, with(r#"{"type": "string", "maxLength": 3}"#, texts), true),
        (texts, with(r#"{"const": "a"}"#, texts), true),
        (texts, with("false", texts), true),
        (texts, with(r#"{"type": "string"}"#, texts), false),
        (texts, with("{}", texts), false),
        (open, r#""properties": {"x": {"type": "string"}, "last": false}"#.to_owned(), true),
        // By convention, nobody sends members that an open object does not name.
        (open, r#""properties": {"x": {"type": "string"}, "last": {"type": "string"}}"#.to_owned(), false),
        (
            r#""patternProperties": {"^P": {"type": "string"}}"#,
            with(r#"{"type": "integer"}"#, r#""patternProperties": {"^P": {"type": "string"}}"#),
            true,
        ),
    ] {
        let object = |keywords: &str| format!(r#"{{"type": "object", {keywords}}}"#);
        let (before, after) = (model("old", &object(old)), model("new", &object(&new)));
        let rules = |old: &Protocol, new: &Protocol| -> Vec<&str> {
            diff(old, new).findings.iter().map(|it| it.rule.id()).collect()
        };
        let (forward, back) = (rules(&before, &after), rules(&after, &before));
        assert_eq!(forward.contains(&"member-refused-by-new"), refused, "{old} to {new}: {forward:?}");
        assert_eq!(back.contains(&"member-refused-by-old"), refused, "{new} to {old}: {back:?}");
    }
}

/// If a rule has an opposite, its example in reverse is an example of the opposite.
#[test]
fn opposite_rules_mirror_each_other() {
    let pairs = [
        ("added", "removed"),
        ("embedded", "unembedded"),
        ("stated", "unstated"),
        ("opened", "closed"),
        ("loosened", "tightened"),
        ("widened", "narrowed"),
        ("allowed", "forbidden"),
        ("by-old", "by-new"),
        ("became-optional", "became-required"),
    ];
    for (rule, verdicts) in rules() {
        let opposite = pairs.iter().find_map(|(one, other)| {
            let swapped = |from: &str, to: &str| {
                let swapped = rule.id().replace(from, to);
                (rule.id().contains(from) && Rule::find(&swapped).is_some()).then_some(swapped)
            };
            swapped(other, one).filter(|name| name != rule.id()).or_else(|| swapped(one, other))
        });
        let opposite = rules().find(|(rule, _)| Some(rule.id()) == opposite.as_deref());
        let Some((opposite, theirs)) = opposite else { continue };
        // Dangerous verdicts need not mirror each other: readers miss a removed member, but not a new one.
        let breaks = |verdict: Verdict| verdict == Verdict::Breaking;
        assert_eq!(breaks(verdicts.old_to_new), breaks(theirs.new_to_old), "{rule} and {opposite}");
        assert_eq!(breaks(verdicts.new_to_old), breaks(theirs.old_to_new), "{rule} and {opposite}");
        let [old, new] = example(rule);
        let back = diff(&new, &old);
        assert!(back.findings.iter().any(|it| it.rule == opposite), "the reverse of {rule} is not {opposite}");
    }
}

#[test]
fn equal_models_do_not_differ() {
    for (rule, _) in rules() {
        for model in example(rule) {
            let found = diff(&model, &model);
            assert!(found.findings.is_empty(), "{rule}: {}", found.findings[0].message);
        }
    }
}

/// Every verdict on documents has its evidence, and no witness is invented.
#[test]
fn verdicts_have_evidence() {
    for (rule, _) in rules() {
        for finding in found(rule).findings {
            let verdicts = Axis::WIRE.map(|axis| finding.verdicts.on(axis));
            let worst = verdicts[0].max(verdicts[1]);
            let expected: &[Evidence] = match worst {
                Verdict::Compatible => &[Evidence::Proof, Evidence::Convention, Evidence::Message],
                Verdict::Breaking => &[Evidence::Witness, Evidence::Message],
                _ => &[Evidence::None],
            };
            assert!(expected.contains(&finding.evidence), "{rule}: {finding:#?}");
            assert_eq!(finding.evidence == Evidence::Witness, !finding.witnesses.is_empty(), "{rule}: {finding:#?}");
        }
    }
}

/// What neither a proof nor a witness decides is unknown. A new member of an open object is compatible by convention.
#[test]
fn verdicts_without_evidence_are_unknown() {
    let one = |old: &str, new: &str| {
        let findings = diff(&model("old", old), &model("new", new)).findings;
        let [finding] = findings.as_slice() else { panic!("{old} to {new}: {findings:#?}") };
        finding.clone()
    };
    let unread = one(r#"{"type": "string"}"#, r#"{"type": "string", "pattern": "^(?=.*[a-z])(?=.*[0-9])(?!x).*$"}"#);
    // A string shows that the new schema refuses some documents, although the pattern cannot be analysed.
    assert_eq!((unread.verdicts.on(Axis::OldClientNewServer), unread.evidence), (Verdict::Breaking, Evidence::Witness));
    let unknown = one(
        r#"{"type": "string", "pattern": "^(?=.*[a-z])(?=.*[0-9])ab+1$"}"#,
        r#"{"type": "string", "pattern": "^(?=.*[a-z])(?=.*[0-9])ab*1$"}"#,
    );
    assert_eq!((unknown.verdicts.on(Axis::OldClientNewServer), unknown.evidence), (Verdict::Unknown, Evidence::None));
    assert_eq!(unknown.shown(), ["not decided: a regular expression cannot be analysed"]);
    let named = one(
        r#"{"type": "object", "properties": {"a": {}}}"#,
        r#"{"type": "object", "properties": {"a": {}, "b": {"type": "string"}}}"#,
    );
    assert_eq!((named.rule.id(), named.evidence), ("member-added-optional", Evidence::Convention));
}

fn models(old: &str, new: &str) -> (Protocol, Protocol) {
    let model = |name: &str, text: &str| {
        let document = mcpgen_schema::Document::parse(format!("{name}.json"), text.as_bytes());
        let model = document.and_then(|document| mcpgen_model::model(document, name, false));
        model.unwrap_or_else(|error| panic!("{text}: {error}"))
    };
    (model("old", old), model("new", new))
}

fn worst(old: &str, new: &str) -> Vec<Verdict> {
    let (old, new) = models(old, new);
    let findings = diff(&old, &new).findings;
    let on = |axis| findings.iter().map(|it| it.verdicts.on(axis)).max().unwrap_or(Verdict::Compatible);
    Axis::WIRE.map(on).to_vec()
}

/// If no union says who sends a message, both sides may.
#[test]
fn messages_of_unknown_senders_break_both_sides() {
    let request = r#""AddRequest": {"type": "object", "required": ["method", "params"], "properties": {
        "method": {"const": "add"},
        "params": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    }}"#;
    let result = r#""AddResult": {"type": "object", "required": ["sum"], "properties": {"sum": {"type": "integer"}}}"#;
    // A union of other messages says nothing about this one.
    let others = r##""ClientRequest": {"anyOf": [{"$ref": "#/$defs/PingRequest"}]},
        "PingRequest": {"type": "object", "required": ["method"], "properties": {"method": {"const": "ping"}}}"##;
    let schema = |parts: &[&str]| format!(r#"{{"$defs": {{{}}}}}"#, parts.join(", "));
    for others in [&[][..], &[others]] {
        let with = |parts: &[&str]| schema(&[parts, others].concat());
        let old = with(&[request, result]);
        for new in [
            with(&[&request.replace(r#"["a"]"#, r#"["a", "b"]"#), result]),
            with(&[request, &result.replace(r#""sum": {"type": "integer"}"#, r#""sum": {"type": "string"}"#)]),
            with(&[result]),
        ] {
            assert_eq!(worst(&old, &new), [Verdict::Breaking; 2], "{old} to {new}");
        }
        assert_eq!(worst(&old, &old), [Verdict::Compatible; 2]);
    }
}

/// A message that others contain is not sent by itself.
#[test]
fn embedded_messages_are_judged_by_what_contains_them() {
    let schema = |member: &str| {
        format!(
            r##"{{"$defs": {{
                "ClientRequest": {{"anyOf": [{{"$ref": "#/$defs/BatchRequest"}}]}},
                "BatchRequest": {{"type": "object", "required": ["method", "params"], "properties": {{
                    "method": {{"const": "batch"}}, "params": {{"type": "object", "properties": {{
                        "calls": {{"type": "array", "items": {{"$ref": "#/$defs/AddRequest"}}}}}}}}}}}},
                "AddRequest": {{"type": "object", "required": ["method"], "properties": {{
                    "method": {{"const": "add"}}, "params": {{"type": "object", "properties": {{"a": {member}}}}}}}}}
            }}}}"##
        )
    };
    let (integer, number) = (schema(r#"{"type": "integer"}"#), schema(r#"{"type": "number"}"#));
    assert_eq!(worst(&integer, &number), [Verdict::Compatible, Verdict::Breaking]);
    assert_eq!(worst(&number, &integer), [Verdict::Breaking, Verdict::Compatible]);
}

/// A change to an alias is judged by who sends the values that use it.
#[test]
fn aliases_have_the_senders_of_their_uses() {
    let schema = |level: &str, more: &str| {
        format!(
            r##"{{"$defs": {{
                "Level": {level}, "Alias": {{"$ref": "#/$defs/Level"}},
                "ClientRequest": {{"anyOf": [{{"$ref": "#/$defs/SetRequest"}}]}},
                "SetRequest": {{"type": "object", "required": ["method", "params"], "properties": {{
                    "method": {{"const": "set"}},
                    "params": {{"type": "object", "properties": {{"level": {{"$ref": "#/$defs/Alias"}}}}}}}}}}{more}
            }}}}"##
        )
    };
    let (integer, number) = (r#"{"type": "integer"}"#, r#"{"type": "number"}"#);
    let both = r##", "SetResult": {"type": "object", "properties": {"level": {"$ref": "#/$defs/Level"}}}"##;
    let worst = |old: &str, new: &str, more: &str| worst(&schema(old, more), &schema(new, more));
    assert_eq!(worst(integer, number, ""), [Verdict::Compatible, Verdict::Breaking]);
    assert_eq!(worst(number, integer, ""), [Verdict::Breaking, Verdict::Compatible]);
    assert_eq!(worst(integer, number, both), [Verdict::Breaking; 2]);
}

/// The evidence confirms the verdicts of each rule in its example.
#[test]
fn examples_have_the_verdicts_of_their_rules() {
    for (rule, expected) in rules() {
        let found = found(rule).findings;
        let on = |axis| found.iter().filter(|it| it.rule == rule).map(|it| it.verdicts.on(axis)).max();
        let verdicts = [Axis::NewReaderOldDocuments, Axis::OldReaderNewDocuments].map(on);
        assert_eq!(verdicts, [Some(expected.old_to_new), Some(expected.new_to_old)], "{rule}: {found:#?}");
    }
}

/// A constant is compared with an enumeration of several values, in both directions.
#[test]
fn constants_are_compared_with_values() {
    let object = |values: &str| {
        format!(r#"{{"type": "object", "properties": {{"a": {{"enum": {values}}}, "b": {{"enum": ["x"]}}}}}}"#)
    };
    for (fewer, more) in [(r#"["x"]"#, r#"["x", "y"]"#), (r#"["x", "y"]"#, r#"["x", "y", "z"]"#)] {
        for (old, new, expected) in [(more, fewer, 0), (fewer, more, 1)] {
            let findings = diff(&model("old", &object(old)), &model("new", &object(new))).findings;
            let on = |axis| findings.iter().map(|it| it.verdicts.on(axis)).max();
            let verdicts = [Axis::NewReaderOldDocuments, Axis::OldReaderNewDocuments].map(on);
            assert_eq!(verdicts[expected], Some(Verdict::Breaking), "{old} to {new}: {findings:#?}");
            assert_eq!(verdicts[1 - expected], Some(Verdict::Compatible), "{old} to {new}: {findings:#?}");
        }
    }
}

#[test]
fn members_without_a_type_are_only_required() {
    let object = |required: &str| format!(r#"{{"type": "object", "required": [{required}]}}"#);
    let found = diff(&model("old", &object(r#""p", "q""#)), &model("new", &object(r#""q""#)));
    let words: Vec<&str> = found.findings.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(words, ["A.p is no longer required"]);
}

/// Two checks can read the same and still refer to definitions that differ.
#[test]
fn checks_with_other_definitions_differ() {
    let schema = |of: &str| {
        let contains = r##"{"type": "array", "contains": {"$ref": "#/$defs/D"}}"##;
        format!(r#"{{"$defs": {{"A": {contains}, "D": {{"type": "{of}"}}}}}}"#)
    };
    let (old, new) = models(&schema("integer"), &schema("string"));
    let found = diff(&old, &new).findings;
    let messages: Vec<&str> =
        found.iter().filter(|it| it.rule == Rule::CheckChanged).map(|it| it.message.as_str()).collect();
    assert_eq!(messages, ["the checks of A differ"]);
}

#[test]
fn sentences_show_the_beginning_of_long_witnesses() {
    let text = |limit: u32| format!(r#"{{"type": "string", "maxLength": {limit}}}"#);
    let found = diff(&model("old", &text(5000)), &model("new", &text(4000)));
    let [finding] = found.findings.as_slice() else { panic!("{:#?}", found.findings) };
    assert!(finding.witnesses[0].document.as_str().is_some_and(|text| text.len() == 4001));
    let shown = finding.shown().concat();
    assert!(shown.len() < 300 && shown.contains("aaa… (4003 characters): "), "{shown}");
}

/// If a Rust name moves to another value, member or definition, code that uses it still compiles, but means something
/// else. Reordering values or definitions moves no names.
#[test]
fn names_in_rust_that_move_are_major() {
    let values = |values: &str| format!(r#"{{"A": {{"type": "string", "enum": [{values}]}}}}"#);
    let definitions = |names: &[&str]| {
        let text =
            |name: &&str| format!(r#""{name}": {{"type": "object", "properties": {{"x": {{"type": "string"}}}}}}"#);
        format!("{{{}}}", names.iter().map(text).collect::<Vec<_>>().join(", "))
    };
    for (old, new, expected) in [
        (values(r#""+1", "-1", "heart""#), values(r#""-1", "+1", "heart""#), 0),
        (definitions(&["a-b", "a_b"]), definitions(&["a_b", "a-b"]), 0),
        (values(r#""x-y", "heart""#), values(r#""x y", "x-y", "heart""#), 1),
        (definitions(&["a-b"]), definitions(&["a b", "a-b"]), 1),
    ] {
        let schema = |definitions: &str| format!(r#"{{"$defs": {definitions}}}"#);
        let (before, after) = models(&schema(&old), &schema(&new));
        let found = diff(&before, &after).findings;
        let moved: Vec<_> = found.iter().filter(|it| it.rule == Rule::RustNameChanged).collect();
        assert_eq!(moved.len(), expected, "{old} to {new}: {found:#?}");
        assert!(moved.iter().all(|it| it.verdicts.word(Axis::RustApi) == "major"));
    }
}

/// If one alternative absorbs the others in one version only, the other version still reads each by its own type.
#[test]
fn alternatives_that_another_one_absorbed_are_compared() {
    let schema = |meta: &str| {
        let result = r#""Result": {"type": "object", "properties": {"meta": {"type": "object"}}}"#;
        let call = format!(
            r#""Call": {{"type": "object", "properties": {{"content": {{"type": "array"}}, "meta": {{"type": "{meta}"}}}}, "required": ["content"]}}"#
        );
        let list = r#""List": {"type": "object", "properties": {"list": {"type": "array"}, "meta": {"type": "object"}}, "required": ["list"]}"#;
        let alternatives = ["Result", "List", "Call"].map(|name| format!(r##"{{"$ref": "#/$defs/{name}"}}"##));
        let answer = format!(r#""Answer": {{"anyOf": [{}]}}"#, alternatives.join(", "));
        let reply = r##""Reply": {"$ref": "#/$defs/Answer"}"##;
        let message = r##""Message": {"type": "object", "properties": {"reply": {"$ref": "#/$defs/Reply"}}}"##;
        format!(r#"{{"$defs": {{{result}, {list}, {call}, {answer}, {reply}, {message}}}}}"#)
    };
    for (old, new) in [("object", "string"), ("string", "object")] {
        let (old, new) = models(&schema(old), &schema(new));
        let types = diff(&old, &new).types;
        for name in ["Answer", "Message"] {
            let found = types.iter().find(|it| it.name == name).expect("a type");
            assert_eq!((found.old_to_new, found.new_to_old), (Verdict::Breaking, Verdict::Breaking), "{name}");
        }
    }
}
