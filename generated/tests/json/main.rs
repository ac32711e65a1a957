//! Compares the scanner and decoding with serde_json.
#![allow(clippy::unwrap_used, unreachable_pub)]

mod cases;
mod check;
mod properties;

use std::collections::HashSet;

use cases::{CASES, DEEP};
use check::check;
use mcpgen_types::codec::{Decode, Document};
use mcpgen_types::{ErrorKind, Value};

#[test]
fn accepts_and_rejects_cases_as_listed() {
    let mut names = HashSet::new();
    for case in CASES {
        assert!(names.insert(case.name), "two cases are called {:?}", case.name);
        assert!(case.reason != Some(""), "{}", case.name);
        let result = check_named(case.name, case.text);
        assert_eq!(result, case.is_accepted, "{}: {}", case.name, String::from_utf8_lossy(case.text));
    }
}

#[test]
fn reads_truncated_cases_like_serde_json() {
    for case in CASES {
        for length in 0..case.text.len() {
            check_named(case.name, &case.text[..length]);
        }
    }
}

#[test]
fn accepts_and_rejects_nested_cases_as_listed() {
    for (open, depth, inside, close, is_accepted, reason) in DEEP {
        let text = [open.repeat(*depth).as_str(), inside, &close.repeat(*depth)].concat();
        let name = format!("{depth} times {open}, {inside}, {close}: {reason}");
        assert_eq!(check_named(&name, text.as_bytes()), *is_accepted, "{name}");
    }
}

/// Returns whether the text is accepted. If a check fails, the panic names the case.
fn check_named(name: &str, text: &[u8]) -> bool {
    match std::panic::catch_unwind(|| check(text).is_ok()) {
        Ok(is_accepted) => is_accepted,
        Err(_) => panic!("{name}: {}", String::from_utf8_lossy(&text[..text.len().min(1000)])),
    }
}

/// Parts of strings that the scanner must stop at, or must skip as a whole.
const SPECIAL: &[&str] = &[
    "\"",
    "\\\"",
    "\\\\",
    "\\\\\"",
    "\\\\\\\"",
    "\\n",
    "\\t",
    "\\u0041",
    "\\ud83e\\udd80",
    "\\ud83e",
    "\\",
    "\\x",
    "\n",
    "\u{1f}",
    "\u{7f}",
    "\u{80}",
    "é",
    "漢",
    "🦀",
];

/// Puts each special part at every offset within blocks of 8 and 64 bytes, in plain text and in text with escapes.
#[test]
fn scans_strings_at_every_alignment() {
    let fillings = ["a", "ab\\n", "\\\"", "some prose of a line\\nand \\\"more\\\" ", "é", "a\\\\"];
    for filling in fillings {
        for (special, rest) in SPECIAL.iter().flat_map(|special| [(special, 0), (special, 9), (special, 150)]) {
            for offset in 0..210 {
                let before = "b".repeat(offset % filling.len()) + &filling.repeat(offset / filling.len());
                let after = filling.repeat(rest / filling.len());
                check_named(filling, format!("\"{before}{special}{after}\"").as_bytes());
            }
        }
    }
}

/// Puts each pair of special and harmless bytes at each position in a word.
#[test]
fn distinguishes_neighbouring_bytes() {
    let bytes = ["\0", "\u{1f}", " ", "!", "\"", "#", "[", "\\", "]", "\u{7f}", "\u{80}", "\u{a0}", "ÿ", "\u{10ffff}"];
    for (first, second) in bytes.iter().flat_map(|first| bytes.map(|second| (first, second))) {
        for offset in 0..18 {
            let before = "a".repeat(offset);
            check_named("in a string", format!("\"{before}{first}{second}aaaaaaaaaaaaaaaa\"").as_bytes());
            check_named("in a name", format!("{{\"{before}{first}{second}\":\"aaaaaaaaaaaa\"}}").as_bytes());
        }
    }
}

/// Surrogates and their neighbours, one, two and three in a row.
#[test]
fn pairs_surrogates_like_serde_json() {
    let units = [0, 0x41, 0xd7ff, 0xd800, 0xd801, 0xdbff, 0xdc00, 0xdc01, 0xdfff, 0xe000, 0xffff];
    let escapes = units.map(|unit| format!("\\u{unit:04X}"));
    for first in &escapes {
        check_named("one", format!("\"{first}\"").as_bytes());
        for second in &escapes {
            check_named("two", format!("\"{first}{second}\"").as_bytes());
            for third in &escapes {
                check_named("three", format!("\"{first}{second}{third}\"").as_bytes());
            }
        }
    }
}

/// Numbers around the lengths at which the scanner or the parser switches to another method.
#[test]
fn reads_long_numbers_exactly() {
    for length in (1..45).chain(295..330).chain([770, 1100, 5000]) {
        for digits in ["1".repeat(length), "9".repeat(length), format!("1{}", "0".repeat(length - 1))] {
            let zeros = "0".repeat(length);
            for text in [
                digits.clone(),
                format!("-{digits}"),
                format!("{digits}.0"),
                format!("{digits}.5e-10"),
                format!("{digits}e1"),
                format!("{digits}e-{length}"),
                format!("0.{digits}"),
                format!("0.{zeros}{digits}"),
                format!("0.{zeros}{digits}e{length}"),
                format!("0.{zeros}{digits}e+{}", 2 * length),
            ] {
                check_named("long number", text.as_bytes());
            }
        }
    }
}

/// Exponents that compensate for very many digits. `str::parse` drops the last digits of such exponents.
#[test]
fn reads_exponents_of_very_long_numbers_exactly() {
    for zeros in [66_000, 655_300] {
        let digits = "0".repeat(zeros);
        for text in [
            format!("0.{digits}15e{}", zeros + 100),
            format!("-0.{digits}15e+0{}", zeros + 400),
            format!("15{digits}e-{}", zeros + 100),
            format!("-15{digits}.0E-0{}", zeros - 400),
            format!("0.{digits}e-{}", zeros + 100),
        ] {
            check_named("very long number", text.as_bytes());
        }
    }
}

/// Decoding is safe even if the caller does not check the depth.
#[test]
fn reads_values_beyond_the_depth_limit_as_null() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let text = format!("{}0{}", open.repeat(100_000), close.repeat(100_000));
        let document = Document::read_any_depth(text).expect("JSON");
        assert!(document.check_depth().is_err());
        let error = document.root().to_json().decode::<Value>().expect_err("the copy is as deep");
        assert_eq!(error.kind(), &ErrorKind::Depth);
        let value = Value::decode(document.root()).expect("not too deep");
        let mut innermost = &value;
        let mut depth = 0;
        while let Some(inside) = innermost.get(0).or_else(|| innermost.get("a")) {
            (innermost, depth) = (inside, depth + 1);
        }
        assert_eq!((depth, innermost), (100, &Value::Null));
    }
}

/// [`Document::read_any_depth`] asserts the size of the index in builds with debug assertions, such as tests.
#[test]
fn index_has_at_most_one_entry_for_each_byte() {
    let elements = ["1", "[]", "\"\"", "{}", "[[]]", "[1]", "{\"\":0}", "{\"\":{}}"];
    for count in [0, 1, 2, 3, 10, 100, 10_000, 40_000] {
        let arrays = elements.map(|element| format!("[{}]", vec![element; count].join(",")));
        let objects = elements.map(|value| format!("{{{}}}", vec![format!("\"\":{value}"); count].join(",")));
        let nested = ["[".repeat(count) + "0" + &"]".repeat(count), "[".repeat(count + 1) + &"]".repeat(count + 1)];
        for text in [&arrays[..], &objects, &nested].concat() {
            Document::read_any_depth(text).unwrap();
        }
    }
}
