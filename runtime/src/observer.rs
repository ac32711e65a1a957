//! Observers of messages, for traces and metrics.

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

/// Observes the messages of a connection.
pub trait Observer: Send + Sync + 'static {
    /// Called before the handler of a request or notification. `context` is `None` for a request that is answered without
    /// a handler. Not called for requests that are rejected because of a limit, or for notifications without a handler.
    fn received(&self, message: &Received<'_>, context: Option<&Context>) -> Option<Box<dyn Operation>>;

    /// Called before a request or notification is sent. It may change the params, for example to add a trace context.
    fn sending(&self, message: &mut Sending<'_>) -> Option<Box<dyn Operation>>;

    /// Returns a function that counts the bytes that are queued for writing. It is called with the bytes of each message
    /// that is queued, and again with the negated size once it is written.
    fn queue_gauge(&self) -> Option<QueueGauge> {
        None
    }

    /// Called when the connection has ended, with the time that it took and the reason why reading failed, if it did.
    fn ended(&self, _after: Duration, _error: Option<&io::Error>) {}
}

/// A request or notification that is observed. If it is dropped before [`end`](Self::end), it was cancelled.
pub trait Operation: Send + Sync {
    /// Calls `poll`, which polls the handler of a received message once, for example within a span.
    fn enter(&self, poll: &mut dyn FnMut());

    /// Called when the outcome is known.
    fn end(self: Box<Self>, outcome: Outcome<'_>);
}

/// The outcome of a request or notification.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// A notification was sent or handled.
    Done,
    /// The result of a request.
    Result(&'a Json),
    /// The error of a request.
    Error(&'a ErrorObject),
    /// A call failed without a response.
    Failed(&'a CallError),
    /// The handler of a notification failed, for this reason.
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

/// An operation, or `None` without an observer.
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

    /// Runs a future within the operation.
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
