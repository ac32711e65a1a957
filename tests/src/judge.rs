//! The judge: a published JSON Schema validator, asked about the schema as the project reads it.
//!
//! Three rewrites, all of them JSON to JSON, stand between the official text and the validator:
//! the fixups, the decisions of overlapping unions as `if`/`then`/`else`, and the documented bounds
//! of `integer`. Nothing of the generator takes part.

use crate::decisions::{Decision, FIXUPS, Guard, Member, decisions};
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// How many containers may stand inside one another in a document.
pub const DEPTH_LIMIT: usize = 100;

/// Says of a document whether a definition accepts it.
pub struct Judge {
    schema: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Judge {
    /// The judge of a released revision: repaired, decided, bounded.
    ///
    /// # Panics
    ///
    /// If the schema is not the one that the tables were written for.
    #[must_use]
    pub fn for_revision(revision: &str, schema: &Value) -> Judge {
        Judge::with_decisions(&fixed_up(revision, schema), decisions(revision))
    }

    /// A judge of a repaired schema under these decisions only; every other union stays an `anyOf`.
    ///
    /// # Panics
    ///
    /// If a decision does not fit the schema.
    #[must_use]
    pub fn with_decisions(schema: &Value, decisions: &[Decision]) -> Judge {
        let keyword = definitions_keyword(schema);
        let decided = decisions.iter().map(|decision| {
            let pointer = format!("/{keyword}/{}", decision.at);
            let rules = by_hand(decision, members(schema, &pointer));
            (pointer, rules)
        });
        Judge::decided(schema, decided.collect())
    }

    /// A judge of a repaired schema of which the unions at these JSON pointers are decided by rules.
    ///
    /// # Panics
    ///
    /// If there is no union at one of them.
    #[must_use]
    pub fn decided(schema: &Value, mut unions: Vec<(String, Vec<Rule>)>) -> Judge {
        let mut schema = schema.clone();
        // A union inside another's member is rewritten before that member is moved.
        unions.sort_by_key(|(pointer, _)| std::cmp::Reverse(pointer.matches('/').count()));
        for (pointer, rules) in &unions {
            decide(&mut schema, pointer, rules);
        }
        bound_integers(&mut schema);
        Judge::by_the_letter(&schema)
    }

    /// A judge of a schema just as it is.
    #[must_use]
    pub fn by_the_letter(schema: &Value) -> Judge {
        Judge { schema: schema.clone(), validators: Mutex::default() }
    }

    /// Whether the definition accepts the document, [`within_limits`] aside.
    #[must_use]
    pub fn accepts(&self, definition: &str, document: &Value) -> bool {
        self.accepts_at(&self.pointer(definition), document)
    }

    /// Whether the schema at a JSON pointer accepts the document.
    #[must_use]
    pub fn accepts_at(&self, pointer: &str, document: &Value) -> bool {
        self.validator(pointer).is_valid(document)
    }

    /// What the validator has against the document, one line each; empty if nothing.
    #[must_use]
    pub fn objections(&self, definition: &str, document: &Value) -> String {
        let validator = self.validator(&self.pointer(definition));
        let lines: Vec<String> = validator
            .iter_errors(document)
            .map(|error| {
                let text = crate::shortened(&error.to_string(), 400);
                format!("{}: {text}", error.instance_path())
            })
            .collect();
        lines.join("\n")
    }

    fn pointer(&self, definition: &str) -> String {
        let keyword = definitions_keyword(&self.schema);
        format!("/{keyword}/{}", escaped(definition))
    }

    fn validator(&self, pointer: &str) -> Arc<Validator> {
        let mut validators = self.validators.lock().expect("no validator panics");
        if let Some(validator) = validators.get(pointer) {
            return Arc::clone(validator);
        }
        let validator = Arc::new(self.compile(pointer));
        validators.insert(pointer.to_owned(), Arc::clone(&validator));
        validator
    }

    /// `allOf` around the `$ref`, because draft-07 ignores whatever stands beside a `$ref`.
    fn compile(&self, pointer: &str) -> Validator {
        assert!(self.schema.pointer(pointer).is_some(), "the schema has nothing at {pointer}");
        let keyword = definitions_keyword(&self.schema);
        // What a URI cannot hold as it is.
        let fragment: String = pointer
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'~' | b'$' | b'-' | b'_' | b'.' => {
                    char::from(byte).to_string()
                }
                byte => format!("%{byte:02X}"),
            })
            .collect();
        let wrapper = json!({
            "allOf": [{ "$ref": format!("#{fragment}") }],
            keyword: self.schema[keyword],
        });
        jsonschema::options()
            .with_draft(draft(&self.schema))
            .should_validate_formats(false)
            .build(&wrapper)
            .unwrap_or_else(|error| panic!("{pointer} does not compile: {error}"))
    }
}

/// Whether a document keeps to the documented limits that no schema can express: its depth.
#[must_use]
pub fn within_limits(document: &Value) -> bool {
    depth(document) <= DEPTH_LIMIT
}

/// How many containers stand inside one another.
#[must_use]
pub fn depth(document: &Value) -> usize {
    match document {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The schema after the revision's fixups.
///
/// # Panics
///
/// If a fixup does not find what it expects.
#[must_use]
pub fn fixed_up(revision: &str, schema: &Value) -> Value {
    let mut schema = schema.clone();
    let keyword = definitions_keyword(&schema);
    for fixup in FIXUPS.iter().filter(|f| f.revisions.contains(&revision)) {
        let (parent, key) = fixup.at.rsplit_once('/').expect("a place has a parent");
        let expected = fixup.expected.map(|text| parsed(fixup.name, text));
        let parent = schema
            .pointer_mut(&format!("/{keyword}/{parent}"))
            .and_then(Value::as_object_mut)
            .unwrap_or_else(|| panic!("{revision}: {} has no place: {}", fixup.name, fixup.at));
        let found = parent.insert(key.to_owned(), parsed(fixup.name, fixup.becomes));
        assert_eq!(found, expected, "{revision}: {} does not find what it expects at {}", fixup.name, fixup.at);
    }
    schema
}

fn parsed(name: &str, text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// One step of a decision: if all conditions hold, the member of this index is responsible.
pub type Rule = (BTreeSet<Condition>, usize);

/// Something that a rule asks of a document.
///
/// A path's steps are keys of objects, and in arrays numbers; no steps: the document itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// There is a value at the path, be it `null`.
    Present(Vec<String>),
    /// There is no value at the path.
    Absent(Vec<String>),
    /// The value at the path is one of these, as JSON text.
    OneOf(Vec<String>, BTreeSet<String>),
    /// The document has one of these JSON types, of which `integer` and `fraction` are the numbers.
    Type(BTreeSet<String>),
}

/// The rules of a decision from the table.
///
/// # Panics
///
/// If it names a member that the union does not have.
#[must_use]
pub fn by_hand(decision: &Decision, members: &[Value]) -> Vec<Rule> {
    let path = |dotted: &str| dotted.split('.').map(str::to_owned).collect();
    let condition = |guard: &Guard| match *guard {
        Guard::Present(at) => Condition::Present(path(at)),
        Guard::Absent(at) => Condition::Absent(path(at)),
        Guard::OneOf(at, values) => Condition::OneOf(path(at), values.iter().map(|v| json!(v).to_string()).collect()),
        Guard::Type(name) => Condition::Type([name.to_owned()].into()),
    };
    let rules = decision.rules.iter();
    rules.map(|rule| (rule.when.iter().map(condition).collect(), position(members, rule.member, decision.at))).collect()
}

/// The members of the union at a JSON pointer.
///
/// # Panics
///
/// If there is none.
#[must_use]
pub fn members<'s>(schema: &'s Value, pointer: &str) -> &'s [Value] {
    let union = schema.pointer(pointer).unwrap_or_else(|| panic!("{pointer}: no such schema"));
    union["anyOf"].as_array().unwrap_or_else(|| panic!("{pointer}: no anyOf"))
}

/// Turns one `anyOf` into a chain of `if`/`then`/`else`.
fn decide(schema: &mut Value, pointer: &str, rules: &[Rule]) {
    let dialect = draft(schema);
    let members = members(schema, pointer).to_vec();
    let mut chain = json!(false);
    for (when, member) in rules.iter().rev() {
        let member = members[*member].clone();
        let guards: Vec<Value> = when.iter().map(|it| condition(it, dialect)).collect();
        chain = match guards.is_empty() {
            true => member,
            false => json!({ "if": { "allOf": guards }, "then": member, "else": chain }),
        };
    }
    let Some(Value::Object(union)) = schema.pointer_mut(pointer) else { return };
    union.remove("anyOf");
    // One more `allOf`, so that no keyword of the union's own is overwritten.
    let mut all = match union.remove("allOf") {
        Some(Value::Array(all)) => all,
        _ => Vec::new(),
    };
    all.push(chain);
    union.insert("allOf".to_owned(), Value::Array(all));
}

/// Where the member stands in the `anyOf`.
///
/// # Panics
///
/// If it is not there.
#[must_use]
pub fn position(members: &[Value], member: Member, at: &str) -> usize {
    let found = match member {
        Member::Nth(index) => members.get(index).map(|_| index),
        Member::Ref(name) => members.iter().position(|schema| {
            let reference = schema.get("$ref").and_then(Value::as_str);
            reference.and_then(|r| r.rsplit('/').next()) == Some(name)
        }),
    };
    found.unwrap_or_else(|| panic!("{at}: no member {member:?}"))
}

/// The schema that accepts exactly the documents of which the condition holds.
fn condition(condition: &Condition, dialect: Draft) -> Value {
    match condition {
        Condition::Present(path) => at_path(path, json!(true), dialect),
        Condition::Absent(path) => json!({ "not": at_path(path, json!(true), dialect) }),
        Condition::OneOf(path, values) => {
            let values: Vec<Value> = values.iter().map(|text| parsed("a value", text)).collect();
            at_path(path, json!({ "enum": values }), dialect)
        }
        Condition::Type(names) => {
            let any_of = names.iter().map(|name| match name.as_str() {
                "fraction" => json!({ "type": "number", "not": { "type": "integer" } }),
                name => json!({ "type": name }),
            });
            json!({ "anyOf": any_of.collect::<Vec<_>>() })
        }
    }
}

fn at_path(path: &[String], inner: Value, dialect: Draft) -> Value {
    path.iter().rev().fold(inner, |inner, step| {
        let member = json!({ "type": "object", "required": [step], "properties": { step: inner.clone() } });
        let Ok(index) = step.parse::<usize>() else {
            return member;
        };
        let keyword = match dialect {
            Draft::Draft7 => "items",
            _ => "prefixItems",
        };
        let mut items = vec![json!(true); index];
        items.push(inner);
        json!({ "anyOf": [member, { "type": "array", "minItems": index + 1, keyword: items }] })
    })
}

/// Adds the bounds of the Rust integer that an `integer` is read into.
fn bound_integers(schema: &mut Value) {
    for pointer in subschemas(schema) {
        let place = schema.pointer_mut(&pointer);
        let Some(place) = place.and_then(Value::as_object_mut) else {
            continue;
        };
        if !is_integer(place) {
            continue;
        }
        // Both keywords leave an integer of at least 0.
        let from = |keyword: &str| place.get(keyword).and_then(Value::as_f64);
        let unsigned = from("minimum").is_some_and(|m| m > -1.0) || from("exclusiveMinimum").is_some_and(|m| m >= -1.0);
        let (least, most) = match unsigned {
            true => (json!(0), json!(u64::MAX)),
            false => (json!(i64::MIN), json!(i64::MAX)),
        };
        // One more conjunct, so that no bound of the schema's own is overwritten.
        let limits = json!({ "minimum": least, "maximum": most });
        match place.entry("allOf").or_insert_with(|| json!([])) {
            Value::Array(all) => all.push(limits),
            other => panic!("{pointer}: allOf is {other}"),
        }
    }
}

/// Whether the only numbers that the schema accepts are integers.
#[must_use]
pub fn is_integer(schema: &Map<String, Value>) -> bool {
    let named = |name: &str| match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    };
    named("integer") && !named("number")
}

/// `$defs`, or `definitions` in the older dialect.
#[must_use]
pub fn definitions_keyword(schema: &Value) -> &'static str {
    match schema.get("$defs") {
        Some(_) => "$defs",
        None => "definitions",
    }
}

fn draft(schema: &Value) -> Draft {
    match definitions_keyword(schema) {
        "$defs" => Draft::Draft202012,
        _ => Draft::Draft7,
    }
}

/// The pointer of every schema in the document, each before those inside it. Knows a keyword from
/// a property of the same name.
#[must_use]
pub fn subschemas(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect("", schema, &mut found);
    found
}

fn collect(at: &str, schema: &Value, found: &mut Vec<String>) {
    found.push(at.to_owned());
    let Some(keywords) = schema.as_object() else {
        return;
    };
    for (keyword, value) in keywords {
        let at = format!("{at}/{keyword}");
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                for (name, schema) in named {
                    collect(&format!("{at}/{}", escaped(name)), schema, found);
                }
            }
            ("anyOf" | "allOf" | "oneOf" | "items" | "prefixItems", Value::Array(listed)) => {
                for (index, schema) in listed.iter().enumerate() {
                    collect(&format!("{at}/{index}"), schema, found);
                }
            }
            ("items" | "additionalProperties" | "not" | "if" | "then" | "else", schema) => {
                collect(&at, schema, found);
            }
            _ => {}
        }
    }
}

/// A member name as a JSON pointer's step.
#[must_use]
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
