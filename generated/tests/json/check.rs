//! Compares how mcpgen and serde_json decode a JSON text. The `json` fuzz target also uses this check.
#![allow(clippy::unwrap_used, reason = "a panic is a finding")]

use std::collections::BTreeMap;
use std::fmt;

use mcpgen_types::codec::{Cursor, Decode, Document, MAX_DEPTH};
use mcpgen_types::{
    Error, ErrorKind, Json, JsonRef, from_reader, from_slice, from_str, from_value, to_string, to_value,
};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Decodes a text with every function, and returns the result.
///
/// # Panics
///
/// Panics if the functions disagree, or if the result differs from that of serde_json in its value, message or
/// position. There are three exceptions:
///
/// * Text that is not UTF-8 is reported at the first invalid byte, before any other error.
/// * Arrays and objects may be nested up to [`MAX_DEPTH`]. Deeper ones are reported if there is no other error.
/// * A number out of range is reported at its end; serde_json sometimes stops within the exponent.
pub(crate) fn check(bytes: &[u8]) -> Result<Value, Error> {
    let ours = from_slice::<Value>(bytes);
    check_entry_points(bytes, &ours);
    check_with_serde_json(bytes, &ours);
    let Ok(text) = std::str::from_utf8(bytes) else { return ours };
    let recorded = serde_json::from_str::<Json>(text).ok();
    assert_eq!(recorded.is_some(), ours.is_ok(), "Deserialize");
    if let (Ok(value), Some(recorded)) = (&ours, recorded) {
        assert_same(&recorded.decode().unwrap(), value, "Deserialize");
        check_value(value);
        check_raw(text, value);
        check_cursor(Document::read(text).unwrap().root(), value);
    }
    ours
}

fn check_entry_points(bytes: &[u8], ours: &Result<Value, Error>) {
    assert_same_result(&from_reader(bytes), ours, "from_reader");
    let raw = from_slice::<Json>(bytes).and_then(|raw| raw.decode());
    assert_same_result(&raw, ours, "Json");
    if let Ok(text) = std::str::from_utf8(bytes) {
        assert_same_result(&from_str(text), ours, "from_str");
        let read = Document::read(text).map_err(|error| error.with_type_name("JSON value"));
        assert_same_result(&read.map(|document| by_cursors(document.root())), ours, "Document");
    }
}

/// The value, decoded element by element and member by member.
fn by_cursors(cursor: Cursor<'_>) -> Value {
    if let Ok(elements) = cursor.elements() {
        return elements.map(by_cursors).collect();
    }
    if let Ok(members) = cursor.members() {
        return members.map(|(name, value)| (name.string().unwrap(), by_cursors(value))).collect();
    }
    match (cursor.as_str(), cursor.number()) {
        (Some(text), _) => text.into(),
        (_, Ok(number)) => number.into(),
        _ => cursor.text().parse().unwrap(),
    }
}

fn check_with_serde_json(bytes: &[u8], ours: &Result<Value, Error>) {
    let theirs = serde_json::from_slice(bytes).map(|Read(value)| value);
    match (ours, theirs) {
        (Err(error), theirs) if is_message(error, "invalid UTF-8") => {
            let first = std::str::from_utf8(bytes).expect_err("our error").valid_up_to();
            assert_eq!(position(error), line_and_column(bytes, first + 1), "invalid UTF-8");
            assert!(theirs.is_err(), "serde_json accepts invalid UTF-8");
        }
        (Err(error), theirs) if *error.kind() == ErrorKind::Depth => {
            let first = first_too_deep(bytes).expect("an array or object that is nested too deep");
            assert_eq!(position(error), line_and_column(bytes, first + 1), "{error}");
            assert!(theirs.is_ok() || message(&theirs.unwrap_err()) == TOO_DEEP, "reported instead of another error");
        }
        (Err(_), Err(theirs)) if message(&theirs) == TOO_DEEP => {}
        (Err(error), Err(theirs)) => {
            assert!(is_message(error, &message(&theirs)), "serde_json: {theirs}, mcpgen: {error}");
            let mut expected = (theirs.line(), theirs.column());
            if message(&theirs) == "number out of range" {
                expected.1 += digits_after(bytes, expected);
            }
            assert_eq!(position(error), expected, "{error}");
        }
        (Ok(value), Ok(theirs)) => assert_same(value, &theirs, "serde_json"),
        (ours, theirs) => panic!("serde_json: {theirs:?}, mcpgen: {ours:?}"),
    }
}

/// A value as serde_json's parser reads it. (`Value` gives objects with certain private names a special meaning.)
struct Read(Value);

impl<'de> Deserialize<'de> for Read {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadVisitor).map(Self)
    }
}

struct ReadVisitor;

impl<'de> Visitor<'de> for ReadVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Value, E> {
        Ok(integer.into())
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Value, E> {
        Ok(integer.into())
    }

    fn visit_f64<E>(self, double: f64) -> Result<Value, E> {
        Ok(double.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Read(element)) = elements.next_element()? {
            array.push(element);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = serde_json::Map::new();
        while let Some((name, Read(value))) = members.next_entry()? {
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

const TOO_DEEP: &str = "recursion limit exceeded";

fn check_value(value: &Value) {
    let encoded = to_string(value);
    assert_eq!(encoded, serde_json::to_string(value).unwrap());
    assert_same(&from_str(&encoded).unwrap(), value, "encoded again");
    assert_same(&from_value(value.clone()).unwrap(), value, "from_value");
    let raw: Json = from_value(value.clone()).unwrap();
    assert_eq!(raw.text(), encoded, "Json of a Value");
    assert_same(&to_value(&raw).unwrap(), value, "to_value");
}

fn check_raw(text: &str, value: &Value) {
    let expected = without_space(text);
    let decoded: Json = from_str(text).unwrap();
    assert_eq!(decoded.text(), expected);
    assert_eq!(to_string(&decoded), expected);
    assert_same(&to_value(&decoded).unwrap(), value, "to_value of Json");
    let kept = Json::parse(text).unwrap();
    assert_eq!(kept.text(), expected);
    assert_eq!(kept, decoded);
    assert_same(&kept.decode().unwrap(), value, "Json of the text");
    check_reference(kept.as_ref(), value);
    assert_eq!(kept.into_text(), expected);
}

/// Removes the white space outside of strings.
fn without_space(text: &str) -> String {
    let (mut in_string, mut is_escaped) = (false, false);
    let is_kept = |c: &char| {
        let ends = in_string && *c == '"' && !is_escaped;
        let begins = !in_string && *c == '"';
        is_escaped = in_string && *c == '\\' && !is_escaped;
        let is_kept = in_string || !matches!(c, ' ' | '\t' | '\r' | '\n');
        in_string = in_string && !ends || begins;
        is_kept
    };
    text.chars().filter(is_kept).collect()
}

/// Checks everything that a reference to a value returns.
fn check_reference(json: JsonRef<'_>, value: &Value) {
    assert_same(&json.to_value(), value, "to_value of a reference");
    assert_eq!(
        (json.is_null(), json.is_array(), json.is_object()),
        (value.is_null(), value.is_array(), value.is_object())
    );
    assert_eq!((json.as_bool(), json.as_str().as_deref()), (value.as_bool(), value.as_str()));
    assert_eq!((json.as_f64(), json.as_number().is_some()), (value.as_f64(), value.is_number()));
    if let Some(number) = value.as_number().filter(|number| !number.is_f64()) {
        assert_eq!((json.as_i64(), json.as_u64()), (number.as_i64(), number.as_u64()));
    }
    let elements = value.as_array().map(Vec::as_slice).unwrap_or_default();
    assert_eq!(json.elements().count(), elements.len());
    for (index, (element, expected)) in json.elements().zip(elements).enumerate() {
        check_reference(element, expected);
        assert_eq!(json.pointer(&format!("/{index}")).map(JsonRef::text), Some(element.text()));
    }
    let members: BTreeMap<_, _> = json.members().collect();
    assert_eq!(members.len(), json.members().count(), "each name occurs once");
    assert_eq!(members.len(), value.as_object().map_or(0, serde_json::Map::len));
    for (name, member) in members {
        check_reference(member, &value[&*name]);
        assert_eq!(json.get(&name).map(JsonRef::text), Some(member.text()));
        let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        assert_eq!(json.pointer(&pointer).map(JsonRef::text), Some(member.text()));
    }
    assert_eq!(json.get("no such member").is_some(), value.get("no such member").is_some());
}

/// Checks the text of every value inside this one.
fn check_cursor(cursor: Cursor<'_>, value: &Value) {
    assert_same(&from_str(&cursor.text()).unwrap(), value, "text of a value");
    assert_same(&by_cursors(cursor), value, "value by cursors");
    let raw = cursor.to_json();
    assert_eq!(raw.text(), without_space(&cursor.text()));
    assert_same(&raw.decode().unwrap(), value, "to_json");
    let again: String = raw.read(|copy| copy.to_json().into_text()).unwrap();
    assert_eq!(again, raw.text());
    match value {
        Value::Number(number) => check_integers(cursor, number),
        Value::Array(elements) => {
            let mut cursors = cursor.elements().unwrap();
            for element in elements {
                check_cursor(cursors.next().unwrap(), element);
            }
            assert!(cursors.next().is_none());
        }
        Value::Object(members) => {
            let mut last = BTreeMap::new();
            for (name, member) in cursor.members().unwrap() {
                last.insert(name.as_str().unwrap().into_owned(), member);
            }
            assert!(last.keys().eq(members.keys()));
            for (name, member) in last {
                check_cursor(member, &members[&name]);
            }
        }
        _ => {}
    }
}

fn check_integers(cursor: Cursor<'_>, number: &serde_json::Number) {
    let whole = |float: &f64| float.fract() == 0.0 && float.abs() < 1e20;
    let integer = number.as_i128().or(number.as_f64().filter(whole).map(|float| float as i128));
    assert_eq!(i64::decode(cursor).ok(), integer.and_then(|integer| integer.try_into().ok()), "{number} as i64");
    assert_eq!(u64::decode(cursor).ok(), integer.and_then(|integer| integer.try_into().ok()), "{number} as u64");
}

fn assert_same_result(a: &Result<Value, Error>, b: &Result<Value, Error>, what: &str) {
    match (a, b) {
        (Ok(a), Ok(b)) => assert_same(a, b, what),
        (Err(a), Err(b)) => {
            assert_eq!(a.to_string(), b.to_string(), "{what}");
            assert_eq!(position(a), position(b), "{what}");
        }
        _ => panic!("{what}: {a:?}, from_slice: {b:?}"),
    }
}

fn assert_same(a: &Value, b: &Value, what: &str) {
    assert!(is_same(a, b), "{what}: {a} is not {b}");
}

/// Returns whether two values are equal. Compares doubles bit for bit.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            a.as_f64().map(f64::to_bits) == b.as_f64().map(f64::to_bits)
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((a, x), (b, y))| a == b && is_same(x, y))
        }
        (a, b) => a == b,
    }
}

fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

fn is_message(error: &Error, expected: &str) -> bool {
    matches!(error.kind(), ErrorKind::Json { message } if message == expected)
}

fn position(error: &Error) -> (usize, usize) {
    (error.line().expect("a line"), error.column().expect("a column"))
}

/// Returns the line and column of the byte before `end`.
fn line_and_column(bytes: &[u8], end: usize) -> (usize, usize) {
    let before = &bytes[..end];
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |line_break| line_break + 1);
    (before.iter().filter(|byte| **byte == b'\n').count() + 1, end - start)
}

/// Returns the number of digits after this position.
fn digits_after(bytes: &[u8], (line, column): (usize, usize)) -> usize {
    let line = bytes.split(|byte| *byte == b'\n').nth(line - 1).unwrap_or_default();
    line[column..].iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Returns the offset of the first bracket that is nested too deeply.
fn first_too_deep(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut is_string, mut is_escaped) = (0, false, false);
    bytes.iter().position(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b'[' | b'{' if !is_string => depth += 1,
            b']' | b'}' if !is_string => depth -= 1,
            _ => {}
        }
        depth > MAX_DEPTH
    })
}
