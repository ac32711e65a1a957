//! The messages: one of each important kind, in revision 2025-11-25.

use serde_json::value::{RawValue, to_raw_value};

type Json = Box<RawValue>;

/// Like `serde_json::json!`, but keeps the members in the order they are written in, which is the order in which peers
/// send them. An expression of more than one token must be in parentheses.
macro_rules! json {
    ({ $($name:literal: $value:tt),* $(,)? }) => {
        object(&[$(($name, json!($value))),*])
    };
    ([$($value:tt),*]) => {
        raw(&[$(json!($value)),*] as &[Json])
    };
    ($value:expr) => {
        raw(&$value)
    };
}

pub struct Message {
    pub name: &'static str,
    pub kind: Kind,
    pub text: String,
    /// Whether nearly all of the message is one string.
    pub bulky: bool,
    /// The goal for decoding, as a multiple of `serde_json::Value`.
    pub goal: f64,
}

impl Message {
    fn goal(self, goal: f64) -> Self {
        Self { goal, ..self }
    }
}

/// The kind of a message, which determines the types to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Initialize,
    ListTools,
    CallTool,
    Ping,
    Progress,
    InitializeResult,
    ListToolsResult,
    CallToolResult,
    ReadResourceResult,
    Error,
}

pub fn corpus() -> Vec<Message> {
    let call = json!({ "name": "create_invoice", "arguments": { "customer": "Ardent Mills", "total": 1290, "due": "2026-12-01", "tags": ["net30", "eu"] } });
    let plain = |name, kind, value: Json| Message { name, kind, text: value.to_string(), bulky: false, goal: 0.85 };
    let bulky = |name, kind, value: Json| Message { bulky: true, ..plain(name, kind, value) };
    let as_text = |text: &str| json!({ "content": [{ "type": "text", "text": text }], "isError": false });
    vec![
        plain("initialize", Kind::Initialize, request("initialize", Some(initialize()))),
        plain("tools/list", Kind::ListTools, request("tools/list", Some(json!({ "cursor": "cGFnZS0y" })))).goal(0.42),
        plain("tools/call", Kind::CallTool, request("tools/call", Some(call.clone()))).goal(0.33),
        plain("tools/call, `method` first and `id` last", Kind::CallTool, last("tools/call", &call)).goal(0.33),
        plain("ping", Kind::Ping, request("ping", None)).goal(0.42),
        plain("progress", Kind::Progress, notification("notifications/progress", &progress())).goal(0.42),
        plain("initialize result", Kind::InitializeResult, response(initialized())),
        plain(
            "tools/list result, 50 tools",
            Kind::ListToolsResult,
            response(json!({ "tools": (tools()), "nextCursor": "cGFnZS0z" })),
        )
        .goal(0.14),
        plain(
            "tools/call result, small text",
            Kind::CallToolResult,
            response(as_text("Invoice 4711 has been created and is due on 1 December.")),
        )
        .goal(0.57),
        bulky("tools/call result, 64 KiB text", Kind::CallToolResult, response(as_text(&prose(64 << 10)))),
        bulky(
            "tools/call result, 256 KiB base64",
            Kind::CallToolResult,
            response(json!({ "content": [{ "type": "image", "data": (base64(256 << 10)), "mimeType": "image/png" }] })),
        ),
        plain(
            "resources/read result",
            Kind::ReadResourceResult,
            response(
                json!({ "contents": [{ "uri": "file:///project/notes/plan.md", "mimeType": "text/markdown", "text": (prose(2 << 10)) }] }),
            ),
        ),
        plain(
            "error",
            Kind::Error,
            json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": (-32602), "message": "there is no tool `create_invoce`", "data": { "name": "create_invoce" } } }),
        )
        .goal(0.5),
    ]
}

/// Returns a result of about this size, with one long string or with many small blocks.
pub fn of_size(bytes: usize, blocks: bool) -> String {
    let text = |text: String| json!({ "type": "text", "text": text });
    let content: Vec<Json> =
        if blocks { (0..bytes / 256).map(|_| text(prose(224))).collect() } else { vec![text(prose(bytes))] };
    response(json!({ "content": content, "isError": false })).to_string()
}

fn request(method: &str, params: Option<Json>) -> Json {
    match params {
        Some(params) => json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }),
        None => json!({ "jsonrpc": "2.0", "id": 7, "method": method }),
    }
}

/// Returns a request whose `jsonrpc` and `id` are the last members, as some clients write it.
fn last(method: &str, params: &Json) -> Json {
    json!({ "method": method, "params": params, "jsonrpc": "2.0", "id": 7 })
}

fn notification(method: &str, params: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

fn response(result: Json) -> Json {
    json!({ "jsonrpc": "2.0", "id": 7, "result": result })
}

fn initialize() -> Json {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "roots": { "listChanged": true }, "sampling": {}, "elicitation": { "form": {}, "url": {} } },
        "clientInfo": { "name": "shop", "title": "Shop", "version": "3.2.1" },
    })
}

fn initialized() -> Json {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": { "listChanged": true }, "resources": { "subscribe": true }, "prompts": {}, "logging": {} },
        "serverInfo": { "name": "ledger", "title": "The ledger", "version": "0.9.0" },
        "instructions": "Look customers up before you create invoices for them.",
    })
}

fn progress() -> Json {
    json!({ "progressToken": 7, "progress": 0.25, "total": 1, "message": "reading pages" })
}

/// The name and the description of a record, and the name, the type and the description of each member.
type Record = (&'static str, &'static str, &'static [(&'static str, &'static str, &'static str)]);

const RECORDS: [Record; 10] = [
    (
        "invoice",
        "An invoice that was or will be sent to a customer",
        &[
            ("customer", "string", "Whom it is for"),
            ("total", "number", "The sum in the currency of the customer, taxes included"),
            ("due", "string", "The day by which it is to be paid, such as 2026-12-01"),
        ],
    ),
    (
        "customer",
        "Somebody who buys",
        &[
            ("country", "string", "Two letters, such as CH"),
            ("email", "string", "Where reminders go"),
            ("limit", "integer", "How much may be open at a time"),
        ],
    ),
    (
        "shipment",
        "A packet or a pallet on its way",
        &[
            ("carrier", "string", "Who carries it"),
            ("weight", "number", "In kilograms"),
            ("fragile", "boolean", "Whether it must not be stacked"),
        ],
    ),
    (
        "ticket",
        "A question or a complaint that needs an answer",
        &[
            ("priority", "integer", "From 1, which is answered today, to 5"),
            ("topic", "string", "One or two words"),
            ("assignee", "string", "Who answers it; nobody if absent"),
        ],
    ),
    (
        "product",
        "Something that is sold",
        &[
            ("price", "number", "Of one piece, without taxes"),
            ("stock", "integer", "How many pieces are left"),
            ("category", "string", "The shelf that it stands on"),
        ],
    ),
    (
        "meeting",
        "A meeting in somebody's calendar",
        &[
            ("starts", "string", "Day and time, such as 2026-11-30T14:00:00Z"),
            ("minutes", "integer", "How long it takes"),
            ("room", "string", "Where it is held; online if absent"),
        ],
    ),
    (
        "branch",
        "A line of work in a repository",
        &[
            ("base", "string", "The branch that it was made from"),
            ("protected", "boolean", "Whether it can only be changed by review"),
            ("head", "string", "The commit that it ends in"),
        ],
    ),
    (
        "review",
        "What somebody thinks of a change",
        &[
            ("change", "integer", "The number of the change"),
            ("verdict", "string", "One of approve, comment, refuse"),
            ("remarks", "string", "What should be different, in Markdown"),
        ],
    ),
    (
        "query",
        "A saved question to the database",
        &[
            ("sql", "string", "One statement, which must not write"),
            ("rows", "integer", "At most so many rows are answered"),
            ("explain", "boolean", "Whether the plan is wanted instead of rows"),
        ],
    ),
    (
        "sensor",
        "A thing that measures something",
        &[
            ("unit", "string", "Such as °C or Pa"),
            ("interval", "integer", "Seconds between two values"),
            ("location", "string", "Building and room"),
        ],
    ),
];

/// The operations on a record: the verb, the description, and whether the operation takes an id, writes, and destroys.
const OPERATIONS: [(&str, &str, bool, bool, bool); 5] = [
    (
        "list",
        "Lists what there is, newest first, in pages of fifty. Filters narrow the list; without any, everything is listed",
        false,
        false,
        false,
    ),
    (
        "get",
        "Shows one by its id, with everything that is known of it and when it was changed last",
        true,
        false,
        false,
    ),
    (
        "create",
        "Creates one. Fails if there is one of the same name, and then tells its id, so that it can be updated instead",
        false,
        true,
        false,
    ),
    (
        "update",
        "Changes one by its id. What is not given stays as it is; the answer is the new state as a whole",
        true,
        true,
        false,
    ),
    (
        "delete",
        "Deletes one by its id for good. Ask the user before you do this, because nothing brings it back",
        true,
        true,
        true,
    ),
];

/// Returns fifty tools, one for each operation on each record.
fn tools() -> Vec<Json> {
    RECORDS.iter().flat_map(|record| OPERATIONS.iter().map(move |operation| tool(record, operation))).collect()
}

fn tool(
    (record, what, members): &(&str, &str, &[(&str, &str, &str)]),
    (verb, words, by_id, writes, destroys): &(&str, &str, bool, bool, bool),
) -> Json {
    let mut properties =
        vec![("dry_run", json!({ "type": "boolean", "description": "Only say what would be done", "default": false }))];
    let mut required = Vec::new();
    if *by_id {
        let description = format!("The id of the {record}, as list_{record}s tells it");
        properties.push(("id", json!({ "type": "string", "minLength": 1, "description": description })));
        required.push("id");
    }
    for (name, kind, words) in *members {
        properties.push((*name, json!({ "type": kind, "description": words })));
        if *verb == "create" {
            required.push(name);
        }
    }
    let output = json!({ "type": "object", "properties": { "id": { "type": "string" }, "changed": { "type": "string", "format": "date-time" } }, "required": ["id"] });
    json!({
        "name": (format!("{verb}_{record}")),
        "title": (format!("{}{} {record}", verb[..1].to_uppercase(), &verb[1..])),
        "description": (format!("{what}. {words}.")),
        "inputSchema": { "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": (object(&properties)), "required": required, "additionalProperties": false },
        "outputSchema": output,
        "annotations": { "readOnlyHint": (!writes), "destructiveHint": destroys, "idempotentHint": (*verb != "create"), "openWorldHint": false },
    })
}

/// Returns a text of this many bytes, some of which must be escaped.
fn prose(bytes: usize) -> String {
    let line = "The plan says \"by Friday\", which leaves two days for the review and one for the harbour.\n";
    line.chars().cycle().take(bytes).collect()
}

fn base64(bytes: usize) -> String {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // A sequence that repeats only after many characters.
    (0..bytes as u64).map(|index| char::from(alphabet[(index * index * 7 + index / 64) as usize % 64])).collect()
}

fn object(members: &[(&str, Json)]) -> Json {
    let members: Vec<String> = members.iter().map(|(name, value)| format!("{}:{value}", raw(name))).collect();
    RawValue::from_string(format!("{{{}}}", members.join(","))).expect("the members are JSON")
}

fn raw<T: serde::Serialize + ?Sized>(value: &T) -> Json {
    to_raw_value(value).expect("the corpus is serializable")
}
