//! Tests hostile messages: decoding any input returns a value or an error, in bounded time and memory and with a small
//! stack.

use std::any::Any;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::Instant;

use mcpgen_proof::decisions::REVISIONS;
use mcpgen_proof::fuzz::{LONGEST_ERROR, Target, targets};
use mcpgen_proof::judge::DEPTH_LIMIT;
use mcpgen_proof::settings::is_thorough;
use mcpgen_types::codec::Decode;
use mcpgen_types::{Error, ErrorKind, Json, Value, v2025_11_25 as legacy, v2026_07_28 as modern};
use peak_alloc::PeakAlloc;
use serde_json::Map;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Held exclusively by the test that measures the heap, and shared by all others.
static HEAP_LOCK: RwLock<()> = RwLock::new(());

fn shared<T>(test: impl FnOnce() -> T) -> T {
    let _guard = HEAP_LOCK.read().unwrap_or_else(PoisonError::into_inner);
    test()
}

fn target(revision: &str, definition: &str) -> &'static Target {
    let found = targets().iter().find(|it| it.entry.revision == revision && it.entry.definition == definition);
    found.unwrap_or_else(|| panic!("{revision} has no {definition}"))
}

/// Returns whether the target accepts the document. Panics if the target handles it incorrectly.
fn accepts(target: &Target, document: &[u8]) -> bool {
    let shown = || String::from_utf8_lossy(&document[..document.len().min(2000)]).into_owned();
    target.check(document).unwrap_or_else(|reason| panic!("{target}: {reason}\n{}", shown()))
}

#[track_caller]
fn expect(target: &Target, document: &[u8], accepted: bool) {
    let shown = String::from_utf8_lossy(&document[..document.len().min(2000)]);
    assert_eq!(accepts(target, document), accepted, "{target}: {shown}");
}

// Nesting

/// Documents in which `"@"` marks a place where any nested value is valid.
const DEEP_PLACES: &[(&str, &str, &str)] = &[
    // In members of any type, in unknown members, and in types that accept any JSON.
    ("2025-11-25", "CallToolRequestParams", r#"{"name":"a","arguments":{"a":"@"}}"#),
    ("2024-11-05", "CallToolRequest", r#"{"method":"tools/call","params":{"name":"a","arguments":{"a":["@"]}}}"#),
    ("2025-11-25", "Tool", r#"{"name":"a","inputSchema":{"type":"object"},"x":"@"}"#),
    ("2025-03-26", "Tool", r#"{"name":"a","inputSchema":{"type":"object","properties":{"a":{"x":"@"}}}}"#),
    ("2026-07-28", "JSONValue", r#""@""#),
    ("2026-07-28", "JSONObject", r#"{"a":"@"}"#),
    // Members that are read before or after a union is decided.
    ("2025-11-25", "ContentBlock", r#"{"x":"@","type":"text","text":""}"#),
    ("2025-11-25", "ContentBlock", r#"{"type":"text","x":"@","text":""}"#),
    ("2025-11-25", "EnumSchema", r#"{"x":"@","type":"string","enum":[],"y":"@"}"#),
    ("2025-11-25", "JSONRPCMessage", r#"{"jsonrpc":"2.0","id":1,"params":{"_meta":{},"x":"@"},"method":"m"}"#),
    ("2025-03-26", "JSONRPCMessage", r#"[{"jsonrpc":"2.0","params":{"x":"@"},"method":"m"}]"#),
    ("2025-11-25", "ServerResult", r#"{"x":["@"]}"#),
    // In every part of an envelope.
    ("2025-11-25", "ServerMessage", r#"{"jsonrpc":"2.0","id":1,"result":{"a":"@"}}"#),
    ("2025-11-25", "ServerMessage", r#"{"result":{"a":"\"}]","b":["]}","@"]},"jsonrpc":"2.0","id":1}"#),
    ("2026-07-28", "ClientMessage", r#"{"x":"@","jsonrpc":"2.0","id":1,"result":{}}"#),
    ("2026-07-28", "ServerMessage", r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"","data":"@"}}"#),
    ("2025-06-18", "ClientMessage", r#"{"params":{"_meta":{"x":"@"}},"jsonrpc":"2.0","id":1,"method":"ping"}"#),
    ("2025-06-18", "ClientMessage", r#"{"method":"ping","params":{"x":"@"},"jsonrpc":"2.0","id":1}"#),
    ("2024-11-05", "ServerMessage", r#"{"y":"@","method":"ping","x":"@","jsonrpc":"2.0","id":1}"#),
];

/// Documents in which `"@"` marks a place where no nested value is valid.
const SHALLOW_PLACES: &[(&str, &str, &str)] = &[
    ("2025-11-25", "Tool", r#"{"name":"@"}"#),
    ("2025-11-25", "Tool", r#"{"name":"a","inputSchema":{"type":"@"}}"#),
    ("2025-11-25", "RequestId", r#""@""#),
    ("2025-11-25", "LoggingLevel", r#""@""#),
    ("2025-11-25", "ContentBlock", r#"{"type":"@"}"#),
    ("2025-11-25", "ContentBlock", r#"{"x":"@"}"#),
    ("2025-11-25", "ListToolsResult", r#"{"tools":"@"}"#),
    ("2025-11-25", "ServerMessage", r#"{"jsonrpc":"2.0","id":"@"}"#),
    ("2025-11-25", "ServerMessage", r#"{"jsonrpc":"@"}"#),
    ("2025-11-25", "ServerMessage", r#"{"id":1,"method":"@"}"#),
    ("2025-11-25", "ClientMessage", r#"{"method":"none","params":"@","id":1,"jsonrpc":"2.0"}"#),
];

#[derive(Clone, Copy, Debug)]
enum Shape {
    Arrays,
    Objects,
    Both,
}

const SHAPES: [Shape; 3] = [Shape::Arrays, Shape::Objects, Shape::Both];

impl Shape {
    fn is_array(self, level: usize) -> bool {
        match self {
            Self::Arrays => true,
            Self::Objects => false,
            Self::Both => level.is_multiple_of(2),
        }
    }

    fn text(self, depth: usize) -> String {
        let brackets = |array, object| move |level| if self.is_array(level) { array } else { object };
        let mut text: String = (0..depth).map(brackets("[", r#"{"a":"#)).collect();
        text.push_str("null");
        text.extend((0..depth).rev().map(brackets("]", "}")));
        text
    }

    fn value(self, depth: usize) -> Value {
        (0..depth).rev().fold(Value::Null, |value, level| match self.is_array(level) {
            true => Value::Array(vec![value]),
            false => Value::Object(Map::from_iter([("a".to_owned(), value)])),
        })
    }
}

fn containers_around(template: &str) -> usize {
    fn find(value: &Value) -> Option<usize> {
        match value {
            Value::String(text) => (text == "@").then_some(0),
            Value::Array(items) => items.iter().find_map(find).map(|depth| depth + 1),
            Value::Object(members) => members.values().find_map(find).map(|depth| depth + 1),
            _ => None,
        }
    }
    let template: Value = serde_json::from_str(template).expect("a template is JSON");
    find(&template).expect("a template has a place")
}

fn with_value(template: &str, value: Value) -> Value {
    fn find(template: &mut Value) -> Option<&mut Value> {
        match template {
            Value::String(text) if text == "@" => Some(template),
            Value::Array(items) => items.iter_mut().find_map(find),
            Value::Object(members) => members.values_mut().find_map(find),
            _ => None,
        }
    }
    let mut document: Value = serde_json::from_str(template).expect("a template is JSON");
    *find(&mut document).expect("a template has a place") = value;
    document
}

/// Runs a test with a stack of 2 MiB, as worker threads often have.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(2 << 20).spawn(test).expect("a thread starts");
    thread.join().expect("the test on the small stack passes");
}

#[test]
fn depth_limit_is_the_same_everywhere() {
    let check = |revision, definition, template: &str| {
        let target = target(revision, definition);
        let most = DEPTH_LIMIT - containers_around(template);
        for shape in SHAPES {
            for (depth, accepted) in [(1, true), (most, true), (most + 1, false), (most + 29, false)] {
                let document = template.replace(r#""@""#, &shape.text(depth));
                assert_eq!(accepts(target, document.as_bytes()), accepted, "{target}: {shape:?} {depth} {template}");
            }
        }
    };
    shared(|| on_small_stack(move || DEEP_PLACES.iter().for_each(|place| check(place.0, place.1, place.2))));
}

#[test]
fn deep_documents_do_not_overflow_the_stack() {
    let small = SHAPES.into_iter().flat_map(|shape| [DEPTH_LIMIT + 1, 10_000].map(|depth| shape.text(depth)));
    let texts: Vec<String> = small.chain([Shape::Arrays, Shape::Objects].map(|shape| shape.text(1_000_000))).collect();
    let check = move |revision, definition, template: &str| {
        let target = target(revision, definition);
        for text in &texts {
            let document = template.replace(r#""@""#, text);
            assert!(!accepts(target, document.as_bytes()), "{target}: {template}");
        }
        // A `Value` of a million objects would take a gigabyte.
        for (shape, depth) in [(Shape::Arrays, 100_000), (Shape::Objects, 10_000), (Shape::Both, 10_000)] {
            let rejected = (target.entry.value)(with_value(template, shape.value(depth)));
            assert!(rejected.is_err(), "{target} from a value: {shape:?} {depth} {template}");
        }
    };
    let places = || DEEP_PLACES.iter().chain(SHALLOW_PLACES);
    shared(|| on_small_stack(move || places().for_each(|place| check(place.0, place.1, place.2))));
}

#[test]
fn rejects_values_a_million_levels_deep() {
    let (_, _, template) = SHALLOW_PLACES[0];
    let refuse = || mcpgen_types::from_value::<legacy::Tool>(with_value(template, Shape::Arrays.value(1_000_000)));
    shared(|| on_small_stack(move || assert!(refuse().is_err())));
}

/// Covers the types that belong to no definition.
#[test]
fn undecoded_values_have_the_same_depth_limit() {
    shared(|| {
        on_small_stack(|| {
            for shape in SHAPES {
                for depth in [1, DEPTH_LIMIT, DEPTH_LIMIT + 1, 10_000, 1_000_000] {
                    let text = shape.text(depth);
                    let accepted = depth <= DEPTH_LIMIT;
                    assert_eq!(mcpgen_types::from_str::<Json>(&text).is_ok(), accepted, "{shape:?} {depth}");
                    assert_eq!(mcpgen_types::from_str::<Value>(&text).is_ok(), accepted, "{shape:?} {depth}");
                    let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":{text}}}}}"#);
                    let message = mcpgen_types::from_slice::<modern::ServerMessage>(line.as_bytes());
                    assert_eq!(message.is_ok(), depth + 2 <= DEPTH_LIMIT, "{shape:?} {depth}");
                }
            }
            let error = mcpgen_types::from_str::<Value>(&Shape::Arrays.text(101)).expect_err("too deep");
            assert_eq!(*error.kind(), ErrorKind::Depth);
        });
    });
}

// Tokens

/// The kind of a token, or the kind of token that a place accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Is {
    Integer,
    /// At a place, any number. As a token, a number that is not a signed 64-bit integer.
    Number,
    String,
    /// Only for places: an integer or a string.
    Id,
    /// At a place, any JSON. As a token, JSON that is none of the above.
    Json,
    /// Only for tokens: not JSON.
    Nothing,
}

impl Is {
    fn takes(self, token: Is) -> bool {
        match self {
            Is::Integer => token == Is::Integer,
            Is::Number => matches!(token, Is::Integer | Is::Number),
            Is::String => token == Is::String,
            Is::Id => matches!(token, Is::Integer | Is::String),
            Is::Json => token != Is::Nothing,
            Is::Nothing => false,
        }
    }
}

/// Documents in which `@` marks a place for a token, with the kind that the place accepts.
const TOKEN_PLACES: &[(Is, &str, &str, &str)] = &[
    (Is::Integer, "2025-11-25", "JSONRPCErrorResponse", r#"{"jsonrpc":"2.0","error":{"code":@,"message":""}}"#),
    (Is::Integer, "2025-11-25", "ServerMessage", r#"{"jsonrpc":"2.0","error":{"code":@,"message":""}}"#),
    (Is::Id, "2024-11-05", "ClientMessage", r#"{"jsonrpc":"2.0","id":@,"method":"ping"}"#),
    (Is::Id, "2024-11-05", "ClientMessage", r#"{"method":"ping","id":@,"jsonrpc":"2.0"}"#),
    (Is::Id, "2025-11-25", "RequestId", "@"),
    (Is::Number, "2025-11-25", "ProgressNotificationParams", r#"{"progressToken":1,"progress":@}"#),
    (Is::Number, "2025-11-25", "ClientMessage", PROGRESS),
    (Is::String, "2025-11-25", "Cursor", "@"),
    (Is::String, "2025-11-25", "ContentBlock", r#"{"text":@,"type":"text"}"#),
    (Is::String, "2025-11-25", "ContentBlock", r#"{"type":"text","text":@}"#),
    (Is::String, "2025-11-25", "ServerMessage", r#"{"error":{"code":1,"message":@},"jsonrpc":"2.0"}"#),
    (Is::Json, "2025-11-25", "CallToolRequestParams", r#"{"name":"a","arguments":{"a":@}}"#),
    (Is::Json, "2025-11-25", "Tool", r#"{"name":"a","inputSchema":{"type":"object"},"x":@}"#),
    (Is::Json, "2025-11-25", "ContentBlock", r#"{"x":{"a":@},"type":"text","text":""}"#),
    (Is::Json, "2025-11-25", "ServerMessage", r#"{"x":@,"jsonrpc":"2.0","id":1,"result":{}}"#),
    (Is::Json, "2026-07-28", "JSONValue", "@"),
];

const PROGRESS: &str =
    r#"{"method":"notifications/progress","params":{"progressToken":"","progress":@},"jsonrpc":"2.0"}"#;

const TOKENS: &[(&str, Is)] = &[
    ("1", Is::Integer),
    ("1.0", Is::Integer),
    ("1E2", Is::Integer),
    ("1e+2", Is::Integer),
    ("1.5", Is::Number),
    ("-0", Is::Integer),
    ("-0.0", Is::Integer),
    // The nearest double is 0.
    ("1e-400", Is::Integer),
    ("9223372036854775807", Is::Integer),
    ("9223372036854775808", Is::Number),
    ("18446744073709551615", Is::Number),
    ("18446744073709551616", Is::Number),
    ("-9223372036854775808", Is::Integer),
    // If a number does not fit in 64 bits, it is read as the nearest double, which is -2^63 here.
    ("-9223372036854775809", Is::Integer),
    ("-9223372036854777000", Is::Number),
    ("1e400", Is::Nothing),
    ("-1e400", Is::Nothing),
    ("01", Is::Nothing),
    ("-01", Is::Nothing),
    ("+1", Is::Nothing),
    (".5", Is::Nothing),
    ("1.", Is::Nothing),
    ("1e", Is::Nothing),
    ("-", Is::Nothing),
    ("0x10", Is::Nothing),
    ("1_000", Is::Nothing),
    ("NaN", Is::Nothing),
    ("Infinity", Is::Nothing),
    ("-Infinity", Is::Nothing),
    ("undefined", Is::Nothing),
    ("True", Is::Nothing),
    ("nul", Is::Nothing),
    ("", Is::Nothing),
    ("1 2", Is::Nothing),
    ("'a'", Is::Nothing),
    ("[1,]", Is::Nothing),
    ("[,1]", Is::Nothing),
    (r#"{"a":1,}"#, Is::Nothing),
    (r#"{"a" 1}"#, Is::Nothing),
    (r#"{a:1}"#, Is::Nothing),
    (r#"{1:1}"#, Is::Nothing),
    ("[1}", Is::Nothing),
    ("1 // one", Is::Nothing),
    ("/* one */ 1", Is::Nothing),
    (r#""a""#, Is::String),
    (r#""\u0000\u001f""#, Is::String),
    (r#""\ud83d\ude00""#, Is::String),
    ("\"\u{7f}\u{feff}\u{10ffff}\"", Is::String),
    (r#""\ud800""#, Is::Nothing),
    (r#""\udc00""#, Is::Nothing),
    (r#""\ude00\ud83d""#, Is::Nothing),
    (r#""\ud800\ud800""#, Is::Nothing),
    (r#""\ud83d x""#, Is::Nothing),
    (r#""\u00g0""#, Is::Nothing),
    (r#""\u12""#, Is::Nothing),
    (r#""\x41""#, Is::Nothing),
    (r#""\'""#, Is::Nothing),
    ("\"\n\"", Is::Nothing),
    ("\"\u{0}\"", Is::Nothing),
    (r#"{"\ud800":1}"#, Is::Nothing),
    (r#"{"a\u0000":1}"#, Is::Json),
    (r#"{"a":1,"a":2}"#, Is::Json),
];

#[test]
fn accepts_exactly_the_tokens_of_json() {
    shared(|| {
        for (token, is) in TOKENS {
            for (place, revision, definition, template) in TOKEN_PLACES {
                expect(target(revision, definition), template.replace('@', token).as_bytes(), place.takes(*is));
            }
        }
    });
}

/// A result stays undecoded, but an invalid token in it is an error of the message.
#[test]
fn rejects_invalid_tokens_in_raw_results() {
    let _guard = HEAP_LOCK.read().unwrap_or_else(PoisonError::into_inner);
    for token in ["1e400", r#""\ud800""#, r#"{"\udc00":1}"#] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"a":{token}}}}}"#);
        let error = mcpgen_types::from_str::<legacy::ServerMessage>(&text).expect_err(token);
        assert!(error.path().starts_with("/result"), "{error}");
    }
}

/// A valid document of each kind of type.
const DOCUMENTS: &[(&str, &str, &str)] = &[
    ("2025-11-25", "Tool", r#"{"name":"add","inputSchema":{"type":"object"}}"#),
    ("2025-11-25", "ContentBlock", r#"{"type":"text","text":"é"}"#),
    ("2025-11-25", "LoggingLevel", r#""debug""#),
    ("2025-11-25", "Cursor", r#""next""#),
    ("2025-11-25", "RequestId", "12"),
    ("2026-07-28", "JSONValue", r#"[{"a":[1.5,null]}]"#),
    ("2025-03-26", "JSONRPCMessage", r#"[{"jsonrpc":"2.0","method":"m","id":1}]"#),
    ("2025-11-25", "ClientMessage", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
    ("2026-07-28", "ServerMessage", r#"{"jsonrpc":"2.0","id":"a","result":{"x":[{}]}}"#),
];

/// Bytes before and after a document, and whether they are valid.
const FRAMES: &[(&[u8], &[u8], bool)] = &[
    (b"", b"", true),
    (b" \t\r\n", b"\n \r\t", true),
    (b"\xef\xbb\xbf", b"", false),
    (b"", b"\xef\xbb\xbf", false),
    (b"\xff\xfe", b"", false),
    (b"\0", b"", false),
    (b"", b"\0", false),
    (b"\x0b", b"", false),
    (b"", b"\x0c", false),
    (b"\xc2\xa0", b"", false),
    (b"", b",", false),
    (b",", b"", false),
    (b"", b"]", false),
    (b"", b"}", false),
    (b"", b" null", false),
    (b"", b"\n{}", false),
    (b"null ", b"", false),
    (b"\x1e", b"", false),
    (b"", b"// end", false),
    (b"/**/", b"", false),
    (b"# no\n", b"", false),
    (b"", b"\xff", false),
    (b"", b"\xc3", false),
];

#[test]
fn accepts_only_whitespace_around_a_document() {
    shared(|| {
        for (revision, definition, document) in DOCUMENTS {
            for (before, after, accepted) in FRAMES {
                let framed = [before, document.as_bytes(), after].concat();
                expect(target(revision, definition), &framed, *accepted);
            }
            let twice = format!("{document} {document}");
            expect(target(revision, definition), twice.as_bytes(), false);
        }
    });
}

/// Invalid UTF-8: truncated sequences, a stray continuation byte, overlong encodings, a surrogate, and a code point
/// beyond Unicode.
const NOT_UTF8: &[&[u8]] =
    &[b"\xc3", b"\xe2\x82", b"\x80", b"\xff", b"\xc0\x80", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf5\x80\x80\x80"];

#[test]
fn rejects_invalid_utf8_at_any_position() {
    shared(|| {
        for (revision, definition, document) in DOCUMENTS {
            for at in 0..=document.len() {
                for wrong in NOT_UTF8 {
                    let bytes = [&document.as_bytes()[..at], wrong, &document.as_bytes()[at..]].concat();
                    expect(target(revision, definition), &bytes, false);
                }
            }
        }
    });
}

// Duplicate members

const DUPLICATES: &[(&str, &str, &str, bool)] = &[
    ("2025-11-25", "Tool", r#"{"name":"a","name":"a","inputSchema":{"type":"object"}}"#, false),
    ("2025-11-25", "Tool", r#"{"name":"a","inputSchema":{"type":"object"},"n\u0061me":"a"}"#, false),
    ("2025-11-25", "Tool", r#"{"name":"a","inputSchema":{"type":"object","type":"object"}}"#, false),
    ("2025-11-25", "Tool", r#"{"x":1,"name":"a","x":2,"inputSchema":{"type":"object"},"x":3}"#, true),
    ("2025-11-25", "Tool", r#"{"name":"a","inputSchema":{"type":"object","properties":{"a":{},"a":{}}}}"#, true),
    ("2025-11-25", "CallToolRequestParams", r#"{"name":"a","arguments":{"a":1,"a":[]}}"#, true),
    ("2025-11-25", "CallToolRequestParams", r#"{"name":"a","arguments":{},"arguments":{}}"#, false),
    // The first tag decides the union, and the second one is a duplicate.
    ("2025-11-25", "ContentBlock", r#"{"type":"text","type":"text","text":""}"#, false),
    ("2025-11-25", "ContentBlock", r#"{"type":"text","text":"","type":"image"}"#, false),
    ("2025-11-25", "ContentBlock", r#"{"type":"image","text":"","type":"text"}"#, false),
    ("2025-11-25", "ContentBlock", r#"{"text":"","text":"","type":"text"}"#, false),
    ("2025-11-25", "ContentBlock", r#"{"x":1,"x":2,"type":"text","text":""}"#, true),
    ("2025-11-25", "ContentBlock", r#"{"x":1,"type":"text","text":"","x":2}"#, true),
    ("2025-11-25", "ClientMessage", r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#, false),
    ("2025-11-25", "ClientMessage", r#"{"jsonrpc":"2.0","id":1,"method":"ping","jsonrpc":"2.0"}"#, false),
    ("2025-11-25", "ClientMessage", r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#, false),
    ("2025-11-25", "ClientMessage", r#"{"jsonrpc":"2.0","id":1,"method":"ping","id":1}"#, false),
    ("2025-11-25", "ClientMessage", r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#, false),
    ("2025-11-25", "ClientMessage", r#"{"params":{},"jsonrpc":"2.0","id":1,"method":"ping","params":{}}"#, false),
    ("2025-11-25", "ClientMessage", r#"{"params":{},"params":{},"jsonrpc":"2.0","id":1,"method":"ping"}"#, false),
    ("2025-11-25", "ClientMessage", r#"{"x":1,"jsonrpc":"2.0","id":1,"method":"ping","x":2}"#, true),
    ("2025-11-25", "ServerMessage", r#"{"jsonrpc":"2.0","id":1,"result":{},"result":{}}"#, false),
    ("2025-11-25", "ServerMessage", r#"{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}"#, true),
    ("2025-11-25", "ServerMessage", r#"{"x":1,"jsonrpc":"2.0","id":1,"x":2,"result":{}}"#, true),
    ("2025-11-25", "ServerMessage", r#"{"jsonrpc":"2.0","error":{"code":1,"code":1,"message":""}}"#, false),
    ("2025-11-25", "ServerMessage", r#"{"jsonrpc":"2.0","error":{"code":1,"message":"","x":1,"x":2}}"#, true),
];

#[test]
fn rejects_only_duplicates_of_known_members() {
    shared(|| {
        for (revision, definition, document, accepted) in DUPLICATES {
            expect(target(revision, definition), document.as_bytes(), *accepted);
        }
    });
}

// Every short document, every truncation, every flip

#[test]
fn decodes_every_document_of_one_or_two_bytes_correctly() {
    shared(|| {
        thread::scope(|scope| {
            for half in 0..2 {
                scope.spawn(move || {
                    for (revision, definition, _) in DOCUMENTS.iter().skip(half).step_by(2) {
                        let target = target(revision, definition);
                        for first in 0..=u8::MAX {
                            accepts(target, &[first]);
                            (0..=u8::MAX).for_each(|second| {
                                accepts(target, &[first, second]);
                            });
                        }
                    }
                });
            }
        });
    });
}

/// Returns messages of every kind, direction and revision, and a few written by hand.
fn messages(longest: usize) -> Vec<(&'static Target, String)> {
    let mut messages: Vec<_> = DOCUMENTS
        .iter()
        .map(|(revision, definition, text)| (target(revision, definition), (*text).to_owned()))
        .collect();
    for revision in REVISIONS {
        for definition in MESSAGE_TYPES {
            let Some(target) =
                targets().iter().find(|it| (it.entry.revision, it.entry.definition) == (revision, definition))
            else {
                continue;
            };
            let instances = (0..200).map(|index| target.instance(17, index));
            let valid = instances.filter(|document| target.accepts(document)).map(|document| document.to_string());
            messages.extend(valid.filter(|text| text.len() <= longest).take(6).map(|text| (target, text)));
        }
    }
    messages
}

const MESSAGE_TYPES: &[&str] = &[
    "ClientMessage",
    "ServerMessage",
    "ClientRequest",
    "ClientNotification",
    "ServerRequest",
    "ServerNotification",
    "JSONRPCMessage",
];

#[test]
fn rejects_truncated_messages() {
    shared(|| {
        let messages = messages(800);
        assert!(messages.len() > 100, "only {} messages", messages.len());
        for (target, message) in messages {
            expect(target, message.as_bytes(), true);
            for length in 0..message.len() {
                let rest = &message.as_bytes()[..length];
                // A truncated number may still be a number.
                assert!(!accepts(target, rest) || serde_json::from_slice::<Value>(rest).is_ok(), "{target}: {message}");
            }
        }
    });
}

#[test]
fn all_decoding_functions_agree_on_flipped_bytes() {
    shared(|| {
        let bytes = br#""\{}[],:0-e t"#;
        for (target, message) in messages(250).iter().step_by(7) {
            let mut flipped = message.clone().into_bytes();
            for at in 0..flipped.len() {
                for byte in bytes.iter().copied().chain([0, 0x80, 0xff, flipped[at] ^ 1]) {
                    let kept = std::mem::replace(&mut flipped[at], byte);
                    accepts(target, &flipped);
                    flipped[at] = kept;
                }
            }
        }
    });
}

// Huge documents

/// The size of most huge documents, in bytes.
fn huge() -> usize {
    if is_thorough() { 50 << 20 } else { 10 << 20 }
}

/// The number of items, members or duplicates in most of the other documents.
fn many() -> usize {
    if is_thorough() { 1_000_000 } else { 200_000 }
}

struct Huge {
    name: &'static str,
    decode: fn(&str) -> Result<Box<dyn Any>, Error>,
    /// The document, with `@` in place of the huge part.
    template: &'static str,
    part: fn() -> String,
    /// The number of values. Each takes some memory, however short it is.
    values: fn() -> usize,
    accepted: bool,
}

fn decode<T: Decode + 'static>(text: &str) -> Result<Box<dyn Any>, Error> {
    mcpgen_types::from_str::<T>(text).map(|value| Box::new(value) as Box<dyn Any>)
}

fn plain() -> String {
    "a".repeat(huge())
}

fn escapes() -> String {
    r"\u00e9\n".repeat(huge() / 8)
}

fn digits() -> String {
    "1".repeat(huge())
}

fn items(item: &str) -> String {
    let mut text = format!("{item},").repeat(many());
    text.pop();
    text
}

fn members() -> String {
    let mut text = String::new();
    (0..many()).for_each(|index| write!(text, r#""m{index}":1,"#).expect("writing to a string never fails"));
    text.pop();
    text
}

macro_rules! huge {
    ($($type:ty, $name:literal, $template:literal, $part:expr, $values:expr, $accepted:literal;)*) => {
        &[$(Huge {
            name: $name,
            decode: decode::<$type>,
            template: $template,
            part: || $part,
            values: || $values,
            accepted: $accepted,
        }),*]
    };
}

const HUGE_DOCUMENTS: &[Huge] = huge! {
    legacy::TextContent, "string", r#"{"type":"text","text":"@"}"#, plain(), 1, true;
    legacy::TextContent, "string of escapes", r#"{"type":"text","text":"@"}"#, escapes(), 1, true;
    legacy::ImageContent, "base64", r#"{"type":"image","data":"@","mimeType":""}"#, plain(), 1, true;
    legacy::ContentBlock, "string before the tag", r#"{"text":"@","type":"text"}"#, plain(), 1, true;
    legacy::TextContent, "unknown string", r#"{"type":"text","text":"","x":"@"}"#, plain(), 1, true;
    legacy::TextContent, "unknown name", r#"{"type":"text","text":"","@":1}"#, plain(), 1, true;
    legacy::ContentBlock, "name before the tag", r#"{"@":1,"type":"text","text":""}"#, plain(), 1, true;
    Value, "string in a value", r#"["@"]"#, plain(), 1, true;
    legacy::CallToolRequestParams, "string in arguments", r#"{"name":"","arguments":{"a":"@"}}"#, plain(), 1, true;
    Json, "undecoded string", r#""@""#, plain(), 1, true;
    legacy::ServerMessage, "raw result", r#"{"jsonrpc":"2.0","id":1,"result":{"a":"@"}}"#, plain(), 1, true;
    legacy::ServerMessage, "raw lines", r#"{"id":1,"jsonrpc":"2.0","result":{"a":[@]}}"#, items("\n1"), many(), true;
    legacy::ClientMessage, "params", r#"{"method":"ping","params":{"x":"@"},"id":1,"jsonrpc":"2.0"}"#, plain(), 1, true;
    legacy::ClientMessage, "params first",
        r#"{"params":{"x":"@"},"id":1,"jsonrpc":"2.0","method":"ping"}"#, plain(), 1, true;
    legacy::ClientMessage, "id", r#"{"method":"ping","id":"@","jsonrpc":"2.0"}"#, plain(), 1, true;
    legacy::ProgressNotificationParams, "integer", r#"{"progressToken":1,"progress":@}"#, digits(), 1, false;
    legacy::ProgressNotificationParams, "fraction", r#"{"progressToken":1,"progress":0.@}"#, digits(), 1, true;
    legacy::ProgressNotificationParams, "exponent", r#"{"progressToken":1,"progress":1e@}"#, digits(), 1, false;
    legacy::ProgressNotificationParams, "small", r#"{"progressToken":1,"progress":1e-@}"#, digits(), 1, true;
    legacy::ServerMessage, "raw digits", r#"{"jsonrpc":"2.0","id":1,"result":{"a":@}}"#, digits(), 1, false;
    // These are rejected with a short message.
    legacy::TextContent, "wrong constant", r#"{"type":"@"}"#, plain(), 1, false;
    legacy::LoggingLevel, "wrong enum value", r#""@""#, escapes(), 1, false;
    legacy::ContentBlock, "wrong tag", r#"{"type":"@"}"#, escapes(), 1, false;
    legacy::ClientMessage, "wrong version", r#"{"jsonrpc":"@"}"#, plain(), 1, false;
    legacy::ClientMessage, "wrong method", r#"{"jsonrpc":"2.0","id":1,"method":"@"}"#, plain(), 1, false;
    legacy::ClientRequest, "wrong method of a request", r#"{"jsonrpc":"2.0","id":1,"method":"@"}"#, escapes(), 1, false;
    legacy::ElicitRequestFormParams, "path",
        r#"{"message":"","requestedSchema":{"type":"object","properties":{"@":{"type":1}}}}"#, plain(), 1, false;
    Value, "never ends", r#"["@]"#, plain(), 1, false;
    // Many values.
    Value, "items of a value", "[@]", items("1"), many(), true;
    Value, "arrays in a value", "[@]", items("[1]"), 2 * many(), true;
    Value, "members of a value", "{@}", members(), many(), true;
    legacy::CallToolRequestParams, "members of arguments", r#"{"name":"","arguments":{@}}"#, members(), many(), true;
    legacy::CallToolRequestParams, "small objects in arguments",
        r#"{"name":"","arguments":{"a":[@]}}"#, items(r#"{"a":1}"#), many(), true;
    legacy::CallToolRequestParams, "deep arrays in arguments",
        r#"{"name":"","arguments":{"a":[@]}}"#, items("[[[[[[[[0]]]]]]]]"), many(), true;
    legacy::CallToolRequestParams, "empty strings in arguments",
        r#"{"name":"","arguments":{"a":[@]}}"#, items(r#""""#), many(), true;
    legacy::CallToolRequestParams, "numbers in arguments", r#"{"name":"","arguments":{"a":[@]}}"#, items("0"), many(), true;
    legacy::CallToolRequestParams, "escapes in arguments", r#"{"name":"","arguments":{"a":"@"}}"#, escapes(), 1, true;
    Json, "members of undecoded JSON", "{@}", members(), many(), true;
    legacy::CreateMessageRequestParams, "strings",
        r#"{"messages":[],"maxTokens":1,"stopSequences":[@]}"#, items(r#""""#), many(), true;
    legacy::CallToolResult, "content blocks", r#"{"content":[@]}"#, items(r#"{"type":"text","text":""}"#), many(), true;
    legacy::ListToolsResult, "tools",
        r#"{"tools":[@]}"#, items(r#"{"name":"","inputSchema":{"type":"object"}}"#), many(), true;
    legacy::Tool, "unknown members", r#"{"name":"","inputSchema":{"type":"object"},@}"#, members(), many(), true;
    legacy::ContentBlock, "members before the tag", r#"{@,"type":"text","text":""}"#, members(), many(), true;
    legacy::ClientMessage, "members before the method",
        r#"{@,"method":"ping","id":1,"jsonrpc":"2.0"}"#, members(), many(), true;
    legacy::ServerMessage, "members of a response", r#"{@,"result":{},"id":1,"jsonrpc":"2.0"}"#, members(), many(), true;
    legacy::ClientMessage, "members without a message", "{@}", members(), many(), false;
    legacy::ServerMessage, "many in a raw result", r#"{"result":{@},"id":1,"jsonrpc":"2.0"}"#, members(), 1, true;
    legacy::Tool, "unknown duplicates",
        r#"{"name":"","inputSchema":{"type":"object"},@}"#, items(r#""x":1"#), many(), true;
    legacy::ContentBlock, "duplicates before the tag", r#"{@,"type":"text","text":""}"#, items(r#""x":1"#), many(), true;
    legacy::Tool, "known duplicates", "{@}", items(r#""name":"""#), many(), false;
    legacy::ContentBlock, "duplicate tags", "{@}", items(r#""type":"text""#), many(), false;
    legacy::ClientMessage, "duplicate params", "{@}", items(r#""params":{}"#), many(), false;
    modern::JsonValue, "values of a generated type", "[@]", items("[]"), many(), true;
};

/// The documents whose huge part is free-form JSON. Each has two limits per byte of its text: the bytes that may be in
/// use at the same time, mostly for the index, and the bytes that the decoded value may take.
const FREE_FORM: &[(&str, f64, f64)] = &[
    ("string in arguments", 1.2, 1.2),
    ("undecoded string", 1.2, 1.2),
    ("members of arguments", 7.0, 1.2),
    ("small objects in arguments", 7.0, 1.2),
    // Each bracket has an entry of eight bytes in the index.
    ("deep arrays in arguments", 12.0, 1.2),
    ("empty strings in arguments", 7.0, 1.2),
    ("numbers in arguments", 7.0, 1.2),
    ("escapes in arguments", 1.2, 1.2),
    ("members of undecoded JSON", 7.0, 1.2),
    ("many in a raw result", 7.0, 1.2),
    ("unknown string", 2.0, 2.0),
    ("unknown members", 7.0, 2.0),
    ("unknown duplicates", 7.0, 2.0),
];

/// Returns the bytes that decoding a document may use: some per byte, some per value, and a constant.
fn memory_limit(bytes: usize, values: usize) -> usize {
    6 * bytes + 800 * values + (16 << 20)
}

#[test]
fn huge_documents_use_bounded_memory_and_short_errors() {
    let _guard = HEAP_LOCK.write().unwrap_or_else(PoisonError::into_inner);
    let mut table = String::from(
        "\n| document | MB | peak per byte | held per byte | peak per value | ms |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for Huge { name, decode, template, part, values, accepted } in HUGE_DOCUMENTS {
        let (document, values) = (template.replace('@', &part()), values());
        let before = HEAP.current_usage();
        HEAP.reset_peak_usage();
        let start = Instant::now();
        let decoded = decode(&document);
        let (elapsed, peak) = (start.elapsed().as_millis(), HEAP.peak_usage().saturating_sub(before));
        let held = HEAP.current_usage().saturating_sub(before);
        assert_eq!(decoded.is_ok(), *accepted, "{name}: {:?}", decoded.map_err(|error| error.to_string()));
        assert!(peak <= memory_limit(document.len(), values), "{name}: {peak} bytes for {}", document.len());
        if let Err(error) = decoded {
            let message = error.to_string();
            assert!(message.chars().count() <= LONGEST_ERROR, "{name}: {message}");
        }
        let per_byte = |bytes: usize| bytes as f64 / document.len() as f64;
        let (peak_per_byte, held_per_byte) = (per_byte(peak), per_byte(held));
        if let Some((_, most, kept)) = FREE_FORM.iter().find(|(free_form, ..)| free_form == name) {
            assert!(peak_per_byte <= *most, "{name}: takes {peak_per_byte:.2} bytes for each byte");
            assert!(held_per_byte <= *kept, "{name}: holds {held_per_byte:.2} bytes for each byte");
        }
        let (size, per_value) =
            (document.len() >> 20, if values > 1 { (peak / values).to_string() } else { String::new() });
        let _ =
            writeln!(table, "| {name} | {size} | {peak_per_byte:.1} | {held_per_byte:.2} | {per_value} | {elapsed} |");
    }
    // Writes to stderr directly, because the test harness hides what a passing test prints.
    let _ = std::io::stderr().write_all(table.as_bytes());
}

/// An error message shows only the two ends of a long path. [`Error::path`] returns the whole path.
#[test]
fn errors_with_long_paths_have_short_messages() {
    shared(|| {
        let key = "k".repeat(10_000);
        let deep: Value = (0..90).fold(Value::Null, |value, _| Value::Object(Map::from_iter([(key.clone(), value)])));
        let text = format!(r#"{{"a":{}"#, deep).replace("null", "nul");
        let error = mcpgen_types::from_str::<Value>(&text).expect_err("not JSON");
        assert_eq!(error.path().len(), 2 + 90 * 10_001);
        let message = error.to_string();
        assert!(message.chars().count() < LONGEST_ERROR && message.contains('…'), "{message}");
        assert!(message.starts_with(r#"JSON value: a["kkk"#), "{message}");
    });
}
