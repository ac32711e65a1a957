//! Handles a single request without a connection.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};

use futures_util::Stream;
use futures_util::future::BoxFuture;
use mcpgen_types::codec::Cursor;
use mcpgen_types::{ErrorId, Json, RequestId};
use tokio::task::JoinSet;

use super::handler::handle;
use super::limits::Limits;
use super::response::{rejection, response};
use super::state::ConnectionState;
use crate::context::{Context, extensions_of};
use crate::jsonrpc::envelope::{Envelope, Invalid};
use crate::jsonrpc::errors;
use crate::observer::Observer;
use crate::peer::outbox::{Lines, Outbox};
use crate::peer::{Peer, Timeouts};
use crate::protocol::{Admission, Protocol, Received};
use crate::router::{AnyRequest, RequestService};
use crate::transport::{Inbound, Outbound, QueueGauge};

/// Handles a request that arrives alone, such as in an HTTP request without a session. It follows the same rules as a
/// [`Connection`](super::Connection), but needs none of its tasks and queues.
#[derive(Debug)]
pub struct OneShot<S> {
    service: S,
    limits: Limits,
    peer: Peer,
    messages: Lines,
}

impl<S: RequestService> OneShot<S> {
    /// Creates a handler for one request. `service` is the router, or the router wrapped in middleware. Several
    /// requests can share a protocol that keeps no state per connection.
    ///
    /// `gauge` counts the bytes of outgoing messages until the exchange is polled for them.
    pub fn new(
        service: S,
        protocol: Arc<impl Protocol>,
        limits: &Limits,
        observer: Option<Arc<dyn Observer>>,
        gauge: Option<QueueGauge>,
    ) -> Self {
        let (outbox, messages) = Outbox::new(limits.outbox_bytes, observer);
        let outbox = outbox.with_gauge(gauge);
        outbox.set_needs(true, false);
        let timeouts =
            Timeouts { idle: limits.idle_timeout, total: limits.call_timeout, notifications: limits.notification_wait };
        Self { service, limits: limits.clone(), peer: Peer::new(outbox, protocol, timeouts), messages }
    }

    /// Handles the request. The handler runs whenever the exchange is polled, or in its own task if
    /// [`Limits::spawn_handlers`] is set.
    pub fn call(self, inbound: Inbound) -> Exchange {
        let Self { service, limits, peer, messages } = self;
        let shared = Arc::new(ConnectionState::new(limits, peer.clone()));
        let mut exchange = Exchange { peer, messages, work: None, response: None, context: None };
        match admit(&shared, inbound) {
            Ok(Some(request)) => {
                let (spawns, context) = (shared.limits.spawn_handlers, request.context.clone());
                exchange.context = Some(context.clone());
                let work = async move { handle(service, &shared, &context, request).await };
                exchange.work = Some(match spawns {
                    true => {
                        // Dropping the exchange drops the set, which aborts the task.
                        let mut task = JoinSet::new();
                        task.spawn(work);
                        Box::pin(async move { task.join_next().await?.ok().flatten() })
                    }
                    false => Box::pin(work),
                });
            }
            Ok(None) => {}
            Err(response) => exchange.response = Some(response),
        }
        exchange
    }
}

/// `Ok`: the request, if it needs a handler. `Err`: a response to send now.
fn admit(shared: &ConnectionState, mut inbound: Inbound) -> Result<Option<AnyRequest>, Outbound> {
    let invalid = |invalid: Invalid| shared.invalid_message(invalid.id, invalid.error);
    let extensions = std::mem::take(&mut inbound.extensions);
    let extensions = (!extensions.is_empty()).then(|| Arc::new(extensions));
    let free_form = |method: &str| shared.peer.erased_protocol().free_form(method);
    let (document, memory) = inbound.into_document(&free_form).map_err(invalid)?;
    let envelope = Envelope::read(&document).map_err(invalid)?;
    let Envelope::Request { id, method, params } = envelope else {
        return Err(shared.invalid_message(ErrorId::Null, errors::invalid_request("expected a request")));
    };
    let (needed, limit) = (memory.total(), shared.limits.memory);
    if needed > limit {
        let why = format!("the request takes {needed} bytes of memory, more than {limit} (`Limits::memory`)");
        return Err(rejection(id, errors::invalid_request(&why)));
    }
    let method = Cow::Owned(method.into_owned());
    let params = params.map(Cursor::place).map(|place| Json::extract(document, place)).transpose();
    let params = params.map_err(|error| rejection(id.clone(), errors::invalid_params(&error.at_key("params"))))?;
    let params = params.filter(|params| !(shared.rules.null_params && params.text() == "null"));
    let received = Received {
        id: Some(&id),
        method: &method,
        params: params.as_ref(),
        in_batch: false,
        open: None,
        extensions: extensions_of(extensions.as_ref()),
    };
    match shared.admit(&received, method.clone(), extensions.as_ref()) {
        Err(error) => Err(rejection(id, error)),
        Ok(Admission::Respond(result) | Admission::NewSession { result, .. }) => Err(response(id, Ok(result))),
        Ok(Admission::Handle(_, context)) => Ok(Some(AnyRequest { method, params, context })),
        Ok(Admission::Drop(why)) => {
            tracing::warn!(method = &*method, why, "dropping a request");
            Ok(None)
        }
    }
}

/// A request in progress. As a stream it yields the messages sent on behalf of the request, and finally its response.
/// Dropping it cancels the request.
pub struct Exchange {
    peer: Peer,
    messages: Lines,
    work: Option<BoxFuture<'static, Option<Outbound>>>,
    response: Option<Outbound>,
    context: Option<Context>,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Exchange").field("context", &self.context).finish_non_exhaustive()
    }
}

impl Exchange {
    /// Tells the handler that the server is shutting down, so that a subscription can end.
    pub fn end_receiving(&self) {
        self.peer.end_receiving();
    }

    /// Ends the request with an error response, unless it has ended.
    pub fn abandon(&mut self) {
        if self.work.take().is_some() {
            let id: Option<RequestId> = self.context.as_ref().and_then(Context::id).cloned();
            self.response = id.map(|id| response(id, Err(errors::ended())));
        }
    }
}

impl Stream for Exchange {
    type Item = Outbound;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<Outbound>> {
        loop {
            if let Poll::Ready(Some(Some(message))) = self.messages.poll_recv(cx) {
                return Poll::Ready(Some(message));
            }
            if let Some(response) = self.response.take() {
                if let Some(context) = self.context.take() {
                    context.response_sent();
                }
                return Poll::Ready(Some(response));
            }
            let Some(work) = &mut self.work else { return Poll::Ready(None) };
            let Poll::Ready(response) = work.as_mut().poll(cx) else { return Poll::Pending };
            // Messages that were sent before the response come first.
            (self.work, self.response) = (None, response);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.peer.disconnect();
    }
}
