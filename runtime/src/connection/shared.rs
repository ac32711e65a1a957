//! State that all requests of a connection share.

use std::collections::HashMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, MutexGuard};

use mcpgen_types::{ErrorObject, RequestId};

use super::limits::Limits;
use super::response::rejection;
use crate::context::Context;
use crate::peer::Peer;
use crate::protocol::Rules;
use crate::router::AnyRequest;
use crate::transport::Outbound;
use crate::util::lock::Mutex;

pub(super) struct Shared {
    pub(super) rules: Rules,
    pub(super) limits: Limits,
    pub(super) peer: Peer,
    /// The memory of running requests, in bytes.
    pub(super) memory: Arc<AtomicUsize>,
    /// The incoming requests that have no response yet.
    open_requests: Mutex<OpenRequests>,
}

/// The hash function is fast and has a random seed. Its collisions cannot cost much, because [`Limits`] bounds the number
/// of open requests.
pub(super) type OpenRequests = HashMap<RequestId, Context, foldhash::quality::RandomState>;

impl Shared {
    pub(super) fn new(limits: Limits, peer: Peer) -> Self {
        let rules = peer.erased_protocol().rules();
        Self { rules, limits, peer, memory: Arc::default(), open_requests: Mutex::default() }
    }

    pub(super) fn is_long_lived(&self, method: &str) -> bool {
        self.rules.long_lived.contains(&method)
    }

    pub(super) fn open_requests(&self) -> MutexGuard<'_, OpenRequests> {
        self.open_requests.lock()
    }

    /// Removes a request that has ended. A request of a new session may have the same ID, and stays.
    pub(super) fn close_request(&self, id: &RequestId, ended: &Context) {
        let mut open = self.open_requests();
        if let Some(context) = open.remove(id).filter(|context| !context.is_same(ended)) {
            open.insert(id.clone(), context);
        }
    }

    /// Removes a request without handling it and returns its error response.
    pub(super) fn reject(&self, request: &AnyRequest, error: ErrorObject) -> Option<Outbound> {
        let id = request.context.id().cloned()?;
        self.open_requests().remove(&id);
        Some(rejection(id, error))
    }
}
