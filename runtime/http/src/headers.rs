//! Headers of Streamable HTTP and the encoding of their values.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use mcpgen_mcp::protocol::header_params::Header;
use mcpgen_mcp::protocol::methods::subject_member;
use mcpgen_mcp::protocol::params::RequestView;
use mcpgen_mcp::server::HeaderMismatch;
use mcpgen_types::{JsonObject, JsonRef, Revision};

/// A message's protocol revision.
pub const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// A message's JSON-RPC method. Since 2026-07-28.
pub const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// A request's target: the name of a tool or prompt, the URI of a resource, or the ID of a task. Since 2026-07-28.
pub const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// The session ID. Up to 2025-11-25.
pub const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The ID of the last event received, from which to resume a stream. Up to 2025-11-25.
pub const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
/// Asks proxies not to buffer a streamed response.
pub const NO_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// The prefix of headers that repeat tool arguments. Since 2026-07-28.
pub const PARAM: &str = "mcp-param-";

/// Returns whether requests of this method carry [`NAME`].
#[must_use]
pub fn is_named(method: &str) -> bool {
    let mut with_headers = Revision::ALL.iter().filter(|revision| revision.has_standard_headers());
    names_task(method) || subject_member(method).is_some() && with_headers.any(|it| it.method(method).is_some())
}

/// Returns the request's target, which [`NAME`] repeats.
#[must_use]
pub fn name(method: &str, view: &RequestView<'_>) -> Option<String> {
    let name = if names_task(method) { view.task_id } else { view.subject };
    name.filter(|_| is_named(method)).and_then(|name| name.string().ok())
}

/// Returns whether this is a method of `io.modelcontextprotocol/tasks` that names a task.
fn names_task(method: &str) -> bool {
    matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel")
}

/// Encodes text as a header value. Text that is safe in a header stays as it is; other text becomes `=?base64?…?=`.
#[must_use]
pub fn encode(text: &str) -> HeaderValue {
    // Headers may contain tabs, but not every implementation accepts them.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        && text.trim_matches(' ') == text
        && inside(text).is_none();
    let plain = is_plain.then(|| HeaderValue::from_str(text).ok()).flatten();
    plain.unwrap_or_else(|| {
        let encoded = format!("{BEGIN}{}{END}", STANDARD.encode(text));
        HeaderValue::from_str(&encoded).unwrap_or_else(|_| HeaderValue::from_static(""))
    })
}

/// Decodes a value from [`encode`]. `None` if the value is not ASCII, or if its Base64 is invalid or does not encode
/// UTF-8.
#[must_use]
pub fn decode(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    match inside(text) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

fn inside(text: &str) -> Option<&str> {
    text.strip_prefix(BEGIN)?.strip_suffix(END)
}

/// Returns the headers that repeat the arguments of a tool call. Absent and null arguments have none.
pub fn params<'h>(
    headers: &'h [Header],
    arguments: &'h JsonObject,
) -> impl Iterator<Item = (HeaderName, HeaderValue)> + 'h {
    headers.iter().filter_map(|header| {
        let name = param(header)?;
        let text = text_of(argument(header, arguments)?)?;
        Some((name, encode(&text)))
    })
}

/// Checks that the headers of a tool call match its arguments.
///
/// # Errors
///
/// Names the first header that is missing, unexpected, malformed, or different from its argument.
pub fn check_params(found: &HeaderMap, headers: &[Header], arguments: &JsonObject) -> Result<(), HeaderMismatch> {
    for header in headers {
        let Some(name) = param(header) else { continue };
        let found_value = only(found, &name)?;
        match (argument(header, arguments), found_value) {
            (None, None) => {}
            (None, Some(_)) => return mismatch(&name, "is present, but its argument is missing"),
            (Some(_), None) => return mismatch(&name, "is missing, but its argument is present"),
            (Some(value), Some(text)) if is_same(value, &text) => {}
            (Some(_), Some(_)) => return mismatch(&name, "does not match its argument"),
        }
    }
    Ok(())
}

/// Returns the decoded value of a header that may occur once, or `None` if it is missing.
///
/// # Errors
///
/// Fails if the header occurs more than once or cannot be decoded.
pub fn only(found: &HeaderMap, name: &HeaderName) -> Result<Option<String>, HeaderMismatch> {
    let mut values = found.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return mismatch(name, "occurs more than once");
    }
    match decode(value) {
        Some(text) => Ok(Some(text)),
        None => mismatch(name, "must be ASCII text or Base64-encoded UTF-8"),
    }
}

fn mismatch<T>(name: &HeaderName, why: &str) -> Result<T, HeaderMismatch> {
    Err(HeaderMismatch(format!("header `{name}` {why}")))
}

fn param(header: &Header) -> Option<HeaderName> {
    HeaderName::from_bytes(format!("{PARAM}{}", header.name).as_bytes()).ok()
}

fn argument<'v>(header: &Header, arguments: &'v JsonObject) -> Option<JsonRef<'v>> {
    let found = header.path.iter().try_fold(arguments.as_ref(), |value, name| value.get(name));
    found.filter(|value| !value.is_null())
}

/// Returns a value as text for a header. `None` for objects, arrays and null.
fn text_of(value: JsonRef<'_>) -> Option<String> {
    if let Some(number) = value.as_number() {
        return Some(whole(number.as_f64()).map_or_else(|| number.to_string(), |it| it.to_string()));
    }
    let text = value.as_str().map(Cow::into_owned);
    text.or_else(|| value.as_bool().map(|is| is.to_string()))
}

fn is_same(value: JsonRef<'_>, text: &str) -> bool {
    // Numbers are equal by value: 42.0 equals 42. Integers above 2^53 are compared exactly, because as doubles some
    // would be equal.
    if let Some(number) = value.as_number() {
        return match integer(&number.to_string()) {
            Some(expected) => integer(text) == Some(expected),
            None => text.parse::<f64>().is_ok_and(|parsed| parsed == number.as_f64()),
        };
    }
    text_of(value).is_some_and(|expected| expected == text)
}

/// Returns the exact integer value. `None` for other numbers, and for integers of more than 64 bits, which become
/// doubles in arguments.
fn integer(text: &str) -> Option<i128> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let exponent = exponent.parse::<i64>().ok()?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let power = 10_i128.checked_pow(u32::try_from(exponent.unsigned_abs()).ok()?)?;
    let value = match exponent < 0 {
        false => digits.checked_mul(power)?,
        true if digits % power == 0 => digits / power,
        true => return None,
    };
    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value).then_some(value)
}

/// Returns the number as an integer, if it is whole and every JSON parser represents it exactly.
fn whole(number: f64) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "the number is whole and below 2^53")]
    let is_one = || number as i64;
    (number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0).then(is_one)
}

#[cfg(test)]
mod tests {
    use mcpgen_types::Json;
    use serde_json::json;

    use super::*;

    #[test]
    fn encodes_only_unsafe_values() {
        let table = [
            ("us-west1", "us-west1"),
            ("two words", "two words"),
            ("a\tb", "=?base64?YQli?="),
            ("", ""),
            ("Grüße", "=?base64?R3LDvMOfZQ==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("a\r\nX-Evil: 1", "=?base64?YQ0KWC1FdmlsOiAx?="),
            ("=?base64?a?=", "=?base64?PT9iYXNlNjQ/YT89?="),
            ("=?base64?a", "=?base64?a"),
        ];
        for (text, value) in table {
            assert_eq!(encode(text), value, "{text:?}");
            assert_eq!(decode(&HeaderValue::from_static(value)).as_deref(), Some(text), "{value}");
        }
        for wrong in ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?gA==?="] {
            assert_eq!(decode(&HeaderValue::from_static(wrong)), None, "{wrong}");
        }
        assert_eq!(decode(&HeaderValue::from_bytes(b"\xe9").expect("a value")), None);
        assert_eq!(decode(&HeaderValue::from_static("=?BASE64?YQ==?=")).as_deref(), Some("=?BASE64?YQ==?="));
    }

    #[test]
    fn numbers_are_equal_by_exact_value() {
        for (argument, text, expected) in [
            (json!(42), "42", true),
            (json!(42), "42.0", true),
            (json!(42), "4.2e1", true),
            (json!(42), "420e-1", true),
            (json!(42.0), "42", true),
            (json!(42), "42.5", false),
            (json!(-0.0), "0", true),
            (json!(9_007_199_254_740_992_i64), "9007199254740993", false),
            (json!(9_007_199_254_740_992_i64), "9007199254740993.0", false),
            (json!(9_007_199_254_740_992.0), "9007199254740993", false),
            (json!(9_007_199_254_740_993_i64), "9007199254740993.0", true),
            (json!(9_007_199_254_740_993_i64), "9.007199254740993e15", true),
            (json!(i64::MIN), "-9223372036854775808", true),
            (json!(i64::MIN), "-9223372036854775809", false),
            (json!(u64::MAX), "18446744073709551615", true),
            (json!(u64::MAX), "18446744073709551614", false),
            (json!(u64::MAX), "1.8446744073709551615e19", true),
            // An integer of more than 64 bits is a double.
            (json!(3.4e23), "340000000000000000000001", true),
            (json!(3.4e23), "350000000000000000000000", false),
            (json!(1.5), "1.50", true),
            (json!(1.5), "2", false),
            (json!(1), "", false),
            (json!(1), "1e", false),
            (json!(1), "1e99999999999999999999", false),
            (json!(1), "0x1", false),
        ] {
            assert_eq!(is_same(Json::from(&argument).as_ref(), text), expected, "{argument} and {text}");
        }
    }

    #[test]
    fn repeats_arguments_in_headers() {
        let header = |name: &str, path: &[&str]| Header {
            name: name.to_owned(),
            path: path.iter().map(|name| (*name).to_owned()).collect(),
        };
        let headers =
            [header("Region", &["region"]), header("N", &["deep", "n"]), header("On", &["on"]), header("S", &["s"])];
        let arguments = json!({ "region": "über", "deep": { "n": 42.0 }, "on": true, "s": null });
        let arguments = &JsonObject::try_from(arguments).expect("an object");
        let sent: HeaderMap = params(&headers, arguments).collect();
        assert_eq!(sent.len(), 3);
        assert_eq!(sent["mcp-param-n"], "42");
        assert_eq!(sent["mcp-param-on"], "true");
        assert_eq!(check_params(&sent, &headers, arguments), Ok(()));
        let wrong: [(&str, Option<&str>); 7] = [
            ("mcp-param-region", None),
            ("mcp-param-region", Some("uber")),
            ("mcp-param-n", Some("43")),
            ("mcp-param-n", Some("x")),
            ("mcp-param-on", Some("True")),
            ("mcp-param-s", Some("x")),
            ("mcp-param-region", Some("=?base64?!?=")),
        ];
        for (name, value) in wrong {
            let mut sent = sent.clone();
            match value {
                Some(value) => drop(sent.insert(name, HeaderValue::from_static(value))),
                None => drop(sent.remove(name)),
            }
            assert!(check_params(&sent, &headers, arguments).is_err(), "{name}: {value:?}");
        }
        let mut fraction = sent.clone();
        fraction.insert("mcp-param-n", HeaderValue::from_static("42.0"));
        assert_eq!(check_params(&fraction, &headers, arguments), Ok(()));
        let mut twice = sent;
        twice.append("mcp-param-on", HeaderValue::from_static("true"));
        assert!(check_params(&twice, &headers, arguments).is_err());
    }
}
