//! Compares the hand-written tables with the generator's own report: the decisions of overlapping unions, and the
//! fixups. Tables and generator were written independently.
//!
//! The report is the documented JSON of `mcpgen inspect`. It omits unnamed inline unions that one member absorbs. The
//! comparison below would miss such unions, but the official schemas have none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcpgen::Workspace;
use mcpgen_model::fixups::FIXUPS;
use mcpgen_model::fixups::Fixup;
use mcpgen_proof::decisions::{Decision, REVISIONS, decisions};
use mcpgen_proof::inspected::{self, list, reference, text};
use mcpgen_proof::instances::Instances;
use mcpgen_proof::judge::{Condition, Judge, Rule, by_hand, definitions_keyword, fixed_up, members};
use mcpgen_proof::schema;
use serde_json::{Value, json};

/// The number of documents for each member and for each pair of members.
const COUNT: u64 = 25;

fn report_of(revision: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = Workspace::open(Some(&root)).unwrap_or_else(|error| panic!("{error}"));
    inspected::inspected(&workspace.model(revision).unwrap_or_else(|error| panic!("{error}")))
}

fn choice(rules: &[Rule], document: &Value) -> Option<usize> {
    let rule = rules.iter().find(|(when, _)| when.iter().all(|condition| holds(condition, document)));
    rule.map(|(_, member)| *member)
}

fn holds(condition: &Condition, document: &Value) -> bool {
    match condition {
        Condition::Present(path) => at(document, path).is_some(),
        Condition::Absent(path) => at(document, path).is_none(),
        Condition::OneOf(path, values) => at(document, path).is_some_and(|value| values.contains(&value.to_string())),
        Condition::Type(types) => types.contains(match document {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() == 0.0) => "integer",
            Value::Number(_) => "fraction",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }),
    }
}

fn at<'v>(document: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(document, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        Value::Object(members) if step.parse::<usize>().is_err() => members.get(step),
        _ => None,
    })
}

/// A union in both tables.
struct Both<'a> {
    /// The schema that holds the `anyOf`.
    pointer: String,
    members: &'a [Value],
    by_hand: Vec<Rule>,
    generated: Vec<Rule>,
}

/// Both tables contain the same unions. Their rules are identical, or at least choose the same member for every
/// document.
#[test]
fn decisions_match_the_generator() {
    let (mut identical, mut equivalent, mut documents) = (0, Vec::new(), 0);
    for revision in REVISIONS {
        let schema = fixed_up(revision, &schema(revision));
        let report = report_of(revision);
        let contested = contested(&report);
        let keyword = definitions_keyword(&schema);
        let expected: BTreeSet<String> = decisions(revision).iter().map(|d| format!("/{keyword}/{}", d.at)).collect();
        let found: BTreeSet<String> = contested.keys().cloned().collect();
        assert_eq!(found, expected, "{revision}: overlapping unions of the generator (left) and of the table (right)");
        let letter = Judge::by_the_letter(&schema);
        let instances = Instances::new(&schema, 11);
        for decision in decisions(revision) {
            let pointer = format!("/{keyword}/{}", decision.at);
            let union = contested[&pointer];
            let members = members(&schema, &pointer);
            assert_absorbs(decision, union, members);
            let generated =
                inspected::rules(union, members).unwrap_or_else(|| panic!("the schema lacks members of {union}"));
            let both = Both { by_hand: by_hand(decision, members), generated, members, pointer };
            match canonical(&both.by_hand) == canonical(&both.generated) {
                true => identical += 1,
                false => equivalent.push(format!("{revision} {}", decision.at)),
            }
            documents += both.compare(&letter, &instances);
        }
    }
    println!("{identical} unions with identical rules; equivalent: {equivalent:?}; {documents} documents");
    // For this union, the generator checks the JSON type first, and the table checks it later.
    assert_eq!(equivalent, ["2025-03-26 JSONRPCMessage"]);
    assert_eq!(identical + equivalent.len(), REVISIONS.iter().map(|revision| decisions(revision).len()).sum::<usize>());
}

/// Sorts neighboring rules that can never both hold, because their order makes no difference.
fn canonical(rules: &[Rule]) -> Vec<Rule> {
    let mut rules = rules.to_vec();
    let swap =
        |rules: &[Rule]| (1..rules.len()).find(|i| rules[i - 1] > rules[*i] && apart(&rules[i - 1].0, &rules[*i].0));
    while let Some(index) = swap(&rules) {
        rules.swap(index - 1, index);
    }
    rules
}

/// Returns whether two sets of conditions require different values in one place, so that no document satisfies both.
fn apart(a: &BTreeSet<Condition>, b: &BTreeSet<Condition>) -> bool {
    let differ = |a: &Condition, b: &Condition| match (a, b) {
        (Condition::OneOf(here, a), Condition::OneOf(there, b)) => here == there && a.is_disjoint(b),
        (Condition::Type(a), Condition::Type(b)) => a.is_disjoint(b),
        _ => false,
    };
    a.iter().any(|a| b.iter().any(|b| differ(a, b)))
}

/// Returns the unions with overlapping or absorbed members, by each of their places.
fn contested(report: &Value) -> BTreeMap<String, &Value> {
    let unions = list(&report["unions"]).iter();
    let contested = unions.filter(|union| union["overlapping"] == true || !list(&union["absorbed"]).is_empty());
    let placed = contested.flat_map(|union| {
        let pointers = list(&union["schema_pointers"]).iter();
        pointers.map(move |pointer| (text(pointer).to_owned(), union))
    });
    placed.collect()
}

/// Checks that the tables agree on whether one member absorbs the others and, if one does, that the report lists all.
fn assert_absorbs(decision: &Decision, union: &Value, members: &[Value]) {
    let absorbed: BTreeSet<&str> = list(&union["absorbed"]).iter().map(|absorbed| text(&absorbed["variant"])).collect();
    assert_eq!(decision.absorbs(), !absorbed.is_empty(), "{}", decision.at);
    if decision.absorbs() {
        let kept = list(&union["variants"]).iter().map(text);
        let all: BTreeSet<&str> = members.iter().filter_map(reference).collect();
        // The report leaves out a definition that is only another name for the largest member.
        let reported: BTreeSet<&str> = absorbed.into_iter().chain(kept).collect();
        assert!(reported.is_subset(&all), "{}: {reported:?} of {all:?}", decision.at);
        let missing: Vec<&&str> = all.difference(&reported).collect();
        assert!(missing.iter().all(|name| **name == "EmptyResult"), "{}: {missing:?} not reported", decision.at);
    }
}

impl Both<'_> {
    /// Checks that both tables choose the same member for every document, or that one chooses a member that rejects the
    /// document and the other chooses none. Returns the number of documents.
    fn compare(&self, letter: &Judge, instances: &Instances) -> usize {
        let mut documents: Vec<Value> =
            [json!(null), json!(true), json!(5), json!(0.5), json!(""), json!([]), json!([5]), json!({})].into();
        let pointers: Vec<String> = (0..self.members.len()).map(|i| format!("{}/anyOf/{i}", self.pointer)).collect();
        for (index, a) in pointers.iter().enumerate() {
            for b in &pointers[index..] {
                let targets = [a.as_str(), b.as_str()];
                let targets = if a == b { &targets[..1] } else { &targets[..] };
                documents.extend((0..COUNT).map(|index| instances.sample(targets, index).value));
            }
        }
        let mut chosen = BTreeSet::new();
        for document in &documents {
            let choices = (choice(&self.by_hand, document), choice(&self.generated, document));
            chosen.extend(choices.0);
            let agree = match choices {
                (Some(only), None) | (None, Some(only)) => !letter.accepts_at(&pointers[only], document),
                (a, b) => a == b,
            };
            assert!(agree, "{}: {choices:?}: {document}", self.pointer);
        }
        let reachable: BTreeSet<usize> = self.by_hand.iter().map(|(_, member)| *member).collect();
        assert_eq!(chosen, reachable, "{}: the documents do not reach every rule", self.pointer);
        documents.len()
    }
}

/// Fixups of the generator that only add annotations, which do not matter to the judge.
const ANNOTATIONS: &[&str] = &["result-type-default"];

/// Applies a fixup of the generator to the places that `inspect` reports. Returns the schema and the number of places.
fn rewritten(schema: &Value, report: &Value, fixup: &Fixup) -> (Value, usize) {
    let reported = list(&report["fixups"]).iter().find(|reported| reported["name"] == fixup.name);
    let reported = reported.unwrap_or_else(|| panic!("`inspect` does not report fixup {}", fixup.name));
    assert_eq!((text(&reported["reason"]), text(&reported["link"])), (&*fixup.reason, &*fixup.link));
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (before, after) = (parse(&fixup.expects), parse(&fixup.becomes));
    assert_ne!(before, after, "{}", fixup.name);
    let mut schema = schema.clone();
    let pointers = list(&reported["pointers"]);
    for pointer in pointers.iter().map(text) {
        let place = schema.pointer_mut(pointer).unwrap_or_else(|| panic!("{}: nothing at {pointer}", fixup.name));
        assert_eq!(std::mem::replace(place, after.clone()), before, "{}: {pointer}", fixup.name);
    }
    (schema, pointers.len())
}

/// The fixups of both tables give the same schema, except for annotations.
#[test]
fn fixups_match_the_generator() {
    for revision in REVISIONS {
        let report = report_of(revision);
        let applicable = FIXUPS.schemas.iter().filter(|fixup| fixup.revisions.iter().any(|known| known == revision));
        let reported: Vec<&str> = list(&report["fixups"]).iter().map(|fixup| text(&fixup["name"])).collect();
        assert_eq!(reported, applicable.clone().map(|fixup| &*fixup.name).collect::<Vec<_>>(), "{revision}");
        let mut fixed = schema(revision);
        for fixup in applicable.filter(|fixup| !ANNOTATIONS.contains(&&*fixup.name)) {
            let (schema, places) = rewritten(&fixed, &report, fixup);
            assert_eq!(places, 1, "{revision}: {}", fixup.name);
            fixed = schema;
        }
        assert!(fixed == fixed_up(revision, &schema(revision)), "{revision}: the fixups of the two tables differ");
    }
}

/// Annotations do not change which documents are accepted.
#[test]
fn annotations_do_not_affect_validation() {
    for name in ANNOTATIONS {
        let fixup = FIXUPS.schemas.iter().find(|fixup| fixup.name == *name);
        let fixup = fixup.unwrap_or_else(|| panic!("the generator has no fixup {name}"));
        for revision in &fixup.revisions {
            let schema = fixed_up(revision, &schema(revision));
            let (annotated, places) = rewritten(&schema, &report_of(revision), fixup);
            let judges = [Judge::by_the_letter(&schema), Judge::by_the_letter(&annotated)];
            let instances = Instances::new(&schema, 13);
            let (mut accepted, mut rejected) = (0, 0);
            for definition in instances.definitions() {
                for document in documents(&instances, definition) {
                    let [before, after] = [0, 1].map(|i: usize| judges[i].accepts(definition, &document));
                    assert_eq!(before, after, "{revision} {name}: {definition}: {document}");
                    *(if before { &mut accepted } else { &mut rejected }) += 1;
                }
            }
            println!("{revision} {name}: {places} places, {accepted} documents accepted, {rejected} rejected by both");
            assert!(places > 0 && accepted > 1000 && rejected > 1000);
        }
    }
}

/// Returns valid and invalid documents of a definition, and some with a `resultType` of each JSON type.
fn documents(instances: &Instances, definition: &str) -> Vec<Value> {
    let mut documents = Vec::new();
    for index in 0..20 {
        documents.push(instances.valid(definition, index));
        documents.extend(instances.near_miss(definition, index).map(|(document, _)| document));
    }
    if let Some(Value::Object(members)) = documents.first().cloned() {
        for value in [json!(null), json!(5), json!(""), json!("complete"), json!(["complete"]), json!({})] {
            let mut members = members.clone();
            members.insert("resultType".to_owned(), value);
            documents.push(Value::Object(members));
        }
    }
    documents
}
