//! Converts YAML to JSON according to the core schema of YAML 1.2.
//!
//! Clients compare the front matter that a server lists with what they read, so both sides must resolve scalars alike.
//! That rules out serde-saphyr: releases that support our minimum Rust version read `1_000` and `0b11` as numbers,
//! accept unknown tags and refuse `!!int 5`.

use std::borrow::Cow;
use std::collections::HashMap;

use mcpgen_types::Value;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

pub(super) type Mapping = serde_json::Map<String, Value>;

/// How deeply values may be nested.
const MAX_DEPTH: usize = 32;
/// The maximum number of values, counting those that aliases repeat.
const MAX_VALUES: usize = 10_000;

/// Why a text is not a YAML mapping that JSON can represent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct YamlError {
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) reason: String,
}

/// The root must be a mapping.
pub(super) fn parse(text: &str) -> Result<Mapping, YamlError> {
    let mut parser = Parser::new_from_str(text);
    let mut builder = Builder::default();
    let mut root_line = None;
    while let Some(next) = parser.next_event() {
        let (event, span) =
            next.map_err(|error| YamlError { line: error.marker().line(), reason: format!("YAML: {}", error.info()) })?;
        let line = span.start.line().max(1);
        if !matches!(event, Event::StreamStart | Event::DocumentStart(_)) {
            root_line.get_or_insert(line);
        }
        builder.add(event).map_err(|reason| YamlError { line, reason })?;
    }
    match builder.root {
        Some(Value::Object(root)) => Ok(root),
        _ => {
            let reason = "expected a YAML mapping, such as `name: my-skill`".to_owned();
            Err(YamlError { line: root_line.unwrap_or(1), reason })
        }
    }
}

#[derive(Default)]
struct Builder {
    root: Option<Value>,
    documents: usize,
    /// Open sequences and mappings, outermost first.
    open: Vec<Open>,
    /// Anchored values, each with how many values it contains.
    anchors: HashMap<usize, (Value, usize)>,
    values: usize,
}

struct Open {
    anchor: usize,
    /// How many values came before this one.
    before: usize,
    items: Items,
}

enum Items {
    Sequence(Vec<Value>),
    /// The entries, and a key that waits for its value.
    Mapping(Mapping, Option<String>),
}

impl Builder {
    fn add(&mut self, event: Event<'_>) -> Result<(), String> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err("expected one YAML document, found another".to_owned());
                }
            }
            Event::SequenceStart(anchor, tag) => {
                self.open(anchor, tag.as_deref(), "seq", Items::Sequence(Vec::new()))?
            }
            Event::MappingStart(anchor, tag) => {
                self.open(anchor, tag.as_deref(), "map", Items::Mapping(Mapping::new(), None))?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1)?;
                // Keys are always text in JSON.
                let is_key = matches!(self.open.last(), Some(Open { items: Items::Mapping(_, None), .. }));
                let value = if is_key { Value::from(&*text) } else { scalar(text, style, tag.as_deref())? };
                if anchor > 0 {
                    self.anchors.insert(anchor, (value.clone(), 1));
                }
                self.place(value)?;
            }
            Event::Alias(anchor) => {
                let known = self.anchors.get(&anchor).cloned();
                let (value, values) = known.ok_or("an alias must not be inside its own anchor")?;
                self.count(values)?;
                self.place(value)?;
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn open(&mut self, anchor: usize, tag: Option<&Tag>, kind: &str, items: Items) -> Result<(), String> {
        check_tag(tag, kind)?;
        if self.open.len() >= MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        if let Some(Open { items: Items::Mapping(_, None), .. }) = self.open.last() {
            return Err("expected text as the key of a mapping".to_owned());
        }
        let before = self.values;
        self.count(1)?;
        self.open.push(Open { anchor, before, items });
        Ok(())
    }

    fn close(&mut self) -> Result<(), String> {
        let Some(Open { anchor, before, items }) = self.open.pop() else { return Ok(()) };
        let value = match items {
            Items::Sequence(items) => Value::Array(items),
            Items::Mapping(entries, _) => Value::Object(entries),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), self.values - before));
        }
        self.place(value)
    }

    fn count(&mut self, values: usize) -> Result<(), String> {
        self.values += values;
        if self.values > MAX_VALUES { Err(format!("more than {MAX_VALUES} values")) } else { Ok(()) }
    }

    /// Adds a value to the innermost open sequence or mapping.
    fn place(&mut self, value: Value) -> Result<(), String> {
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.root = Some(value),
            Some(Items::Sequence(items)) => items.push(value),
            Some(Items::Mapping(entries, key)) => match (key.take(), value) {
                (Some(key), value) => drop(entries.insert(key, value)),
                (None, Value::String(new)) if entries.contains_key(&new) => {
                    return Err(format!("the key {new:?} occurs twice; remove one of them"));
                }
                (None, Value::String(new)) => *key = Some(new),
                (None, _) => return Err("expected text as the key of a mapping".to_owned()),
            },
        }
        Ok(())
    }
}

fn check_tag(tag: Option<&Tag>, kind: &str) -> Result<(), String> {
    match tag {
        None => Ok(()),
        Some(tag) if is_unspecific(tag) || (tag.is_yaml_core_schema() && tag.suffix == kind) => Ok(()),
        Some(tag) => Err(unsupported(tag)),
    }
}

/// Whether the tag is `!`, which only says that the value is not to be resolved.
fn is_unspecific(tag: &Tag) -> bool {
    format!("{}{}", tag.handle, tag.suffix) == "!"
}

fn unsupported(tag: &Tag) -> String {
    format!("the YAML tag {tag} is not supported; remove it")
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle, tag: Option<&Tag>) -> Result<Value, String> {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { plain(&text) } else { Ok(text.into_owned().into()) };
    };
    if is_unspecific(tag) {
        return Ok(text.into_owned().into());
    }
    let kind = tag.is_yaml_core_schema().then_some(tag.suffix.as_str());
    let value = match kind {
        Some("str") => return Ok(text.into_owned().into()),
        Some("null" | "bool" | "int" | "float") => plain(&text)?,
        _ => return Err(unsupported(tag)),
    };
    let is_kind = match kind {
        Some("null") => value.is_null(),
        Some("bool") => value.is_boolean(),
        Some("int") => value.is_i64() || value.is_u64(),
        _ => value.is_number(),
    };
    if is_kind { Ok(value) } else { Err(format!("{text:?} does not match its tag {tag}")) }
}

/// Resolves a plain scalar according to YAML's core schema.
fn plain(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "true" | "True" | "TRUE" => return Ok(true.into()),
        "false" | "False" | "FALSE" => return Ok(false.into()),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(format!("JSON has no number {text}; put it in quotes"));
    }
    let radix = |prefix: &str, radix| {
        let digits = text.strip_prefix(prefix).filter(|digits| !digits.starts_with(['+', '-']))?;
        u64::from_str_radix(digits, radix).ok()
    };
    if let Some(number) = radix("0o", 8).or_else(|| radix("0x", 16)) {
        return Ok(number.into());
    }
    if !is_decimal(unsigned) {
        return Ok(text.into());
    }
    let whole = text.strip_prefix('+').unwrap_or(text);
    if let Ok(number) = whole.parse::<i64>() {
        return Ok(number.into());
    }
    if let Ok(number) = whole.parse::<u64>() {
        return Ok(number.into());
    }
    let number = whole.parse::<f64>().ok().filter(|number| number.is_finite());
    number.map(Value::from).ok_or_else(|| format!("the number {text} is too large; put it in quotes"))
}

/// Whether this is an unsigned decimal number, with optional fraction and exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (text, None),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    has_digits && is_digits(whole) && is_digits(fraction) && exponent.is_none_or(|it| !it.is_empty() && is_digits(it))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<Value, (usize, &str)>) {
        let found = parse(text).map(Value::Object).map_err(|error| (error.line, error.reason));
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(*found, expected, "{text}"),
            (Err((line, reason)), Err((expected_line, part))) => {
                assert!(*line == expected_line && reason.contains(part), "{text}: line {line}: {reason}");
            }
            _ => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn resolves_scalars_by_the_core_schema() {
        let scalars = [
            ("text", json!("text")),
            ("yes", json!("yes")),
            ("2026-07-28", json!("2026-07-28")),
            ("1.0.0", json!("1.0.0")),
            ("1_000", json!("1_000")),
            ("~", json!(null)),
            ("", json!(null)),
            ("True", json!(true)),
            ("-12", json!(-12)),
            ("+12", json!(12)),
            ("012", json!(12)),
            ("0o17", json!(15)),
            ("0xFF", json!(255)),
            ("0x-F", json!("0x-F")),
            ("18446744073709551615", json!(u64::MAX)),
            ("1.5", json!(1.5)),
            (".5e1", json!(5.0)),
            ("1e", json!("1e")),
            (".", json!(".")),
            ("'1'", json!("1")),
            ("\"a\\tb\"", json!("a\tb")),
            ("!!str 1", json!("1")),
            ("!!float 1", json!(1)),
            ("! 1", json!("1")),
        ];
        for (text, expected) in scalars {
            check(&format!("a: {text}"), Ok(json!({ "a": expected })));
        }
    }

    #[test]
    fn reads_nested_values_and_aliases() {
        check("a: [1, {b: c}]\nd:\n  - e\n", Ok(json!({ "a": [1, { "b": "c" }], "d": ["e"] })));
        check("a: &x {b: 1}\nc: *x\n", Ok(json!({ "a": { "b": 1 }, "c": { "b": 1 } })));
        check("a: |\n  b\n  c\nd: >-\n  e\n  f\n", Ok(json!({ "a": "b\nc\n", "d": "e f" })));
        check("1: a\ntrue: b\n", Ok(json!({ "1": "a", "true": "b" })));
    }

    #[test]
    fn rejects_what_json_cannot_represent() {
        check("", Err((1, "expected a YAML mapping")));
        check("- a", Err((1, "expected a YAML mapping")));
        check("a: 1\nb: 2\na: 3\n", Err((3, "\"a\" occurs twice")));
        check("a: .inf", Err((1, "no number .inf")));
        check("a: 1e999", Err((1, "too large")));
        check("a: !date 2026", Err((1, "tag")));
        check("a: !!int x", Err((1, "does not match its tag")));
        check("? [a]\n: b\n", Err((1, "as the key")));
        check("a: 1\n---\nb: 2\n", Err((2, "another")));
        check("a: [1", Err((2, "YAML")));
        check("a: b: c\n", Err((1, "YAML")));
    }

    #[test]
    fn limits_depth_and_aliases() {
        let deep = format!("a: {}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        check(&deep, Err((1, "nested more than")));
        // Each line has ten times as many values as the one before.
        let mut bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n".to_owned();
        for level in 1..9 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(",");
            bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        check(&bomb, Err((4, "more than 10000 values")));
    }
}
