//! Validates messages against the types of each revision.

#![allow(deprecated, reason = "messages of deprecated methods are validated too")]

use mcpgen_types::codec::Decode;
use mcpgen_types::{Error, Json, Request, RequestSet, RequestTypeVisitor, TaskRequest};

use super::observer::Side;

struct Validators {
    revision: &'static str,
    client: Types,
    server: Types,
}

struct Types {
    message: fn(&str) -> Result<(), Error>,
    result: fn(&str) -> Option<ResultTypes>,
}

type ValidateResult = fn(&Json) -> Result<(), Error>;

struct ResultTypes {
    result: ValidateResult,
    /// Validates the result of a request that runs as a task.
    task_result: Option<ValidateResult>,
}

// Written by the build script: `VALIDATORS`, with a row for each revision.
include!(concat!(env!("OUT_DIR"), "/validators.rs"));

pub(super) fn message(revision: &str, sender: Side, text: &str) -> Result<(), Error> {
    of(revision, sender).map_or(Ok(()), |types| (types.message)(text))
}

/// Validates the result of a request from `requester`. Results of unknown methods are valid. `is_task` says that the
/// params contain `task`, which the receiver may have ignored.
pub(super) fn result(revision: &str, requester: Side, method: &str, is_task: bool, result: &Json) -> Result<(), Error> {
    let Some(types) = of(revision, requester).and_then(|types| (types.result)(method)) else { return Ok(()) };
    let has_task = || result.get("task").is_some();
    let validate = types.task_result.filter(|_| is_task && has_task()).unwrap_or(types.result);
    validate(result)
}

fn of(revision: &str, sender: Side) -> Option<&'static Types> {
    let validators = VALIDATORS.iter().find(|validators| validators.revision == revision)?;
    Some(match sender {
        Side::Client => &validators.client,
        Side::Server => &validators.server,
    })
}

fn validate<T: Decode>(text: &str) -> Result<(), Error> {
    mcpgen_types::from_str::<T>(text).map(drop)
}

fn result_types<R: RequestSet>(method: &str) -> Option<ResultTypes> {
    R::request_type(method, FindResultTypes)
}

struct FindResultTypes;

impl RequestTypeVisitor for FindResultTypes {
    type Output = ResultTypes;

    fn visit<R: Request>(self) -> ResultTypes {
        ResultTypes { result: validate_result::<R::Result>, task_result: None }
    }

    fn visit_task<R: TaskRequest>(self) -> ResultTypes {
        ResultTypes { result: validate_result::<R::Result>, task_result: Some(validate_result::<R::TaskResult>) }
    }
}

fn validate_result<T: Decode>(result: &Json) -> Result<(), Error> {
    result.decode::<T>().map(drop)
}

#[cfg(test)]
mod tests {
    use mcpgen_types::Revision;

    use super::*;

    #[test]
    fn validates_the_results_of_all_requests_of_all_revisions() {
        for revision in Revision::ALL {
            for method in revision.methods().iter().filter(|method| method.is_request) {
                for (sender, sends) in [(Side::Client, method.sent_by_client), (Side::Server, method.sent_by_server)] {
                    let types = of(revision.as_str(), sender).expect("a row");
                    let result_types = (types.result)(method.method);
                    assert_eq!(result_types.is_some(), sends, "{revision} {} {sender:?}", method.method);
                    let as_task = result_types.is_some_and(|types| types.task_result.is_some());
                    assert_eq!(as_task, sends && method.may_run_as_task, "{revision} {}", method.method);
                }
            }
        }
    }

    #[test]
    fn a_call_that_runs_as_a_task_has_two_types_of_results() {
        let call = |is_task, text: &str| {
            let raw: Json = mcpgen_types::from_str(text).expect("JSON");
            result("2025-11-25", Side::Client, "tools/call", is_task, &raw).map_err(|error| error.to_string())
        };
        let missing = |member: &str| Err(format!("{member}: missing required member"));
        assert_eq!(call(true, r#"{"content":[]}"#), Ok(()));
        assert_eq!(call(true, r#"{"task":{}}"#), missing("CreateTaskResult: task.taskId"));
        assert_eq!(call(false, r#"{"task":{}}"#), missing("CallToolResult: content"));
        // The result of an unknown method.
        let raw = Json::parse("{}").expect("JSON");
        assert!(result("2025-11-25", Side::Client, "none", false, &raw).is_ok());
    }
}
