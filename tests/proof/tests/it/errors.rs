//! Snapshots of the error messages that users read. They contain every kind of error in every revision where it can
//! occur, as text that is reviewed like code.
//!
//! `INSTA_UPDATE=always` rewrites the snapshots. Review them before you commit.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::net::IpAddr;

use mcpgen_proof::decisions::REVISIONS;
use mcpgen_proof::judge::subschemas;
use mcpgen_proof::registry::{Entry, REGISTRY};
use mcpgen_proof::{Proof, schema};
use mcpgen_types::codec::{
    self, Bound, Bounds, Check, Cursor, Decode, DecodeInPlace, Encode, Length, Literal, Node, Pattern, Unread,
};
use mcpgen_types::{Error, ErrorKind, Never};
use serde::Deserialize as _;
use serde_json::{Map, Value};

struct Case {
    /// The name of the [`ErrorKind`].
    kind: &'static str,
    /// The first and the last revision whose snapshot contains the case.
    revisions: (&'static str, &'static str),
    /// The name of a definition, or `ClientMessage` or `ServerMessage`.
    definition: &'static str,
    /// The document, with placeholders for [`written_out`].
    document: &'static str,
}

const ALL: (&str, &str) = (REVISIONS[0], REVISIONS[4]);

const fn case(
    kind: &'static str,
    revisions: (&'static str, &'static str),
    definition: &'static str,
    document: &'static str,
) -> Case {
    Case { kind, revisions, definition, document }
}

const fn since(revision: &'static str) -> (&'static str, &'static str) {
    (revision, ALL.1)
}

const TASKS: (&str, &str) = ("2025-11-25", "2025-11-25");
const BATCHES: (&str, &str) = ("2025-03-26", "2025-03-26");

/// The cases by kind, in the order of [`ErrorKind`]. The simplest case of each kind comes first.
const CASES: &[Case] = &[
    case("Missing", ALL, "Tool", r#"{"name": "forecast"}"#),
    case(
        "Missing",
        ALL,
        "ListToolsResult",
        r#"{"tools": [{"name": "a", "inputSchema": {"type": "object"}}, {"name": "b"}]}"#,
    ),
    case("Missing", since("2026-07-28"), "CallToolResult", r#"{"content": []}"#),
    case(
        "Missing",
        since("2026-07-28"),
        "ClientMessage",
        r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/clientCapabilities": {}}}}"#,
    ),
    case("Missing", ALL, "ServerMessage", r#"{"id": 1, "result": {}}"#),
    case("Missing", ALL, "ServerMessage", r#"{"jsonrpc": "2.0", "result": {}}"#),
    case("Duplicate", ALL, "Tool", r#"{"name": "forecast", "inputSchema": {"type": "object"}, "name": "weather"}"#),
    case("Duplicate", ALL, "ClientMessage", r#"{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "tools/list"}"#),
    case(
        "Conflict",
        ALL,
        "ServerMessage",
        r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "out of memory"}, "result": {}}"#,
    ),
    case("Conflict", ALL, "ClientMessage", r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "result": {}}"#),
    case("Type", ALL, "Tool", r#"{"name": 5, "inputSchema": {"type": "object"}}"#),
    case("Type", ALL, "Tool", r#"["forecast"]"#),
    case("Type", ALL, "Tool", r#"{"name": "forecast", "description": null, "inputSchema": {"type": "object"}}"#),
    case("Type", ALL, "CallToolResult", r#"{"content": {"type": "text", "text": "sunny"}}"#),
    case(
        "Type",
        ALL,
        "CreateMessageRequest",
        r#"{"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 99.5}}"#,
    ),
    case(
        "Type",
        ALL,
        "ProgressNotification",
        r#"{"method": "notifications/progress", "params": {"progressToken": {"a": 1}, "progress": 1}}"#,
    ),
    case("Type", ALL, "ClientMessage", r#"{"jsonrpc": "2.0", "id": null, "method": "tools/list"}"#),
    case("Type", ALL, "ServerMessage", r#"{"jsonrpc": "2.0", "id": 1, "result": "done"}"#),
    case("Constant", ALL, "Tool", r#"{"name": "forecast", "inputSchema": {"type": "array"}}"#),
    case("Constant", ALL, "JSONRPCRequest", r#"{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}"#),
    case("Constant", ALL, "ClientMessage", r#"{"jsonrpc": 2.0, "id": 1, "method": "tools/list"}"#),
    case(
        "Constant",
        TASKS,
        "URLElicitationRequiredError",
        r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "visit a page first", "data": {"elicitations": []}}}"#,
    ),
    case(
        "Constant",
        since("2026-07-28"),
        "HeaderMismatchError",
        r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32600, "message": "headers differ"}}"#,
    ),
    case("Value", ALL, "PromptMessage", r#"{"role": "system", "content": {"type": "text", "text": "Be brief."}}"#),
    case(
        "Value",
        ALL,
        "LoggingMessageNotification",
        r#"{"method": "notifications/message", "params": {"level": "fatal", "data": "disk full"}}"#,
    ),
    case(
        "Value",
        since("2025-06-18"),
        "ElicitResult",
        r#"{"action": "The user has closed the dialog after having read it twice and thought about it."}"#,
    ),
    case("Bound", ALL, "ModelPreferences", r#"{"costPriority": 1.5}"#),
    case("Bound", ALL, "ModelPreferences", r#"{"speedPriority": -1}"#),
    case(
        "Bound",
        ALL,
        "CreateMessageRequest",
        r#"{"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 9223372036854775808}}"#,
    ),
    case("Bound", since("2026-07-28"), "ListToolsResult", r#"{"resultType": "complete", "ttlMs": -1}"#),
    case(
        "Length",
        since("2026-07-28"),
        "CompleteResult",
        r#"{"resultType": "complete", "completion": {"values": [101 strings]}}"#,
    ),
    // No variant of the union has this tag.
    case("NoVariant", ALL, "PromptMessage", r#"{"role": "user", "content": {"type": "video", "url": "a.mp4"}}"#),
    case("NoVariant", ALL, "ClientRequest", r#"{"method": "tools/run", "params": {"name": "forecast"}}"#),
    case("NoVariant", since("2025-06-18"), "PrimitiveSchemaDefinition", r#"{"type": "object"}"#),
    // The tag is absent or not a string.
    case("NoVariant", ALL, "PromptMessage", r#"{"role": "user", "content": {"text": "Hello!"}}"#),
    case("NoVariant", ALL, "PromptMessage", r#"{"role": "user", "content": {"type": 5}}"#),
    case("NoVariant", ALL, "ClientRequest", "{}"),
    case(
        "NoVariant",
        ALL,
        "CompleteRequest",
        r#"{"method": "completion/complete", "params": {"ref": {"name": "greeting"}, "argument": {"name": "n", "value": ""}}}"#,
    ),
    case("NoVariant", ALL, "ServerMessage", r#"{"jsonrpc": "2.0", "id": 1}"#),
    // Keys decide the union, and none of them is present.
    case("NoVariant", ALL, "ReadResourceResult", r#"{"contents": [{"uri": "file:///a.txt"}]}"#),
    case("NoVariant", ALL, "EmbeddedResource", r#"{"type": "resource", "resource": {"uri": "file:///a.txt"}}"#),
    case("NoVariant", ALL, "JSONRPCMessage", r#"{"jsonrpc": "2.0"}"#),
    case("NoVariant", since("2025-11-25"), "JSONRPCResponse", r#"{"jsonrpc": "2.0", "id": 1}"#),
    case("NoVariant", since("2026-07-28"), "InputResponse", r#"{"answer": "yes"}"#),
    // The tag is known, but none of the keys that distinguish the remaining variants is present.
    case(
        "NoVariant",
        since("2025-11-25"),
        "PrimitiveSchemaDefinition",
        r#"{"type": "array", "items": {"type": "string"}}"#,
    ),
    // The JSON type decides the union.
    case("NoVariant", ALL, "PromptMessage", r#"{"role": "user", "content": "Hello!"}"#),
    case("NoVariant", BATCHES, "JSONRPCMessage", "5"),
    case("NoVariant", BATCHES, "JSONRPCMessage", "[5]"),
    case(
        "NoVariant",
        since("2025-06-18"),
        "ElicitResult",
        r#"{"action": "accept", "content": {"name": {"first": "Ada"}}}"#,
    ),
    case("NoVariant", since("2025-11-25"), "SamplingMessage", r#"{"role": "user", "content": "Hello!"}"#),
    case("UnknownMethod", ALL, "ClientMessage", r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/run"}"#),
    case("UnknownMethod", ALL, "ClientMessage", r#"{"jsonrpc": "2.0", "method": "notifications/started"}"#),
    case("UnknownMethod", ALL, "ServerMessage", r#"{"jsonrpc": "2.0", "id": 1, "method": "notifications/progress"}"#),
    case("Depth", ALL, "Tool", r#"{"name": "forecast", "inputSchema": {"type": "object"}, "more": [101 arrays]}"#),
    case("Json", ALL, "Tool", "{\n  \"name\": \"forecast\",\n}"),
    case("Json", ALL, "Tool", r#"{"name": "forecast", "inputSchema": {"type": "obj"#),
    case("Json", ALL, "Tool", r#"{"name": "forecast", "inputSchema": {"type": "object"}} {}"#),
    case("Json", ALL, "Tool", r#"{"name": "forecast", "inputSchema": {"type": "object", "maximum": 1e999}}"#),
    case("Json", ALL, "Tool", ""),
    case("Io", ALL, "Tool", "(failing reader)"),
];

/// Cases with types defined here, for errors that no official schema can cause.
const CORE: &[(&str, Entry, &str)] = &[
    ("Missing", Entry::of::<Closed>("core", "Closed", None), "{}"),
    ("Unexpected", Entry::of::<Closed>("core", "Closed", None), r#"{"name": "a", "nmae": "b"}"#),
    ("Bound", Entry::of::<Digit>("core", "Digit", None), "0"),
    ("Bound", Entry::of::<Digit>("core", "Digit", None), "10"),
    ("Length", Entry::of::<Short>("core", "Short", None), r#""""#),
    ("Length", Entry::of::<Short>("core", "Short", None), r#""four""#),
    ("Assertion", Entry::of::<Even>("core", "Even", None), "7"),
    ("Constant", Entry::of::<Origin>("core", "Origin", None), "[0, 1]"),
    ("Uninhabited", Entry::of::<Never>("core", "Never", None), "null"),
    (
        "PatternTooExpensive",
        Entry::of::<Doubled>("core", "Doubled", None),
        r#""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!""#,
    ),
    ("TooManyChecks", Entry::of::<Endless>("core", "Endless", None), "null"),
    ("Custom", Entry::of::<Host>("core", "Host", None), r#""localhost""#),
];

/// Returns whether a subschema cannot cause a kind of error by itself.
type Holds = fn(&Map<String, Value>) -> bool;

/// Returns why a revision may lack a case for a kind of error: the reason, and a function that then returns true for
/// every subschema of the revision.
fn absence(kind: &str) -> Option<(&'static str, Holds)> {
    match kind {
        "Unexpected" => Some(("no object of this revision rejects unknown members", |schema| {
            schema.get("additionalProperties") != Some(&Value::Bool(false))
        })),
        "Length" => Some(("this revision has no limits on lengths", |schema| {
            let limits = ["minLength", "maxLength", "minItems", "maxItems"];
            !limits.iter().any(|limit| schema.contains_key(*limit))
        })),
        "Assertion" => Some(("every assertion of this revision shapes a type", |schema| {
            let assertions = ["contains", "if", "multipleOf", "not", "pattern", "patternProperties", "propertyNames"];
            let others = ["minProperties", "maxProperties", "uniqueItems", "dependencies", "dependentRequired"];
            !assertions.iter().chain(&others).any(|assertion| schema.contains_key(*assertion))
        })),
        "PatternTooExpensive" => Some(("no pattern of this revision refers to a group", |schema| {
            let pattern = schema.get("pattern").and_then(Value::as_str).unwrap_or_default();
            !pattern.contains('\\')
        })),
        "TooManyChecks" => Some(("no value of this revision needs hundreds of checks", |_| true)),
        "Custom" => Some(("only types that serde decodes cause it", |_| true)),
        "Uninhabited" => Some(("every schema of this revision accepts a value", |schema| {
            let nothing = |keyword: &str| schema.get(keyword).and_then(Value::as_array).is_some_and(Vec::is_empty);
            !schema.contains_key("not") && !nothing("enum") && !nothing("anyOf") && !nothing("type")
        })),
        _ => None,
    }
}

macro_rules! revisions {
    ($($test:ident: $revision:literal, $module:ident;)*) => {
        $(#[test]
        fn $test() {
            let text = snapshot($revision);
            check_snapshot(&$revision.replace('-', "_"), &text);
        })*

        /// Returns an envelope of a revision. The registry contains only definitions.
        fn envelope(revision: &str, name: &str) -> Option<&'static Entry> {
            match (revision, name) {
                $(($revision, "ClientMessage") => {
                    const ENTRY: Entry = Entry::of::<mcpgen_types::$module::ClientMessage>($revision, "ClientMessage", None);
                    Some(&ENTRY)
                }
                ($revision, "ServerMessage") => {
                    const ENTRY: Entry = Entry::of::<mcpgen_types::$module::ServerMessage>($revision, "ServerMessage", None);
                    Some(&ENTRY)
                })*
                _ => None,
            }
        }

        fn result_error(revision: &str, text: &str) -> Error {
            match revision {
                $($revision => match mcpgen_types::from_str::<mcpgen_types::$module::ServerMessage>(text) {
                    Ok(mcpgen_types::Message::Response(response)) => response
                        .decode::<mcpgen_types::$module::ListToolsRequest>()
                        .expect_err("the result is invalid"),
                    other => panic!("not a response: {other:?}"),
                },)*
                other => panic!("revision {other} is missing in `revisions!`"),
            }
        }
    };
}

revisions! {
    texts_of_2024_11_05_match_the_snapshot: "2024-11-05", v2024_11_05;
    texts_of_2025_03_26_match_the_snapshot: "2025-03-26", v2025_03_26;
    texts_of_2025_06_18_match_the_snapshot: "2025-06-18", v2025_06_18;
    texts_of_2025_11_25_match_the_snapshot: "2025-11-25", v2025_11_25;
    texts_of_2026_07_28_match_the_snapshot: "2026-07-28", v2026_07_28;
}

#[test]
fn texts_of_other_types_match_the_snapshot() {
    let mut text = String::from("Errors that no official schema can cause, from types defined in the test.\n");
    for (kind, entry, document) in CORE {
        write(&mut text, kind, entry, document);
    }
    let error = mcpgen_types::from_slice::<Closed>(b"{\n\"name\": \"\xff\"}").expect_err("not UTF-8");
    let (line, column) = (error.line().unwrap_or_default(), error.column().unwrap_or_default());
    let _ =
        writeln!(text, "\n== Json\nClosed from bytes that are not UTF-8\n  {error}\n  line {line}, column {column}");
    check_snapshot("core", &text);
}

/// Writes the cases by kind, or the reason why a kind has no case.
fn snapshot(revision: &str) -> String {
    let mut text = String::new();
    for kind in kinds() {
        let cases: Vec<&Case> = cases_of(revision).filter(|case| case.kind == kind).collect();
        for case in &cases {
            let entry = Entry::find(revision, case.definition).or_else(|| envelope(revision, case.definition));
            let entry = entry.unwrap_or_else(|| panic!("{revision} has no {}", case.definition));
            write(&mut text, &kind, entry, case.document);
        }
        if cases.is_empty() {
            let (why, _) = absence(&kind).unwrap_or_else(|| panic!("{revision}: {kind} has no case"));
            let _ = writeln!(text, "\n== {kind}\nno case: {why}");
        }
    }
    let document = r#"{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "forecast"}]}}"#;
    let error = result_error(revision, document);
    let _ = writeln!(
        text,
        "\n== the result of a request\nServerMessage from {document}, decoded\n  {error}\n  {}",
        error.path()
    );
    text
}

fn cases_of(revision: &str) -> impl Iterator<Item = &'static Case> {
    CASES.iter().filter(move |case| (case.revisions.0..=case.revisions.1).contains(&revision))
}

fn write(text: &mut String, kind: &str, entry: &Entry, document: &str) {
    let error = decode_error(kind, entry, document);
    let _ = writeln!(text, "\n== {kind}\n{} from {document}\n  {error}", entry.definition);
    let path = match error.path() {
        path if path.is_empty() => "root".to_owned(),
        path if path.len() > 100 => format!("{}…", &path[..20]),
        path => path,
    };
    match (error.line(), error.column()) {
        (Some(line), Some(column)) => {
            let _ = writeln!(text, "  {path}, line {line}, column {column}");
        }
        _ => {
            let _ = writeln!(text, "  {path}");
        }
    }
    if kind != "Io" {
        let message = (entry.serde)(&written_out(document)).expect_err("serde_json also rejects the document");
        let _ = writeln!(text, "  serde_json: {message}");
    }
}

/// Returns the error of decoding a document. Checks that all decoding functions return the same one.
fn decode_error(kind: &str, entry: &Entry, document: &str) -> Error {
    let text = written_out(document);
    let error = match kind {
        "Io" => (entry.reader)(&mut Failing).map(drop),
        _ => (entry.text)(&text).map(drop),
    };
    let error = error.expect_err(document);
    assert_eq!(name(error.kind()), kind, "{}: {document}: {error}", entry.definition);
    assert!(!error.type_name().is_empty(), "{document}");
    assert!(error.to_string().starts_with(&format!("{}: ", error.type_name())), "{error}");
    let mut results = Vec::new();
    if kind != "Io" {
        results.push(("from_slice", (entry.bytes)(text.as_bytes()).map(drop)));
        results.push(("from_reader", (entry.reader)(&mut text.as_bytes()).map(drop)));
    }
    // `Value` keeps only one of two duplicate members.
    if let (Ok(value), false) = (serde_json::from_str::<Value>(&text), kind == "Duplicate") {
        results.push(("from_value", (entry.value)(value).map(drop)));
    }
    for (function, result) in results {
        let other = result.expect_err(function);
        assert_eq!((other.kind(), other.path()), (error.kind(), error.path()), "{function}: {document}");
        assert_eq!(other.to_string(), error.to_string(), "{function}: {document}");
    }
    error
}

/// Replaces placeholders with the parts of a document that are too long for a snapshot.
fn written_out(document: &str) -> String {
    let strings = format!("[{}]", vec!["\"a\""; 101].join(","));
    let arrays = ["[".repeat(101), "]".repeat(101)].concat();
    document.replace("[101 strings]", &strings).replace("[101 arrays]", &arrays)
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::ConnectionReset, "the peer has closed the connection"))
    }
}

fn check_snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_omit_expression(true);
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!(format!("errors__{name}"), text));
}

/// Returns the names of all kinds in the order of the source of [`ErrorKind`].
fn kinds() -> Vec<String> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../generated/src/error.rs");
    let source = std::fs::read_to_string(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    let file = syn::parse_file(&source).unwrap_or_else(|error| panic!("{error}"));
    let found = file.items.iter().find_map(|item| match item {
        syn::Item::Enum(item) if item.ident == "ErrorKind" => Some(item),
        _ => None,
    });
    let variants = &found.expect("error.rs defines `ErrorKind`").variants;
    variants.iter().map(|variant| variant.ident.to_string()).collect()
}

/// Returns the name of a kind, which is how its `Debug` output begins.
fn name(kind: &ErrorKind) -> String {
    let debug = format!("{kind:?}");
    debug.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// Every kind of error has a case, and the kind of every case exists.
#[test]
fn every_kind_has_a_case() {
    let kinds: BTreeSet<String> = kinds().into_iter().collect();
    let shown = CASES.iter().map(|case| case.kind).chain(CORE.iter().map(|(kind, ..)| *kind));
    let shown: BTreeSet<String> = shown.map(str::to_owned).collect();
    assert!(kinds.len() > 10, "{kinds:?}");
    assert_eq!(kinds, shown);
}

/// If a snapshot has no case for a kind, nothing in the revision's schema can cause it, and no document of the proof
/// does.
#[test]
fn kinds_without_a_case_cannot_occur() {
    for revision in REVISIONS {
        let shown: BTreeSet<&str> = cases_of(revision).map(|case| case.kind).collect();
        let schema = schema(revision);
        let places = subschemas(&schema);
        let places: Vec<_> = places.iter().filter_map(|at| schema.pointer(at)?.as_object()).collect();
        for kind in kinds() {
            let Some((why, holds)) = absence(&kind) else {
                assert!(shown.contains(kind.as_str()), "{revision}: {kind} has no case");
                continue;
            };
            let absent = places.iter().all(|schema| holds(schema));
            assert_eq!(shown.contains(kind.as_str()), !absent, "{revision}: {kind}: {why}");
        }
        let mut seen = BTreeSet::new();
        for entry in REGISTRY.iter().filter(|entry| entry.revision == revision) {
            for (_, _, document) in Proof::of(revision).documents(entry.definition, 5, 30) {
                seen.extend((entry.value)(document).err().map(|error| name(error.kind())));
            }
        }
        println!("{revision}: the documents of the proof cause {seen:?}");
        assert!(seen.len() > 5, "{revision}: {seen:?}");
        let unshown: Vec<_> = seen.iter().filter(|kind| !shown.contains(kind.as_str())).collect();
        assert!(unshown.is_empty(), "{revision}: {unshown:?} have no case");
    }
}

/// An object with one member that allows no others.
#[derive(Debug, PartialEq)]
struct Closed {
    name: String,
}

impl Decode for Closed {
    const NAME: &'static str = "Closed";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        codec::decode_in_place(json)
    }
}

impl DecodeInPlace for Closed {
    fn blank(unread: Unread) -> Self {
        Self { name: String::blank(unread) }
    }

    fn read(&mut self, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        json.read_object(const { &codec::MemberTable::new(&["name"], &[0]) }, &mut &mut *self, unread)
    }
}

impl codec::ReadMember for Closed {
    fn read_member(&mut self, index: usize, json: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        match index {
            0 => self.name.read(json, unread),
            _ => Ok(()),
        }
    }

    fn read_other(&mut self, _: Cursor<'_>, value: Cursor<'_>, unread: Unread) -> Result<(), Error> {
        codec::refuse_other(value, unread)
    }

    fn finish_others(&mut self, _: Unread) {}
}

impl Encode for Closed {
    fn encode(&self) -> Node<'_> {
        Node::Str(&self.name)
    }
}

/// An integer greater than 0 and less than 10.
#[derive(Debug, PartialEq)]
struct Digit(i64);

impl Decode for Digit {
    const NAME: &'static str = "Digit";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        let end = |value| Some(Bound { value: Literal::Integer(value), exclusive: true });
        let value = i64::decode(json)?;
        let bounds = Bounds { minimum: end(0), maximum: end(10) };
        bounds.check_number(value.into()).map_err(|error| json.locate(error))?;
        Ok(Self(value))
    }
}

impl Encode for Digit {
    fn encode(&self) -> Node<'_> {
        Node::Signed(self.0)
    }
}

/// An even integer.
#[derive(Debug, PartialEq)]
struct Even(i64);

impl Decode for Even {
    const NAME: &'static str = "Even";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        Check::MultipleOf(Literal::Integer(2)).check(json)?;
        i64::decode(json).map(Self)
    }
}

impl Encode for Even {
    fn encode(&self) -> Node<'_> {
        Node::Signed(self.0)
    }
}

/// A text that must match a pattern with a backreference.
#[derive(Debug, PartialEq)]
struct Doubled(String);

static DOUBLED: Pattern = Pattern::new(r"^(a+)+\1$");

impl Decode for Doubled {
    const NAME: &'static str = "Doubled";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        Check::Pattern(&DOUBLED).check(json)?;
        json.string().map(Self)
    }
}

impl Encode for Doubled {
    fn encode(&self) -> Node<'_> {
        Node::Str(&self.0)
    }
}

/// A check that refers to itself and therefore has no meaning. `mcpgen` refuses such schemas.
#[derive(Debug, PartialEq)]
struct Endless;

static ENDLESS: Check = Check::Definition(|| &ENDLESS);

impl Decode for Endless {
    const NAME: &'static str = "Endless";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        ENDLESS.check(json).map(|()| Self)
    }
}

impl Encode for Endless {
    fn encode(&self) -> Node<'_> {
        Node::Null
    }
}

/// A string of one to three characters.
#[derive(Debug, PartialEq)]
struct Short(String);

impl Decode for Short {
    const NAME: &'static str = "Short";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        let text = json.string()?;
        Length { min: 1, max: Some(3) }.check_str(&text).map_err(|error| json.locate(error))?;
        Ok(Self(text))
    }
}

impl Encode for Short {
    fn encode(&self) -> Node<'_> {
        Node::Str(&self.0)
    }
}

/// The constant `[0, 0]`.
#[derive(Debug, PartialEq)]
struct Origin;

impl Decode for Origin {
    const NAME: &'static str = "Origin";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        json.read_constant(&Literal::Json("[0, 0]")).map(|()| Self)
    }
}

impl Encode for Origin {
    fn encode(&self) -> Node<'_> {
        Node::Null
    }
}

/// An IP address, decoded with serde.
#[derive(Debug, PartialEq)]
struct Host(IpAddr);

impl Decode for Host {
    const NAME: &'static str = "Host";

    fn decode(json: Cursor<'_>) -> Result<Self, Error> {
        IpAddr::deserialize(json).map(Self)
    }
}

impl Encode for Host {
    fn encode(&self) -> Node<'_> {
        Node::Null
    }
}

codec::serde_impls!(Closed, Digit, Even, Doubled, Endless, Short, Origin, Host);
