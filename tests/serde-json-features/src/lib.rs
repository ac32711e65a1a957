//! A JSON value that does not depend on features of serde_json. What `serde_json::Value` keeps, and which values are
//! equal, depends on the features that the tests of this crate enable.

use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A JSON value. Numbers keep their text. Objects keep the order of their members and duplicate keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// The text of a number.
    Number(String),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Vec<(String, Json)>),
}

/// Whether the order of members matters in comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The order matters.
    Kept,
    /// The order does not matter.
    Free,
}

impl Json {
    /// Returns whether both values are equal. Compares numbers by their mathematical values.
    #[must_use]
    pub fn same(&self, other: &Json, order: Order) -> bool {
        match (self, other) {
            (Json::Number(a), Json::Number(b)) => Number::read(a).same(Number::read(b)),
            (Json::Array(a), Json::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b, order)),
            (Json::Object(a), Json::Object(b)) if order == Order::Kept => {
                a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && a.same(b, order))
            }
            (Json::Object(a), Json::Object(b)) => {
                let member = |key: &String| b.iter().find(|(other, _)| other == key).map(|(_, value)| value);
                a.len() == b.len() && a.iter().all(|(key, a)| member(key).is_some_and(|b| a.same(b, order)))
            }
            (a, b) => a == b,
        }
    }

    /// Returns the value of a member, or `None` if there is no such member or `self` is not an object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the value as JSON text. Escapes the characters for which `escaped` returns `true`, and those that JSON
    /// requires to be escaped.
    #[must_use]
    pub fn text(&self, escaped: &mut dyn FnMut(char) -> bool) -> String {
        let mut out = String::new();
        self.write(&mut out, escaped);
        out
    }

    fn write(&self, out: &mut String, escaped: &mut dyn FnMut(char) -> bool) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(text) => out.push_str(text),
            Json::String(text) => quote(text, out, escaped),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.write(out, escaped);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { "," });
                    quote(key, out, escaped);
                    out.push(':');
                    value.write(out, escaped);
                }
                out.push('}');
            }
        }
    }

    /// Converts the value to a `serde_json::Value`, without serde_json's parser, which interprets some reserved keys.
    ///
    /// # Panics
    ///
    /// Panics if a number is out of range for serde_json with its current features.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(text) => Value::Number(text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))),
            Json::String(text) => Value::String(text.clone()),
            Json::Array(items) => Value::Array(items.iter().map(Json::to_value).collect()),
            Json::Object(members) => {
                let members = members.iter().map(|(key, value)| (key.clone(), value.to_value()));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    /// Converts a `serde_json::Value`.
    #[must_use]
    pub fn of(value: &Value) -> Json {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => Json::Number(number.to_string()),
            Value::String(text) => Json::String(text.clone()),
            Value::Array(items) => Json::Array(items.iter().map(Json::of).collect()),
            Value::Object(members) => {
                Json::Object(members.iter().map(|(key, value)| (key.clone(), Json::of(value))).collect())
            }
        }
    }

    /// Parses JSON text.
    ///
    /// # Panics
    ///
    /// Panics if the text is not valid JSON.
    #[must_use]
    pub fn parse(text: &str) -> Json {
        let mut reader = Reader { rest: text };
        let value = reader.value();
        reader.space();
        assert_eq!(reader.rest, "", "unexpected text after the value in {text}");
        value
    }
}

fn quote(text: &str, out: &mut String, escaped: &mut dyn FnMut(char) -> bool) {
    out.push('"');
    for c in text.chars() {
        if c < ' ' || c == '"' || c == '\\' || escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out.push('"');
}

/// A number within the documented limits: a 64-bit integer if it is written as one, and otherwise a double.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// From `i64::MIN` to `u64::MAX`.
    Integer(i128),
    /// All other numbers.
    Double(f64),
}

impl Number {
    /// Parses a number.
    ///
    /// # Panics
    ///
    /// Panics if the text is not a number.
    #[must_use]
    pub fn read(text: &str) -> Number {
        match text.parse::<i128>() {
            Ok(integer) if integer >= i64::MIN.into() && integer <= u64::MAX.into() => Number::Integer(integer),
            _ => Number::Double(text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))),
        }
    }

    /// Returns the value if it is an integer. Returns `None` for doubles of 2^100 or more.
    #[must_use]
    pub fn integer(self) -> Option<i128> {
        match self {
            Number::Integer(integer) => Some(integer),
            // Every integral double below 2^100 fits into an i128.
            Number::Double(double) if double.fract() == 0.0 && double.abs() < 2f64.powi(100) => Some(double as i128),
            Number::Double(_) => None,
        }
    }

    /// Returns whether both have the same mathematical value.
    #[must_use]
    pub fn same(self, other: Number) -> bool {
        match (self.integer(), other.integer(), self, other) {
            (Some(a), Some(b), ..) => a == b,
            (None, None, Number::Double(a), Number::Double(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn value(&mut self) -> Json {
        self.space();
        if self.takes("null") {
            Json::Null
        } else if self.takes("true") {
            Json::Bool(true)
        } else if self.takes("false") {
            Json::Bool(false)
        } else if self.takes("\"") {
            Json::String(self.string())
        } else if self.takes("[") {
            self.array()
        } else if self.takes("{") {
            self.object()
        } else {
            Json::Number(self.number().to_owned())
        }
    }

    fn array(&mut self) -> Json {
        let mut items = Vec::new();
        while !self.ends("]", items.is_empty()) {
            items.push(self.value());
        }
        Json::Array(items)
    }

    fn object(&mut self) -> Json {
        let mut members = Vec::new();
        while !self.ends("}", members.is_empty()) {
            self.space();
            self.expect("\"");
            let key = self.string();
            self.space();
            self.expect(":");
            members.push((key, self.value()));
        }
        Json::Object(members)
    }

    /// Reads `end`, or the comma before the next item. Returns whether it was `end`.
    fn ends(&mut self, end: &str, first: bool) -> bool {
        self.space();
        let ends = self.takes(end);
        if !ends && !first {
            self.expect(",");
        }
        ends
    }

    fn number(&mut self) -> &'t str {
        let length = self.rest.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(length);
        assert!(!number.is_empty(), "expected a value before {rest}");
        self.rest = rest;
        number
    }

    /// Reads the rest of a string after its opening quote.
    fn string(&mut self) -> String {
        let mut units = Vec::new();
        loop {
            match self.next() {
                '"' => return String::from_utf16(&units).expect("no unpaired surrogates"),
                '\\' => units.extend(self.escape()),
                c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escape(&mut self) -> Option<u16> {
        let c = match self.next() {
            'u' => {
                let (digits, rest) = self.rest.split_at(4);
                self.rest = rest;
                return u16::from_str_radix(digits, 16).ok();
            }
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            c => c,
        };
        u16::try_from(u32::from(c)).ok()
    }

    fn next(&mut self) -> char {
        let c = self.rest.chars().next().expect("unexpected end of text");
        self.rest = &self.rest[c.len_utf8()..];
        c
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, text: &str) {
        assert!(self.takes(text), "expected {text} before {}", self.rest);
    }
}
