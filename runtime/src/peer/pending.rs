//! Outgoing requests whose responses have not arrived.

use std::collections::HashMap;
use std::sync::Arc;

use mcpgen_types::{Json, RequestId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::backlog::Mark;
use crate::error::{CallError, Closed};

pub(super) struct PendingRequests {
    /// The requests by ID. `None` once the connection is closed.
    requests: Mutex<Option<HashMap<RequestId, PendingRequest>>>,
}

pub(super) struct PendingRequest {
    pub(super) method: String,
    pub(super) response: oneshot::Sender<Response>,
    pub(super) progress: Option<ReportQueue>,
    pub(super) on_notification: Option<OnNotification>,
    /// Whether an error without a matching request counts as this request's response.
    pub(super) takes_unmatched_errors: bool,
}

/// The sending half of a call's queue of progress reports.
pub(super) struct ReportQueue {
    reports: mpsc::Sender<Report>,
    /// Free capacity: one permit per byte.
    room: Arc<Semaphore>,
}

/// A report and its share of the queue.
pub(super) type Report = (Json, OwnedSemaphorePermit);

/// How many reports a call queues. More are dropped, because a later report replaces them anyway.
const REPORTS: usize = 64;
/// Memory in bytes for a call's queued reports.
const REPORT_BYTES: usize = 16 << 20;

impl ReportQueue {
    pub(super) fn new() -> (Self, mpsc::Receiver<Report>) {
        let (reports, received) = mpsc::channel(REPORTS);
        (Self { reports, room: Arc::new(Semaphore::new(REPORT_BYTES)) }, received)
    }

    fn push(&self, report: Json) {
        // A report larger than the queue is accepted if no other is queued.
        let size = u32::try_from(report.owned_bytes().clamp(1, REPORT_BYTES)).unwrap_or(u32::MAX);
        if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(size) {
            let _ = self.reports.try_send((report, room));
        }
    }
}

/// A response, and how many notifications were received before it.
pub(super) type Response = (Result<Json, CallError>, Mark);

/// Called with the method and params of each notification of a subscription.
pub(crate) type OnNotification = Box<dyn Fn(&str, Option<&Json>) + Send + Sync>;

impl PendingRequests {
    pub(super) fn new() -> Self {
        Self { requests: Mutex::new(Some(HashMap::new())) }
    }

    /// Adds a request.
    ///
    /// # Errors
    ///
    /// Fails if the connection is closed.
    pub(super) fn insert(&self, id: RequestId, request: PendingRequest) -> Result<(), Closed> {
        let mut requests = self.lock();
        let requests = requests.as_mut().ok_or(Closed)?;
        requests.insert(id, request);
        Ok(())
    }

    pub(super) fn remove(&self, id: &RequestId) -> Option<PendingRequest> {
        let mut requests = self.lock();
        requests.as_mut()?.remove(id)
    }

    pub(super) fn method(&self, id: &RequestId) -> Option<String> {
        self.lock().as_ref()?.get(id).map(|request| request.method.clone())
    }

    /// Finds the request that an error response belongs to. The error's ID may be absent or unknown.
    pub(super) fn matching_error(&self, id: Option<&RequestId>) -> Option<RequestId> {
        let requests = self.lock();
        let requests = requests.as_ref()?;
        let known = id.filter(|id| requests.contains_key(*id));
        known.or_else(|| requests.iter().find(|(_, request)| request.takes_unmatched_errors).map(|(id, _)| id)).cloned()
    }

    /// Fails all calls.
    pub(super) fn clear(&self) {
        if let Some(requests) = self.lock().as_mut() {
            requests.clear();
        }
    }

    /// Fails all calls. No more requests can be added.
    pub(super) fn close(&self) {
        self.lock().take();
    }

    /// Returns the number of pending calls, or `None` once the connection is closed.
    pub(super) fn len(&self) -> Option<usize> {
        self.lock().as_ref().map(HashMap::len)
    }

    /// Returns whether the request has a callback for notifications.
    pub(super) fn is_subscription(&self, id: &RequestId) -> bool {
        self.lock().as_ref().and_then(|requests| requests.get(id)).is_some_and(|it| it.on_notification.is_some())
    }

    /// Passes a notification to the request's callback. Returns whether there is one.
    pub(super) fn notify(&self, id: &RequestId, method: &str, params: Option<&Json>) -> bool {
        let requests = self.lock();
        let request = requests.as_ref().and_then(|requests| requests.get(id));
        match request.and_then(|request| request.on_notification.as_ref()) {
            Some(on_notification) => {
                on_notification(method, params);
                true
            }
            None => false,
        }
    }

    /// Drops the report if the queue is full. Returns whether the request wants reports.
    pub(super) fn report_progress(&self, id: &RequestId, report: Json) -> bool {
        let requests = self.lock();
        let request = requests.as_ref().and_then(|requests| requests.get(id));
        match request.and_then(|request| request.progress.as_ref()) {
            Some(reports) => {
                reports.push(report);
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<HashMap<RequestId, PendingRequest>>> {
        self.requests.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queued_reports_are_bounded_in_bytes() {
        let report = || Json::from(&serde_json::Value::from("x".repeat(REPORT_BYTES / 4)));
        let (queue, mut received) = ReportQueue::new();
        (0..REPORTS).for_each(|_| queue.push(report()));
        let queued = received.len();
        assert!((1..=4).contains(&queued), "{queued} reports");
        // Receiving a report makes room for another one.
        assert!(received.try_recv().is_ok());
        queue.push(report());
        assert_eq!(received.len(), queued);
    }
}
