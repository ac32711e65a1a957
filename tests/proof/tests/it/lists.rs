//! Makes changes with known verdicts in lists of tools, resources and prompts, and compares the verdicts of
//! `mcpgen_diff::lists::diff` with them and with samples.

use std::collections::{BTreeMap, BTreeSet};

use mcpgen_diff::Verdict::{self, Breaking, Compatible, Dangerous, Unknown};
use mcpgen_diff::lists;
use mcpgen_diff::{Axis, Diff};
use mcpgen_model::snapshot::Snapshot;
use mcpgen_proof::instances::{Instances, member_names};
use mcpgen_proof::settings::setting;
use mcpgen_schema::json::pointer::escape;
use serde_json::{Map, Value, json};

/// Lists like those of well-known servers.
const LISTS: [(&str, &str); 5] = [
    ("filesystem", include_str!("../../tool-lists/filesystem.json")),
    ("git", include_str!("../../tool-lists/git.json")),
    ("everything", include_str!("../../tool-lists/everything.json")),
    ("memory", include_str!("../../tool-lists/memory.json")),
    ("web", include_str!("../../tool-lists/web.json")),
];

/// A change with its verdicts for a remembered list and for a stored workflow.
struct Planted {
    what: String,
    expected: [Verdict; 2],
    new: Value,
    schema: Option<String>,
}

const SAFE: [Verdict; 2] = [Compatible, Compatible];
const READ_BY_MODELS: [Verdict; 2] = [Dangerous, Compatible];
const RISKY: [Verdict; 2] = [Dangerous, Dangerous];
const BREAKS: [Verdict; 2] = [Breaking, Breaking];

struct Planter<'l> {
    name: &'l str,
    old: &'l Value,
    planted: Vec<Planted>,
}

impl Planter<'_> {
    /// Changes the value at a pointer. An absent value is null.
    fn plant(&mut self, what: &str, expected: [Verdict; 2], pointer: &str, change: impl FnOnce(&mut Value)) {
        let mut new = self.old.clone();
        let value = new.pointer_mut(pointer).unwrap_or_else(|| panic!("{}: nothing at {pointer}", self.name));
        change(value);
        assert_ne!(new, *self.old, "{}: {what} at {pointer} changes nothing", self.name);
        let schema = ["/inputSchema", "/outputSchema"].iter().find_map(|member| {
            let end = pointer.find(member)? + member.len();
            Some(pointer[..end].to_owned())
        });
        self.planted.push(Planted { what: format!("{}: {what} at {pointer}", self.name), expected, new, schema });
    }

    fn set(&mut self, what: &str, expected: [Verdict; 2], pointer: &str, member: &str, value: Value) {
        self.plant(what, expected, pointer, |object| object[member] = value);
    }

    fn unset(&mut self, what: &str, expected: [Verdict; 2], pointer: &str, member: &str) {
        self.plant(what, expected, pointer, |object| drop(members(object).remove(member)));
    }

    fn tool(&mut self, pointer: &str) {
        let tool = self.old.pointer(pointer).expect("a tool").clone();
        self.set("other description", READ_BY_MODELS, pointer, "description", json!("Does more than before."));
        self.unset("no description", READ_BY_MODELS, pointer, "description");
        self.set("other title", SAFE, pointer, "title", json!("Another title"));
        self.set("icons", SAFE, pointer, "icons", json!([{"src": "https://example.com/a.png"}]));
        self.set("other name", BREAKS, pointer, "name", json!("renamed"));
        self.hints(pointer, &tool);
        let support = tool.pointer("/execution/taskSupport").and_then(Value::as_str).unwrap_or("forbidden");
        for (new, expected) in [("forbidden", BREAKS), ("optional", SAFE), ("required", BREAKS)] {
            if new != support {
                self.set("other task support", expected, pointer, "execution", json!({"taskSupport": new}));
            }
        }
        match tool.get("outputSchema") {
            None => self.set("an output schema", SAFE, pointer, "outputSchema", json!({"type": "object"})),
            Some(_) => self.unset("no output schema", BREAKS, pointer, "outputSchema"),
        }
        self.schema(&format!("{pointer}/inputSchema"), true, 0);
        if tool.get("outputSchema").is_some() {
            self.schema(&format!("{pointer}/outputSchema"), false, 0);
        }
    }

    fn hints(&mut self, pointer: &str, tool: &Value) {
        let hints = tool.get("annotations").cloned().unwrap_or(json!({}));
        let hint = |name: &str, default: bool| hints[name].as_bool().unwrap_or(default);
        let with = |changes: &[(&str, bool)]| {
            let mut hints = hints.clone();
            changes.iter().for_each(|(name, value)| hints[*name] = json!(value));
            hints
        };
        if hint("readOnlyHint", false) {
            let destructive = with(&[("readOnlyHint", false), ("destructiveHint", true)]);
            self.set("destructive", RISKY, pointer, "annotations", destructive);
            let writes = with(&[("readOnlyHint", false), ("destructiveHint", false), ("idempotentHint", true)]);
            self.set("writes", RISKY, pointer, "annotations", writes);
        } else {
            self.set("read-only", SAFE, pointer, "annotations", with(&[("readOnlyHint", true)]));
            if !hint("destructiveHint", true) {
                self.set("destructive", RISKY, pointer, "annotations", with(&[("destructiveHint", true)]));
            }
            let (expected, new) = if hint("idempotentHint", false) { (RISKY, false) } else { (SAFE, true) };
            self.set("idempotence", expected, pointer, "annotations", with(&[("idempotentHint", new)]));
        }
        let (expected, new) = if hint("openWorldHint", true) { (SAFE, false) } else { (RISKY, true) };
        self.set("open world", expected, pointer, "annotations", with(&[("openWorldHint", new)]));
    }

    /// Changes a schema and everything in it.
    fn schema(&mut self, pointer: &str, is_input: bool, depth: usize) {
        let schema = self.old.pointer(pointer).expect("a schema").clone();
        // A narrower schema rejects existing arguments, and a wider one allows results that clients do not expect.
        let (narrower, wider) = if is_input { (BREAKS, SAFE) } else { (SAFE, BREAKS) };
        if depth > 0 {
            self.set("other text", READ_BY_MODELS, pointer, "description", json!("Another meaning."));
        }
        match schema["type"].as_str() {
            Some("object") => self.object(pointer, &schema, is_input, depth),
            Some("array") => {
                let least = schema["minItems"].as_u64().unwrap_or(0);
                self.set("more items", narrower, pointer, "minItems", json!(least + 1));
                match schema.get("maxItems") {
                    Some(_) => self.unset("any number of items", wider, pointer, "maxItems"),
                    None => self.set("few items", narrower, pointer, "maxItems", json!(2)),
                }
                self.schema(&format!("{pointer}/items"), is_input, depth + 1);
            }
            Some("string") if schema.get("enum").is_some() => self.values(pointer, &schema, is_input),
            Some("string") => self.string(pointer, &schema, (narrower, wider)),
            Some(name @ ("integer" | "number")) => self.number(pointer, &schema, name, (narrower, wider)),
            Some("boolean") => {
                self.set("null", wider, pointer, "type", json!(["boolean", "null"]));
                self.set("only true", narrower, pointer, "const", json!(true));
            }
            _ if schema.get("enum").is_some() => self.values(pointer, &schema, is_input),
            _ => {}
        }
        if let Some(default) = schema.get("default") {
            let other = match default {
                Value::Null => json!("other"),
                Value::Bool(value) => json!(!value),
                Value::Number(number) => json!(number.as_u64().unwrap_or(0) + 1),
                Value::String(text) => json!(format!("{text}2")),
                _ => json!(["other"]),
            };
            self.set("other default", RISKY, pointer, "default", other);
            self.unset("no default", RISKY, pointer, "default");
        }
    }

    fn object(&mut self, pointer: &str, schema: &Value, is_input: bool, depth: usize) {
        let (narrower, wider) = if is_input { (BREAKS, SAFE) } else { (SAFE, BREAKS) };
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let is_closed = schema["additionalProperties"] == json!(false);
        let with = |names: &[&str], name: &str| json!(names.iter().chain(&[name]).collect::<Vec<_>>());
        let add = |required: Option<Value>| {
            move |object: &mut Value| {
                object["properties"]["added"] = json!({"type": "string"});
                if let Some(required) = required {
                    object["required"] = required;
                }
            }
        };
        // If the old schema of a result is closed, clients that know only that schema reject the new member.
        let added = if is_input || !is_closed { SAFE } else { BREAKS };
        self.plant("new member", added, pointer, add(None));
        let expected = if is_input { BREAKS } else { added };
        self.plant("new required member", expected, pointer, add(Some(with(&required, "added"))));
        if !is_closed {
            self.set("closed", narrower, pointer, "additionalProperties", json!(false));
        }
        for name in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()) {
            let is_required = required.contains(&name);
            let others: Vec<&str> = required.iter().copied().filter(|other| *other != name).collect();
            match is_required {
                true => self.set("optional member", wider, pointer, "required", json!(others)),
                false => self.set("required member", narrower, pointer, "required", with(&required, name)),
            }
            let removed = match (is_input, is_required) {
                (true, _) if is_closed => BREAKS,
                (true, _) => RISKY,
                (false, true) => BREAKS,
                (false, false) => SAFE,
            };
            self.plant("removed member", removed, pointer, |object| {
                members(&mut object["properties"]).remove(name);
                if is_required {
                    object["required"] = json!(others);
                }
            });
            self.schema(&format!("{pointer}/properties/{}", escape(name)), is_input, depth + 1);
        }
    }

    fn values(&mut self, pointer: &str, schema: &Value, is_input: bool) {
        let (narrower, wider) = if is_input { (BREAKS, SAFE) } else { (SAFE, BREAKS) };
        let values = schema["enum"].as_array().expect("values");
        self.set("fewer values", narrower, pointer, "enum", json!(values[1..]));
        self.set("more values", wider, pointer, "enum", json!([&values[..], &[json!("another")]].concat()));
        self.unset("any value", wider, pointer, "enum");
    }

    fn string(&mut self, pointer: &str, schema: &Value, (narrower, wider): ([Verdict; 2], [Verdict; 2])) {
        self.set("null", wider, pointer, "type", json!(["string", "null"]));
        self.set("another type", BREAKS, pointer, "type", json!("boolean"));
        if schema.get("pattern").is_none() {
            self.set("a pattern", narrower, pointer, "pattern", json!("^[a-z]+$"));
        } else {
            self.unset("no pattern", wider, pointer, "pattern");
        }
        match schema["maxLength"].as_u64() {
            Some(most) => self.set("shorter", narrower, pointer, "maxLength", json!(most - 1)),
            None => self.set("a maximum length", narrower, pointer, "maxLength", json!(50)),
        }
        if schema.get("minLength").is_some() {
            self.unset("may be empty", wider, pointer, "minLength");
        }
        let other = if schema["format"] == "uri" { "email" } else { "uri" };
        self.set("another format", RISKY, pointer, "format", json!(other));
    }

    fn number(&mut self, pointer: &str, schema: &Value, name: &str, (narrower, wider): ([Verdict; 2], [Verdict; 2])) {
        match name {
            "integer" => self.set("fractions", wider, pointer, "type", json!("number")),
            _ => self.set("no fractions", narrower, pointer, "type", json!("integer")),
        }
        self.set("another type", BREAKS, pointer, "type", json!("string"));
        self.set("multiples", narrower, pointer, "multipleOf", json!(5));
        for (limit, by) in [("minimum", 1), ("maximum", -1)] {
            if let Some(value) = schema[limit].as_i64() {
                self.set("a tighter limit", narrower, pointer, limit, json!(value + by));
                self.set("a looser limit", wider, pointer, limit, json!(value - by));
                self.unset("no limit", wider, pointer, limit);
            }
        }
    }

    fn prompt(&mut self, pointer: &str) {
        let prompt = self.old.pointer(pointer).expect("a prompt").clone();
        self.set("other description", READ_BY_MODELS, pointer, "description", json!("Another prompt."));
        let arguments = prompt["arguments"].as_array().cloned().unwrap_or_default();
        let with = |argument: Value| json!([&arguments[..], &[argument]].concat());
        self.set("new argument", SAFE, pointer, "arguments", with(json!({"name": "added"})));
        let required = with(json!({"name": "added", "required": true}));
        self.set("new required argument", BREAKS, pointer, "arguments", required);
        for (at, argument) in arguments.iter().enumerate() {
            let is_required = argument["required"] == json!(true);
            let place = format!("{pointer}/arguments/{at}");
            let expected = if is_required { SAFE } else { BREAKS };
            self.set("other requirement", expected, &place, "required", json!(!is_required));
            self.set("other text", READ_BY_MODELS, &place, "description", json!("Another meaning."));
            self.plant("removed argument", RISKY, &format!("{pointer}/arguments"), |all| drop(items(all).remove(at)));
        }
    }
}

fn members(value: &mut Value) -> &mut Map<String, Value> {
    value.as_object_mut().expect("an object")
}

fn items(value: &mut Value) -> &mut Vec<Value> {
    value.as_array_mut().expect("an array")
}

fn planted(name: &str, old: &Value) -> Vec<Planted> {
    let mut planter = Planter { name, old, planted: Vec::new() };
    // A list is a member of the result, or the whole text.
    let base = if old.get("result").is_some() { "/result" } else { "" };
    let pointer_of = |kind: &str| if old.is_array() { String::new() } else { format!("{base}/{kind}") };
    let kinds = ["tools", "prompts", "resources", "resourceTemplates"];
    for kind in kinds.into_iter().filter(|kind| *kind == "tools" || !old.is_array()) {
        let list = pointer_of(kind);
        let count = old.pointer(&list).and_then(Value::as_array).map_or(0, Vec::len);
        for at in 0..count {
            let pointer = format!("{list}/{at}");
            planter.plant("removed item", BREAKS, &list, |list| drop(items(list).remove(at)));
            match kind {
                "tools" => planter.tool(&pointer),
                "prompts" => planter.prompt(&pointer),
                _ => {
                    planter.set("other type", RISKY, &pointer, "mimeType", json!("application/xml"));
                    planter.set("other text", READ_BY_MODELS, &pointer, "description", json!("Another text."));
                }
            }
        }
        if count > 1 {
            planter.plant("other order", SAFE, &list, |list| items(list).reverse());
        }
    }
    let tool = json!({"name": "added", "inputSchema": {"type": "object"}});
    planter.plant("new tool", SAFE, &pointer_of("tools"), |list| items(list).push(tool));
    planter.planted
}

fn read(value: &Value) -> Snapshot {
    Snapshot::parse("list.json", value.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn worst(diff: &Diff) -> [Verdict; 2] {
    Axis::LISTS.map(|axis| diff.findings.iter().map(|finding| finding.verdicts.on(axis)).max().unwrap_or(Compatible))
}

struct Side {
    instances: Instances,
    validator: jsonschema::Validator,
}

impl Side {
    fn new(schema: &Value, names: &BTreeSet<String>) -> Side {
        let mut definition = schema.clone();
        let mut definitions = match members(&mut definition).remove("$defs") {
            Some(Value::Object(definitions)) => definitions,
            _ => Map::new(),
        };
        members(&mut definition).remove("$schema");
        definitions.insert("Document".into(), definition);
        let instances = Instances::new(&json!({ "$defs": definitions }), 7).reserving(names.clone());
        let options = jsonschema::options().should_validate_formats(false);
        let validator = options.build(schema).unwrap_or_else(|error| panic!("{error}"));
        Side { instances, validator }
    }
}

/// Returns a document that the sender may send and the reader rejects, and the number of valid samples.
fn refutation(old: &Value, new: &Value, is_input: bool, count: u64) -> (Option<Value>, u64) {
    let names: BTreeSet<String> = member_names(old).union(&member_names(new)).cloned().collect();
    let (old, new) = (Side::new(old, &names), Side::new(new, &names));
    let (sender, reader) = if is_input { (old, new) } else { (new, old) };
    let mut valid = 0;
    for index in 0..count {
        let document = sender.instances.valid("Document", index);
        if sender.validator.is_valid(&document) {
            valid += 1;
            if !reader.validator.is_valid(&document) {
                return (Some(document), valid);
            }
        }
    }
    (None, valid)
}

/// `MCPGEN_LIST_SAMPLES` is the number of samples of all changes together. About half of them are valid.
#[test]
fn planted_changes_have_the_expected_verdicts() {
    let originals: Vec<(&str, Value)> =
        LISTS.iter().map(|(name, text)| (*name, serde_json::from_str(text).expect("JSON"))).collect();
    let all: Vec<(&Value, Planted)> = originals
        .iter()
        .flat_map(|(name, old)| planted(name, old).into_iter().map(move |planted| (old, planted)))
        .collect();
    let per_change = setting("MCPGEN_LIST_SAMPLES", 30_000, 1_000_000).div_ceil(all.len() as u64);
    let (mut wrong, mut samples, mut confirmed, mut unconfirmed) = (Vec::new(), 0, 0, 0);
    let (mut undecided, mut counts) = (0, BTreeMap::<[&str; 2], u64>::new());
    for (old, planted) in &all {
        let diff = lists::diff(&read(old), &read(&planted.new));
        let found = worst(&diff);
        *counts.entry(found.map(Verdict::as_str)).or_default() += 1;
        // Only a document of a million characters shows that such a limit has changed, and samples are not that long.
        let is_undecided = found == [Unknown; 2] && planted.expected == BREAKS;
        undecided += usize::from(is_undecided);
        if found != planted.expected && !is_undecided {
            let messages: Vec<String> =
                diff.findings.iter().map(|it| format!("  {}: {}", it.rule.id(), it.message)).collect();
            wrong.push(format!("{}: {found:?}, not {:?}\n{}", planted.what, planted.expected, messages.join("\n")));
        }
        let Some(pointer) = &planted.schema else { continue };
        let (before, after) = (old.pointer(pointer), planted.new.pointer(pointer));
        let (before, after) = (before.expect("a schema"), after.expect("a schema"));
        let (refuted, count) = refutation(before, after, pointer.ends_with("/inputSchema"), per_change);
        samples += count;
        match (found[1], refuted) {
            (Breaking, Some(_)) => confirmed += 1,
            (Breaking, None) => unconfirmed += 1,
            (Unknown, Some(_)) => {}
            (_, Some(document)) => wrong.push(format!("{} is not compatible: {document}", planted.what)),
            (_, None) => {}
        }
    }
    println!("{} changes, {samples} valid samples; verdicts: {counts:?}", all.len());
    println!("{confirmed} breaking changes of schemas confirmed by a sample, {unconfirmed} not");
    assert!(wrong.is_empty(), "{} of {} wrong:\n{}", wrong.len(), all.len(), wrong.join("\n"));
    assert!(undecided * 1_000 <= all.len(), "{undecided} of {} changes are not decided", all.len());
    assert!(all.len() >= 300, "only {} changes", all.len());
    assert!(confirmed > unconfirmed, "{confirmed} of {} breaking changes confirmed", confirmed + unconfirmed);
}
