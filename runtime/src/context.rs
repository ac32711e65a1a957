//! What a handler knows about its message besides the params.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use mcpgen_types::{ErrorObject, RequestId, Version};
use tokio::sync::{Mutex, MutexGuard, Notify};

use crate::jsonrpc::errors;
use crate::transport::{DecodedMemory, Extensions, Principal, TakenMemory, TransportBudget};

/// Everything about a request or notification except its params: ID, method, version, peer, and the data that the
/// protocol keeps about it.
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
    /// Position in the connection's queue. Zero if the request was never queued.
    queue_position: AtomicU64,
    scope: S,
}

/// What the connection knows about a message.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) id: Option<RequestId>,
    pub(crate) method: Cow<'static, str>,
    /// The peer's state. Type-erased, because a higher layer defines its type.
    pub(crate) connection: Arc<dyn Any + Send + Sync>,
    pub(crate) extensions: Option<Arc<Extensions>>,
    /// Memory of the connection's running requests.
    pub(crate) memory: Option<Arc<AtomicUsize>>,
}

/// A flag that is set once and can be awaited.
///
/// Each request has two of them, and usually no task waits for either. A `CancellationToken` would allocate for each
/// request and lock on every check. This flag does so only when a task waits.
#[derive(Debug, Default)]
struct AwaitableFlag {
    is_set: AtomicBool,
    /// Whether a task may be waiting. If not, `set` skips the wake-up.
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
        // Create this before the flag is read, so that a wake-up in between is not lost.
        let notified = self.notify.notified();
        self.is_awaited.store(true, Ordering::SeqCst);
        if !self.is_set() {
            notified.await;
        }
    }
}

/// Orders the notifications about a request, such as progress, which must all precede its response.
#[derive(Debug, Default)]
struct Reports {
    has_begun: AtomicBool,
    has_ended: AtomicBool,
    /// Locked while a notification is sent, to keep notifications in order.
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

    /// Creates a context of the same message with another scope, for work that outlives the request: it is not
    /// cancelled when the request ends.
    #[must_use]
    pub fn derive<S: Send + Sync + 'static>(&self, scope: S) -> Self {
        Self::new(self.0.parts.clone(), self.0.version, scope)
    }

    /// Returns the protocol's data about the message, its [scope](crate::protocol::Protocol::Scope), or `None` if the
    /// connection has another protocol.
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

    /// Returns the protocol version that the message belongs to.
    #[must_use]
    pub fn version(&self) -> Version {
        self.0.version
    }

    /// Returns the values that the transport attached to the message, by type. Over HTTP they include the
    /// `http::request::Parts` of the HTTP request, whose extensions hold the values set by tower layers.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        extensions_of(self.0.parts.extensions.as_ref())
    }

    /// Returns the authenticated sender of the message, if the transport or an authentication layer attached one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.extensions().get()
    }

    /// Waits until the request has ended: it was cancelled, its sender disconnected, or its response is ready.
    ///
    /// Await this in tokio tasks that a handler has spawned. The handler's own future is dropped on cancellation.
    pub async fn cancelled(&self) {
        self.0.cancelled.wait().await;
    }

    /// Returns whether the request has ended: it was cancelled, its sender disconnected, or its response is ready.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.is_set()
    }

    /// Marks the request as ended. Use this for contexts that were [derived](Self::derive) for other work.
    pub fn cancel(&self) {
        self.0.cancelled.set();
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Reserves memory for decoded arguments, which the estimate for the message does not include.
    ///
    /// # Errors
    ///
    /// Fails if other messages have taken the memory.
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

    /// Waits until earlier notifications about the request are sent, and blocks later ones until the guard is dropped.
    /// Returns `None` once the response is being sent.
    pub(crate) async fn begin_report(&self) -> Option<MutexGuard<'_, ()>> {
        let reports = &self.0.reports;
        // Either `end_reports` sees that reports have begun, or this sees that they have ended.
        reports.has_begun.store(true, Ordering::SeqCst);
        let sending = reports.sending.lock().await;
        (!reports.has_ended.load(Ordering::SeqCst)).then_some(sending)
    }

    /// Allows no more notifications about the request, and waits until the last one is sent.
    pub async fn end_reports(&self) {
        let reports = &self.0.reports;
        reports.has_ended.store(true, Ordering::SeqCst);
        if reports.has_begun.load(Ordering::SeqCst) {
            drop(reports.sending.lock().await);
        }
    }

    /// Call this when the response is in the outbox, or when none will be sent.
    pub(crate) fn response_sent(&self) {
        self.0.response_sent.set();
    }

    pub(crate) async fn wait_for_response_sent(&self) {
        self.0.response_sent.wait().await;
    }

    /// Sets the position in the connection's queue, which is not zero.
    pub(crate) fn set_queue_position(&self, position: u64) {
        self.0.queue_position.store(position, Ordering::Relaxed);
    }

    /// Returns the position in the connection's queue, or zero if the request was never queued.
    pub(crate) fn queue_position(&self) -> u64 {
        self.0.queue_position.load(Ordering::Relaxed)
    }
}

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
