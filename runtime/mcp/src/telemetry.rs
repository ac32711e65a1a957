//! Traces and metrics. Nothing is recorded until the program [installs](install) a recorder, such as the one in
//! `mcpgen-otel`.

use std::any::Any;
use std::future::Future;
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use mcpgen_runtime::connection::{Connection, Limits};
use mcpgen_runtime::observer::Observer;
use mcpgen_runtime::router::{RequestService, Router};

use crate::protocol::{Mcp, RevisionRules};

/// Records traces and metrics for all servers and clients of the process.
pub trait Telemetry: Send + Sync + 'static {
    /// Returns an observer for the messages of a connection.
    fn observer(&self, rules: Arc<dyn RevisionRules>) -> Arc<dyn Observer>;

    /// Called when a server begins a session. The returned value is dropped when the session ends.
    fn session(&self) -> Box<dyn Any + Send + Sync>;

    /// Called when a shared store begins an operation, such as `session.create`.
    fn store_operation(&self, name: &'static str) -> Box<dyn StoreOperation>;

    /// Makes a future run in the current context, such as a span, even if another task polls it.
    fn in_current_context(&self, work: BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;
}

/// An operation on a shared store. If it is dropped before [`end`](Self::end) is called, it was cancelled.
pub trait StoreOperation: Send {
    /// Called when the operation ends, with the kind of error if it failed.
    fn end(self: Box<Self>, error: Option<&'static str>);
}

static INSTALLED: OnceLock<Box<dyn Telemetry>> = OnceLock::new();

/// The process has telemetry already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("telemetry is installed already; call `install` once, at the start of the program")]
pub struct AlreadyInstalled;

/// Installs the telemetry of the process. Call this once, before you create servers and clients.
///
/// # Errors
///
/// Fails if the process has telemetry already.
pub fn install(telemetry: impl Telemetry) -> Result<(), AlreadyInstalled> {
    INSTALLED.set(Box::new(telemetry)).map_err(|_| AlreadyInstalled)
}

/// Returns the telemetry of the process, if any is installed.
#[must_use]
pub fn installed() -> Option<&'static dyn Telemetry> {
    INSTALLED.get().map(|telemetry| &**telemetry)
}

/// Returns an observer for the messages of a connection, if telemetry is installed.
#[must_use]
pub fn observer(rules: Arc<dyn RevisionRules>) -> Option<Arc<dyn Observer>> {
    installed().map(|telemetry| telemetry.observer(rules))
}

/// Makes a future run in the current context, even if another task polls it.
pub fn in_current_context(work: impl Future<Output = ()> + Send + 'static) -> BoxFuture<'static, ()> {
    let work = work.boxed();
    match installed() {
        Some(telemetry) => telemetry.in_current_context(work),
        None => work,
    }
}

/// Creates an MCP connection that the process's telemetry observes.
pub fn connection<S: RequestService>(
    service: S,
    notifications: Router,
    rules: Arc<dyn RevisionRules>,
    limits: Limits,
) -> Connection<S> {
    let observer = observer(Arc::clone(&rules));
    Connection::new(notifications, Mcp::new(rules)).service(service).limits(limits).observer(observer)
}
