//! Calls in flight: their contexts, and those that wait for input from a modern client.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{BoxFuture, Either};
use mcpgen_mcp::expiring_map::ExpiringMap;
use mcpgen_mcp::protocol::{ContextExt, Progress};
use mcpgen_runtime::context::Context;
use mcpgen_runtime::peer::{Call, CallError, Peer};
use mcpgen_types::{Json, RequestId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

/// A call to the other side, with its progress reports.
pub(super) struct OpenCall {
    call: Either<Call<Json>, BoxFuture<'static, Result<Json, CallError>>>,
    reports: mpsc::Receiver<Progress>,
}

/// The maximum number of queued progress reports for a call. More are dropped; a later report replaces them.
const REPORTS: usize = 64;

impl OpenCall {
    /// Sends a request on behalf of the one with this context. It has no timeout, because the original sender has one.
    pub(super) fn send(peer: &Peer, method: &str, params: Option<Json>, context: &Context) -> Self {
        let (report, reports) = mpsc::channel(REPORTS);
        let request =
            peer.raw_request(method, params).idle_timeout(None).timeout(None).notification_wait(Duration::ZERO);
        let request = match context.progress_token() {
            Some(_) => request.on_progress(move |progress| drop(report.try_send(progress))),
            None => request,
        };
        Self { call: Either::Left(request.send()), reports }
    }

    /// Wraps a call that takes several requests. It reports no progress.
    pub(super) fn of(call: BoxFuture<'static, Result<Json, CallError>>) -> Self {
        let (_, reports) = mpsc::channel(1);
        Self { call: Either::Right(call), reports }
    }

    /// Returns the ID of the request. `None` if the call takes several requests.
    pub(super) fn id(&self) -> Option<&RequestId> {
        match &self.call {
            Either::Left(call) => Some(call.id()),
            Either::Right(_) => None,
        }
    }

    /// Waits for the result, and reports progress in the meantime. Cancel safe.
    pub(super) async fn result(&mut self, context: &Context) -> Result<Json, CallError> {
        loop {
            tokio::select! {
                biased;
                Some(progress) = self.reports.recv() => report(context, progress).await,
                result = &mut self.call => {
                    while let Ok(progress) = self.reports.try_recv() {
                        report(context, progress).await;
                    }
                    return result;
                }
            }
        }
    }
}

async fn report(context: &Context, Progress { progress, total, message, .. }: Progress) {
    context.progress(progress, total, message.as_deref()).await;
}

/// A server's request for input from a modern client.
pub(super) struct Input {
    pub(super) method: String,
    /// The params, in the revision [`TYPES`](mcpgen_mcp::protocol::TYPES).
    pub(super) params: Option<Json>,
    /// Takes the response, in the same revision.
    pub(super) response: oneshot::Sender<Json>,
}

/// A call of a modern client to a legacy server. It stays open while the client collects input.
pub(super) struct InteractiveCall {
    pub(super) open: OpenCall,
    /// The params, if the call may have to be sent again as a task.
    pub(super) again: Option<Json>,
    pub(super) method: String,
    pub(super) inputs: mpsc::Receiver<Input>,
    /// The inputs that the client has not sent yet, by key.
    pub(super) asked: Vec<(String, Input)>,
    pub(super) active: ActiveCall,
}

/// A client's calls in flight.
pub(super) struct Calls {
    active: Mutex<Vec<Entry>>,
    next: AtomicU64,
    suspended: Mutex<ExpiringMap<String, InteractiveCall, Instant>>,
}

struct Entry {
    number: u64,
    context: Context,
    inputs: Option<mpsc::Sender<Input>>,
}

/// A call in flight. Dropping it removes it from [`Calls`].
pub(super) struct ActiveCall {
    calls: Arc<Calls>,
    number: u64,
}

/// The maximum number of calls that wait for input.
const MAX_SUSPENDED: usize = 256;
/// How long a call waits for input.
const LIFETIME: Duration = Duration::from_secs(15 * 60);

impl Calls {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            active: Mutex::default(),
            next: AtomicU64::new(0),
            suspended: Mutex::new(ExpiringMap::new(MAX_SUSPENDED, MAX_SUSPENDED)),
        })
    }

    /// Adds a call. `inputs` receives the server's requests for input, if the call's result can contain them.
    pub(super) fn add(self: &Arc<Self>, context: &Context, inputs: Option<mpsc::Sender<Input>>) -> ActiveCall {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.active.lock().push(Entry { number, context: context.clone(), inputs });
        ActiveCall { calls: Arc::clone(self), number }
    }

    /// Returns the newest call that can ask for input.
    pub(super) fn interactive(&self) -> Option<mpsc::Sender<Input>> {
        self.active.lock().iter().rev().find_map(|entry| entry.inputs.clone())
    }

    /// Returns the newest call for which `wanted` returns true.
    pub(super) fn find(&self, wanted: impl Fn(&Context) -> bool) -> Option<Context> {
        let active = self.active.lock();
        active.iter().rev().map(|entry| &entry.context).find(|context| wanted(context)).cloned()
    }

    /// Stores a call until the client sends the input. Returns the request state that identifies it, or `None` if too
    /// many calls wait.
    pub(super) fn suspend(&self, call: InteractiveCall) -> Option<String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).ok()?;
        let state: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let until = Instant::now() + LIFETIME;
        self.suspended().insert(state.clone(), (), until, call).ok()?;
        Some(state)
    }

    /// Returns the call that a request state identifies.
    pub(super) fn resume(&self, state: &str) -> Option<InteractiveCall> {
        self.suspended().remove(state)
    }

    /// Removes suspended calls that have expired, and locks the others.
    fn suspended(&self) -> MutexGuard<'_, ExpiringMap<String, InteractiveCall, Instant>> {
        let mut suspended = self.suspended.lock();
        let expired = suspended.remove_expired(Instant::now());
        if !expired.is_empty() {
            // Dropping a call cancels it. Do this without holding the lock.
            drop(suspended);
            drop(expired);
            suspended = self.suspended.lock();
        }
        suspended
    }
}

impl ActiveCall {
    /// Replaces the context, when the client repeats the request.
    pub(super) fn set_context(&self, context: &Context) {
        if let Some(entry) = self.calls.active.lock().iter_mut().find(|entry| entry.number == self.number) {
            entry.context = context.clone();
        }
    }
}

impl Drop for ActiveCall {
    fn drop(&mut self) {
        self.calls.active.lock().retain(|entry| entry.number != self.number);
    }
}
