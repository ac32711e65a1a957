//! The main loop of a connection: reads, dispatches, writes, and shuts down.

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::dispatcher::Dispatcher;
use super::limits::Limits;
use super::notification_queue::NotificationQueue;
use crate::error::CallError;
use crate::observer::Observer;
use crate::peer::outbox::{Lines, Outbox};
use crate::peer::{Peer, Timeouts};
use crate::protocol::{ErasedProtocol, Protocol};
use crate::router::{RequestService, Router};
use crate::transport::{Incoming, Outgoing, ReceiveError};

/// A connection that is not running yet. [`run`](Self::run) starts it.
pub struct Connection<S = Router> {
    service: S,
    router: Router,
    protocol: Arc<dyn ErasedProtocol>,
    limits: Limits,
    observer: Option<Arc<dyn Observer>>,
    /// The peer and its outgoing queue, created when first needed.
    peer: OnceLock<(Peer, Lines)>,
}

impl Connection {
    /// Creates a connection. The router handles its requests and notifications, under the rules of the protocol.
    pub fn new(router: Router, protocol: impl Protocol) -> Self {
        Self {
            service: router.clone(),
            router,
            protocol: Arc::new(protocol),
            limits: Limits::default(),
            observer: None,
            peer: OnceLock::new(),
        }
    }
}

impl<S: RequestService> Connection<S> {
    /// Sets the limits. Call this before [`peer`](Self::peer): a peer returned earlier would not be this connection's.
    #[must_use]
    pub fn limits(self, limits: Limits) -> Self {
        Self { limits, ..self.without_peer() }
    }

    /// Sets an observer of all messages. Call this before [`peer`](Self::peer): a peer returned earlier would not be
    /// this connection's.
    #[must_use]
    pub fn observer(self, observer: Option<Arc<dyn Observer>>) -> Self {
        Self { observer, ..self.without_peer() }
    }

    fn without_peer(mut self) -> Self {
        if let Some((peer, _)) = self.peer.take() {
            peer.disconnect();
        }
        self
    }

    /// Sends requests to a service, such as the router wrapped in middleware. Notifications still go to the router.
    #[must_use]
    pub fn service<T: RequestService>(self, service: T) -> Connection<T> {
        let Self { router, protocol, limits, observer, peer, .. } = self;
        Connection { service, router, protocol, limits, observer, peer }
    }

    /// Returns the peer, for messages to the other side.
    pub fn peer(&self) -> &Peer {
        &self.peer.get_or_init(|| self.new_peer()).0
    }

    fn new_peer(&self) -> (Peer, Lines) {
        let Limits { outbox_bytes, idle_timeout, call_timeout, notification_wait, .. } = self.limits;
        let (outbox, written) = Outbox::new(outbox_bytes, self.observer.clone());
        let timeouts = Timeouts { idle: idle_timeout, total: call_timeout, notifications: notification_wait };
        (Peer::new(outbox, Arc::clone(&self.protocol), timeouts), written)
    }

    /// Runs the connection until `incoming` ends and all requests have their responses, until writing ends, or until
    /// the peer is [disconnected](Peer::disconnect).
    ///
    /// Unfinished requests get [`Limits::drain_timeout`] to finish, unless writing has ended. Dropping the future
    /// closes the connection at once.
    ///
    /// # Errors
    ///
    /// Fails if reading or writing fails, or if the outgoing messages cannot be written within
    /// [`Limits::drain_timeout`]. A peer that closes both directions at once has simply left, which is not an error.
    pub async fn run(self, incoming: impl Incoming, outgoing: impl Outgoing) -> io::Result<()> {
        self.peer();
        let Self { service, router: notifications, limits, peer, .. } = self;
        let Some((peer, written)) = peer.into_inner() else { return Ok(()) };
        let (notification_queue, notification_handler) =
            NotificationQueue::new(notifications.clone(), peer.clone(), &limits);
        peer.set_transport_needs(outgoing.has_request_streams(), outgoing.needs_metadata());
        let mut writer = tokio::spawn(write(written, outgoing));
        let _end = End { peer: peer.clone(), writer: writer.abort_handle() };
        let drain = limits.drain_timeout;
        let started = Instant::now();
        let mut dispatcher = Dispatcher::new(service, notifications, limits, peer.clone(), notification_queue);
        let mut incoming = std::pin::pin!(incoming);
        let mut disconnected = std::pin::pin!(peer.disconnected());
        let (mut read, mut wrote) = (Ok(()), None);
        let mut in_a_row = 0;
        loop {
            tokio::select! {
                biased;
                frame = incoming.next(), if in_a_row < IN_A_ROW => {
                    in_a_row += 1;
                    // If `incoming` is always ready, nothing else in this loop yields.
                    tokio::task::coop::consume_budget().await;
                    match frame {
                        Some(Ok(inbound)) => dispatcher.dispatch(inbound).await,
                        Some(Err(ReceiveError::TooLong { limit, message })) => dispatcher.message_too_long(limit, message).await,
                        Some(Err(ReceiveError::Undelivered { id, why })) => {
                            peer.complete(&id, Err(CallError::Undelivered(why)));
                        }
                        Some(Err(ReceiveError::Io(error))) => {
                            let error = Arc::new(error);
                            peer.set_failure(Arc::clone(&error));
                            read = Err(io::Error::new(error.kind(), error));
                            break;
                        }
                        None => break,
                    }
                }
                () = dispatcher.advance() => in_a_row = 0,
                // The peer stopped reading, though it may still send.
                written = &mut writer => {
                    wrote = Some(written);
                    break;
                }
                () = &mut disconnected => break,
                () = std::future::ready(()), if in_a_row == IN_A_ROW => in_a_row = 0,
            }
        }
        let drain_started = Instant::now();
        let left = || drain.saturating_sub(drain_started.elapsed());
        // No more responses arrive, so pending calls fail. Requests may still finish as long as their responses can be
        // written.
        peer.end_receiving();
        if wrote.is_none() {
            dispatcher.drain(drain).await;
        }
        dispatcher.abandon().await;
        drop(dispatcher);
        notification_handler.finish(left()).await;
        peer.disconnect();
        if let Some(observer) = peer.observer() {
            observer.ended(started.elapsed(), read.as_ref().err());
        }
        let wrote = match wrote {
            Some(wrote) => wrote,
            None => match tokio::time::timeout(left().max(drain.min(LAST_WRITE)), &mut writer).await {
                // The peer has left, so nobody misses the responses.
                Ok(Ok(Err(error))) if error.kind() == io::ErrorKind::BrokenPipe => return read,
                Ok(wrote) => wrote,
                Err(_) => return read.and(Err(io::ErrorKind::TimedOut.into())),
            },
        };
        read.and(wrote.unwrap_or_else(|error| Err(io::Error::other(error))))
    }
}

impl<S> fmt::Debug for Connection<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("limits", &self.limits)
            .field("peer", &self.peer.get().map(|(peer, _)| peer))
            .finish_non_exhaustive()
    }
}

/// How many messages to read in a row before checking for finished requests and disconnection.
const IN_A_ROW: u32 = 16;

/// Time left for writing when the handlers have used up [`Limits::drain_timeout`].
const LAST_WRITE: Duration = Duration::from_secs(1);

struct End {
    peer: Peer,
    writer: AbortHandle,
}

impl Drop for End {
    fn drop(&mut self) {
        self.peer.disconnect();
        self.writer.abort();
    }
}

/// Writes queued messages, and flushes whenever the queue is empty.
async fn write(mut lines: Lines, outgoing: impl Outgoing) -> io::Result<()> {
    let mut outgoing = std::pin::pin!(outgoing);
    while let Some(Some(message)) = lines.recv().await {
        outgoing.feed(message).await?;
        if lines.is_empty() {
            outgoing.flush().await?;
        }
    }
    outgoing.close().await
}
