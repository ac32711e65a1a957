//! Permits for requests and streams, within the limits of endpoint, session and owner.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::budget::Charge;
use super::options::EndpointOptions;
use super::quota::{Kind, Quota, Quotas};
use super::refusal::Refusal;

pub(super) type Permit = Arc<HeldPermits>;

/// What a permit holds.
pub(super) struct HeldPermits {
    /// The memory of the request and of messages sent on its behalf.
    pub(super) memory: Arc<Charge>,
    _total: OwnedSemaphorePermit,
    _session: Option<OwnedSemaphorePermit>,
    _owner: Option<Quota>,
    /// Makes [`Endpoint::close`](super::Endpoint::close) wait for the request.
    _token: TaskTrackerToken,
}

pub(super) struct Limiter {
    requests: Limit,
    streams: Limit,
    quotas: Arc<Quotas>,
    tasks: TaskTracker,
}

/// The limits for one kind of permit.
struct Limit {
    kind: Kind,
    name: &'static str,
    permits: Arc<Semaphore>,
    total: usize,
    per_session: usize,
    per_owner: usize,
}

impl Limiter {
    pub(super) fn new(options: &EndpointOptions, quotas: &Arc<Quotas>, tasks: &TaskTracker) -> Self {
        let limit = |kind, name, total: usize, per_session, per_owner| Limit {
            kind,
            name,
            permits: Arc::new(Semaphore::new(total.clamp(1, Semaphore::MAX_PERMITS))),
            total,
            per_session,
            per_owner,
        };
        Self {
            requests: limit(
                Kind::Requests,
                "requests",
                options.requests,
                options.requests_per_session,
                options.requests_per_owner,
            ),
            streams: limit(
                Kind::Streams,
                "streams",
                options.streams,
                options.streams_per_session,
                options.streams_per_owner,
            ),
            quotas: Arc::clone(quotas),
            tasks: tasks.clone(),
        }
    }

    /// Returns a permit for a request, counted against its session (if any), its owner and the endpoint. Fails
    /// with 503 if any of them is at its limit.
    pub(super) fn request(
        &self,
        owner: Option<&Arc<str>>,
        session: Option<&Arc<Semaphore>>,
        memory: Arc<Charge>,
    ) -> Result<Permit, Refusal> {
        self.permit(&self.requests, owner, session, memory)
    }

    /// Returns a permit for a stream, counted against its session (if any), its owner and the endpoint. Fails
    /// with 503 if any of them is at its limit.
    pub(super) fn stream(
        &self,
        owner: Option<&Arc<str>>,
        session: Option<&Arc<Semaphore>>,
        memory: Arc<Charge>,
    ) -> Result<Permit, Refusal> {
        self.permit(&self.streams, owner, session, memory)
    }

    /// Takes one unit of the owner's quota. Returns `None` if that exceeds the limit, and `Some(None)` if there
    /// is no owner; see [`EndpointOptions::owner`](super::EndpointOptions::owner).
    pub(super) fn quota(&self, owner: Option<&Arc<str>>, kind: Kind, limit: usize) -> Option<Option<Quota>> {
        match owner {
            Some(owner) => self.quotas.take(owner, kind, 1, limit).map(Some),
            None => Some(None),
        }
    }

    fn permit(
        &self,
        limit: &Limit,
        owner: Option<&Arc<str>>,
        session: Option<&Arc<Semaphore>>,
        memory: Arc<Charge>,
    ) -> Result<Permit, Refusal> {
        let Limit { name, total, per_session, per_owner, .. } = limit;
        let session = session.map(|permits| Arc::clone(permits).try_acquire_owned()).transpose();
        let session = session.map_err(|_| {
            Refusal::busy(format!(
                "this session has {per_session} {name} open, which is the limit (`EndpointOptions::{name}_per_session`)"
            ))
        })?;
        let owner = self.quota(owner, limit.kind, *per_owner).ok_or_else(|| {
            Refusal::busy(format!(
                "this owner has {per_owner} {name} open, which is the limit (`EndpointOptions::{name}_per_owner`)"
            ))
        })?;
        let total = Arc::clone(&limit.permits).try_acquire_owned().map_err(|_| {
            Refusal::busy(format!("the server has {total} {name} open, which is the limit (`EndpointOptions::{name}`)"))
        })?;
        let _token = self.tasks.token();
        Ok(Arc::new(HeldPermits { memory, _total: total, _session: session, _owner: owner, _token }))
    }
}
