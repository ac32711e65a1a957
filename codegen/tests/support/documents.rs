//! Random documents for schemas, and random changes to schemas. Also used by `tests/json-schema-suite`.

use serde_json::{Map, Value, json};

/// xorshift.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap_or_default() % below.max(1)
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.next(100) < percent
    }

    pub(crate) fn pick<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.next(values.len())]
    }
}

/// Makes documents that are valid except for occasional violations.
pub(crate) struct Maker<'s> {
    pub(crate) root: &'s Value,
    pub(crate) random: Random,
    /// Percentage of values replaced by arbitrary ones.
    pub(crate) noise: usize,
}

impl Maker<'_> {
    pub(crate) fn value(&mut self, schema: &Value, depth: usize) -> Value {
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

/// Moves nested definitions to the root, where the references in nested schemas look for them.
pub(crate) fn hoisted(mut schema: Value) -> Value {
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

/// Replaces, removes or copies parts of a schema.
pub(crate) fn mutate(schema: &Value, random: &mut Random) -> Value {
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
    // Mostly mutate schemas: the generator rejects most other changes right away.
    let is_schema = |pointer: &String| {
        let mut steps = pointer.rsplit('/');
        let (last, before) = (steps.next().unwrap_or_default(), steps.next().unwrap_or_default());
        ["items", "additionalProperties", "not"].contains(&last)
            || ["$defs", "definitions", "properties", "anyOf", "oneOf", "allOf"].contains(&before)
    };
    let mut mutant = schema.clone();
    for _ in 0..=random.next(4) {
        let mut found = Vec::new();
        pointers(&mutant, String::new(), &mut found);
        if !random.chance(5) {
            found.retain(is_schema);
        }
        let (place, other) = (random.pick(&found).clone(), random.pick(&found).clone());
        let inner = mutant.pointer(&other).cloned().unwrap_or_default();
        let value = match random.next(12) {
            0 => inner,
            1 => json!(random.chance(50)),
            2 => json!({ "not": inner }),
            3 => json!({ "oneOf": [inner, { "minProperties": 1 }] }),
            4 => json!({ "anyOf": [inner, { "type": "object", "propertyNames": { "pattern": "^a" } }] }),
            5 => json!({ "if": { "type": "string" }, "then": { "pattern": "x" }, "else": inner }),
            6 => json!({ "type": "array", "prefixItems": [inner], "unevaluatedItems": false }),
            7 => json!({ "type": "array", "prefixItems": [inner, { "type": "string" }], "minItems": 2 }),
            8 => json!({ "type": "object", "patternProperties": { "^x": inner }, "required": ["x-a"] }),
            9 => json!({ "type": "object", "patternProperties": { "^x": inner }, "additionalProperties": false }),
            10 => json!({ "type": "string", "_enum": ["a", "", "Other", "self", "a b"] }),
            _ => json!({ "allOf": [inner], "patternProperties": { "^x": { "multipleOf": 0.5 } } }),
        };
        if let Some(target) = mutant.pointer_mut(&place).filter(|_| place.matches('/').count() > 1) {
            *target = value;
        }
    }
    mutant
}

/// Prepares a schema for the independent validator: moves all definitions to the root, and applies the fixups that
/// affect validation.
pub(crate) fn judged(text: &str) -> Value {
    let mut schema = hoisted(serde_json::from_str(text).expect("JSON"));
    if let Some(types) = schema.pointer_mut("/$defs/JSONValue/anyOf/2/type") {
        *types = json!(["string", "number", "boolean", "null"]);
    }
    let size = json!({ "type": "number" });
    let sizes = json!({ "height": size, "maxHeight": size, "width": size, "maxWidth": size });
    if let Some(place) = schema.pointer_mut("/$defs/McpUiHostContext/properties/containerDimensions") {
        *place = json!({ "type": "object", "properties": sizes });
    }
    if let Some(styles) = schema.pointer_mut("/$defs/McpUiStyles") {
        styles["required"] = json!([]);
        styles["additionalProperties"] = json!({ "type": "string" });
    }
    schema
}

/// Returns a schema for one definition, with everything it refers to.
pub(crate) fn of_definition(schema: &Value, pointer: &str) -> Value {
    let mut subject = schema.clone();
    let top = subject.as_object_mut().expect("an object");
    if !pointer.is_empty() {
        top.retain(|key, _| ["$schema", "$defs", "definitions"].contains(&key.as_str()));
        top.insert("$ref".to_owned(), json!(format!("#{pointer}")));
    }
    top.remove("$id");
    subject
}

pub(crate) fn document(schema: &Value, pointer: &str, id: usize, seed: u64) -> Value {
    let random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ ((id as u64 + 1) << 32) | 1);
    let noise = if seed.is_multiple_of(3) { 0 } else { 4 };
    let start = schema.pointer(pointer).expect("the definition").clone();
    Maker { root: schema, random, noise }.value(&start, 0)
}

pub(crate) fn files(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "json"));
    files.sort();
    files
}

/// Returns the vendored extension schemas, and older versions of the registry's schema, by name.
pub(crate) fn extensions() -> Vec<(String, std::path::PathBuf)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("schema/extensions.toml").is_file())
        .expect("the repository contains this package");
    let vendored = std::fs::read_dir(root.join("schema/extensions")).expect("a folder");
    let vendored = vendored.map(|entry| entry.expect("a folder").path().join("schema.json"));
    let name = |path: &std::path::Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let mut found: Vec<_> = vendored.map(|path| (name(path.parent().expect("a folder")), path)).collect();
    let older = files(&root.join("codegen/tests/registry")).into_iter();
    found.extend(older.map(|path| (format!("registry-{}", name(&path).trim_end_matches(".json")), path)));
    found.sort();
    found
}
