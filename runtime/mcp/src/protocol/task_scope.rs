//! Tasks on whose behalf messages are sent to the peer.

use std::sync::Arc;

use futures_util::future::BoxFuture;

/// A running task, which sends messages to the peer after the response to its request.
pub trait TaskScope: Send + Sync {
    /// Returns the member of `_meta` that names the task: its name, and its value as JSON text.
    fn meta(&self) -> (&'static str, String);
    /// Returns whether the task has ended. No messages may be sent for it then.
    fn has_ended(&self) -> bool;
    /// Increments the number of calls to the peer in flight.
    fn call_started(&self);
    /// Decrements the number of calls to the peer in flight.
    fn call_ended(&self);
    /// Updates the task's status, which shows whether the task waits for such a call.
    fn update_status(self: Arc<Self>) -> BoxFuture<'static, ()>;
}

/// A call of a task. The task counts it as in flight until this is dropped.
pub(super) struct CallOfTask(Arc<dyn TaskScope>);

impl CallOfTask {
    /// Counts the call, and updates the task's status.
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
        // Without a runtime, no task is left whose status could matter.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(Arc::clone(&self.0).update_status());
        }
    }
}
