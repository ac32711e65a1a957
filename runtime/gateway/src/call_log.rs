//! The log of calls: a line of JSON for each.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use mcpgen_types::{ErrorObject, Json, JsonRef};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::config::{Calls, ConfigError, is_secret_name};
use crate::policy::matches;

/// The longest text of arguments in the log, in bytes.
const MAX_ARGUMENTS: usize = 16 << 10;

/// The longest name or URI in a log, in bytes.
pub(crate) const MAX_NAME: usize = 1024;

/// Returns the beginning of a text, if it is longer than `max` bytes.
pub(crate) fn shortened(text: &str, max: usize) -> Cow<'_, str> {
    match text.len() > max {
        true => {
            let end = (0..=max).rev().find(|end| text.is_char_boundary(*end)).unwrap_or_default();
            format!("{}… ({} bytes)", &text[..end], text.len()).into()
        }
        false => text.into(),
    }
}

/// The log of calls.
#[derive(Debug)]
pub(crate) struct CallLog {
    file: Mutex<File>,
    /// Whether the arguments are logged, and the patterns of names whose values are not.
    arguments: Option<Vec<String>>,
}

/// A call that has ended.
pub(crate) struct LoggedCall<'c> {
    pub(crate) method: &'c str,
    /// The name or URI that the client has sent.
    pub(crate) name: &'c str,
    /// The server, if the gateway knows it.
    pub(crate) server: Option<&'c str>,
    pub(crate) principal: Option<&'c str>,
    /// The name of the client, as it says.
    pub(crate) client: Option<String>,
    pub(crate) revision: &'c str,
    pub(crate) arguments: Option<JsonRef<'c>>,
}

impl CallLog {
    /// Opens the log, if the configuration has one.
    pub(crate) fn open(calls: &Calls, folder: &Path) -> Result<Option<Self>, ConfigError> {
        let Some(path) = calls.log.as_ref().map(|path| folder.join(path)) else { return Ok(None) };
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|source| ConfigError::Open { path, source })?;
        Ok(Some(Self { file: Mutex::new(file), arguments: calls.arguments.then(|| calls.redact.clone()) }))
    }

    /// Appends a call. `result` is `None` if the client has cancelled it.
    pub(crate) fn write(&self, call: &LoggedCall<'_>, duration: Duration, result: Option<&Result<Json, ErrorObject>>) {
        let mut line = json!({
            "time": Timestamp::now().to_string(),
            "method": call.method,
            "name": shortened(call.name, MAX_NAME),
            "server": call.server,
            "principal": call.principal.map(|principal| shortened(principal, MAX_NAME)),
            "client": call.client.as_deref().map(|client| shortened(client, MAX_NAME)),
            "revision": call.revision,
            "duration_us": u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            "outcome": result.map_or("cancelled", outcome),
        });
        if let Some(Err(error)) = result {
            line["error"] = json!({ "code": error.code.0, "message": shortened(&error.message, MAX_NAME) });
        }
        if let (Some(patterns), Some(arguments)) = (&self.arguments, call.arguments) {
            line["arguments"] = match arguments.text().len() > MAX_ARGUMENTS {
                true => json!(format!("{} bytes", arguments.text().len())),
                false => redacted(arguments.to_value(), patterns),
            };
        }
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        // One write for each line, so that lines of several processes do not mix.
        if let Err(error) = self.file.lock().write_all(&bytes) {
            tracing::error!(%error, "cannot write to the log of calls");
        }
    }
}

/// Returns how a call has ended.
pub(crate) fn outcome(result: &Result<Json, ErrorObject>) -> &'static str {
    match result {
        Err(_) => "error",
        Ok(result) => match result.get("isError").and_then(JsonRef::as_bool) {
            Some(true) => "tool_error",
            _ => "ok",
        },
    }
}

/// Replaces the values of secrets, at any depth.
fn redacted(value: Value, patterns: &[String]) -> Value {
    match value {
        Value::Object(members) => {
            let redact = |(name, value): (String, Value)| {
                let lower = name.to_lowercase();
                let is_secret =
                    is_secret_name(&name) || patterns.iter().any(|pattern| matches(&pattern.to_lowercase(), &lower));
                let value = if is_secret { json!("[redacted]") } else { redacted(value, patterns) };
                (name, value)
            };
            Value::Object(members.into_iter().map(redact).collect())
        }
        Value::Array(elements) => elements.into_iter().map(|element| redacted(element, patterns)).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortens_long_texts() {
        for (text, max, expected) in [("abc", 3, "abc"), ("abcd", 3, "abc… (4 bytes)"), ("aé", 2, "a… (3 bytes)")]
        {
            assert_eq!(shortened(text, max), expected);
        }
    }

    #[test]
    fn redacts_secrets() {
        for (arguments, expected) in [
            (json!({ "path": "a" }), json!({ "path": "a" })),
            (json!({ "Password": "a" }), json!({ "Password": "[redacted]" })),
            (json!({ "login": { "api_key": { "x": 1 } } }), json!({ "login": { "api_key": "[redacted]" } })),
            (json!([{ "accessToken": 1, "n": 2 }]), json!([{ "accessToken": "[redacted]", "n": 2 }])),
            (json!({ "IBAN_1": "x" }), json!({ "IBAN_1": "[redacted]" })),
        ] {
            assert_eq!(redacted(arguments.clone(), &["iban*".to_owned()]), expected, "{arguments}");
        }
    }
}
