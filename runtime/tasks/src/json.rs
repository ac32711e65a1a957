//! Stored tasks as JSON text, for stores outside the process.

use jiff::Timestamp;
use mcpgen_runtime::jsonrpc::json::Picked;
use mcpgen_types::codec::{Cursor, Decode};
use mcpgen_types::{Error, ErrorKind, Json, to_string};

use super::store::StoredTask;

const MEMBERS: [&str; 7] = ["task", "owner", "until", "result", "error", "inputRequests", "inputResponses"];

impl StoredTask {
    /// Encodes the task as JSON text. Results keep their exact text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let outcome = match &self.outcome {
            None => String::new(),
            Some(Ok(result)) => format!(r#","result":{}"#, result.text()),
            Some(Err(error)) => format!(r#","error":{}"#, to_string(error)),
        };
        format!(
            r#"{{"task":{},"owner":{},"until":{},"inputRequests":{},"inputResponses":{}{outcome}}}"#,
            to_string(&self.task),
            to_string(&self.owner),
            to_string(&self.until.to_string()),
            to_string(&self.input_requests),
            to_string(&self.input_responses),
        )
    }

    /// Decodes a task from the output of [`to_json`](Self::to_json).
    ///
    /// # Errors
    ///
    /// Fails for any other text.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let json: Json = mcpgen_types::from_str(text)?;
        json.read(Self::read)?
    }

    fn read(json: Cursor<'_>) -> Result<Self, Error> {
        let [task, owner, until, result, error, input_requests, input_responses] = Picked::from(json, &MEMBERS)?.values;
        let until: String = required("until", until)?;
        let until = until.parse::<Timestamp>().map_err(|_| {
            let kind = ErrorKind::Type { expected: "RFC 3339 timestamp".into(), found: until.clone() };
            Error::new(kind).at_key("until")
        })?;
        let outcome = match (result, error) {
            (Some(result), _) => Some(Ok(result.to_json())),
            (None, Some(error)) => Some(Err(required("error", Some(error))?)),
            (None, None) => None,
        };
        Ok(Self {
            task: required("task", task)?,
            owner: required("owner", owner)?,
            until,
            outcome,
            input_requests: required("inputRequests", input_requests)?,
            input_responses: required("inputResponses", input_responses)?,
        })
    }
}

fn required<T: Decode>(name: &'static str, value: Option<Cursor<'_>>) -> Result<T, Error> {
    let value = value.ok_or_else(|| Error::missing(name))?;
    T::decode(value).map_err(|error| error.at_key(name))
}

#[cfg(test)]
mod tests {
    use mcpgen_types::ErrorObject;
    use mcpgen_types::v2025_11_25::{Task, TaskStatus};
    use serde_json::json;

    use super::*;
    use crate::TaskOutcome;

    fn stored(outcome: Option<TaskOutcome>) -> StoredTask {
        let object = |value: serde_json::Value| mcpgen_types::from_value(value).expect("an object");
        StoredTask {
            task: Task::new("id", TaskStatus::Working, "1970-01-01T00:00:00.000Z", None)
                .last_updated_at("1970-01-01T00:00:01.000Z"),
            owner: "\"alice\"".to_owned(),
            until: Timestamp::UNIX_EPOCH,
            outcome,
            input_requests: object(json!({ "a": { "method": "roots/list" } })),
            input_responses: object(json!({ "b": { "roots": [] } })),
        }
    }

    #[test]
    fn decodes_what_it_encodes() {
        let result = Json::parse(r#"{"big": 9007199254740993, "float": 1.0}"#).expect("JSON");
        let error = ErrorObject::new(-1, "failed").with_data(json!([1]));
        for outcome in [None, Some(Ok(result)), Some(Err(error))] {
            let before = stored(outcome);
            let after = StoredTask::from_json(&before.to_json()).expect("a task");
            assert_eq!(after.to_json(), before.to_json());
            assert_eq!((after.task, after.owner, after.until), (before.task, before.owner, before.until));
            assert_eq!((after.input_requests, after.input_responses), (before.input_requests, before.input_responses));
            assert_eq!(
                after.outcome.map(|outcome| outcome.map(Json::into_text)),
                before.outcome.map(|outcome| outcome.map(Json::into_text))
            );
        }
    }

    #[test]
    fn rejects_other_text_with_its_path() {
        let valid = stored(None).to_json();
        assert!(StoredTask::from_json("{}").is_err());
        assert!(StoredTask::from_json(&valid[1..]).is_err());
        let error = StoredTask::from_json(&valid.replace("1970-01-01T00:00:00Z", "soon")).expect_err("no timestamp");
        assert_eq!(error.path(), "/until");
    }
}
