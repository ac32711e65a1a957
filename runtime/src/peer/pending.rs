//! Outgoing requests that have no response yet.

use std::collections::HashMap;
use std::sync::Arc;

use mcpgen_types::{Json, RequestId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::backlog::Mark;
use crate::error::{CallError, Closed};

pub(super) struct PendingRequests {
    /// `None` once the connection is closed.
    requests: Mutex<Option<HashMap<RequestId, PendingRequest>>>,
}

pub(super) struct PendingRequest {
    pub(super) method: String,
    pub(super) response: oneshot::Sender<Response>,
    pub(super) progress: Option<ReportQueue>,
    pub(super) on_notification: Option<OnNotification>,
    /// Whether an error that matches no request is the response to this one.
    pub(super) takes_unmatched_errors: bool,
}

/// The sending half of the queue of a call's progress reports.
pub(super) struct ReportQueue {
    reports: mpsc::Sender<Report>,
    /// The free capacity, with one permit per byte.
    room: Arc<Semaphore>,
}

/// A report, and its share of the queue.
pub(super) type Report = (Json, OwnedSemaphorePermit);

/// The maximum number of queued reports for a call. More are dropped; a later report replaces them.
const REPORTS: usize = 64;
/// The maximum memory of all queued reports for a call, in bytes.
const REPORT_BYTES: usize = 16 << 20;

impl ReportQueue {
    pub(super) fn new() -> (Self, mpsc::Receiver<Report>) {
        let (reports, received) = mpsc::channel(REPORTS);
        (Self { reports, room: Arc::new(Semaphore::new(REPORT_BYTES)) }, received)
    }

    fn push(&self, report: Json) {
        // A report may be larger if no other is queued.
        let size = u32::try_from(report.owned_bytes().clamp(1, REPORT_BYTES)).unwrap_or(u32::MAX);
        if let Ok(room) = Arc::clone(&self.room).try_acquire_many_owned(size) {
            let _ = self.reports.try_send((report, room));
        }
    }
}

/// A response, and where it is among the notifications.
pub(super) type Response = (Result<Json, CallError>, Mark);

/// A callback for the notifications of a subscription. It takes the method and the params.
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

    /// Returns the ID of the request that an error with this ID, or without one, is the response to.
    pub(super) fn matching_error(&self, id: Option<&RequestId>) -> Option<RequestId> {
        let requests = self.lock();
        let requests = requests.as_ref()?;
        let known = id.filter(|id| requests.contains_key(*id));
        known.or_else(|| requests.iter().find(|(_, request)| request.takes_unmatched_errors).map(|(id, _)| id)).cloned()
    }

    /// Removes all requests, which fails their calls.
    pub(super) fn clear(&self) {
        if let Some(requests) = self.lock().as_mut() {
            requests.clear();
        }
    }

    /// Removes all requests, which fails their calls. No more can be added.
    pub(super) fn close(&self) {
        self.lock().take();
    }

    /// Returns the number of requests. `None` once the connection is closed.
    pub(super) fn len(&self) -> Option<usize> {
        self.lock().as_ref().map(HashMap::len)
    }

    /// Returns whether this request has a callback for notifications.
    pub(super) fn is_subscription(&self, id: &RequestId) -> bool {
        self.lock().as_ref().and_then(|requests| requests.get(id)).is_some_and(|it| it.on_notification.is_some())
    }

    /// Passes a notification to the callback of a request. Returns whether the request has one.
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

    /// Passes a progress report to a request. Drops it if the request's queue of reports is full. Returns whether there is
    /// a request that wants reports.
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
        // A report that was received makes room for another one.
        assert!(received.try_recv().is_ok());
        queue.push(report());
        assert_eq!(received.len(), queued);
    }
}
