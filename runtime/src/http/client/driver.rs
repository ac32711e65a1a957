//! Sorts outgoing messages: requests, cancellations and responses are sent concurrently, notifications in order.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue};
use mcpgen_types::RequestId;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

use super::message::{OutgoingMessage, cancelled_id, request_headers, request_version};
use super::options::Options;
use super::queue::{Notifications, QueueLimit, QueuedMessage};
use super::state::{IncomingSender, Shared};
use crate::jsonrpc::envelope::{Envelope, scan};
use crate::util::lock::Mutex;

/// The maximum bytes of queued notifications.
const NOTIFICATIONS: u32 = 8 << 20;

/// The maximum bytes of responses and cancellations that the server has not accepted yet.
const RESPONSES: u32 = 64 << 20;

/// Sends the messages of a connection.
pub(super) struct Driver(Arc<Shared>);

impl Driver {
    /// Creates a driver, and the queue of notifications for [`run`](Self::run).
    pub(super) fn new(
        url: reqwest::Url,
        client: reqwest::Client,
        options: Options,
        incoming: IncomingSender,
    ) -> (Self, Notifications) {
        let (notify, notifications) = mpsc::unbounded_channel();
        let ended = CancellationToken::new();
        let shared = Shared {
            url,
            client,
            request_permits: Semaphore::new(options.requests.clamp(1, Semaphore::MAX_PERMITS)),
            options,
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

    /// Sends messages until the queue is closed or the receiver of incoming messages is dropped. Then ends the session.
    pub(super) async fn run(self, mut queued: mpsc::Receiver<Vec<u8>>, notifications: Notifications) {
        let Self(shared) = self;
        let _ended = shared.ended.clone().drop_guard();
        tokio::spawn(Arc::clone(&shared).send_in_order(notifications));
        loop {
            tokio::select! {
                bytes = queued.recv() => match bytes {
                    Some(bytes) => shared.take(bytes).await,
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
        if tokio::time::timeout(shared.options.patience, sent).await.is_err() {
            tracing::warn!("connection closed with messages that the server has not accepted");
        }
        shared.ended.cancel();
        // A replacement in progress ends its new session first.
        let _replacing = shared.replacing.lock().await;
        let session_headers = shared.state().session_headers.clone();
        shared.delete_session(&session_headers).await;
    }
}

impl Shared {
    /// Sends a message. Requests, cancellations and responses are sent concurrently, notifications in order. No kind
    /// waits for another.
    async fn take(self: &Arc<Self>, bytes: Vec<u8>) {
        let (id, outgoing) = self.look(bytes);
        match (id, outgoing.method.as_deref()) {
            (Some(id), _) => self.send_request(id, outgoing),
            // Wait until the server has accepted this notification before any request is sent.
            (None, Some("notifications/initialized")) => {
                if self.post_in_time(&outgoing).await {
                    self.open_get_stream().await;
                }
            }
            (None, Some("notifications/cancelled")) => self.cancel(outgoing),
            (None, Some(_)) => self.notify(outgoing),
            (None, None) => {
                if let Some(response) = self.responses.admit(outgoing) {
                    tokio::spawn(Arc::clone(self).send_queued(response));
                }
            }
        }
    }

    /// Queues a notification.
    fn notify(&self, outgoing: OutgoingMessage) {
        if let Some(notification) = self.notifications.admit(outgoing) {
            // The receiver lives until the driver has ended.
            let _ = self.notify.send(notification);
        }
    }

    /// Posts the queued notifications in order.
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

    /// Posts a message independently of other messages.
    pub(super) async fn send_queued(self: Arc<Self>, queued: QueuedMessage) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            _ = self.post_in_time(&queued.outgoing) => {}
        }
    }

    /// Posts a message that gets no response, within [`Options::patience`]. Logs a failure and returns whether the
    /// server accepted the message.
    async fn post_in_time(self: &Arc<Self>, outgoing: &OutgoingMessage) -> bool {
        let method = outgoing.method.as_deref().unwrap_or("response");
        match tokio::time::timeout(self.options.patience, self.post(outgoing)).await {
            Ok(Ok(_)) => return true,
            Ok(Err(error)) => tracing::warn!(method, %error, "failed to send a message"),
            Err(_) => tracing::warn!(method, "timed out sending a message"),
        }
        false
    }

    /// Handles a `notifications/cancelled` from the client.
    fn cancel(&self, outgoing: OutgoingMessage) {
        let pending = |id| self.state().pending.get_mut(&id).map(|it| (it.cancelled.clone(), it.cancel.take()));
        let cancel = match cancelled_id(&outgoing.bytes).and_then(pending) {
            // In modern revisions, closing the response stream cancels the request.
            Some((cancelled, None)) => return cancelled.cancel(),
            Some((_, Some(cancel))) => cancel,
            None => return self.notify(outgoing),
        };
        // Fails if the response has just arrived, which is fine.
        let _ = cancel.send(self.responses.admit(outgoing));
    }

    /// Parses a message to be sent. Returns its ID if it is a request.
    fn look(&self, bytes: Vec<u8>) -> (Option<RequestId>, OutgoingMessage) {
        let mut outgoing = OutgoingMessage::new(bytes, None);
        let text = String::from_utf8_lossy(&outgoing.bytes);
        let document = scan(text);
        let envelope = document.as_ref().ok().filter(|document| document.check_depth().is_ok()).map(Envelope::read);
        let (id, method, params) = match envelope {
            Some(Ok(Envelope::Request { id, method, params })) => (Some(id), method.into_owned(), params),
            Some(Ok(Envelope::Notification { method, params })) => (None, method.into_owned(), params),
            _ => {
                drop(document);
                return (None, outgoing);
            }
        };
        let version = request_version(params);
        let mut state = self.state();
        let is_modern = match &version {
            Some(version) => {
                // An existing session keeps its revision.
                if state.initialize.is_none() {
                    state.session_headers.version = HeaderValue::from_str(version).ok();
                }
                true
            }
            None => id.is_none() && state.initialize.is_none() && state.session_headers.version.is_some(),
        };
        let annotated = |tool: &str| state.tools.get(tool).cloned();
        let headers = if is_modern { request_headers(&method, params, annotated) } else { HeaderMap::new() };
        drop(state);
        drop(document);
        (outgoing.method, outgoing.version, outgoing.headers) = (Some(method), version, headers);
        (id, outgoing)
    }
}
