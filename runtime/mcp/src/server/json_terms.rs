//! Rephrases serde's messages in JSON terms, for models and clients in other languages.

/// Rust's names after "expected" in serde's messages, and JSON's names for the same.
const NAMES: [(&[&str], &str); 14] = [
    (&["i8"], "integer from -128 to 127"),
    (&["i16"], "integer from -32768 to 32767"),
    (&["i32"], "integer from -2147483648 to 2147483647"),
    (&["i64", "i128", "isize"], "integer"),
    (&["u8"], "integer from 0 to 255"),
    (&["u16"], "integer from 0 to 65535"),
    (&["u32"], "integer from 0 to 4294967295"),
    (&["u64", "u128", "usize"], "integer of at least 0"),
    (&["f32", "f64"], "number"),
    (&["a boolean", "boolean"], "boolean"),
    (&["a string", "string", "str", "a borrowed string", "a character", "char"], "string"),
    (&["a sequence", "a borrowed byte array"], "array"),
    (&["a map"], "object"),
    (&["unit", "unit value"], "null"),
];

/// The words before a type's name in serde's messages, such as `struct`, and the JSON names for them.
const KINDS: [(&str, &str); 9] = [
    ("struct variant ", "object"),
    ("tuple variant ", "array"),
    ("newtype variant ", "value"),
    ("unit variant ", "string"),
    ("unit struct ", "null"),
    ("tuple struct ", "array"),
    ("struct ", "object"),
    ("internally tagged enum ", "object"),
    ("adjacently tagged enum ", "object"),
];

pub(super) fn in_json_terms(message: &str) -> String {
    const EXPECTED: &str = "expected ";
    let Some(at) = message.rfind(EXPECTED).map(|at| at + EXPECTED.len()) else { return message.to_owned() };
    let (before, expected) = message.split_at(at);
    let renamed = NAMES.iter().find(|(names, _)| names.contains(&expected)).map(|(_, name)| (*name).to_owned());
    renamed.or_else(|| kind(expected)).map_or_else(|| message.to_owned(), |name| format!("{before}{name}"))
}

/// Returns the JSON name for an expected struct, enum or tuple, without the Rust type's name.
fn kind(expected: &str) -> Option<String> {
    if let Some((_, name)) = KINDS.iter().find(|(kind, _)| expected.starts_with(kind)) {
        // serde also accepts an array in place of a struct.
        let length = expected.split_once(" with ").map(|(_, length)| length);
        return Some(match (*name, length) {
            ("object", Some(length)) => format!("object, or array of {length}"),
            (name, _) => name.to_owned(),
        });
    }
    let length = expected.strip_prefix("a tuple of size ")?;
    Some(format!("array of {length} elements"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_json_types() {
        for (message, expected) in [
            ("b: invalid type: string \"x\", expected i64", "b: invalid type: string \"x\", expected integer"),
            (
                "invalid value: integer `-1`, expected u64",
                "invalid value: integer `-1`, expected integer of at least 0",
            ),
            (
                "invalid value: integer `256`, expected u8",
                "invalid value: integer `256`, expected integer from 0 to 255",
            ),
            ("invalid type: null, expected struct Add", "invalid type: null, expected object"),
            (
                "invalid length 1, expected struct Add with 2 elements",
                "invalid length 1, expected object, or array of 2 elements",
            ),
            ("invalid length 1, expected a tuple of size 2", "invalid length 1, expected array of 2 elements"),
            ("invalid type: map, expected a sequence", "invalid type: map, expected array"),
            ("missing field `b`", "missing field `b`"),
            ("unknown variant `x`, expected `a` or `b`", "unknown variant `x`, expected `a` or `b`"),
            ("invalid value: string \"x\", expected a date", "invalid value: string \"x\", expected a date"),
        ] {
            assert_eq!(in_json_terms(message), expected);
        }
    }
}
