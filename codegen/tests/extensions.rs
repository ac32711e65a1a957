//! Compares the schemas of MCP's extensions with a published validator, using random documents.
//!
//! The schemas are not part of the repository. `MCPGEN_EXTENSIONS` is their folder; without it, nothing runs.
//! `MCPGEN_INSTANCES` is the number of documents for each definition, by default 200.

use std::collections::BTreeSet;
use std::path::PathBuf;

use mcpgen::model::{Json, Origin, Shape};
use mcpgen::validate::validate;
use mcpgen::{Document, Protocol};
use serde_json::{Map, Value, json};

/// A random number generator (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % below.max(1)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.next(100) < percent
    }

    fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.next(values.len())]
    }
}

/// Makes documents that are valid against a schema, except for occasional violations.
struct Maker<'s> {
    root: &'s Value,
    random: Random,
    /// The percentage of values that are replaced by others.
    noise: usize,
}

impl Maker<'_> {
    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if self.random.chance(self.noise) {
            return self.other();
        }
        let Some(keywords) = schema.as_object() else { return self.other() };
        if let Some(target) = keywords.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(&target[1..]).cloned().unwrap_or_default();
            return if depth > 12 { json!({}) } else { self.value(&target, depth + 1) };
        }
        if let Some(constant) = keywords.get("const") {
            return constant.clone();
        }
        if let Some(values) = keywords.get("enum").and_then(Value::as_array) {
            return self.random.pick(values).clone();
        }
        let mut base = Value::Null;
        for keyword in ["anyOf", "oneOf"] {
            if let Some(items) = keywords.get(keyword).and_then(Value::as_array) {
                let item = self.random.pick(items).clone();
                base = self.value(&item, depth + 1);
            }
        }
        for item in keywords.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            let more = self.value(item, depth + 1);
            base = merged(base, more);
        }
        merged(base, self.typed(keywords, depth))
    }

    fn typed(&mut self, keywords: &Map<String, Value>, depth: usize) -> Value {
        let name = match keywords.get("type") {
            Some(Value::Array(names)) => self.random.pick(names).clone(),
            Some(name) => name.clone(),
            None if keywords.contains_key("properties") => json!("object"),
            None if keywords.contains_key("anyOf") || keywords.contains_key("allOf") => return Value::Null,
            None => return self.other(),
        };
        match name.as_str().unwrap_or_default() {
            "object" => self.object(keywords, depth),
            "array" => {
                let items = keywords.get("items").cloned().unwrap_or(json!(true));
                let count = if depth > 8 { 0 } else { self.random.next(3) };
                Value::Array((0..count).map(|_| self.value(&items, depth + 1)).collect())
            }
            "string" => self.string(keywords),
            "integer" => json!([0, 1, -1, 7, 400, -32000, -32601][self.random.next(7)]),
            "number" => [json!(0), json!(0.5), json!(1.0), json!(-3), json!(99)][self.random.next(5)].clone(),
            "boolean" => json!(self.random.chance(50)),
            _ => Value::Null,
        }
    }

    fn object(&mut self, keywords: &Map<String, Value>, depth: usize) -> Value {
        let mut members = Map::new();
        let required: Vec<&str> = keywords
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for (name, schema) in keywords.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            let keep = if is_required {
                100 - self.noise
            } else if depth > 6 {
                10
            } else {
                50
            };
            if self.random.chance(keep) {
                members.insert(name.clone(), self.value(schema, depth + 1));
            }
        }
        if self.random.chance(25) {
            let schema = keywords.get("additionalProperties").cloned().unwrap_or(json!(true));
            let name = *self.random.pick(&["other", "x-y", "a/b", "name", "type"]);
            let value = self.value(&schema, depth + 1);
            members.entry(name.to_owned()).or_insert(value);
        }
        Value::Object(members)
    }

    fn string(&mut self, keywords: &Map<String, Value>) -> Value {
        let texts = [
            "text",
            "io.example/server",
            "https://example.com/x",
            "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
            "1.0.2",
            "latest",
            "^1.2.3",
            "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce",
            "",
            "{host}",
            "http://{host}/",
        ];
        if keywords.contains_key("maxLength") && self.random.chance(5) {
            return json!("x".repeat(300));
        }
        json!(self.random.pick(&texts))
    }

    fn other(&mut self) -> Value {
        let values =
            [json!(null), json!(true), json!(3), json!(0.5), json!("x"), json!([]), json!({}), json!({"x": [1]})];
        self.random.pick(&values).clone()
    }
}

fn merged(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Object(mut a), Value::Object(b)) => {
            for (name, value) in b {
                a.entry(name).or_insert(value);
            }
            Value::Object(a)
        }
        (Value::Null, b) => b,
        (a, _) => a,
    }
}

/// Moves the definitions of nested schemas to the root, where the references in these schemas expect them.
fn hoisted(mut schema: Value) -> Value {
    fn collect(json: &Value, depth: usize, found: &mut Map<String, Value>) {
        match json {
            Value::Object(members) => {
                for (key, value) in members {
                    if key == "$defs" && depth > 0 {
                        found.extend(value.as_object().cloned().unwrap_or_default());
                    }
                    collect(value, depth + 1, found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| collect(item, depth + 1, found)),
            _ => {}
        }
    }
    let mut found = Map::new();
    collect(&schema, 0, &mut found);
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        for (name, json) in found {
            definitions.entry(name).or_insert(json);
        }
    }
    schema
}

/// Returns whether a type contains a union whose decision can reject what `anyOf` accepts, as documented.
fn is_decided(protocol: &Protocol, id: usize) -> bool {
    let (mut seen, mut stack) = (BTreeSet::from([id]), vec![id]);
    while let Some(id) = stack.pop() {
        if matches!(&protocol.types[id].shape, Shape::Union(union) if union.decision.overlapping) {
            return true;
        }
        stack.extend(protocol.uses(id).into_iter().filter(|used| seen.insert(*used)));
    }
    false
}

/// The number of compared documents.
#[derive(Debug, Default)]
struct Tally {
    valid: usize,
    not_valid: usize,
    /// Documents that are valid but rejected by the decision of a union.
    decided: usize,
}

/// Compares all definitions of a schema.
fn compare(file: &str, schema: &Value, protocol: &Protocol, count: u64, wrong: &mut Vec<String>) -> Tally {
    let mut tally = Tally::default();
    let definitions = protocol.types.iter().enumerate().filter(|(_, def)| def.origin == Origin::Definition);
    for (id, def) in definitions {
        let mut subject = schema.clone();
        let target = json!({ "$ref": format!("#{}", def.pointer) });
        let top = subject.as_object_mut().expect("an object");
        if !def.pointer.is_empty() {
            top.retain(|key, _| ["$schema", "$defs", "definitions"].contains(&key.as_str()));
            top.extend(target.as_object().cloned().unwrap_or_default());
        }
        top.remove("$id");
        // `format` is an annotation.
        let options = jsonschema::options().should_validate_formats(false);
        let judge = options.build(&subject).unwrap_or_else(|error| panic!("{file} {}: {error}", def.name));
        for seed in 0..count {
            let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (id as u64 + 1) << 32 | 1);
            let noise = if seed % 3 == 0 { 0 } else { 4 };
            let mut maker = Maker { root: schema, random, noise };
            let start = schema.pointer(&def.pointer).expect("the definition").clone();
            let document = maker.value(&start, 0);
            let expected = judge.is_valid(&document);
            let text = document.to_string();
            let answer = validate(protocol, id, &Json::parse(&text).expect("JSON"));
            if expected {
                tally.valid += 1;
            } else {
                tally.not_valid += 1;
            }
            if expected && answer.is_err() && is_decided(protocol, id) {
                tally.decided += 1;
            } else if answer.is_ok() != expected {
                let why = answer.err().map_or("accepted".to_owned(), |failure| failure.to_string());
                wrong.push(format!(
                    "{file} {} ({}): {why}\n  {text}",
                    def.name,
                    if expected { "valid" } else { "not valid" }
                ));
            }
        }
    }
    tally
}

#[test]
fn extensions_agree_with_a_published_validator() {
    let Some(folder) = std::env::var_os("MCPGEN_EXTENSIONS").map(PathBuf::from) else {
        println!("MCPGEN_EXTENSIONS is not set, so nothing was compared");
        return;
    };
    let count = std::env::var("MCPGEN_INSTANCES").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    let mut wrong = Vec::new();
    for path in files {
        let file = path.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).expect("a file");
        let document = Document::parse(&*file, text.as_bytes()).expect("a schema");
        let protocol = mcpgen::model(document, "proof", false).unwrap_or_else(|error| panic!("{error}"));
        let mut schema = hoisted(serde_json::from_str(&text).expect("JSON"));
        // No other fixup changes what these schemas accept.
        if let Some(types) = schema.pointer_mut("/$defs/JSONValue/anyOf/2/type") {
            *types = json!(["string", "number", "boolean", "null"]);
        }
        let before = wrong.len();
        let tally = compare(&file, &schema, &protocol, count, &mut wrong);
        println!("{file}: {tally:?}, {} wrong", wrong.len() - before);
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

/// Replaces, removes or copies parts of a schema.
fn mutate(schema: &Value, random: &mut Random) -> Value {
    fn pointers(json: &Value, pointer: String, found: &mut Vec<String>) {
        let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
        match json {
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| pointers(value, format!("{pointer}/{}", escaped(name)), found));
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, value)| pointers(value, format!("{pointer}/{at}"), found));
            }
            _ => {}
        }
        found.push(pointer);
    }
    let mut mutant = schema.clone();
    for _ in 0..=random.next(4) {
        let mut found = Vec::new();
        pointers(&mutant, String::new(), &mut found);
        let (place, other) = (random.pick(&found).clone(), random.pick(&found).clone());
        let inner = mutant.pointer(&other).cloned().unwrap_or_default();
        let value = match random.next(8) {
            0 => inner,
            1 => json!(random.chance(50)),
            2 => json!({ "not": inner }),
            3 => json!({ "oneOf": [inner, { "minProperties": 1 }] }),
            4 => json!({ "anyOf": [inner, { "type": "object", "propertyNames": { "pattern": "^a" } }] }),
            5 => json!({ "if": { "type": "string" }, "then": { "pattern": "x" }, "else": inner }),
            6 => json!({ "type": "array", "prefixItems": [inner], "unevaluatedItems": false }),
            _ => json!({ "allOf": [inner], "patternProperties": { "^x": { "multipleOf": 0.5 } } }),
        };
        if let Some(target) = mutant.pointer_mut(&place).filter(|_| place.matches('/').count() > 1) {
            *target = value;
        }
    }
    mutant
}

/// The generator accepts mutants, or rejects them with problems. `MCPGEN_MUTANTS` is the number of mutants for each
/// schema, by default 20.
#[test]
fn mutants_are_generated_or_refused() {
    let Some(folder) = std::env::var_os("MCPGEN_EXTENSIONS").map(PathBuf::from) else { return };
    let count = std::env::var("MCPGEN_MUTANTS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let (mut generated, mut refused) = (0, 0);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    for path in files {
        let schema: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("a file")).expect("JSON");
        for seed in 0..count {
            let mut random = Random((seed + 1_u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
            let mutant = mutate(&schema, &mut random).to_string();
            let options = mcpgen::Options {
                support: "::mcpgen_types".into(),
                command: "cargo test".into(),
                source: "mutant.json".into(),
                vendored: None,
            };
            let model = Document::parse("mutant.json", mutant.as_bytes())
                .and_then(|document| mcpgen::model(document, "mutant", false));
            match model.and_then(|protocol| mcpgen::emit(&protocol, &options)) {
                Ok(_) => generated += 1,
                Err(mcpgen::Error::Schema(problems)) if !problems.is_empty() => refused += 1,
                Err(error) => panic!("{} seed {seed}: {error}\n{mutant}", path.display()),
            }
        }
    }
    println!("{generated} mutants generated, {refused} refused");
}
