//! Compares the verdicts of `diff` with samples and with lists written by hand. If `diff` calls a type compatible, the
//! receiving version must accept every document of that type.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use mcpgen::{Protocol, Workspace};
use mcpgen_diff::{Axis, Diff, Finding, TypeVerdict, Verdict, diff};
use mcpgen_model::fixups::FIXUPS;
use mcpgen_model::{Json, Shape};
use mcpgen_proof::decisions::REVISIONS;
use mcpgen_proof::inspected::{inspected, list, rules, text};
use mcpgen_proof::instances::{Instances, member_names, unsupported};
use mcpgen_proof::judge::{Judge, definitions_keyword, fixed_up, subschemas, within_limits};
use mcpgen_proof::mutate::step;
use mcpgen_proof::schema;
use mcpgen_proof::settings::setting;
use serde_json::{Value, json};

fn model(revision: &str) -> Protocol {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = Workspace::open(Some(&root)).unwrap_or_else(|error| panic!("{error}"));
    workspace.model(revision).unwrap_or_else(|error| panic!("{error}"))
}

fn models() -> Vec<Protocol> {
    REVISIONS.iter().map(|revision| model(revision)).collect()
}

/// One side of a comparison. It makes and judges samples.
struct Side {
    judge: Judge,
    instances: Instances,
    /// Requests (`true`) and notifications (`false`), whose definitions may omit the members of the envelope.
    messages: BTreeMap<String, bool>,
}

impl Side {
    fn new(protocol: &Protocol, schema: &Value, judge: Judge, names: &BTreeSet<String>) -> Side {
        let requests = protocol.requests.iter().map(|it| (it.type_id, true));
        let notifications = protocol.notifications.iter().map(|it| (it.type_id, false));
        let messages =
            requests.chain(notifications).map(|(id, is_request)| (protocol.types[id].name.as_str(), is_request));
        // The common base of messages is also sent as a message.
        let definitions = schema[definitions_keyword(schema)].as_object().expect("a schema has definitions");
        let is_base = |schema: &Value| {
            let method = schema["properties"]["method"].as_object();
            let required = schema["required"].as_array().is_some_and(|names| names.contains(&json!("method")));
            required && method.is_some_and(|method| !method.contains_key("const"))
        };
        let bases = definitions.iter().filter(|(_, schema)| is_base(schema)).map(|(name, _)| (name.as_str(), true));
        let messages = bases.chain(messages).map(|(name, is_request)| (name.to_owned(), is_request));
        let instances = Instances::new(schema, 5).reserving(names.clone());
        Side { judge, instances, messages: messages.collect() }
    }

    /// Returns a document that this side may send, as it is sent, or `None` if the sample is not valid.
    fn sends(&self, definition: &str, index: u64) -> Option<Value> {
        let mut document = self.instances.valid(definition, index);
        for (union, is_request) in UNIONS {
            if (definition == union || self.messages.get(definition) == Some(&is_request))
                && let Some(members) = document.as_object_mut()
            {
                members.entry("jsonrpc").or_insert_with(|| json!("2.0"));
                if is_request {
                    members.entry("id").or_insert_with(|| json!(1));
                }
            }
        }
        (within_limits(&document) && self.judge.accepts(definition, &document)).then_some(document)
    }
}

const UNIONS: [(&str, bool); 4] =
    [("ClientRequest", true), ("ServerRequest", true), ("ClientNotification", false), ("ServerNotification", false)];

/// Counts the verdicts that samples confirmed.
#[derive(Default)]
struct Confirmed {
    compatible: u64,
    documents: u64,
    /// For each rule, how many types with a breaking finding had a sample that confirmed it, and how many had none.
    breaking: BTreeMap<&'static str, (u64, u64)>,
}

impl Confirmed {
    fn add(&mut self, other: Confirmed) {
        self.compatible += other.compatible;
        self.documents += other.documents;
        for (rule, (confirmed, unconfirmed)) in other.breaking {
            let counter = self.breaking.entry(rule).or_default();
            *counter = (counter.0 + confirmed, counter.1 + unconfirmed);
        }
    }

    fn print(&self) {
        println!("{} types compatible in one direction, {} documents", self.compatible, self.documents);
        for (rule, (confirmed, unconfirmed)) in &self.breaking {
            println!("{rule}: breaking, confirmed by a sample in {confirmed} types, not confirmed in {unconfirmed}");
        }
    }
}

/// Compares the verdicts on these types with samples. Returns a description of each wrong verdict.
fn wrong_verdicts(
    diff: &Diff,
    types: &[&TypeVerdict],
    (old, new): (&Side, &Side),
    count: u64,
    confirmed: &mut Confirmed,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for ty in types {
        for (verdict, sender, reader, way) in
            [(ty.old_to_new, old, new, "old to new"), (ty.new_to_old, new, old, "new to old")]
        {
            let sent = (0..count).filter_map(|index| sender.sends(&ty.name, index));
            let rejected =
                sent.inspect(|_| confirmed.documents += 1).find(|document| !reader.judge.accepts(&ty.name, document));
            match (verdict, rejected) {
                (Verdict::Compatible, Some(document)) => {
                    let objections = reader.judge.objections(&ty.name, &document);
                    wrong.push(format!("{} {way} is not compatible: {document}\n{objections}", ty.name));
                }
                (Verdict::Compatible, None) => confirmed.compatible += 1,
                (Verdict::Breaking, rejected) => {
                    let here = diff.findings.iter().filter(|it| it.subject.split(['.', '[']).next() == Some(&ty.name));
                    let at = usize::from(way != "old to new");
                    let breaking = here.filter(|it| it.rule.both_ways()[at] == Verdict::Breaking);
                    for rule in breaking.map(|it| it.rule.id()).collect::<BTreeSet<_>>() {
                        let counter = confirmed.breaking.entry(rule).or_default();
                        match rejected {
                            Some(_) => counter.0 += 1,
                            None => counter.1 += 1,
                        }
                    }
                }
                (Verdict::Dangerous | Verdict::Unknown, _) => {}
            }
        }
    }
    wrong
}

#[test]
fn compatible_types_accept_all_samples() {
    let models = models();
    let schemas: Vec<Value> = REVISIONS.iter().map(|revision| fixed_up(revision, &schema(revision))).collect();
    let (mut confirmed, mut wrong) = (Confirmed::default(), Vec::new());
    for (a, b) in pairs() {
        let names: BTreeSet<String> = member_names(&schemas[a]).union(&member_names(&schemas[b])).cloned().collect();
        let side = |index: usize| {
            let judge = Judge::for_revision(REVISIONS[index], &schema(REVISIONS[index]));
            Side::new(&models[index], &schemas[index], judge, &names)
        };
        let (old, new) = (side(a), side(b));
        let diff = diff(&models[a], &models[b]);
        let types: Vec<&TypeVerdict> = diff.types.iter().collect();
        let found =
            wrong_verdicts(&diff, &types, (&old, &new), setting("MCPGEN_DIFF_INSTANCES", 20, 60), &mut confirmed);
        wrong.extend(found.iter().map(|text| format!("{} -> {}: {text}", REVISIONS[a], REVISIONS[b])));
    }
    confirmed.print();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(confirmed.compatible > 200, "only {} compatible types", confirmed.compatible);
}

/// Returns a schema with the fixups of the generator, and a judge with the decisions of the generator, because the
/// hand-written tables do not cover mutants. Returns `None` if the members of a union differ from those in the schema.
fn judged(protocol: &Protocol, schema: &Value) -> Option<(Value, Judge)> {
    let report = inspected(protocol);
    let mut schema = schema.clone();
    for reported in list(&report["fixups"]) {
        let fixup = FIXUPS.schemas.iter().find(|fixup| reported["name"] == fixup.name)?;
        for pointer in list(&reported["pointers"]) {
            *schema.pointer_mut(text(pointer))? = serde_json::from_str(&fixup.becomes).ok()?;
        }
    }
    let mut decided = BTreeMap::new();
    for union in list(&report["unions"]) {
        for pointer in list(&union["schema_pointers"]).iter().map(text) {
            // Without an `anyOf`, the members exclude each other.
            if let Some(members) = schema.pointer(pointer).and_then(|union| union["anyOf"].as_array()) {
                let rules = rules(union, members)?;
                // The judge cannot decide a place in two ways, once by itself and once in an intersection.
                if decided.get(pointer).is_some_and(|others| *others != rules) {
                    return None;
                }
                decided.insert(pointer.to_owned(), rules);
            }
        }
    }
    // The generator's checks, including those of undecided unions, do not decide the unions that they refer to, but the
    // judge does.
    let keyword = definitions_keyword(&schema);
    let referred = protocol.checks.keys().map(|name| format!("/{keyword}/{name}"));
    let undecided = protocol.types.iter().filter(|def| matches!(def.shape, Shape::Undecided(_)));
    let checked: Vec<String> = referred.chain(undecided.map(|def| def.pointer.clone())).collect();
    let is_inside = |pointer: &String, definition: &String| {
        pointer.strip_prefix(definition).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if decided.keys().any(|pointer| checked.iter().any(|definition| is_inside(pointer, definition))) {
        return None;
    }
    let judge = Judge::decided(&schema, decided.into_iter().collect());
    Some((schema, judge))
}

/// Returns whether a mutant that the generator accepts can be judged and sampled.
fn judgeable(old: &Value, new: &Value) -> bool {
    // Unions that result from `allOf` have no place in the schema.
    let intersections = |schema: &Value| schema.to_string().matches("\"allOf\"").count();
    // The validator is stricter than the generator, which accepts duplicate names in `required` and references that are
    // not URIs. The judge puts the schema of a definition at the root, so it cannot judge references to the root.
    let references = subschemas(new);
    let mut references = references.iter().filter_map(|at| new.pointer(at)?["$ref"].as_str());
    let plain = references.all(|target| {
        target != "#" && target.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"#/$_".contains(&byte))
    });
    intersections(new) <= intersections(old) && jsonschema::meta::is_valid(new) && unsupported(new).is_none() && plain
}

fn affected(old: &Value, new: &Value) -> Vec<String> {
    let definitions = |schema: &Value| schema[definitions_keyword(schema)].as_object().cloned().unwrap_or_default();
    let (old, new) = (definitions(old), definitions(new));
    let mut found: Vec<String> = new.keys().filter(|name| old.get(*name) != new.get(*name)).cloned().collect();
    let gone: Vec<String> = old.keys().filter(|name| !new.contains_key(*name)).cloned().collect();
    let mut next = 0;
    while let Some(changed) = found.iter().chain(&gone).nth(next).cloned() {
        next += 1;
        let reference = format!("/{changed}\"");
        let refers = |schema: &Value| schema.to_string().contains(&reference);
        let more = new.iter().filter(|(name, schema)| refers(schema) && !found.contains(name));
        let more: Vec<String> = more.map(|(name, _)| name.clone()).collect();
        found.extend(more);
    }
    found
}

#[derive(Default)]
struct Steps {
    compared: u64,
    rejected: u64,
    unjudged: u64,
    confirmed: Confirmed,
    wrong: Vec<String>,
}

impl Steps {
    fn take(&mut self, original: &Json, seed: u64) {
        let (before, mutant) = step(original, seed);
        let value =
            |json: &Json| serde_json::from_str::<Value>(&json.to_string()).unwrap_or_else(|error| panic!("{error}"));
        let (old, new) = (value(&before), value(&mutant.document));
        let model = |schema: &Value| {
            let document = mcpgen::Document::parse("step.json", schema.to_string().as_bytes()).ok()?;
            mcpgen::model(document, "step", false).ok()
        };
        let (Some(old_model), Some(new_model)) = (model(&old), model(&new)) else {
            self.rejected += 1;
            return;
        };
        let judges = match judgeable(&old, &new) {
            true => judged(&old_model, &old).zip(judged(&new_model, &new)),
            false => None,
        };
        let Some(((old, old_judge), (new, new_judge))) = judges else {
            self.unjudged += 1;
            return;
        };
        self.compared += 1;
        let names: BTreeSet<String> = member_names(&old).union(&member_names(&new)).cloned().collect();
        let sides = (Side::new(&old_model, &old, old_judge, &names), Side::new(&new_model, &new, new_judge, &names));
        let diff = diff(&old_model, &new_model);
        let affected = affected(&old, &new);
        // The types closest to the change come first.
        let types = affected.iter().filter_map(|name| diff.types.iter().find(|ty| ty.name == *name));
        let types: Vec<&TypeVerdict> = types.take(6).collect();
        let wrong = wrong_verdicts(&diff, &types, (&sides.0, &sides.1), 30, &mut self.confirmed);
        let findings: Vec<&str> = diff.findings.iter().map(|finding| finding.message.as_str()).collect();
        let reports =
            wrong.iter().map(|text| format!("seed {seed}: {}\n{findings:#?}\n{text}", mutant.history.join("\n")));
        self.wrong.extend(reports);
    }
}

/// Set `MCPGEN_SEED=<seed> MCPGEN_STEPS=1` to reproduce a failure.
#[test]
fn compatible_types_of_mutants_accept_all_samples() {
    let (first, count) = (setting("MCPGEN_SEED", 0, 0), setting("MCPGEN_STEPS", 600, 4000));
    let originals = REVISIONS.map(|revision| {
        let fixed = fixed_up(revision, &schema(revision)).to_string();
        Json::parse(&fixed).unwrap_or_else(|error| panic!("{revision}: {error}"))
    });
    let next = AtomicU64::new(first);
    let work = || {
        let mut steps = Steps::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count || steps.wrong.len() > 10 {
                return steps;
            }
            steps.take(&originals[(seed % 5) as usize], seed);
        }
    };
    let mut all = Steps::default();
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let steps = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.compared += steps.compared;
            all.rejected += steps.rejected;
            all.unjudged += steps.unjudged;
            all.confirmed.add(steps.confirmed);
            all.wrong.extend(steps.wrong);
        }
    });
    println!("{} mutants compared, {} rejected, {} not judged", all.compared, all.rejected, all.unjudged);
    all.confirmed.print();
    assert!(all.wrong.is_empty(), "{}", all.wrong.join("\n\n"));
    if count >= 600 {
        assert!(all.compared * 3 > count, "only {} mutants compared", all.compared);
        assert!(all.unjudged * 10 < count, "{} mutants not judged", all.unjudged);
    }
}

fn pairs() -> impl Iterator<Item = (usize, usize)> {
    (0..REVISIONS.len()).flat_map(|old| (old + 1..REVISIONS.len()).map(move |new| (old, new)))
}

#[test]
fn equal_models_have_no_findings() {
    for model in models() {
        let found = diff(&model, &model);
        assert!(found.findings.is_empty(), "{}: {}", model.revision, found.findings[0].message);
    }
}

#[test]
fn reversed_diff_has_opposite_findings() {
    let models = models();
    for (a, b) in pairs() {
        let (forward, backward) = (diff(&models[a], &models[b]), diff(&models[b], &models[a]));
        for (added, removed) in [
            ("request-added", "request-removed"),
            ("notification-added", "notification-removed"),
            ("type-added", "type-removed"),
            ("error-code-added", "error-code-removed"),
            ("enum-value-added", "enum-value-removed"),
            ("member-became-required", "member-became-optional"),
        ] {
            let of = |diff: &Diff, rule: &str| -> BTreeSet<(String, String)> {
                let found = diff.findings.iter().filter(|it| it.rule.id() == rule);
                // This type was renamed, and a finding uses the name in the new schema.
                let subject = |it: &Finding| it.subject.replace("JSONRPCErrorResponse", "JSONRPCError");
                found.map(|it| (subject(it), it.detail.clone())).collect()
            };
            let pair = format!("{} and {}: {added}", REVISIONS[a], REVISIONS[b]);
            assert_eq!(of(&forward, added), of(&backward, removed), "{pair}");
            assert_eq!(of(&backward, added), of(&forward, removed), "{pair}");
        }
    }
}

/// The changes from 2025-11-25 to 2026-07-28 by rule and subject, written by hand from the two schemas.
const MODERN: &[(&str, &str)] = &[
    ("request-added", "server/discover"),
    ("request-added", "subscriptions/listen"),
    ("request-removed", "initialize"),
    ("request-removed", "logging/setLevel"),
    ("request-removed", "ping"),
    ("request-removed", "resources/subscribe"),
    ("request-removed", "resources/unsubscribe"),
    ("request-removed", "tasks/cancel"),
    ("request-removed", "tasks/get"),
    ("request-removed", "tasks/list"),
    ("request-removed", "tasks/result"),
    ("request-embedded", "elicitation/create"),
    ("request-embedded", "roots/list"),
    ("request-embedded", "sampling/createMessage"),
    ("notification-added", "notifications/subscriptions/acknowledged"),
    ("notification-removed", "notifications/elicitation/complete"),
    ("notification-removed", "notifications/initialized"),
    ("notification-removed", "notifications/progress"),
    ("notification-removed", "notifications/roots/list_changed"),
    ("notification-removed", "notifications/tasks/status"),
    ("error-code-removed", "URLElicitationRequiredError"),
];

/// Changes to members from 2025-11-25 to 2026-07-28, such as the members that the newer revision requires in every
/// result and request.
const MODERN_MEMBERS: &[(&str, &str)] = &[
    ("member-added-required", "CallToolResult.resultType"),
    ("member-added-required", "CompleteResult.resultType"),
    ("member-added-required", "GetPromptResult.resultType"),
    ("member-added-required", "ListPromptsResult.cacheScope"),
    ("member-added-required", "ListPromptsResult.resultType"),
    ("member-added-required", "ListPromptsResult.ttlMs"),
    ("member-added-required", "ListResourceTemplatesResult.resultType"),
    ("member-added-required", "ListResourcesResult.resultType"),
    ("member-added-required", "ListToolsResult.resultType"),
    ("member-added-required", "ReadResourceResult.resultType"),
    ("member-became-required", "CallToolRequestParams._meta"),
    ("member-became-required", "CompleteRequestParams._meta"),
    ("member-became-required", "GetPromptRequestParams._meta"),
    ("member-became-required", "PaginatedRequestParams._meta"),
    ("member-became-required", "ReadResourceRequestParams._meta"),
    ("member-became-required", "ListToolsRequest.params"),
    ("task-result-removed", "tools/call"),
    ("union-variant-added", "CallToolResult"),
    ("union-variant-added", "GetPromptResult"),
    ("union-variant-added", "ReadResourceResult"),
    ("limit-added", "CompleteResult.completion.values"),
    ("member-removed-optional", "CallToolRequestParams.task"),
    ("member-removed-optional", "ClientCapabilities.tasks"),
    ("member-removed-optional", "ServerCapabilities.tasks"),
];

#[test]
fn finds_the_changes_to_the_modern_era() {
    let found = diff(&model("2025-11-25"), &model("2026-07-28"));
    let all: BTreeSet<(&str, &str)> = found.findings.iter().map(|it| (it.rule.id(), it.subject.as_str())).collect();
    let expected: BTreeSet<(&str, &str)> = MODERN.iter().chain(MODERN_MEMBERS).copied().collect();
    let missing: Vec<_> = expected.difference(&all).collect();
    assert!(missing.is_empty(), "not found: {missing:#?}");
    // The list of changed methods is complete.
    let of_methods = |rule: &str| rule.starts_with("request-") || rule.starts_with("notification-");
    let methods: BTreeSet<_> = all.iter().filter(|(rule, _)| of_methods(rule)).copied().collect();
    assert_eq!(methods, MODERN.iter().filter(|(rule, _)| of_methods(rule)).copied().collect());
    for finding in &found.findings {
        // Only servers send results, and only clients send requests.
        match finding.subject.as_str() {
            "CallToolResult.resultType" => assert_eq!(finding.senders.as_str(), "server"),
            "CallToolRequestParams._meta" => assert_eq!(finding.senders.as_str(), "client"),
            _ => {}
        }
    }
}

type Findings = &'static [(&'static str, &'static str)];

/// The dangerous and breaking changes between earlier revisions, written by hand from the schemas and the official
/// changelogs.
const STEPS: &[(&str, &str, Findings)] = &[
    (
        "2024-11-05",
        "2025-03-26",
        &[
            ("union-variant-added", "CallToolResult.content[]"),
            ("union-variant-added", "CreateMessageResult.content"),
            ("union-variant-added", "JSONRPCMessage"),
        ],
    ),
    (
        "2025-03-26",
        "2025-06-18",
        &[
            ("request-added", "elicitation/create"),
            ("union-variant-added", "ContentBlock"),
            ("union-variant-removed", "JSONRPCMessage"),
        ],
    ),
    (
        "2025-06-18",
        "2025-11-25",
        &[
            ("error-code-added", "URLElicitationRequiredError"),
            ("member-became-optional", "CancelledNotificationParams.requestId"),
            ("member-became-optional", "JSONRPCErrorResponse.id"),
            ("member-removed-optional", "JSONRPCNotification.params._meta"),
            ("member-removed-optional", "JSONRPCRequest.params._meta"),
            ("member-removed-optional", "Notification.params._meta"),
            ("member-removed-optional", "Request.params._meta"),
            ("notification-added", "notifications/elicitation/complete"),
            ("notification-added", "notifications/tasks/status"),
            ("request-added", "tasks/cancel"),
            ("request-added", "tasks/get"),
            ("request-added", "tasks/list"),
            ("request-added", "tasks/result"),
            ("union-variant-added", "CreateMessageResult.content"),
            ("union-variant-added", "ElicitRequestParams"),
            ("union-variant-added", "ElicitResult.content.*"),
            ("union-variant-added", "EnumSchema"),
            ("union-variant-added", "JSONRPCResponse"),
            ("union-variant-added", "PrimitiveSchemaDefinition"),
        ],
    ),
];

#[test]
fn finds_the_changes_between_earlier_revisions() {
    for (old, new, expected) in STEPS {
        let found = diff(&model(old), &model(new));
        let incompatible = found.findings.iter().filter(|it| it.verdicts.worst(&Axis::WIRE) > Verdict::Compatible);
        let incompatible: BTreeSet<(&str, &str)> = incompatible.map(|it| (it.rule.id(), it.subject.as_str())).collect();
        assert_eq!(incompatible, expected.iter().copied().collect(), "{old} -> {new}");
    }
}

/// Converts the schema to the other dialect and reverses the order of its keys.
fn rewritten(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let reversed = members.iter().rev().map(|(key, value)| {
                let value = match (key.as_str(), value) {
                    ("$ref", Value::String(target)) => json!(target.replace("#/$defs/", "#/definitions/")),
                    ("$schema", Value::String(_)) => json!("http://json-schema.org/draft-07/schema#"),
                    _ => rewritten(value),
                };
                (if key == "$defs" { "definitions".to_owned() } else { key.clone() }, value)
            });
            Value::Object(reversed.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(rewritten).collect()),
        other => other.clone(),
    }
}

fn model_of(schema: &Value, name: &str) -> Protocol {
    let document =
        mcpgen::Document::parse(name, schema.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    mcpgen::model(document, name, false).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn ignores_dialect_and_key_order() {
    for revision in ["2025-11-25", "2026-07-28"] {
        let original = schema(revision);
        let found = diff(&model_of(&original, "original.json"), &model_of(&rewritten(&original), "rewritten.json"));
        let messages: Vec<&str> = found.findings.iter().map(|it| it.message.as_str()).collect();
        assert!(messages.is_empty(), "{revision}: {messages:#?}");
    }
}

/// Moves an inline schema into a definition, and back.
#[test]
fn ignores_whether_a_type_is_inline_or_a_definition() {
    let inline = schema("2025-11-25");
    let mut outside = inline.clone();
    let place = outside.pointer_mut("/$defs/Tool/properties/inputSchema").expect("a tool has an input schema");
    let input = std::mem::replace(place, json!({ "$ref": "#/$defs/InputSchemaOfTool" }));
    outside["$defs"]["InputSchemaOfTool"] = input;
    let (inline, outside) = (model_of(&inline, "inline.json"), model_of(&outside, "outside.json"));
    let rules = |diff: Diff| -> Vec<(&str, String)> {
        diff.findings.into_iter().map(|it| (it.rule.id(), it.subject)).collect()
    };
    assert_eq!(rules(diff(&inline, &outside)), [("type-added", "InputSchemaOfTool".to_owned())]);
    assert_eq!(rules(diff(&outside, &inline)), [("type-removed", "InputSchemaOfTool".to_owned())]);
}

/// The vendored schemas differ from the official ones only in that they have no descriptions.
#[test]
fn vendored_schemas_match_the_official_ones() {
    for revision in REVISIONS {
        let path =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/schema").join(revision).join("schema.json");
        let Ok(text) = std::fs::read(&path) else {
            eprintln!("SKIPPED: ../../shared/schema is missing, so the official file of {revision} is not compared");
            continue;
        };
        let official: Value = serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{error}"));
        let found = diff(&model_of(&official, "official.json"), &model_of(&schema(revision), "vendored.json"));
        let messages: Vec<&str> = found.findings.iter().map(|it| it.message.as_str()).collect();
        assert!(messages.is_empty(), "{revision}: {messages:#?}");
    }
}
