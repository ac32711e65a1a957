//! Strings, numbers and names that implementations often handle incorrectly.

use super::build::Part;
use crate::compare;
use fastrand::Rng;
use serde_json::{Map, Number, Value, json};
use std::cmp::Ordering;

/// Strings that implementations often corrupt.
const STRINGS: &[&str] = &[
    "",
    " ",
    "a",
    "plain text",
    "null",
    "true",
    "1",
    "-0",
    "1e5",
    "[]",
    "{}",
    "\"",
    "\\",
    "\\u0041",
    "a\"b\\c/d",
    "\u{0}",
    "\u{1}\u{1f}\u{7f}",
    "line\nfeed\r\ntab\t\u{8}\u{c}",
    "h\u{e9}llo",
    "e\u{301}",
    "\u{65e5}\u{672c}\u{8a9e}",
    "\u{5d0}\u{5d1}\u{202e}",
    "\u{1f9d1}\u{200d}\u{1f680}",
    "\u{2028}\u{2029}",
    "\u{feff}bom",
    "\u{d7ff}\u{e000}",
    "\u{fffd}\u{ffff}\u{10ffff}",
    "file:///tmp/a%20b",
    "https://example.com/{id}?q=1#f",
    "2.0",
    "complete",
    "input_required",
    "dGVzdA==",
];

/// Member names that have a special meaning elsewhere, but not in JSON.
const NAMES: &[&str] = &[
    "",
    " ",
    "x-unknown",
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "a/b",
    "m~n",
    "~1",
    "~0",
    "a.b",
    "a.b/c~d",
    "io.modelcontextprotocol/related",
    "$ref",
    "$schema",
    "#",
    "0",
    "-1",
    "null",
    "type",
    "self",
    "r#type",
    "extra",
    "$serde_json::private::Number",
    "$serde_json::private::RawValue",
    "\"quoted\"",
    "back\\slash",
    "new\nline",
    "\u{0}",
    "\u{e9}",
    "e\u{301}",
    "\u{65e5}\u{672c}",
    "\u{1f600}",
    "\u{10ffff}",
];

/// The maximum length of a string, even if a schema requires more.
const LONGEST: usize = 100_000;

/// Makes a string that has between `least` and `most` characters.
pub(super) fn string(rng: &mut Rng, least: usize, most: usize) -> String {
    let text = match rng.u16(0..2400) {
        0 => "\u{e9}0123456789\"\\\n\u{1f600}".repeat(4096),
        1..30 => "long ".repeat(rng.usize(10..300)),
        30..1000 => (0..rng.usize(0..12)).map(|_| rng.alphanumeric()).collect(),
        1000..1400 => (0..rng.usize(0..8)).map(|_| rng.char(..)).collect(),
        _ => STRINGS[rng.usize(0..STRINGS.len())].to_owned(),
    };
    let padded = text.chars().chain(std::iter::repeat('\u{e9}'));
    let length = text.chars().count().clamp(least, most.max(least)).min(LONGEST);
    padded.take(length).collect()
}

/// Makes a name for an unknown member. Sometimes it is one that the schema uses elsewhere.
pub(super) fn unknown_name(rng: &mut Rng, elsewhere: &[String]) -> String {
    match rng.u8(0..10) {
        0..3 if !elsewhere.is_empty() => elsewhere[rng.usize(0..elsewhere.len())].clone(),
        3 => (0..rng.usize(1..9)).map(|_| rng.char(..)).collect(),
        _ => NAMES[rng.usize(0..NAMES.len())].to_owned(),
    }
}

/// Makes any JSON value with at most this many nested containers.
pub(super) fn any(rng: &mut Rng, levels: usize) -> Value {
    let kinds = if levels == 0 { 5 } else { 8 };
    match rng.u8(0..kinds) {
        0 => Value::Null,
        1 => rng.bool().into(),
        2 => string(rng, 0, usize::MAX).into(),
        3 => number(rng, &Bounds::default()),
        4 => integer(rng, &Bounds::default()),
        5 => (0..rng.usize(0..4)).map(|_| any(rng, levels - 1)).collect(),
        _ => {
            let members = (0..rng.usize(0..4)).map(|_| (unknown_name(rng, &[]), any(rng, levels - 1)));
            Value::Object(members.collect::<Map<_, _>>())
        }
    }
}

pub(super) fn chain(rng: &mut Rng, containers: usize) -> Value {
    let innermost = any(rng, 0);
    (0..containers).fold(innermost, |inner, _| match rng.bool() {
        true => json!([inner]),
        false => json!({ "k": inner }),
    })
}

#[derive(Debug, Default)]
pub(super) struct Bounds<'s> {
    least: Vec<&'s Number>,
    most: Vec<&'s Number>,
    above: Vec<&'s Number>,
    below: Vec<&'s Number>,
}

impl<'s> Bounds<'s> {
    pub(super) fn of(parts: &[Part<'s>]) -> Bounds<'s> {
        let all = |keyword: &str| {
            let found = parts.iter().filter_map(|part| match part.keyword(keyword)? {
                Value::Number(bound) => Some(bound),
                _ => None,
            });
            found.collect()
        };
        Bounds {
            least: all("minimum"),
            most: all("maximum"),
            above: all("exclusiveMinimum"),
            below: all("exclusiveMaximum"),
        }
    }

    fn allow(&self, number: &Number) -> bool {
        let every = |bounds: &[&Number], allowed: &[Ordering]| {
            let allows = |bound: &&Number| allowed.contains(&compare(number, bound));
            bounds.iter().all(allows)
        };
        every(&self.least, &[Ordering::Greater, Ordering::Equal])
            && every(&self.most, &[Ordering::Less, Ordering::Equal])
            && every(&self.above, &[Ordering::Greater])
            && every(&self.below, &[Ordering::Less])
    }

    fn edges(&self) -> Vec<Number> {
        let all = [&self.least, &self.most, &self.above, &self.below];
        all.into_iter().flatten().flat_map(|bound| around(bound)).collect()
    }

    fn unsigned(&self) -> bool {
        self.least.iter().any(|bound| bound.as_u64().is_some())
    }
}

/// Returns a number and its neighbors on both sides: the nearest integers and the nearest doubles.
pub(super) fn around(number: &Number) -> Vec<Number> {
    let mut near = vec![number.clone()];
    if let Some(integer) = number.as_i64() {
        let integers = [integer.checked_sub(1), integer.checked_add(1)];
        near.extend(integers.into_iter().flatten().map(Number::from));
    } else if let Some(integer) = number.as_u64() {
        near.extend(integer.checked_add(1).map(Number::from));
        near.push(Number::from(integer - 1));
    }
    if let Some(float) = number.as_f64() {
        let floats = [float.next_down(), float, float.next_up()];
        near.extend(floats.into_iter().filter_map(Number::from_f64));
    }
    near
}

/// Makes a number. It is within the bounds if such a number is found.
pub(super) fn number(rng: &mut Rng, bounds: &Bounds<'_>) -> Value {
    first(rng, bounds, |_| true)
}

/// Makes an integer that fits the Rust type that it is decoded as.
pub(super) fn integer(rng: &mut Rng, bounds: &Bounds<'_>) -> Value {
    let least = Number::from(if bounds.unsigned() { 0 } else { i64::MIN });
    let most = match bounds.unsigned() {
        true => Number::from(u64::MAX),
        false => Number::from(i64::MAX),
    };
    first(rng, bounds, |number| {
        let whole = number.as_f64().is_none_or(|float| float.fract() == 0.0);
        whole && compare(number, &least).is_ge() && compare(number, &most).is_le()
    })
}

/// Returns a multiple of a number, as exactly as a double allows.
pub(super) fn product(unit: &Number, factor: i32) -> Value {
    if let Some(product) = unit.as_i64().and_then(|unit| unit.checked_mul(factor.into())) {
        return product.into();
    }
    let product = unit.as_f64().unwrap_or(1.0) * f64::from(factor);
    // Removes the rounding error, as in 3 * 0.1.
    let product: f64 = format!("{product:.12}").parse().unwrap_or(product);
    Number::from_f64(product).map_or(Value::Null, Value::Number)
}

fn first(rng: &mut Rng, bounds: &Bounds<'_>, fits: impl Fn(&Number) -> bool) -> Value {
    let edges = bounds.edges();
    for _ in 0..60 {
        let number = match rng.choice(&edges) {
            Some(edge) if rng.bool() => edge.clone(),
            _ => candidate(rng),
        };
        if bounds.allow(&number) && fits(&number) {
            return number.into();
        }
    }
    let edge = edges.into_iter().find(|edge| bounds.allow(edge) && fits(edge));
    edge.unwrap_or_else(|| Number::from(0)).into()
}

/// Doubles at which behavior may change.
const FLOATS: &[f64] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    100.0,
    0.1,
    0.5,
    1.5,
    0.3,
    0.1 + 0.2,
    1e-7,
    1e15,
    1e16,
    9_007_199_254_740_992.0,
    1e21,
    1e22,
    1e300,
    5e-324,
    2.225_073_858_507_201e-308,
    f64::MIN_POSITIVE,
    f64::EPSILON,
    f64::MAX,
    f64::MIN,
    // Doubles around the limits of i64 and u64.
    -9_223_372_036_854_775_808.0,
    -9_223_372_036_854_777_856.0,
    9_223_372_036_854_774_784.0,
    9_223_372_036_854_775_808.0,
    18_446_744_073_709_549_568.0,
    18_446_744_073_709_551_616.0,
];

/// Integers at which behavior may change.
const INTEGERS: &[i128] = &[
    0,
    1,
    -1,
    2,
    99,
    100,
    101,
    255,
    65_536,
    -32_600,
    4_294_967_296,
    9_007_199_254_740_991,
    9_007_199_254_740_993,
    -9_007_199_254_740_993,
    i64::MIN as i128,
    i64::MIN as i128 + 1,
    i64::MAX as i128 - 1,
    i64::MAX as i128,
    i64::MAX as i128 + 1,
    u64::MAX as i128 - 1,
    u64::MAX as i128,
];

fn candidate(rng: &mut Rng) -> Number {
    match rng.u8(0..10) {
        0..3 => {
            let float = FLOATS[rng.usize(0..FLOATS.len())];
            Number::from_f64(float).expect("the number is finite")
        }
        3..6 => {
            let integer = INTEGERS[rng.usize(0..INTEGERS.len())];
            Number::from_i128(integer).expect("the integer fits 64 bits")
        }
        6 => Number::from(rng.i64(..)),
        7 => Number::from(rng.u64(..)),
        8 => Number::from_f64(f64::from_bits(rng.u64(..))).unwrap_or_else(|| Number::from(7)),
        _ => Number::from_f64(rng.f64()).expect("the number is finite"),
    }
}
