//! Checks the judge and the instances that the proof relies on.

use mcpgen_proof::decisions::{Decision, EXTENSIONS, FIXUPS, REVISIONS, decisions};
use mcpgen_proof::instances::{ASSERTIONS, Instances};
use mcpgen_proof::judge::{
    DEPTH_LIMIT, Judge, definitions_keyword, depth, fixed_up, position, subschemas, with_references, within_limits,
};
use mcpgen_proof::{Proof, Tally, check, compare, json_equal, schema, shrunk};
use serde_json::{Value, json};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The number of documents of each kind per definition.
const COUNT: u64 = 100;

/// Returns a definition, and a document that the definition judges incorrectly without the fixup.
fn defect(at: &str) -> (&'static str, Value) {
    let size = json!({ "width": 1.5, "maxHeight": 2 });
    match at {
        "JSONValue/anyOf/2/type" => ("JSONValue", json!([1.5, null])),
        "InputRequiredResult/properties/resultType/const" => {
            ("InputRequiredResult", json!({ "resultType": "complete" }))
        }
        "McpUiHostContext/properties/containerDimensions" => {
            ("McpUiHostContext", json!({ "containerDimensions": size }))
        }
        "McpUiStyles/required" => ("McpUiStyles", json!({ "--font-mono": "monospace" })),
        "McpUiStyles/additionalProperties" => {
            let schema = schema("apps");
            let names = schema["$defs"]["McpUiStyles"]["required"].as_array().expect("the names of the variables");
            let numbers = names.iter().map(|name| (name.as_str().expect("a name").to_owned(), json!(1)));
            ("McpUiStyles", Value::Object(numbers.collect()))
        }
        _ => ("ElicitResult", json!({ "action": "accept", "content": { "n": 0.5 } })),
    }
}

#[test]
fn each_fixup_repairs_a_defect() {
    for fixup in FIXUPS {
        for revision in fixup.revisions {
            let schema = schema(revision);
            let before = Judge::with_decisions(&with_references(revision, &schema), decisions(revision));
            let after = Judge::for_revision(revision, &schema);
            let (definition, document) = defect(fixup.at);
            let verdicts = (before.accepts(definition, &document), after.accepts(definition, &document));
            let widens = !["/const", "/additionalProperties"].iter().any(|end| fixup.at.ends_with(end));
            assert_eq!(verdicts, (!widens, widens), "{revision}: {}", fixup.name);
        }
    }
}

#[test]
#[should_panic(expected = "unexpected value at")]
fn fixup_panics_without_the_expected_schema() {
    let once = fixed_up("2025-06-18", &schema("2025-06-18"));
    let _ = fixed_up("2025-06-18", &once);
}

/// Returns a document that the `anyOf` of a union accepts and its decision rejects. Unions with the same rules share a
/// document.
fn contested(revision: &str, at: &str) -> Value {
    let both = json!({ "jsonrpc": "2.0", "id": 1, "result": 5, "error": { "code": 1, "message": "" } });
    match at.rsplit('/').next() {
        _ if at == "JSONRPCMessage/anyOf/2/items" || at == "JSONRPCBatchRequest/items" => {
            json!({ "jsonrpc": "2.0", "method": "m", "id": null })
        }
        _ if at == "JSONRPCMessage/anyOf/5/items" || at == "JSONRPCBatchResponse/items" => both,
        _ if at.ends_with("ResultResponse/properties/result") => json!({
            "resultType": "input_required", "inputRequests": 5,
            "content": [], "messages": [], "contents": [], "ttlMs": 0, "cacheScope": "public",
        }),
        Some("JSONRPCMessage") if revision == "2025-03-26" => {
            json!([{ "jsonrpc": "2.0", "id": 1, "result": {}, "method": 5 }])
        }
        Some("JSONRPCMessage") => json!({ "jsonrpc": "2.0", "method": "m", "id": null }),
        Some("JSONRPCResponse") => both,
        Some("SingleSelectEnumSchema") => json!({ "type": "string", "enum": 5, "oneOf": [] }),
        Some("MultiSelectEnumSchema") => {
            json!({ "type": "array", "items": { "enum": 5, "anyOf": [] } })
        }
        Some("EnumSchema") => json!({ "type": "string", "enum": [], "enumNames": 5 }),
        Some("PrimitiveSchemaDefinition") => json!({ "type": "string", "enum": 5 }),
        Some("InputResponse") => json!({ "action": "accept", "roots": 5 }),
        Some("resource" | "items") => json!({ "uri": "a:b", "text": 5, "blob": "" }),
        _ => panic!("{revision} {at}: add a contested document"),
    }
}

#[test]
fn each_decision_rejects_a_contested_document() {
    for_each_decision(|union| {
        if union.decision.absorbs() {
            return;
        }
        let document = contested(union.revision, union.decision.at);
        assert!(union.letter.accepts_at(&union.at, &document), "{}: {document}", union.at);
        assert!(!union.decided.accepts_at(&union.at, &document), "{}: {document}", union.at);
    });
}

/// The rules of the union of batches and single messages have several guards.
#[test]
fn decides_batches_and_single_messages() {
    let judge = Judge::for_revision("2025-03-26", &schema("2025-03-26"));
    let request = json!({ "jsonrpc": "2.0", "method": "m", "id": 1 });
    let notification = json!({ "jsonrpc": "2.0", "method": "m" });
    let response = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    let null_id = json!({ "jsonrpc": "2.0", "method": "m", "id": null });
    let table = [
        (request.clone(), true),
        (notification.clone(), true),
        (response.clone(), true),
        (null_id.clone(), false),
        (json!([]), true),
        (json!([request, notification]), true),
        (json!([response]), true),
        (json!([response, request]), false),
        (json!([request, response]), false),
        (json!([notification, null_id]), false),
        (json!([5]), false),
        (json!("2.0"), false),
    ];
    for (document, expected) in table {
        assert_eq!(judge.accepts("JSONRPCMessage", &document), expected, "{document}");
    }
}

#[test]
fn each_decision_names_every_member() {
    for_each_decision(|union| {
        let named: BTreeSet<usize> =
            (union.decision.rules.iter()).map(|rule| position(&union.members, rule.member, &union.at)).collect();
        assert!(
            union.decision.absorbs() || named.len() == union.members.len(),
            "{} {}: {named:?} of {}",
            union.revision,
            union.at,
            union.members.len()
        );
    });
}

#[test]
fn decisions_accept_only_what_any_of_accepts() {
    for_each_decision(|union| {
        let (mut accepted, mut shared) = (0, 0);
        for document in union.documents(40) {
            let letter = union.letter.accepts_at(&union.at, &document);
            let decided = union.decided.accepts_at(&union.at, &document);
            assert!(letter || !decided, "{} {}: {document}", union.revision, union.at);
            if union.decision.absorbs() {
                assert_eq!(letter, decided, "{} {}: {document}", union.revision, union.at);
            }
            accepted += u64::from(decided);
            let members = union.pointers.iter();
            let accepting = members.filter(|member| union.letter.accepts_at(member, &document));
            shared += u64::from(accepting.count() > 1);
        }
        // `undecided_unions_do_not_overlap` relies on this search to find overlaps.
        assert!(shared > 0, "{} {}: no overlap found", union.revision, union.at);
        assert!(accepted > 40, "{} {}: only {accepted}", union.revision, union.at);
    });
}

/// The instances of each decided union include documents that its `anyOf` accepts and its decision rejects.
#[test]
fn instances_contest_each_decision() {
    for_each_decision(|union| {
        if union.decision.absorbs() {
            return;
        }
        let samples = (0..1000).map(|index| union.instances.sample(&[&union.at], index).value);
        let contested = samples.filter(|document| {
            union.letter.accepts_at(&union.at, document) && !union.decided.accepts_at(&union.at, document)
        });
        let contested = contested.count();
        eprintln!("{} {}: {contested} of 1000 contested", union.revision, union.at);
        assert!(contested > 0, "{} {}", union.revision, union.at);
    });
}

/// In a union without a decision, no two members accept the same document, even if the document is made to satisfy
/// both.
#[test]
fn undecided_unions_do_not_overlap() {
    for revision in REVISIONS.into_iter().chain(EXTENSIONS) {
        let schema = fixed_up(revision, &schema(revision));
        let letter = Judge::with_decisions(&schema, &[]);
        let instances = Instances::new(&schema, 3);
        let decided: BTreeSet<String> =
            (decisions(revision).iter()).map(|decision| pointer(&schema, decision.at)).collect();
        for at in unions(&schema).iter().filter(|at| !decided.contains(*at)) {
            let members = member_pointers(&schema, at);
            let keywords = |member: &String| schema.pointer(member).and_then(Value::as_object);
            // With an empty variant, the union accepts every document. Variants that only require members are checks of
            // an object, not types.
            let is_check = |keywords: &serde_json::Map<_, _>| keywords.keys().all(|keyword| keyword == "required");
            if members.iter().filter_map(keywords).any(is_check) {
                continue;
            }
            for document in documents(&instances, &members, 20) {
                let accepting = members.iter().filter(|m| letter.accepts_at(m, &document));
                let accepting: Vec<_> = accepting.collect();
                assert!(accepting.len() < 2, "{revision} {at}: {accepting:?} accept {document}");
            }
        }
    }
}

#[test]
fn integers_have_the_limits_of_their_rust_type() {
    let signed = json!({ "$defs": { "T": { "type": ["integer", "null"] } } });
    let unsigned = json!({ "$defs": { "T": { "type": "integer", "minimum": 0 } } });
    let loose = json!({ "$defs": { "T": { "type": ["number", "integer"] } } });
    // JSON texts as a peer sends them, with the verdicts of the three schemas above.
    let table = [
        ("-9223372036854775808", [true, false, true]),
        ("-9223372036854775808.0", [true, false, true]),
        // If a number does not fit 64 bits, serde_json reads it as the nearest double, which is -2^63 here.
        ("-9223372036854775809", [true, false, true]),
        ("-9223372036854777856.0", [false, false, true]),
        ("9223372036854775807", [true, true, true]),
        ("9223372036854774784.0", [true, true, true]),
        ("9223372036854775808", [false, true, true]),
        ("9223372036854775808.0", [false, true, true]),
        ("18446744073709551615", [false, true, true]),
        ("18446744073709549568.0", [false, true, true]),
        ("18446744073709551616", [false, false, true]),
        ("18446744073709551616.0", [false, false, true]),
        ("1e300", [false, false, true]),
        ("-1", [true, false, true]),
        ("-1.0", [true, false, true]),
        ("-0.0", [true, true, true]),
        ("1.0", [true, true, true]),
        ("1e15", [true, true, true]),
        ("1.5", [false, false, true]),
        ("5e-324", [false, false, true]),
        ("null", [true, false, false]),
    ];
    let judges = [signed, unsigned, loose].map(|schema| Judge::with_decisions(&schema, &[]));
    for (text, expected) in table {
        let document = serde_json::from_str(text).expect("valid JSON");
        let verdicts = [0, 1, 2].map(|i: usize| judges[i].accepts("T", &document));
        assert_eq!(verdicts, expected, "{text}");
    }
}

#[test]
fn depth_is_limited() {
    let chain = |containers| (0..containers).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(depth(&json!(1)), 0);
    assert_eq!(depth(&json!({ "a": [], "b": 1 })), 2);
    assert!(within_limits(&chain(DEPTH_LIMIT)));
    assert!(!within_limits(&chain(DEPTH_LIMIT + 1)));
}

/// Most instances are valid, most near misses are invalid, and together they cover every schema and keyword.
#[test]
fn instances_cover_every_schema() {
    for revision in REVISIONS {
        let mut coverage = Coverage::new(revision);
        for definition in Proof::of(revision).instances.definitions() {
            coverage.add(definition);
        }
        coverage.assert_complete();
        eprintln!("{revision}: {:?}, near misses {:?}", coverage.total, coverage.keywords);
    }
}

/// Definitions that accept nearly every near miss, because they accept any JSON.
const ANYTHING: [&str; 3] = ["JSONArray", "JSONObject", "JSONValue"];

struct Coverage {
    revision: &'static str,
    proof: std::sync::Arc<Proof>,
    schema: Value,
    letter: Judge,
    visited: BTreeSet<String>,
    /// Near misses by keyword: how many there were, and how many were rejected.
    keywords: BTreeMap<String, (u64, u64)>,
    total: Tally,
}

impl Coverage {
    fn new(revision: &'static str) -> Coverage {
        let schema = fixed_up(revision, &schema(revision));
        Coverage {
            revision,
            proof: Proof::of(revision),
            letter: Judge::with_decisions(&schema, &[]),
            schema,
            visited: BTreeSet::new(),
            keywords: BTreeMap::new(),
            total: Tally::default(),
        }
    }

    fn add(&mut self, definition: &str) {
        let proof = std::sync::Arc::clone(&self.proof);
        let at = pointer(&self.schema, definition);
        let mut tally = Tally::default();
        for index in 0..COUNT {
            let sample = proof.instances.sample(&[&at], index);
            assert!(within_limits(&sample.value), "{definition} {index}: too deep");
            if proof.accepts(definition, &sample.value) {
                tally.valid_accepted += 1;
                self.visited.extend(sample.visited);
            } else {
                // Only a decision may reject an instance, not the schema as it is written.
                let letter = self.letter.accepts(definition, &sample.value);
                assert!(letter, "{} {definition} {index}: {}", self.revision, sample.value);
                tally.valid_rejected += 1;
            }
            let Some((document, violation)) = proof.instances.near_miss(definition, index) else {
                continue;
            };
            let rejected = !proof.accepts(definition, &document);
            let counter = self.keywords.entry(violation.keyword).or_default();
            *counter = (counter.0 + 1, counter.1 + u64::from(rejected));
            tally.near_miss_rejected += u64::from(rejected);
            tally.near_miss_accepted += u64::from(!rejected);
        }
        // Decisions reject some instances of their unions. Nearly all others should be valid.
        let least = if self.is_decided(definition) { COUNT / 4 } else { COUNT * 9 / 10 };
        assert!(tally.valid_accepted >= least, "{} {definition}: {tally:?}", self.revision);
        let misses = tally.near_miss_accepted + tally.near_miss_rejected;
        assert!(
            tally.near_miss_rejected * 2 >= misses || self.is_decided(definition) || ANYTHING.contains(&definition),
            "{} {definition}: {tally:?}",
            self.revision
        );
        self.total += tally;
    }

    fn is_decided(&self, definition: &str) -> bool {
        let mut decided = decisions(self.revision).iter();
        decided.any(|decision| decision.at == definition)
    }

    fn assert_complete(&self) {
        let mut keywords = BTreeSet::new();
        for at in subschemas(&self.schema).iter().filter(|at| at.matches('/').count() > 1) {
            let place = self.schema.pointer(at).and_then(Value::as_object);
            keywords.extend(place.into_iter().flat_map(|place| place.keys().cloned()));
            assert!(self.visited.contains(at), "{}: no instance of {at}", self.revision);
        }
        for keyword in ASSERTIONS.iter().filter(|k| keywords.contains(**k)) {
            let (_, rejected) = self.keywords.get(*keyword).copied().unwrap_or_default();
            assert!(rejected > 0, "{}: no near miss of {keyword}", self.revision);
        }
    }
}

#[test]
fn documents_depend_only_on_the_seed() {
    let proof = Proof::of("2025-11-25");
    let documents = |seed| -> Vec<_> { proof.documents("CallToolResult", seed, 30).collect() };
    assert_eq!(documents(7), documents(7));
    assert_ne!(documents(7), documents(8));
}

/// Covers keywords that no official schema uses yet.
#[test]
fn instances_support_additional_keywords() {
    let schema = json!({ "$defs": {
        "Node": {
            "type": "object", "required": ["name", "next"], "additionalProperties": false,
            "properties": {
                "name": { "type": "string", "minLength": 3, "maxLength": 5 },
                "kids": { "type": "array", "items": { "$ref": "#/$defs/Node" }, "maxItems": 2 },
                "next": { "anyOf": [{ "$ref": "#/$defs/Node" }, { "type": "null" }] },
                "never": false,
            },
        },
        "Pair": {
            "type": "array", "minItems": 2, "maxItems": 3,
            "items": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 },
        },
        "Leaf": { "allOf": [{ "$ref": "#/$defs/Short" }, { "type": "string", "minLength": 2 }] },
        "Short": { "type": "string", "maxLength": 4 },
        "Tree": {
            "type": "object", "required": ["left"],
            "properties": { "left": { "oneOf": [{ "$ref": "#/$defs/Tree" }, { "$ref": "#/$defs/Leaf" }] } },
        },
        "Never": false,
        "Any": true,
    } });
    let judge = Judge::with_decisions(&schema, &[]);
    let instances = Instances::new(&schema, 1);
    assert!(!judge.accepts("Never", &instances.valid("Never", 0)));
    let mut keywords = BTreeSet::new();
    for definition in ["Node", "Pair", "Leaf", "Short", "Tree", "Any"] {
        for index in 0..COUNT {
            let document = instances.valid(definition, index);
            assert!(judge.accepts(definition, &document), "{definition}: {document}");
            if let Some((document, violation)) = instances.near_miss(definition, index) {
                // If one member of a union rejects a document, another may accept it.
                if !judge.accepts(definition, &document) {
                    keywords.insert(violation.keyword);
                }
            }
        }
    }
    let expected = [
        "additionalProperties",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "minItems",
        "minLength",
        "required",
        "type",
    ];
    let missing: Vec<_> = expected.iter().filter(|k| !keywords.contains(**k)).collect();
    assert!(missing.is_empty(), "no near miss of {missing:?}");
}

#[test]
fn check_passes_for_a_decoder_that_uses_the_judge() {
    let mut total = Tally::default();
    let mut definitions = 0;
    for revision in REVISIONS {
        let proof = Proof::of(revision);
        for definition in proof.instances.definitions() {
            definitions += 1;
            total += check(revision, definition, 1, 20, |document| match proof.accepts(definition, document) {
                true => Ok(document.clone()),
                false => Err("rejected".to_owned()),
            });
        }
    }
    eprintln!("{definitions} definitions: {total:?}");
}

type Codec = fn(&Value) -> Result<Value, String>;

#[test]
fn check_detects_faulty_decoders() {
    let lossy: Codec = |document| {
        if !Proof::of("2025-11-25").accepts("Implementation", document) {
            return Err("rejected".to_owned());
        }
        let mut document = document.clone();
        if let Some(members) = document.as_object_mut() {
            members.retain(|name, _| ["name", "title", "version", "icons"].contains(&name.as_str()));
        }
        Ok(document)
    };
    let lenient: Codec = |document| Ok(document.clone());
    let strict: Codec = |document| match document.as_object().map(serde_json::Map::len) {
        Some(3) => Ok(document.clone()),
        _ => Err("expected three members".to_owned()),
    };
    let panicking: Codec = |_| panic!("oh");
    let table = [
        (lossy, "both accept, but the type encodes a different document"),
        (lenient, "the type accepts, the judge rejects"),
        (strict, "the judge accepts, the type rejects: expected three members"),
        (panicking, "the type panics: oh"),
    ];
    for (decoder, expected) in table {
        let run = || check("2025-11-25", "Implementation", 1, 100, decoder);
        let panic = std::panic::catch_unwind(run).expect_err("the check detects the fault");
        let text = panic.downcast_ref::<String>().expect("the report is a string");
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("2025-11-25 Implementation, seed 1, "), "{text}");
    }
}

#[test]
fn shrunk_keeps_only_necessary_parts() {
    let document = json!({ "a": [1, { "b": null, "c": [2, 3] }], "d": {} });
    let holds = |document: &Value| document.to_string().contains('3');
    assert_eq!(shrunk(&document, holds), json!({ "a": [{ "c": [3] }] }));
}

#[test]
fn numbers_compare_by_value() {
    let table = [
        ("1", "1.0", Ordering::Equal),
        ("0", "-0.0", Ordering::Equal),
        ("1e15", "1000000000000000", Ordering::Equal),
        ("1.5", "1", Ordering::Greater),
        ("-1.5", "-1", Ordering::Less),
        ("-1.5", "-2", Ordering::Greater),
        ("0.5", "0", Ordering::Greater),
        ("-0.5", "0", Ordering::Less),
        ("9007199254740993", "9007199254740992.0", Ordering::Greater),
        ("9223372036854775807", "9223372036854775808.0", Ordering::Less),
        ("18446744073709551615", "18446744073709551616.0", Ordering::Less),
        ("18446744073709551615", "1e300", Ordering::Less),
        ("-1e300", "-9223372036854775808", Ordering::Less),
        ("0.1", "0.10000000000000002", Ordering::Less),
        ("5e-324", "0", Ordering::Greater),
    ];
    for (a, b, expected) in table {
        let number = |text: &str| serde_json::from_str(text).expect("a number");
        let (a, b) = (number(a), number(b));
        assert_eq!(compare(&a, &b), expected, "{a} {b}");
        assert_eq!(compare(&b, &a), expected.reverse(), "{b} {a}");
    }
    assert!(json_equal(&json!({ "a": [1], "b": null }), &json!({ "b": null, "a": [1.0] })));
    assert!(!json_equal(&json!({ "a": null }), &json!({})));
    assert!(!json_equal(&json!([1, 2]), &json!([2, 1])));
    assert!(!json_equal(&json!("1"), &json!(1)));
}

/// A decided union, with a judge that applies the schema as it is written and one that applies only this decision.
struct Union {
    revision: &'static str,
    decision: Decision,
    at: String,
    members: Vec<Value>,
    letter: Judge,
    decided: Judge,
    instances: Instances,
    pointers: Vec<String>,
}

impl Union {
    fn documents(&self, count: u64) -> impl Iterator<Item = Value> {
        documents(&self.instances, &self.pointers, count)
    }
}

fn for_each_decision(check: impl Fn(&Union)) {
    for revision in REVISIONS {
        let schema = fixed_up(revision, &schema(revision));
        for decision in decisions(revision) {
            let at = pointer(&schema, decision.at);
            let members = schema.pointer(&at).and_then(|place| place["anyOf"].as_array());
            check(&Union {
                revision,
                decision: *decision,
                members: members.expect("the decision is for an anyOf").clone(),
                letter: Judge::with_decisions(&schema, &[]),
                decided: Judge::with_decisions(&schema, &[*decision]),
                instances: Instances::new(&schema, 2),
                pointers: member_pointers(&schema, &at),
                at,
            });
        }
    }
}

/// Returns documents for each member and for each pair of members.
fn documents(instances: &Instances, members: &[String], count: u64) -> impl Iterator<Item = Value> {
    let pairs = (0..members.len()).flat_map(move |a| (a..members.len()).map(move |b| (a, b)));
    pairs.flat_map(move |(a, b)| {
        let both = [members[a].as_str(), members[b].as_str()];
        let targets = if a == b { &both[..1] } else { &both[..] };
        let samples: Vec<Value> = (0..count).map(|index| instances.sample(targets, index).value).collect();
        samples
    })
}

fn unions(schema: &Value) -> Vec<String> {
    let all = subschemas(schema).into_iter();
    all.filter(|at| schema.pointer(at).is_some_and(|place| place.get("anyOf").is_some_and(Value::is_array))).collect()
}

fn member_pointers(schema: &Value, at: &str) -> Vec<String> {
    let members = schema.pointer(at).and_then(|place| place["anyOf"].as_array());
    (0..members.map_or(0, Vec::len)).map(|i| format!("{at}/anyOf/{i}")).collect()
}

fn pointer(schema: &Value, below: &str) -> String {
    format!("/{}/{below}", definitions_keyword(schema))
}
