//! Permits for requests and streams in progress, within the limits of the endpoint, the session and the owner.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::host_filter::Refusal;
use super::quota::{Kind, Quota};
use super::session::Session;
use super::{Caller, Shared};

/// A permit for one request or stream. Held until its response is written.
pub(super) type Permit = Arc<Place>;

/// One of the limited number of requests or streams in progress.
pub(super) struct Place {
    _total: OwnedSemaphorePermit,
    _session: Option<OwnedSemaphorePermit>,
    _owner: Option<Quota>,
    /// Makes [`Endpoint::close`](super::Endpoint::close) wait for the request.
    _token: TaskTrackerToken,
}

/// The limits of one kind of permit.
struct Limited {
    kind: Kind,
    what: &'static str,
    total: usize,
    per_session: usize,
    per_owner: usize,
}

impl Shared {
    /// Takes one unit of the owner's quota. Returns `None` if that exceeds the limit, and `Some(None)` if
    /// [`Options::owner`](super::Options::owner) is not set.
    pub(super) fn quota(&self, caller: &Caller, kind: Kind, limit: usize) -> Option<Option<Quota>> {
        match &caller.owner {
            Some(owner) => self.quotas.take(owner, kind, 1, limit).map(Some),
            None => Some(None),
        }
    }

    /// Takes a permit for a request. Fails with 503 if the session, the owner or the endpoint is at its limit.
    pub(super) fn request(&self, caller: &Caller, session: Option<&Session>) -> Result<Permit, Refusal> {
        let options = &self.options;
        self.place(
            caller,
            session.map(|session| &session.requests),
            &self.requests,
            &Limited {
                kind: Kind::Requests,
                what: "requests",
                total: options.requests,
                per_session: options.requests_per_session,
                per_owner: options.requests_per_owner,
            },
        )
    }

    /// Takes a permit for a stream. Fails with 503 if the session, the owner or the endpoint is at its limit.
    pub(super) fn stream(&self, caller: &Caller, session: Option<&Session>) -> Result<Permit, Refusal> {
        let options = &self.options;
        self.place(
            caller,
            session.map(|session| &session.open_streams),
            &self.streams,
            &Limited {
                kind: Kind::Streams,
                what: "streams",
                total: options.streams,
                per_session: options.requests_per_session,
                per_owner: options.streams_per_owner,
            },
        )
    }

    fn place(
        &self,
        caller: &Caller,
        session: Option<&Arc<Semaphore>>,
        total: &Arc<Semaphore>,
        limited: &Limited,
    ) -> Result<Permit, Refusal> {
        let Limited { kind, what, .. } = *limited;
        let session = session.map(|share| Arc::clone(share).try_acquire_owned()).transpose();
        let session = session.map_err(|_| {
            let most = limited.per_session;
            Refusal::busy(format!("this session has {most} {what} open, its limit (`Options::requests_per_session`)"))
        })?;
        let owner = self.quota(caller, kind, limited.per_owner).ok_or_else(|| {
            let most = limited.per_owner;
            Refusal::busy(format!("this owner has {most} {what} open, its limit (`Options::{what}_per_owner`)"))
        })?;
        let total = Arc::clone(total).try_acquire_owned().map_err(|_| {
            let most = limited.total;
            Refusal::busy(format!("the server has {most} {what} open, its limit (`Options::{what}`)"))
        })?;
        Ok(Arc::new(Place { _total: total, _session: session, _owner: owner, _token: self.tasks.token() }))
    }
}
