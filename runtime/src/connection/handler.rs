//! Calls the service with one request, within limits, and handles cancellation and panics.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;

use futures_util::FutureExt;
use tower::ServiceExt;
use tracing::Instrument;

use super::limits::Limits;
use super::response::response;
use super::state::ConnectionState;
use crate::context::Context;
use crate::jsonrpc::errors;
use crate::observer::{Observed, Outcome};
use crate::peer::OpenInputRequest;
use crate::router::{AnyRequest, RequestService};
use crate::transport::Outbound;

/// Calls the service within the connection's limits. Returns the response, or `None` if the request was cancelled and
/// the protocol does not respond to cancelled requests.
pub(super) fn handle<'a, S: RequestService>(
    service: S,
    shared: &'a ConnectionState,
    context: &'a Context,
    request: AnyRequest,
) -> impl Future<Output = Option<Outbound>> + Send + use<'a, S> {
    let input_request = shared.rules.pauses_timeouts.then(|| shared.peer.begin_input_request());
    let guard = RequestGuard { shared, context, _input_request: input_request };
    let Limits { handler_timeout, handler_timeouts, .. } = &shared.limits;
    let general = handler_timeout.filter(|_| !shared.is_long_lived(&request.method));
    let limit = handler_timeouts.get(&*request.method).copied().or(general);
    let operation = Observed::received(shared.peer.observer(), &request.received(), Some(context));
    let id = context.id().map(tracing::field::display);
    let subject = || shared.peer.erased_protocol().subject(context);
    let span = tracing::info_span!("request", method = &*request.method, subject = subject(), id);
    let work = async move {
        // Moves the whole guard into the future, not just its fields.
        let RequestGuard { shared, context, .. } = &guard;
        let handled = async move {
            let mut handling = pin!(service.oneshot(request));
            let uncancelled = poll_fn(|cx| match context.is_cancelled() {
                true => Poll::Ready(None),
                false => handling.as_mut().poll(cx).map(Some),
            });
            // Most handlers complete at once. Polling them first saves setting up the other branches.
            tokio::select! {
                biased;
                result = uncancelled => result.map(|result| result.map_err(|error| errors::of(error.into()))),
                () = context.cancelled() => None,
                limit = super::limits::expired(limit) => Some(Err(errors::timed_out(limit))),
            }
            // The handler is dropped here: it may hold the lock that `end_reports` needs, and may panic when dropped.
        };
        let handled = operation.run(pin!(AssertUnwindSafe(handled).catch_unwind())).await;
        context.end_reports().await;
        let result = handled.unwrap_or_else(|_| {
            tracing::error!("a handler panicked");
            (!context.is_cancelled()).then(|| Err(errors::internal()))
        });
        let result = match result {
            Some(result) => shared.peer.erased_protocol().finish_response(context, result),
            None => Err(shared.rules.cancelled.clone()?),
        };
        operation.end(Outcome::from(&result));
        Some(response(context.id()?.clone(), result))
    };
    work.instrument(span)
}

/// Cancels the request and removes it from the open requests when dropped.
struct RequestGuard<'a> {
    shared: &'a ConnectionState,
    context: &'a Context,
    /// While this exists, the timeouts of outgoing calls are paused.
    _input_request: Option<OpenInputRequest>,
}

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.context.id() {
            self.shared.close_request(id, self.context);
        }
        self.context.cancel();
    }
}
