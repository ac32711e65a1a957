//! Telemetry without the feature `opentelemetry`: does nothing, and costs nothing.

#[cfg(feature = "tasks")]
use std::future::Future;
use std::sync::Arc;

use mcpgen_runtime::observer::Observer;

use crate::protocol::RevisionRules;

#[derive(Clone, Debug, Default)]
pub(crate) struct Telemetry {}

impl Telemetry {
    #[allow(clippy::unused_self, reason = "like that with the feature")]
    pub(crate) fn observer(&self, _: Arc<dyn RevisionRules>) -> Option<Arc<dyn Observer>> {
        None
    }

    #[cfg(feature = "http-server")]
    #[allow(clippy::unused_self, reason = "like that with the feature")]
    pub(crate) fn count_session(&self) -> Counted {
        Counted
    }
}

#[cfg(feature = "http-server")]
#[derive(Debug)]
pub(crate) struct Counted;

#[cfg(feature = "tasks")]
pub(crate) struct Scope;

#[cfg(feature = "tasks")]
impl Scope {
    pub(crate) fn current() -> Self {
        Self
    }

    pub(crate) fn instrument<F: Future>(self, future: F) -> F {
        future
    }
}
