//! Telemetry without the feature `opentelemetry`: does nothing, and costs nothing.

use std::future::Future;
use std::time::Duration;

use mcpgen_types::{Json, Revision};

use super::{Message, Outcome};
use crate::protocol::Role;
use crate::util::counted::Counted;

#[derive(Clone, Debug, Default)]
pub(crate) struct Telemetry {}

impl Telemetry {
    pub(crate) fn receive(&self, _: Message<'_>) -> Operation {
        Operation
    }

    pub(crate) fn send(&self, _: Message<'_>) -> Operation {
        Operation
    }

    #[cfg(feature = "http-server")]
    pub(crate) fn count_session(&self) -> Counted {
        Counted {}
    }

    pub(crate) fn count_queued(&self, _: Role, _: usize) -> Counted {
        Counted {}
    }

    pub(crate) fn record_session(&self, _: Role, _: Revision, _: Duration, _: Option<&str>) {}
}

pub(crate) struct Operation;

impl Operation {
    pub(crate) fn scope(&self) -> Scope {
        Scope
    }

    pub(crate) fn inject(&self, params: Option<Json>) -> Option<Json> {
        params
    }

    pub(crate) fn end(self, _: Outcome<'_>) {}
}

pub(crate) struct Scope;

impl Scope {
    #[cfg(feature = "tasks")]
    pub(crate) fn current() -> Self {
        Self
    }

    pub(crate) fn instrument<F: Future>(self, future: F) -> F {
        future
    }
}
