//! Decodes OAuth's JSON documents, including members whose types real providers get wrong.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::{Deserializer, de};
use serde_json::error::Category;
use url::Url;

use super::error::{FetchError, shown};

/// Decodes a response. An error names the member and the types expected and found, but no values: they may be secret.
pub(crate) fn json<T: DeserializeOwned>(url: &Url, body: &SecretString) -> Result<T, FetchError> {
    const NO_OBJECT: &str = "it is not a JSON object";
    // serde would accept an array and read its elements in order.
    if body.expose_secret().trim_ascii_start().starts_with('[') {
        return Err(FetchError::Json { url: shown(url), why: NO_OBJECT.to_owned() });
    }
    let mut reader = serde_json::Deserializer::from_str(body.expose_secret());
    let decoded = serde_path_to_error::deserialize(&mut reader);
    let (path, error) = match decoded {
        Ok(value) => match reader.end() {
            Ok(()) => return Ok(value),
            Err(error) => (String::new(), error),
        },
        Err(error) => (error.path().to_string(), error.into_inner()),
    };
    let (url, text) = (shown(url), error.to_string());
    // Only the text before the last `, expected ` can come from the response, so it is not shown.
    let (found, expected) = text.rsplit_once(", expected ").unwrap_or((&text, "a valid value"));
    let expected = expected.split(" at line ").next().unwrap_or_default();
    let named = |prefix: &str| Some(text.strip_prefix(prefix)?.split('`').next().unwrap_or_default().to_owned());
    let parent = if path == "." { String::new() } else { format!("{path}.") };
    if let Some(member) = named("missing field `") {
        return Err(FetchError::Missing { url, member: parent + &member });
    }
    if let Some(member) = named("duplicate field `") {
        return Err(FetchError::Member { url, member: parent + &member, why: "occurs twice".to_owned() });
    }
    if error.classify() != Category::Data || parent.is_empty() {
        let why = match error.classify() {
            Category::Data => NO_OBJECT.to_owned(),
            kind => format!("{kind:?} error at line {} column {}", error.line(), error.column()),
        };
        return Err(FetchError::Json { url, why });
    }
    let expected = match expected {
        "a sequence" => "an array",
        expected if expected.starts_with("struct ") || expected == "a map" => "an object",
        expected => expected,
    };
    let why = format!("must be {expected}, but is {}", found_type(found));
    Err(FetchError::Member { url, member: path, why })
}

fn found_type(error: &str) -> &'static str {
    let found = error.strip_prefix("invalid type: ").map(|found| found.split([' ', ',']).next().unwrap_or_default());
    match found {
        Some("string") => "a string",
        Some("integer" | "floating") => "a number",
        Some("boolean") => "a boolean",
        Some("null") => "null",
        Some("sequence") => "an array",
        Some("map") => "an object",
        _ => "another value",
    }
}

/// Reads a number of seconds. Microsoft and NetSuite, among others, send text.
#[cfg(feature = "client")]
pub(crate) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    deserializer.deserialize_any(Seconds)
}

#[cfg(feature = "client")]
struct Seconds;

#[cfg(feature = "client")]
impl Visitor<'_> for Seconds {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds")
    }

    fn visit_u64<E>(self, seconds: u64) -> Result<Self::Value, E> {
        Ok(Some(seconds))
    }

    fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Self::Value, E> {
        format!("{:.0}", seconds.trunc())
            .parse()
            .map(Some)
            .map_err(|_| E::invalid_type(de::Unexpected::Float(seconds), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = text.parse().ok().filter(|_| is_number);
        seconds.map(Some).ok_or_else(|| E::invalid_type(de::Unexpected::Str(text), &self))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Reads scopes separated by spaces. Twitch, among others, sends an array.
#[cfg(feature = "client")]
pub(crate) fn scope<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(scopes(deserializer)?.map(|scopes| scopes.join(" ")))
}

/// Reads a list of scopes. Some servers send text separated by spaces, as elsewhere in OAuth.
pub(crate) fn scopes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    deserializer.deserialize_any(Scopes)
}

struct Scopes;

impl<'de> Visitor<'de> for Scopes {
    type Value = Option<Vec<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of strings")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text.split_ascii_whitespace().map(ToOwned::to_owned).collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut scopes = Vec::new();
        while let Some(scope) = list.next_element()? {
            scopes.push(scope);
        }
        Ok(Some(scopes))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// An empty string means that there is no endpoint.
pub(crate) fn endpoint<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Url>, D::Error> {
    let text: Option<String> = serde::Deserialize::deserialize(deserializer)?;
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| text.parse().map_err(|_| D::Error::invalid_value(de::Unexpected::Str(&text), &"a URL"))).transpose()
}

/// `null` means an empty array.
pub(crate) fn strings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let strings: Option<Vec<String>> = serde::Deserialize::deserialize(deserializer)?;
    Ok(strings.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::ProtectedResourceMetadata;

    #[test]
    fn names_what_is_not_valid_without_values() {
        for (text, expected) in [
            (r#"{"resource":"secret","resource":"secret"}"#, "`resource` occurs twice"),
            (r#"{"resource":["secret"]}"#, "`resource` must be a string, but is an array"),
            (
                r#"{"resource":"a","scopes_supported":[["secret"]]}"#,
                "`scopes_supported[0]` must be a string, but is an array",
            ),
            ("{}", "`resource` is missing"),
            (r#"["secret",1]"#, "it is not a JSON object"),
            (r#""secret, expected secret""#, "it is not a JSON object"),
            ("<html>secret</html>", "Syntax error at line 1 column 1"),
            (r#"{"resource":"secret""#, "Eof error at line 1 column 20"),
            (r#"{"resource":"secret"} secret"#, "Syntax error at line 1 column 23"),
        ] {
            let url = "https://as.example/metadata?secret".parse().expect("a URL");
            let error = json::<ProtectedResourceMetadata>(&url, &text.into()).expect_err(text);
            let expected = format!("the response of https://as.example/metadata is not valid: {expected}");
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }
}
