//! Sends outgoing messages: requests, cancellations and responses concurrently, notifications in order.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use mcpgen_runtime::transport::{Metadata, Outbound, Route};
use mcpgen_runtime::util::error_chain;
use mcpgen_types::{Json, RequestId};
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::message::{OutgoingMessage, Repeated, cancelled_id};
use super::options::ClientOptions;
use super::queue::{Notifications, QueueLimit, QueuedMessage};
use super::state::{IncomingSender, TransportState};

/// How many bytes of notifications may be queued.
const NOTIFICATIONS: u32 = 8 << 20;

/// How many bytes of responses and cancellations may be waiting for the server.
const RESPONSES: u32 = 64 << 20;

pub(super) struct Driver(Arc<TransportState>);

impl Driver {
    /// Creates a driver, and the queue of notifications for [`run`](Self::run).
    pub(super) fn new(
        url: reqwest::Url,
        client: reqwest::Client,
        options: ClientOptions,
        is_sse: bool,
        incoming: IncomingSender,
    ) -> (Self, Notifications) {
        let (notify, notifications) = mpsc::unbounded_channel();
        let ended = CancellationToken::new();
        let shared = TransportState {
            url,
            client,
            request_permits: Semaphore::new(options.requests.clamp(1, Semaphore::MAX_PERMITS)),
            options,
            is_sse,
            incoming,
            state: Mutex::default(),
            replacing: tokio::sync::Mutex::default(),
            notify,
            notifications: QueueLimit::new(NOTIFICATIONS),
            responses: QueueLimit::new(RESPONSES),
            closing: ended.child_token(),
            ended,
        };
        (Self(Arc::new(shared)), notifications)
    }

    /// Delivers messages from the event stream of HTTP+SSE until it ends or the connection closes.
    pub(super) fn receive(&self, events: super::response::EventStream) {
        tokio::spawn(Arc::clone(&self.0).receive_events(events));
    }

    /// Sends messages until the queue is closed or nobody receives incoming messages any more. Then ends the session.
    pub(super) async fn run(self, mut queued: mpsc::Receiver<Outbound>, notifications: Notifications) {
        let Self(shared) = self;
        let _ended = shared.ended.clone().drop_guard();
        tokio::spawn(Arc::clone(&shared).send_in_order(notifications));
        loop {
            tokio::select! {
                message = queued.recv() => match message {
                    Some(message) => shared.take(message).await,
                    None => break,
                },
                () = shared.incoming.closed() => {
                    queued.close();
                    while queued.recv().await.is_some() {}
                    break;
                }
            }
        }
        shared.closing.cancel();
        let sent = async { tokio::join!(shared.notifications.is_empty(), shared.responses.is_empty()) };
        if tokio::time::timeout(shared.options.send_timeout, sent).await.is_err() {
            tracing::warn!("connection closed with messages that the server has not accepted");
        }
        shared.ended.cancel();
        // Wait for a replacement in progress, which would otherwise leave a new session behind.
        let _replacing = shared.replacing.lock().await;
        let session_headers = shared.state().session_headers.clone();
        shared.delete_session(&session_headers).await;
    }
}

impl TransportState {
    /// Sends requests, cancellations and responses concurrently, and notifications in order. No kind of message blocks
    /// another.
    async fn take(self: &Arc<Self>, mut outbound: Outbound) {
        let metadata = match (outbound.metadata.take(), &outbound.route) {
            (Some(metadata), _) => Some(*metadata),
            (None, Route::Response(..)) => None,
            // A message relayed by a proxy has no metadata.
            (None, _) => Metadata::read(&outbound.bytes),
        };
        let Some(Metadata { id, method, params, .. }) = metadata else {
            if let Some(response) = self.responses.admit(OutgoingMessage::new(outbound.bytes, None)) {
                tokio::spawn(Arc::clone(self).send_queued(response));
            }
            return;
        };
        let mut outgoing = OutgoingMessage::new(outbound.bytes, Some(&method));
        let (version, headers) = self.version_and_headers(id.is_some(), &method, params.as_ref());
        (outgoing.version, outgoing.headers) = (version, headers);
        match (id, method.as_str()) {
            (Some(id), _) => self.send_request(id, outgoing),
            // The server must have accepted this notification before any request is sent.
            (None, "notifications/initialized") => {
                if self.post_in_time(&outgoing).await && !self.is_sse {
                    self.open_get_stream().await;
                }
            }
            (None, "notifications/cancelled") => self.cancel(params.as_ref().and_then(cancelled_id), outgoing),
            (None, _) => self.notify(outgoing),
        }
    }

    fn notify(&self, outgoing: OutgoingMessage) {
        if let Some(notification) = self.notifications.admit(outgoing) {
            // The receiver lives until the driver has ended.
            let _ = self.notify.send(notification);
        }
    }

    async fn send_in_order(self: Arc<Self>, mut notifications: Notifications) {
        let send = async {
            while let Some(notification) = notifications.recv().await {
                self.post_in_time(&notification.outgoing).await;
            }
        };
        tokio::select! {
            () = self.ended.cancelled() => {}
            () = send => {}
        }
    }

    pub(super) async fn send_queued(self: Arc<Self>, queued: QueuedMessage) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            _ = self.post_in_time(&queued.outgoing) => {}
        }
    }

    /// Posts a message that gets no response, within [`ClientOptions::send_timeout`]. Logs a failure. Returns whether
    /// the server accepted the message.
    async fn post_in_time(self: &Arc<Self>, outgoing: &OutgoingMessage) -> bool {
        let method = outgoing.method.as_deref().unwrap_or("response");
        match tokio::time::timeout(self.options.send_timeout, self.post(outgoing)).await {
            Ok(Ok(_)) => return true,
            Ok(Err(error)) => tracing::warn!(method, error = error_chain(&error), "failed to send a message"),
            Err(_) => tracing::warn!(method, "timed out sending a message"),
        }
        false
    }

    fn cancel(&self, id: Option<RequestId>, outgoing: OutgoingMessage) {
        let pending = |id| self.state().pending.get_mut(&id).map(|it| (it.cancelled.clone(), it.cancel.take()));
        let cancel = match id.and_then(pending) {
            // In modern revisions, closing the response stream cancels the request.
            Some((cancelled, None)) => return cancelled.cancel(),
            Some((_, Some(cancel))) => cancel,
            None => return self.notify(outgoing),
        };
        // Fails if the response has just arrived, so there is nothing left to cancel.
        let _ = cancel.send(self.responses.admit(outgoing));
    }

    /// Returns the revision in the message's metadata, if any, and the headers that repeat parts of a modern message.
    fn version_and_headers(
        &self,
        is_request: bool,
        method: &str,
        params: Option<&Json>,
    ) -> (Option<String>, HeaderMap) {
        let repeated = params.and_then(|params| params.read(|params| Repeated::of(method, params)).ok());
        let repeated = repeated.unwrap_or_default();
        let mut state = self.state();
        let is_modern = match &repeated.version {
            Some(version) => {
                // An existing session keeps its revision.
                if state.initialize.is_none() {
                    state.session_headers.version = HeaderValue::from_str(version).ok();
                }
                true
            }
            None => !is_request && state.initialize.is_none() && state.session_headers.version.is_some(),
        };
        let tool_headers = |tool: &str| state.tools.get(tool).cloned();
        let headers = if is_modern { repeated.headers(method, tool_headers) } else { HeaderMap::new() };
        (repeated.version, headers)
    }
}
