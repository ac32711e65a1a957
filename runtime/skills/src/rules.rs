//! Rules of the Agent Skills specification for front matter.

use serde_json::Value;

use super::yaml::Mapping;

/// Checks a skill's front matter. `directory` is the name of its directory. Fields that the specification does not
/// define are not checked.
///
/// # Errors
///
/// Returns the violated rule and a remedy.
pub(super) fn check(frontmatter: &Mapping, directory: &str) -> Result<(), String> {
    let name = required_text(frontmatter, "name")?;
    if !is_name(name) {
        return Err(format!(
            "name {name:?}: use 1 to 64 characters from a-z, 0-9 and `-`, without `-` at the start, at the end, or next to \
             another `-`"
        ));
    }
    if name != directory {
        return Err(format!("name {name:?} must equal the name of its directory, {directory:?}; rename one of them"));
    }
    check_length("description", required_text(frontmatter, "description")?, 1024)?;
    optional_text(frontmatter, "license")?;
    if let Some(compatibility) = optional_text(frontmatter, "compatibility")? {
        check_length("compatibility", compatibility, 500)?;
    }
    check_metadata(frontmatter)?;
    match frontmatter.get("allowed-tools") {
        None | Some(Value::String(_)) => Ok(()),
        Some(Value::Array(tools)) if tools.iter().all(Value::is_string) => Ok(()),
        Some(_) => Err("allowed-tools: expected text or a list of texts".to_owned()),
    }
}

pub(super) fn is_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=64).contains(&name.len())
        && name.bytes().all(is_allowed)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

fn required_text<'f>(frontmatter: &'f Mapping, field: &str) -> Result<&'f str, String> {
    optional_text(frontmatter, field)?.ok_or_else(|| format!("the front matter has no {field}; add `{field}: …`"))
}

fn optional_text<'f>(frontmatter: &'f Mapping, field: &str) -> Result<Option<&'f str>, String> {
    match frontmatter.get(field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("{field}: expected text, found {other}; put the value in quotes")),
    }
}

fn check_length(field: &str, text: &str, max: usize) -> Result<(), String> {
    match text.chars().count() {
        _ if text.trim().is_empty() => Err(format!("{field} must not be empty; write 1 to {max} characters")),
        length if length > max => Err(format!("{field} has {length} characters; shorten it to at most {max}")),
        _ => Ok(()),
    }
}

fn check_metadata(frontmatter: &Mapping) -> Result<(), String> {
    match frontmatter.get("metadata") {
        None => Ok(()),
        Some(Value::Object(metadata)) => match metadata.iter().find(|(_, value)| !value.is_string()) {
            None => Ok(()),
            Some((key, value)) => {
                Err(format!("metadata: {key}: expected text, found {value}; put the value in quotes"))
            }
        },
        Some(_) => Err("metadata: expected a mapping of texts".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn checks_each_field() {
        let valid = || json!({ "name": "pdf-tools", "description": "Fills forms." });
        let long = |length| "é".repeat(length);
        let cases = [
            ("name", json!("pdf-tools"), None),
            ("name", json!("other"), Some("must equal the name of its directory")),
            ("name", json!("PDF-tools"), Some("use 1 to 64 characters")),
            ("name", json!("-pdf"), Some("use 1 to 64 characters")),
            ("name", json!("pdf-"), Some("use 1 to 64 characters")),
            ("name", json!("pdf--tools"), Some("use 1 to 64 characters")),
            ("name", json!(""), Some("use 1 to 64 characters")),
            ("name", json!("a".repeat(65)), Some("use 1 to 64 characters")),
            ("name", json!(5), Some("name: expected text, found 5")),
            ("description", json!(long(1024)), None),
            ("description", json!(long(1025)), Some("description has 1025 characters")),
            ("description", json!(" \n"), Some("description must not be empty")),
            ("description", json!(null), Some("description: expected text, found null")),
            ("license", json!("MIT"), None),
            ("license", json!(2.0), Some("license: expected text")),
            ("compatibility", json!(long(500)), None),
            ("compatibility", json!(long(501)), Some("compatibility has 501 characters")),
            ("compatibility", json!(""), Some("compatibility must not be empty")),
            ("metadata", json!({ "version": "1.0" }), None),
            ("metadata", json!({ "version": 1.0 }), Some("metadata: version: expected text, found 1.0")),
            ("metadata", json!([]), Some("metadata: expected a mapping")),
            ("allowed-tools", json!("Bash Read"), None),
            ("allowed-tools", json!(["Bash", "Read"]), None),
            ("allowed-tools", json!([5]), Some("allowed-tools: expected text or a list")),
            ("future-field", json!({ "any": [1] }), None),
        ];
        for (field, value, expected) in cases {
            let mut frontmatter = valid();
            frontmatter[field] = value.clone();
            let found = check(frontmatter.as_object().expect("an object"), "pdf-tools");
            match expected {
                None => assert_eq!(found, Ok(()), "{field}: {value}"),
                Some(part) => {
                    assert!(found.as_ref().is_err_and(|why| why.contains(part)), "{field}: {value}: {found:?}")
                }
            }
        }
        for field in ["name", "description"] {
            let mut frontmatter = valid();
            frontmatter.as_object_mut().expect("an object").remove(field);
            let found = check(frontmatter.as_object().expect("an object"), "pdf-tools");
            assert!(found.is_err_and(|why| why.contains(&format!("has no {field}"))));
        }
    }
}
