//! The log of calls: one line of JSON per call.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use mcpgen_sdk::protocol::ContextExt;
use mcpgen_sdk::router::AnyRequest;
use mcpgen_types::{ErrorObject, Json, JsonRef};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::config::{Calls, ConfigError, is_secret_name};
use crate::metrics::Metrics;
use crate::policy::matches;

/// The maximum size of logged arguments, in bytes. Of larger ones, only the size is logged.
const MAX_ARGUMENTS: usize = 16 << 10;

/// The longest name or URI in a log, in bytes.
pub(crate) const MAX_NAME: usize = 1024;

/// Returns a text, cut off after `max` bytes if it is longer.
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
    /// Patterns of argument names whose values are redacted. `None` if arguments are not logged.
    arguments: Option<Vec<String>>,
}

/// A call that is counted and logged when it ends, even if it is cancelled.
pub(crate) struct CallRecord<'c> {
    metrics: &'c Metrics,
    /// The log, the request, and the `params` field that names the request's target.
    logged: Option<(&'c CallLog, AnyRequest, &'static str)>,
    began: Instant,
    /// The name of the server, if the gateway knows it.
    pub(crate) server: Option<&'c str>,
    outcome: &'static str,
    error: Option<ErrorObject>,
}

impl<'c> CallRecord<'c> {
    pub(crate) fn begin(
        metrics: &'c Metrics,
        log: Option<&'c CallLog>,
        (request, key): (&AnyRequest, &'static str),
    ) -> Self {
        let logged = log.map(|log| (log, request.clone(), key));
        Self { metrics, logged, began: Instant::now(), server: None, outcome: "cancelled", error: None }
    }

    pub(crate) fn set_result(&mut self, result: &Result<Json, ErrorObject>) {
        self.outcome = outcome(result);
        self.error = result.as_ref().err().cloned();
    }
}

impl Drop for CallRecord<'_> {
    fn drop(&mut self) {
        let duration = self.began.elapsed();
        self.metrics.count(self.server.unwrap_or_default(), self.outcome, duration);
        if let Some((log, request, key)) = &self.logged {
            log.write(self, request, key, duration);
        }
    }
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

    fn write(&self, call: &CallRecord<'_>, request: &AnyRequest, key: &str, duration: Duration) {
        let AnyRequest { method, params, context } = request;
        let name = params.as_ref().and_then(|params| params.get(key)?.as_str()).unwrap_or_default();
        let client = context.peer_info().and_then(|info| info.implementation.get("name")?.as_str());
        let mut line = json!({
            "time": Timestamp::now().to_string(),
            "method": shortened(method, MAX_NAME),
            "name": shortened(&name, MAX_NAME),
            "server": call.server,
            "principal": context.principal().map(|principal| shortened(principal.name(), MAX_NAME)),
            "client": client.map(|client| shortened(&client, MAX_NAME).into_owned()),
            "revision": context.revision().as_str(),
            "duration_us": u64::try_from(duration.as_micros()).unwrap_or(u64::MAX),
            "outcome": call.outcome,
        });
        if let Some(error) = &call.error {
            line["error"] = json!({ "code": error.code.0, "message": shortened(&error.message, MAX_NAME) });
        }
        let arguments = params.as_ref().and_then(|params| params.get("arguments"));
        if let (Some(patterns), Some(arguments)) = (&self.arguments, arguments) {
            line["arguments"] = match arguments.text().len() > MAX_ARGUMENTS {
                true => json!(format!("{} bytes", arguments.text().len())),
                false => redacted(arguments.to_value(), patterns),
            };
        }
        let mut bytes = line.to_string().into_bytes();
        bytes.push(b'\n');
        // One write per line, so that lines of several processes do not mix.
        if let Err(error) = self.file.lock().write_all(&bytes) {
            tracing::error!(%error, "cannot write to the log of calls");
        }
    }
}

/// Returns how a call ended, as the log and the metrics name it.
fn outcome(result: &Result<Json, ErrorObject>) -> &'static str {
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
