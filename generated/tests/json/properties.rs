//! Compares mcpgen with serde_json on random texts, some of them damaged.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::check::check;

fn config() -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn reads_documents_like_serde_json(text in document()) {
        let _ = check(text.as_bytes());
    }

    #[test]
    fn reads_damaged_documents_like_serde_json(text in document(), edits in vec(edit(), 1..4)) {
        let mut bytes = text.into_bytes();
        for edit in edits {
            edit.apply(&mut bytes);
            let _ = check(&bytes);
        }
    }

    #[test]
    fn reads_numbers_like_serde_json(numbers in vec(number(), 1..50)) {
        let _ = check(format!("[{}]", numbers.join(",")).as_bytes());
    }

    #[test]
    fn reads_strings_like_serde_json(string in string(), offset in 0..70_usize) {
        let _ = check(format!("{}{string}", " ".repeat(offset)).as_bytes());
    }

    #[test]
    fn reads_any_bytes_like_serde_json(tokens in vec(token(), 0..20)) {
        let _ = check(&tokens.concat());
    }
}

/// A change that damages a text. Positions are fractions of its length.
#[derive(Clone, Debug)]
enum Edit {
    Truncate(f64),
    Remove(f64, usize),
    Insert(f64, Vec<u8>),
    Replace(f64, u8),
    Copy(f64, f64, usize),
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        let at = |fraction: f64| (length as f64 * fraction) as usize;
        let span = |fraction: f64, count: usize| at(fraction)..(at(fraction) + count).min(length);
        match self {
            Self::Truncate(fraction) => bytes.truncate(at(*fraction)),
            Self::Remove(fraction, count) => drop(bytes.drain(span(*fraction, *count))),
            Self::Insert(fraction, inserted) => drop(bytes.splice(span(*fraction, 0), inserted.iter().copied())),
            Self::Replace(fraction, byte) => drop(bytes.splice(span(*fraction, 1), [*byte])),
            Self::Copy(from, to, count) => {
                let copied = bytes[span(*from, *count)].to_vec();
                drop(bytes.splice(span(*to, 0), copied));
            }
        }
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (0.0..1.0).prop_map(Edit::Truncate),
        (0.0..1.0, 1..12_usize).prop_map(|(at, count)| Edit::Remove(at, count)),
        (0.0..1.0, token()).prop_map(|(at, inserted)| Edit::Insert(at, inserted)),
        (0.0..1.0, byte()).prop_map(|(at, byte)| Edit::Replace(at, byte)),
        (0.0..1.0, 0.0..1.0, 1..100_usize).prop_map(|(from, to, count)| Edit::Copy(from, to, count)),
    ]
}

/// Returns random bytes, most of which have a meaning in JSON.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![2 => select(&b"\"\\[]{},:-+.eE019u \n\r\t\0\x1f"[..]), 1 => any::<u8>()]
}

fn token() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => byte().prop_map(|byte| vec![byte]),
        1 => number().prop_map(String::into_bytes),
        1 => string().prop_map(String::into_bytes),
        1 => select(&["true", "false", "null", "\\u", "\\ud800", "\\udc00", "\\\"", "[1]", "{\"\":"][..])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 1..5),
    ]
}

fn document() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        1 => select(&["null", "true", "false"][..]).prop_map(str::to_owned),
        3 => number(),
        3 => string(),
    ];
    let value = scalar.prop_recursive(6, 60, 8, |value| {
        let element =
            (space(), value.clone(), space()).prop_map(|(before, value, after)| before + &value + &after).boxed();
        let member = (space(), name(), space(), element.clone())
            .prop_map(|(before, name, after, value)| format!("{before}{name}{after}:{value}"));
        prop_oneof![
            (vec(element, 0..8), space()).prop_map(|(elements, space)| container('[', &elements, &space, ']')),
            (vec(member, 0..8), space()).prop_map(|(members, space)| container('{', &members, &space, '}')),
        ]
    });
    (space(), value, space()).prop_map(|(before, value, after)| before + &value + &after)
}

fn container(open: char, content: &[String], empty: &str, close: char) -> String {
    let content = if content.is_empty() { empty.to_owned() } else { content.join(",") };
    format!("{open}{content}{close}")
}

/// Returns random white space, which is often empty.
fn space() -> BoxedStrategy<String> {
    prop_oneof![3 => Just(String::new()), 1 => "[ \\t\\r\\n]{1,3}", 1 => (0..70_usize).prop_map(|count| " ".repeat(count))]
    .boxed()
}

/// Returns random names. Most are from a short list, so that some names occur twice in an object.
fn name() -> impl Strategy<Value = String> {
    const FEW: &[&str] =
        &["\"\"", "\"a\"", "\"\\u0061\"", "\"b\"", "\"aa\"", "\"resultType\"", "\"protocolVersion\"", "\"\\n\""];
    prop_oneof![3 => select(FEW).prop_map(str::to_owned), 1 => string()]
}

fn number() -> impl Strategy<Value = String> {
    let digits = || prop_oneof!["[0-9]{1,4}", "[0-9]{17,22}", "0{1,30}[0-9]{0,20}", "[0-9]{300,330}"];
    let integer = prop_oneof![Just("0".to_owned()), "[1-9][0-9]{0,3}", "[1-9][0-9]{16,21}", "[1-9][0-9]{295,315}"];
    let fraction = prop_oneof![Just(String::new()), digits().prop_map(|digits| format!(".{digits}"))];
    let exponent = prop_oneof![
        3 => Just(String::new()),
        2 => "[eE][+-]?[0-9]{1,2}",
        2 => "[eE][+-]?3[0-9]{2}",
        1 => "[eE]-?0{0,5}[0-9]{3,25}",
    ];
    let any_shape = ("-?", integer, fraction, exponent).prop_map(|(sign, a, b, c)| sign + &a + &b + &c);
    const NEAR_LIMITS: &[&str] = &[
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "-0",
        "-0.0",
        "1e308",
        "1.8e308",
        "5e-324",
        "2e-324",
        "4.9406564584124654e-324",
    ];
    prop_oneof![
        3 => any_shape,
        1 => any::<f64>().prop_filter("finite", |double| double.is_finite()).prop_map(|double| format!("{double:e}")),
        1 => any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |double| double.is_finite())
            .prop_map(|double| format!("{double:?}")),
        1 => any::<i64>().prop_map(|integer| integer.to_string()),
        1 => any::<u64>().prop_map(|integer| integer.to_string()),
        1 => select(NEAR_LIMITS).prop_map(str::to_owned),
    ]
}

/// Returns random strings, with their quotes.
fn string() -> impl Strategy<Value = String> {
    let short = vec(piece(), 0..4);
    let long = vec(piece(), 0..30);
    let prose = vec(prop_oneof![4 => "[a-z ]{0,20}", 3 => Just("\\n".to_owned()), 3 => Just("\\\"".to_owned())], 0..80);
    let mixed =
        (prose.clone(), piece(), prose).prop_map(|(before, piece, after)| [before, vec![piece], after].concat());
    prop_oneof![3 => short, 1 => long, 2 => mixed].prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn piece() -> impl Strategy<Value = String> {
    let near_blocks = || select(&[7_usize, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129][..]);
    prop_oneof![
        2 => "[ -!#-\\[\\]-~]{0,20}",
        1 => near_blocks().prop_map(|count| "a".repeat(count)),
        1 => near_blocks().prop_map(|count| "é".repeat(count)),
        2 => select(&["\\n", "\\\"", "\\/", "\\b", "\\f", "\\r", "\\t"][..]).prop_map(str::to_owned),
        1 => (1..9_usize).prop_map(|count| "\\\\".repeat(count)),
        1 => any::<char>().prop_filter("allowed", |character| *character >= ' ' && !['"', '\\'].contains(character))
            .prop_map(String::from),
        1 => any::<char>().prop_map(|character| {
            let mut units = [0; 2];
            character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }),
    ]
}
