//! Tasks that send messages to the peer.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// A running task. It may send messages to the peer even after its request was answered.
pub trait TaskScope: Send + Sync {
    /// Returns the member of `_meta` that identifies the task: its name, and its value as JSON text.
    fn meta(&self) -> (&'static str, String);
    /// Returns whether the task has ended and must send nothing more.
    fn has_ended(&self) -> bool;
    /// Counts a call to the peer as in flight.
    fn call_started(&self);
    /// Stops counting a call that was started.
    fn call_ended(&self);
    /// Updates the task's status, which shows whether it waits for such a call.
    fn update_status(self: Arc<Self>) -> BoxFuture<'static, ()>;
}

/// The task counts the call as in flight until this is dropped.
pub(super) struct CallOfTask(Arc<dyn TaskScope>);

impl CallOfTask {
    pub(super) async fn start(task_scope: Arc<dyn TaskScope>) -> Self {
        task_scope.call_started();
        let call = Self(task_scope);
        Arc::clone(&call.0).update_status().await;
        call
    }
}

impl Drop for CallOfTask {
    fn drop(&mut self) {
        self.0.call_ended();
        // Without a runtime, no task is left whose status matters.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(Arc::clone(&self.0).update_status());
        }
    }
}
