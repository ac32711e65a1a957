//! Requests refused with an HTTP error status.

use http::header::{ALLOW, HeaderName, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use mcpgen_mcp::replicas::StoreError;
use mcpgen_types::ErrorObject;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) why: String,
    pub(super) header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into(), header: None }
    }

    pub(super) fn bad(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }

    /// Refuses a request because a limit is reached. The client may retry after a second.
    pub(super) fn busy(why: impl Into<String>) -> Self {
        let mut busy = Self::new(StatusCode::SERVICE_UNAVAILABLE, why);
        busy.header = Some((RETRY_AFTER, HeaderValue::from_static("1")));
        busy
    }

    pub(super) fn method(allowed: &'static str) -> Self {
        let mut refusal = Self::new(StatusCode::METHOD_NOT_ALLOWED, format!("this endpoint supports only {allowed}"));
        refusal.header = Some((ALLOW, HeaderValue::from_static(allowed)));
        refusal
    }
}

impl Refusal {
    /// Refuses a request that another process may have handled. The client must not retry it.
    pub(super) fn lost(error: StoreError) -> Self {
        Self { header: None, ..error.into() }
    }
}

/// The request needs a store that has failed.
impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let is_busy = error.is_unavailable() || error.is_full();
        // The details of the store are only logged.
        let message = ErrorObject::from(error).message;
        if is_busy { Self::busy(message) } else { Self::new(StatusCode::INTERNAL_SERVER_ERROR, message) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_that_was_not_handled_may_be_sent_again() {
        let error = || StoreError::unavailable("the replica has gone");
        assert_eq!(Refusal::from(error()).header.map(|(name, _)| name), Some(RETRY_AFTER));
        let lost = Refusal::lost(error());
        assert_eq!((lost.status, lost.header), (StatusCode::SERVICE_UNAVAILABLE, None));
    }
}
