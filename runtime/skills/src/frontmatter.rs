//! The front matter of a `SKILL.md`.

use serde_json::Value;

use super::yaml::{self, Mapping};

/// Maximum size of a front matter in bytes.
const MAX_BYTES: usize = 64 << 10;

/// Why the front matter of a `SKILL.md` is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
#[non_exhaustive]
pub struct FrontmatterError {
    /// The line of the file, starting with 1.
    pub line: usize,
    /// The reason and a remedy.
    pub reason: String,
}

/// Reads the front matter of a `SKILL.md` as a JSON object.
///
/// # Errors
///
/// Fails if the file does not start with front matter, or if that is not a YAML mapping that JSON can represent.
pub(crate) fn parse(text: &str) -> Result<Mapping, FrontmatterError> {
    let yaml = yaml_of(text).map_err(|(line, reason)| FrontmatterError { line, reason: reason.to_owned() })?;
    yaml::parse(yaml).map_err(|error| FrontmatterError { line: error.line + 1, reason: error.reason })
}

/// The YAML between the `---` lines.
fn yaml_of(text: &str) -> Result<&str, (usize, &'static str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let after = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
    let after = after.ok_or((1, "the file must start with front matter: a line `---`, YAML, and a line `---`"))?;
    let mut end = 0;
    for line in after.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Ok(&after[..end]);
        }
        end += line.len();
        if end > MAX_BYTES {
            return Err((1, "the front matter is larger than 64 KiB; move its content into the text"));
        }
    }
    Err((1, "the front matter does not end; add a line `---` after it"))
}

/// Returns the first field that differs. Numbers are compared by value: `1` equals `1.0`.
pub(crate) fn first_difference<'f>(expected: &'f Mapping, found: &'f Mapping) -> Option<&'f str> {
    let changed = expected.iter().find(|(name, value)| !found.get(*name).is_some_and(|found| is_same(value, found)));
    let added = || found.keys().find(|name| !expected.contains_key(*name));
    changed.map(|(name, _)| name).or_else(added).map(String::as_str)
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b)),
        (Value::Object(a), Value::Object(b)) => a.len() == b.len() && first_difference(a, b).is_none(),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<Value, (usize, &str)>) {
        let found = parse(text).map(Value::Object);
        match (&found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(*found, expected, "{text:?}"),
            (Err(error), Err((line, part))) => {
                assert!(error.line == line && error.reason.contains(part), "{text:?}: {error}");
            }
            _ => panic!("{text:?}: {found:?}"),
        }
    }

    #[test]
    fn reads_the_yaml_between_two_lines() {
        let expected = || Ok(json!({ "name": "a" }));
        check("---\nname: a\n---\n", expected());
        check("---\nname: a\n---", expected());
        check("---\r\nname: a\r\n---  \r\nbody\n---\n", expected());
        check("\u{feff}---\nname: a\n---\n", expected());
        check("---\nname: a\ntext: a --- b\n---\n", Ok(json!({ "name": "a", "text": "a --- b" })));
        check("name: a\n", Err((1, "must start with front matter")));
        check("----\nname: a\n---\n", Err((1, "must start with front matter")));
        check("\n---\nname: a\n---\n", Err((1, "must start with front matter")));
        check("---\nname: a\n", Err((1, "does not end")));
        check("---\n---\n", Err((2, "expected a YAML mapping")));
        check("---\nname: a\nname: b\n---\n", Err((3, "occurs twice")));
        check(&format!("---\na: {}\n---\n", "b".repeat(MAX_BYTES)), Err((1, "larger than 64 KiB")));
    }

    #[test]
    fn finds_the_first_difference() {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        for (a, b, expected) in [
            (json!({ "a": 1 }), json!({ "a": 1.0 }), None),
            (json!({ "a": [1, { "b": "c" }] }), json!({ "a": [1.0, { "b": "c" }] }), None),
            (json!({ "a": u64::MAX }), json!({ "a": u64::MAX - 1 }), Some("a")),
            (json!({ "a": "1" }), json!({ "a": 1 }), Some("a")),
            (json!({ "a": [1] }), json!({ "a": [1, 2] }), Some("a")),
            (json!({ "a": { "b": 1 } }), json!({ "a": { "b": 1, "c": 2 } }), Some("a")),
            (json!({ "a": 1, "b": 2 }), json!({ "a": 1 }), Some("b")),
            (json!({ "a": 1 }), json!({ "a": 1, "b": null }), Some("b")),
        ] {
            let (a, b) = (object(a), object(b));
            assert_eq!(first_difference(&a, &b), expected, "{a:?} {b:?}");
        }
    }
}
