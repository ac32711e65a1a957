//! Checks that decoding and encoding lose no data and give the same results, with every set of serde_json's features.

#![allow(deprecated, reason = "the tests include deprecated types")]

use mcpgen_serde_json_features::Order::{Free, Kept};
use mcpgen_serde_json_features::{Json, Number};
use mcpgen_types::codec::{Decode, Encode};
use mcpgen_types::v2026_07_28::{
    CallToolResult, ClientMessage, CreateMessageRequestParams, ElicitResult, JsonValue, ListToolsResult, NumberSchema,
    ProgressNotification, Resource, ServerMessage,
};
use mcpgen_types::{ErrorKind, Json as OurJson, JsonObject, Number as OurNumber, RequestId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Numbers at the limits of each type, and in every form that JSON allows.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "0.0",
    "-0.0",
    "0e5",
    "-0E-5",
    "1",
    "-1",
    "1.0",
    "-1.0",
    "1e3",
    "1E+3",
    "10e-1",
    "1.5e1",
    "0.1",
    "-0.1",
    "0.30000000000000004",
    "1e23",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "-9007199254740993",
    "9007199254740992.0",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "9223372036854775807.0",
    "-9223372036854775808.0",
    "9.223372036854775e18",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551615.0",
    "-18446744073709551616",
    "36893488147419103232",
    "1e19",
    "-1e19",
    "340282366920938463463374607431768211455",
    "340282366920938463463374607431768211456",
    "-170141183460469231731687303715884105729",
    "123456789012345678901234567890",
    "1.7976931348623157e308",
    "-1.7976931348623157e308",
    "2.2250738585072014e-308",
    "2.2250738585072011e-308",
    "5e-324",
    "-5e-324",
    "1e-400",
    "4.35",
    "0.1000000000000000055511151231257827",
    "100000000000000000000000e-23",
    "1.50",
];

/// Strings with escapes, and strings that parsers may mistake for something else when they are member names.
const STRINGS: &[&str] = &[
    "",
    "plain",
    "\"",
    "\\",
    "/",
    "\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}",
    "é ß 𝄞 \u{2028}",
    "\\u0041",
    "1.5",
    "null",
    "$serde_json::private::Number",
    "$serde_json::private::RawValue",
];

/// A type, and a document of that type with a number in it.
struct Place {
    name: &'static str,
    document: fn(&str) -> String,
    /// The range of integers that the type accepts, or `None` if it accepts any number.
    integers: Option<(i128, i128)>,
    recode: fn(&Json) -> Result<Json, Rejection>,
    /// Decodes a document. Returns the error message, or an empty string.
    error: fn(&str) -> String,
}

const SIGNED: Option<(i128, i128)> = Some((i64::MIN as i128, i64::MAX as i128));
const UNSIGNED: Option<(i128, i128)> = Some((0, u64::MAX as i128));

macro_rules! places {
    ($($type:ty, $integers:expr, $before:literal $after:literal;)*) => {
        &[$(Place {
            name: stringify!($type),
            document: |number| [$before, number, $after].concat(),
            integers: $integers,
            recode: recode::<$type>,
            error: |text| mcpgen_types::from_str::<$type>(text).map_or_else(|error| error.to_string(), |_| String::new()),
        }),*]
    };
}

const PLACES: &[Place] = places! {
    Value, None, "" "";
    OurNumber, None, "" "";
    JsonValue, None, "[" "]";
    JsonObject, None, r#"{"a": ["# "]}";
    OurJson, None, r#"{"a": ["# "]}";
    i64, SIGNED, "" "";
    u64, UNSIGNED, "" "";
    RequestId, SIGNED, "" "";
    CallToolResult, None, r#"{"content": [], "resultType": "complete", "structuredContent": {"n": "# "}}";
    CallToolResult, None, r#"{"content": [], "resultType": "complete", "unknown": "# "}";
    CallToolResult, None, r#"{"content": [{"type": "text", "text": "", "n": "# r#"}], "resultType": "complete"}"#;
    CallToolResult, None, r#"{"content": [{"n": ["# r#"], "type": "text", "text": ""}], "resultType": "complete"}"#;
    ProgressNotification, None, r#"{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": "# "}}";
    ProgressNotification, SIGNED, r#"{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1, "progressToken": "# "}}";
    ElicitResult, None, r#"{"action": "accept", "content": {"n": "# "}}";
    NumberSchema, None, r#"{"type": "number", "maximum": "# "}";
    Resource, SIGNED, r#"{"name": "n", "uri": "a:b", "size": "# "}";
    CreateMessageRequestParams, SIGNED, r#"{"messages": [], "maxTokens": "# "}";
    ListToolsResult, UNSIGNED, r#"{"cacheScope": "public", "resultType": "complete", "tools": [], "ttlMs": "# "}";
    ClientMessage, SIGNED, r#"{"jsonrpc": "2.0", "method": "server/discover", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}, "id": "# "}";
    ClientMessage, None, r#"{"jsonrpc": "2.0", "id": "i", "params": {"arguments": {"n": "# r#"}, "name": "t", "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}}, "method": "tools/call"}"#;
    ServerMessage, SIGNED, r#"{"jsonrpc": "2.0", "result": {}, "id": "# "}";
    ServerMessage, None, r#"{"id": 1, "jsonrpc": "2.0", "result": {"n": ["# "]}}";
    ServerMessage, None, r#"{"id": 1, "jsonrpc": "2.0", "result": {}, "unknown": "# "}";
    ServerMessage, None, r#"{"id": 1, "jsonrpc": "2.0", "error": {"code": 1, "message": "", "data": "# "}}";
    ServerMessage, SIGNED, r#"{"id": 1, "jsonrpc": "2.0", "error": {"message": "", "code": "# "}}";
};

#[derive(Debug, PartialEq)]
struct Rejection {
    kind: ErrorKind,
    path: String,
}

impl From<mcpgen_types::Error> for Rejection {
    fn from(error: mcpgen_types::Error) -> Self {
        Self { kind: error.kind().clone(), path: error.path() }
    }
}

/// Decodes and encodes with every function. Panics if their results differ.
fn recode<T>(document: &Json) -> Result<Json, Rejection>
where
    T: Decode + Encode + PartialEq + Serialize + DeserializeOwned,
{
    let text = document.text(&mut |_| false);
    let by_text = mcpgen_types::from_str::<T>(&text);
    let others = [
        ("a string with escapes", mcpgen_types::from_str::<T>(&document.text(&mut |_| true))),
        ("bytes", mcpgen_types::from_slice(text.as_bytes())),
        ("a reader", mcpgen_types::from_reader(text.as_bytes())),
        ("a Value", mcpgen_types::from_value(document.to_value())),
    ];
    for (name, decoded) in others {
        match (&by_text, &decoded) {
            (Ok(a), Ok(b)) => {
                let (a, b) = (mcpgen_types::to_string(a), mcpgen_types::to_string(b));
                assert!(Json::parse(&a).same(&Json::parse(&b), Free), "{text}\nfrom text: {a}\nfrom {name}: {b}");
            }
            (Err(a), Err(b)) => assert_eq!((a.kind(), a.path()), (b.kind(), b.path()), "from {name}: {text}"),
            (a, b) => panic!("{text}\nfrom text: {:?}\nfrom {name}: {:?}", a.as_ref().err(), b.as_ref().err()),
        }
    }
    let encoded = encode(&by_text?, &text);
    // serde_json uses this member name internally to represent numbers.
    if !text.contains("$serde_json::private::Number") {
        through_serde::<T>(document, &text, &encoded);
    }
    Ok(encoded)
}

/// Encodes with every function. Panics if their results differ.
fn encode<T: Encode>(value: &T, text: &str) -> Json {
    let encoded = Json::parse(&mcpgen_types::to_string(value));
    let bytes = mcpgen_types::to_vec(value);
    assert_eq!(encoded, Json::parse(&String::from_utf8_lossy(&bytes)), "{text}");
    match mcpgen_types::to_value(value) {
        Ok(value) => {
            assert!(encoded.same(&Json::of(&value), Free), "{text}\nas text: {encoded:?}\nas a Value: {value}")
        }
        Err(error) => panic!("{text}: cannot convert to a Value: {error}"),
    }
    encoded
}

/// Decodes and encodes with serde's traits if the type is from this repository. Panics if the results differ from
/// `encoded`.
fn through_serde<T>(document: &Json, text: &str, encoded: &Json)
where
    T: Serialize + DeserializeOwned,
{
    // serde's impls for `i64` and `u64` accept integers in one form only.
    let name = std::any::type_name::<T>();
    if !name.contains("::") {
        return;
    }
    // serde_json replaces an object that has this key with the document in the key's string. Our types do not.
    if text.contains("$serde_json::private::RawValue") && !name.starts_with("mcpgen_types::") {
        return;
    }
    let agrees = |what: &str, result: serde_json::Result<T>| {
        let value = result.unwrap_or_else(|error| panic!("{what} rejects {text}: {error}"));
        let again = serde_json::to_string(&value).unwrap_or_else(|error| panic!("{what}: {text}: {error}"));
        assert!(Json::parse(&again).same(encoded, Free), "{what}: {text}\n{again}");
        let again = serde_json::to_value(&value).unwrap_or_else(|error| panic!("{what}: {text}: {error}"));
        assert!(Json::of(&again).same(encoded, Free), "{what}: {text}\n{again}");
    };
    agrees("serde_json::from_str", serde_json::from_str(text));
    agrees("serde_json::from_value", serde_json::from_value(document.to_value()));
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random finite double. One in eight is subnormal or zero, and one in eight is integral.
    fn double(&mut self) -> f64 {
        loop {
            let bits = self.next();
            let double = match self.next() % 8 {
                0 => f64::from_bits(bits & !(0x7ff << 52)),
                1 => bits.cast_signed() as f64,
                _ => f64::from_bits(bits),
            };
            if double.is_finite() {
                return double;
            }
        }
    }

    /// Returns a random 64-bit integer of any magnitude.
    fn integer(&mut self) -> String {
        let bits = self.next() >> (self.next() % 64);
        if self.next().is_multiple_of(2) {
            bits.to_string()
        } else {
            (bits >> 1).cast_signed().wrapping_neg().to_string()
        }
    }
}

fn random_numbers(rounds: usize) -> Vec<String> {
    let mut random = Random(20_261_121);
    let round = |_| {
        let double = random.double();
        [format!("{double:?}"), format!("{double:e}"), random.integer(), format!("{}.0", random.next() >> 11)]
    };
    (0..rounds).flat_map(round).collect()
}

#[test]
fn keeps_every_number_in_every_place() {
    let (mut kept, mut rejected) = (0, 0);
    let fixed = NUMBERS.iter().map(|&number| number.to_owned());
    for number in fixed.chain(random_numbers(12)) {
        let value = Number::read(&number);
        for place in PLACES {
            let document = Json::parse(&(place.document)(&number));
            let is_valid = place
                .integers
                .is_none_or(|(least, most)| value.integer().is_some_and(|integer| (least..=most).contains(&integer)));
            match (place.recode)(&document) {
                Ok(again) => {
                    assert!(is_valid, "{} accepts {number}", place.name);
                    assert!(document.same(&again, Free), "{}: {document:?} becomes {again:?}", place.name);
                    kept += 1;
                }
                Err(rejection) => {
                    assert!(!is_valid, "{} rejects {number}: {rejection:?}", place.name);
                    rejected += 1;
                }
            }
        }
    }
    println!("{kept} numbers kept, {rejected} rejected");
    assert!(kept > 2000 && rejected > 500);
}

#[test]
fn keeps_random_numbers() {
    let numbers = random_numbers(800);
    for chunk in numbers.chunks(500) {
        let document = Json::Array(chunk.iter().cloned().map(Json::Number).collect());
        for recode in [recode::<Value>, recode::<JsonValue>, recode::<Vec<OurNumber>>, recode::<OurJson>] {
            let again = recode(&document).unwrap_or_else(|rejection| panic!("{rejection:?}: {document:?}"));
            assert!(again.same(&document, Kept), "{document:?}\nbecomes {again:?}");
        }
    }
}

/// A type without a numeric range also keeps the form of a number, and free-form JSON keeps its text.
#[test]
fn keeps_the_form_of_numbers() {
    let table = [
        ("0", "0"),
        ("-0.0", "-0.0"),
        ("1", "1"),
        ("1.0", "1.0"),
        ("-1.0", "-1.0"),
        ("1e3", "1000.0"),
        ("1.50", "1.5"),
        ("9007199254740993", "9007199254740993"),
        ("18446744073709551615", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
    ];
    let ours = |text: &str| mcpgen_types::from_str::<OurNumber>(text).map(|number| number.to_string());
    let by_value = |text: &str| {
        mcpgen_types::from_value::<OurNumber>(Json::parse(text).to_value()).map(|number| number.to_string())
    };
    let value = |text: &str| mcpgen_types::from_str::<Value>(text).map(|number| number.to_string());
    for (text, form) in table {
        for (name, written) in [("Number", ours(text)), ("Number from a Value", by_value(text)), ("Value", value(text))]
        {
            assert_eq!(written.as_deref().ok(), Some(form), "{name}: {text}");
        }
        let result =
            format!(r#"{{"content":[],"n":{text},"resultType":"complete","structuredContent":{{"n":[{text}]}}}}"#);
        let decoded: CallToolResult = mcpgen_types::from_str(&result).expect("a result");
        assert_eq!(decoded.extra.get("n").map(|number| number.to_string()).as_deref(), Some(text));
        assert_eq!(decoded.structured_content.map(|content| content.to_string()), Some(format!(r#"{{"n":[{text}]}}"#)));
    }
}

/// All types report the same error for numbers beyond the range of doubles.
#[test]
fn rejects_numbers_out_of_range() {
    for number in ["1e309", "-1e309", "1e999999999999", "17976931348623157e400"] {
        for place in PLACES {
            let text = (place.document)(number);
            let error = (place.error)(&text);
            assert!(error.contains("number out of range"), "{}: {text}: {error}", place.name);
        }
    }
}

fn string_documents() -> Vec<Json> {
    let mut documents = Vec::new();
    for string in STRINGS {
        for other in ["1.5", "\"\\\0", "$serde_json::private::Number", "$serde_json::private::RawValue"] {
            let value = |text: &str| Json::String(text.to_owned());
            let object = |members: &[(&str, Json)]| {
                Json::Object(members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
            };
            documents.push(object(&[(string, value(other))]));
            documents.push(object(&[(string, Json::Number("1.5".to_owned())), ("z", value(other)), ("a", Json::Null)]));
            documents
                .push(object(&[(string, object(&[(other, value("1.5")), ("b", Json::Array(vec![value(string)]))]))]));
        }
    }
    // Excludes documents with duplicate names.
    documents.retain(|document| !matches!(document, Json::Object(members) if members.iter().skip(1).any(|(name, _)| *name == members[0].0)));
    documents
}

/// Covers strings, member names that serde_json reserves, and the order of members.
#[test]
fn keeps_strings_names_and_order() {
    let around =
        |before: &str, inner: &Json, after: &str| Json::parse(&[before, &inner.text(&mut |_| false), after].concat());
    let order = if cfg!(feature = "preserve_order") { Kept } else { Free };
    for inner in string_documents() {
        let check = |document: &Json, recode: fn(&Json) -> Result<Json, Rejection>, order| {
            let again = recode(document).unwrap_or_else(|rejection| panic!("{document:?}: {rejection:?}"));
            assert!(again.same(document, order), "{document:?} becomes {again:?}");
        };
        check(&inner, recode::<Value>, order);
        check(&inner, recode::<JsonObject>, Kept);
        check(&inner, recode::<JsonValue>, Kept);
        check(&inner, recode::<OurJson>, Kept);
        check(
            &around(r#"{"content": [], "structuredContent": "#, &inner, r#", "resultType": "complete"}"#),
            recode::<CallToolResult>,
            Free,
        );
        check(
            &around(r#"{"content": [], "resultType": "complete", "_meta": {"m": "#, &inner, "}}"),
            recode::<CallToolResult>,
            Free,
        );
        check(&around(r#"{"jsonrpc": "2.0", "id": 1, "result": "#, &inner, "}"), recode::<ServerMessage>, Free);
        let result = around(r#"{"content": [], "structuredContent": "#, &inner, r#", "resultType": "complete"}"#);
        let again = recode::<CallToolResult>(&result).unwrap_or_else(|rejection| panic!("{rejection:?}"));
        let structured = again.get("structuredContent").unwrap_or(&Json::Null);
        assert!(structured.same(&inner, Kept), "{inner:?} becomes {structured:?}");
        let response = around(r#"{"jsonrpc": "2.0", "id": 1, "result": "#, &inner, "}");
        let again = recode::<ServerMessage>(&response).unwrap_or_else(|rejection| panic!("{rejection:?}"));
        assert_eq!(again.get("result"), Some(&inner), "a result that is not decoded");
    }
}

/// Numbers do not count as containers, even if serde_json represents them as maps.
#[test]
fn counts_depth_equally_with_all_features() {
    let nested = |depth: usize| [&"[".repeat(depth), "1.5", &"]".repeat(depth)].concat();
    assert!(recode::<Value>(&Json::parse(&nested(100))).is_ok());
    let rejection = recode::<Value>(&Json::parse(&nested(101))).expect_err("deeper than the limit");
    assert_eq!(rejection.kind, ErrorKind::Depth);
}

/// The tests above rely on this.
#[test]
fn serde_json_has_the_features_of_this_build() {
    let precise = "1.50".parse::<serde_json::Number>().is_ok_and(|number| number.to_string() == "1.50");
    assert_eq!(precise, cfg!(feature = "arbitrary_precision"));
    let members: serde_json::Map<String, Value> =
        [("b", 1), ("a", 2)].into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    assert_eq!(members.keys().next().is_some_and(|name| name == "b"), cfg!(feature = "preserve_order"));
    // mcpgen-types enables float_roundtrip. Without it, serde_json parses one double in ten as an adjacent one.
    let mut random = Random(7);
    for double in std::iter::repeat_with(|| random.double()).take(1000) {
        let read: Option<f64> = serde_json::from_str(&format!("{double:?}")).ok();
        assert_eq!(read, Some(double));
    }
}
