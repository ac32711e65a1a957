//! Decodes types with serde impls from a cursor. The values equal those of serde_json, except that `5.0` is an integer.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::net::IpAddr;

use mcpgen_types::Json;
use mcpgen_types::codec::Document;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

#[derive(Debug, Deserialize, PartialEq)]
struct Unit;

#[derive(Debug, Deserialize, PartialEq)]
struct Newtype(u8);

#[derive(Debug, Deserialize, PartialEq)]
struct Pair(i32, Option<String>);

#[derive(Debug, Deserialize, PartialEq)]
struct Point {
    x: f64,
    #[serde(default)]
    y: Option<f64>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Strict {
    x: i8,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Flattened {
    x: u32,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize, PartialEq)]
enum External {
    A,
    B(u8),
    C(u8, String),
    D { x: i64 },
    E(Option<u8>),
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "kind")]
enum Internal {
    A,
    B { x: i64 },
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "kind", content = "x")]
enum Adjacent {
    A,
    B(i64),
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Untagged {
    Number(u64),
    Text(String),
    List(Vec<Untagged>),
    Point { x: i64 },
}

#[derive(Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
enum Key {
    A,
    B,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Borrowed<'a> {
    x: &'a str,
    #[serde(borrow, default)]
    y: Cow<'a, str>,
}

const DOCUMENTS: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-1",
    "7",
    "127",
    "128",
    "255",
    "256",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "-9223372036854775808",
    "-0",
    "1.0",
    "1.5",
    "1e2",
    "-1.7976931348623157e308",
    r#""""#,
    r#""a""#,
    r#""A""#,
    r#""B""#,
    r#""\u0041""#,
    r#""ab""#,
    r#""\n\ud83e\udd80""#,
    r#""127.0.0.1""#,
    "[]",
    "[1]",
    "[1, null]",
    r#"[1, "a"]"#,
    r#"[1, "a", 2]"#,
    "[1.5, 2.5]",
    r#"["a", "b"]"#,
    "[[1, 2], [3]]",
    r#"[3, "x", {"x": 1}]"#,
    "{}",
    r#"{"x": 1}"#,
    r#"{"\u0078": 1}"#,
    r#"{"x": null}"#,
    r#"{"x": "a"}"#,
    r#"{"x": "a\n"}"#,
    r#"{"x": "a", "y": "b\n"}"#,
    r#"{"x": 1, "y": 2.5}"#,
    r#"{"x": 1, "y": null, "z": [1, {"a": "b"}]}"#,
    r#"{"x": 1, "x": 2}"#,
    r#"{"A": null}"#,
    r#"{"A": 1}"#,
    r#"{"B": 1}"#,
    r#"{"B": 256}"#,
    r#"{"C": [1, "a"]}"#,
    r#"{"C": [1, "a", 2]}"#,
    r#"{"C": [1]}"#,
    r#"{"D": {"x": 1}}"#,
    r#"{"D": {"x": 1, "y": 2}}"#,
    r#"{"D": {}}"#,
    r#"{"D": [1]}"#,
    r#"{"E": null}"#,
    r#"{"E": 3}"#,
    r#"{"A": null, "B": 1}"#,
    r#"{"F": 1}"#,
    r#"{"kind": "A"}"#,
    r#"{"x": 1, "kind": "B"}"#,
    r#"{"kind": "B", "x": 1}"#,
    r#"{"kind": "C"}"#,
    r#"{"1": "a", "-2": "b"}"#,
    r#"{"1": "a", "2": "b"}"#,
    r#"{"1.5": 1}"#,
    r#"{"true": 1, "false": 2}"#,
    r#"{"a": 1, "b": 2}"#,
    r#"{"a": {"x": 1}, "b": {"x": 2.5, "y": 1}}"#,
    r#"{"$serde_json::private::Number": "1"}"#,
];

#[test]
fn deserializes_like_serde_json() {
    for text in DOCUMENTS {
        check::<()>(text);
        check::<bool>(text);
        check::<i8>(text);
        check::<i16>(text);
        check::<i32>(text);
        check::<i64>(text);
        check::<u8>(text);
        check::<u16>(text);
        check::<u32>(text);
        check::<u64>(text);
        check::<f64>(text);
        check::<char>(text);
        check::<String>(text);
        check::<Option<String>>(text);
        check::<Option<Vec<u8>>>(text);
        check::<Vec<f64>>(text);
        check::<BTreeSet<String>>(text);
        check::<[u8; 1]>(text);
        check::<(u8, String)>(text);
        check::<(u8, Option<u8>)>(text);
        check::<BTreeMap<String, u8>>(text);
        check::<BTreeMap<i8, String>>(text);
        check::<BTreeMap<u64, String>>(text);
        check::<BTreeMap<bool, u8>>(text);
        check::<BTreeMap<Key, u8>>(text);
        check::<BTreeMap<String, Point>>(text);
        check::<IpAddr>(text);
        check::<Unit>(text);
        check::<Newtype>(text);
        check::<Pair>(text);
        check::<Point>(text);
        check::<Strict>(text);
        check::<Flattened>(text);
        check::<External>(text);
        check::<Internal>(text);
        check::<Adjacent>(text);
        check::<Untagged>(text);
        check::<Borrowed<'_>>(text);
        check::<Box<External>>(text);
        check::<Vec<External>>(text);
    }
}

/// Checks that a cursor and serde_json decode the text to the same value, or that both fail.
fn check<'a, T: Deserialize<'a> + Debug + PartialEq>(text: &'a str) {
    // A value that borrows from the document must not live as long as the text.
    let document = Box::leak(Box::new(Document::read(text).expect(text)));
    let ours = document.root().deserialize::<T>();
    let theirs = serde_json::from_str::<T>(text).or_else(|error| match ours.is_ok() {
        true => serde_json::from_str::<T>(Box::leak(with_whole_integers(text).into_boxed_str())),
        false => Err(error),
    });
    assert_eq!(
        ours.as_ref().ok(),
        theirs.as_ref().ok(),
        "{}: {text}: {ours:?}, {theirs:?}",
        std::any::type_name::<T>()
    );
}

/// In JSON Schema, a number whose fraction is zero is an integer.
#[test]
fn decodes_integers_with_a_fraction_of_zero() {
    fn check<T: DeserializeOwned + Debug + PartialEq>(text: &str, expected: Option<T>) {
        let decoded = Json::parse(text).unwrap().deserialize::<T>();
        assert_eq!(decoded.as_ref().ok(), expected.as_ref(), "{}: {text}: {decoded:?}", std::any::type_name::<T>());
    }
    check("5.0", Some(5_u8));
    check("-5.0", Some(-5_i8));
    check("1e2", Some(100_u32));
    check("-0.0", Some(0_u64));
    check("18446744073709549568.0", Some(18_446_744_073_709_549_568_u64));
    check("5.0", Some(5_i128));
    check("[1.0, 2]", Some(vec![1_i64, 2]));
    check(r#"{"x": 1.0}"#, Some(Strict { x: 1 }));
    check(r#"{"D": {"x": -3.0}}"#, Some(External::D { x: -3 }));
    check::<Option<u16>>("7.0", Some(Some(7)));
    check::<u8>("256.0", None);
    check::<u8>("-1.0", None);
    check::<i64>("5.5", None);
    check::<i64>("9223372036854775808.0", None);
    check::<u64>("1e300", None);
    check("5.0", Some(5.0_f64));
    check("5.0", Some(serde_json::json!(5.0)));
}

/// Replaces numbers whose fraction is zero with integers, because serde_json does not accept them as integers.
fn with_whole_integers(text: &str) -> String {
    fn replace(value: &mut Value) {
        match value {
            Value::Number(number) => {
                if let Some(whole) = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 1e15) {
                    *value = Value::from(whole as i64);
                }
            }
            Value::Array(elements) => elements.iter_mut().for_each(replace),
            Value::Object(members) => members.values_mut().for_each(replace),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).expect("JSON");
    replace(&mut value);
    value.to_string()
}

#[test]
fn skips_ignored_values() {
    let document = Document::read(r#"[1, {"a": [null]}]"#).unwrap();
    document.root().deserialize::<IgnoredAny>().unwrap();
    assert_eq!(document.root().deserialize::<(u8, IgnoredAny)>().unwrap().0, 1);
}

#[test]
fn errors_have_path_and_position() {
    let cases = [
        ("{\"a\": {\"x\": 1},\n \"b\": {\"x\": \"1\"}}", "/b/x", 2, 13),
        (r#"{"a": {"x": 1}, "b": {}}"#, "/b", 1, 22),
        (r#"{"a": 5}"#, "/a", 1, 7),
        (r#"{"a": {"x": 1, "y": [1]}}"#, "/a/y", 1, 21),
        (r#"{"a": {"x": {"deep": 1}}}"#, "/a/x", 1, 13),
    ];
    for (text, path, line, column) in cases {
        let raw = Json::parse(text.replace('\n', " ")).unwrap();
        let document = Document::read(text).unwrap();
        let error = document.root().deserialize::<BTreeMap<String, Point>>().unwrap_err();
        assert_eq!((&*error.path(), error.line(), error.column()), (path, Some(line), Some(column)), "{error}");
        assert_eq!(raw.deserialize::<BTreeMap<String, Point>>().unwrap_err().path(), path);
    }
    let error = Document::read(r#"{"one": 1}"#).unwrap().root().deserialize::<BTreeMap<u8, u8>>().unwrap_err();
    assert_eq!(error.path(), "/one");
    let error = Document::read(r#"[{"B": 1}, {"B": "a"}]"#).unwrap().root().deserialize::<Vec<External>>().unwrap_err();
    assert_eq!(error.path(), "/1/B");
}
