//! The judge: a published JSON Schema validator, with the schemas as this project understands them.
//!
//! Before a schema is compiled, the judge rewrites its JSON in four ways. References replace inline schemas that repeat
//! a definition. The fixups are applied. The decisions of overlapping unions become `if`/`then`/`else`. Each `integer`
//! gets its documented bounds. The generator is not involved.

use crate::decisions::{ANYTHING, Decision, FIXUPS, Guard, Member, REVISIONS, Repeated, decisions, repeated};
use jsonschema::{Draft, Validator};
use serde_json::{Map, Value, json};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

/// The maximum number of nested containers in a document.
pub const DEPTH_LIMIT: usize = 100;

/// Decides whether a definition accepts a document.
pub struct Judge {
    schema: Value,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Judge {
    /// Creates the judge of a released revision, with its fixups, decisions and bounds.
    ///
    /// # Panics
    ///
    /// Panics if the tables were written for another schema.
    #[must_use]
    pub fn for_revision(revision: &str, schema: &Value) -> Judge {
        Judge::with_decisions(&fixed_up(revision, schema), decisions(revision))
    }

    /// Creates a judge of a repaired schema with only these decisions. Other unions remain an `anyOf`.
    ///
    /// # Panics
    ///
    /// Panics if a decision does not match the schema.
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

    /// Creates a judge of a repaired schema, in which rules decide the unions at these JSON pointers.
    ///
    /// # Panics
    ///
    /// Panics if there is no union at one of the pointers.
    #[must_use]
    pub fn decided(schema: &Value, mut unions: Vec<(String, Vec<Rule>)>) -> Judge {
        let mut schema = schema.clone();
        // Rewrites nested unions first, because rewriting a union moves its members.
        unions.sort_by_key(|(pointer, _)| std::cmp::Reverse(pointer.matches('/').count()));
        // Adds the bounds before the rules, because the conditions of the rules have none.
        bound_integers(&mut schema);
        for (pointer, rules) in &unions {
            decide(&mut schema, pointer, rules);
        }
        Judge::by_the_letter(&schema)
    }

    /// Creates a judge of a schema as it is written.
    #[must_use]
    pub fn by_the_letter(schema: &Value) -> Judge {
        Judge { schema: schema.clone(), validators: Mutex::default() }
    }

    /// Returns whether the definition accepts the document. Does not check [`within_limits`].
    #[must_use]
    pub fn accepts(&self, definition: &str, document: &Value) -> bool {
        self.accepts_at(&self.pointer(definition), document)
    }

    /// Returns whether the schema at a JSON pointer accepts the document.
    #[must_use]
    pub fn accepts_at(&self, pointer: &str, document: &Value) -> bool {
        self.validator(pointer).is_valid(document)
    }

    /// Returns the validator's errors for the document, one per line. The text is empty if the document is valid.
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
        let mut validators = self.validators.lock().expect("compiling a validator did not panic");
        if let Some(validator) = validators.get(pointer) {
            return Arc::clone(validator);
        }
        let validator = Arc::new(self.compile(pointer));
        validators.insert(pointer.to_owned(), Arc::clone(&validator));
        validator
    }

    /// Compiles the validator of a subschema. The `$ref` is in an `allOf`, because draft-07 ignores the keywords beside
    /// a `$ref`.
    fn compile(&self, pointer: &str) -> Validator {
        assert!(self.schema.pointer(pointer).is_some(), "the schema has nothing at {pointer}");
        let keyword = definitions_keyword(&self.schema);
        // Escapes characters that are not allowed in a URI.
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

/// Returns whether a document is within the documented limit on depth, which schemas cannot express.
#[must_use]
pub fn within_limits(document: &Value) -> bool {
    depth(document) <= DEPTH_LIMIT
}

/// Returns the depth of nested containers.
#[must_use]
pub fn depth(document: &Value) -> usize {
    match document {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// Returns the schema with the revision's fixups applied.
///
/// # Panics
///
/// Panics if the schema does not have the expected value at the place of a fixup.
#[must_use]
pub fn fixed_up(revision: &str, schema: &Value) -> Value {
    let mut schema = with_references(revision, schema);
    let keyword = definitions_keyword(&schema);
    for fixup in FIXUPS.iter().filter(|f| f.revisions.contains(&revision)) {
        let (parent, key) = fixup.at.rsplit_once('/').expect("the place of a fixup has a parent");
        let expected = fixup.expected.map(|text| parsed(fixup.name, text));
        let parent = schema
            .pointer_mut(&format!("/{keyword}/{parent}"))
            .and_then(Value::as_object_mut)
            .unwrap_or_else(|| panic!("{revision}: {}: the schema has no {}", fixup.name, fixup.at));
        let found = parent.insert(key.to_owned(), parsed(fixup.name, fixup.becomes));
        let is_expected = found == expected || fixup.expected == Some(ANYTHING) && found.is_some();
        assert!(is_expected, "{revision}: {}: unexpected value at {}: {found:?}", fixup.name, fixup.at);
    }
    schema
}

/// Replaces the inline schemas of an extension that repeat a definition with references. Adds the definitions of the
/// newest revision that they refer to.
///
/// # Panics
///
/// Panics if no inline schema repeats a definition that [`repeated`] lists.
#[must_use]
pub fn with_references(extension: &str, schema: &Value) -> Value {
    let (mut schema, keyword) = (schema.clone(), definitions_keyword(schema));
    let newest = *REVISIONS.last().expect("there is a revision");
    for (definition, repeated) in repeated(extension) {
        let reference = json!({ "$ref": format!("#/{keyword}/{definition}") });
        let places: Vec<String> = match repeated {
            Repeated::At(at) => vec![format!("/{keyword}/{at}")],
            _ => subschemas(&schema).into_iter().filter(|at| repeats(schema.pointer(at), *repeated)).collect(),
        };
        let root = format!("/{keyword}/{definition}");
        for place in places.iter().filter(|place| **place != root) {
            // An outer place may have replaced an inner one.
            if let Some(place) = schema.pointer_mut(place) {
                *place = reference.clone();
            }
        }
        assert!(!places.is_empty(), "{extension}: nothing repeats {definition}");
        add(&mut schema, definition, &fixed_up(newest, &crate::schema(newest)));
    }
    if !repeated(extension).is_empty() {
        let definitions = schema[keyword].as_object_mut().expect("the definitions");
        // Removes definitions that were inside another definition and that only they themselves still refer to.
        let locals: Vec<String> = definitions.keys().filter(|name| name.ends_with("__schema0")).cloned().collect();
        for local in locals {
            let reference = format!("\"#/{keyword}/{local}\"");
            if !definitions
                .iter()
                .any(|(name, definition)| *name != local && definition.to_string().contains(&reference))
            {
                definitions.remove(&local);
            }
        }
    }
    schema
}

fn repeats(schema: Option<&Value>, repeated: Repeated) -> bool {
    let Some(schema) = schema else { return false };
    let found: BTreeSet<&str> = match (repeated, &schema["properties"], &schema["anyOf"]) {
        (Repeated::Object(_), Value::Object(members), _) => members.keys().map(String::as_str).collect(),
        (Repeated::Union(_), _, Value::Array(variants)) => {
            let names = variants.iter().map(|variant| variant["$ref"].as_str()?.rsplit('/').next());
            names.collect::<Option<_>>().unwrap_or_default()
        }
        _ => return false,
    };
    let (Repeated::Object(wanted) | Repeated::Union(wanted)) = repeated else { return false };
    let is_constant = |name: &str, text: &str| schema["properties"][name]["const"] == text;
    let names = wanted.iter().map(|name| match name.split_once('=') {
        Some((name, text)) => is_constant(name, text).then_some(name),
        None => Some(*name),
    });
    names.collect::<Option<BTreeSet<&str>>>() == Some(found)
}

/// Adds a definition of another schema and those that it refers to, unless the schema already has them.
fn add(schema: &mut Value, definition: &str, from: &Value) {
    let keyword = definitions_keyword(schema);
    let Some(added) = from[definitions_keyword(from)].get(definition) else { return };
    if schema[keyword].get(definition).is_some() {
        return;
    }
    schema[keyword][definition] = added.clone();
    let holder = json!({ keyword: { definition: added } });
    for at in subschemas(&holder) {
        let target = holder.pointer(&at).and_then(|schema| schema["$ref"].as_str()?.rsplit('/').next());
        target.into_iter().for_each(|target| add(schema, target, from));
    }
}

fn parsed(name: &str, text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A rule of a decision: if all conditions hold, the document belongs to the member with this index.
pub type Rule = (BTreeSet<Condition>, usize);

/// A condition on a document.
///
/// The steps of a path are keys of objects or indices of arrays. An empty path is the document itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// The path has a value, which may be `null`.
    Present(Vec<String>),
    /// The path has no value.
    Absent(Vec<String>),
    /// The value at the path is one of these, as JSON text.
    OneOf(Vec<String>, BTreeSet<String>),
    /// The document has one of these JSON types. Numbers are either `integer` or `fraction`.
    Type(BTreeSet<String>),
}

/// Converts a decision from the hand-written table to rules.
///
/// # Panics
///
/// Panics if the decision names a member that the union does not have.
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

/// Returns the members of the union at a JSON pointer.
///
/// # Panics
///
/// Panics if there is no union at the pointer.
#[must_use]
pub fn members<'s>(schema: &'s Value, pointer: &str) -> &'s [Value] {
    let union = schema.pointer(pointer).unwrap_or_else(|| panic!("the schema has nothing at {pointer}"));
    union["anyOf"].as_array().unwrap_or_else(|| panic!("{pointer} has no `anyOf`"))
}

fn decide(schema: &mut Value, pointer: &str, rules: &[Rule]) {
    let dialect = draft(schema);
    let members = members(schema, pointer).to_vec();
    // Null is not a variant of the union, but a document may also be null.
    let has_null =
        |types: &Value| types == "null" || types.as_array().is_some_and(|all| all.iter().any(|name| name == "null"));
    let mut chain = match members.iter().any(|member| has_null(&member["type"])) {
        true => json!({ "type": "null" }),
        false => json!(false),
    };
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
    // Adds the chain to `allOf`, so that it does not overwrite other keywords of the union.
    let mut all = match union.remove("allOf") {
        Some(Value::Array(all)) => all,
        _ => Vec::new(),
    };
    all.push(chain);
    union.insert("allOf".to_owned(), Value::Array(all));
}

/// Returns the index of a member in the `anyOf`.
///
/// # Panics
///
/// Panics if the `anyOf` does not contain the member.
#[must_use]
pub fn position(members: &[Value], member: Member, at: &str) -> usize {
    let found = match member {
        Member::Nth(index) => members.get(index).map(|_| index),
        Member::Ref(name) => members.iter().position(|schema| {
            let reference = schema.get("$ref").and_then(Value::as_str);
            reference.and_then(|r| r.rsplit('/').next()) == Some(name)
        }),
    };
    found.unwrap_or_else(|| panic!("{at} has no member {member:?}"))
}

/// Returns a schema that accepts a document if the condition holds.
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

/// Adds the bounds of the Rust type that an `integer` is decoded as.
///
/// Schemas inside assertions such as `not` have no bounds, because they are checked on the JSON, without Rust types.
fn bound_integers(schema: &mut Value) {
    const CHECKS: &[&str] =
        &["/not", "/contains", "/propertyNames", "/dependentSchemas/", "/unevaluatedItems", "/unevaluatedProperties"];
    for pointer in subschemas(schema) {
        if CHECKS.iter().any(|keyword| pointer.contains(keyword)) {
            continue;
        }
        let place = schema.pointer_mut(&pointer);
        let Some(place) = place.and_then(Value::as_object_mut) else {
            continue;
        };
        if !is_integer(place) {
            continue;
        }
        // Each of these keywords implies an integer of at least 0.
        let from = |keyword: &str| place.get(keyword).and_then(Value::as_f64);
        let unsigned = from("minimum").is_some_and(|m| m > -1.0) || from("exclusiveMinimum").is_some_and(|m| m >= -1.0);
        let (least, most) = match unsigned {
            true => (json!(0), json!(u64::MAX)),
            false => (json!(i64::MIN), json!(i64::MAX)),
        };
        // Adds the limits to `allOf`, so that they do not overwrite the bounds in the schema.
        let limits = json!({ "minimum": least, "maximum": most });
        match place.entry("allOf").or_insert_with(|| json!([])) {
            Value::Array(all) => all.push(limits),
            other => panic!("{pointer}: allOf is {other}"),
        }
    }
}

/// Returns whether the schema accepts integers, but no other numbers.
#[must_use]
pub fn is_integer(schema: &Map<String, Value>) -> bool {
    let named = |name: &str| match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    };
    named("integer") && !named("number")
}

/// Returns `$defs`, or `definitions` for the older dialect.
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

/// Returns the pointers of all schemas in the document, each before those inside it. A property with the name of a
/// keyword is not a keyword.
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
            (
                "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions",
                Value::Object(named),
            ) => {
                for (name, schema) in named {
                    collect(&format!("{at}/{}", escaped(name)), schema, found);
                }
            }
            ("anyOf" | "allOf" | "oneOf" | "items" | "prefixItems", Value::Array(listed)) => {
                for (index, schema) in listed.iter().enumerate() {
                    collect(&format!("{at}/{index}"), schema, found);
                }
            }
            (
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties"
                | "not"
                | "if"
                | "then"
                | "else",
                schema,
            ) => collect(&at, schema, found),
            _ => {}
        }
    }
}

/// Escapes a member name for a JSON pointer.
#[must_use]
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
