//! Makes schemas of any size, whose structure does not depend on the size.

use serde_json::{Map, Value, json};

/// The number of definitions after which their kinds repeat.
const PERIOD: usize = 10;

/// Returns a document with `size` definitions and two unions of requests.
pub fn schema(size: usize) -> Vec<u8> {
    let mut definitions: Map<String, Value> = (0..size).map(|index| (name(index), definition(index))).collect();
    // Client and server send half of the requests each.
    let requests = |side: usize| (0..size).filter(move |index| index % PERIOD == REQUEST && index / PERIOD % 2 == side);
    for (side, union) in ["ClientRequest", "ServerRequest"].into_iter().enumerate() {
        let members: Vec<Value> = requests(side).map(reference).collect();
        definitions.insert(union.to_owned(), json!({ "anyOf": members }));
    }
    let document = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": definitions });
    document.to_string().into_bytes()
}

/// The number of definitions in a group. Definitions only refer to others of their group.
const CHAIN: usize = 100;

const REQUEST: usize = 9;
const RESULT: usize = 8;
const UNION: usize = 7;

fn name(index: usize) -> String {
    let tens = index / PERIOD;
    match index % PERIOD {
        REQUEST => format!("Ask{tens}Request"),
        RESULT => format!("Ask{tens}Result"),
        UNION => format!("Choice{tens}"),
        0 => format!("Level{tens}"),
        digit => format!("Thing{tens}{}", ["A", "B", "C", "D", "E", "F"][(digit - 1) % 6]),
    }
}

fn definition(index: usize) -> Value {
    let first = index - index % PERIOD;
    match index % PERIOD {
        REQUEST => request(index, first),
        RESULT => json!({
            "type": "object",
            "properties": {
                "chosen": reference(first + UNION),
                "things": { "type": "array", "items": reference(first + 6) },
            },
            "required": ["things"],
        }),
        UNION => json!({ "anyOf": [reference(first + 1), reference(first + 2), reference(first + 3)] }),
        0 => json!({ "type": "string", "enum": ["low", "middle", "high"] }),
        digit => thing(index, digit),
    }
}

fn request(index: usize, first: usize) -> Value {
    json!({
        "type": "object",
        "properties": {
            "jsonrpc": { "const": "2.0", "type": "string" },
            "id": { "type": ["string", "integer"] },
            "method": { "const": format!("area{}/ask{}", index / CHAIN, index / PERIOD), "type": "string" },
            "params": {
                "type": "object",
                "properties": { "choice": reference(first + UNION), "cursor": { "type": "string" } },
                "required": ["choice"],
            },
        },
        "required": ["jsonrpc", "id", "method", "params"],
    })
}

/// Returns an object with a tag and members of all kinds, which refers to earlier definitions.
fn thing(index: usize, digit: usize) -> Value {
    let first = index - digit;
    let mut properties = json!({
        "kind": { "const": format!("kind{digit}"), "type": "string" },
        "text": { "type": "string", "description": "What a person reads." },
        "count": { "type": "integer", "minimum": 0 },
        "ratio": { "type": "number", "minimum": 0, "maximum": 1 },
        "flag": { "type": "boolean" },
        "level": reference(first),
        "names": { "type": "array", "items": { "type": "string" } },
        "extras": { "type": "object", "additionalProperties": { "type": "number" } },
        "children": { "type": "array", "items": reference(index) },
        "inner": {
            "type": "object",
            "properties": { "at": { "type": "integer" }, "title": { "type": ["string", "null"] } },
            "required": ["at"],
        },
        "_meta": { "type": "object", "additionalProperties": {} },
    });
    // Chains of references stay within a group, so their length does not depend on the size of the schema.
    if index % CHAIN > 1 {
        let before = if digit > 1 { index - 1 } else { first - PERIOD + 1 };
        properties["before"] = reference(before);
    }
    json!({ "type": "object", "properties": properties, "required": ["kind", "text", "level"] })
}

fn reference(index: usize) -> Value {
    json!({ "$ref": format!("#/$defs/{}", name(index)) })
}

/// Returns a list of tools with eight arguments each, one of which has this type.
pub fn tools(count: usize, kind: &str) -> Vec<u8> {
    let tool = |index: usize| {
        json!({
            "name": format!("tool_{index}"),
            "description": format!("Does thing {index}."),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "path": { "type": "string", "description": "A path.", "minLength": 1 },
                    "changed": { "type": kind },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 100, "default": 10 },
                    "order": { "type": "string", "enum": ["name", "size", "time"] },
                    "names": { "type": "array", "items": { "type": "string" }, "maxItems": 20 },
                    "filter": { "type": "object", "properties": { "tag": { "type": "string" } }, "required": ["tag"] },
                    "cursor": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                    "dry_run": { "type": "boolean", "default": false },
                },
                "required": ["path"],
            },
        })
    };
    json!({ "tools": (0..count).map(tool).collect::<Vec<_>>() }).to_string().into_bytes()
}
