//! The tables written by hand against the generator's own account of itself: the decisions of overlapping unions, and
//! the fixups. Neither was made from the other.
//!
//! The account of the unions is the documented JSON of `mcpgen inspect`. An inline union that is absorbed without a name
//! of its own would leave no trace there; the official schemas have none, or its place would be missing below.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcpgen::fixups::FIXUPS;
use mcpgen::workspace::Workspace;
use mcpgen_tests::decisions::{Decision, REVISIONS, decisions};
use mcpgen_tests::inspected::{self, list, reference, text};
use mcpgen_tests::instances::Instances;
use mcpgen_tests::judge::{Condition, Judge, Rule, by_hand, definitions_keyword, fixed_up, members};
use mcpgen_tests::schema;
use serde_json::{Value, json};

/// How many documents of each member, and of each two members at once.
const COUNT: u64 = 25;

fn inspected(revision: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let workspace = Workspace::open(Some(&root)).unwrap_or_else(|error| panic!("{error}"));
    inspected::inspected(&workspace.model(revision).unwrap_or_else(|error| panic!("{error}")))
}

/// The member that the rules choose.
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

/// A union that both tables speak of.
struct Both<'a> {
    /// The schema that holds the `anyOf`.
    pointer: String,
    members: &'a [Value],
    by_hand: Vec<Rule>,
    generated: Vec<Rule>,
}

/// Both tables speak of the same unions, and decide them the same way: in the same words where their words are the
/// same, and for every document in any case.
#[test]
fn the_decisions_are_the_generators() {
    let (mut in_words, mut in_effect, mut documents) = (0, Vec::new(), 0);
    for revision in REVISIONS {
        let schema = fixed_up(revision, &schema(revision));
        let report = inspected(revision);
        let contested = contested(&report);
        let keyword = definitions_keyword(&schema);
        let expected: BTreeSet<String> = decisions(revision).iter().map(|d| format!("/{keyword}/{}", d.at)).collect();
        let found: BTreeSet<String> = contested.keys().cloned().collect();
        assert_eq!(found, expected, "{revision}: overlapping unions of the generator, and of the table");
        let letter = Judge::by_the_letter(&schema);
        let instances = Instances::new(&schema, 11);
        for decision in decisions(revision) {
            let pointer = format!("/{keyword}/{}", decision.at);
            let union = contested[&pointer];
            let members = members(&schema, &pointer);
            assert_absorbs(decision, union, members);
            let generated = inspected::rules(union, members).unwrap_or_else(|| panic!("other members than {union}"));
            let both = Both { by_hand: by_hand(decision, members), generated, members, pointer };
            match canonical(&both.by_hand) == canonical(&both.generated) {
                true => in_words += 1,
                false => in_effect.push(format!("{revision} {}", decision.at)),
            }
            documents += both.compare(&letter, &instances);
        }
    }
    println!("{in_words} unions in the same words; in effect only: {in_effect:?}; {documents} documents");
    // Only there the generator asks for the JSON type first, which the table leaves to what follows.
    assert_eq!(in_effect, ["2025-03-26 JSONRPCMessage"]);
    assert_eq!(in_words + in_effect.len(), REVISIONS.iter().map(|revision| decisions(revision).len()).sum::<usize>());
}

/// The rules in an order that does not depend on which of two stands first that never hold together.
fn canonical(rules: &[Rule]) -> Vec<Rule> {
    let mut rules = rules.to_vec();
    let swap =
        |rules: &[Rule]| (1..rules.len()).find(|i| rules[i - 1] > rules[*i] && apart(&rules[i - 1].0, &rules[*i].0));
    while let Some(index) = swap(&rules) {
        rules.swap(index - 1, index);
    }
    rules
}

/// Whether both lists of conditions cannot hold of one document, because they want different values at one place.
fn apart(a: &BTreeSet<Condition>, b: &BTreeSet<Condition>) -> bool {
    let differ = |a: &Condition, b: &Condition| match (a, b) {
        (Condition::OneOf(here, a), Condition::OneOf(there, b)) => here == there && a.is_disjoint(b),
        (Condition::Type(a), Condition::Type(b)) => a.is_disjoint(b),
        _ => false,
    };
    a.iter().any(|a| b.iter().any(|b| differ(a, b)))
}

/// The unions whose members overlap or that have absorbed members, by each place where they stand.
fn contested(report: &Value) -> BTreeMap<String, &Value> {
    let unions = list(&report["unions"]).iter();
    let contested = unions.filter(|union| union["overlapping"] == true || !list(&union["absorbed"]).is_empty());
    let placed = contested.flat_map(|union| {
        let pointers = list(&union["schema_pointers"]).iter();
        pointers.map(move |pointer| (text(pointer).to_owned(), union))
    });
    placed.collect()
}

/// Both say that one member stands for all, or neither; and if so, no member is forgotten.
fn assert_absorbs(decision: &Decision, union: &Value, members: &[Value]) {
    let absorbed: BTreeSet<&str> = list(&union["absorbed"]).iter().map(|absorbed| text(&absorbed["variant"])).collect();
    assert_eq!(decision.absorbs(), !absorbed.is_empty(), "{}", decision.at);
    if decision.absorbs() {
        let kept = list(&union["variants"]).iter().map(text);
        let all: BTreeSet<&str> = members.iter().filter_map(reference).collect();
        // A definition that only is another name for the largest member is that member.
        let told: BTreeSet<&str> = absorbed.into_iter().chain(kept).collect();
        assert!(told.is_subset(&all), "{}: {told:?} of {all:?}", decision.at);
        let silent: Vec<&&str> = all.difference(&told).collect();
        assert!(silent.iter().all(|name| **name == "EmptyResult"), "{}: {silent:?} are not accounted for", decision.at);
    }
}

impl Both<'_> {
    /// Every document goes to the same member by both; or by one of them to a member that refuses it, by the other to
    /// none.
    fn compare(&self, letter: &Judge, instances: &Instances) -> usize {
        let mut documents: Vec<Value> =
            [json!(null), json!(true), json!(5), json!(0.5), json!(""), json!([]), json!([5]), json!({})].into();
        let pointers: Vec<String> = (0..self.members.len()).map(|i| format!("{}/anyOf/{i}", self.pointer)).collect();
        for (index, a) in pointers.iter().enumerate() {
            for b in &pointers[index..] {
                let wanted = [a.as_str(), b.as_str()];
                let wanted = if a == b { &wanted[..1] } else { &wanted[..] };
                documents.extend((0..COUNT).map(|index| instances.sample(wanted, index).value));
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
        assert_eq!(chosen, reachable, "{}: the documents reach every rule", self.pointer);
        documents.len()
    }
}

/// The generator's fixups that add annotations only, which the judge has no use for.
const ANNOTATIONS: &[&str] = &["result-type-default"];

/// The schema after one fixup of the generator's, at the places that `inspect` reports, and how many these are.
fn rewritten(schema: &Value, report: &Value, fixup: &mcpgen::fixups::Fixup) -> (Value, usize) {
    let told = list(&report["fixups"]).iter().find(|told| told["name"] == fixup.name);
    let told = told.unwrap_or_else(|| panic!("inspect does not tell of {}", fixup.name));
    assert_eq!((text(&told["reason"]), text(&told["link"])), (fixup.reason, fixup.link));
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (before, after) = (parse(fixup.expects), parse(fixup.becomes));
    assert_ne!(before, after, "{}", fixup.name);
    let mut schema = schema.clone();
    let pointers = list(&told["pointers"]);
    for pointer in pointers.iter().map(text) {
        let place = schema.pointer_mut(pointer).unwrap_or_else(|| panic!("{}: nothing at {pointer}", fixup.name));
        assert_eq!(std::mem::replace(place, after.clone()), before, "{}: {pointer}", fixup.name);
    }
    (schema, pointers.len())
}

/// After the fixups of both tables the schema is the same, annotations aside.
#[test]
fn the_fixups_are_the_generators() {
    for revision in REVISIONS {
        let report = inspected(revision);
        let of_it = FIXUPS.iter().filter(|fixup| fixup.revisions.contains(&revision));
        let told: Vec<&str> = list(&report["fixups"]).iter().map(|told| text(&told["name"])).collect();
        assert_eq!(told, of_it.clone().map(|fixup| fixup.name).collect::<Vec<_>>(), "{revision}");
        let mut fixed = schema(revision);
        for fixup in of_it.filter(|fixup| !ANNOTATIONS.contains(&fixup.name)) {
            let (schema, places) = rewritten(&fixed, &report, fixup);
            assert_eq!(places, 1, "{revision}: {}", fixup.name);
            fixed = schema;
        }
        assert!(fixed == fixed_up(revision, &schema(revision)), "{revision}: the two tables repair different places");
    }
}

/// What is accepted is the same with and without them.
#[test]
fn annotations_accept_nothing_more_and_nothing_less() {
    for name in ANNOTATIONS {
        let fixup = FIXUPS.iter().find(|fixup| fixup.name == *name);
        let fixup = fixup.unwrap_or_else(|| panic!("{name} is no fixup of the generator's"));
        for revision in fixup.revisions {
            let schema = fixed_up(revision, &schema(revision));
            let (annotated, places) = rewritten(&schema, &inspected(revision), fixup);
            let judges = [Judge::by_the_letter(&schema), Judge::by_the_letter(&annotated)];
            let instances = Instances::new(&schema, 13);
            let (mut accepted, mut refused) = (0, 0);
            for definition in instances.definitions() {
                for document in documents(&instances, definition) {
                    let [before, after] = [0, 1].map(|i: usize| judges[i].accepts(definition, &document));
                    assert_eq!(before, after, "{revision} {name}: {definition}: {document}");
                    *(if before { &mut accepted } else { &mut refused }) += 1;
                }
            }
            println!("{revision} {name}: {places} places, {accepted} documents accepted, {refused} refused by both");
            assert!(places > 0 && accepted > 1000 && refused > 1000);
        }
    }
}

/// Good and bad documents of a definition, and some with a result type of every JSON type.
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
