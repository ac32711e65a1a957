//! Hooks for traces and metrics.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use mcpgen_types::{ErrorObject, Json};

use crate::context::Context;
use crate::error::CallError;
use crate::protocol::{Received, Sending};
use crate::transport::QueueGauge;

/// Sees the messages of a connection.
pub trait Observer: Send + Sync + 'static {
    /// Called before the handler of a request or notification. `context` is `None` for a request that gets its response
    /// without a handler. Requests rejected because of a limit and notifications without a handler are not reported.
    fn received(&self, message: &Received<'_>, context: Option<&Context>) -> Option<Box<dyn Operation>>;

    /// Called before a request or notification is sent. May change the params, for example to add a trace context.
    fn sending(&self, message: &mut Sending<'_>) -> Option<Box<dyn Operation>>;

    /// Returns a gauge for the bytes queued for writing. It is called with the size of each queued message, and with the
    /// negated size once the message is written. Messages queued with `send_now` are not counted.
    fn queue_gauge(&self) -> Option<QueueGauge> {
        None
    }

    /// Called when the connection has ended, with its duration and the error if reading failed.
    fn ended(&self, _after: Duration, _error: Option<&io::Error>) {}
}

/// An observed request or notification. If it is dropped before [`end`](Self::end) is called, it was cancelled.
pub trait Operation: Send + Sync {
    /// Calls `poll`, which polls the handler once. Enter a span around the call, for example.
    fn enter(&self, poll: &mut dyn FnMut());

    /// Called when the outcome is known.
    fn end(self: Box<Self>, outcome: Outcome<'_>);
}

/// The outcome of a request or notification.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// The notification was sent or handled.
    Done,
    /// The request succeeded with this result.
    Result(&'a Json),
    /// The request failed with this error.
    Error(&'a ErrorObject),
    /// The call failed without a response.
    Failed(&'a CallError),
    /// The notification's handler failed, for this reason.
    HandlerFailed(&'static str),
}

impl<'a> From<&'a Result<Json, ErrorObject>> for Outcome<'a> {
    fn from(result: &'a Result<Json, ErrorObject>) -> Self {
        match result {
            Ok(result) => Self::Result(result),
            Err(error) => Self::Error(error),
        }
    }
}

impl<'a> From<&'a CallError> for Outcome<'a> {
    fn from(error: &'a CallError) -> Self {
        match error {
            CallError::ErrorResponse(error) => Self::Error(error),
            error => Self::Failed(error),
        }
    }
}

/// An observed request or notification, or `None` without an observer.
pub(crate) struct Observed(Option<Box<dyn Operation>>);

impl Observed {
    pub(crate) fn received(
        observer: Option<&Arc<dyn Observer>>,
        message: &Received<'_>,
        context: Option<&Context>,
    ) -> Self {
        Self(observer.and_then(|observer| observer.received(message, context)))
    }

    pub(crate) fn sending(observer: Option<&Arc<dyn Observer>>, message: &mut Sending<'_>) -> Self {
        Self(observer.and_then(|observer| observer.sending(message)))
    }

    pub(crate) fn run<F: Future>(&self, mut future: Pin<&mut F>) -> impl Future<Output = F::Output> {
        poll_fn(move |cx| {
            let Some(operation) = &self.0 else { return future.as_mut().poll(cx) };
            let mut polled = Poll::Pending;
            operation.enter(&mut || polled = future.as_mut().poll(cx));
            polled
        })
    }

    pub(crate) fn end(self, outcome: Outcome<'_>) {
        if let Some(operation) = self.0 {
            operation.end(outcome);
        }
    }
}
