//! The context that a handler receives besides its params.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use mcpgen_types::{ErrorObject, RequestId, Version};
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::jsonrpc::errors;
use crate::transport::{DecodedMemory, Extensions, Principal, TakenMemory, TransportBudget};

/// The context of a request or notification: its ID, method, version and peer, and the data that its protocol keeps about
/// it.
///
/// Every handler receives one. It is cheap to clone, and clones refer to the same message.
#[derive(Clone)]
pub struct Context(Arc<Inner<dyn Any + Send + Sync>>);

struct Inner<S: ?Sized> {
    parts: Parts,
    version: Version,
    /// Set when the request is cancelled or its response is ready.
    cancelled: AwaitableFlag,
    reports: Reports,
    /// Set when the response is in the outbox.
    response_sent: AwaitableFlag,
    /// The position in the queue of the connection. Zero if the request was never queued.
    queue_position: AtomicU64,
    scope: S,
}

/// The data that the connection keeps about a message.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) id: Option<RequestId>,
    pub(crate) method: Cow<'static, str>,
    /// The state of the peer, which is defined in a higher layer.
    pub(crate) connection: Arc<dyn Any + Send + Sync>,
    pub(crate) extensions: Option<Arc<Extensions>>,
    /// The memory of the requests that run on the connection.
    pub(crate) memory: Option<Arc<AtomicUsize>>,
}

/// A flag that is set once and can be awaited.
///
/// Each request has two of them, and usually no task waits for either. A `CancellationToken` would allocate for each,
/// and lock whenever it is cancelled or checked. This flag does neither unless a task waits.
#[derive(Debug, Default)]
struct AwaitableFlag {
    is_set: AtomicBool,
    /// Whether a task may be waiting. Usually none is, and `set` skips the wake-up.
    is_awaited: AtomicBool,
    notify: Notify,
}

impl AwaitableFlag {
    fn set(&self) {
        self.is_set.store(true, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst) {
            self.notify.notify_waiters();
        }
    }

    fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }

    async fn wait(&self) {
        // Created before the flag is read, so that no wake-up is lost in between.
        let notified = self.notify.notified();
        self.is_awaited.store(true, Ordering::SeqCst);
        if !self.is_set() {
            notified.await;
        }
    }
}

/// The state of the notifications that are sent about a request before its response.
#[derive(Debug, Default)]
struct Reports {
    has_begun: AtomicBool,
    has_ended: AtomicBool,
    /// Locked while a notification is sent, which keeps notifications in order.
    sending: Mutex<()>,
}

impl Context {
    pub(crate) fn new<S: Send + Sync + 'static>(parts: Parts, version: Version, scope: S) -> Self {
        Self(Arc::new(Inner {
            parts,
            version,
            cancelled: AwaitableFlag::default(),
            reports: Reports::default(),
            response_sent: AwaitableFlag::default(),
            queue_position: AtomicU64::new(0),
            scope,
        }))
    }

    /// Creates a context of the same message with another scope, for work that outlives the request. It is not cancelled
    /// when the request ends.
    #[must_use]
    pub fn derive<S: Send + Sync + 'static>(&self, scope: S) -> Self {
        Self::new(self.0.parts.clone(), self.0.version, scope)
    }

    /// Returns the data that the protocol keeps about the message, its [scope](crate::protocol::Protocol::Scope). Returns
    /// `None` if the connection has another protocol.
    #[must_use]
    pub fn scope<S: 'static>(&self) -> Option<&S> {
        self.0.scope.downcast_ref()
    }

    pub(crate) fn parts(&self) -> &Parts {
        &self.0.parts
    }

    /// Returns the request's ID, or `None` for a notification.
    #[must_use]
    pub fn id(&self) -> Option<&RequestId> {
        self.0.parts.id.as_ref()
    }

    /// Returns the method of the request or notification.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.0.parts.method
    }

    /// Returns the version of the protocol that the message belongs to.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.version
    }

    /// Returns the values that the transport attached to the message, by type. Over HTTP they contain the
    /// `http::request::Parts` of the HTTP request, whose own extensions contain the values that tower layers have set.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        extensions_of(self.0.parts.extensions.as_ref())
    }

    /// Returns the authenticated sender of the message, if the transport or an authentication layer has attached one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.extensions().get()
    }

    /// Waits until the request has ended: it was cancelled, its sender disconnected, or its response is
    /// ready.
    ///
    /// When a request is cancelled, its handler's future is dropped. Await this in tokio tasks that the handler has
    /// spawned.
    pub async fn cancelled(&self) {
        self.0.cancelled.wait().await;
    }

    /// Returns whether the request has ended: it was cancelled, its sender disconnected, or its response is
    /// ready.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_set()
    }

    /// Marks the request as ended, for contexts that were [derived](Self::derive) for other work.
    pub fn cancel(&self) {
        self.0.cancelled.set();
    }

    /// Returns whether this is a context of the same message.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Takes memory for decoded arguments, which the estimate for the message does not contain.
    ///
    /// # Errors
    ///
    /// Fails if other messages take the memory.
    pub fn take_memory(&self, bytes: usize) -> Result<DecodedMemory, ErrorObject> {
        let too_large =
            || errors::limit_exceeded("other requests take the memory for these arguments; try again later");
        let of_transport = match self.extensions().get::<TransportBudget>() {
            Some(budget) => Some(budget.take(bytes).ok_or_else(too_large)?),
            None => None,
        };
        let of_connection = self.0.parts.memory.as_ref().map(|total| TakenMemory::new(total, bytes));
        Ok(DecodedMemory { _of_connection: of_connection, _of_transport: of_transport })
    }

    /// Waits until earlier notifications about the request are sent. Until the result is dropped, later ones wait. Returns
    /// `None` once the response is being sent.
    pub(crate) async fn begin_report(&self) -> Option<MutexGuard<'_, ()>> {
        let reports = &self.0.reports;
        // Either `end_reports` sees that reports have begun, or this sees that they have ended.
        reports.has_begun.store(true, Ordering::SeqCst);
        let sending = reports.sending.lock().await;
        (!reports.has_ended.load(Ordering::SeqCst)).then_some(sending)
    }

    /// Ends reporting, and waits until the last notification about the request is sent.
    pub async fn end_reports(&self) {
        let reports = &self.0.reports;
        reports.has_ended.store(true, Ordering::SeqCst);
        if reports.has_begun.load(Ordering::SeqCst) {
            drop(reports.sending.lock().await);
        }
    }

    /// Records that the response is in the outbox, or that none will be sent.
    pub(crate) fn response_sent(&self) {
        self.0.response_sent.set();
    }

    /// Waits for [`response_sent`](Self::response_sent).
    pub(crate) async fn wait_for_response_sent(&self) {
        self.0.response_sent.wait().await;
    }

    /// Records the position in the queue of the connection, which is not zero.
    pub(crate) fn set_queue_position(&self, position: u64) {
        self.0.queue_position.store(position, Ordering::Relaxed);
    }

    /// Returns the position in the queue of the connection. Zero if the request was never queued.
    pub(crate) fn queue_position(&self) -> u64 {
        self.0.queue_position.load(Ordering::Relaxed)
    }
}

/// Returns the values that a transport attached to a message.
pub(crate) fn extensions_of(attached: Option<&Arc<Extensions>>) -> &Extensions {
    static EMPTY: LazyLock<Extensions> = LazyLock::new(Extensions::new);
    attached.map_or(&EMPTY, |attached| attached)
}

impl AsRef<Self> for Context {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Context");
        debug.field("id", &self.id()).field("method", &self.method()).field("version", &self.version());
        debug.finish_non_exhaustive()
    }
}
