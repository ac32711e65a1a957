//! Validates messages against the types of each revision.

#![allow(deprecated, reason = "messages of deprecated methods are validated too")]

use mcpgen_types::codec::Decode;
use mcpgen_types::{RawJson, Request};

use super::observer::Side;

/// The functions that validate the messages of a revision.
struct Validators {
    revision: &'static str,
    client: fn(&str) -> Result<(), String>,
    server: fn(&str) -> Result<(), String>,
    results: &'static [(&'static str, ValidateResult)],
}

type ValidateResult = fn(&RawJson) -> Result<(), String>;

// Written by the build script: `VALIDATORS`, with a row for each revision.
include!(concat!(env!("OUT_DIR"), "/validators.rs"));

/// Validates a request or a notification.
pub(super) fn message(revision: &str, sender: Side, text: &str) -> Result<(), String> {
    match (of(revision), sender) {
        (Some(validators), Side::Client) => (validators.client)(text),
        (Some(validators), Side::Server) => (validators.server)(text),
        (None, _) => Ok(()),
    }
}

/// Validates the result of a request.
pub(super) fn result(revision: &str, method: &str, result: &RawJson) -> Result<(), String> {
    let validators = of(revision).map(|validators| validators.results).unwrap_or_default();
    let validate = validators.iter().find(|(known, _)| *known == method);
    validate.map_or(Ok(()), |(_, validate)| validate(result))
}

fn of(revision: &str) -> Option<&'static Validators> {
    VALIDATORS.iter().find(|validators| validators.revision == revision)
}

fn validate<T: Decode>(text: &str) -> Result<(), String> {
    mcpgen_types::from_str::<T>(text).map(drop).map_err(|error| error.to_string())
}

fn validate_result<R: Request>(result: &RawJson) -> Result<(), String> {
    result.decode::<R::Result>().map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use mcpgen_types::Revision;

    use super::*;

    #[test]
    fn validates_the_results_of_all_requests_of_all_revisions() {
        for revision in Revision::ALL {
            let validators = of(revision.as_str()).expect("a row");
            for method in revision.methods().iter().filter(|method| method.is_request) {
                let known = validators.results.iter().any(|(name, _)| *name == method.method);
                assert!(known, "add {} to build.rs ({revision})", method.method);
            }
        }
    }
}
